"""When a test ends early: rules on the record so far. Pure functions."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchstick.analysis.change_points import Moved
from benchstick.recipes import codes
from benchstick.recipes.codes import Reason
from benchstick.recipes.model import ERRORS, HEAT, RATE, Stop

# Events of a run that report an error. A lost drive ends its run in any case.
ERROR_EVENTS = frozenset({"link", "data-differ"})


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a run recorded so far: the steps of its plan (as JSON), its samples in order, the
    temperatures read, its events as (kind, text)."""

    steps: Sequence[Mapping[str, Any]]
    samples: Sequence[Moved] = ()
    temperatures: Sequence[float] = ()
    events: Sequence[tuple[str, str]] = field(default_factory=tuple)


def due(rules: Sequence[Stop], record: Record) -> Reason | None:
    """Why the test is to end, by the first rule that is met; None while it continues."""
    for rule in rules:
        reason = _CHECKS[rule.kind](rule, record)
        if reason is not None:
            return reason
    return None


def _slow(rule: Stop, record: Record) -> Reason | None:
    """The rate stayed below the rule's for its time, without a break, within one timed step that
    has no pauses.

    Seconds without I/O count too: a drive that hangs is slow. The step's first and last sample do
    not count: the step started and ended within them.
    """
    timed_samples = [
        bool(step.get("timed"))
        and not step.get("rest")
        and fnmatch.fnmatchcase(str(step.get("name")), rule.steps)
        for step in record.steps
    ]
    below, byte_count = 0.0, 0
    for index, sample in enumerate(record.samples):
        before = record.samples[index - 1].step_index if index else None
        within = sample.step_index is not None and sample.step_index == before
        if not within or sample.step_index is None or not _at(timed_samples, sample.step_index):
            below, byte_count = 0.0, 0
            continue
        last = (
            index + 1 < len(record.samples)
            and record.samples[index + 1].step_index != sample.step_index
        )
        count = sample.read_bytes + sample.write_bytes
        if last or count >= rule.value * 1e6 * sample.dt:
            below, byte_count = 0.0, 0
            continue
        below, byte_count = below + sample.dt, byte_count + count
        if below >= rule.seconds:
            name = record.steps[sample.step_index].get("name")
            return Reason(
                codes.STOPPED_SLOW,
                f"{name}: {byte_count / below / 1e6:.3g} MB/s for {below:.0f} s, "
                f"required at least {rule.value:g} MB/s",
            )
    return None


def _at(flags: Sequence[bool], index: int) -> bool:
    return 0 <= index < len(flags) and flags[index]


def _hot(rule: Stop, record: Record) -> Reason | None:
    highest = max(record.temperatures, default=None)
    if highest is None or highest <= rule.value:
        return None
    return Reason(codes.STOPPED_HOT, f"{highest:g} °C, required at most {rule.value:g}")


def _faulty(rule: Stop, record: Record) -> Reason | None:
    texts = [text for kind, text in record.events if kind in ERROR_EVENTS]
    if len(texts) < rule.value:
        return None
    return Reason(
        codes.STOPPED_ERRORS,
        f"{len(texts)} errors, required fewer than {rule.value:g}: {texts[-1]}",
    )


_CHECKS = {RATE: _slow, HEAT: _hot, ERRORS: _faulty}
