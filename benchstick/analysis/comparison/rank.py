"""Comparison of several runs of one suite: ranked results, overlaid charts, conditions that differ.
A pure function of run documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchstick.analysis.comparison.conditions import differing, one_line
from benchstick.analysis.comparison.overlay import overlaid
from benchstick.errors import BadInput
from benchstick.plan import corrupt
from benchstick.plan.quantity import TIME_UNTIL_HALF, Quantity, ResultKey, Statistic, key_of
from benchstick.plan.states import RowState, Validity

SCHEMA = "benchstick/comparison/2"
MOST_RUNS = 12
# Longer names do not fit a chart; the run's own page shows them in full.
_LONGEST = 60
_BETTER = {
    "MB/s": "higher", "IOPS": "higher", "points": "higher",
    "us": "lower", "ms": "lower", "s": "lower",
}  # fmt: skip
Json = dict[str, Any]
Key = tuple[ResultKey, str]


def better(unit: str, quantity: Quantity) -> str | None:
    """Whether `higher` or `lower` results of this unit are better; None where that is not known."""
    # A deviation grows with what it deviates from.
    if quantity.statistic == Statistic.STDEV:
        return None
    # The longer a drive keeps its speed, the better.
    return "higher" if quantity == TIME_UNTIL_HALF else _BETTER.get(unit)


def compare(
    runs: Sequence[Mapping[str, Any]],
    *,
    mark: int | None = None,
    references: Sequence[Mapping[str, Any]] = (),
) -> Json:
    """The `benchstick/comparison/2` document of run documents (`benchstick/run/2`) of one suite.

    `mark` is the number of the run on the drive under test, the first one where it is None.
    `references` are results measured elsewhere: `id`, `drive`, `suite`, `key`, `value`, `unit`,
    `source`. BadInput when the runs cannot be compared.
    """
    _check(runs, mark)
    marked_run = runs[0]["number"] if mark is None else mark
    labels = labels_of(runs)
    entries = [
        {
            "run": run["number"],
            "uuid": run["uuid"],
            "label": labels[run["number"]],
            "under_test": run["number"] == marked_run,
            "state": run["state"],
            "practice": run["practice"],
            "created_utc": run["created_utc"],
            "drive": {
                "code": run["drive"]["code"],
                "model": run["drive"]["identity"]["model"],
                "capacity": run["drive"]["identity"].get("capacity"),
            },
        }
        for run in runs
    ]
    tables = {run["number"]: _by_key(run["results"]) for run in runs}
    shared_keys, apart = _sorted_out(tables)
    return {
        "schema": SCHEMA,
        "suite": runs[0]["suite"],
        "under_test": marked_run,
        "runs": entries,
        "differ": differing(runs),
        "results": [_result(key, entries, tables, references) for key in shared_keys],
        "apart": [
            {"name": key.name, "unit": unit, "run": number} for (key, unit), number in apart.items()
        ],
        "charts": overlaid(
            [(run["number"], labels[run["number"]], run["result"] or {}) for run in runs]
        ),
    }


def _check(runs: Sequence[Mapping[str, Any]], mark: int | None) -> None:
    numbers = check_numbers([run["number"] for run in runs], mark)
    for other in runs[1:]:
        first = runs[0]
        if other["suite"] != first["suite"]:
            raise BadInput(
                f"runs: run {numbers[0]} is of {first['suite']} and run {other['number']} of "
                f"{other['suite']}; only runs of one suite can be compared",
                field="runs",
            )
        if bool(other["practice"]) != bool(first["practice"]):
            practice = first if first["practice"] else other
            raise BadInput(
                f"runs: run {practice['number']} is on the practice drive; it is not compared "
                "with runs on real drives",
                field="runs",
            )


def check_numbers(numbers: Sequence[int], mark: int | None) -> Sequence[int]:
    """The run numbers as they are. BadInput when there are none, too many, or one twice, or when
    `mark` is not among them."""
    if not numbers:
        raise BadInput("runs: select at least one run to compare, as 3,5", field="runs")
    if len(numbers) > MOST_RUNS:
        raise BadInput(f"runs: {len(numbers)} are named; at most {MOST_RUNS}", field="runs")
    for at, number in enumerate(numbers):
        if number in numbers[:at]:
            raise BadInput(f"runs: run {number} is named twice", field="runs")
    if mark is not None and mark not in numbers:
        raise BadInput(f"mark: run {mark} is not one of those compared", field="mark")
    return numbers


def labels_of(runs: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """A short name of each run by its number: its drive's label or model, and where several have
    the same the run's number behind it. Without control or direction characters."""
    name_of_run = {
        run["number"]: _one_line(run["drive"].get("label") or run["drive"]["identity"]["model"])
        for run in runs
    }
    names = list(name_of_run.values())
    return {
        number: f"{name}, run {number}" if names.count(name) > 1 else name
        for number, name in name_of_run.items()
    }


