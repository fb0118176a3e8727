"""How long a step and the steps after it still take, from what was seen so far."""

from __future__ import annotations

from collections.abc import Iterable

from benchstick.plan.steps import Copy, CopyWithin, Fio, LaySet, Step

# Of less than that of a step's bytes nothing is said of other steps: a cache takes the first ones.
_TELLING = 0.02


def of_step(
    step: Step, elapsed: float, bytes_done: int, share: float | None = None
) -> tuple[float | None, float]:
    """(fraction of the step done, seconds it has left). A step that tells its `share` goes by
    that, another one without a set time by its bytes."""
    if share is not None and share > 0:
        return min(1.0, share), max(0.0, elapsed / share - elapsed)
    total = _bytes(step)
    if _is_untimed(step) and total and bytes_done:
        fraction = min(1.0, bytes_done / total)
        return fraction, elapsed / fraction - elapsed
    if step.seconds <= 0:
        return None, 0.0
    return min(1.0, elapsed / step.seconds), max(0.0, step.seconds - elapsed)


class Paces:
    """How many times longer than planned steps of each kind take.

    A plan reckons with what the link carries; the drive may have a tenth of that. What the last
    step that goes by its bytes took is therefore reckoned with for those like it that are to come:
    the parts of a long fill, its second pass.
    """

    def __init__(self) -> None:
        self._by_kind: dict[tuple[str, str], float] = {}

    def learn(self, step: Step, elapsed: float, remaining: float, bytes_done: int) -> None:
        """Take note of a step that is being carried out: it takes `spent` + `left` seconds."""
        if _is_untimed(step) and step.seconds > 0 and bytes_done > _TELLING * _bytes(step):
            self._by_kind[_kind(step)] = (elapsed + remaining) / step.seconds

    def seconds_of(self, steps: Iterable[Step]) -> float:
        """What these steps take, all of them that go by their bytes at the pace of their kind."""
        return sum(
            step.seconds * (self._by_kind.get(_kind(step), 1.0) if _is_untimed(step) else 1.0)
            for step in steps
        )


def _kind(step: Step) -> tuple[str, str]:
    """Steps that take as long as another: with the same tool, the same way."""
    way = step.rw if isinstance(step, Fio) else step.direction if isinstance(step, Copy) else ""
    return step.kind, way


def _is_untimed(step: Step) -> bool:
    return isinstance(step, Copy | LaySet | CopyWithin) or (
        isinstance(step, Fio) and step.runtime is None
    )


def _bytes(step: Step) -> int:
    return max(step.bytes_written, step.bytes_read)
