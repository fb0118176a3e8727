"""The agent's queues: when the next run of a queue starts, and when a queue ends.

Each run has a worker of its own, like a single run; it starts after the run before it ended. An
agent that starts closes the open queues of an earlier agent: a user confirmed their runs for a
drive that may have been exchanged since.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from benchstick.errors import BadInput, Refused
from benchstick.plan.run_queue import entries_of, goes_on
from benchstick.plan.states import QueueState, RequestState
from benchstick.store import agent_requests, locks, queues, run_reader

# Starts the worker of an entry: request, position, whether it is the first entry.
Start = Callable[[int, int, bool], None]


def is_queue(body: Mapping[str, Any]) -> bool:
    """Whether a request is for a queue."""
    return "runs" in body


def is_of_queue(db: sqlite3.Connection, request: int) -> bool:
    """Whether a queue was opened for this request."""
    return queues.exists(db, request)


def check_free(db: sqlite3.Connection, body: Mapping[str, Any]) -> None:
    """Refused when an open queue uses the drive: a run could start between two of its runs."""
    number = queues.open_of_drive(db, str(body.get("drive_key")))
    if number is not None:
        raise Refused(
            f"{body.get('drive')}: queue {number} has this drive; wait for it or cancel it"
        )


def take(db: sqlite3.Connection, number: int, body: Mapping[str, Any], start: Start) -> None:
    """Open the queue of request `number` and start its first run. BadInput, Refused."""
    # Imported here to save memory: it imports every suite.
    from benchstick.plan.request import RunRequest

    entries = entries_of(body)
    for entry in entries:
        RunRequest.from_json(number, entry)
    check_free(db, body)
    queues.begin(db, number, str(body["drive_key"]), len(entries))
    _start_next(db, number, start, first=True)


def _start_next(db: sqlite3.Connection, number: int, start: Start, *, first: bool = False) -> bool:
    waiting = queues.waits(db, number)
    if not waiting:
        return False
    position = waiting[0]
    queues.entry_starts(db, number, position)
    try:
        start(number, position, first)
    except OSError as error:
        queues.end(
            db, number, QueueState.STOPPED, f"the next run could not be started: {error.strerror}"
        )
        raise
    return True


def continue_queue(db: sqlite3.Connection, number: int, code: int, start: Start) -> None:
    """A worker of the queue ended with exit code `code`: start the next run, or close the queue."""
    if number not in queues.open_of_agent(db):
        return
    answer = agent_requests.answer_of(db, number)
    if answer is not None and answer["state"] == RequestState.REFUSED:
        queues.end(db, number, QueueState.STOPPED, "no run was started")
        return
    if not goes_on(code):
        queues.end(db, number, QueueState.STOPPED, _why(db, number, code))
    elif _start_next(db, number, start):
        return
    else:
        queues.end(db, number, QueueState.COMPLETE)
    agent_requests.answer_request(db, number, RequestState.COMPLETE)


def _why(db: sqlite3.Connection, number: int, code: int) -> str:
    """Why the queue stops after its last run."""
    last = queues.started(db, number)
    if last is None:
        return f"a run's process ended with exit code {code}"
    if last["run"] is None:
        reason = last["reason"] or f"its process ended with exit code {code}"
        return f"entry {last['position'] + 1} of the queue was not started: {reason}"
    row = run_reader.find_run(db, last["run"])
    reason = row["reason"] or f"its process ended with exit code {code}"
    return f"run {last['run']} {run_reader.shown_state(db, row)}: {reason}"


def cancel(db: sqlite3.Connection, body: Mapping[str, Any]) -> int | None:
    """Remove the entry at `position` from an open queue, or cancel the whole `queue`. Returns the
    queue's number when its worker is to be stopped. BadInput."""
    number, position = _whole(body, "queue"), body.get("position")
    rows = [row for row in queues.open_queues(db) if row["number"] == number]
    if not rows:
        raise BadInput(f"queue {number}: there is no such queue, or it has ended", field="queue")
    if position is not None:
        queues.take_out(db, number, _whole(body, "position"))
        return None
    owner = queues.owner_of(rows[0])
    if owner is not None:
        # The command closes its queue.
        pid = locks.holder(owner)
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
        return None
    queues.end(db, number, QueueState.CANCELLED, "cancelled")
    agent_requests.answer_request(db, number, RequestState.COMPLETE)
    return number


def _whole(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise BadInput(f"{name}: a whole number is needed", field=name)
    return value


def close_all(db: sqlite3.Connection) -> None:
    """Close the open queues of an agent that has ended or is about to end, and those of commands
    that were killed."""
    for row in queues.open_queues(db):
        if queues.owner_of(row) is not None and not queues.is_carried_out(row):
            queues.end(db, row["number"], QueueState.STOPPED, queues.NO_COMMAND)
    for number in queues.open_of_agent(db):
        queues.end(db, number, QueueState.STOPPED, queues.NO_AGENT)
        answer = agent_requests.answer_of(db, number)
        if answer is not None and answer["state"] == RequestState.ACCEPTED:
            agent_requests.answer_request(db, number, RequestState.COMPLETE)
