"""The stores of `make bench`'s pages: the tests' sample bench, and one with 10 000 runs in it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from benchstick.store.database import open_writer
from tests.web import every_page, made_charts, made_runs, sample

RUNS = 10_000
DAY = 86_400
# The run of the small store that the day is compared with: 20 minutes.
SHORT = 1200
# Drives of older runs, in addition to those of the sample bench.
OTHER_DRIVES = 40
# Of a copied run only so many samples: pages ask for the samples of one run alone, by its number.
COPIED_SAMPLES = 60

_TEMPLATES = (
    "practice", "das", "cdm", "slow", "lost", "consistency", "sweep", "sustained",
)  # fmt: skip

# The columns of each table that are copied as they are, `run` in front.
_TABLES = {
    "steps": "step_index, name, kind, state, reason, t_start, t_end, artifacts, detail_json",
    "results": "step, name, value, unit, pass, target, state, reason, detail_json",
    "temperatures": "t, step_index, celsius, source, reason",
    "events": "t, utc, kind, text",
    "samples": "n, t, dt, step_index, read_bytes, write_bytes, discard_bytes, reads, writes,"
    " discards, flushes, inflight, queue",
}

_COPY_RUNS = """
INSERT INTO runs (number, uuid, suite, practice, drive_key, drive_code, drive_model, drive_json,
                  plan_json, conditions_json, result_json, state, exit_code, reason, request,
                  created_utc, ended_utc, seconds)
SELECT copies.number, printf('%08x-0000-4000-8000-%012x', copies.number, copies.number), suite,
       practice, coalesce(copies.drive, drive_key), coalesce(copies.drive, drive_code), drive_model,
       CASE WHEN copies.drive IS NULL THEN drive_json
            ELSE json_set(drive_json, '$.code', copies.drive, '$.identity.drive_key', copies.drive,
                          '$.identity.serial', copies.drive) END,
       plan_json, conditions_json, result_json, state, exit_code, reason, copies.number,
       strftime('%Y-%m-%dT%H:%M:%S.000Z', '2023-01-01', (copies.number * 2) || ' hours'),
       strftime('%Y-%m-%dT%H:%M:%S.000Z', '2023-01-01', (copies.number * 2 + 1) || ' hours'),
       seconds
FROM copies JOIN runs ON runs.number = copies.template ORDER BY copies.number
"""


def small(home: Path) -> dict[str, Any]:
    """The sample bench in `home`: the numbers of its runs by what they show, and the lock that
    keeps the running one alive."""
    numbers = sample.full_bench(home)
    every_page.add_to(home, numbers)
    with contextlib.closing(_fast_writer(home)) as db:
        return numbers | _add_series(home, db, SHORT)


def large(small_home: Path, home: Path, numbers: dict[str, Any]) -> dict[str, Any]:
    """A copy of that bench in `home` with `RUNS` runs more and one of 24 hours: the numbers there.

    The runs are copies of the sample's, with numbers of their own and on more drives, each with its
    steps, results, temperatures and events, the request that started it, and some in queues.
    """
    shutil.copytree(small_home, home)
    with contextlib.closing(_fast_writer(home)) as db:
        _add_runs(db, numbers)
        return numbers | _add_series(home, db, DAY)


def _add_series(home: Path, db: sqlite3.Connection, seconds: int) -> dict[str, int]:
    """Add a run of random writes with results per second: its number, and which of its charts
    is the timeline."""
    run = made_runs.add_run(
        home, db, "consistency", {"time": str(seconds), "fills": "0"}, made_charts.consistency
    )
    charts = db.execute(
        "SELECT json_array_length(result_json, '$.charts') FROM runs WHERE number = ?", (run,)
    ).fetchone()[0]
    return {"day": run, "session": int(charts) + 1}


def _fast_writer(home: Path) -> sqlite3.Connection:
    """A store that nobody else uses, and that is thrown away."""
    db = open_writer(home)
    db.execute("PRAGMA synchronous = OFF")
    return db


def _add_runs(db: sqlite3.Connection, numbers: dict[str, Any]) -> None:
    first = db.execute("SELECT max(number) FROM runs").fetchone()[0] + 1
    last_request = db.execute("SELECT max(id) FROM requests").fetchone()[0]
    db.execute(
        "CREATE TEMP TABLE copies (number INTEGER PRIMARY KEY, template INTEGER, drive TEXT)"
    )
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO copies VALUES (?, ?, ?)",
        ((first + at, numbers[_template(at)], _drive(at)) for at in range(RUNS)),
    )
    db.execute(_COPY_RUNS)
    for table, columns in _TABLES.items():
        only = f"AND n < {COPIED_SAMPLES}" if table == "samples" else ""
        db.execute(
            f"INSERT INTO {table} (run, {columns}) SELECT copies.number, {columns} FROM copies"
            f" JOIN {table} ON {table}.run = copies.template {only} ORDER BY copies.number"
        )
    # Each was asked for by a request, which has its answer; each tenth request was for a queue.
    db.execute(
        "INSERT INTO requests (id, kind, body_json, created_utc) SELECT ? + number, 'run',"
        " json_object('drive', drive_code, 'drive_key', drive_key, 'suite', suite,"
        " 'runs', CASE number % 10 WHEN 0 THEN json_array(json_object('suite', suite)) END),"
        " created_utc FROM runs"
        " JOIN copies USING (number)",
        (last_request,),
    )
    db.execute(
        "INSERT INTO answers (request, state, run, utc)"
        " SELECT ? + number, 'done', number, created_utc FROM runs JOIN copies USING (number)",
        (last_request,),
    )
    db.execute(
        "INSERT INTO queues (number, drive_key, state) SELECT ? + number, drive_key, 'done'"
        " FROM runs JOIN copies USING (number) WHERE number % 10 = 0",
        (last_request,),
    )
    db.execute(
        "INSERT INTO queue_entries (queue, position, state, run)"
        " SELECT ? + number, 0, 'started', number"
        " FROM runs JOIN copies USING (number) WHERE number % 10 = 0",
        (last_request,),
    )
    db.execute("COMMIT")


def _template(at: int) -> str:
    """What copy `at` is a copy of: practice runs are among the first alone, as on a bench."""
    name = _TEMPLATES[at % len(_TEMPLATES)]
    return "cdm" if name == "practice" and at > RUNS // 20 else name


def _drive(at: int) -> str | None:
    """The drive of copy `at`: each fourth on that of the run it is copied from."""
    # Not in step with the templates: each drive has runs of each suite.
    turn = at // len(_TEMPLATES)
    return None if at % len(_TEMPLATES) == 0 or turn % 4 == 0 else f"OLD{turn % OTHER_DRIVES:04d}"
