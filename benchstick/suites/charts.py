"""The charts of a result document, one format for all suites: see `suites.interface.Result`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
Point = tuple[float, float | None]


def axis(label: str, unit: str, scale: str = "linear") -> Json:
    """What an axis shows. `scale` is linear, log2 (of x) or log (of y)."""
    return {"label": label, "unit": unit, "scale": scale}


def short(value: float | None) -> float | int | None:
    """Six digits are more than a chart shows, and charts are kept as text. An int stays."""
    if value is None or isinstance(value, int):
        return value
    near = float(f"{value:.6g}")
    return int(near) if near.is_integer() else near


def line(
    name: str,
    points: Iterable[Point],
    *,
    band: Sequence[tuple[float | None, float | None]] | None = None,
    on: str = "y",
) -> Json:
    """A line of (x, y); with y None it is broken there.

    `band` has the (lowest, highest) that each point stands for, `on` the axis: `y` or `y2`.
    """
    line_json: Json = {"name": name, "points": [[short(x), short(y)] for x, y in points]}
    if band is not None:
        line_json["low"] = [short(low) for low, _ in band]
        line_json["high"] = [short(high) for _, high in band]
    if on != "y":
        line_json["on"] = on
    return line_json


def curve(name: str, points: Iterable[Point], *, on: str = "y", guide: bool = False) -> Json:
    """A line through the points that have a value: what is missing between them is passed over.

    A `guide` was not measured, as a limit or a fitted line: it is dashed and has no points.
    """
    line_json = line(name, [(x, y) for x, y in points if y is not None], on=on)
    return {**line_json, "guide": True} if guide else line_json


def by_second(name: str, series: Mapping[str, Any]) -> Json:
    """The line of a series of `analysis.series.reduced`: x is the second, of a point that stands
    for several seconds the first of them; these have a band."""
    begin, every = series["from"], series["every"]
    points = [(begin + every * index, value) for index, value in enumerate(series["mean"])]
    band = None
    if "min" in series:
        band = list(zip(series["min"], series["max"], strict=True))
    return line(name, points, band=band)


def mark(x: float, label: str, *, quiet: bool = False) -> Json:
    """Something at one x, such as a knee, with what it is called. `quiet`: it divides the chart,
    and is nothing to be looked at for itself."""
    mark_json: Json = {"x": short(x), "label": label}
    return {**mark_json, "quiet": True} if quiet else mark_json


def chart(
    title: str,
    x: Json,
    y: Json,
    series: Sequence[Json | str],
    *,
    y2: Json | None = None,
    dots: bool = False,
    within: tuple[float, float] | None = None,
    mark_above: Json | None = None,
    marks: Sequence[Json] = (),
) -> Json:
    """A chart. `series` are lines, or names of lines in the document's own `series`; `within` is
    the part of x that it shows. What is not asked for is not in it."""
    chart_json: Json = {"title": title, "x": x, "y": y, "series": list(series)}
    if y2 is not None:
        chart_json["y2"] = y2
    if dots:
        chart_json["dots"] = True
    if within is not None:
        chart_json["from"], chart_json["to"] = (short(end) for end in within)
    if mark_above is not None:
        chart_json["mark_above"] = mark_above
    if marks:
        chart_json["marks"] = list(marks)
    return chart_json
