"""The speed of a sequential fill as a series: its valid intervals and the levels of the speed.

Both the cache knee and slow-downs are searched for in these levels. The method is our choice: a
running median removes single outliers; changes of level are then searched at every scale with a
CUSUM statistic over overlapping windows, the narrowest window that shows a change first (seeded
binary segmentation with narrowest-over-threshold selection, both known from the literature on
change points); neighbouring levels that differ by less than a tenth are joined. Its threshold
comes from the noise of the series itself, measured from second to second.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

# A level of fewer intervals looks the same as an outlier that lies across two of them.
LEAST_POINTS = 3
_MEDIAN_OF = 5
_JOIN_BELOW = 0.10
# Slower than this share of the median, no requests were sent to the drive.
_IDLE_BELOW = 0.001
# An interval next to a pause that is slower than this share of the next one was partly a pause.
_PARTLY_BELOW = 0.9
# No series is trusted to be quieter than 1 %.
_LEAST_NOISE = 0.01
# A fast level as long as this is never a burst, and slow time is this share below it or less.
_LEAST_FAST = 10.0
_SLOWER_BELOW = 0.80
# Noise from which on points are joined, and how many points are too few for that.
_JAGGED = 0.25
_FEW = 40
# Times the largest value that noise alone is expected to give.
_CERTAINTY = 1.6


class Interval(NamedTuple):
    """One reading of a sequential fill.

    `total` is the bytes written since the fill started, this interval's included; `seconds` the
    interval's length; `moved` the bytes written in it. `t` is the clock at its end, None where it
    follows the one before without a gap (the first then starts at 0). `waiting`: requests were
    outstanding. An interval with nothing moved is a stall with outstanding requests, and a pause
    without.
    """

    total: int
    seconds: float
    moved: int
    t: float | None = None
    waiting: bool = False


class Point(NamedTuple):
    """An interval in which the drive was written to all the time: bytes `start` to `end`, clock
    `t0` to `t1`. `moved` and `seconds` leave out what lay between the intervals of a `calmed`
    series. `has_pause_before`: there was a pause right before it."""

    start: int
    end: int
    t0: float
    t1: float
    moved: int
    seconds: float
    has_pause_before: bool

    @property
    def speed(self) -> float:
        """Bytes a second."""
        return self.moved / self.seconds


@dataclass(frozen=True)
class Level:
    """Points `first` up to, and not with, `last`, and their bytes over their seconds."""

    first: int
    last: int
    seconds: float
    speed: float

    @property
    def count(self) -> int:
        return self.last - self.first


class Moved(Protocol):
    """One row of a run's per-second record (`store.run_results.Sample`): what was moved in the `dt`
    seconds that end at `t`, in a step of the plan."""

    @property
    def t(self) -> float: ...
    @property
    def dt(self) -> float: ...
    @property
    def step_index(self) -> int | None: ...
    @property
    def read_bytes(self) -> int: ...
    @property
    def write_bytes(self) -> int: ...


class SampleLike(Moved, Protocol):
    """What a series takes of it."""

    @property
    def inflight(self) -> int: ...


def of_writing(
    samples: Sequence[SampleLike], seconds: float | None, total: int = 0
) -> list[Interval]:
    """The intervals of one uninterrupted write without the pauses around it.

    `samples` are those in which it lies. Its first and its last one are pauses in part: they share
    what is left of `seconds`, the writing time that the tool reports, by their bytes. With None (a
    cancelled write) they are left out: their bytes were written, but show no speed. `total`: the
    bytes written before.
    """
    moving = [index for index, sample in enumerate(samples) if sample.write_bytes]
    if not moving:
        return []
    part = samples[moving[0] : moving[-1] + 1]
    lengths = _lengths(part, seconds)
    series = []
    for at, (sample, length) in enumerate(zip(part, lengths, strict=True)):
        total += sample.write_bytes
        if length <= 0:
            continue
        # The first one ends with its sample, the last one starts with it.
        t = sample.t - sample.dt + length if at == len(part) - 1 > 0 else sample.t
        series.append(Interval(total, length, sample.write_bytes, t, True))
    return series


def _lengths(part: Sequence[SampleLike], seconds: float | None) -> list[float]:
    """How long each sample was written in; 0 for what is not known."""
    lengths = [sample.dt for sample in part]
    if seconds is None:
        return [0.0, *lengths[1:-1], 0.0][: len(part)]
    if len(part) == 1:
        return [min(seconds, part[0].dt)]
    first, last = part[0], part[-1]
    rest = min(max(seconds - sum(lengths[1:-1]), 0.0), first.dt + last.dt)
    share = first.write_bytes / (first.write_bytes + last.write_bytes)
    begin = max(min(rest * share, first.dt), rest - last.dt)
    return [begin, *lengths[1:-1], rest - begin]


def busy_points(
    intervals: Sequence[Interval], *, ends_whole: bool = False
) -> tuple[list[Point], list[Point]]:
    """(points, partial): the intervals that show the drive's speed, and those left out.

    Pauses are in neither. The first interval, the last and those next to a pause may have been a
    pause in part, which makes them too slow: they are left out when they are slower than their
    neighbour. `ends_whole`: no interval is a pause in part. ValueError when the series is not in
    order.
    """
    stretches = _stretches(list(_on_the_clock(intervals)))
    everything = [point for stretch in stretches for point in stretch]
    if ends_whole:
        return everything, []
    whole = [point for stretch in stretches for point in _without_partial_ends(stretch)]
    starts = {point.start for point in whole}
    return whole, [point for point in everything if point.start not in starts]


def _stretches(intervals: Sequence[tuple[int, float, float, int, bool]]) -> list[list[Point]]:
    """The points between one pause and the next."""
    speeds = [byte_count / (t1 - t0) for _, t0, t1, byte_count, _ in intervals if byte_count > 0]
    idle_below = _IDLE_BELOW * statistics.median(speeds) if speeds else 0.0
    spans: list[list[Point]] = []
    before: float | None = None
    for end, t0, t1, byte_count, waiting in intervals:
        speed = byte_count / (t1 - t0)
        if not waiting and speed <= idle_below:
            before = None
            continue
        # A gap on the clock is a pause that the caller has left out.
        has_pause = before is None or t0 - before > 0.5 * (t1 - t0)
        if has_pause:
            spans.append([])
        spans[-1].append(
            Point(end - byte_count, end, t0, t1, byte_count, t1 - t0, has_pause and len(spans) > 1)
        )
        before = t1
    return spans


def _on_the_clock(
    intervals: Sequence[Interval],
) -> Iterator[tuple[int, float, float, int, bool]]:
    """(total, start, end, moved, waiting) of each interval that has a length."""
    clock, last = 0.0, 0
    for interval in intervals:
        total, seconds, byte_count, t, waiting = interval
        if not (byte_count >= 0 and total >= last + byte_count and 0 <= seconds < math.inf):
            raise ValueError(f"series: {interval} does not follow {last} bytes")
        end = clock + seconds if t is None else t
        clock, last = end, total
        if seconds > 0:
            yield total, end - seconds, end, byte_count, waiting


def _without_partial_ends(stretch: list[Point]) -> list[Point]:
    """A stretch between two pauses without the ends that were partly pauses themselves."""
    # One or two intervals may all be pauses in part, which cannot be detected.
    if len(stretch) < 3:
        return []
    points = list(stretch)
    inner = points[1:-1]
    if points[-1].speed < _PARTLY_BELOW * inner[-1].speed:
        points.pop()
    if points[0].speed < _PARTLY_BELOW * inner[0].speed:
        points.pop(0)
        points[0] = points[0]._replace(has_pause_before=stretch[0].has_pause_before)
    return points


def calmed(points: Sequence[Point]) -> tuple[list[Point], int]:
    """(points, how many of the given ones are in each): joined in pairs while they are jagged.

    Drives without a cache left can change between two speeds every second; what they keep to then
    is a mean over several of them. Points that are calm, or few, stay as they are.
    """
    result, each = list(points), 1
    while len(result) >= _FEW and noise_of(result) > _JAGGED:
        pairs = [_joined(result[at : at + 2]) for at in range(0, len(result) - 1, 2)]
        if len(result) % 2:
            pairs[-1] = _joined([pairs[-1], result[-1]])
        result, each = pairs, each * 2
    return result, each


def _joined(points: Sequence[Point]) -> Point:
    first, last = points[0], points[-1]
    return Point(
        first.start,
        last.end,
        first.t0,
        last.t1,
        sum(point.moved for point in points),
        math.fsum(point.seconds for point in points),
        first.has_pause_before,
    )


def noise_of(points: Sequence[Point]) -> float:
    """How much the speed changes from point to point where it keeps its level, as a share.

    From the middle one of the changes, in a long series from the one that three quarters stay
    below: neither knees nor single outliers count, but a speed that changes every other second.
    """
    logs = _logs([point.speed for point in points])
    changes = sorted(abs(b - a) for a, b in pairwise(logs))
    if not changes:
        return _LEAST_NOISE
    # How far half and three quarters of the differences of two normal values lie apart.
    share, normal = (0.5, 0.954) if len(points) < _FEW else (0.75, 1.627)
    return max(_LEAST_NOISE, changes[int(share * len(changes))] / normal)


def levels_of(points: Sequence[Point]) -> list[Level]:
    """The levels that the speed keeps to, in order; together they are all points."""
    if not points:
        return []
    calm = _running_median([point.speed for point in points])
    starts = [0, *_changes(_logs(calm), noise_of(points)), len(points)]
    levels = [_level(points, a, b) for a, b in pairwise(starts)]
    return join_alike(points, levels)


def join_alike(points: Sequence[Point], levels: Sequence[Level]) -> list[Level]:
    """Neighbouring levels less than a tenth apart made one, the nearest ones first."""
    result = list(levels)
    while len(result) > 1:
        gaps = [abs(a.speed - b.speed) / max(a.speed, b.speed, 1e-9) for a, b in pairwise(result)]
        at = min(range(len(gaps)), key=gaps.__getitem__)
        if gaps[at] >= _JOIN_BELOW:
            break
        result[at : at + 2] = [_level(points, result[at].first, result[at + 1].last)]
    return result


def _level(points: Sequence[Point], first: int, last: int) -> Level:
    part = points[first:last]
    seconds = math.fsum(point.seconds for point in part)
    return Level(first, last, seconds, sum(point.moved for point in part) / seconds)


def level_of(points: Sequence[Point], first: int, last: int) -> Level:
    """Points `first` up to, and not with, `last` as one level. ValueError when there is none."""
    if not 0 <= first < last <= len(points):
        raise ValueError(f"points {first} to {last} of {len(points)}")
    return _level(points, first, last)


def calm_logs(points: Sequence[Point], noise: float) -> list[float]:
    """Logarithms of the speeds, outliers drawn in to three times the noise."""
    logs = _logs([point.speed for point in points])
    usual = _running_median(logs)
    reach = 3 * noise
    return [
        min(middle + reach, max(middle - reach, log))
        for log, middle in zip(logs, usual, strict=True)
    ]


def without_bursts(levels: Sequence[Level]) -> list[Level]:
    """The levels with each burst lowered to the faster of its neighbours.

    A burst is faster than its neighbours, and shorter than 10 s and than half of the slow time next
    to it: a cache that got a little room in a pause, not a speed that the drive slowed down from.
    The first level of the series is no burst: a small fast zone is as short.
    """
    flat = list(levels)
    has_changes = True
    while has_changes:
        has_changes = False
        for at in range(1, len(flat)):
            level = flat[at]
            beside = [one.speed for one in (*flat[at - 1 : at], *flat[at + 1 : at + 2])]
            if max(beside) >= level.speed:
                continue
            longest = max(_slower_seconds(flat, at, way) for way in (-1, 1))
            if level.seconds < min(_LEAST_FAST, longest / 2):
                flat[at] = replace(level, speed=max(beside))
                has_changes = True
    return flat


def _slower_seconds(levels: Sequence[Level], at: int, way: int) -> float:
    """Seconds of writing next to level `at`, in one direction, that were slower by a fifth."""
    total, to = 0.0, at + way
    while 0 <= to < len(levels) and levels[to].speed <= _SLOWER_BELOW * levels[at].speed:
        total += levels[to].seconds
        to += way
    return total


def shown_around(flat: Sequence[Level]) -> list[float]:
    """For each level what the drive showed both before and after, itself included: the lower of
    the two highest speeds. A level below it is a slow-down; where it falls, nothing came back."""
    before = accumulate((level.speed for level in flat), max)
    after = list(accumulate((level.speed for level in reversed(flat)), max))
    return [min(pair) for pair in zip(before, reversed(after), strict=True)]


def _logs(speeds: Sequence[float]) -> list[float]:
    """Logarithms, as noise and changes are shares; a stall counts as a twentieth of the usual."""
    floor = max(1.0, 0.05 * statistics.median(speeds)) if speeds else 1.0
    return [math.log(max(speed, floor)) for speed in speeds]


def _running_median(values: Sequence[float]) -> list[float]:
    half = _MEDIAN_OF // 2
    medians = []
    for at in range(len(values)):
        part = sorted(values[max(0, at - half) : at + half + 1])
        middle = len(part) // 2
        # Near the ends the part can be of four: the mean of its two middle values.
        medians.append(part[middle] if len(part) % 2 else (part[middle - 1] + part[middle]) / 2)
    return medians


def _changes(values: Sequence[float], noise: float) -> list[int]:
    """Where the level changes: indices of the first value of each new level."""
    count = len(values)
    if count < 2 * LEAST_POINTS:
        return []
    sums = list(accumulate(values, initial=0.0))
    limit = (_CERTAINTY * noise) ** 2 * 2 * math.log(count)
    candidates = sorted(
        (window[1] - window[0], -gain, at, window)
        for window in _windows(count)
        for gain, at in [_best_split(sums, *window)]
        if gain > limit
    )
    changes: list[int] = []
    for _, _, at, (first, last) in candidates:
        if not any(first < other < last for other in changes):
            changes.append(at)
    return _settled(sums, sorted(changes), limit)


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Half-overlapping windows over all values: the whole, then of half the length each time."""
    length = count
    while length >= 2 * LEAST_POINTS:
        steps = max(1, math.ceil(2 * count / length) - 1)
        for step in range(steps):
            first = round(step * (count - length) / max(1, steps - 1))
            yield first, first + length
        length = math.ceil(length / 2) if length > 2 * LEAST_POINTS else 0


def _best_split(sums: Sequence[float], first: int, last: int) -> tuple[float, int]:
    """(gain, index) of the split of a window that lowers the sum of squares most."""
    best, place = 0.0, first
    base, total, length = sums[first], sums[last], last - first
    for at in range(first + LEAST_POINTS, last - LEAST_POINTS + 1):
        left_count, right = at - first, last - at
        apart = (sums[at] - base) / left_count - (total - sums[at]) / right
        gain = apart * apart * left_count * right / length
        if gain > best:
            best, place = gain, at
    return best, place


def _settled(sums: Sequence[float], changes: list[int], limit: float) -> list[int]:
    """The changes, each at its best place between its neighbours; those that no longer count
    there are left out."""
    for _ in range(2):
        kept_changes: list[int] = []
        for place in range(len(changes)):
            first = kept_changes[-1] if kept_changes else 0
            last = changes[place + 1] if place + 1 < len(changes) else len(sums) - 1
            gain, best = _best_split(sums, first, last)
            if gain > limit:
                kept_changes.append(best)
        changes = kept_changes
    return changes
