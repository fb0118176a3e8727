"""JSON as its standard has it. Python's reader takes NaN, and the last of two alike fields."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str) -> Any:
    """The document that `text` is. ValueError where it is none, has NaN or an infinite number, or
    gives a field twice; RecursionError where it is nested too deeply."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twice)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a field is given twice")
    return document
