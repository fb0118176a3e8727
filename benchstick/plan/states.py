"""The states that the store and the documents have. Their values are the words there."""

from __future__ import annotations

from enum import StrEnum


class GuardState(StrEnum):
    """Whether a drive may be written: freely, with a typed code, or never."""

    FREE = "free"
    LOCKED = "locked"
    PROTECTED = "protected"


class RequestState(StrEnum):
    """The agent's answer to a request; a request without one waits. What was accepted has a run, or
    is a queue."""

    WAITING = "waiting"
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
    """`CORRUPT`: the drive returned other data than was written, however the run ended.
    `DAMAGED`: the store's row has no state any more; it is shown, never stored."""

    RUNNING = "running"
    COMPLETE = "done"
    CORRUPT = "corrupt"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    DAMAGED = "damaged"


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


class Verdict(StrEnum):
    """On a drive by a recipe, and on an erasure."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class PurgeState(StrEnum):
    """A purge of a drive. `CLOSED`: another run continued it, or it was rolled back."""

    RUNNING = "running"
    COMPLETE = "done"
    INTERRUPTED = "interrupted"
    CLOSED = "closed"


UNFINISHED_PURGES = (PurgeState.RUNNING, PurgeState.INTERRUPTED)


class PurgePhase(StrEnum):
    """How far a purge is: before its first command, with a password on the drive, or erasing."""

    STARTED = "begun"
    PASSWORD = "password"
    ERASING = "erasing"


class SanitizeState(StrEnum):
    """The last NVMe sanitize of a drive. `CLEARED`: it failed, and the drive left that state."""

    NEVER = "never sanitized"
    COMPLETE = "completed"
    RUNNING = "in progress"
    FAILED = "failed"
    CLEARED = "failed, left since"


class RowState(StrEnum):
    """A row of a comparison that is not a measured result; those have a `Validity`."""

    REFERENCE = "reference"
    MISSING = "missing"


class QueueingState(StrEnum):
    """Whether command queueing works."""

    WORKS = "works"
    INEFFECTIVE = "ineffective"
    UNCLEAR = "unclear"
    UNKNOWN = "unknown"


class SlowDownState(StrEnum):
    """Whether a drive slowed down: for an unknown cause, with rising temperature, or for good while
    it was hot (`UNCLEAR`). `UNKNOWN`: too little to judge."""

    NONE = "none"
    SLOWDOWN = "slowdown"
    THROTTLING = "throttling"
    UNCLEAR = "unclear"
    UNKNOWN = "unknown"


class FoldingState(StrEnum):
    """Whether a drive folds its cache. `UNCLEAR`: the temperature rose at the same time."""

    NONE = "none"
    LIKELY = "likely"
    UNCLEAR = "unclear"


class KneeState(StrEnum):
    """Whether the speed of a fill falls at the end of a cache."""

    KNEE = "found"
    NONE = "none"


class RecoveryState(StrEnum):
    """Of the speed after an idle time."""

    MEASURED = "measured"
    UNKNOWN = "unknown"


class SteadyStatus(StrEnum):
    """`NOT_REACHED`: the last round that the method allows is over."""

    REACHED = "reached"
    NOT_REACHED = "not reached"
    NOT_YET = "not yet"
