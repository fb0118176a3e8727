"""A run whose drive returned other data than was written to it. Pure functions.

A finding is one comparison that failed, as a JSON object: `step` (index), `name` (the step), `set`
and `pass` (null where the step has none), `files` (how many differ), `differences` (the first of
them: `path`, `offset`, `what`) and `text`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.errors import (
    EXIT_CANCELLED,
    EXIT_DRIVE_LOST,
    EXIT_INTERNAL,
    EXIT_REFUSED,
    EXIT_STORE,
)
from benchstick.plan.states import RunState

STATE = RunState.CORRUPT
# The event of a finding. Stores and bundles of older versions have nothing else of it.
EVENT = "data-differ"
# The drive did not return its data: an I/O error.
EXIT_CORRUPT = EXIT_DRIVE_LOST
# A test may differ in a million files.
MOST_DIFFERENCES = 20
# A run that ended so keeps its exit code: others must know that it was cancelled or broke.
_STRONGER = frozenset({EXIT_CANCELLED, EXIT_INTERNAL, EXIT_STORE, EXIT_REFUSED})

Json = Mapping[str, Any]


def finding(
    *,
    step_index: int,
    name: str,
    text: str,
    set_name: str | None = None,
    pass_no: int | None = None,
    files: int = 0,
    differences: Sequence[Json] = (),
) -> dict[str, Any]:
    """One comparison that failed."""
    return {
        "step_index": step_index, "name": name, "set": set_name, "pass": pass_no, "files": files,
        "differences": [dict(item) for item in differences[:MOST_DIFFERENCES]], "text": text,
    }  # fmt: skip


def reason_of(findings: Sequence[Json]) -> str:
    """`data corrupt: BR, pass 1, compare: ...`: the first finding, and how many others."""
    first = findings[0]
    # Migration 016 writes the same words.
    more = f" (and {len(findings) - 1} more comparisons)" if len(findings) > 1 else ""
    return f"data corrupt: {first['name']}: {first['text']}{more}"


def end_of(
    state: RunState, exit_code: int, reason: str | None, findings: Sequence[Json]
) -> tuple[RunState, int, str | None]:
    """State, exit code, reason of a run that ended like that and has these findings. Corruption is
    never hidden by another end: the state is `corrupt`, and `reason` names both."""
    if not findings:
        return state, exit_code, reason
    code = exit_code if exit_code in _STRONGER else EXIT_CORRUPT
    text = reason_of(findings)
    if state == RunState.COMPLETE:
        return STATE, code, text
    # An end that was itself the finding is not named twice.
    own = reason is not None and any(item["text"] in reason for item in findings)
    return STATE, code, text if own else f"{text}; then {state}" + (f": {reason}" if reason else "")


def from_events(events: Sequence[Json]) -> list[dict[str, Any]]:
    """The findings of a run of an older version, which kept events only."""
    return [
        finding(step_index=0, name="compare", text=str(item["text"]))
        for item in events
        if item["kind"] == EVENT
    ]
