"""Runs that came from another bench, and bundles that wait for the agent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchstick.errors import BadInput, StoreFailed
from benchstick.plan import corrupt
from benchstick.plan.quantity import FIELDS
from benchstick.plan.states import RequestState
from benchstick.store.database import transaction, utc_now
from benchstick.store.legacy_names import fields_of_name, with_step_fields
from benchstick.store.run_results import INSERT_RESULT
from benchstick.store.stored_values import stored_object

# More than that wait only where no agent takes them.
WAITING = 4

Json = Mapping[str, Any]


def add_run(
    db: sqlite3.Connection,
    run: Json,
    samples: Iterable[Sequence[Any]],
    *,
    bench: str,
    digest: str,
    verdicts: Sequence[Json] = (),
) -> int:
    """Add a checked `benchstick/run/2` document with its samples (values in the order of
    `run_results.Sample`) and the `verdicts` that use it; its new number. BadInput when the run is
    here already, or a verdict is here with another text."""
    with transaction(db):
        here = find(db, run["uuid"])
        if here is not None:
            raise BadInput(f"run {run['uuid']} is here already, as run {here}")
        number = _add_row(db, run)
        db.executemany(
            "INSERT INTO steps (run, step_index, name, kind, state, reason, t_start, t_end,"
            " artifacts,"
            " detail_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (number, step["step_index"], step["name"], step["kind"], step["state"],
                step["reason"],
                 step["t_start"], step["t_end"], step["artifacts"], json.dumps(step["detail"]))
                for step in run["steps"]
            ],
        )  # fmt: skip
        db.executemany(
            INSERT_RESULT,
            [
                (number, item["step"], item["name"], item["value"], item["unit"], item["pass"],
                 item["target"], item["state"], item["reason"], json.dumps(item["detail"]),
                 *_result_fields(item))
                for item in run["results"]
            ],
        )  # fmt: skip
        db.executemany(
            "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(number, *row) for row in samples],
        )
        db.executemany(
            "INSERT INTO temperatures (run, t, step_index, celsius, source, reason)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    number,
                    item["t"],
                    item["step_index"],
                    item["celsius"],
                    item["source"],
                    item["reason"],
                )
                for item in run["temperatures"]
            ],
        )
        db.executemany(
            "INSERT INTO events (run, t, utc, kind, text) VALUES (?, ?, ?, ?, ?)",
            [
                (number, item["t"], item["utc"], item["kind"], item["text"])
                for item in run["events"]
            ],
        )
        db.execute(
            "INSERT INTO imports (run, bench, number, digest, imported_utc) VALUES (?, ?, ?, ?, ?)",
            (number, bench, run["number"], digest, utc_now()),
        )
        _add_verdicts(db, number, bench, verdicts)
    return number


def add_verdicts(db: sqlite3.Connection, run: int, verdicts: Sequence[Json]) -> None:
    """Add checked verdicts that use an imported run and are not here yet: there were fewer when it
    was exported first. BadInput when one is here with another text. Only its own verdicts use a
    run of this bench: then nothing is done."""
    source = origin(db, run)
    if source is not None:
        with transaction(db):
            _add_verdicts(db, run, source["bench"], verdicts)


def _add_verdicts(db: sqlite3.Connection, run: int, bench: str, verdicts: Sequence[Json]) -> None:
    for item in verdicts:
        number, text = item["number"], json.dumps(item)
        row = db.execute(
            "SELECT verdict_json FROM imported_verdicts WHERE bench = ? AND number = ?",
            (bench, number),
        ).fetchone()
        if row is None:
            db.execute("INSERT INTO imported_verdicts VALUES (?, ?, ?)", (bench, number, text))
        elif json.loads(row["verdict_json"]) != item:
            raise BadInput(
                f"bundle: verdict {number} of that bench is here already, with another text; "
                "nothing was changed",
                field="bundle",
            )
        db.execute(
            "INSERT OR IGNORE INTO imported_verdict_runs (bench, number, run) VALUES (?, ?, ?)",
            (bench, number, run),
        )


def verdicts_of(db: sqlite3.Connection, run: int) -> list[dict[str, Any]]:
    """The verdicts that came with a run, as their bench had them, with `imported`: the `bench` and
    the verdict's `number` there. All numbers in them are that bench's."""
    rows = db.execute(
        "SELECT bench, number, verdict_json FROM imported_verdicts NATURAL JOIN"
        " imported_verdict_runs WHERE run = ? ORDER BY bench, number",
        (run,),
    )
    return [
        {**stored_object(row["verdict_json"], f"run {run}: an imported verdict"),
         "imported": {"bench": row["bench"], "number": row["number"]}}
        for row in rows
    ]  # fmt: skip


def _add_row(db: sqlite3.Connection, run: Json) -> int:
    drive = run["drive"]
    state, code, reason, findings = (
        run["state"],
        run["exit_code"],
        run["reason"],
        run.get("corrupt"),
    )
    if not findings:
        # Of an older version: it kept an event, and ended such a run as any other.
        findings = corrupt.from_events(run["events"])
        state, code, reason = corrupt.end_of(state, code or 0, reason, findings)
        code = code if findings else run["exit_code"]
    cursor = db.execute(
        "INSERT INTO runs (uuid, suite, practice, drive_key, drive_code, drive_model, drive_json,"
        " plan_json, conditions_json, result_json, state, exit_code, reason, created_utc,"
        " ended_utc,"
        " seconds, corrupt_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run["uuid"], run["suite"], int(run["practice"]), drive["identity"]["drive_key"],
            drive["code"], drive["identity"]["model"], json.dumps(drive),
            json.dumps(with_step_fields(run["plan"])),
            json.dumps(run["conditions"]),
            None if run["result"] is None else json.dumps(run["result"]),
            state, code, reason, run["created_utc"], run["ended_utc"], run["seconds"],
            json.dumps(findings) if findings else None,
        ),
    )  # fmt: skip
    return int(cursor.lastrowid or 0)


def find(db: sqlite3.Connection, uuid: str) -> int | None:
    """The number of the run with this UUID, None when it is not here."""
    row = db.execute("SELECT number FROM runs WHERE uuid = ?", (uuid,)).fetchone()
    return None if row is None else int(row["number"])


def origin(db: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """Where an imported run comes from: `bench`, its `number` there, `imported_utc`, `digest`;
    None of a run of this bench."""
    row = db.execute(
        "SELECT bench, number, imported_utc, digest FROM imports WHERE run = ?", (number,)
    ).fetchone()
    return None if row is None else dict(row)


def imported(db: sqlite3.Connection, numbers: Sequence[int]) -> frozenset[int]:
    """Those of the runs that were imported."""
    marks = ", ".join("?" * len(numbers))
    rows = db.execute(f"SELECT run FROM imports WHERE run IN ({marks})", tuple(numbers))
    return frozenset(int(row["run"]) for row in rows)


# ---- through the page


def add_upload(db: sqlite3.Connection, bundle: bytes) -> int:
    """Keep a bundle for the agent; its id. Allowed to the web process. BadInput when too many
    wait already."""
    try:
        if len(waiting(db)) >= WAITING:
            raise BadInput(
                f"{WAITING} bundles wait for the agent already; is it running?", field="bundle"
            )
        cursor = db.execute(
            "INSERT INTO uploads (bundle, created_utc) VALUES (?, ?)", (bundle, utc_now())
        )
    except sqlite3.Error as error:
        raise StoreFailed(f"the store failed: {error}") from error
    return int(cursor.lastrowid or 0)


def waiting(db: sqlite3.Connection) -> list[int]:
    """The bundles that have no answer yet, oldest first."""
    rows = db.execute(
        "SELECT id FROM uploads WHERE id NOT IN (SELECT upload FROM upload_answers) ORDER BY id"
    )
    return [int(row["id"]) for row in rows]


def uploaded(db: sqlite3.Connection, upload: int) -> bytes:
    """The bundle with this id."""
    row = db.execute("SELECT bundle FROM uploads WHERE id = ?", (upload,)).fetchone()
    return bytes(row["bundle"])


def answer_upload(db: sqlite3.Connection, upload: int, run: int | None, text: str) -> None:
    """Record the outcome of a bundle's import, and delete the bundle."""
    with transaction(db):
        db.execute(
            "INSERT INTO upload_answers (upload, run, text, utc) VALUES (?, ?, ?, ?)",
            (upload, run, text, utc_now()),
        )
        db.execute("DELETE FROM uploads WHERE id = ?", (upload,))


def upload_json(db: sqlite3.Connection, upload: int) -> dict[str, Any] | None:
    """The `benchstick/import/1` document: `state` is waiting, done (then `run`) or refused, `text`
    what there is to say; None when there is no such bundle."""
    row = db.execute(
        "SELECT run, text, utc FROM upload_answers WHERE upload = ?", (upload,)
    ).fetchone()
    document: dict[str, Any] = {"schema": "benchstick/import/1", "id": upload}
    if row is not None:
        state = RequestState.REFUSED if row["run"] is None else RequestState.COMPLETE
        return {**document, "state": state, "run": row["run"], "text": row["text"]}
    if db.execute("SELECT 1 FROM uploads WHERE id = ?", (upload,)).fetchone() is None:
        return None
    return {**document, "state": RequestState.WAITING, "run": None, "text": ""}


def _result_fields(item: Mapping[str, Any]) -> list[Any]:
    """Test, direction and quantity of a result; in old bundles they are only in its name."""
    fields = item if "metric" in item else fields_of_name(item["name"], item["unit"])
    return [fields[name] for name in ("test", "direction", *FIELDS)]
