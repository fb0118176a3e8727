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

    def params(self, asked: Asked) -> Mapping[str, Value]:
        """The plan's parameters, in which a purge by hand and one by the bench exclude another."""
        return {**asked.params, "purge": self.purge}


def beginning(asked: Asked, *, writes: bool = True) -> Beginning:
    """What `purge` and `purged` come to on this drive; `writes`: the suite writes to it anyway.

    BadInput (field `purge`) when the drive does not offer the rung, or is said to be purged too.
    """
    wanted, by_hand = str(asked.params["purge"]), str(asked.params["purged"])
    if by_hand:
        if wanted != NONE and "purge" in asked.given:
            raise BadInput(
                "purge: the drive is said to be purged already (purged); give one of the two",
                field="purge",
            )
        state = f"purged by hand before the run, as the user says: {by_hand}"
        return Beginning((), state, (), True, NONE)
    if wanted == NONE:
        return _as_found(NONE)
    if wanted != AUTO:
        return _purged(asked, wanted, wanted)
    if not writes:
        return _as_found(AUTO, "not purged: this run only reads; --param purge=... purges first")
    offer = sanitize_methods.choose_fresh(asked.drive, assumed_speed(asked.drive))
    if offer is None:
        return _as_found(AUTO, _none_offered(asked))
    return _purged(asked, offer.rung.name, AUTO)


def again(begun: Beginning, asked: Asked, label: str) -> tuple[Step, ...]:
    """The purge of `begun` once more, for a part of the plan that wants a fresh drive of its own;
    `label` tells its steps from the others. None where nothing was purged."""
    rungs = [step for step in begun.steps if isinstance(step, Purge)]
    if not rungs:
        return ()
    return purge_steps(asked, rungs[0].rung, asked_as=rungs[0].asked, label=label)


def state_told(plan: Plan, figures: Sequence[FigureJson]) -> str:
    """The state in which `figures` were measured, as far as they tell it."""
    rungs = [step.rung for step in plan.steps if isinstance(step, Purge)]
    if not rungs:
        return plan.state_after(None)
    by_name = {str(item["name"]): item for item in figures}
    if "purge time" not in by_name:
        return plan.state_after(None)
    state, gone = sanitize_methods.state_after(rungs[0]), by_name.get("marks gone")
    if gone is not None and gone["state"] != "valid":
        state = sanitize_methods.not_proved(state, str(gone["why"]))
    return plan.state_after(state)


def _as_found(wanted: str, *notes: str) -> Beginning:
    return Beginning((), sanitize_methods.AS_FOUND, notes, False, wanted)


def _purged(asked: Asked, rung: str, wanted: str) -> Beginning:
    steps = purge_steps(asked, rung, asked_as=wanted, field="purge")
    fresh = sanitize_methods.find(rung).fresh
    notes = [] if fresh else ["an overwrite makes no drive fresh: all its blocks are in use"]
    if wanted == AUTO:
        notes += _left_out(asked)
    return Beginning(
        steps, sanitize_methods.state_after(rung), (*notes, *of_password(steps)), fresh, wanted
    )


def _left_out(asked: Asked) -> Iterator[str]:
    """The rung that `auto` would have taken, had it not been for the password."""
    for offer in sanitize_methods.offers(asked.drive, assumed_speed(asked.drive)):
        if offer.why_not is None:
            if offer.rung.tool == "hdparm":
                yield (
                    f"{offer.rung.name} is offered, but sets an ATA password: only with "
                    f"--param purge={offer.rung.name}"
                )
            return


def _none_offered(asked: Asked) -> str:
    """Why `auto` takes nothing."""
    reasons = [*(f"{name}: {why}" for name, why in why_not(asked)), *_left_out(asked)]
    return f"not purged: {'; '.join(reasons)}; an overwrite makes no drive fresh"
