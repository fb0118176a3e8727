"""Reference results in the store: results of drives that were not measured here."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.store.database import transaction, utc_now
from benchstick.suites.reference_results import Reference


def add(db: sqlite3.Connection, references: Sequence[Reference]) -> int:
    """Store reference results, all or none; one of the same drive, name and source is replaced.
    Returns their number. Allowed to the web process."""
    with transaction(db):
        for item in references:
            db.execute(
                "DELETE FROM reference_results WHERE suite = ? AND result = ? AND unit = ?"
                " AND drive = ? AND source = ?",
                (item.suite, item.result, item.unit, item.drive, item.source),
            )
            db.execute(
                "INSERT INTO reference_results (drive, suite, result, value, unit, source,"
                " created_utc) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (item.drive, item.suite, item.result, item.value, item.unit, item.source,
                 utc_now()),
            )  # fmt: skip
    return len(references)


def list_references(db: sqlite3.Connection, suite: str | None = None) -> list[dict[str, Any]]:
    """The reference results, of one suite or all, ordered by suite, name and drive."""
    rows = db.execute(
        "SELECT id, drive, suite, result, value, unit, source, created_utc FROM reference_results"
        " WHERE suite = coalesce(?, suite) ORDER BY suite, result, unit, drive, id",
        (suite,),
    )
    return [dict(row) for row in rows]


def remove(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Remove reference results by id, all or none. BadInput for one that is not there. Allowed to
    the web process."""
    with transaction(db):
        for number in numbers:
            is_valid = 0 < number < 1 << 63
            count = (
                is_valid
                and db.execute("DELETE FROM reference_results WHERE id = ?", (number,)).rowcount
            )
            if not count:
                raise BadInput(f"reference {number}: there is no such result", field="id")
