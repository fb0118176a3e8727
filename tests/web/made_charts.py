"""What fio did in runs whose charts have known places: a knee, a slow second, depths above the
drive's. Tests only.

Each function is a `made_runs.Work`: `kept` there makes a run of it as the runner leaves one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchstick.engine.measure.per_second_log import BySecond, counter_rates
from benchstick.plan.steps import Fio, Plan, Purge
from benchstick.store.run_results import Sample
from tests.web.made_runs import Pieces, StepData

# The second of the consistency run in which the drive did nothing, and where its speed falls.
STALLED, FELL = 700, 130
# GB that the drive takes fast, and the share of them that it has on a USB 2 port.
KNEE_GB = 100.0
_SMALL = 0.2
# MB/s before and after the knee, there as well.
_FAST, _FULL = (1000.0, 450.0), (38.0, 17.0)
_LATE = "fio's log came late: 2400 ms after the line before"


def _on_usb_2(drive: Mapping[str, Any]) -> bool:
    return bool(drive["queue_depth"]["value"] == 1)


def _knee(drive: Mapping[str, Any]) -> tuple[float, float, float]:
    """Bytes until the knee, and bytes a second before and after it."""
    before, after = _FULL if _on_usb_2(drive) else _FAST
    return KNEE_GB * 1e9 * (_SMALL if _on_usb_2(drive) else 1), before * 1e6, after * 1e6


class _Writing:
    """A drive that is written in order: fast up to its knee, for a minute at half of its speed."""

    def __init__(self, drive: Mapping[str, Any], slow_from: float | None = None) -> None:
        self.knee, self.before, self.after = _knee(drive)
        self.slow_from = slow_from
        self.noise = random.Random(9)
        self.position = self.clock = 0.0

    def pieces(self, size: float) -> Iterator[tuple[float, float]]:
        """The next `size` bytes, second by second."""
        remaining = size
        while remaining > 0.5:
            speed = self.before if self.position < self.knee else self.after
            if self.slow_from is not None and 0 <= self.clock - self.slow_from < 60:
                speed /= 2
            speed *= 1 - 0.06 * self.noise.random()
            byte_count = min(remaining, speed)
            yield byte_count / speed, byte_count
            remaining, self.position = remaining - byte_count, self.position + byte_count
            self.clock += byte_count / speed


def _fills(plan: Plan, drive: Mapping[str, Any]) -> dict[str, StepData]:
    """The filling before a test."""
    writing = _Writing(drive)
    return {
        step.name: StepData(pieces=list(writing.pieces(step.span.size)))
        for step in plan.steps
        if isinstance(step, Fio) and step.job.runtime is None
    }


def consistency(
    plan: Plan, drive: Mapping[str, Any], *, source: str = "fio"
) -> dict[str, StepData]:
    """Fast, then two speeds, then slow with a second of nothing; all of it slower on USB 2. Its
    series is fio's, or of the drive's `counters`."""
    noise = random.Random(5)
    step = next(step for step in plan.steps if isinstance(step, Fio) and step.recording.series)
    seconds = int(step.job.runtime or 0)
    iops = [
        80_000 * (1 - 0.04 * noise.random()) if at < FELL
        else noise.choice((30_000, 7000)) * (1 - 0.2 * noise.random()) if at < 420
        else 4300 + 1600 * noise.random()
        for at in range(seconds)
    ]  # fmt: skip
    if _on_usb_2(drive):
        iops = [value * 0.08 for value in iops]
    if seconds > STALLED:
        iops[STALLED] = 0.0
    usual = 1e6 * step.job.depth
    mean = [None if value == 0 else usual / value for value in iops]
    worst = [1e6 if value is None else 3 * value for value in mean]
    latencies = Counter[int]()
    for value, us in zip(iops, mean, strict=True):
        if us is not None:
            # Three digits, about as wide as fio's bins.
            latencies[_rounded(900 * us)] += round(0.9 * value)
            latencies[_rounded(1900 * us)] += round(0.1 * value)
    latencies[round(1000 * max(worst))] += 1

    def series(samples: Sequence[Sample]) -> BySecond:
        if source == "fio":
            return BySecond("fio", None, 0, iops, mean, worst)
        return BySecond(source, _LATE, 1, counter_rates(samples, step.job.block), mean, worst)

    pieces = [(1.0, value * step.job.block) for value in iops]
    outcome = StepData(pieces=pieces, latencies=latencies, by_second=series)
    return {**_fills(plan, drive), step.name: outcome}


def _rounded(nanoseconds: float) -> int:
    return int(float(f"{nanoseconds:.3g}"))


def sweep(plan: Plan, drive: Mapping[str, Any]) -> dict[str, StepData]:
    """Twice the depth is 1.7 times the IOPS, up to the depth of the drive; slower on USB 2."""
    outcomes = _fills(plan, drive)
    for step in plan.steps:
        if not isinstance(step, Fio) or step.job.runtime is None:
            continue
        first = {"read": 9000, "mix": 12_000, "write": 30_000}[step.test.rsplit(" ", 1)[1]]
        if _on_usb_2(drive):
            first //= 4
        inside = min(step.job.depth, drive["queue_depth"]["value"])
        iops = round(min(first * inside**0.77, 140_000))
        outcomes[step.name] = StepData(pieces=_around(iops * step.job.block, int(step.job.runtime)))
    return outcomes


def _around(speed: float, seconds: int) -> Pieces:
    """Seconds that differ by some 2 %, whose mean is `speed`: two by two they are it."""
    noise = random.Random(seconds)
    pieces: list[tuple[float, float]] = []
    for _ in range(seconds // 2):
        more = 0.02 * noise.random()
        pieces += [(1.0, speed * (1 - more)), (1.0, speed * (1 + more))]
    return [*pieces, (1.0, speed)] if seconds % 2 else pieces


def sustained(plan: Plan, drive: Mapping[str, Any]) -> dict[str, StepData]:
    """Fast up to the knee, then slower, with half of that for a minute."""
    parts = [step for step in plan.steps if isinstance(step, Fio)]
    knee, before, after = _knee(drive)
    size = sum(step.span.size for step in parts)
    expected = min(size, knee) / before + max(0.0, size - knee) / after
    writing = _Writing(drive, slow_from=expected / 2)
    return {step.name: StepData(pieces=list(writing.pieces(step.span.size))) for step in parts}


def erase(plan: Plan, drive: Mapping[str, Any]) -> dict[str, StepData]:
    """An overwrite: all written, which falls at the knee, then all read."""
    assert any(isinstance(step, Purge) for step in plan.steps)
    capacity = int(drive["identity"]["capacity"])
    _, fast, _ = _knee(drive)
    seconds = int(capacity / fast)
    rest = capacity - fast * seconds
    read = [*_around(fast, seconds), *([(rest / fast, rest)] if rest else [])]
    write = list(_Writing(drive).pieces(capacity))
    return {"write": StepData(pieces=write), "read": StepData(pieces=read)}
