"""Checks of everything that comes in: paths, queries, forms and JSON bodies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from flask import request

from benchstick.errors import BadInput
from benchstick.plan import strict_json
from webui.errors import WebError, not_found

# SQLite's whole numbers have 64 bits; run numbers and cursors stay far below.
LARGEST = 2**53
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def whole(text: str | None, field: str, *, low: int, high: int, default: int) -> int:
    """A whole number of a query, `default` where it is not given. BadInput with the field."""
    if text is None or text == "":
        return default
    if re.fullmatch(r"-?[0-9]{1,16}", text) and low <= int(text) <= high:
        return int(text)
    raise BadInput(f"{field}: expected a whole number from {low} to {high}", field=field)


def number_in_path(text: str, what: str) -> int:
    """The number of a run, step or request in an address; 404, which names `what`, when it
    cannot be one."""
    if re.fullmatch(r"[0-9]{1,15}", text):
        return int(text)
    raise not_found(f"{what} {text[:40]!r}: not a number.")


def plain_text(value: Any, field: str, *, most: int = 200) -> str:
    """One line of text without control characters, at most `most` long."""
    if not isinstance(value, str):
        raise BadInput(f"{field}: expected text", field=field)
    if len(value) > most:
        raise BadInput(f"{field}: longer than {most} characters", field=field)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput(f"{field}: not valid Unicode text", field=field) from None
    if _CONTROL.search(value):
        raise BadInput(f"{field}: has control characters", field=field)
    return value


def optional_text(value: Any, field: str, *, most: int = 200) -> str | None:
    """`plain_text`, or None where it is not given or empty."""
    if value is None:
        return None
    return plain_text(value, field, most=most).strip() or None


def optional_number(value: Any, field: str) -> float | None:
    """A finite number, given as a number or as text; None where it is not given or empty."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = plain_text(value, field, most=40).strip().replace(",", ".")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadInput(f"{field}: expected a number", field=field)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"{field}: expected a number, e.g. 0.05", field=field)
    return number


def optional_whole(value: Any, field: str) -> int | None:
    """A whole number of a JSON body or form; None where it is not given or empty."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}", value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise BadInput(f"{field}: expected a whole number", field=field)
    return value


def text_map(value: Any, field: str) -> dict[str, str]:
    """Suite parameters: names with texts; numbers and true/false are taken as their texts."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or len(value) > 100:
        raise BadInput(f"{field}: expected an object of names and values", field=field)
    return {
        plain_text(name, field, most=60): _as_text(item, f"{field}.{name[:60]}")
        for name, item in value.items()
    }


def _as_text(item: Any, field: str) -> str:
    if isinstance(item, bool):
        return "yes" if item else "no"
    if isinstance(item, int) and abs(item) <= LARGEST:
        return str(item)
    if isinstance(item, float) and math.isfinite(item):
        return f"{item:g}"
    return plain_text(item, field, most=1000)


def local_path(text: str | None) -> str:
    """Where to go after signing in: a path of our own, else the drives."""
    if text and re.fullmatch(r"/(?![/\\])[!-~]*", text) and not text.startswith("/login"):
        return text
    return "/drives"


def json_body(names: Iterable[str]) -> dict[str, Any]:
    """The request's JSON object, with no other fields than `names`. 400, 413 or 415 otherwise."""
    if request.mimetype != "application/json":
        raise WebError(
            415, "content_type", "the body must be JSON with Content-Type: application/json"
        )
    try:
        body = strict_json.loads(request.get_data(cache=False).decode("utf-8"))
    except RecursionError:
        raise BadInput("the body is nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"the body is not JSON: {str(error)[:120]}") from None
    if not isinstance(body, dict):
        raise BadInput("the body must be a JSON object")
    fields = tuple(names)
    for name in body:
        if name not in fields:
            excerpt = name[:60].encode("ascii", "backslashreplace").decode()
            raise BadInput(
                f"{excerpt}: no such field; there are {', '.join(fields) or 'none'}", field=excerpt
            )
    return body


def no_body() -> None:
    """Check that a request brings nothing, or `{}`. BadInput."""
    if request.get_data(cache=True):
        json_body(())
