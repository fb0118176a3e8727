"""Ranked bars as a list of shapes, which `svg` and `pdf` write in their own words.

The drive under test has its own colour, bold letters and a note; a reference result, which was not
measured here, has only an outline. The line over a bar is its spread over the passes.
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
_ROW, _BAR, _INDENT = 31.0, 9.0, 22.0
_COLOURS = {"under-test": COLOURS["accent"], "other": COLOURS["seventh"]}
# Share of the text width for the name; the rest is for the bar's detail.
_NAME = 0.56
# The bold letters of a browser's own font may be so much wider than those of Helvetica.
_BOLD_WIDER = 1.24


def draw_bars(ranks: Ranks, *, hint: bool = True) -> Picture:
    """The bars, one under the other; the title apart. `hint`: with which way is better."""
    shapes: list[Shape] = [Words(WIDTH - 2, 11, ranks.hint, "end")] if hint else []
    top = 16.0 if hint else 0.0
    for index, bar in enumerate(ranks.bars):
        shapes += _row(bar, top + _ROW * index)
    return Picture(WIDTH, top + 2 + _ROW * len(ranks.bars), shapes, ranks.description)


def _row(bar: Bar, top: float) -> Iterator[Shape]:
    is_under_test, base, right = bar.look == "under-test", top + 12, WIDTH - 2
    room = right - _INDENT - width_of(bar.value, SIZE, "Helvetica-Bold") * _BOLD_WIDER - 12
    tail = bar.whole.removeprefix(bar.name)
    tail_room = width_of(tail, SIZE, "Helvetica-Bold")
    name = (
        shortened(bar.name, room * _NAME / _BOLD_WIDER - tail_room, SIZE, "Helvetica-Bold") + tail
    )
    name_width = width_of(name, SIZE, "Helvetica-Bold") * _BOLD_WIDER
    caption = shortened(bar.detail, (room - name_width - 12) / WIDER, SIZE)
    yield Words(_INDENT - 7, base, bar.place, "end")
    yield Words(_INDENT, base, name, colour=INK, bold=is_under_test, whole=bar.whole)
    yield Words(_INDENT + room, base, caption, "end", whole=bar.detail)
    yield Words(right, base, bar.value, "end", INK, bold=is_under_test)
    yield from _bar(bar, base + 4, right)


def _bar(bar: Bar, top: float, right: float) -> Iterator[Shape]:
    scale, bottom, middle = (right - _INDENT) / 100, top + _BAR, top + _BAR / 2

    def box(start: float, end: float) -> tuple[tuple[float, float], ...]:
        return (start, top), (end, top), (end, bottom), (start, bottom)

    yield Area(box(_INDENT, right), RAIL, 1.0)
    end = _INDENT + bar.length * scale
    if bar.length > 0 and bar.look == "ref":
        corners = box(_INDENT, end)
        yield Path((*corners, corners[0]), DIM, 1.2, (4, 3))
    elif bar.length > 0:
        yield Area(box(_INDENT, end), _COLOURS[bar.look], 1.0)
    if bar.low is not None and bar.high is not None:
        low, high = _INDENT + bar.low * scale, _INDENT + bar.high * scale
        # White below black: it is visible on the bar and next to it.
        for colour, width in (("#ffffff", 3.2), (INK, 1.4)):
            yield Path(((low, middle), (high, middle)), colour, width)
            for x in (low, high):
                yield Path(((x, top + 1), (x, bottom - 1)), colour, width)
