"""The charts of a run's result as the page draws them. Pure functions; the drawing is `lines.js`.

A document may come from another version or another bench: a chart that is not in the format of
`benchstick.suites.charts` is left out, and the rest of the page is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeGuard

from benchstick.reports import formatting

# Names of colours in style.css. The first two can be distinguished with any colour vision. SNIA's
# matrix of mixes needs one for each of its lines; the last colour is for temperatures.
_LOOKS = ("read", "write", "third", "fifth", "sixth", "seventh", "eighth", "temp")
_OF_WORD = {"read": "read", "write": "write", "mix": "third", "temperature": "temp"}
# What JSON makes of a number, and of a value that may be missing; a bool is neither.
_NUMBERS = frozenset({int, float})
_VALUES = _NUMBERS | {type(None)}
_SCALES = {"x": ("linear", "log2"), "y": ("linear", "log"), "y2": ("linear", "log")}


@dataclass(frozen=True)
class PageChart:
    """One chart: its JSON, (name, look) of its lines, and what it shows in words."""

    chart: Mapping[str, Any]
    lines: Sequence[tuple[str, str]]
    description: str
    notes: Sequence[str]

    @property
    def looks(self) -> str:
        """The lines' colours in order, for the script."""
        return " ".join(look for _, look in self.lines)

    @property
    def dashes(self) -> str:
        """Which lines are dashed, for the script: 1 for a guide, 0 for what was measured."""
        return " ".join(
            "1" if isinstance(line, Mapping) and line.get("guide") else "0"
            for line in self.chart["series"]
        )

    @property
    def long(self) -> bool:
        """Takes the page's whole width: a per-second record, not a curve of a few points."""
        return self.chart["x"]["unit"] in ("s", "GB")


