"""A queue: several suites for one drive, run one after the other. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.errors import (
    EXIT_BAD_INPUT,
    EXIT_DONE,
    EXIT_INCONCLUSIVE,
    EXIT_REFUSED,
    EXIT_VERDICT_FAIL,
    PRECEDENCE,
    BadInput,
)
from benchstick.plan.steps import Plan

# The limit of a queue: a day's work, not a month's.
MOST = 20

# A queue continues after these: the run was complete. After any other code (drive lost or replaced,
# refused, cancelled, store or program failed) the next run must not start.
_COMPLETE_CODES = frozenset({EXIT_DONE, EXIT_VERDICT_FAIL, EXIT_INCONCLUSIVE})


@dataclass(frozen=True)
class Cost:
    """What one run or a queue takes. `is_upper_bound`: it may end before that."""

    seconds: float
    bytes_written: int
    bytes_read: int
    destroys: bool
    is_upper_bound: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "bytes_written": self.bytes_written,
            "bytes_read": self.bytes_read,
            "destroys": self.destroys,
            "is_upper_bound": self.is_upper_bound,
        }


def cost(plans: Sequence[Plan]) -> Cost:
    """The cost of all plans, one after the other."""
    return Cost(
        seconds=sum(plan.seconds for plan in plans),
        bytes_written=sum(plan.bytes_written for plan in plans),
        bytes_read=sum(plan.bytes_read for plan in plans),
        destroys=any(plan.destroys for plan in plans),
        is_upper_bound=any(plan.may_end_early for plan in plans),
    )


def check(plans: Sequence[Plan]) -> None:
    """BadInput when the plans cannot run in this order, whatever the drive holds."""
    if not 1 <= len(plans) <= MOST:
        raise BadInput(f"runs: a queue has 1 to {MOST} suites, not {len(plans)}", field="runs")
    raw: Plan | None = None
    for plan in plans:
        if raw is not None and plan.target == "file" and plan.fs == "keep":
            raise BadInput(
                f"fs: {plan.suite} keeps the drive's filesystem, but {raw.suite} before it leaves "
                f"none: put {plan.suite} first, or take fs auto",
                field="fs",
            )
        if plan.destroys:
            raw = plan if plan.target == "block" else None


def goes_on(exit_code: int) -> bool:
    """Whether the next run of a queue may start after one that ended with `exit_code`."""
    return exit_code in _COMPLETE_CODES


def exit_code(codes: Sequence[int]) -> int:
    """The exit code of a queue whose runs ended with `codes`: the worst, as of several drives. A
    run that turned out to be impossible (2) counts after one that was refused (3)."""
    after = PRECEDENCE.index(EXIT_REFUSED) + 1
    order = (*PRECEDENCE[:after], EXIT_BAD_INPUT, *PRECEDENCE[after:])
    return min(codes, key=order.index, default=EXIT_DONE)


def entries_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runs that a request's body lists, each as the body of a request for one run: `runs` has
    the keys of each one, the other keys apply to all. BadInput when it has another form."""
    runs = body.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise BadInput("runs: a list of objects is required", field="runs")
    if not 1 <= len(runs) <= MOST:
        raise BadInput(f"runs: a queue has 1 to {MOST} suites, not {len(runs)}", field="runs")
    shared_fields = {name: value for name, value in body.items() if name != "runs"}
    # The shared keys override: no entry may name another drive or have its own code.
    own = ("suite", "params", "target", "fs", "scale")
    return [{**{name: run.get(name) for name in own}, **shared_fields} for run in runs]
