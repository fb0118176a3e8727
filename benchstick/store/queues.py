"""Queues: several suites for one drive, one after the other. Written by the process that runs
them: the agent, or a command in a terminal, its `owner`.

A queue's number is that of the request which asked for it, so that the page can name it before the
agent has taken it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.plain import storable
from benchstick.plan.request import OWN
from benchstick.plan.run_queue import entries_of
from benchstick.plan.states import EntryState, QueueState, RequestState
from benchstick.store import agent_requests, locks, run_reader
from benchstick.store.database import transaction, utc_now
from benchstick.store.stored_values import stored_object, stored_state

SCHEMA = "benchstick/queue/2"
NO_COMMAND = "the command that ran it has ended"
NO_AGENT = "the agent ended; waiting runs were not started and will not start automatically"


def begin(db: sqlite3.Connection, number: int, drive_key: str, count: int) -> None:
    """Open the queue that request `number` asks for, with `count` entries that wait."""
    with transaction(db):
        db.execute(
            "INSERT INTO queues (number, drive_key, state) VALUES (?, ?, ?)",
            (number, drive_key, QueueState.OPEN),
        )
        db.executemany(
            "INSERT INTO queue_entries (queue, position, state) VALUES (?, ?, ?)",
            [(number, position, EntryState.WAITING) for position in range(count)],
        )


def begin_own(db: sqlite3.Connection, body: Mapping[str, Any], owner: str) -> int:
    """Open a queue that the process with the lock `owner` runs itself; its number. The
    request that stores it is answered at once: the agent does not see it."""
    with transaction(db):
        number = agent_requests.add_request(db, "run", body)
        db.execute(
            "INSERT INTO answers (request, state, utc) VALUES (?, ?, ?)",
            (number, RequestState.ACCEPTED, utc_now()),
        )
        db.execute(
            "INSERT INTO queues (number, drive_key, state, owner) VALUES (?, ?, ?, ?)",
            (number, str(body["drive_key"]), QueueState.OPEN, owner),
        )
        db.executemany(
            "INSERT INTO queue_entries (queue, position, state) VALUES (?, ?, ?)",
            [(number, position, EntryState.WAITING) for position in range(len(body["runs"]))],
        )
    return number


def owner_of(row: sqlite3.Row) -> str | None:
    """The lock of the command that runs a queue; None: the agent does."""
    # A store that is only read may be of an older program.
    return row["owner"] if "owner" in row.keys() else None  # noqa: SIM118 - no mapping


def is_carried_out(row: sqlite3.Row) -> bool:
    """Whether there is somebody who carries the queue out."""
    return locks.is_alive(owner_of(row) or "agent")


def exists(db: sqlite3.Connection, number: int) -> bool:
    """Whether there is a queue of this number, open or not."""
    row = db.execute("SELECT 1 FROM queues WHERE number = ?", (number,)).fetchone()
    return row is not None


def waits(db: sqlite3.Connection, number: int) -> list[int]:
    """The positions of the entries that wait, in order."""
    rows = db.execute(
        "SELECT position FROM queue_entries WHERE queue = ? AND state = ? ORDER BY position",
        (number, EntryState.WAITING),
    )
    return [int(row["position"]) for row in rows]


def entry_starts(db: sqlite3.Connection, number: int, position: int) -> None:
    """The agent starts the entry's worker; a run follows, or a refusal."""
    _entry(db, number, position, "state = ?", EntryState.STARTED)


def entry_runs(db: sqlite3.Connection, number: int, position: int, run: int) -> None:
    """The entry's run has started."""
    _entry(db, number, position, "run = ?", run)


def entry_refused(db: sqlite3.Connection, number: int, position: int, reason: str) -> None:
    """No run of the entry will start."""
    _entry(db, number, position, "state = ?, reason = ?", EntryState.REFUSED, reason)


def _entry(
    db: sqlite3.Connection, number: int, position: int, change: str, *values: object
) -> None:
    with transaction(db):
        db.execute(
            f"UPDATE queue_entries SET {change} WHERE queue = ? AND position = ?",
            (*values, number, position),
        )


def take_out(db: sqlite3.Connection, number: int, position: int) -> None:
    """Remove a waiting entry from an open queue. BadInput when it does not wait."""
    with transaction(db):
        row_count = db.execute(
            "UPDATE queue_entries SET state = ? WHERE queue = ? AND position = ? AND state = ?",
            (EntryState.TAKEN_OUT, number, position, EntryState.WAITING),
        ).rowcount
    if not row_count:
        raise BadInput(f"queue {number}, position {position}: no run waits there", field="position")


def end(db: sqlite3.Connection, number: int, state: QueueState, reason: str | None = None) -> None:
    """Close the queue; its waiting entries become `not_started`."""
    with transaction(db):
        db.execute(
            "UPDATE queue_entries SET state = ? WHERE queue = ? AND state = ?",
            (EntryState.NOT_STARTED, number, EntryState.WAITING),
        )
        db.execute(
            "UPDATE queues SET state = ?, reason = ?, ended_utc = ? WHERE number = ?",
            (state, storable(reason), utc_now(), number),
        )


