"""Requests from the web interface to the agent, and their answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from benchstick.errors import StoreFailed
from benchstick.plan.states import RequestState
from benchstick.store.database import transaction, utc_now


def open_requests(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """Requests without an answer, oldest first."""
    return db.execute(
        "SELECT * FROM requests WHERE id NOT IN (SELECT request FROM answers) ORDER BY id"
    ).fetchall()


def requests_left_over(db: sqlite3.Connection) -> list[int]:
    """Requests without an answer, and accepted ones that never started a run."""
    rows = db.execute(
        "SELECT id FROM requests LEFT JOIN answers ON answers.request = requests.id"
        " WHERE answers.request IS NULL OR (answers.state = ? AND answers.run IS NULL)",
        (RequestState.ACCEPTED,),
    )
    return [int(row["id"]) for row in rows]


def answer_of(db: sqlite3.Connection, request: int) -> sqlite3.Row | None:
    """The answer to a request: `state`, `run`, `answer_json`, `utc`; None before there is one."""
    row: sqlite3.Row | None = db.execute(
        "SELECT state, run, answer_json, utc FROM answers WHERE request = ?", (request,)
    ).fetchone()
    return row


def answer_request(
    db: sqlite3.Connection,
    request: int,
    state: RequestState,
    *,
    run: int | None = None,
    answer: Mapping[str, Any] | None = None,
) -> None:
    """Record the agent's answer: taken, done or refused (then `answer` has the error)."""
    with transaction(db):
        db.execute(
            "INSERT INTO answers (request, state, run, answer_json, utc) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (request) DO UPDATE SET state = excluded.state,"
            " run = coalesce(excluded.run, run), answer_json = excluded.answer_json,"
            " utc = excluded.utc",
            (request, state, run, json.dumps(answer or {}), utc_now()),
        )


def add_request(db: sqlite3.Connection, kind: str, body: Mapping[str, Any]) -> int:
    """Ask the agent for something. Returns the request's id. Allowed to the web process."""
    try:
        cursor = db.execute(
            "INSERT INTO requests (kind, body_json, created_utc) VALUES (?, ?, ?)",
            (kind, json.dumps(body), utc_now()),
        )
    except sqlite3.Error as error:
        raise StoreFailed(f"the store failed: {error}") from error
    return int(cursor.lastrowid or 0)
