"""The charts of the suite `sustained`: speed by position and by time, with what was found in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchstick.analysis.cache_knee import CacheKnees
from benchstick.analysis.change_points import Interval
from benchstick.analysis.slowdowns import SlowDowns
from benchstick.plan.units import CELSIUS, duration_text
from benchstick.suites.charts import axis, chart, curve, line, mark

# Points of a chart that the result keeps; the samples hold all.
CHART_POINTS = 1200
# More marks than this hide what they mark.
MARKED_SLOW_DOWNS = 6
# Seconds of the idle time after the last part, whose temperature belongs to the fill.
END_IDLE = 2
# Seconds without a reading that break the line over the time.
_PAUSE = 0.5


class _Stretch(NamedTuple):
    """Some seconds of the fill without a pause between: bytes `start` to `end`, clock `t0` to
    `t1`, and MB/s: on the whole, at the slowest and at the fastest."""

    start: int
    end: int
    t0: float
    t1: float
    mbps: float
    low: float
    high: float


def _stretches(series: Sequence[Interval]) -> Iterator[_Stretch]:
    """The fill in about CHART_POINTS stretches, and one more at most for each pause."""
    each = -(-len(series) // CHART_POINTS)
    part: list[tuple[float, Interval]] = []
    clock = 0.0
    for interval in series:
        t1 = clock + interval.seconds if interval.t is None else interval.t
        if part and (len(part) == each or t1 - interval.seconds - clock > _PAUSE):
            yield _stretch(part)
            part = []
        part.append((t1, interval))
        clock = t1
    if part:
        yield _stretch(part)


def _stretch(part: Sequence[tuple[float, Interval]]) -> _Stretch:
    intervals = [interval for _, interval in part]
    speeds = [interval.moved / interval.seconds / 1e6 for interval in intervals]
    byte_count = sum(interval.moved for interval in intervals)
    return _Stretch(
        start=intervals[0].total - intervals[0].moved,
        end=intervals[-1].total,
        t0=part[0][0] - intervals[0].seconds,
        t1=part[-1][0],
        mbps=byte_count / sum(interval.seconds for interval in intervals) / 1e6,
        low=min(speeds),
        high=max(speeds),
    )


def charts(
    series: Sequence[Interval],
    knees: CacheKnees,
    slow: SlowDowns,
    temperatures: Sequence[tuple[float, float | None]],
) -> Iterator[dict[str, Any]]:
    """Speed by position and by time, the knees marked; by time also the slow-downs and the
    temperature."""
    stretches = list(_stretches(series))
    if not stretches:
        return
    # A band only where a stretch is more than a second.
    has_band = len(series) > len(stretches)
    speed = axis("speed", "MB/s")
    band = [(item.low, item.high) for item in stretches] if has_band else None
    places = [((item.start + item.end) / 2e9, item.mbps) for item in stretches]
    yield chart(
        "Speed by position",
        axis("written", "GB"),
        speed,
        [line("write", places, band=band)],
        within=(0, stretches[-1].end / 1e9),
        marks=[mark(knee.at_gb, f"knee at {knee.at_gb:.4g} GB") for knee in knees.knees],
    )
    begin, end = stretches[0].t0, stretches[-1].t1
    readings = [(t, celsius) for t, celsius in temperatures if t <= end + END_IDLE]
    lines = [_by_time(stretches, has_band)]
    if any(celsius is not None for _, celsius in readings):
        lines.append(curve("temperature", readings, on="y2"))
    yield chart(
        "Speed by time",
        axis("time of the run", "s"),
        speed,
        lines,
        y2=axis("temperature", CELSIUS) if len(lines) > 1 else None,
        within=(min([begin, *(t for t, _ in readings)]), max([end, *(t for t, _ in readings)])),
        marks=_time_marks(knees, slow),
    )


def _by_time(stretches: Sequence[_Stretch], has_band: bool) -> dict[str, Any]:
    """The speed by time, broken at each pause."""
    points: list[tuple[float, float | None]] = []
    band: list[tuple[float | None, float | None]] = []
    for before, item in zip([None, *stretches], stretches, strict=False):
        if before is not None and item.t0 - before.t1 > _PAUSE:
            points.append(((before.t1 + item.t0) / 2, None))
            band.append((None, None))
        points.append(((item.t0 + item.t1) / 2, item.mbps))
        band.append((item.low, item.high))
    return line("write", points, band=band if has_band else None)


def _time_marks(knees: CacheKnees, slow: SlowDowns) -> list[dict[str, Any]]:
    """The knees, and the deepest slow-downs, in order of time."""
    deepest = sorted(slow.slow_downs, key=lambda item: -item.depth)[:MARKED_SLOW_DOWNS]
    marks = [mark(knee.at_seconds, "knee") for knee in knees.knees]
    marks += [
        mark(item.from_seconds, f"slow for {duration_text(item.to_seconds - item.from_seconds)}")
        for item in deepest
    ]
    return sorted(marks, key=lambda item: float(item["x"]))
