"""Reads a run from the store: rows, results, samples, its JSON document."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.quantity import quantity_of
from benchstick.plan.result import Result
from benchstick.plan.states import RunState, Validity
from benchstick.store import imported_runs, locks
from benchstick.store.run_results import Sample

RUN_SCHEMA = "benchstick/run/2"


# The first version had other keys, and results without fields; bundles of it are still read.
OLD_RUN_SCHEMA = "benchstick/run/1"


def find_run(db: sqlite3.Connection, number: int) -> sqlite3.Row:
    """The row of run `number`. BadInput when there is none."""
    row: sqlite3.Row | None = None
    # SQLite's numbers have 64 bits; a larger one is an error to it and no run to us.
    if 0 < number < 1 << 63:
        row = db.execute("SELECT * FROM runs WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise BadInput(f"run {number}: there is no such run (see: benchstick runs)")
    return row


def state_row(db: sqlite3.Connection, number: int) -> sqlite3.Row | None:
    """`number`, `uuid` and `state` of a run, for `shown_state`; None when there is no such run."""
    row: sqlite3.Row | None = None
    if 0 < number < 1 << 63:
        row = db.execute(
            "SELECT number, uuid, state FROM runs WHERE number = ?", (number,)
        ).fetchone()
    return row


def findings_of(row: sqlite3.Row) -> list[dict[str, Any]]:
    """The findings of a run whose data is corrupt (`plan.corrupt`), empty of any other. `row` is
    that of `find_run`."""
    return list(json.loads(row["corrupt_json"])) if row["corrupt_json"] else []


def any_running(db: sqlite3.Connection) -> bool:
    """Whether a run is recorded as running: its runner may have been killed."""
    return db.execute("SELECT 1 FROM running LIMIT 1").fetchone() is not None


def shown_state(db: sqlite3.Connection, row: sqlite3.Row) -> RunState:
    """The state to show: a run called running whose lock is free was interrupted."""
    state = RunState(row["state"])
    if state != RunState.RUNNING or locks.is_alive(row["uuid"]):
        return state
    # A runner writes the state before it releases the lock, so read it again after the lock.
    again = find_run(db, row["number"])
    if again["state"] != RunState.RUNNING:
        return RunState(again["state"])
    return RunState.CORRUPT if findings_of(again) else RunState.INTERRUPTED


def list_runs(
    db: sqlite3.Connection, *, practice: bool | None = None, limit: int = 200
) -> list[sqlite3.Row]:
    """The newest runs first. `practice` True or False takes only those."""
    where, values = "", []
    if practice is not None:
        where, values = "WHERE practice = ?", [int(practice)]
    return db.execute(
        "SELECT number, uuid, suite, practice, drive_key, drive_code, drive_model, state,"
        " exit_code, reason, created_utc, ended_utc, seconds, plan_json FROM runs"
        f" {where} ORDER BY number DESC LIMIT ?",
        (*values, limit),
    ).fetchall()


def _result_fields(row: sqlite3.Row) -> dict[str, Any]:
    """Test, direction and quantity."""
    fields = dict(row)
    return {
        "test": fields["test"],
        "direction": fields["direction"],
        "quantity": quantity_of(fields),
    }


def results_of(db: sqlite3.Connection, number: int) -> list[Result]:
    """All results of a run in the order measured."""
    return [
        Result(
            step=row["step"],
            **_result_fields(row),
            value=row["value"],
            unit=row["unit"],
            pass_no=row["pass"],
            target=row["target"],
            state=Validity(row["state"]),
            reason=row["reason"],
            detail=json.loads(row["detail_json"]),
        )
        for row in db.execute("SELECT * FROM results WHERE run = ? ORDER BY id", (number,))
    ]


def samples_of(db: sqlite3.Connection, number: int, after: int = -1) -> list[Sample]:
    """Samples with n > `after`, in order."""
    rows = db.execute(
        "SELECT n, t, dt, step_index, read_bytes, write_bytes, discard_bytes, reads, writes,"
        " discards,"
        " flushes, inflight, queue FROM samples WHERE run = ? AND n > ? ORDER BY n",
        (number, after),
    )
    return [Sample(*row) for row in rows]


def temperatures_of(db: sqlite3.Connection, number: int) -> list[dict[str, Any]]:
    """The temperature readings of a run in order; `celsius` is None where there is none."""
    rows = db.execute(
        "SELECT t, step_index, celsius, source, reason FROM temperatures WHERE run = ? ORDER BY t",
        (number,),
    )
    return [dict(row) for row in rows]


def run_json(
    db: sqlite3.Connection, number: int, results: Sequence[Result] | None = None
) -> dict[str, Any]:
    """The `benchstick/run/2` document of one run, samples apart. `results`: its results, where the
    caller has read them."""
    row = find_run(db, number)
    steps = db.execute(
        "SELECT * FROM steps WHERE run = ? ORDER BY step_index", (number,)
    ).fetchall()
    events = db.execute(
        "SELECT t, utc, kind, text FROM events WHERE run = ? ORDER BY id", (number,)
    )
    return {
        "schema": RUN_SCHEMA,
        "number": row["number"],
        "uuid": row["uuid"],
        "suite": row["suite"],
        "practice": bool(row["practice"]),
        "state": shown_state(db, row),
        "exit_code": row["exit_code"],
        "reason": row["reason"],
        "corrupt": findings_of(row),
        "created_utc": row["created_utc"],
        "ended_utc": row["ended_utc"],
        "seconds": row["seconds"],
        "imported": imported_runs.origin(db, number),
        "drive": json.loads(row["drive_json"]),
        "plan": json.loads(row["plan_json"]),
        "conditions": json.loads(row["conditions_json"]),
        "result": json.loads(row["result_json"]) if row["result_json"] else None,
        "steps": [
            {
                "step_index": step["step_index"],
                "name": step["name"],
                "kind": step["kind"],
                "state": step["state"],
                "reason": step["reason"],
                "t_start": step["t_start"],
                "t_end": step["t_end"],
                "artifacts": step["artifacts"],
                "detail": json.loads(step["detail_json"]),
            }
            for step in steps
        ],
        "results": [
            result.to_json() for result in (results_of(db, number) if results is None else results)
        ],
        "temperatures": temperatures_of(db, number),
        "events": [dict(item) for item in events],
    }
