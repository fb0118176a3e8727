"""A run as files that somebody takes away: everything as JSON, its figures as CSV."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Mapping
from typing import Any

from benchstick.store import records

COLUMNS = (
    "run", "suite", "drive", "model", "target", "step", "name", "pass", "value", "unit", "state",
    "why", "drive_state",
)  # fmt: skip


def bundle(db: sqlite3.Connection, number: int) -> dict[str, Any]:
    """The run's document with its samples. BadInput when there is no such run."""
    samples = [sample.to_json() for sample in records.samples_of(db, number)]
    return {**records.run_json(db, number), "samples": samples}


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
        row = {**figure, **fixed, "drive_state": state}
        writer.writerow([safe_cell(row[column]) for column in COLUMNS])
    return file.getvalue()


def drive_state(detail: Mapping[str, Any], conditions: Mapping[str, Any]) -> str:
    """How the drive was purged and filled before the figure with this detail was measured: its
    own, where a run has several, else the run's."""
    return str(detail.get("drive_state") or conditions.get("state") or "")


def safe_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: model names come from the drive."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
