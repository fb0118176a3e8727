"""How a run ended, in the words on the bench's screen.

PASS and FAIL are verdicts on limits: a run without limits has no verdict and is DONE. A run that
could not be executed is no FAIL either: the drive was not tested against any limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchstick.errors import EXIT_DRIVE_LOST, EXIT_INCONCLUSIVE, EXIT_VERDICT_FAIL
from benchstick.plan.states import RunState, Verdict

GOOD, BAD, NEITHER = "good", "bad", "neither"
_VERDICTS: dict[str, tuple[str, str]] = {
    Verdict.PASS: ("PASS", GOOD),
    Verdict.FAIL: ("FAIL", BAD),
    Verdict.INCONCLUSIVE: ("INCONCLUSIVE", NEITHER),
}
_CODES = {
    EXIT_VERDICT_FAIL: ("FAIL", BAD),
    EXIT_DRIVE_LOST: ("DRIVE LOST", BAD),
    EXIT_INCONCLUSIVE: ("INCONCLUSIVE", NEITHER),
}
_STATES = {
    RunState.COMPLETE: ("DONE", NEITHER),
    # Whatever its exit code: it may have been cancelled as well.
    RunState.CORRUPT: ("DATA CORRUPT", BAD),
    RunState.CANCELLED: ("CANCELLED", NEITHER),
    RunState.INTERRUPTED: ("INTERRUPTED", NEITHER),
    RunState.REFUSED: ("REFUSED", NEITHER),
    RunState.FAILED: ("ERROR", BAD),
    RunState.DAMAGED: ("ERROR", BAD),
}


@dataclass(frozen=True)
class Ending:
    """A word, whether it is good or bad news, and the reason."""

    word: str
    kind: str
    reason: str


def ending(
    state: RunState, exit_code: int | None, verdict: str | None, reason: str | None
) -> Ending:
    """The word for a run that ended. `verdict` is the one on its limits, None without limits."""
    entry = _VERDICTS.get(verdict or "") or _CODES.get(exit_code or 0) or _STATES.get(state)
    if state in (RunState.CORRUPT, RunState.DAMAGED):
        entry = _STATES[state]
    word, kind = entry or (state.upper(), NEITHER)
    return Ending(word, kind, reason or "")