def started(db: sqlite3.Connection, number: int) -> sqlite3.Row | None:
    """The entry that was started last: `position`, `state`, `run`, `reason`."""
    row: sqlite3.Row | None = db.execute(
        "SELECT position, state, run, reason FROM queue_entries WHERE queue = ?"
        " AND state IN (?, ?) ORDER BY position DESC LIMIT 1",
        (number, EntryState.STARTED, EntryState.REFUSED),
    ).fetchone()
    return row


def open_queues(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """The queues that are not closed, oldest first, whichever process runs them."""
    return db.execute(
        "SELECT * FROM queues WHERE state = ? ORDER BY number", (QueueState.OPEN,)
    ).fetchall()


def open_of_agent(db: sqlite3.Connection) -> list[int]:
    """The numbers of the agent's queues that are not closed, oldest first."""
    return [int(row["number"]) for row in open_queues(db) if owner_of(row) is None]


def open_of_drive(db: sqlite3.Connection, drive_key: str) -> int | None:
    """The open queue of this drive, None when it has none."""
    for row in open_queues(db):
        if row["drive_key"] == drive_key and (owner_of(row) is None or is_carried_out(row)):
            return int(row["number"])
    return None


def of_run(db: sqlite3.Connection, run: int) -> int | None:
    """The queue that the run belongs to, None when it was started alone."""
    row = db.execute("SELECT queue FROM queue_entries WHERE run = ?", (run,)).fetchone()
    return None if row is None else int(row["queue"])


def newest(db: sqlite3.Connection, count: int) -> list[int]:
    """The numbers of the newest queues that the agent has taken, newest first."""
    rows = db.execute("SELECT number FROM queues ORDER BY number DESC LIMIT ?", (count,))
    return [int(row["number"]) for row in rows]


def document(db: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """The `benchstick/queue/2` document; None when request `number` is not for a queue.

    `state` is waiting until the agent took it, then open, done, stopped or cancelled; refused when
    none of its runs started. An entry that has a run has that run's state.
    """
    row = db.execute(
        "SELECT requests.body_json, requests.created_utc, answers.state, answers.answer_json"
        " FROM requests LEFT JOIN answers ON answers.request = requests.id"
        " WHERE requests.id = ? AND requests.kind = 'run'",
        (number,),
    ).fetchone()
    if row is None:
        return None
    body = stored_object(row["body_json"], f"queue {number}")
    try:
        wishes = entries_of(body if isinstance(body, dict) else {})
    except BadInput:
        return None
    queue_row = db.execute("SELECT * FROM queues WHERE number = ?", (number,)).fetchone()
    state, reason = _state(row, queue_row)
    return {
        "schema": SCHEMA,
        "number": number,
        "drive": {"code": str(body.get("drive")), "drive_key": str(body.get("drive_key"))},
        "state": state,
        "reason": reason,
        "created_utc": row["created_utc"],
        "ended_utc": None if queue_row is None else queue_row["ended_utc"],
        "by": "agent" if queue_row is None or owner_of(queue_row) is None else "command",
        "entries": _entries(db, number, wishes, state),
    }


def _state(row: sqlite3.Row, queue_row: sqlite3.Row | None) -> tuple[QueueState, str | None]:
    """(state, why) as they are shown."""
    if row["state"] == RequestState.REFUSED:
        error = stored_object(row["answer_json"], "the queue's answer").get("error") or {}
        return QueueState.REFUSED, error.get("message")
    if queue_row is None:
        return QueueState.WAITING, None
    if queue_row["state"] == QueueState.OPEN and not is_carried_out(queue_row):
        return QueueState.STOPPED, NO_AGENT if owner_of(queue_row) is None else NO_COMMAND
    state = stored_state(QueueState, queue_row["state"], f"queue {queue_row['number']}")
    return state, queue_row["reason"]


def _entries(
    db: sqlite3.Connection, number: int, wishes: Sequence[dict[str, Any]], state: QueueState
) -> list[dict[str, Any]]:
    entry_rows = db.execute("SELECT * FROM queue_entries WHERE queue = ?", (number,))
    rows = {int(row["position"]): row for row in entry_rows}
    entries = []
    for position, wish in enumerate(wishes):
        row = rows.get(position)
        entry_state: str = EntryState.WAITING if row is None else EntryState(row["state"])
        run, reason, code = (None, None, None) if row is None else (row["run"], row["reason"], None)
        if run is not None:
            run_row = run_reader.find_run(db, run)
            entry_state = run_reader.shown_state(db, run_row)
            reason, code = run_row["reason"], run_row["exit_code"]
        elif entry_state == EntryState.STARTED:
            entry_state = EntryState.STARTING
        is_over = state not in (QueueState.WAITING, QueueState.OPEN)
        if is_over and entry_state in (EntryState.WAITING, EntryState.STARTING):
            entry_state = EntryState.NOT_STARTED
        entries.append(
            {
                "position": position,
                **{name: wish.get(name) for name in OWN},
                "params": wish.get("params") or {},
                "state": entry_state,
                "run": run,
                "exit_code": code,
                "reason": reason,
            }
        )
    return entries
