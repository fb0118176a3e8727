"""The agent's queues: which run of a queue begins when, and when none does any more.

Each run is carried out by a worker of its own, as one that was asked for alone: here it is only
started once the one before came to its end. An agent that begins closes what one before it left
open: a person confirmed those runs for a drive that may have changed hands since.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from benchstick.errors import BadInput, Refused
from benchstick.plan.run_queue import entries_of, goes_on
from benchstick.store import locks, queues, records

# Starts the worker of an entry: request, place, whether it is the first.
Start = Callable[[int, int, bool], None]


def is_queue(body: Mapping[str, Any]) -> bool:
    """Whether a request to run something asks for a queue."""
    return "runs" in body


def is_of_queue(db: sqlite3.Connection, request: int) -> bool:
    """Whether a queue was opened for this request."""
    return queues.exists(db, request)


def check_free(db: sqlite3.Connection, body: Mapping[str, Any]) -> None:
    """Refused when a queue has the drive: it would be taken between two of its runs."""
    number = queues.open_of_drive(db, str(body.get("identity_key")))
    if number is not None:
        raise Refused(
            f"{body.get('drive')}: queue {number} has this drive; wait for it or cancel it"
        )


def take(db: sqlite3.Connection, number: int, body: Mapping[str, Any], start: Start) -> None:
    """Open the queue that request `number` asks for and start its first run. BadInput, Refused."""
    # On use: it brings every suite, and the agent waits most of its life.
    from benchstick.plan.request import RunRequest

    entries = entries_of(body)
    for entry in entries:
        RunRequest.from_json(number, entry)
    check_free(db, body)
    queues.begin(db, number, str(body["identity_key"]), len(entries))
    _start_next(db, number, start, first=True)


def _start_next(db: sqlite3.Connection, number: int, start: Start, *, first: bool = False) -> bool:
    waiting = queues.waits(db, number)
    if not waiting:
        return False
    place = waiting[0]
    queues.entry_starts(db, number, place)
    try:
        start(number, place, first)
    except OSError as error:
        queues.end(db, number, "stopped", f"the next run could not be started: {error.strerror}")
        raise
    return True


def continue_queue(db: sqlite3.Connection, number: int, code: int, start: Start) -> None:
    """A worker of the queue ended with exit code `code`: start the next run, or close the queue."""
    if number not in queues.open_of_agent(db):
        return
    answer = records.answer_of(db, number)
    if answer is not None and answer["state"] == "refused":
        queues.end(db, number, "stopped", "nothing of it was begun")
        return
    if not goes_on(code):
        queues.end(db, number, "stopped", _why(db, number, code))
    elif _start_next(db, number, start):
        return
    else:
        queues.end(db, number, "done")
    records.answer_request(db, number, "done")


def _why(db: sqlite3.Connection, number: int, code: int) -> str:
    """Why the queue stops after the run that was started last."""
    last = queues.started(db, number)
    if last is None:
        return f"a run's process ended with exit code {code}"
    if last["run"] is None:
        reason = last["why"] or f"its process ended with exit code {code}"
        return f"number {last['place'] + 1} of the queue was not begun: {reason}"
    row = records.find_run(db, last["run"])
    reason = row["why"] or f"its process ended with exit code {code}"
    return f"run {last['run']} {records.shown_state(db, row)}: {reason}"


def cancel(db: sqlite3.Connection, body: Mapping[str, Any]) -> int | None:
    """Take the entry at `place` out of an open queue, or cancel the `queue` as a whole: then the
    queue's number, whose worker is to be stopped. BadInput."""
    number, place = _whole(body, "queue"), body.get("place")
    rows = [row for row in queues.open_queues(db) if row["number"] == number]
    if not rows:
        raise BadInput(f"queue {number}: there is no such queue, or it has ended", field="queue")
    if place is not None:
        queues.take_out(db, number, _whole(body, "place"))
        return None
    owner = queues.owner_of(rows[0])
    if owner is not None:
        # The command ends its queue itself.
        pid = locks.holder(owner)
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
        return None
    queues.end(db, number, "cancelled", "cancelled")
    records.answer_request(db, number, "done")
    return number


def _whole(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise BadInput(f"{name}: a whole number is needed", field=name)
    return value


def close_all(db: sqlite3.Connection) -> None:
    """Close what is open, because its agent has ended or is about to; and what a command left that
    was killed."""
    for row in queues.open_queues(db):
        if queues.owner_of(row) is not None and not queues.is_carried_out(row):
            queues.end(db, row["number"], "stopped", queues.NO_COMMAND)
    for number in queues.open_of_agent(db):
        queues.end(db, number, "stopped", queues.NO_AGENT)
        answer = records.answer_of(db, number)
        if answer is not None and answer["state"] == "taken":
            records.answer_request(db, number, "done")
