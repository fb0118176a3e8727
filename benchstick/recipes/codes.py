"""The stable codes of a verdict: why a drive failed, and why a test is inconclusive.

Programs and statistics compare them: a code is never renamed, and never given another meaning.
docs/recipes.md explains each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchstick.errors import (
    EXIT_BAD_INPUT,
    EXIT_CANCELLED,
    EXIT_DRIVE_LOST,
    EXIT_INCONCLUSIVE,
    EXIT_INTERNAL,
    EXIT_REFUSED,
    EXIT_STORE,
)

# Of a drive that failed.
RESULT_LIMIT = "figure-limit"
FACT_LIMIT = "fact-limit"
CHANGE_LIMIT = "change-limit"
PEAK_LIMIT = "peak-limit"
TIME_LIMIT = "time-limit"
STOPPED_SLOW = "stopped-slow"
STOPPED_HOT = "stopped-hot"
STOPPED_ERRORS = "stopped-errors"
SERIAL_MISMATCH = "serial-mismatch"
DATA_CORRUPT = "data-corrupt"
FAILURES = (
    RESULT_LIMIT, FACT_LIMIT, CHANGE_LIMIT, PEAK_LIMIT, TIME_LIMIT, STOPPED_SLOW, STOPPED_HOT,
    STOPPED_ERRORS, SERIAL_MISMATCH, DATA_CORRUPT,
)  # fmt: skip

# Of an inconclusive test. Before its start:
NO_MATCH = "no-match"
PORT_SPEED = "port-speed"
TOO_HOT = "too-hot"
NO_TRIM = "no-trim"
ERASE_NOT_ALLOWED = "erase-not-allowed"
# Of its results and facts:
RESULT_INVALID = "figure-invalid"
RESULT_SKIPPED = "figure-skipped"
RESULT_MISSING = "figure-missing"
FACT_UNKNOWN = "fact-unknown"
CHANGE_UNKNOWN = "change-unknown"
PEAK_UNKNOWN = "peak-unknown"
NO_CLAIM = "no-claim"
NO_REFERENCE = "no-reference"
IDENTITY_CHANGED = "identity-changed"
# Of how it ended:
DRIVE_LOST = "drive-lost"
CANCELLED = "cancelled"
INTERRUPTED = "interrupted"
REFUSED = "refused"
BAD_INPUT = "bad-input"
STORE_FAILED = "store-failed"
INTERNAL_ERROR = "internal-error"
NOT_RUN = "not-run"
NOTHING_VALID = "nothing-valid"
INCONCLUSIVE = (
    NO_MATCH, PORT_SPEED, TOO_HOT, NO_TRIM, ERASE_NOT_ALLOWED, RESULT_INVALID, RESULT_SKIPPED,
    RESULT_MISSING, FACT_UNKNOWN, CHANGE_UNKNOWN, PEAK_UNKNOWN, NO_CLAIM, NO_REFERENCE,
    IDENTITY_CHANGED, DRIVE_LOST, CANCELLED, INTERRUPTED, REFUSED, BAD_INPUT, STORE_FAILED,
    INTERNAL_ERROR, NOT_RUN, NOTHING_VALID,
)  # fmt: skip

# The code of a run's end, by its exit code.
END_CODES: Mapping[int, str] = {
    EXIT_BAD_INPUT: BAD_INPUT,
    EXIT_REFUSED: REFUSED,
    EXIT_DRIVE_LOST: DRIVE_LOST,
    EXIT_INCONCLUSIVE: NOTHING_VALID,
    EXIT_STORE: STORE_FAILED,
    EXIT_INTERNAL: INTERNAL_ERROR,
    EXIT_CANCELLED: CANCELLED,
}
# The exit code of an inconclusive test; of all codes that are not here it is 5.
EXITS: Mapping[str, int] = {
    code: number for number, code in END_CODES.items() if number != EXIT_INCONCLUSIVE
}
# Reasons that may not occur again in another test of the same drive right after. A wrong drive, a
# wrong fact, a hot drive or a refusal stays.
RETRIED = frozenset({
    RESULT_LIMIT, PEAK_LIMIT, TIME_LIMIT, STOPPED_SLOW, STOPPED_HOT, STOPPED_ERRORS, RESULT_INVALID,
    PEAK_UNKNOWN, NOTHING_VALID,
})  # fmt: skip


@dataclass(frozen=True)
class Reason:
    """Why a drive failed or a test is inconclusive: a stable code, and a sentence."""

    code: str
    text: str
