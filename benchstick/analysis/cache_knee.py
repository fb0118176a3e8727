"""The cache knee: where a sequential fill leaves the drive's fast zone.

Our choice (no published rule was found): a knee is a fall of the speed by 20 % or more, within a
few intervals, to a level from which it does not come back except in short bursts. A gradual fall (a
hard disk's speed by position), a fall that comes back (a slow-down: slowdowns.py) and one of one or
two intervals are no knees. The knee lies inside one interval, and its place there follows from how
much was written in that interval and the speeds on both sides.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from benchstick.analysis.change_points import (
    Interval,
    Level,
    Point,
    busy_points,
    calm_logs,
    calmed,
    level_of,
    levels_of,
    noise_of,
    shown_around,
    without_bursts,
)
from benchstick.plan.units import duration_text, size_text

LEAST_FALL = 0.20
# The least number of whole intervals of the fast zone, and of the slower level after it.
LEAST_FAST = 2
LEAST_SLOW = 5
# The fast zone must also hold what is written fast in this many intervals: one fast second can look
# like two of them.
_LEAST_FAST_LENGTH = 2.5
# Where the speed came back from earlier falls, the last one must last this many times as long as
# the longest of them.
_OUTLASTS = 1.5
# With less than this share of the fall at one place, it was spread over time.
_SHARP_SHARE = 0.5
# How many intervals on each side give the speeds at a knee.
_WIDEST_LOOK = 30
# How far from the start of a level its knee can be, in intervals.
_NEAR = 5
# This many intervals after a knee show whether it is a step, however short the level there.
_LEAST_RIGHT = 10
# A level between two others that lasts for fewer intervals is a transition between them.
_LEAST_BETWEEN = 5
# A fall at one place must exceed its own uncertainty this many times.
_TIMES_UNSURE = 5.0


@dataclass(frozen=True)
class Knee:
    """One knee. `at_bytes` is what had been written when the speed fell, give or take
    `plus_minus_bytes`; `at_seconds` the clock then. The speeds, in MB/s, are those of the whole
    level before and the whole level after, up to the next knee. `confidence` is `clear`, or
    `likely` with the reason in `reason`."""

    at_bytes: int
    plus_minus_bytes: int
    at_seconds: float
    before_mbps: float
    after_mbps: float
    confidence: str
    reason: str | None = None

    @property
    def at_gb(self) -> float:
        """In GB of 10^9 bytes."""
        return self.at_bytes / 1e9

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "at_gb": self.at_gb}


@dataclass(frozen=True)
class CacheKnees:
    """All knees of a fill in order; when there is none, `reason` says what was seen instead."""

    knees: tuple[Knee, ...]
    reason: str | None
    text: str

    @property
    def first(self) -> Knee | None:
        """The end of the fast zone, None when no knee was found."""
        return self.knees[0] if self.knees else None

    def to_json(self) -> dict[str, Any]:
        return {
            "knees": [knee.to_json() for knee in self.knees],
            "reason": self.reason,
            "text": self.text,
        }


def find_knees(intervals: Sequence[Interval], *, ends_whole: bool = False) -> CacheKnees:
    """The knees of a sequential fill, from its intervals in order.

    `ends_whole`: see `series.busy_points`. ValueError when the series is not in order.
    """
    points, partial = busy_points(intervals, ends_whole=ends_whole)
    if len(points) < LEAST_FAST + 1 + LEAST_SLOW:
        return _none(f"only {len(points)} intervals show the drive's speed")
    calm, each = calmed(points)
    search = _Search(calm, _without_ways_between(calm, levels_of(calm)), noise_of(calm))
    changes = [at * each for at in search.changes()]
    if not changes:
        return _none(search.rejection or _steady_why(calm, search.levels))
    places: list[int] = []
    for at, after in pairwise([*changes, len(points)]):
        first = places[-1] + 1 if places else 0
        places.append(_change(points, first, at, after, each * _NEAR))
    bounds = [0, *places, len(points)]
    knees = tuple(
        _knee(points, partial, before, at, after)
        for before, at, after in zip(bounds, bounds[1:], bounds[2:], strict=False)
    )
    return CacheKnees(knees, None, _text(knees))


class _Search:
    """The search through the levels; `rejection` is why the largest fall was no knee."""

    def __init__(self, points: Sequence[Point], levels: Sequence[Level], noise: float) -> None:
        self.points = points
        self.levels = levels
        self.noise = noise
        self.rejection: str | None = None
        self._largest = 0.0

    def changes(self) -> list[int]:
        """The points in which the knees lie, in order."""
        around = shown_around(without_bursts(self.levels))
        knees: list[tuple[int, int]] = []
        begin = 0
        for place in range(1, len(self.levels)):
            fall = 1 - self.levels[place].speed / max(self.levels[place - 1].speed, 1e-9)
            if fall < LEAST_FALL:
                continue
            before, level = self.levels[place - 1], self.levels[place]
            change = _change(self.points, before.first, level.first, level.last, _NEAR)
            start = max(self.levels[begin].first, knees[-1][1] + 1 if knees else 0)
            reason = self._why_none(begin, place, start, change, around)
            if reason is None:
                knees.append((place, change))
                begin = place
            elif fall > self._largest:
                self._largest, self.rejection = fall, reason
        return self._deep([change for _, change in knees])

    def _deep(self, changes: list[int]) -> list[int]:
        """The changes between which the mean speeds fall enough, the least of the others out."""
        remaining = list(changes)
        while remaining:
            bounds = [0, *remaining, len(self.points)]
            means = [level_of(self.points, a, b).speed for a, b in pairwise(bounds)]
            falls = [1 - after / max(before, 1e-9) for before, after in pairwise(means)]
            least = min(range(len(falls)), key=falls.__getitem__)
            if falls[least] >= LEAST_FALL:
                break
            at = size_text(self.points[remaining.pop(least)].start)
            self.rejection = f"the speed fell at {at}, but over the whole time by little"
        return remaining

    def _why_none(
        self, begin: int, place: int, start: int, change: int, around: Sequence[float]
    ) -> str | None:
        """Why the fall before level `place` is no knee; None when it is one.

        The levels since the knee before are those from `begin` on, their points from `start` on.
        """
        levels, points = self.levels, self.points
        # After a stall the speed comes back, but not to that at the start if the drive got slower.
        stall = levels[place].speed <= (1 - LEAST_FALL) * around[place]
        top = around[place - 1] if stall else max(around[begin:place])
        lasting = 1 - around[place] / top if top else 0.0
        if lasting < LEAST_FALL or self._fell_like_this_before(begin, place, around):
            at = size_text(points[levels[place].first].start)
            return f"the speed fell at {at} and came back"
        if len(points) - change - 1 < LEAST_SLOW:
            return "the speed was lower in the last moment only"
        if change - start < LEAST_FAST or self._fast_length(start, change) < _LEAST_FAST_LENGTH:
            return "the speed was higher in the first moment only"
        return self._no_step(place, change)

    def _fast_length(self, start: int, change: int) -> float:
        """What was written before the knee, in intervals of the speed there."""
        points = self.points
        fast = level_of(points, start, change)
        slow = level_of(points, change + 1, len(points))
        share = (points[change].speed - slow.speed) / max(fast.speed - slow.speed, 1e-9)
        # What was written before the first whole interval, in a pause in part, was fast as well.
        fast_bytes = points[change].start - (points[start].start if start else 0)
        return fast_bytes * fast.count / max(fast.speed * fast.seconds, 1.0) + min(
            1.0, max(0.0, share)
        )

    def _fell_like_this_before(self, begin: int, place: int, around: Sequence[float]) -> bool:
        """Whether what is left is hardly longer than an earlier slow time that did come back."""
        rest_seconds = sum(level.seconds for level in self.levels[place:])
        slow = longest = 0.0
        for at in range(begin, place):
            low = self.levels[at].speed <= (1 - LEAST_FALL) * around[at]
            slow = slow + self.levels[at].seconds if low else 0.0
            longest = max(longest, slow)
        return rest_seconds < _OUTLASTS * longest

    def _no_step(self, place: int, change: int) -> str | None:
        """Why the fall before level `place` is not at one place; None when it is.

        The logarithms of the two levels' speeds are fitted by one slope and a step: a drive whose
        speed falls gradually has no step.
        """
        before, level = self.levels[place - 1], self.levels[place]
        last = min(len(self.points), max(level.last, change + 1 + _LEAST_RIGHT))
        indexes = [at for at in range(before.first, last) if at != change]
        calm = calm_logs(self.points[before.first : last], self.noise)
        step, unsure = _step(
            [float(at) for at in indexes],
            [calm[at - before.first] for at in indexes],
            [at > change for at in indexes],
            self.noise,
        )
        first, end = self.levels[0].speed, self.levels[-1].speed
        if step < _SHARP_SHARE * math.log(before.speed / max(level.speed, 1.0)):
            return f"the speed falls gradually, from {_mbps(first)} to {_mbps(end)}"
        if step < _TIMES_UNSURE * unsure:
            return (
                f"the speed falls from {_mbps(first)} to {_mbps(end)}, but too unevenly to locate "
                "the fall"
            )
        return None


def _change(points: Sequence[Point], first: int, middle: int, last: int, near: int) -> int:
    """The point near `middle` that holds the speeds of both sides: the others fit best then.

    `first` and `last` bound the two sides; of the first one point is left at least, of the last
    one as well.
    """
    low, high = max(first, middle - _WIDEST_LOOK), min(last, middle + _WIDEST_LOOK)
    speeds = [point.speed for point in points[low:high]]
    left_mean = statistics.fmean(speeds[: middle - low])
    right = statistics.fmean(speeds[middle - low :])

    def misfit(at: int) -> float:
        between = max(0.0, speeds[at] - left_mean, right - speeds[at])
        before = sum(abs(speed - left_mean) for speed in speeds[:at])
        return before + between + sum(abs(speed - right) for speed in speeds[at + 1 :])

    places = range(max(1, middle - low - near), min(len(speeds) - 1, middle - low + near))
    return low + min(places, key=misfit)


def _knee(
    points: Sequence[Point], partial: Sequence[Point], before: int, at: int, after: int
) -> Knee:
    """The knee in point `at`; `before` and `after` are the points of the knees around it, or the
    ends of the series."""
    # The points that hold a knee count for neither side.
    left_level = level_of(points, before + 1 if before else 0, at)
    right = level_of(points, at + 1, after)
    near = level_of(points, max(left_level.first, at - _WIDEST_LOOK), at)
    far = level_of(points, at + 1, min(after, at + 1 + _WIDEST_LOOK))
    point, apart = points[at], max(near.speed - far.speed, 1e-9)
    # How much of the point's time went at the speed before it.
    share = min(1.0, max(0.0, (point.speed - far.speed) / apart))
    place = min(point.start + share * point.seconds * near.speed, float(point.end))
    noise = noise_of(points[near.first : far.last])
    blur = min(noise * near.speed / apart, 1.0)
    unsure = blur * point.moved
    low, high = _unseen(points, at, share, max(0.1, min(0.4, 3 * blur)))
    if low < high:
        for piece in partial:
            # Faster than the slow level, though it was a pause in part: it was fast.
            if low <= piece.start < high and piece.speed > far.speed * (1 + 3 * noise):
                low = piece.end
        place, unsure = (low + high) / 2, unsure + (high - low) / 2
    reason = _doubt(points, left_level, right)
    return Knee(
        at_bytes=round(place),
        plus_minus_bytes=round(unsure),
        at_seconds=point.t0 + share * point.seconds,
        before_mbps=left_level.speed / 1e6,
        after_mbps=right.speed / 1e6,
        confidence="clear" if reason is None else "likely",
        reason=reason,
    )


def _unseen(points: Sequence[Point], at: int, share: float, blur: float) -> tuple[int, int]:
    """The bytes next to a pause that no point shows and that the knee may lie in; (0, 0) when
    there are none. A `share` as near to 0 or 1 as `blur` may be 0 or 1."""
    if share > 1 - blur:
        return points[at].end, points[at + 1].start
    if share < blur:
        return points[at - 1].end, points[at].start
    return 0, 0


def _doubt(points: Sequence[Point], left_level: Level, right: Level) -> str | None:
    """What makes a knee between two levels less than clear; None when it is clear."""
    if left_level.count < LEAST_SLOW:
        return f"the fast zone lasted for {left_level.count} intervals only"
    whole = points[-1].t1 - points[0].t0
    if right.seconds < min(30.0, whole / 10):
        return f"only {duration_text(right.seconds)} of the slower speed were seen"
    return None


def _step(
    x: Sequence[float], y: Sequence[float], after: Sequence[bool], noise: float
) -> tuple[float, float]:
    """(fall, its standard error) of the step in y = a + b x - fall * after, by least squares.

    Done by taking out of both `y` and `after` what a line in `x` explains (Frisch and Waugh).
    """
    flags = [1.0 if flag else 0.0 for flag in after]
    rest_y, rest_flag = _without_line(x, y), _without_line(x, flags)
    weight = math.fsum(value * value for value in rest_flag)
    step = -math.fsum(a * b for a, b in zip(rest_y, rest_flag, strict=True)) / weight
    residual = math.fsum((a + step * b) ** 2 for a, b in zip(rest_y, rest_flag, strict=True)) / max(
        1, len(x) - 3
    )
    return step, max(noise, math.sqrt(residual)) / math.sqrt(weight)


def _without_line(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """What the least-squares line leaves of `y`."""
    slope, base = statistics.linear_regression(x, y)
    return [value - base - slope * at for at, value in zip(x, y, strict=True)]


def _without_ways_between(points: Sequence[Point], levels: Sequence[Level]) -> list[Level]:
    """Short levels between a faster and a slower one joined to the nearer of the two."""
    result = list(levels)
    for at in range(len(result) - 2, 0, -1):
        faster, level, slower = result[at - 1 : at + 2]
        if level.count >= _LEAST_BETWEEN or not faster.speed > level.speed > slower.speed:
            continue
        if faster.speed - level.speed < level.speed - slower.speed:
            result[at - 1 : at + 1] = [level_of(points, faster.first, level.last)]
        else:
            result[at : at + 2] = [level_of(points, level.first, slower.last)]
    return result


def _steady_why(points: Sequence[Point], levels: Sequence[Level]) -> str:
    mean = level_of(points, 0, len(points)).speed
    slow, fast = min(levels, key=_speed).speed, max(levels, key=_speed).speed
    if len(levels) == 1:
        return f"the speed stays at about {_mbps(mean)}"
    if levels[-1].speed <= (1 - LEAST_FALL) * levels[0].speed:
        return f"the speed falls gradually, from {_mbps(levels[0].speed)} to {_mbps(slow)}"
    return f"the speed stays between {_mbps(slow)} and {_mbps(fast)} without a lasting fall"


def _speed(level: Level) -> float:
    return level.speed


def _none(reason: str) -> CacheKnees:
    return CacheKnees((), reason, f"No cache knee was found: {reason}.")


def _text(knees: Sequence[Knee]) -> str:
    first, *others = knees
    text = (
        f"The fast zone ends at {first.at_gb:.2f} GB: {first.before_mbps:.0f} MB/s before, "
        f"{first.after_mbps:.0f} MB/s after"
    )
    for knee in others:
        text += f"; at {knee.at_gb:.2f} GB it falls to {knee.after_mbps:.0f} MB/s"
    if first.reason is not None:
        text += f" (likely, not certain: {first.reason})"
    return f"{text}."


def _mbps(speed: float) -> str:
    return f"{speed / 1e6:.0f} MB/s"
