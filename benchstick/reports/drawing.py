"""A chart as a list of shapes, which `svg` and `pdf` write in their own words.

Places are in pixels from the top left. Lines differ in their dashes and in the shape of their
points as well as in colour: reports are printed in black.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchstick.plan.units import CELSIUS
from benchstick.reports import axes
from benchstick.reports.axes import Axis
from benchstick.reports.content import Chart
from benchstick.reports.metrics import shortened, width_of

WIDTH, HEIGHT = 720.0, 300.0
SIZE = 11.0
# Browsers may show the texts in a font so much wider than Helvetica.
WIDER = 1.12
_ROW = 15.0
# So many rows of names and of marks fit in the usual height; more rows of marks than that are cut.
_NAME_ROWS, _MARK_ROWS, _MOST_MARK_ROWS = 2, 3, 12

INK, DIM, GRID, MARK, ABOVE = "#16191d", "#5b6570", "#dfe3e8", "#b3261e", "#5b4b9a"
_MARK_COLOURS = {"": MARK, "above": ABOVE, "quiet": DIM}
# The names are those of the page's stylesheet, the colours those of its light side.
COLOURS = {
    "read": "#0072b2", "write": "#d55e00", "temp": "#b3568c", "third": "#009e73",
    "fifth": "#5b4b9a", "sixth": "#8a6d00", "seventh": "#7b828a", "eighth": "#000000",
    "accent": "#0b5fbd",
}  # fmt: skip
DASHES: tuple[tuple[float, ...], ...] = (
    (), (7, 3), (2, 2.5), (8, 3, 2, 3), (12, 4), (4, 4), (1, 4), (10, 3, 2, 3, 2, 3),
)  # fmt: skip
POINTS = ("circle", "square", "triangle", "diamond")
# More points than that are a per-second record: the line is enough.
_FEW = 64

Place = tuple[float, float]


@dataclass(frozen=True)
class Path:
    """A line through places. `line` is the number of the chart's line that it belongs to."""

    places: Sequence[Place]
    colour: str
    width: float = 1.0
    dash: tuple[float, ...] = ()
    line: int | None = None


@dataclass(frozen=True)
class Area:
    """A filled shape, to be seen through."""

    places: Sequence[Place]
    colour: str
    opacity: float
    line: int | None = None


@dataclass(frozen=True)
class Dots:
    """Points of `size` pixels, each a `shape` of `POINTS`."""

    places: Sequence[Place]
    colour: str
    size: float
    shape: str = "circle"
    line: int | None = None


