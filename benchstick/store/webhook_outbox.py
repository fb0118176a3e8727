"""Messages for the webhook: they stay in the store until its receiver accepts them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from benchstick.store.database import transaction, utc_now

# The last delivered ones stay, for the page.
MAX_SENT = 100


@dataclass(frozen=True)
class Letter:
    """One body to be posted. `attempts` counts the earlier ones."""

    id: int
    key: str
    body: str
    attempts: int


def put(db: sqlite3.Connection, key: str, body: str) -> None:
    """Add JSON text `body` for the webhook. The same `key` again changes nothing. Runs in the
    caller's transaction if there is one, so that a verdict and its message are stored together."""
    sql = "INSERT OR IGNORE INTO outbox (key, body, created_utc) VALUES (?, ?, ?)"
    if db.in_transaction:
        db.execute(sql, (key, body, utc_now()))
        return
    with transaction(db):
        db.execute(sql, (key, body, utc_now()))


def waiting(db: sqlite3.Connection, most: int = 100) -> list[Letter]:
    """The pending messages, the oldest first; those that were refused repeatedly come last, so that
    they do not block others."""
    rows = db.execute(
        "SELECT id, key, body, attempts FROM outbox WHERE delivered_utc IS NULL"
        " ORDER BY attempts / 5, id LIMIT ?",
        (most,),
    )
    return [Letter(row["id"], row["key"], row["body"], row["attempts"]) for row in rows]


def delivered(db: sqlite3.Connection, letter: Letter) -> None:
    """The receiver has accepted it."""
    with transaction(db):
        db.execute(
            "UPDATE outbox SET delivered_utc = ?, attempted_utc = ?, attempts = attempts + 1,"
            " reason = NULL"
            " WHERE id = ?",
            (utc_now(), utc_now(), letter.id),
        )
        db.execute(
            "DELETE FROM outbox WHERE delivered_utc IS NOT NULL AND id NOT IN (SELECT id FROM"
            " outbox WHERE delivered_utc IS NOT NULL ORDER BY id DESC LIMIT ?)",
            (MAX_SENT,),
        )


def failed(db: sqlite3.Connection, letter: Letter, reason: str) -> None:
    """The receiver has not accepted it; it stays pending."""
    with transaction(db):
        db.execute(
            "UPDATE outbox SET attempted_utc = ?, attempts = attempts + 1, reason = ? WHERE id = ?",
            (utc_now(), reason, letter.id),
        )


def list_letters(db: sqlite3.Connection) -> dict[str, Any]:
    """How many are pending, and the last ones with their outcome, newest first."""
    count = db.execute("SELECT count(*) FROM outbox WHERE delivered_utc IS NULL").fetchone()[0]
    rows = db.execute(
        "SELECT id, key, created_utc, attempts, attempted_utc, reason, delivered_utc,"
        " length(body) AS size"
        " FROM outbox ORDER BY id DESC LIMIT ?",
        (MAX_SENT,),
    )
    return {"waiting": int(count), "letters": [dict(row) for row in rows]}