def _one_line(text: Any) -> str:
    return one_line(text, _LONGEST) or "without a name"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _by_key(results: Sequence[Mapping[str, Any]]) -> dict[Key, Json]:
    """Each result of a run by key and unit: the one over all passes, and its passes."""
    table: dict[Key, Json] = {}
    for result in results:
        key = (key_of(result), str(result["unit"]))
        entry = table.setdefault(key, {"overall": None, "passes": []})
        if result["pass"] is not None:
            entry["passes"].append(result)
        elif entry["overall"] is None:
            entry["overall"] = result
    return table


def _sorted_out(tables: Mapping[int, Mapping[Key, Json]]) -> tuple[list[Key], dict[Key, int]]:
    """The results that at least two runs have (all of a single run) in the order of the first that
    has them, and those that only one run has, with its number."""
    owners: dict[Key, list[int]] = {}
    for number, table in tables.items():
        for key in table:
            owners.setdefault(key, []).append(number)
    least = min(2, len(tables))
    shared_keys = [key for key, numbers in owners.items() if len(numbers) >= least]
    # The suite's results over all passes come before those of single steps.
    shared_keys.sort(
        key=lambda key: all(t[key]["overall"] is None for t in tables.values() if key in t)
    )
    return shared_keys, {key: numbers[0] for key, numbers in owners.items() if len(numbers) < least}


def _result(
    key: Key,
    entries: Sequence[Mapping[str, Any]],
    tables: Mapping[int, Mapping[Key, Json]],
    references: Sequence[Mapping[str, Any]],
) -> Json:
    """One result with a row for each run and each reference, the best first."""
    result, unit = key
    direction = better(unit, result.quantity)
    rows = [
        {
            "run": item["run"], "label": item["label"], "under_test": item["under_test"],
            "reference": None, **_of_run(_value(tables[item["run"]].get(key)), item["state"]),
        }
        for item in entries
    ]  # fmt: skip
    rows += [_reference(item) for item in references if (item["key"], item["unit"]) == key]
    if direction is not None:
        sign = -1 if direction == "higher" else 1
        # Python sorts stably: equal results stay in the order of the runs.
        rows.sort(key=lambda row: (0, sign * row["value"]) if _counts(row) else (1, 0.0))
        _rank(rows)
    return {"name": result.name, "unit": unit, "better": direction, "rows": rows}


def _of_run(row: Json, state: str) -> Json:
    """A run whose data is corrupt is not ranked: a drive may be fast because it loses data."""
    if state != corrupt.STATE or row["state"] != Validity.VALID:
        return row
    return {**row, "state": Validity.INVALID, "reason": "the run's data is corrupt"}


def _counts(row: Mapping[str, Any]) -> bool:
    return row["value"] is not None and row["state"] in (Validity.VALID, RowState.REFERENCE)


def _rank(rows: Sequence[Json]) -> None:
    """Number the measured and valid rows, which are sorted: equal values share a rank."""
    before: Json | None = None
    for at, row in enumerate([row for row in rows if row["state"] == Validity.VALID], 1):
        same = before is not None and before["value"] == row["value"]
        row["rank"] = before["rank"] if before is not None and same else at
        before = row


def _value(entry: Json | None) -> Json:
    """A run's value of a result, its spread over the valid passes, its state and the reason."""
    row: Json = {"rank": None, "value": None, "min": None, "max": None, "passes": [],
                  "passes_all": 0, "target": None, "state": RowState.MISSING,
                  "reason": "not in this run", "source": None}  # fmt: skip
    if entry is None:
        return row
    passes, overall = entry["passes"], entry["overall"]
    good = [
        item["value"]
        for item in passes
        if item["state"] == Validity.VALID and _is_number(item["value"])
    ]
    result = overall or _of_passes(passes, good)
    value, state, reason = result["value"], result["state"], result["reason"]
    if not _is_number(value):
        value = None
        if state == Validity.VALID:
            state, reason = Validity.INVALID, reason or "no value"
    return {
        **row,
        "value": value,
        "min": min(good, default=None),
        "max": max(good, default=None),
        "passes": good,
        "passes_all": len(passes),
        "target": result["target"],
        "state": state,
        "reason": reason,
    }


def _of_passes(passes: Sequence[Mapping[str, Any]], good: Sequence[float]) -> Mapping[str, Any]:
    """The mean of the valid passes, for a result that its suite gives only for each pass."""
    if not good:
        return passes[0]
    reason = f"mean of {len(good)} passes" if len(good) > 1 else None
    mean = math.fsum(good) / len(good)
    return {**passes[0], "value": mean, "state": Validity.VALID, "reason": reason}


def _reference(item: Mapping[str, Any]) -> Json:
    return {
        "run": None, "label": _one_line(item["drive"]), "under_test": False,
        "reference": item["id"],
        **_value(None), "value": item["value"], "state": RowState.REFERENCE,
        "reason": "reference, not measured here", "source": item["source"],
    }  # fmt: skip


def summary(document: Mapping[str, Any]) -> Iterator[str]:
    """The conditions that differ, one line each, for people who read text."""
    labels = {item["run"]: item["label"] for item in document["runs"]}
    for item in document["differ"]:
        text = "; ".join(f"{labels[one['run']]}: {one['text']}" for one in item["values"])
        yield f"{item['title']}: {text}"
