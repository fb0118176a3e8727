"""Estimates how long a step and the steps after it still take."""

from __future__ import annotations

from collections.abc import Iterable

from benchstick.plan.steps import Copy, CopyWithin, Fio, LaySet, Step

# A smaller fraction of a step's bytes does not update the estimate for other steps: the first bytes
# go to a cache.
_MIN_FRACTION = 0.02


def of_step(
    step: Step, elapsed_seconds: float, bytes_done: int, share: float | None = None
) -> tuple[float | None, float]:
    """(fraction of the step done, seconds left). From the step's `share`, if it reports one; else,
    for a step without a fixed time, from its bytes."""
    if share is not None and share > 0:
        return min(1.0, share), max(0.0, elapsed_seconds / share - elapsed_seconds)
    total = _bytes(step)
    if _is_untimed(step) and total and bytes_done:
        fraction = min(1.0, bytes_done / total)
        return fraction, elapsed_seconds / fraction - elapsed_seconds
    if step.seconds <= 0:
        return None, 0.0
    return min(1.0, elapsed_seconds / step.seconds), max(0.0, step.seconds - elapsed_seconds)


class Paces:
    """How many times longer than planned the steps of each kind take.

    A plan assumes the speed of the link; the drive may have a tenth of it. So the speed of the last
    step without a fixed time is used for later steps of its kind: the parts of a long fill, its
    second pass.
    """

    def __init__(self) -> None:
        self._by_kind: dict[tuple[str, str], float] = {}

    def learn(self, step: Step, elapsed_seconds: float, remaining: float, bytes_done: int) -> None:
        """Learn from the running step, which takes `elapsed_seconds` + `remaining` seconds."""
        if _is_untimed(step) and step.seconds > 0 and bytes_done > _MIN_FRACTION * _bytes(step):
            self._by_kind[_kind(step)] = (elapsed_seconds + remaining) / step.seconds

    def seconds_of(self, steps: Iterable[Step]) -> float:
        """Seconds that these steps take; those without a fixed time at the pace of their kind."""
        return sum(
            step.seconds * (self._by_kind.get(_kind(step), 1.0) if _is_untimed(step) else 1.0)
            for step in steps
        )


def _kind(step: Step) -> tuple[str, str]:
    """The kind of a step. Steps of a kind have the same speed."""
    way = step.job.rw if isinstance(step, Fio) else step.direction if isinstance(step, Copy) else ""
    return step.kind, way


def _is_untimed(step: Step) -> bool:
    return isinstance(step, Copy | LaySet | CopyWithin) or (
        isinstance(step, Fio) and step.job.runtime is None
    )


def _bytes(step: Step) -> int:
    return max(step.bytes_written, step.bytes_read)
