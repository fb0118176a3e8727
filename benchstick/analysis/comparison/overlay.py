"""The charts of several runs drawn over each other, in the format of `suites.charts`.

Result documents may come from another version or another bench: what is not in that format is
left out. Pure functions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

Json = dict[str, Any]
# A line with more points than that is reduced to no more than so many: a comparison has several
# lines in each chart, and a screen shows no more.
MOST_POINTS = 600
# Of all lines of a chart together.
_MOST_IN_CHART = 4800
_NUMBERS = frozenset({int, float})
_VALUES = frozenset({int, float, type(None)})


def overlaid(runs: Sequence[tuple[int, str, Mapping[str, Any]]]) -> list[Json]:
    """The charts that at least two of the `runs` share by title and axes (of one run: all), a run
    being (number, label, result document).

    Each line bears its run's label, and where a chart has several lines of a run its own name
    behind it; `run` is its run's number. So are the marks of each run.
    """
    groups: dict[str, list[tuple[int, str, Mapping[str, Any], list[Json]]]] = {}
    for number, label, result in runs:
        for key, chart, lines in _charts(result):
            groups.setdefault(key, []).append((number, label, chart, lines))
    least = min(2, len(runs))
    return [_merged(parts) for parts in groups.values() if len(parts) >= least]


def _charts(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], list[Json]]]:
    """A key, the chart and its lines, of each chart that is in the format."""
    shared_lines = {item["name"]: item for item in _list(result.get("series")) if _is_line(item)}
    counts: dict[str, int] = {}
    for chart in _list(result.get("charts")):
        if not isinstance(chart, Mapping) or not isinstance(chart.get("title"), str):
            continue
        axes = [chart.get("x"), chart.get("y"), *([chart["y2"]] if chart.get("y2") else [])]
        if not all(_is_axis(data) for data in axes):
            continue
        items = _list(chart.get("series"))
        data = [shared_lines.get(item) if isinstance(item, str) else item for item in items]
        lines: list[Json] = [item for item in data if _is_line(item)]
        if len(lines) < len(items) or not lines:
            continue
        parts = [chart.get(name) for name in ("title", "x", "y", "y2")]
        key = json.dumps(parts, sort_keys=True, default=str)
        # Two charts of one run with the same title and axes are not overlaid.
        counts[key] = counts.get(key, 0) + 1
        yield f"{key} {counts[key]}", chart, lines


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_axis(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(value.get(name), str) for name in ("label", "unit", "scale")
    )


def _is_line(value: Any) -> TypeGuard[Json]:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return False
    points = value.get("points")
    if not isinstance(points, list):
        return False
    # The types that JSON gives, looked at as sets: a comparison has a hundred thousand points.
    if not all(type(point) is list and len(point) == 2 for point in points):
        return False
    if not {type(x) for x, _ in points} <= _NUMBERS or not {type(y) for _, y in points} <= _VALUES:
        return False
    for side in ("low", "high"):
        ends = value.get(side, [])
        if not isinstance(ends, list) or (side in value and len(ends) != len(points)):
            return False
        if not {type(end) for end in ends} <= _VALUES:
            return False
    return True


def _merged(parts: Sequence[tuple[int, str, Mapping[str, Any], list[Json]]]) -> Json:
    first = parts[0][2]
    union: Json = {name: first[name] for name in ("title", "x", "y", "y2", "dots") if name in first}
    most = min(MOST_POINTS, _MOST_IN_CHART // sum(len(lines) for _, _, _, lines in parts))
    many = any(len(lines) > 1 for _, _, _, lines in parts)
    union["series"] = [
        {
            **reduced(line, max(most, 100)),
            "name": f"{label} · {line['name']}" if many else label,
            "run": number,
        }
        for number, label, _, lines in parts
        for line in lines
    ]
    # A chart that shows a part of x shows all that any of the runs shows.
    for end, choose in (("from", min), ("to", max)):
        ends: list[Any] = [chart.get(end) for _, _, chart, _ in parts]
        if all(_is_number(value) for value in ends):
            union[end] = choose(ends)
    marks = [
        {"x": item["x"], "label": f"{label}: {item.get('label', '')}", "run": number}
        for number, label, chart, _ in parts
        for item in (*_list(chart.get("marks")), chart.get("mark_above"))
        if isinstance(item, Mapping) and _is_number(item.get("x"))
    ]
    if marks:
        union["marks"] = marks
    return union


def reduced(line: Mapping[str, Any], most: int = MOST_POINTS) -> Json:
    """A line of at most `most` points: each stands for several with their mean, and the `low` and
    `high` keep the least and the greatest of them, so that no dip and no peak is lost."""
    points = line["points"]
    if len(points) <= most:
        return dict(line)
    every = math.ceil(len(points) / most)
    values = [value for _, value in points]
    result: Json = {**line, "points": [], "low": [], "high": []}
    for at in range(0, len(points), every):
        numbers = _drop_none(values[at : at + every])
        mean = float(f"{sum(numbers) / len(numbers):.6g}") if numbers else None
        result["points"].append([points[at][0], mean])
        for side, choose in (("low", min), ("high", max)):
            ends = _drop_none(line[side][at : at + every]) if side in line else numbers
            result[side].append(choose(ends) if ends else None)
    return result


def _drop_none(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None] if None in values else values
