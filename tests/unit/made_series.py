"""Sequential fills with known answers, as a sampler once a second would have seen them."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchstick.analysis.change_points import Interval

GB = 10**9
# MB/s at (seconds since the start, bytes written so far).
Speed = Callable[[float, float], float]
_FINE = 0.01


def zones(*parts: tuple[float, float]) -> Speed:
    """A drive with zones: (GB at the end of the zone, MB/s in it). The last one has no end."""

    def speed(t: float, offset: float) -> float:
        for end, mbps in parts[:-1]:
            if offset < end * GB:
                return mbps
        return parts[-1][1]

    return speed


def falling(first: float, last: float, gb: float) -> Speed:
    """A hard disk: MB/s from `first` to `last`, linear by position."""
    return lambda t, offset: first + (last - first) * offset / (gb * GB)


def constant(mbps: float) -> Speed:
    return lambda t, offset: mbps


def slowed(inner: Speed, begin: float, end: float, factor: float) -> Speed:
    """`inner`, times `factor` from second `begin` to second `end`."""
    return lambda t, offset: inner(t, offset) * (factor if begin <= t < end else 1.0)


def fill(
    speed: Speed,
    gb: float,
    *,
    noise: float = 0.0,
    seed: int = 0,
    wait: float = 0.0,
    pause_every: float | None = None,
    pause: float = 2.0,
) -> list[Interval]:
    """What the sampler sees of a fill of `gb`.

    `noise` is the standard deviation of each second's speed as a share. The writes start `wait`
    seconds after the sampler, and pause for `pause` seconds after every `pause_every` GB.
    """
    source = random.Random(seed)
    total, offset, t, resting = gb * GB, 0.0, 0.0, wait
    due = (pause_every or gb) * GB
    intervals: list[Interval] = []
    while offset < total:
        before, factor = offset, max(0.02, source.gauss(1.0, noise))
        for _ in range(round(1 / _FINE)):
            if resting > 0:
                resting -= _FINE
            elif offset < total:
                offset = min(total, offset + speed(t, offset) * 1e6 * _FINE * factor)
                if offset >= due:
                    due += (pause_every or gb) * GB
                    resting = pause if pause_every else 0.0
            t += _FINE
        intervals.append(Interval(round(offset), 1.0, round(offset) - round(before), round(t, 3)))
    return intervals
