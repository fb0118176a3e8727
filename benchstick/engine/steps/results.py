"""Results of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchstick.engine.run_context import StepOutcome, Work
from benchstick.plan.quantity import SPEED, Quantity
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import Copy, CopyWithin, Fio, Skip


def target_of(work: Work, step: Fio | Copy | CopyWithin) -> str:
    """What the step measures: the raw drive, or the run's target."""
    return "block" if isinstance(step, Fio) and step.span.whole_drive else work.target.name


def result_of_pass(
    work: Work,
    step: Fio | Copy | CopyWithin,
    quantity: Quantity,
    value: float,
    unit: str,
    reason: str | None,
    detail: Mapping[str, Any],
) -> Result:
    """A result of one pass; invalid when there is a `reason`."""
    return Result(
        step=step.name, test=step.test, quantity=quantity, direction=step.direction, value=value,
        unit=unit, pass_no=step.pass_no, target=target_of(work, step),
        state=Validity.INVALID if reason else Validity.VALID, reason=reason, detail=detail,
    )  # fmt: skip


def skipped_result(work: Work, step: Fio | Skip, unit: str, pass_no: int, reason: str) -> Result:
    return Result(
        step=step.name, test=step.test, quantity=SPEED, value=None, unit=unit, pass_no=pass_no,
        direction=step.direction, target=work.target.name, state=Validity.SKIPPED, reason=reason,
    )  # fmt: skip


def do_skip(work: Work, step: Skip) -> StepOutcome:
    """Record a test that cannot run, with its reason."""
    result = skipped_result(work, step, step.unit, step.pass_no, step.reason)
    return StepOutcome(skipped=step.reason, results=[result])
