"""Reads what a comparison needs out of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from benchstick.analysis.comparison.rank import check_numbers, compare
from benchstick.errors import BadInput
from benchstick.store import known_drives, reference_results, run_reader, spec_sheets
from benchstick.store.stored_values import stored_object
from benchstick.suites.result_names import result_key
from benchstick.suites.spec_sheets import beside

# Answered by an index alone: see migration 004.
OTHERS = (
    "SELECT number, uuid, drive_model, drive_code, state, created_utc FROM runs"
    " WHERE suite = ? AND practice = ? ORDER BY number DESC LIMIT ?"
)


def comparison(
    db: sqlite3.Connection,
    numbers: Sequence[int],
    *,
    mark: int | None = None,
    with_references: bool = True,
) -> dict[str, Any]:
    """The `benchstick/comparison/2` document of these runs, with the reference results of their
    suite and the drives' spec sheets. BadInput when there is no run of a number, or when they
    cannot be compared."""
    check_numbers(numbers, mark)
    labels = known_drives.labels(db)
    runs = [_run(db, number, labels) for number in numbers]
    rows = reference_results.list_references(db, runs[0]["suite"]) if with_references else []
    references = [{**row, "key": result_key(row["result"])} for row in rows]
    document = compare(runs, mark=mark, references=references)
    document["models"] = []
    for run in runs:
        sheet = spec_sheets.sheet_of(db, run["drive"])
        if sheet is not None:
            claims = beside(sheet, run["suite"], run["results"])
            sheet_json = spec_sheets.describe_sheet(sheet, run["drive"], list(claims))
            document["models"].append({"run": run["number"], **sheet_json})
    return document


def _run(db: sqlite3.Connection, number: int, labels: dict[str, str]) -> dict[str, Any]:
    """A run's document as far as a comparison looks at it: no steps, no events, no details."""
    row = None
    # SQLite's numbers have 64 bits.
    if 0 < number < 1 << 63:
        row = db.execute(
            "SELECT number, uuid, suite, practice, state, created_utc, drive_key, drive_json,"
            " conditions_json, CASE WHEN json_valid(plan_json)"
            " THEN json_remove(plan_json, '$.steps') END AS plan_json,"
            " CASE WHEN result_json IS NULL OR json_valid(result_json)"
            " THEN json_object('charts', json_extract(result_json, '$.charts'),"
            "  'series', json_extract(result_json, '$.series')) END AS result_json"
            " FROM runs WHERE number = ?",
            (number,),
        ).fetchone()
    if row is None:
        raise BadInput(f"runs: run {number}: there is no such run", field="runs")
    of = f"run {number}"
    drive = stored_object(row["drive_json"], f"{of}: its drive")
    # The label of today: it is how the operator calls the drive.
    drive["label"] = labels.get(row["drive_key"], drive.get("label"))
    results = db.execute(
        "SELECT test, metric, statistic, percentile, part, value, unit, pass, target, state,"
        " reason FROM results WHERE run = ? ORDER BY id",
        (number,),
    )
    return {
        "number": row["number"],
        "uuid": row["uuid"],
        "suite": row["suite"],
        "practice": bool(row["practice"]),
        "state": run_reader.shown_state(db, row),
        "created_utc": row["created_utc"],
        "drive": drive,
        "plan": stored_object(row["plan_json"], f"{of}: its plan"),
        "conditions": stored_object(row["conditions_json"], f"{of}: its test conditions"),
        "result": stored_object(row["result_json"], f"{of}: its result"),
        "results": [dict(result) for result in results],
    }


def others_of_suite(
    db: sqlite3.Connection, suite: str, *, practice: bool, leave_out: Sequence[int], limit: int = 30
) -> list[sqlite3.Row]:
    """The newest runs of a suite that may be compared with others of it."""
    rows = db.execute(OTHERS, (suite, int(practice), limit + len(leave_out)))
    return [row for row in rows if row["number"] not in leave_out][:limit]
