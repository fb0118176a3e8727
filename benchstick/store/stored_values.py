"""Reads JSON and states from the store's rows; what is damaged there is reported as that."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from benchstick.errors import DamagedRow

T = TypeVar("T")
S = TypeVar("S", bound=StrEnum)


def stored_object(text: str | None, what: str) -> dict[str, Any]:
    """The JSON object in a column. DamagedRow with `what` it is of (`run 7: its plan`)."""
    return _stored(text, what, dict)


def stored_list(text: str | None, what: str) -> list[Any]:
    """The JSON list in a column. DamagedRow with `what` it is of."""
    return _stored(text, what, list)


def _stored(text: str | None, what: str, kind: type[T]) -> T:
    try:
        value = json.loads(text or "")
    except ValueError:
        value = None
    if not isinstance(value, kind):
        raise damaged(what)
    return value


def stored_state(states: type[S], text: str, what: str) -> S:
    """The state in a column. DamagedRow with `what` it is of."""
    return converted(lambda: states(text), what)


def converted(convert: Callable[[], T], what: str) -> T:
    """The value that `convert` makes of what is stored. DamagedRow with `what` it is of where the
    parts that it needs are missing or have another type."""
    try:
        return convert()
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise damaged(what) from error


def damaged(what: str) -> DamagedRow:
    """The error for a damaged row."""
    return DamagedRow(f"{what}: damaged in the store (see: benchstick store check)")
