"""The states that the store and the documents have. Their values are the words there."""

from __future__ import annotations

from enum import StrEnum


class GuardState(StrEnum):
    """Whether a drive may be written: freely, with a typed code, or never."""

    FREE = "free"
    LOCKED = "locked"
    PROTECTED = "protected"