@dataclass(frozen=True)
class Words:
    """One line of text; `anchor` is start, middle or end, `whole` the text before it was cut, or
    more about it."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    colour: str = DIM
    bold: bool = False
    whole: str = ""


Shape = Path | Area | Dots | Words


@dataclass(frozen=True)
class Picture:
    """Shapes that are no chart with axes, and what they show in words."""

    width: float
    height: float
    shapes: Sequence[Shape]
    description: str


@dataclass(frozen=True)
class Drawing:
    """A chart, drawn. `x`, `y` and `y2` are its axes: their ends are the edges of the plot."""

    chart: Chart
    width: float
    height: float
    shapes: Sequence[Shape]
    x: Axis
    y: Axis
    y2: Axis | None

    @property
    def description(self) -> str:
        """What it shows, in words."""
        return self.chart.description or self.chart.title

    def axis_of(self, line: Mapping[str, Any]) -> Axis:
        """The axis that a line of the chart is drawn on."""
        return self.y2 if self.y2 is not None and line.get("on") == "y2" else self.y


def draw_chart(
    chart: Chart, *, width: float = WIDTH, height: float = HEIGHT, legend: bool = True
) -> Drawing:
    """The chart in `width` by `height` pixels, its title apart. `legend`: with the lines' names.

    It becomes higher where many names, or many marks at one place, would leave no room for it.
    """
    names = list(_legend(chart, width)) if legend else []
    height += (_ROW + 3) * max(0, len(names) - _NAME_ROWS)
    levels = min(_MARK_ROWS, len(list(_mark_rows(chart))))
    drawing = _empty(chart, width, height, levels, len(names))
    row_count = min(_MOST_MARK_ROWS, max((mark.row + 1 for mark in _placed(drawing)), default=0))
    if row_count > levels:
        height += _ROW * (row_count - levels)
        drawing = _empty(chart, width, height, row_count, len(names))
    shapes: list[Shape] = [*_frame(drawing, _x_label(chart))]
    for at in range(len(chart.lines)):
        shapes += _line(drawing, at)
    shapes += _marks(drawing)
    for row, entries in enumerate(names):
        shapes += _names(chart, entries, height - 6 - (_ROW + 3) * (len(names) - 1 - row))
    visible_shapes = tuple(shape for shape in shapes if not isinstance(shape, Words) or shape.text)
    return replace(drawing, shapes=visible_shapes)


def _empty(chart: Chart, width: float, height: float, levels: int, names: int) -> Drawing:
    """The chart's axes, with room for so many rows of marks above and of names below."""
    top = 20.0 + _ROW * levels
    bottom = height - 22 - (_ROW + 3) * names - (_ROW if _x_label(chart) else 0)
    ys, y2s = _values(chart)
    y = axes.y_axis(chart.chart["y"], ys, bottom, top)
    y2 = axes.right_axis(chart.chart["y2"], y2s, bottom, top) if "y2" in chart.chart else None
    left_x = 14 + _widest(y)
    right = width - (14 + _widest(y2) if y2 else 14)
    return Drawing(chart, width, height, (), _x_axis(chart, left_x, right), y, y2)


def colour_of(chart: Chart, at: int) -> str:
    """The colour of a chart's line."""
    return COLOURS.get(chart.looks[at] if at < len(chart.looks) else "", INK)


def dash_of(chart: Chart, at: int) -> tuple[float, ...]:
    """The dashes of a chart's line: temperatures are dotted, the others by their number; no guide
    is without."""
    if chart.lines[at].get("on") == "y2":
        return (2, 4)
    guide = chart.lines[at].get("guide", False)
    return DASHES[at % len(DASHES)] or (DASHES[1] if guide else ())


def point_of(at: int) -> str:
    """The shape of the points of line number `at`."""
    return POINTS[at % len(POINTS)]


def has_points(chart: Chart, at: int) -> bool:
    """Whether a line's points are drawn: measurements of their own, and no record."""
    line = chart.lines[at]
    if line.get("guide"):
        return False
    return bool(chart.chart.get("dots")) or line.get("on") == "y2" or len(line["points"]) <= _FEW


def is_joined(chart: Chart) -> bool:
    """Whether the points of the chart's lines are joined."""
    return not chart.chart.get("dots")


def within(chart: Mapping[str, Any], line: Mapping[str, Any]) -> Iterator[tuple[int, float, Any]]:
    """(number, x, y) of the points of a line that the chart shows, gaps (y None) included."""
    low, high = chart.get("from", float("-inf")), chart.get("to", float("inf"))
    for index, (x, y) in enumerate(line["points"]):
        if low <= x <= high:
            yield index, x, y


# ---- axes


def _values(chart: Chart) -> tuple[list[float], list[float]]:
    """All values of y, and of y2, bands included."""
    values: tuple[list[float], list[float]] = ([], [])
    for line in chart.lines:
        side = values["y2" in chart.chart and line.get("on") == "y2"]
        for at, _, y in within(chart.chart, line):
            ends = [line[end][at] for end in ("low", "high") if end in line]
            side += [value for value in (y, *ends) if value is not None]
    return values


