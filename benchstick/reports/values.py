"""The values of a chart as text: the titles that a browser shows under the pointer, and the table
below the drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchstick.reports.axes import Axis
from benchstick.reports.content import Table
from benchstick.reports.drawing import Drawing, within

# A chart with more places than that shows a record: a column of it stands for several places.
_MOST = 96


@dataclass(frozen=True)
class Column:
    """A part of the plot, from `start` to `end` in pixels: where it is on the x axis, and the
    value of each line there, empty where it has none."""

    start: float
    end: float
    x: str
    values: Sequence[str]


def columns_of(drawing: Drawing) -> list[Column]:
    """The columns of a chart: one for each x with a value. Those of a record are a few pixels wide
    and have the lowest and the highest value of each line."""
    axis, lines = drawing.x, drawing.chart.lines
    points = sorted(
        (x, index, low, high)
        for index, line in enumerate(lines)
        for x, low, high in _ranges(drawing.chart.chart, line)
    )
    is_record = len({x for x, *_ in points}) > _MOST
    step = (axis.end - axis.start) / _MOST
    groups: dict[float, list[tuple[float, int, float, float]]] = {}
    for point in points:
        number = min(_MOST - 1, (axis.place(point[0]) - axis.start) // step)
        groups.setdefault(number if is_record else point[0], []).append(point)
    columns = []
    ends = [(axis.place(group[0][0]), axis.place(group[-1][0])) for group in groups.values()]
    middles = [(last + first) / 2 for (_, last), (first, _) in pairwise(ends)]
    edges = pairwise([axis.start, *middles, axis.end])
    for group, (start, end) in zip(groups.values(), edges, strict=False):
        values = []
        for at, line in enumerate(lines):
            own = [value for _, line_at, *both in group if line_at == at for value in both]
            values.append(_from_to(drawing.axis_of(line), min(own), max(own)) if own else "")
        columns.append(Column(start, end, _from_to(axis, group[0][0], group[-1][0]), values))
    return columns


def table_of(drawing: Drawing, columns: Sequence[Column]) -> Table:
    """The columns of a chart as rows of a table."""
    chart = drawing.chart
    return Table(
        rows=[[column.x, *(text or "–" for text in column.values)] for column in columns],
        columns=[str(chart.chart["x"]["label"]), *(str(line["name"]) for line in chart.lines)],
    )


def _ranges(
    chart: Mapping[str, Any], line: Mapping[str, Any]
) -> Iterator[tuple[float, float, float]]:
    """(x, lowest, highest) of the points of a line that have a value."""
    for at, x, y in within(chart, line):
        if y is not None:
            ends = [line[end][at] for end in ("low", "high") if end in line]
            values = [value for value in (y, *ends) if value is not None]
            yield x, min(values), max(values)


def _from_to(axis: Axis, low: float, high: float) -> str:
    texts = axis.text(low), axis.text(high)
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)
