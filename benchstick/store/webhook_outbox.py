"""What waits to be posted to the webhook: kept in the store until its receiver has taken it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from benchstick.store.database import has_table, transaction, utc_now

# Those that were delivered are kept for the page, the last ones.
KEPT = 100


@dataclass(frozen=True)
class Letter:
    """One body to be posted. `tries` is how often that was tried before."""

    id: int
    key: str
    body: str
    tries: int


def put(db: sqlite3.Connection, key: str, body: str) -> None:
    """Keep JSON text `body` for the webhook. The same `key` again changes nothing. Within the
    caller's transaction, where there is one: what is told and what is recorded are one."""
    sql = "INSERT OR IGNORE INTO outbox (key, body, created_utc) VALUES (?, ?, ?)"
    if db.in_transaction:
        db.execute(sql, (key, body, utc_now()))
        return
    with transaction(db):
        db.execute(sql, (key, body, utc_now()))


def waiting(db: sqlite3.Connection, most: int = 100) -> list[Letter]:
    """What waits, the oldest first; but those that were refused again and again come after those
    that were not: a few that are never taken keep no others back."""
    rows = db.execute(
        "SELECT id, key, body, tries FROM outbox WHERE delivered_utc IS NULL"
        " ORDER BY tries / 5, id LIMIT ?",
        (most,),
    )
    return [Letter(row["id"], row["key"], row["body"], row["tries"]) for row in rows]


def delivered(db: sqlite3.Connection, letter: Letter) -> None:
    """The receiver has taken it."""
    with transaction(db):
        db.execute(
            "UPDATE outbox SET delivered_utc = ?, tried_utc = ?, tries = tries + 1, why = NULL"
            " WHERE id = ?",
            (utc_now(), utc_now(), letter.id),
        )
        db.execute(
            "DELETE FROM outbox WHERE delivered_utc IS NOT NULL AND id NOT IN (SELECT id FROM"
            " outbox WHERE delivered_utc IS NOT NULL ORDER BY id DESC LIMIT ?)",
            (KEPT,),
        )


def failed(db: sqlite3.Connection, letter: Letter, why: str) -> None:
    """The receiver has not taken it; it waits on."""
    with transaction(db):
        db.execute(
            "UPDATE outbox SET tried_utc = ?, tries = tries + 1, why = ? WHERE id = ?",
            (utc_now(), why, letter.id),
        )


def list_letters(db: sqlite3.Connection) -> dict[str, Any]:
    """How many wait, and the last ones with what became of them, newest first."""
    if not has_table(db, "outbox"):
        return {"waiting": 0, "letters": []}
    count = db.execute("SELECT count(*) FROM outbox WHERE delivered_utc IS NULL").fetchone()[0]
    rows = db.execute(
        "SELECT id, key, created_utc, tries, tried_utc, why, delivered_utc, length(body) AS size"
        " FROM outbox ORDER BY id DESC LIMIT ?",
        (KEPT,),
    )
    return {"waiting": int(count), "letters": [dict(row) for row in rows]}
