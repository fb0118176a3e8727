"""Spec sheets in the store, and their claims compared with measured results."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.states import RunState
from benchstick.store import run_queries
from benchstick.store.database import transaction, utc_now
from benchstick.store.stored_values import converted, stored_object
from benchstick.suites import spec_sheets
from benchstick.suites.spec_sheets import Sheet


def save(db: sqlite3.Connection, sheet: Sheet, *, replaces: int | None = None) -> int:
    """Keep a sheet; one of the same name, and the one whose id is `replaces`, go. Its id. Allowed
    to the web process."""
    with transaction(db):
        db.execute("DELETE FROM spec_sheets WHERE name = ? OR id = ?", (sheet.name, replaces or 0))
        cursor = db.execute(
            "INSERT INTO spec_sheets (name, pattern, sheet_json, created_utc) VALUES (?, ?, ?, ?)",
            (sheet.name, sheet.model, json.dumps(sheet.to_json()), utc_now()),
        )
    return int(cursor.lastrowid or 0)


def list_sheets(db: sqlite3.Connection) -> list[tuple[int, Sheet]]:
    """(id, sheet) of all, the oldest first."""
    rows = db.execute("SELECT id, sheet_json FROM spec_sheets ORDER BY id")
    return [(row["id"], _sheet_of(row)) for row in rows]


def _sheet_of(row: sqlite3.Row) -> Sheet:
    what = f"spec sheet {row['id']}"
    document = stored_object(row["sheet_json"], what)
    return converted(lambda: Sheet.from_json(document), what)


def remove(db: sqlite3.Connection, number: int) -> None:
    """Remove a sheet by its id. BadInput when there is none. Allowed to the web process."""
    with transaction(db):
        is_valid = 0 < number < 1 << 63
        if (
            not is_valid
            or not db.execute("DELETE FROM spec_sheets WHERE id = ?", (number,)).rowcount
        ):
            raise BadInput(f"model {number}: there is no such sheet", field="id")


def sheet_of(db: sqlite3.Connection, drive: Mapping[str, Any]) -> Sheet | None:
    """The sheet that fits a drive (its JSON), None where none does."""
    identity = drive["identity"]
    sheets = [sheet for _, sheet in list_sheets(db)]
    return spec_sheets.matching(sheets, str(identity["model"]), identity.get("capacity"))


def describe_sheet(sheet: Sheet, drive: Mapping[str, Any], claims: Sequence[Any]) -> dict[str, Any]:
    """A sheet for a drive: itself, its price per GB, its claims compared with results."""
    capacity = drive["identity"].get("capacity")
    return {
        "sheet": sheet.to_json(),
        "price_per_gb": spec_sheets.price_per_gb(sheet, capacity),
        "claims": list(claims),
    }


def beside_drive(db: sqlite3.Connection, drive: Mapping[str, Any]) -> dict[str, Any] | None:
    """The sheet of a drive, its claims compared with the results of the drive's last complete run
    of each suite, under any identity that its label combines; `run` with each claim. None where no
    sheet fits."""
    sheet = sheet_of(db, drive)
    if sheet is None:
        return None
    keys = run_queries.same_drive(db, drive["identity"]["drive_key"])
    claims: list[dict[str, Any]] = []
    for suite in spec_sheets.suites_of(sheet):
        numbers = [
            db.execute(
                # A constant: the index runs_done_of_drive is not used for a parameter.
                "SELECT max(number) FROM runs WHERE drive_key = ? AND suite = ?"
                f" AND state = '{RunState.COMPLETE}'",
                (key, suite),
            ).fetchone()[0]
            for key in keys
        ]
        number = max((number for number in numbers if number is not None), default=None)
        results = db.execute(
            "SELECT test, metric, statistic, percentile, part, value, unit, pass, state, reason"
            " FROM results WHERE run = ? AND pass IS NULL ORDER BY id",
            (number,),
        ).fetchall()
        for claim in spec_sheets.beside(sheet, suite, results):
            if number is None:
                claim["reason"] = f"no complete run of {suite} yet"
            claims.append({**claim, "run": number})
    return describe_sheet(sheet, drive, claims)
