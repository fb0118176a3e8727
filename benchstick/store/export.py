"""Runs as files that somebody takes away: a run with all its samples, figures as CSV."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Mapping
from typing import Any

from benchstick.drives import bottlenecks
from benchstick.plan.plain import plain
from benchstick.store import records, verdicts

# Also the wide forms, which some spreadsheets take for the same.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
COLUMNS = (
    "run", "suite", "drive", "model", "target", "step", "name", "pass", "value", "unit", "state",
    "why", "drive_state", "run_state",
)  # fmt: skip

COMPARED = (
    "suite", "figure", "unit", "better", "rank", "drive", "code", "model", "run", "under_test",
    "value", "lowest", "highest", "passes_valid", "passes_all", "target", "state", "why", "source",
    "differs",
)  # fmt: skip


def bundle(db: sqlite3.Connection, number: int) -> dict[str, Any]:
    """The run's document with its samples, and the verdicts that rest on it. BadInput when there
    is no such run."""
    run = records.run_json(db, number)
    bottlenecks.put_into(run["drive"])
    samples = [sample.to_json() for sample in records.samples_of(db, number)]
    return {**run, "samples": samples, "verdicts": verdicts.all_of_run(db, number)}


def figures_csv(document: Mapping[str, Any]) -> str:
    """The figures of a run's document, one a line."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    fixed = {
        "run": document["number"],
        "suite": document["suite"],
        "drive": document["drive"]["code"],
        "model": document["drive"]["identity"]["model"],
    }
    conditions = document["conditions"] or {}
    for figure in document["figures"]:
        state = drive_state(figure["detail"], conditions)
        row = {**figure, **fixed, "drive_state": state, "run_state": document["state"]}
        writer.writerow([safe_cell(row[column]) for column in COLUMNS])
    return file.getvalue()


def comparison_csv(document: Mapping[str, Any]) -> str:
    """The figures of a comparison's document, one a line for each run and each reference, with
    what differs between the runs: a figure is not to be read without it."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COMPARED)
    runs = {item["run"]: item for item in document["runs"]}
    differs: dict[int, list[str]] = {number: [] for number in runs}
    for item in document["differ"]:
        for one in item["values"]:
            differs[one["run"]].append(f"{item['title']}: {one['text']}")
    for figure in document["figures"]:
        for row in figure["rows"]:
            drive = runs[row["run"]]["drive"] if row["run"] is not None else {}
            cells = {
                **row,
                "suite": document["suite"],
                "figure": figure["name"],
                "unit": figure["unit"],
                "better": figure["better"],
                "drive": row["label"],
                "code": drive.get("code"),
                "model": drive.get("model"),
                "under_test": "yes" if row["marked"] else "no",
                "lowest": row["min"],
                "highest": row["max"],
                "passes_valid": len(row["passes"]),
                "differs": "; ".join(differs.get(row["run"], ())),
            }
            writer.writerow([safe_cell(cells[column]) for column in COMPARED])
    return file.getvalue()


def drive_state(detail: Mapping[str, Any], conditions: Mapping[str, Any]) -> str:
    """How the drive was purged and filled before the figure with this detail was measured: its
    own, where a run has several, else the run's."""
    return str(detail.get("drive_state") or conditions.get("state") or "")


def safe_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula, without control characters: model names come
    from the drive."""
    if not isinstance(value, str):
        return value
    quote = "'" if value[:1] in _FORMULA else ""
    return f"{quote}{plain(value)}"
