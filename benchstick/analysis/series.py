"""Values by second: percentiles of them, and fewer points of a long series for charts."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

# A series up to this long is kept second by second: a consistency run of 2000 s is.
WHOLE = 2400
# A longer one becomes at most so many points, about what a chart has pixels.
POINTS = 1200


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The nearest-rank percentile: the smallest value that `percent` % of all do not exceed.

    None of nothing.
    """
    if not values:
        return None
    rank = max(1, math.ceil(percent / 100 * len(values)))
    return sorted(values)[rank - 1]


def every_of(count: int) -> int:
    """Of how many values in a row one point is to be made, so that a chart can show `count`."""
    return 1 if count <= WHOLE else math.ceil(count / POINTS)


def extremes(numbers: Sequence[int], columns: Sequence[Sequence[float]], every: int) -> list[int]:
    """The places of the rows to keep of a long table, in order.

    Of each `every` rows (by their `numbers`, which rise) those where a column is least and where it
    is most, so that no dip and no peak is lost; one at least.
    """
    places: list[int] = []
    begin, count = 0, len(numbers)
    while begin < count:
        end = bisect.bisect_left(numbers, (numbers[begin] // every + 1) * every, begin)
        picks = {begin}
        for column in columns:
            part = column[begin:end]
            low, high = min(part), max(part)
            if low != high:
                picks |= {begin + part.index(low), begin + part.index(high)}
        places += sorted(picks)
        begin = end
    return places


def reduced(values: Sequence[float | None], *, start: int = 0) -> dict[str, Any]:
    """`values`, one a second from second `start` on, as a series for a chart.

    `{"from", "every", "mean"}`: point i is the mean over the `every` seconds from
    `from + i * every` on. With more than one second a point there are `min` and `max` too, so
    that no dip and no peak is lost. None is a second, or a point, without a value.
    """
    every = every_of(len(values))
    header: dict[str, Any] = {"from": start, "every": every}
    if every == 1:
        return {**header, "mean": [_short(value) for value in values]}
    parts = [
        [value for value in values[at : at + every] if value is not None]
        for at in range(0, len(values), every)
    ]
    return {
        **header,
        "mean": [_short(math.fsum(part) / len(part)) if part else None for part in parts],
        "min": [_short(min(part, default=None)) for part in parts],
        "max": [_short(max(part, default=None)) for part in parts],
    }


def scaled(series: dict[str, Any], factor: float) -> dict[str, Any]:
    """A series of `reduced` with every value times `factor`."""
    return {
        name: [None if item is None else _short(item * factor) for item in value]
        if isinstance(value, list)
        else value
        for name, value in series.items()
    }


def _short(value: float | None) -> float | int | None:
    """Five digits are more than a chart shows, and a long series is kept as text."""
    if value is None:
        return None
    if abs(value) >= 10_000:
        return round(value)
    near = float(f"{value:.5g}")
    return int(near) if near.is_integer() else near
