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
# Drives that were here once, beside those of the sample bench.
OTHER_DRIVES = 40
# Of a copied run only so many samples: pages ask for the samples of one run alone, by its number.
COPIED_SAMPLES = 60

_TEMPLATES = (
    "practice", "das", "cdm", "slow", "lost", "consistency", "sweep", "sustained",
)  # fmt: skip

# The columns of each table that are copied as they are, `run` in front.
_TABLES = {
    "steps": "idx, name, kind, state, why, t_start, t_end, artefacts, detail_json",
    "figures": "step, name, value, unit, pass, target, state, why, detail_json",
    "temperatures": "t, step, celsius, source, why",
    "events": "t, utc, kind, text",
    "samples": "n, t, dt, step, read_bytes, write_bytes, discard_bytes, reads, writes, discards,"
    " flushes, inflight, queue",
}

_COPY_RUNS = """
INSERT INTO runs (number, uuid, suite, practice, drive_key, drive_code, drive_model, drive_json,
                  plan_json, conditions_json, result_json, state, exit_code, why, request,
                  created_utc, ended_utc, seconds)
SELECT copies.number, printf('%08x-0000-4000-8000-%012x', copies.number, copies.number), suite,
       practice, coalesce(copies.drive, drive_key), coalesce(copies.drive, drive_code), drive_model,
       CASE WHEN copies.drive IS NULL THEN drive_json
            ELSE json_set(drive_json, '$.code', copies.drive, '$.identity.key', copies.drive,
                          '$.identity.serial', copies.drive) END,
       plan_json, conditions_json, result_json, state, exit_code, why, copies.number,
       strftime('%Y-%m-%dT%H:%M:%S.000Z', '2023-01-01', (copies.number * 2) || ' hours'),
       strftime('%Y-%m-%dT%H:%M:%S.000Z', '2023-01-01', (copies.number * 2 + 1) || ' hours'),
       seconds
FROM copies JOIN runs ON runs.number = copies.template ORDER BY copies.number
"""

_SAMPLES = """
WITH RECURSIVE seconds (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM seconds WHERE n + 1 < ?2)
INSERT INTO samples (run, n, t, dt, step, read_bytes, write_bytes, discard_bytes, reads, writes,
                     discards, flushes, inflight, queue)
SELECT ?1, n, n + 1.0, 1.0, ?3, 0, 4096 * writes, 0, 0, writes, 0, 0, 20 + n % 12, 31.5
FROM (SELECT n, CASE WHEN n % 6007 = 6006 THEN 0 ELSE 30000 + n * 7919 % 5003 END AS writes
      FROM seconds)
"""


def small(home: Path) -> dict[str, Any]:
    """The sample bench in `home`: the numbers of its runs by what they show, and the lock that
    keeps the running one alive."""
    numbers = sample.full_bench(home)
    every_page.add_to(home, numbers)
    numbers["day"] = numbers["consistency"]
    with contextlib.closing(_fast_writer(home)) as db:
        numbers["session"] = _add_series(db, numbers["day"], SHORT)
    return numbers


def large(small_home: Path, home: Path, numbers: dict[str, Any]) -> dict[str, Any]:
    """A copy of that bench in `home` with `RUNS` runs more and one of 24 hours: the numbers there.

    The runs are copies of the sample's, with numbers of their own and on more drives, each with its
    steps, figures, temperatures and events, the request that it was started by, and some in queues.
    """
    shutil.copytree(small_home, home)
    with contextlib.closing(_fast_writer(home)) as db:
        _add_runs(db, numbers)
        day = made_runs.kept(
            home, db, "consistency", {"time": str(DAY)}, made_charts.consistency
        )
        session = _add_series(db, day, DAY)
    return {**numbers, "day": day, "session": session}


def _fast_writer(home: Path) -> sqlite3.Connection:
    """A store that nobody else uses, and that is thrown away."""
    db = open_writer(home)
    db.execute("PRAGMA synchronous = OFF")
    return db


def _add_runs(db: sqlite3.Connection, numbers: dict[str, Any]) -> None:
    first = db.execute("SELECT max(number) FROM runs").fetchone()[0] + 1
    asked = db.execute("SELECT max(id) FROM requests").fetchone()[0]
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
        " json_object('drive', drive_code, 'identity_key', drive_key, 'suite', suite,"
        " 'runs', CASE number % 10 WHEN 0 THEN json_array(json_object('suite', suite)) END),"
        " created_utc FROM runs"
        " JOIN copies USING (number)",
        (asked,),
    )
    db.execute(
        "INSERT INTO answers (request, state, run, utc)"
        " SELECT ? + number, 'done', number, created_utc FROM runs JOIN copies USING (number)",
        (asked,),
    )
    db.execute(
        "INSERT INTO queues (number, drive_key, state) SELECT ? + number, drive_key, 'done'"
        " FROM runs JOIN copies USING (number) WHERE number % 10 = 0",
        (asked,),
    )
    db.execute(
        "INSERT INTO queue_entries (queue, place, state, run)"
        " SELECT ? + number, 0, 'started', number"
        " FROM runs JOIN copies USING (number) WHERE number % 10 = 0",
        (asked,),
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


def _add_series(db: sqlite3.Connection, run: int, seconds: int) -> int:
    """Give a run its begun steps, a sample a second in the last of them, and temperatures. Which
    of its charts is the one over the whole session."""
    steps = db.execute(
        "SELECT key, json_extract(value, '$.name') AS name, json_extract(value, '$.kind') AS kind"
        " FROM runs, json_each(plan_json, '$.steps') WHERE number = ?",
        (run,),
    ).fetchall()
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO steps (run, idx, name, kind, state, t_start, t_end)"
        " VALUES (?, ?, ?, ?, 'done', 0, ?)",
        [(run, step["key"], step["name"], step["kind"], seconds) for step in steps],
    )
    db.execute(_SAMPLES, (run, seconds, len(steps) - 1))
    db.executemany(
        "INSERT INTO temperatures (run, t, step, celsius, source) VALUES (?, ?, 0, ?, 'smartctl')",
        [(run, seconds * at / 50, 40 + at % 9) for at in range(50)],
    )
    db.execute("COMMIT")
    charts = db.execute(
        "SELECT json_array_length(result_json, '$.charts') FROM runs WHERE number = ?", (run,)
    ).fetchone()[0]
    return int(charts) + 1
