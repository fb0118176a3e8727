"""The start of a suite that needs a fresh drive: the parameter `purge`, its steps, the state text.

Source: docs/methods/pts.md (SNIA's tests start with a purge), docs/methods/consistency.md (so do
those runs) and docs/methods/erase.md (the erase methods).
Ours: the choice of `auto`. It takes the best erase method as the suite `erase` does, except two
that a test must not run without a request: setting an ATA password, which locks the drive when
power is lost during the erase, and an overwrite, which takes hours and leaves no block unused. When
no method remains, the drive is tested as found, and the result shows this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchstick.drives import sanitize_methods
from benchstick.drives.sanitize_methods import AUTO, NONE
from benchstick.errors import BadInput
from benchstick.plan.params import Param, Value, choice
from benchstick.plan.quantity import MARKS_SHARE, PURGE_TIME
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import Plan, Purge, Step, unique_names
from benchstick.suites.erase import of_password, purge_steps, why_not
from benchstick.suites.interface import PlanRequest, assumed_speed

PURGE = choice(
    "purge",
    (AUTO, NONE, *sanitize_methods.NAMES),
    AUTO,
    "how the drive is purged first; auto: the best erase method that makes it fresh and sets no "
    "password, otherwise no purge",
)


def _one_line(text: str, field: str) -> Value:
    if len(text) > 200 or not text.isprintable():
        raise BadInput(f"{field}: one line of up to 200 characters is required", field=field)
    return text.strip()


PURGED = Param(
    "purged",
    "",
    "how the drive was purged by hand before this run, as `nvme format -s 1`; empty: it was not",
    _one_line,
)
PARAMS = (PURGE, PURGED)


@dataclass(frozen=True)
class Beginning:
    """The state in which a suite starts. `steps` come before `Prepare`; `state` is the first part
    of the state's text; `fresh`: no block is in use, as far as the bench can know; `purge` is the
    value of the plan's parameter."""

    steps: tuple[Step, ...]
    state: str
    notes: tuple[str, ...]
    fresh: bool
    purge: str

    def plan(
        self,
        suite: str,
        request: PlanRequest,
        steps: Iterable[Step],
        notes: Iterable[str],
        *states: str,
        deviations: tuple[str, ...] = (),
    ) -> Plan:
        """The plan of a suite on the raw drive that starts like this, then does `steps`. `states`
        are the further parts of the state's text."""
        return Plan(
            suite=suite,
            # A purge by hand excludes one by the bench.
            params={**request.params, "purge": self.purge},
            target="block",
            fs="keep",
            drive_code=str(request.drive["code"]),
            steps=unique_names((*self.steps, *steps)),
            notes=(*self.notes, *notes),
            states=(self.state, *states),
            deviations=deviations,
        )


def beginning(request: PlanRequest, *, writes: bool = True) -> Beginning:
    """The start state that `purge` and `purged` give on this drive; `writes`: the suite writes to
    it anyway.

    BadInput (field `purge`) when the drive does not support the erase method, or when both are set.
    """
    purge, by_hand = str(request.params["purge"]), str(request.params["purged"])
    if by_hand:
        if purge != NONE and "purge" in request.user_params:
            raise BadInput(
                "purge: the parameter purged states that the drive is purged; set one of the two",
                field="purge",
            )
        state = f"purged by hand before the run, as the user says: {by_hand}"
        return Beginning((), state, (), True, NONE)
    if purge == NONE:
        return _as_found(NONE)
    if purge != AUTO:
        return _purged(request, purge, purge)
    if not writes:
        return _as_found(AUTO, "not purged: this run only reads; --param purge=... purges first")
    offer = sanitize_methods.choose_fresh(request.drive, assumed_speed(request.drive))
    if offer is None:
        return _as_found(AUTO, _none_offered(request))
    return _purged(request, offer.rung.name, AUTO)


def again(start: Beginning, request: PlanRequest, label: str) -> tuple[Step, ...]:
    """The purge of `start` once more, for a part of the plan that needs a fresh drive again;
    `label` distinguishes its steps from the others. Empty where nothing was purged."""
    rungs = [step for step in start.steps if isinstance(step, Purge)]
    if not rungs:
        return ()
    return purge_steps(request, rungs[0].rung, asked_as=rungs[0].user_rung, label=label)


def state_told(plan: Plan, results: Sequence[Result]) -> str:
    """The state in which `results` were measured, as far as they show it."""
    rungs = [step.rung for step in plan.steps if isinstance(step, Purge)]
    if not rungs:
        return plan.state_after(None)
    by_key = {item.key: item for item in results}
    if PURGE_TIME not in by_key:
        return plan.state_after(None)
    state, proof = sanitize_methods.state_after(rungs[0]), by_key.get(MARKS_SHARE)
    if proof is not None and proof.state != Validity.VALID:
        state = sanitize_methods.not_proved(state, str(proof.reason))
    return plan.state_after(state)


def _as_found(purge: str, *notes: str) -> Beginning:
    return Beginning((), sanitize_methods.AS_FOUND, notes, False, purge)


def _purged(request: PlanRequest, rung: str, purge: str) -> Beginning:
    steps = purge_steps(request, rung, asked_as=purge, field="purge")
    fresh = sanitize_methods.find(rung).fresh
    notes = [] if fresh else ["overwriting does not restore fresh state: all blocks are in use"]
    if purge == AUTO:
        notes += _left_out(request)
    return Beginning(
        steps, sanitize_methods.state_after(rung), (*notes, *of_password(steps)), fresh, purge
    )


def _left_out(request: PlanRequest) -> Iterator[str]:
    """The erase method that `auto` does not take because of its password."""
    for offer in sanitize_methods.offers(request.drive, assumed_speed(request.drive)):
        if offer.why_not is None:
            if offer.rung.tool == "hdparm":
                yield (
                    f"{offer.rung.name} is supported, but sets an ATA password: only with "
                    f"--param purge={offer.rung.name}"
                )
            return


def _none_offered(request: PlanRequest) -> str:
    """Why `auto` takes no erase method."""
    reasons = [*(f"{name}: {reason}" for name, reason in why_not(request)), *_left_out(request)]
    return f"not purged: {'; '.join(reasons)}; overwriting does not restore fresh state"
