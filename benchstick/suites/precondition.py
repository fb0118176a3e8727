"""How a suite that wants a fresh drive begins: the parameter `purge`, its steps, the state's words.

Source: docs/methods/pts.md (SNIA's tests begin with a purge), docs/methods/consistency.md (so do
those runs) and docs/methods/erase.md (the ladder).
Ours: what `auto` takes. It goes down the ladder as the suite `erase` does, but
leaves out what a test must not do unasked: setting an ATA password, which locks the drive when the
power goes meanwhile, and an overwrite, after which no block is unused and which takes hours. Where
nothing is left the drive is tested as it was found, and that is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchstick.drives import sanitize_methods
from benchstick.drives.sanitize_methods import AUTO, NONE
from benchstick.errors import BadInput
from benchstick.plan.params import Param, Value, choice
from benchstick.plan.quantity import MARKS_GONE, SHARE, TIME, key_of
from benchstick.plan.quantity import PURGE as PURGE_TEST
from benchstick.plan.steps import Plan, Purge, Step
from benchstick.suites.erase import of_password, purge_steps, why_not
from benchstick.suites.interface import Asked, FigureJson, assumed_speed

PURGE = choice(
    "purge",
    (AUTO, NONE, *sanitize_methods.NAMES),
    AUTO,
    "how the drive is purged first; auto: the first of the ladder that makes it fresh and sets no "
    "password, else not at all",
)


def _one_line(text: str, field: str) -> Value:
    if len(text) > 200 or not text.isprintable():
        raise BadInput(f"{field}: one line of up to 200 characters is wanted", field=field)
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
    """The state in which a suite begins. `steps` come before `Prepare`; `state` is the state's
    first part; `fresh`: no block is in use, as far as the bench can know; `purge` is what the
    plan's parameter says."""

    steps: tuple[Step, ...]
    state: str
    notes: tuple[str, ...]
    fresh: bool
    purge: str

    def params(self, request: Asked) -> Mapping[str, Value]:
        """The plan's parameters, in which a purge by hand and one by the bench exclude another."""
        return {**request.params, "purge": self.purge}


def beginning(request: Asked, *, writes: bool = True) -> Beginning:
    """What `purge` and `purged` come to on this drive; `writes`: the suite writes to it anyway.

    BadInput (field `purge`) when the drive does not offer the rung, or is said to be purged too.
    """
    purge, by_hand = str(request.params["purge"]), str(request.params["purged"])
    if by_hand:
        if purge != NONE and "purge" in request.given:
            raise BadInput(
                "purge: the drive is said to be purged already (purged); give one of the two",
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


def again(start: Beginning, request: Asked, label: str) -> tuple[Step, ...]:
    """The purge of `begun` once more, for a part of the plan that wants a fresh drive of its own;
    `label` tells its steps from the others. None where nothing was purged."""
    rungs = [step for step in start.steps if isinstance(step, Purge)]
    if not rungs:
        return ()
    return purge_steps(request, rungs[0].rung, asked_as=rungs[0].asked, label=label)


def state_told(plan: Plan, figures: Sequence[FigureJson]) -> str:
    """The state in which `figures` were measured, as far as they tell it."""
    rungs = [step.rung for step in plan.steps if isinstance(step, Purge)]
    if not rungs:
        return plan.state_after(None)
    by_key = {key_of(item): item for item in figures}
    if (PURGE_TEST, TIME) not in by_key:
        return plan.state_after(None)
    state, proof = sanitize_methods.state_after(rungs[0]), by_key.get((MARKS_GONE, SHARE))
    if proof is not None and proof["state"] != "valid":
        state = sanitize_methods.not_proved(state, str(proof["why"]))
    return plan.state_after(state)


def _as_found(purge: str, *notes: str) -> Beginning:
    return Beginning((), sanitize_methods.AS_FOUND, notes, False, purge)


def _purged(request: Asked, rung: str, purge: str) -> Beginning:
    steps = purge_steps(request, rung, asked_as=purge, field="purge")
    fresh = sanitize_methods.find(rung).fresh
    notes = [] if fresh else ["an overwrite makes no drive fresh: all its blocks are in use"]
    if purge == AUTO:
        notes += _left_out(request)
    return Beginning(
        steps, sanitize_methods.state_after(rung), (*notes, *of_password(steps)), fresh, purge
    )


def _left_out(request: Asked) -> Iterator[str]:
    """The rung that `auto` would have taken, had it not been for the password."""
    for offer in sanitize_methods.offers(request.drive, assumed_speed(request.drive)):
        if offer.why_not is None:
            if offer.rung.tool == "hdparm":
                yield (
                    f"{offer.rung.name} is offered, but sets an ATA password: only with "
                    f"--param purge={offer.rung.name}"
                )
            return


def _none_offered(request: Asked) -> str:
    """Why `auto` takes nothing."""
    reasons = [*(f"{name}: {why}" for name, why in why_not(request)), *_left_out(request)]
    return f"not purged: {'; '.join(reasons)}; an overwrite makes no drive fresh"
