"""The function for each kind of step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchstick.engine.run_context import StepOutcome, Work
from benchstick.engine.steps.copy import do_copy, do_copy_within, do_lay_set
from benchstick.engine.steps.file_sets import do_build_set, do_verify
from benchstick.engine.steps.fio import do_fio
from benchstick.engine.steps.idle import do_idle
from benchstick.engine.steps.results import do_skip
from benchstick.engine.steps.sanitize import do_purge
from benchstick.engine.steps.sanitize_sampling import do_mark, do_read_back
from benchstick.engine.steps.target import do_empty, do_prepare, settle
from benchstick.plan.steps import (
    BuildSet,
    Copy,
    CopyWithin,
    Empty,
    Fio,
    Idle,
    LaySet,
    Mark,
    Prepare,
    Purge,
    ReadBack,
    Skip,
    Step,
    Verify,
)

# Steps that do not access the drive.
_NOT_ON_THE_DRIVE = (BuildSet, Skip)

_EXECUTORS: Mapping[type[Step], Callable[[Work, Any], StepOutcome]] = {
    Prepare: do_prepare,
    Idle: do_idle,
    Fio: do_fio,
    BuildSet: do_build_set,
    Empty: do_empty,
    Copy: do_copy,
    LaySet: do_lay_set,
    CopyWithin: do_copy_within,
    Verify: do_verify,
    Skip: do_skip,
    Mark: do_mark,
    Purge: do_purge,
    ReadBack: do_read_back,
}


def carry_out(work: Work, step: Step) -> StepOutcome:
    """Run a step. A BenchError has the reason why it ended early.

    Checks the medium before each step on the drive and after each idle time, when nothing is
    measured.
    """
    if not isinstance(step, _NOT_ON_THE_DRIVE):
        work.hold.check_medium()
    if isinstance(step, Idle) and work.target.folder is not None:
        # Else the kernel would write during the idle time, to any medium that is in the drive.
        settle(work.target.folder)
    outcome = _EXECUTORS[type(step)](work, step)
    if isinstance(step, Idle):
        work.hold.check_medium()
    return outcome
