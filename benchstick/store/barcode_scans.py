"""Barcode scans and the labels that they give to the next drive. Only the agent writes them."""

from __future__ import annotations

import sqlite3
from typing import Any

from benchstick.plan.drive_key import DriveKey
from benchstick.plan.labels import ASSET, OPERATOR, ORDER, SERIAL, Ticket
from benchstick.store.database import transaction, utc_now

MAX_SCANS = 500


def keep(db: sqlite3.Connection, source: str, text: str, kind: str, value: str) -> None:
    """Keep one scan, of the `scanner` or the `page`. An asset tag or serial number that waited for
    a drive is replaced by the next one."""
    with transaction(db):
        if kind in (ASSET, SERIAL):
            db.execute(
                "UPDATE scans SET assigned_to = '' WHERE assigned_to IS NULL AND kind = ?", (kind,)
            )
        db.execute(
            "INSERT INTO scans (scanned_utc, source, text, kind, value) VALUES (?, ?, ?, ?, ?)",
            (utc_now(), source, text, kind, value),
        )
        db.execute(
            "DELETE FROM scans WHERE id <= (SELECT max(id) FROM scans) - ?"
            " AND id NOT IN (SELECT max(id) FROM scans GROUP BY kind)",
            (MAX_SCANS,),
        )


def waiting(db: sqlite3.Connection) -> Ticket:
    """What the next drive gets: the last operator and order, and the last asset tag and serial
    number if no drive has had them."""
    last = {
        row["kind"]: row
        for row in db.execute("SELECT kind, value, assigned_to, max(id) FROM scans GROUP BY kind")
    }
    values = {
        kind: last[kind]["value"]
        for kind in (ASSET, SERIAL, ORDER, OPERATOR)
        if kind in last
        and (
            last[kind]["assigned_to"] is None
            if kind in (ASSET, SERIAL)
            else last[kind]["assigned_to"] != ""
        )
    }
    return Ticket(**values)


def take(db: sqlite3.Connection, drive_key: DriveKey) -> Ticket:
    """The ticket of a drive that is being started; its asset tag and serial number are then gone
    for others."""
    with transaction(db):
        ticket = waiting(db)
        db.execute(
            "UPDATE scans SET assigned_to = ? WHERE assigned_to IS NULL AND kind IN (?, ?)",
            (drive_key, ASSET, SERIAL),
        )
    return ticket


def drop(db: sqlite3.Connection) -> None:
    """Clear the pending scans, operator and order too."""
    with transaction(db):
        db.execute(
            "UPDATE scans SET assigned_to = '' WHERE id IN (SELECT max(id) FROM scans GROUP BY"
            " kind)"
            " AND (assigned_to IS NULL OR kind IN (?, ?))",
            (ORDER, OPERATOR),
        )


def say_scanner(db: sqlite3.Connection, state: str) -> None:
    """Store the scanner's status; empty when none is configured."""
    with transaction(db):
        db.execute(
            "INSERT INTO scanner_status (id, status) VALUES (1, ?)"
            " ON CONFLICT (id) DO UPDATE SET status = excluded.status",
            (state,),
        )


def scanner_state(db: sqlite3.Connection) -> str:
    """The scanner's last status, empty when none is configured."""
    row = db.execute("SELECT status FROM scanner_status").fetchone()
    return "" if row is None else str(row["status"])


def list_scans(db: sqlite3.Connection, most: int = 50) -> list[dict[str, Any]]:
    """The last scans, newest first."""
    rows = db.execute(
        "SELECT id, scanned_utc, source, text, kind, value, assigned_to FROM scans ORDER BY id"
        " DESC LIMIT ?",
        (most,),
    )
    return [dict(row) for row in rows]
