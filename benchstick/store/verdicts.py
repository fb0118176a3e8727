"""Verdicts in the store: a recipe's verdict on a drive, and the runs that it uses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from benchstick.errors import BadInput
from benchstick.store import imported_runs, webhook_outbox
from benchstick.store.database import transaction
from benchstick.store.run_queries import bench_id
from benchstick.store.stored_values import stored_object


def keep(db: sqlite3.Connection, verdict: Mapping[str, Any], *, post: bool = False) -> int:
    """Keep a `benchstick/verdict/2` document; its number. `post`: for the webhook as well, both or
    none."""
    drive = verdict["drive"]
    with transaction(db):
        cursor = db.execute(
            "INSERT INTO verdicts (recipe, drive_key, drive_code, verdict, exit_code, reason,"
            " started_utc, ended_utc, verdict_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (verdict["recipe"]["name"], drive["drive_key"], drive["code"], verdict["verdict"],
             verdict["exit_code"], verdict["reason"], verdict["started_utc"], verdict["ended_utc"],
             json.dumps(verdict)),
        )  # fmt: skip
        number = int(cursor.lastrowid or 0)
        db.executemany(
            "INSERT INTO verdict_runs (verdict, run) VALUES (?, ?)",
            [(number, run["number"]) for run in verdict["runs"]],
        )
        if post:
            body = json.dumps({"number": number, **verdict})
            webhook_outbox.put(db, f"{bench_id(db)}-verdict-{number}", body)
    return number


def find(db: sqlite3.Connection, number: int) -> dict[str, Any]:
    """The document of one verdict, with its `number`. BadInput when there is none."""
    row = None
    if 0 < number < 1 << 63:
        row = db.execute("SELECT verdict_json FROM verdicts WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise BadInput(f"verdict {number}: there is no such verdict", field="verdict")
    return {"number": number, **stored_object(row["verdict_json"], f"verdict {number}")}


def of_run(db: sqlite3.Connection, run: int) -> list[int]:
    """The numbers of the verdicts that use a run."""
    rows = db.execute("SELECT verdict FROM verdict_runs WHERE run = ? ORDER BY verdict", (run,))
    return [int(row["verdict"]) for row in rows]


def all_of_run(db: sqlite3.Connection, run: int) -> list[dict[str, Any]]:
    """The documents of the verdicts that use a run: the bench's own with their `number`; of an
    imported run those that came with it, whose `number` is None and whose `imported` has the
    `bench` that gave them and their `number` there."""
    own = [find(db, number) for number in of_run(db, run)]
    return own + [{**item, "number": None} for item in imported_runs.verdicts_of(db, run)]


def list_verdicts(
    db: sqlite3.Connection, limit: int = 100, *, word: str | None = None, before: int = 1 << 62
) -> list[dict[str, Any]]:
    """The last verdicts without their documents, newest first: those with a number below `before`,
    and of one `word` (pass, fail, inconclusive) alone where it is given. `drive_model` and `asset`
    (what was scanned or typed as the drive's asset tag) are None where nothing is known of them."""
    rows = _last(
        db,
        "recipe, drive_key, drive_code, CASE WHEN json_valid(verdict_json)"
        " THEN json_extract(verdict_json, '$.drive.model') END AS drive_model,"
        " CASE WHEN json_valid(verdict_json)"
        " THEN json_extract(verdict_json, '$.labels.asset') END AS asset,"
        " verdict, exit_code, reason, started_utc, ended_utc",
        limit, word, before,
    )  # fmt: skip
    return [dict(row) for row in rows]


def documents(
    db: sqlite3.Connection, limit: int = 100, *, word: str | None = None, before: int = 1 << 62
) -> list[dict[str, Any]]:
    """The verdicts of `list_verdicts`, whole: `benchstick/verdict/2` with their `number`."""
    rows = _last(db, "verdict_json", limit, word, before)
    return [
        {
            **stored_object(row["verdict_json"], f"verdict {row['number']}"),
            "number": row["number"],
        }
        for row in rows
    ]


def _last(
    db: sqlite3.Connection, columns: str, limit: int, word: str | None, before: int
) -> list[sqlite3.Row]:
    return db.execute(
        f"SELECT number, {columns} FROM verdicts WHERE number < ?"
        " AND verdict = coalesce(?, verdict) ORDER BY number DESC LIMIT ?",
        (before, word, limit),
    ).fetchall()
