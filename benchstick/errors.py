"""The errors that a user can meet, each with its exit code (docs/architecture.md, Contracts).

The message is one line: what is wrong, where, and what to do about it.
"""

from __future__ import annotations

EXIT_DONE = 0
EXIT_VERDICT_FAIL = 1
EXIT_BAD_INPUT = 2
EXIT_REFUSED = 3
EXIT_DRIVE_LOST = 4
EXIT_INCONCLUSIVE = 5
EXIT_STORE = 6
EXIT_INTERNAL = 70
EXIT_CANCELLED = 130

# Of several drives the first of these that occurred is the exit code (docs/architecture.md).
PRECEDENCE = (
    EXIT_CANCELLED,
    EXIT_INTERNAL,
    EXIT_STORE,
    EXIT_REFUSED,
    EXIT_VERDICT_FAIL,
    EXIT_DRIVE_LOST,
    EXIT_INCONCLUSIVE,
    EXIT_DONE,
)


class BenchError(Exception):
    """An error with a message for the user.

    `code` is a short stable word for the API, `field` the parameter that was wrong, if any.
    """

    exit_code = EXIT_INTERNAL
    code = "internal"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class BadInput(BenchError):
    """Bad input, or a tool that is missing or too old."""

    exit_code = EXIT_BAD_INPUT
    code = "bad_input"


class Refused(BenchError):
    """The guard refuses: protected, locked, wrong code, drive busy or swapped."""

    exit_code = EXIT_REFUSED
    code = "refused"


class DriveLost(BenchError):
    """The drive went away or answers with I/O errors."""

    exit_code = EXIT_DRIVE_LOST
    code = "drive_lost"


class DataCorrupt(BenchError):
    """What was read back differs from what was written."""

    exit_code = EXIT_DRIVE_LOST
    code = "corrupt"


class Inconclusive(BenchError):
    """Nothing was measured that could be judged."""

    exit_code = EXIT_INCONCLUSIVE
    code = "inconclusive"


class StoreFailed(BenchError):
    """The store cannot be opened, read or written."""

    exit_code = EXIT_STORE
    code = "store"


class NoStore(StoreFailed):
    """Nothing has been kept yet, so there is nothing to read: not a failure of the store."""

    exit_code = EXIT_BAD_INPUT


class DamagedRow(StoreFailed):
    """A row of the store has no longer what was written to it."""

    code = "damaged"


class Cancelled(BenchError):
    """Somebody cancelled the run."""

    exit_code = EXIT_CANCELLED
    code = "cancelled"