def _x_axis(chart: Chart, left_x: float, right: float) -> Axis:
    xs = [x for line in chart.lines for _, x, _ in within(chart.chart, line)]
    low, high = chart.chart.get("from"), chart.chart.get("to")
    low = min(xs, default=0.0) if low is None else low
    high = max(xs, default=1.0) if high is None else high
    exact = "from" in chart.chart and is_joined(chart)
    return axes.x_axis(chart.chart["x"], low, high, left_x, right, exact=exact)


def _x_label(chart: Chart) -> str:
    label, unit = str(chart.chart["x"]["label"]), str(chart.chart["x"]["unit"])
    # The ticks of these bear their unit, and say what they are.
    if unit in ("s", "us", "B", CELSIUS, "%"):
        return ""
    return f"{label}, {unit}" if unit and unit != label else label


def _widest(axis: Axis) -> float:
    return max((width_of(text, SIZE) * WIDER for _, text in axis.ticks), default=0.0)


def _frame(drawing: Drawing, x_label: str) -> Iterator[Shape]:
    x, y = drawing.x, drawing.y
    for value, text in y.ticks:
        place = y.place(value / y.factor)
        yield Path(((x.start, place), (x.end, place)), GRID)
        yield Words(x.start - 7, place + 4, text, "end")
    for value, text in x.ticks:
        place = x.place(value / x.factor)
        yield Path(((place, y.end), (place, y.start)), GRID)
        yield Path(((place, y.start), (place, y.start + 4)), DIM)
        yield Words(place, y.start + 16, text, "middle")
    if drawing.y2 is not None:
        for value, text in drawing.y2.ticks:
            yield Words(x.end + 7, drawing.y2.place(value / drawing.y2.factor) + 4, text)
        yield Words(drawing.width - 2, 11, drawing.y2.label, "end")
    yield Path(((x.start, y.end), (x.start, y.start), (x.end, y.start)), DIM)
    yield Words(2, 11, shortened(y.label, drawing.width / 2, SIZE))
    if x_label:
        yield Words((x.start + x.end) / 2, y.start + 31, x_label, "middle")


# ---- lines


def _line(drawing: Drawing, at: int) -> Iterator[Shape]:
    chart = drawing.chart
    line, colour = chart.lines[at], colour_of(chart, at)
    axis = drawing.axis_of(line)
    on_right = line.get("on") == "y2"
    for part in _parts(chart, line):
        if "low" in line and "high" in line:
            yield from _band(drawing, axis, part, line, at)
        places = [(drawing.x.place(x), axis.place(y)) for _, x, y in part]
        if is_joined(chart):
            width = 1.0 if on_right else 1.6
            if len(places) > 1:
                yield Path(places, colour, width, dash_of(chart, at), at)
            elif not has_points(chart, at):
                # A single second between two gaps is still to be seen.
                yield Dots(places, colour, 2.5, "circle", at)
        if has_points(chart, at):
            small = len(line["points"]) > 300
            yield Dots(places, colour, 2.0 if small else 5.0, point_of(at), at)


def _parts(chart: Chart, line: Mapping[str, Any]) -> Iterator[list[tuple[int, float, float]]]:
    """The unbroken parts of a line."""
    part: list[tuple[int, float, float]] = []
    for at, x, y in within(chart.chart, line):
        if y is not None:
            part.append((at, x, y))
        elif part:
            yield part
            part = []
    if part:
        yield part


def _band(
    drawing: Drawing, axis: Axis, part: Sequence[tuple[int, float, float]], line: Any, number: int
) -> Iterator[Shape]:
    ends = [(x, line["low"][at], line["high"][at]) for at, x, _ in part]
    bounds = [(x, low, high) for x, low, high in ends if low is not None and high is not None]
    if len(bounds) > 1:
        over = [(drawing.x.place(x), axis.place(high)) for x, _, high in bounds]
        back = [(drawing.x.place(x), axis.place(low)) for x, low, _ in reversed(bounds)]
        yield Area([*over, *back], colour_of(drawing.chart, number), 0.22, number)


# ---- marks