def shared(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The lines that charts only name."""
    series = result.get("series")
    return [item for item in series if _is_line(item)] if isinstance(series, list) else []


def list_charts(result: Mapping[str, Any]) -> Iterator[PageChart]:
    """The charts of a result document that have something to draw."""
    by_name = {item["name"]: item for item in shared(result)}
    charts = result.get("charts")
    for chart in charts if isinstance(charts, list) else ():
        if not _is_chart(chart):
            continue
        series = [by_name.get(item) if isinstance(item, str) else item for item in chart["series"]]
        lines = [line for line in series if _is_line(line)]
        if len(lines) < len(series) or not _has_points(chart, lines):
            continue
        # A line without a point in the chart is neither drawn nor described: the script reads its
        # ends.
        places = [index for index, line in enumerate(lines) if _within(chart, line)]
        lines = [lines[at] for at in places]
        chart = {**chart, "series": [chart["series"][at] for at in places]}
        names = [str(line["name"]) for line in lines]
        yield PageChart(
            chart=chart,
            lines=list(zip(names, _looks(names), strict=True)),
            description=describe_chart(chart, lines),
            notes=list(notes(chart, lines)),
        )


def _is_axis(axis: Any, name: str) -> bool:
    return (
        isinstance(axis, Mapping)
        and isinstance(axis.get("label"), str)
        and isinstance(axis.get("unit"), str)
        and axis.get("scale") in _SCALES[name]
    )


def _is_number(value: Any) -> bool:
    return type(value) in _NUMBERS


def _is_mark(mark: Any) -> bool:
    return isinstance(mark, Mapping) and _is_number(mark.get("x")) and "label" in mark


def _is_chart(chart: Any) -> bool:
    if not isinstance(chart, Mapping) or not isinstance(chart.get("title"), str):
        return False
    if not _is_axis(chart.get("x"), "x") or not _is_axis(chart.get("y"), "y"):
        return False
    if "y2" in chart and not _is_axis(chart["y2"], "y2"):
        return False
    marks = chart.get("marks", [])
    if not isinstance(marks, list) or not all(_is_mark(item) for item in marks):
        return False
    if "mark_above" in chart and not _is_mark(chart["mark_above"]):
        return False
    if not all(_is_number(chart[end]) for end in ("from", "to") if end in chart):
        return False
    return isinstance(chart.get("series"), list) and bool(chart["series"])


def _is_line(line: Any) -> TypeGuard[Mapping[str, Any]]:
    if not isinstance(line, Mapping) or not isinstance(line.get("name"), str):
        return False
    points = line.get("points")
    if not isinstance(points, list) or line.get("on", "y2") != "y2":
        return False
    if line.get("guide", True) is not True:
        return False
    for side in ("low", "high"):
        ends = line.get(side, [None] * len(points))
        if not isinstance(ends, list) or len(ends) != len(points):
            return False
        if not set(map(type, ends)) <= _VALUES:
            return False
    if not (set(map(type, points)) <= {list} and set(map(len, points)) <= {2}):
        return False
    return (
        set(map(type, map(itemgetter(0), points))) <= _NUMBERS
        and set(map(type, map(itemgetter(1), points))) <= _VALUES
    )


def _within(chart: Mapping[str, Any], line: Mapping[str, Any]) -> list[tuple[float, float]]:
    """The points of a line that the chart shows."""
    low, high = chart.get("from", float("-inf")), chart.get("to", float("inf"))
    return [(x, y) for x, y in line["points"] if y is not None and low <= x <= high]


def _lows(chart: Mapping[str, Any], line: Mapping[str, Any]) -> list[float]:
    """The least values that a line, or its band, shows."""
    if "low" not in line:
        return [value for _, value in _within(chart, line)]
    x_values = {x for x, _ in _within(chart, line)}
    pairs = zip(line["points"], line["low"], strict=True)
    return [low for (x, _), low in pairs if x in x_values and low is not None]


def _has_points(chart: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> bool:
    """Something to draw: two points of a line at least, all at places that the axis has."""
    point_lists = [_within(chart, line) for line in lines]
    if chart["x"]["scale"] == "log2" and any(x <= 0 for points in point_lists for x, _ in points):
        return False
    return max(map(len, point_lists)) > 1


def _looks(names: Sequence[str]) -> Iterator[str]:
    """A colour for each line: by a word in its name, else the next that none has."""
    own_looks = [next((_OF_WORD[w] for w in name.split() if w in _OF_WORD), None) for name in names]
    free = [look for look in _LOOKS if look not in own_looks]
    for look in own_looks:
        yield look or (free.pop(0) if free else _LOOKS[-1])


def describe_chart(chart: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """What the chart shows, in words."""
    phrases = []
    for line in lines:
        values = [value for _x, value in _within(chart, line)]
        unit = chart["y2" if "on" in line and "y2" in chart else "y"]["unit"]
        if values:
            phrases.append(
                f"{line['name']} from {_quantity(min(values), unit)} to "
                f"{_quantity(max(values), unit)}"
            )
    marks = [item for item in chart.get("marks", ()) if not item.get("quiet")]
    if "mark_above" in chart:
        marks.append(chart["mark_above"])
    phrases += [str(item["label"]) for item in marks]
    return f"{chart['title']} over {chart['x']['label']}: {'; '.join(phrases)}"


def _quantity(value: float, unit: str) -> str:
    if unit == "us":
        return formatting.latency(value)
    if unit == "B/s":
        value, unit = value / 1e6, "MB/s"
    return f"{formatting.number(value, 0 if abs(value) >= 100 else 1)} {unit}".rstrip()


def notes(chart: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the lines themselves do not show."""
    if any("low" in line and "high" in line for line in lines):
        yield "Each point averages several seconds; the band shows minimum and maximum."
    on_log = [line for line in lines if chart["y"]["scale"] == "log" and "on" not in line]
    if any(low <= 0 for line in on_log for low in _lows(chart, line)):
        yield "Log scale: zero values are drawn at the bottom edge."
    for line in lines:
        if line.get("source") == "counters" and line.get("reason"):
            yield f"{line['name']} from the drive's counters: {line['reason']}."
