"""Ranked bars as a list of shapes, which `svg` and `pdf` write in their own words.

The drive under test is told by its colour, by bold letters and in words; a reference figure, which
was not measured here, has an outline alone. The line over a bar is its spread over the passes.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchstick.reports.content import Bar, Ranks
from benchstick.reports.drawing import (
    COLOURS,
    DIM,
    INK,
    SIZE,
    WIDER,
    WIDTH,
    Area,
    Path,
    Picture,
    Shape,
    Words,
)
from benchstick.reports.metrics import shortened, width_of

RAIL = "#f1f3f5"
_ROW, _BAR, _LEFT = 31.0, 9.0, 22.0
_COLOURS = {"mine": COLOURS["accent"], "other": COLOURS["seventh"]}
# Of the room for words, how much the name may take; the rest is for what is said of the bar.
_NAME = 0.56
# The bold letters of a browser's own font may be so much wider than those of Helvetica.
_BOLD_WIDER = 1.24


def draw_bars(ranks: Ranks, *, hint: bool = True) -> Picture:
    """The bars, one under the other; the title apart. `hint`: with which way is better."""
    shapes: list[Shape] = [Words(WIDTH - 2, 11, ranks.hint, "end")] if hint else []
    top = 16.0 if hint else 0.0
    for at, bar in enumerate(ranks.bars):
        shapes += _row(bar, top + _ROW * at)
    return Picture(WIDTH, top + 2 + _ROW * len(ranks.bars), shapes, ranks.told)


def _row(bar: Bar, top: float) -> Iterator[Shape]:
    mine, base, right = bar.look == "mine", top + 12, WIDTH - 2
    room = right - _LEFT - width_of(bar.value, SIZE, "Helvetica-Bold") * _BOLD_WIDER - 12
    tail = bar.whole.removeprefix(bar.name)
    tail_room = width_of(tail, SIZE, "Helvetica-Bold")
    name = (
        shortened(bar.name, room * _NAME / _BOLD_WIDER - tail_room, SIZE, "Helvetica-Bold") + tail
    )
    used = width_of(name, SIZE, "Helvetica-Bold") * _BOLD_WIDER
    caption = shortened(bar.said, (room - used - 12) / WIDER, SIZE)
    yield Words(_LEFT - 7, base, bar.place, "end")
    yield Words(_LEFT, base, name, colour=INK, bold=mine, whole=bar.whole)
    yield Words(_LEFT + room, base, caption, "end", whole=bar.said)
    yield Words(right, base, bar.value, "end", INK, bold=mine)
    yield from _bar(bar, base + 4, right)


def _bar(bar: Bar, top: float, right: float) -> Iterator[Shape]:
    scale, bottom, middle = (right - _LEFT) / 100, top + _BAR, top + _BAR / 2

    def box(start: float, end: float) -> tuple[tuple[float, float], ...]:
        return (start, top), (end, top), (end, bottom), (start, bottom)

    yield Area(box(_LEFT, right), RAIL, 1.0)
    end = _LEFT + bar.length * scale
    if bar.length > 0 and bar.look == "ref":
        corners = box(_LEFT, end)
        yield Path((*corners, corners[0]), DIM, 1.2, (4, 3))
    elif bar.length > 0:
        yield Area(box(_LEFT, end), _COLOURS[bar.look], 1.0)
    if bar.low is not None and bar.high is not None:
        low, high = _LEFT + bar.low * scale, _LEFT + bar.high * scale
        # White below black: it is seen on the bar as well as beside it.
        for colour, width in (("#ffffff", 3.2), (INK, 1.4)):
            yield Path(((low, middle), (high, middle)), colour, width)
            for x in (low, high):
                yield Path(((x, top + 1), (x, bottom - 1)), colour, width)
