"""Whether a document that came from elsewhere has the shape that the bench's own have.

A check takes a value and its location; it raises BadInput, or returns nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from benchstick.errors import BadInput

Check = Callable[[Any, str], None]

# SQLite's whole numbers have 64 bits.
_LARGEST = 2**63
_DEPTH = 40
_LONGEST = 1 << 20


def wrong(where: str, message: str) -> BadInput:
    """The error: where, and what is expected."""
    return BadInput(f"bundle: {where[:200]}: {message}", field="bundle")


def text(value: Any, where: str) -> None:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise wrong(where, "expected text")


def flag(value: Any, where: str) -> None:
    if not isinstance(value, bool):
        raise wrong(where, "expected true or false")


def whole(value: Any, where: str) -> None:
    """A whole number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise wrong(where, "expected a whole number")


def number(value: Any, where: str) -> None:
    """A finite number that can be computed with."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or abs(value) > 1e18:
        raise wrong(where, "expected a number")


def scalar(value: Any, where: str) -> None:
    """Text, a number, true, false or null."""
    if value is None or isinstance(value, bool):
        return
    (text if isinstance(value, str) else number)(value, where)


def anything(value: Any, where: str, depth: int = 0) -> None:
    """Any JSON whose numbers fit, whose names are no longer than names are, not nested deeply."""
    if depth > _DEPTH:
        raise wrong(where, "nested too deeply")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not 0 < len(name) <= 1000:
                raise wrong(where, "expected a name of 1 to 1000 letters")
            anything(item, where, depth + 1)
    elif isinstance(value, list):
        for item in value:
            anything(item, where, depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise wrong(where, "expected a number")
    elif isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= _LARGEST:
            raise wrong(where, "the number is too large")
    else:
        scalar(value, where)


def maybe(check: Check) -> Check:
    """Null, or what `check` takes."""

    def run(value: Any, where: str) -> None:
        if value is not None:
            check(value, where)

    return run


def one_of(words: Collection[str]) -> Check:
    """One of these words."""

    def run(value: Any, where: str) -> None:
        if not isinstance(value, str) or value not in words:
            raise wrong(where, f"expected one of {', '.join(sorted(words))}")

    return run


def each(check: Check, most: int = 1_000_000) -> Check:
    """A list whose items `check` takes."""

    def run(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) > most:
            raise wrong(where, f"expected a list of at most {most}")
        for index, item in enumerate(value):
            check(item, f"{where}[{index}]")

    return run


def every(check: Check) -> Check:
    """An object of which `check` takes every value."""

    def run(value: Any, where: str) -> None:
        anything(value if isinstance(value, Mapping) else {"": 0}, where)
        for name, item in value.items():
            check(item, f"{where}.{name[:40]}")

    return run


def fields(must: Mapping[str, Check], may: Mapping[str, Check] | None = None) -> Check:
    """An object that has the fields `must`, and perhaps those of `may`; others may be anything."""
    checks = {**must, **(may or {})}

    def run(value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise wrong(where, "expected an object")
        for name in must:
            if name not in value:
                raise wrong(where, f"{name} is missing")
        for name, item in value.items():
            if not name:
                raise wrong(where, "a field without a name")
            checks.get(name, anything)(item, f"{where}.{name[:60]}")

    return run
