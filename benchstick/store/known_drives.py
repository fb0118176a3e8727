"""Labels of drives, the last scan, and purges that did not end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from benchstick.plan.states import UNFINISHED_PURGES, PurgeState
from benchstick.store import locks
from benchstick.store.database import transaction, utc_now
from benchstick.store.stored_values import stored_object


def unfinished_purges(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """Purges that did not come to their end and that no runner is at, the newest first: the row,
    and of its run `uuid`, `drive_code`, `drive_model`, `practice`."""
    rows = db.execute(
        "SELECT purges.*, runs.uuid, runs.drive_code, runs.drive_model, runs.practice"
        " FROM purges JOIN runs ON runs.number = purges.run"
        " WHERE purges.state IN (?, ?) ORDER BY purges.run DESC",
        UNFINISHED_PURGES,
    ).fetchall()
    return [
        row
        for row in rows
        if row["state"] == PurgeState.INTERRUPTED or not locks.is_alive(row["uuid"])
    ]


def labels(db: sqlite3.Connection) -> dict[str, str]:
    """Operators' labels by identity key."""
    return {row["drive_key"]: row["label"] for row in db.execute("SELECT * FROM labels")}


def keep_drives_seen(db: sqlite3.Connection, document: Mapping[str, Any]) -> None:
    """Replace the agent's last scan, for the page."""
    with transaction(db):
        db.execute(
            "INSERT INTO drive_scans (id, utc, drives_json) VALUES (1, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET utc = excluded.utc,"
            " drives_json = excluded.drives_json",
            (utc_now(), json.dumps(document)),
        )


def drive_scans(db: sqlite3.Connection) -> tuple[str, dict[str, Any]] | None:
    """(UTC time, `benchstick/drives/2` document) of the agent's last scan, None before any."""
    row = db.execute("SELECT utc, drives_json FROM drive_scans").fetchone()
    return None if row is None else (row["utc"], stored_object(row["drives_json"], "the last scan"))
