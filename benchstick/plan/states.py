"""The states that the store and the documents have. Their values are the words there."""

from __future__ import annotations

from enum import StrEnum


class GuardState(StrEnum):
    """Whether a drive may be written: freely, with a typed code, or never."""

    FREE = "free"
    LOCKED = "locked"
    PROTECTED = "protected"


class RequestState(StrEnum):
    """The agent's answer to a request. What was accepted has a run, or is a queue."""

    ACCEPTED = "taken"
    COMPLETE = "done"
    REFUSED = "refused"


class QueueState(StrEnum):
    """A queue waits until the agent takes its request; it is refused when none of its runs
    starts."""

    WAITING = "waiting"
    OPEN = "open"
    COMPLETE = "done"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class EntryState(StrEnum):
    """An entry of a queue that has no run. Once it has one, the run's state counts. `STARTED` is
    shown as `STARTING`."""

    WAITING = "waiting"
    STARTED = "started"
    STARTING = "starting"
    REFUSED = "refused"
    TAKEN_OUT = "taken_out"
    NOT_STARTED = "not_started"


class SlotState(StrEnum):
    """`HERE`: a drive whose test does not start automatically."""

    EMPTY = "empty"
    HERE = "here"
    COUNTDOWN = "countdown"
    STOPPED = "stopped"
    TESTING = "testing"
    FINISHED = "done"


class SlotAction(StrEnum):
    """What can be asked of a slot: to end its countdown or test, and to restart the countdown."""

    STOP = "stop"
    AGAIN = "again"


class LimitState(StrEnum):
    """Whether a limit of a recipe is met; unknown where it could not be judged."""

    MET = "held"
    FAILED = "failed"
    UNKNOWN = "unknown"


class RunState(StrEnum):
    """`CORRUPT`: the drive returned other data than was written, however the run ended."""

    RUNNING = "running"
    COMPLETE = "done"
    CORRUPT = "corrupt"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"


class StepState(StrEnum):
    """A step of a run."""

    RUNNING = "running"
    COMPLETE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class Validity(StrEnum):
    """Of a result. One that is not valid has the reason."""

    VALID = "valid"
    INVALID = "invalid"
    SKIPPED = "skipped"