def _mark_rows(chart: Chart) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """The marks of a chart, and whether they hold from there on."""
    if "mark_above" in chart.chart:
        yield chart.chart["mark_above"], True
    for mark in chart.chart.get("marks", ()):
        yield mark, False


@dataclass(frozen=True)
class _Mark:
    """A mark at `place`, its `text` in a `row` counted from the plot, to its left if `flip`.
    `look` is above, quiet, or empty; `whole` is its label with the place on the x axis."""

    place: float
    row: int
    text: str
    flip: bool
    look: str
    whole: str


def _placed(drawing: Drawing) -> Iterator[_Mark]:
    """The marks that lie within the chart, each in the first row where it covers no other."""
    ends: list[float] = []
    x = drawing.x
    for mark, above in _mark_rows(drawing.chart):
        place = x.place(mark["x"])
        if place > x.end + 0.5 or (not above and place < x.start - 0.5):
            continue
        place, label = max(place, x.start), str(mark["label"])
        flip = place + width_of(label, SIZE) * WIDER + 8 > x.end and place > (x.start + x.end) / 2
        side = place - x.start if flip else x.end - place
        text = shortened(label, (side - 8) / WIDER, SIZE)
        room = width_of(text, SIZE) * WIDER + 8
        begin = place - room if flip else place
        row = next((index for index, end in enumerate(ends) if end <= begin), len(ends))
        ends[row:] = [begin + room, *ends[row + 1 :]]
        look = "above" if above else "quiet" if mark.get("quiet") else ""
        where = x.text(mark["x"])
        yield _Mark(place, row, text, flip, look, label if where in label else f"{label}, {where}")


def _marks(drawing: Drawing) -> Iterator[Shape]:
    x, y = drawing.x, drawing.y
    for mark in _placed(drawing):
        place, colour = mark.place, _MARK_COLOURS[mark.look]
        if mark.look == "above":
            corners = ((place, y.end), (x.end, y.end), (x.end, y.start), (place, y.start))
            yield Area(corners, colour, 0.13)
        level = y.end - 4 - _ROW * min(mark.row, _MOST_MARK_ROWS - 1)
        width = 1.0 if mark.look == "quiet" else 1.4
        ends = ((place, level - 8), (place, y.start))
        yield Path(ends, colour, width, (5, 3))
        if mark.row < _MOST_MARK_ROWS:
            at = place - 4 if mark.flip else place + 4
            side = "end" if mark.flip else "start"
            yield Words(at, level, mark.text, side, colour, whole=mark.whole)


# ---- legend


def _legend(chart: Chart, width: float) -> Iterator[list[tuple[int, float, str]]]:
    """The names of the lines in rows: (number, left edge, name)."""
    row: list[tuple[int, float, str]] = []
    left_x = 14.0
    for index, line in enumerate(chart.lines):
        text = shortened(str(line["name"]), width * 0.6, SIZE)
        room = 34 + width_of(text, SIZE) * WIDER + 16
        if row and left_x + room > width:
            yield row
            row, left_x = [], 14.0
        row.append((index, left_x, text))
        left_x += room
    if row:
        yield row


def _names(chart: Chart, entries: Sequence[tuple[int, float, str]], y: float) -> Iterator[Shape]:
    for at, left_x, text in entries:
        yield from sample(chart, at, left_x, y - 4)
        name = str(chart.lines[at]["name"])
        yield Words(left_x + 34, y, text, colour=INK, whole=name if name != text else "")


def sample(chart: Chart, at: int, left_x: float, y: float) -> Iterator[Shape]:
    """28 pixels of a line, as it is drawn in the chart."""
    if is_joined(chart):
        places = ((left_x, y), (left_x + 28, y))
        yield Path(places, colour_of(chart, at), 1.6, dash_of(chart, at))
    if has_points(chart, at):
        yield Dots(((left_x + 14, y),), colour_of(chart, at), 5.0, point_of(at))
