"""Export runs as files: a run with all its samples, results as CSV."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.drives import bottlenecks
from benchstick.plan.result import Result
from benchstick.plan.tabular_output import csv_text
from benchstick.store import run_reader, verdicts
from benchstick.store.run_results import Sample

COLUMNS = (
    "run", "suite", "drive", "model", "step", "name", "test", "direction", "metric", "statistic",
    "percentile", "part", "pass", "value", "unit", "target", "state", "reason", "drive_state",
    "run_state",
)  # fmt: skip


def bundle(db: sqlite3.Connection, number: int) -> dict[str, Any]:
    """The run's document with its samples, and the verdicts that use it. BadInput when there
    is no such run."""
    run = run_reader.run_json(db, number)
    bottlenecks.put_into(run["drive"])
    samples = [sample.to_json() for sample in run_reader.samples_of(db, number)]
    return {**run, "samples": samples, "verdicts": verdicts.all_of_run(db, number)}


def results_csv(document: Mapping[str, Any], results: Sequence[Result]) -> str:
    """The results of the run with this document, one a line."""
    fixed = {
        "run": document["number"],
        "suite": document["suite"],
        "drive": document["drive"]["code"],
        "model": document["drive"]["identity"]["model"],
    }
    conditions = document["conditions"] or {}
    rows = []
    for result in results:
        of_run = {
            **fixed,
            "drive_state": drive_state(result.detail, conditions),
            "run_state": document["state"],
        }
        rows.append(
            [of_run[column] if column in of_run else result.column(column) for column in COLUMNS]
        )
    return csv_text(COLUMNS, rows)


def samples_csv(samples: Sequence[Sample]) -> str:
    """The per-second record of a run, one sample a line."""
    columns = Sample.__slots__
    return csv_text(columns, ([getattr(item, name) for name in columns] for item in samples))


def drive_state(detail: Mapping[str, Any], conditions: Mapping[str, Any]) -> str:
    """How the drive was purged and filled before the result with this detail was measured: its
    own, where a run has several, else the run's."""
    return str(detail.get("drive_state") or conditions.get("state") or "")
