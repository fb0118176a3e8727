"""Tests that are measured once, in one pass: the values of each, its results and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchstick.plan.quantity import (
    IOPS,
    LATENCY,
    LATENCY_MAX,
    SPEED,
    Quantity,
    ResultKey,
    latency_percentile,
)
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.units import binary_text
from benchstick.suites.interface import over_all_passes

PERCENTILES = ("50", "99", "99.9", "99.99", "99.999")
# fio reports the time of a job in whole milliseconds: below this they are more than 1 % of it.
SHORT_SECONDS = 0.1

# How much of a drive may be filled, so that its filesystem has room for its own data.
FILE_SHARE = 0.9

Cell = Mapping[str, Any]


def read_modify_write(block: int, physical: int) -> str | None:
    """The note of a result of `block`-byte writes on physical blocks of `physical` bytes."""
    if block % physical == 0:
        return None
    return (
        "read-modify-write: not a whole number of the drive's physical blocks of "
        f"{binary_text(physical)}"
    )


def cell(
    label: str | None, results: Sequence[Result], flag: str | None = None
) -> dict[str, Any] | None:
    """The values of test `label`; None when it was not started, or is not in the plan.

    `mbps`, `iops`, `us` (mean latency), `max_us`, `percentiles_us` by their text, `seconds`: all
    None when it was skipped or is not valid. `flag` is the note of a valid result; `reason` has
    this note, or the reason of another `state`.
    """
    by_key = {item.key: item for item in results if item.pass_no is not None}
    if label is None or (speed := by_key.get(ResultKey(label, SPEED))) is None:
        return None
    valid = speed.state == Validity.VALID

    def value(quantity: Quantity) -> float | None:
        result = by_key.get(ResultKey(label, quantity))
        return None if result is None or not valid else result.value

    totals = speed.detail.get("totals") or {}
    seconds = totals.get("seconds") if valid else None
    flags = [flag] if flag else []
    if seconds is not None and seconds < SHORT_SECONDS:
        flags.append(f"took {seconds * 1000:.0f} ms, ±1 ms")
    return {
        "direction": speed.direction,
        "mbps": value(SPEED),
        "iops": value(IOPS),
        "us": value(LATENCY),
        "max_us": value(LATENCY_MAX),
        "percentiles_us": {name: value(latency_percentile(float(name))) for name in PERCENTILES},
        "seconds": seconds,
        "target": speed.target or None,
        "state": speed.state,
        "reason": ("; ".join(flags) or None) if valid else speed.reason,
    }


def results_of(label: str, outcome: Cell) -> list[Result]:
    """The results of a test over all passes, of which there is one."""
    detail = {key: outcome[key] for key in ("seconds", "max_us", "percentiles_us")}
    results = over_all_passes(
        label,
        [
            (label, SPEED, outcome["mbps"], "MB/s", detail),
            (label, IOPS, outcome["iops"], "IOPS", {}),
            (label, LATENCY, outcome["us"], "us", {}),
        ],
        outcome["state"],
        outcome["reason"],
        outcome["direction"],
    )
    return [replace(item, target=outcome["target"] or "") for item in results]


def digits(value: float | None, places: int = 0) -> str:
    """A number for a table; a dash for none."""
    return "-" if value is None else f"{value:.{places}f}"


def state_text(outcome: Cell | None) -> str:
    """`valid`, or the state with its reason; nothing for a test that was not started."""
    return "" if outcome is None else state_of(outcome["state"], outcome["reason"])


def state_of(state: str, reason: str | None) -> str:
    """A state with its reason, where there is one."""
    return state if reason is None else f"{state}: {reason}"


def states_text(row: Mapping[str, Any], ways: Iterable[str]) -> str:
    """One state where all directions of a row have the same, otherwise each with its direction."""
    outcomes = {way: row[way] for way in ways if row[way]}
    if len({state_text(outcome) for outcome in outcomes.values()}) == 1:
        return state_text(next(iter(outcomes.values())))
    if all(outcome["state"] == Validity.VALID for outcome in outcomes.values()):
        reasons = [
            f"{way} {outcome['reason']}" for way, outcome in outcomes.items() if outcome["reason"]
        ]
        return f"valid: {'; '.join(reasons)}"
    return "; ".join(f"{way} {state_text(outcome)}" for way, outcome in outcomes.items())


def latency_table(cells: Iterable[tuple[str, Cell | None]]) -> dict[str, Any]:
    """Mean, percentiles and maximum of each test's latency; `cells` are (label, cell)."""
    columns = ["test", "mean us", *(f"p{name}" for name in PERCENTILES), "max"]
    rows = [
        [
            label,
            digits(outcome["us"], 1),
            *(digits(outcome["percentiles_us"][name], 1) for name in PERCENTILES),
            digits(outcome["max_us"], 1),
        ]
        for label, outcome in cells
        if outcome is not None and outcome["us"] is not None
    ]
    return {"title": "Latency", "columns": columns, "rows": rows}


def padded(table: Mapping[str, Any]) -> str:
    """A table as text, its columns padded."""
    lines = [table["columns"], *table["rows"]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(table["columns"]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
