"""Finds damaged rows of a store, and saves what can still be read of a damaged one."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.errors import BadInput, StoreFailed

# What `PRAGMA integrity_check` lists at most.
MOST_PROBLEMS = 100
# Columns of JSON that is a list; all others whose name ends in _json are objects.
_LISTS = frozenset({("runs", "corrupt_json"), ("drive_scans", "drives_json")})
_UTF8 = "its text is not UTF-8"
# Row numbers. The store gives its own from 0 on.
_FIRST, _LAST = 0, (1 << 63) - 1


@dataclass(frozen=True)
class Damage:
    """One thing that is damaged: the `table`, the `row` as its key, its `column`, and the problem;
    empty where SQLite does not report them."""

    table: str
    row: str
    column: str
    problem: str

    def __str__(self) -> str:
        where = " ".join(part for part in (self.table, self.row, self.column) if part)
        return f"{where}: {self.problem}" if where else self.problem


@dataclass(frozen=True)
class Saved:
    """The rows of a table that were saved, and lost: None where nobody can count them."""

    table: str
    rows: int
    lost_rows: int | None


def find_damage(path: Path) -> list[Damage]:
    """What is damaged in the store at `path`, nothing where all is well. It is only read.
    BadInput when there is none, StoreFailed when it is no SQLite file at all."""
    with contextlib.closing(_open(path)) as db:
        try:
            lines = db.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})").fetchall()
        except sqlite3.DatabaseError as error:
            lines = [(str(error),)]
        damages = [
            Damage("", "", "", str(line).splitlines()[-1].strip())
            for (line,) in lines
            if line != "ok"
        ]
        damages += [
            Damage(table, f"row {row}", "", f"refers to a row of {parent} that does not exist")
            for table, row, parent, _ in _rows(db, "PRAGMA foreign_key_check")
        ]
        for table in _tables(db):
            with contextlib.suppress(sqlite3.DatabaseError):  # integrity_check has listed it
                damages += _damage_in(db, table)
        return damages


def _damage_in(db: sqlite3.Connection, table: str) -> Iterator[Damage]:
    columns = [(name, kind) for _, name, kind, *_ in _rows(db, f"PRAGMA table_info({table})")]
    keys = [info[1] for info in _rows(db, f"PRAGMA table_info({table})") if info[5]]
    texts = [name for name, kind in columns if kind == "TEXT"]
    if not texts:
        return
    casts = ", ".join(f"CAST({name} AS BLOB)" for name in (*keys, *texts))
    for row in db.execute(f"SELECT {casts} FROM {table}"):
        values = [None if value is None else bytes(value) for value in row]
        key = ", ".join(
            f"{name} {(value or b'').decode('utf-8', 'backslashreplace')}"
            for name, value in zip(keys, values, strict=False)
        )
        for name, value in zip(texts, values[len(keys) :], strict=True):
            problem = None if value is None else _problem(table, name, value)
            if problem:
                yield Damage(table, key, name, problem)


def _problem(table: str, column: str, value: bytes) -> str | None:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return _UTF8
    if not column.endswith("_json"):
        return None
    kind = list if (table, column) in _LISTS else dict
    try:
        document = json.loads(text)
    except ValueError:
        return "its JSON cannot be read"
    if not isinstance(document, kind):
        return f"its JSON is no {'list' if kind is list else 'object'}"
    return None


def recover(path: Path, copy: Path) -> list[Saved]:
    """Write all rows that can still be read of the store at `path` into a new one, `copy`. Rows
    whose JSON is damaged come along: their other columns can be read. BadInput when `copy` exists;
    StoreFailed when not even the list of tables can be read. The store itself is only read."""
    if copy.exists() or copy.is_symlink():
        raise BadInput(f"{copy}: exists; choose another file")
    with contextlib.closing(_open(path)) as db:
        tables = _tables(db)
        if not tables:
            raise StoreFailed(f"{path}: its list of tables cannot be read, so nothing can be saved")
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as new:
            copy.chmod(0o600)
            new.execute("BEGIN")
            for sql in tables.values():
                new.execute(sql)
            rows = [_save(db, new, table) for table in tables]
            for (sql,) in _rows(
                db, "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
            ):
                new.execute(sql)
            ((version,),) = _rows(db, "PRAGMA user_version")
            new.execute(f"PRAGMA user_version = {int(version)}")
            new.execute("COMMIT")
            return rows


def _save(db: sqlite3.Connection, new: sqlite3.Connection, table: str) -> Saved:
    """Copy the rows of a table that can be read."""
    columns = [info[1] for info in _rows(new, f"PRAGMA table_info({table})")]
    places = ", ".join("?" * len(columns))
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
    has_rowid = not any(info[0] == table and info[1] for info in _without_rowid(new))
    count = lost_count = 0
    for row in _readable(db, table, columns, by_rowid=has_rowid):
        if row is None:
            lost_count += 1
            continue
        try:
            new.execute(insert, row)
            count += 1
        except sqlite3.Error:  # a value that the table does not allow
            lost_count += 1
    try:
        total = int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.DatabaseError:
        return Saved(table, count, None if lost_count else 0)
    return Saved(table, count, max(lost_count, total - count))


def _without_rowid(db: sqlite3.Connection) -> list[tuple[str, bool]]:
    return [(name, bool(flag)) for _, name, _, _, flag, _ in _rows(db, "PRAGMA table_list")]


def _readable(
    db: sqlite3.Connection, table: str, columns: list[str], *, by_rowid: bool
) -> Iterator[tuple[Any, ...] | None]:
    """The rows of a table, None for each place where some cannot be read."""
    names = ", ".join(columns)
    if not by_rowid:
        try:
            yield from db.execute(f"SELECT {names} FROM {table}")
        except sqlite3.DatabaseError:
            yield None
        return
    select = f"SELECT rowid, {names} FROM {table} WHERE rowid >= ? ORDER BY rowid"
    start: int | None = _FIRST
    while start is not None:
        try:
            for rowid, *row in db.execute(select, (start,)):
                start = int(rowid) + 1
                yield tuple(row)
            return
        except sqlite3.DatabaseError:
            yield None
            start = _next_readable(db, select, start)


def _next_readable(db: sqlite3.Connection, select: str, start: int) -> int | None:
    """The first row number from `start` on that can be read again: what is between is in a page
    that cannot. None when there is none."""

    def is_readable(number: int) -> bool:
        try:
            db.execute(f"{select} LIMIT 1", (number,)).fetchone()
        except sqlite3.DatabaseError:
            return False
        return True

    bad, step = start, 1
    while not is_readable(bad + step):
        bad, step = bad + step, step * 2
        if bad + step > _LAST:
            return None
    good = bad + step
    while good - bad > 1:
        middle = (good + bad) // 2
        bad, good = (bad, middle) if is_readable(middle) else (middle, good)
    return good


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise BadInput(f"{path}: there is no such store")
    if not os.access(path, os.W_OK):
        raise BadInput(
            f"{path}: cannot be checked where it is read-only; copy it and check the copy"
        )
    # SQLite 3.40 calls everything that is opened with mode=ro sound.
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    db.execute("PRAGMA query_only = ON")
    db.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        db.close()
        raise StoreFailed(f"{path}: {error}; nothing of it can be read") from error
    return db


def _tables(db: sqlite3.Connection) -> dict[str, str]:
    """The SQL of each table by its name."""
    rows = _rows(
        db, "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return {str(name): str(sql) for name, sql in rows}


def _rows(db: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    """The rows that can be read."""
    rows: list[tuple[Any, ...]] = []
    with contextlib.suppress(sqlite3.DatabaseError):
        rows.extend(db.execute(sql))
    return rows
