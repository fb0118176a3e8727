"""Events of drives as lines of `key=value`.

Separate from the other outputs and from the code that judges: the agent, which mostly waits, writes
them and needs no more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchstick.drives.types import Drive

LABELS = ("asset", "order", "operator")
_BARE = re.compile(r"[A-Za-z0-9._:/+-]+", re.ASCII)

Json = Mapping[str, Any]


def event_lines(item: Json) -> list[str]:
    """The lines of one drive: earlier tests, its runs, each limit, each other reason, and last the
    verdict. ASCII: for a serial line."""
    return [line_of(words) for words in _events(item)]


def _events(item: Json) -> Iterator[Json]:
    drive = item["drive"]
    of = {"drive": drive["code"], "slot": drive["slot"]}
    at = {"time": item["ended_utc"]}
    for number, one in enumerate(item["previous_attempts"], 1):
        yield {"time": one["started_utc"], "event": "retried", **of, "number": number,
               **{name: one[name] for name in ("verdict", "exit_code", "reason")}}  # fmt: skip
    for run in item["runs"]:
        run_fields = {name: run[name] for name in ("number", "suite", "state", "exit_code")}
        yield {**at, "event": "run", **of, **run_fields}
    for limit in item["limits"]:
        yield {**at, "event": "limit", **of,
               **{name: limit[name] for name in ("number", "description", "state", "measured", "op",
                                               "required", "tolerance_percent", "unit",
                                               "shortfall", "shortfall_percent",
                                               "code", "text")}}  # fmt: skip
    for kind in ("failures", "inconclusive"):
        for reason in item[kind]:
            if reason["limit"] is None:
                yield {**at, "event": "reason", **of, "kind": kind, "code": reason["code"],
                       "text": reason["text"]}  # fmt: skip
    yield {
        **at, "event": "verdict", **of,
        **{name: item["labels"].get(name) for name in LABELS},
        **{name: drive[name] for name in ("model", "serial", "port")},
        "recipe": item["recipe"]["name"],
        **{name: item[name] for name in ("verdict", "exit_code", "retries", "seconds", "reason")},
    }  # fmt: skip


def drive_words(drive: Drive) -> dict[str, Any]:
    """Which drive it is, for a line."""
    identity = drive.identity
    return {
        "drive": drive.code, "model": identity.model, "serial": identity.serial,
        "port": identity.port,
    }  # fmt: skip


def started_line(
    drive: Drive, *, time: str, slot: str | None, labels: Mapping[str, str | None],
    scanned_serial: str | None, recipe: str | None = None,
) -> str:  # fmt: skip
    """The start of a drive's test."""
    return line_of({
        "time": time, "event": "started", "slot": slot, **drive_words(drive), "recipe": recipe,
        **{name: labels.get(name) or None for name in LABELS}, "scanned": scanned_serial or None,
    })  # fmt: skip


def line_of(words: Json) -> str:
    """`key=value` of each that is known. A value with anything but letters, digits and `._:/+-` is
    a JSON string."""
    return " ".join(f"{key}={_word(value)}" for key, value in words.items() if value is not None)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return _word(",".join(_plain(one) for one in value))
    text = _plain(value)
    # JSON does not escape DEL.
    return text if _BARE.fullmatch(text) else json.dumps(text).replace("\x7f", "\\u007f")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
