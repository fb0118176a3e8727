"""Slow-downs: the speed falls, stays down for a while and comes back; throttling when it got warm.

Terms (docs/glossary.md, throttling): without a temperature the verdict is
`slowdown, cause unknown`, never `throttling`. The rule itself is our choice: for 5 s or longer the
speed is 30 % or more below what the drive showed both before and after. A lasting fall (the cache
knee, a hard disk's inner tracks) is therefore no slow-down, nor is a pause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.analysis.change_points import (
    LEAST_POINTS,
    Interval,
    Level,
    Point,
    busy_points,
    calmed,
    level_of,
    levels_of,
    noise_of,
    shown_around,
    without_bursts,
)
from benchstick.plan.states import SlowDownState
from benchstick.plan.units import duration_text

LEAST_DEPTH = 0.30
LEAST_SECONDS = 5.0
# The fall must also exceed the noise of a mean over as many intervals this many times.
_TIMES_NOISE = 5.0
# The way down and the way up count as part of a slow-down from here on.
_EDGE_DEPTH = 0.10
# Degrees by which the temperature must have risen, within how many seconds before the fall.
LEAST_RISE = 3.0
LOOK_BACK = 120.0
# A lasting fall of a drive this hot can be the cache or throttling.
_HOT = 60.0

Reading = tuple[float, float | None]


@dataclass(frozen=True)
class Warming:
    """The readings that show it: degrees Celsius and clock of the one before and of the peak."""

    from_celsius: float
    to_celsius: float
    from_seconds: float
    to_seconds: float


@dataclass(frozen=True)
class SlowDown:
    """One slow-down, from and to on the run's clock in seconds.

    `before_mbps` and `after_mbps` are the levels around it, `slow_mbps` its lowest level and
    `depth` how far that lies below the lower of the two, as a share. `in_pause`: the speed was
    back after a pause. `warming` is None when no readings show a rising temperature.
    """

    from_seconds: float
    to_seconds: float
    before_mbps: float
    slow_mbps: float
    after_mbps: float
    depth: float
    in_pause: bool
    warming: Warming | None
    cause: str


@dataclass(frozen=True)
class SlowDowns:
    """`state` is THROTTLING when the temperature rose in at least one of them."""

    state: SlowDownState
    slow_downs: tuple[SlowDown, ...]
    text: str

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "found": [asdict(item) for item in self.slow_downs],
            "text": self.text,
        }


def find_slow_downs(
    intervals: Sequence[Interval],
    temperatures: Sequence[Reading] = (),
    *,
    ends_whole: bool = False,
) -> SlowDowns:
    """The slow-downs of a sequential write or read, from its intervals in order.

    `temperatures` are (clock, degrees Celsius), None where there was no reading. `ends_whole`:
    see `series.busy_points`. ValueError when the series is not in order.
    """
    points, _ = calmed(busy_points(intervals, ends_whole=ends_whole)[0])
    if len(points) < 2 * LEAST_POINTS:
        reason = f"only {len(points)} intervals show the drive's speed"
        return SlowDowns(SlowDownState.UNKNOWN, (), f"Slowing down cannot be judged: {reason}.")
    warmth = sorted(
        (t, celsius)
        for t, celsius in temperatures
        if celsius is not None and math.isfinite(celsius)
    )
    levels = levels_of(points)
    slow_downs = tuple(_slow_downs(points, without_bursts(levels), noise_of(points), warmth))
    if not slow_downs:
        return _lasting_fall(points, levels, warmth) or SlowDowns(
            SlowDownState.NONE, (), "The drive did not slow down and recover."
        )
    is_warm = any(slow.warming for slow in slow_downs)
    state = SlowDownState.THROTTLING if is_warm else SlowDownState.SLOWDOWN
    return SlowDowns(state, slow_downs, _text(slow_downs))


def _slow_downs(
    points: Sequence[Point],
    flat: Sequence[Level],
    noise: float,
    warmth: Sequence[tuple[float, float]],
) -> list[SlowDown]:
    """`flat` are the levels without bursts, which show the slow times."""
    around = shown_around(flat)
    # A drive that has not moved anything yet has nothing to slow down from.
    depths = [
        1 - level.speed / top if top else 0.0 for level, top in zip(flat, around, strict=True)
    ]
    slow_downs = []
    for first, last in _below(flat, depths):
        lowest = max(range(first, last), key=depths.__getitem__)
        depth = depths[lowest]
        count = flat[last - 1].last - flat[first].first
        sure = -math.log(max(1 - depth, 1e-9)) >= _TIMES_NOISE * noise / math.sqrt(count)
        if sure:
            slow_downs.append(_slow_down(points, flat, first, last, lowest, depth, warmth))
    return slow_downs


def _below(flat: Sequence[Level], depths: Sequence[float]) -> Iterator[tuple[int, int]]:
    """The spans of levels (first, after the last) that are slow enough for long enough."""
    at = 0
    while at < len(depths):
        end = at
        while end < len(depths) and depths[end] >= _EDGE_DEPTH:
            end += 1
        seconds = sum(level.seconds for level in flat[at:end])
        if end > at and max(depths[at:end]) >= LEAST_DEPTH and seconds >= LEAST_SECONDS:
            yield at, end
        at = end + 1


def _slow_down(
    points: Sequence[Point],
    levels: Sequence[Level],
    at: int,
    end: int,
    lowest: int,
    depth: float,
    warmth: Sequence[tuple[float, float]],
) -> SlowDown:
    first, last = points[levels[at].first], points[levels[end - 1].last - 1]
    back = levels[end].first
    warming = _warming(warmth, first.t0, last.t1)
    return SlowDown(
        from_seconds=first.t0,
        to_seconds=last.t1,
        before_mbps=levels[at - 1].speed / 1e6,
        slow_mbps=levels[lowest].speed / 1e6,
        after_mbps=levels[end].speed / 1e6,
        depth=depth,
        # The start of a level is accurate to about one point.
        in_pause=any(point.has_pause_before for point in points[back - 1 : back + 2]),
        warming=warming,
        cause=SlowDownState.THROTTLING if warming is not None else SlowDownState.UNKNOWN,
    )


def _warming(warmth: Sequence[tuple[float, float]], begin: float, end: float) -> Warming | None:
    """The rise of the readings right before and during a slow-down; None when they do not rise or
    there are none."""
    earlier = [reading for reading in warmth if reading[0] <= begin]
    if not earlier:
        return None
    base = max((level for level in earlier if level[0] <= begin - LOOK_BACK), default=earlier[0])
    near = [reading for reading in warmth if base[0] < reading[0] <= end]
    if not near:
        return None
    peak = max(near, key=lambda reading: reading[1])
    if peak[1] - base[1] < LEAST_RISE:
        return None
    return Warming(base[1], peak[1], base[0], peak[0])


def _lasting_fall(
    points: Sequence[Point], levels: Sequence[Level], warmth: Sequence[tuple[float, float]]
) -> SlowDowns | None:
    """A hot drive's fall without a return, which may be its cache or its temperature."""
    for at in range(1, len(levels)):
        before, rest = levels[at - 1], levels[at:]
        if max(level.speed for level in rest) > (1 - LEAST_DEPTH) * before.speed:
            continue
        begin = points[levels[at].first].t0
        warming = _warming(warmth, begin, begin + LOOK_BACK)
        if warming is None or warming.to_celsius < _HOT:
            continue
        after = level_of(points, rest[0].first, rest[-1].last).speed
        return SlowDowns(
            SlowDownState.UNCLEAR,
            (),
            f"The speed fell from {before.speed / 1e6:.0f} to {after / 1e6:.0f} MB/s at "
            f"{duration_text(begin)} and did not come back, while the temperature rose from "
            f"{warming.from_celsius:.0f} to {warming.to_celsius:.0f} °C: a full cache and "
            "throttling look the same here.",
        )
    return None


def _text(falls: Sequence[SlowDown]) -> str:
    deepest = max(falls, key=lambda slow: slow.depth)
    if len(falls) == 1:
        return f"The drive slowed down {_one(deepest)}."
    warm = sum(1 for slow in falls if slow.warming is not None)
    with_heat = f", {warm} of them with rising temperature" if warm else ", cause unknown"
    return f"The drive slowed down {len(falls)} times{with_heat}; the deepest was {_one(deepest)}."


def _one(slow: SlowDown) -> str:
    text = (
        f"by {100 * slow.depth:.0f} % from {duration_text(slow.from_seconds)} to "
        f"{duration_text(slow.to_seconds)} (to {slow.slow_mbps:.0f} MB/s; "
        f"{slow.before_mbps:.0f} MB/s before, {slow.after_mbps:.0f} MB/s after"
        f"{' a pause' if slow.in_pause else ''})"
    )
    if slow.warming is None:
        return f"{text}, cause unknown"
    return (
        f"{text}, with rising temperature ({slow.warming.from_celsius:.0f} to "
        f"{slow.warming.to_celsius:.0f} °C)"
    )
