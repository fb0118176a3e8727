"""Waits with the drive idle."""

from __future__ import annotations

import time
from typing import Any

from benchstick.drives import temperature
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.plan.steps import Idle


def do_idle(work: Work, step: Idle) -> StepOutcome:
    """Wait. Reads the temperature at the start, so that the drive is idle afterwards."""
    started_at = time.monotonic()
    detail: dict[str, Any] = {}
    if step.temperature:
        fact = temperature.read(work.drive)
        celsius = None if fact.value is None else float(fact.value)
        work.record.temperature(
            work.now, work.current.index, celsius, fact.source or None, fact.reason
        )
        detail = {"temperature": fact.to_json()}
    # The idle time may last hours: stop when the drive is lost.
    while (remaining := step.seconds - (time.monotonic() - started_at)) > 0:
        work.cancel.wait(min(remaining, 1.0))
        work.check_cancelled()
    work.check_cancelled()
    return StepOutcome(detail=detail)
