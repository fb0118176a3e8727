"""What the pages ask of the store beyond a run's own record. Every statement is in the open."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence, Set
from heapq import merge
from typing import Any

from benchstick.analysis.run_timeline import PAUSE, POINTS, WAYS, Point, Session, every_of
from benchstick.analysis.series import extremes
from benchstick.errors import BadInput
from benchstick.plan.drive_key import DriveKey, keys_of_serial
from benchstick.store import locks, run_results
from benchstick.store.database import transaction, utc_now


def bench_id(db: sqlite3.Connection) -> str:
    """The bench's own UUID, empty before the store has one."""
    row = db.execute("SELECT value FROM meta WHERE key = 'bench'").fetchone()
    return "" if row is None else str(row["value"])


def agent_runs() -> bool:
    """Whether an agent runs on this bench; True where that is unknown."""
    return locks.is_alive("agent")


# On every page. Answered by an index alone as long as nothing runs: see migration 008.
RUNNING = (
    "SELECT number, uuid, suite, practice, drive_key, drive_code, drive_model, state"
    " FROM runs WHERE state = 'running' ORDER BY number"
)


def running(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """Runs in progress, oldest first."""
    rows = db.execute(RUNNING).fetchall()
    return [row for row in rows if locks.is_alive(row["uuid"])]


def last_runs(db: sqlite3.Connection, count: int = 20) -> list[sqlite3.Row]:
    """The last runs, newest first, each with its result's `verdict` where it has one."""
    return db.execute(
        "SELECT number, uuid, suite, practice, drive_key, drive_model, state, exit_code, reason,"
        " ended_utc, json_array_length(plan_json, '$.steps') AS steps,"
        " CASE json_type(result_json, '$.verdict') WHEN 'text'"
        " THEN json_extract(result_json, '$.verdict') END AS verdict FROM runs"
        # By number: other columns lie behind long ones, which may be on a slow stick.
        " WHERE number > (SELECT max(number) FROM runs) - ? ORDER BY number DESC",
        (count,),
    ).fetchall()


# SQLite extracts it: the document has charts too, a hundred times as long.
_HEADLINE = (
    "CASE WHEN json_valid(result_json) AND json_type(result_json, '$.headline') = 'array'"
    " THEN json_extract(result_json, '$.headline') END AS headline_json"
)


def runs_before(
    db: sqlite3.Connection,
    *,
    practice: bool | None = None,
    drive_keys: Collection[DriveKey] | None = None,
    suite: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[sqlite3.Row]:
    """Runs with a number below `before`, newest first, of one drive (by all the keys it has), of
    one suite, or all; for `headline`."""
    if drive_keys is not None:
        # Each by its index: of many keys at once SQLite would sort all their runs.
        batches = (_runs(db, practice, key, suite, before, limit) for key in drive_keys)
        return list(merge(*batches, key=lambda row: -row["number"]))[:limit]
    return _runs(db, practice, None, suite, before, limit)


def _runs(
    db: sqlite3.Connection,
    practice: bool | None,
    drive_key: DriveKey | None,
    suite: str | None,
    before: int | None,
    limit: int,
) -> list[sqlite3.Row]:
    conditions: list[str] = []
    values: list[Any] = []
    if practice is not None:
        conditions.append("practice = ?")
        values.append(int(practice))
    if drive_key is not None:
        conditions.append("drive_key = ?")
        values.append(drive_key)
    if suite is not None:
        conditions.append("suite = ?")
        values.append(suite)
    if before is not None:
        conditions.append("number < ?")
        values.append(before)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return db.execute(
        "SELECT number, uuid, suite, practice, drive_key, drive_code, drive_model, state,"
        f" exit_code, reason, created_utc, ended_utc, seconds, {_HEADLINE} FROM runs"
        f" {where} ORDER BY number DESC LIMIT ?",
        (*values, limit),
    ).fetchall()


def same_drive(db: sqlite3.Connection, key: DriveKey) -> list[DriveKey]:
    """The keys of the drive with this one: those that have the same label, itself first."""
    rows = db.execute(
        "SELECT other.drive_key FROM labels JOIN labels AS other USING (label)"
        " WHERE labels.drive_key = ?1 AND other.drive_key <> ?1 ORDER BY other.drive_key",
        (key,),
    )
    return [key, *(DriveKey(row["drive_key"]) for row in rows)]


def keys_of(db: sqlite3.Connection, name: str) -> list[DriveKey]:
    """The keys of the drive that has this label, key or code, also when it is not plugged in;
    empty where none is known."""
    rows = db.execute(
        "SELECT drive_key FROM labels WHERE label = ?1 OR drive_key = ?1"
        # A key starts with the code where no other drive has the same.
        " UNION SELECT drive_key FROM runs WHERE drive_key = ?1"
        " UNION SELECT drive_key FROM runs WHERE drive_key >= ?2 AND drive_key < ?3"
        " ORDER BY 1",
        (name, *keys_of_serial(name)),
    )
    keys = [other for row in rows.fetchall() for other in same_drive(db, DriveKey(row[0]))]
    return list(dict.fromkeys(keys))


def count_of(db: sqlite3.Connection, drive_keys: Iterable[DriveKey]) -> int:
    """How many runs the drive with these keys has."""
    counted = "SELECT count(*) FROM runs WHERE drive_key = ?"
    return sum(int(db.execute(counted, (key,)).fetchone()[0]) for key in drive_keys)


def history(
    db: sqlite3.Connection, drive_keys: Iterable[DriveKey]
) -> dict[DriveKey, dict[str, Any]]:
    """For each of these drive keys whose drive has runs their number, and the last of them as a
    row for `headline`."""
    histories: dict[DriveKey, dict[str, Any]] = {}
    for key in drive_keys:
        # Not one question for all: drives that were here once are more than those that are.
        keys = same_drive(db, key)
        count = count_of(db, keys)
        if count:
            histories[key] = {"runs": count, "last": runs_before(db, drive_keys=keys, limit=1)[0]}
    return histories


def last_temperature(db: sqlite3.Connection, drive_keys: Iterable[DriveKey]) -> sqlite3.Row | None:
    """The last reading of a drive's temperature in any of its runs."""
    rows = [row for key in drive_keys if (row := _last_temperature(db, key)) is not None]
    return max(rows, key=lambda row: int(row["number"]), default=None)


def _last_temperature(db: sqlite3.Connection, drive_key: DriveKey) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(
        "SELECT temperatures.celsius, temperatures.source, runs.number, runs.created_utc,"
        " temperatures.t FROM temperatures JOIN runs ON runs.number = temperatures.run"
        " WHERE runs.drive_key = ? AND temperatures.celsius IS NOT NULL"
        " ORDER BY runs.number DESC, temperatures.t DESC LIMIT 1",
        (drive_key,),
    ).fetchone()
    return row


def steps_of(db: sqlite3.Connection, number: int, first: int = 0) -> list[sqlite3.Row]:
    """The started steps of a run from index `first` on, in order."""
    return db.execute(
        "SELECT step_index, name, kind, state, reason, t_start, t_end, artifacts FROM steps"
        " WHERE run = ? AND step_index >= ? ORDER BY step_index",
        (number, first),
    ).fetchall()


def events_of(db: sqlite3.Connection, number: int) -> list[dict[str, Any]]:
    """What happened during a run, in order."""
    rows = db.execute("SELECT t, utc, kind, text FROM events WHERE run = ? ORDER BY id", (number,))
    return [dict(row) for row in rows]


def samples_page(
    db: sqlite3.Connection, number: int, after: int, limit: int
) -> list[run_results.Sample]:
    """At most `limit` samples with n > `after`, in order."""
    rows = db.execute(
        "SELECT n, t, dt, step_index, read_bytes, write_bytes, discard_bytes, reads, writes,"
        " discards,"
        " flushes, inflight, queue FROM samples WHERE run = ? AND n > ? ORDER BY n LIMIT ?",
        (number, after, limit),
    )
    return [run_results.Sample(*row) for row in rows]


def samples_count(db: sqlite3.Connection, number: int) -> int:
    """How many samples of a run the store has."""
    last = db.execute("SELECT max(n) FROM samples WHERE run = ?", (number,)).fetchone()[0]
    return 0 if last is None else int(last) + 1


def has_traffic(db: sqlite3.Connection, number: int) -> bool:
    """Whether the record of a run has two seconds or more in which the host read or wrote."""
    rows = db.execute(
        "SELECT 1 FROM samples WHERE run = ? AND (read_bytes > 0 OR write_bytes > 0) LIMIT 2",
        (number,),
    )
    return len(rows.fetchall()) > 1


def samples_reduced(
    db: sqlite3.Connection, number: int, after: int, every: int, most: int
) -> tuple[list[run_results.Sample], int]:
    """Of the samples with n > `after`, of each `every` those with the minimum and maximum of a
    counter, in order; and the next cursor. At most `most` are read, or 2 x `every` where that
    is more."""
    most = max(most, 2 * every)
    rows = db.execute(
        "SELECT n, t, dt, step_index, read_bytes, write_bytes, discard_bytes, reads, writes,"
        " discards,"
        " flushes, inflight, queue FROM samples WHERE run = ? AND n > ? ORDER BY n LIMIT ?",
        (number, after, most),
    ).fetchall()
    if not rows:
        return [], after
    if len(rows) == most:
        # The last part may be incomplete: it is returned next time, as a whole.
        whole = [row for row in rows if row["n"] // every < rows[-1]["n"] // every]
        rows = whole or rows
    n, _, dt, _, read_bytes, write_bytes, _, reads, writes, _, _, inflight, _ = zip(
        *rows, strict=True
    )
    rates = [
        [count / seconds if seconds else 0.0 for count, seconds in zip(counter, dt, strict=True)]
        for counter in (read_bytes, write_bytes, reads, writes)
    ]
    indexes = extremes(n, [*rates, inflight], every)
    return [run_results.Sample(*rows[at]) for at in indexes], n[-1]


# A row for each ?2 samples of run ?1; ?3: the timed steps, a list as JSON. Each part has a query of
# its own: GROUP BY would sort all samples, which takes half as long again. LIMIT -1 removes no row:
# with it each speed is computed once, and not again in each aggregate.
_SESSION = """
WITH RECURSIVE
  timed (step_index) AS MATERIALIZED (SELECT value FROM json_each(?3)),
  parts (first) AS (
    SELECT 0 UNION ALL
    SELECT first + ?2 FROM parts
    WHERE first + ?2 <= (SELECT max(n) FROM samples WHERE run = ?1))
SELECT (
  SELECT json_array(min(t), max(t), min(t - dt), avg(read), min(read), max(read),
                    avg(written), min(written), max(written))
  FROM (SELECT t, dt,
               CASE WHEN dt > 0 AND (read_bytes OR (NOT write_bytes AND step_index IN timed))
                    THEN read_bytes / dt END AS read,
               CASE WHEN dt > 0 AND (write_bytes OR (NOT read_bytes AND step_index IN timed))
                    THEN write_bytes / dt END AS written
        FROM samples WHERE run = ?1 AND n >= first AND n < first + ?2 LIMIT -1))
FROM parts
"""


def session(db: sqlite3.Connection, number: int, timed: Set[int], most: int = POINTS) -> Session:
    """The speed by second of a run. `analysis.run_timeline.session` computes the same from the
    samples, which may be a hundred thousand: SQLite reduces them four times as fast."""
    every = every_of(samples_count(db, number), most)
    rows = db.execute(_SESSION, (number, every, json.dumps(sorted(timed))))
    points: dict[str, list[Point]] = {way: [] for way in WAYS}
    before = None
    for (part,) in rows:
        first, last, begin, *speeds = json.loads(part)
        if first is None:
            continue
        for way, at in zip(WAYS, (0, 3), strict=True):
            if before is not None and begin > before + PAUSE:
                points[way].append(Point(before + 0.01, None, None, None))
            points[way].append(Point(first, *speeds[at : at + 3]))
        before = last
    return points


def request_json(db: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """One request with its answer, None when there is no such request.

    `state` is waiting until the agent took it; then taken, done or refused, with `run` or `error`.
    """
    row = db.execute(
        "SELECT requests.id, requests.kind, requests.body_json, requests.created_utc,"
        " answers.state, answers.run, answers.answer_json, answers.utc"
        " FROM requests LEFT JOIN answers ON answers.request = requests.id WHERE requests.id = ?",
        (number,),
    ).fetchone()
    if row is None:
        return None
    answer = json.loads(row["answer_json"]) if row["answer_json"] else {}
    return {
        "schema": "benchstick/request/1",
        "id": row["id"],
        "kind": row["kind"],
        "created_utc": row["created_utc"],
        "state": row["state"] or "waiting",
        "run": row["run"],
        "answered_utc": row["utc"],
        "error": answer.get("error"),
        "body": json.loads(row["body_json"]),
    }


def waiting_requests(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """Requests to run something that the agent has not answered, oldest first."""
    return db.execute(
        "SELECT id, body_json, created_utc FROM requests"
        " WHERE kind = 'run' AND id NOT IN (SELECT request FROM answers) ORDER BY id LIMIT 20"
    ).fetchall()


def set_label(
    db: sqlite3.Connection, drive_key: str, label: str, others: Collection[str] = ()
) -> None:
    """Give a drive the operator's label; an empty one removes it.

    The label combines all identities that have it. BadInput when one of `others`, the other drives
    that are plugged in, has it: those are two drives. Allowed to the web process.
    """
    with transaction(db):
        rows = db.execute("SELECT drive_key FROM labels WHERE label = ?", (label,)).fetchall()
        if label and {row["drive_key"] for row in rows} & (set(others) - {drive_key}):
            raise BadInput(
                f"label: {label!r} is the label of another drive that is plugged in", field="label"
            )
        db.execute("DELETE FROM labels WHERE drive_key = ?", (drive_key,))
        if label:
            db.execute(
                "INSERT INTO labels (drive_key, label, created_utc) VALUES (?, ?, ?)",
                (drive_key, label, utc_now()),
            )


def headline(row: sqlite3.Row) -> Sequence[dict[str, Any]]:
    """The headline results of a run's row, empty before the run has any."""
    results = json.loads(row["headline_json"] or "[]")
    return results if isinstance(results, list) else []
