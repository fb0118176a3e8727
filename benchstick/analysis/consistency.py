"""What reviewers read out of IOPS by second: mean, worst and evenness.

Source: docs/methods/consistency.md. Whole run and from 1400 s on as AnandTech's charts, mean
over standard deviation of the last 400 s as its later pages, 50 ms as what a good SATA drive stays
below from the MX100 512 GB review. The time until half of the first speed is our choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.analysis.series import percentile
from benchstick.analysis.statistics import deviation, mean

# Seconds: the steady part starts at LATE, the spread is computed over the LAST, and the first FIRST
# show the drive at its best.
LATE = 1400
LAST = 400
FIRST = 10
GOOD_LATENCY_US = 50_000


@dataclass(frozen=True)
class Part:
    """Some seconds of a run: how many, and mean, least, 1st percentile and spread of their IOPS.

    `consistency` is mean over standard deviation; None where the deviation is 0 or not known.
    """

    seconds: int
    mean: float
    min: float
    p1: float
    stdev: float | None
    consistency: float | None


def part(iops: Sequence[float]) -> Part | None:
    """The part made of these seconds; None of none."""
    average, low = mean(iops), percentile(iops, 1)
    if average is None or low is None:
        return None
    spread = deviation(iops)
    return Part(
        seconds=len(iops),
        mean=average,
        min=min(iops),
        p1=low,
        stdev=spread,
        consistency=average / spread if spread else None,
    )


def half_after(iops: Sequence[float]) -> int | None:
    """Seconds until IOPS are below half of the mean of the first 10 s; None when they never are.

    It counts only where the mean of the 10 s from there on is below half as well: one short stop
    is not the end of a cache. None of fewer than 20 s.
    """
    if len(iops) < 2 * FIRST:
        return None
    half = sum(iops[:FIRST]) / FIRST / 2
    for second in range(FIRST, len(iops) - FIRST + 1):
        if iops[second] < half and sum(iops[second : second + FIRST]) / FIRST < half:
            return second
    return None


def seconds_above(maxima: Sequence[float | None], us: float = GOOD_LATENCY_US) -> int:
    """In how many seconds the highest latency was above `us`."""
    return sum(1 for value in maxima if value is not None and value > us)


def summary(iops: Sequence[float], *, start: int = 0) -> dict[str, Any]:
    """Everything above of IOPS by second, the first of which is second `start` of the run.

    `{"seconds", "all", "late", "last", "first", "half_after"}`: `late` is from 1400 s on, `last`
    the last 400 s, each None where the run is too short for it; `first` the mean of the first 10 s.
    """

    def part_document(values: Sequence[float]) -> dict[str, Any] | None:
        values_part = part(values)
        return None if values_part is None else asdict(values_part)

    end = start + len(iops)
    fell = half_after(iops)
    return {
        "seconds": len(iops),
        "all": part_document(iops),
        "late": part_document(iops[LATE - start :]) if end > LATE else None,
        "last": part_document(iops[-LAST:]) if len(iops) >= LAST else None,
        "first": mean(iops[:FIRST]) if len(iops) >= FIRST else None,
        "half_after": None if fell is None else start + fell,
    }
