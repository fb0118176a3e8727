"""Damaged stores: `store check` lists what is damaged, `store recover` saves what can be read.

The stores are those of tests/data/store-v1, damaged cell by cell and page by page.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from benchstick.errors import BadInput, StoreFailed
from benchstick.store import damage, database
from tests.data.baseline import FOLDER

PAGE = 4096


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with many runs, of today's version."""
    path = tmp_path / "home" / database.FILE
    path.parent.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript((FOLDER / "store.sql").read_text(encoding="utf-8"))
    database.open_writer(path.parent).close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("VACUUM")
        db.execute("PRAGMA journal_mode = DELETE")
    return path


def counts(path: Path) -> dict[str, int]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        tables = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        return {n: db.execute(f"SELECT count(*) FROM {n}").fetchone()[0] for (n,) in tables}


def test_a_sound_store_has_no_damage_and_is_recovered_whole(store: Path, tmp_path: Path) -> None:
    before = store.read_bytes()
    assert damage.find_damage(store) == []
    tables = damage.recover(store, tmp_path / "new.db")
    assert (
        {item.table: item.rows for item in tables} == counts(store) == counts(tmp_path / "new.db")
    )
    assert {item.lost_rows for item in tables} == {0}
    assert store.read_bytes() == before
    with (
        contextlib.closing(sqlite3.connect(store)) as old,
        contextlib.closing(sqlite3.connect(tmp_path / "new.db")) as new,
    ):
        for table in counts(store):
            every = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert new.execute(every).fetchall() == old.execute(every).fetchall()
        schema = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1, 2"
        assert new.execute(schema).fetchall() == old.execute(schema).fetchall()
        version = "PRAGMA user_version"
        assert new.execute(version).fetchone() == old.execute(version).fetchone()


@pytest.mark.parametrize(
    ("table", "column", "value", "problem"),
    [
        ("runs", "plan_json", '{"steps": [', "its JSON cannot be read"),
        ("runs", "drive_json", "[]", "its JSON is no object"),
        ("runs", "result_json", "", "its JSON cannot be read"),
        ("steps", "detail_json", "7", "its JSON is no object"),
        ("results", "detail_json", "\x00", "its JSON cannot be read"),
        ("verdicts", "verdict_json", "null", "its JSON is no object"),
        ("runs", "reason", b"\xff\xfe", "its text is not UTF-8"),
    ],
)
def test_a_damaged_cell_is_reported_with_its_row(
    store: Path, tmp_path: Path, table: str, column: str, value: str | bytes, problem: str
) -> None:
    with contextlib.closing(sqlite3.connect(store)) as db:
        (row,) = db.execute(f"SELECT max(rowid) FROM {table}").fetchone()
        db.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (value, row))
        db.commit()
    (item,) = damage.find_damage(store)
    assert (item.table, item.column, item.problem) == (table, column, problem)
    assert item.row and str(item) == f"{table} {item.row} {column}: {problem}"
    # Its other columns can be read: the row is saved.
    assert all(item.lost_rows == 0 for item in damage.recover(store, tmp_path / "new.db"))


def test_a_state_that_the_table_does_not_allow_is_reported(store: Path) -> None:
    with contextlib.closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute("UPDATE runs SET state = 'dune' WHERE number = 1")
        db.commit()
    assert [str(item) for item in damage.find_damage(store)] == ["CHECK constraint failed in runs"]


def test_a_page_that_cannot_be_read_costs_only_its_rows(store: Path, tmp_path: Path) -> None:
    data = bytearray(store.read_bytes())
    whole = counts(store)
    # A leaf page of a table starts with 13.
    pages = [number for number in range(1, len(data) // PAGE) if data[number * PAGE] == 13]
    middle = pages[len(pages) // 2]
    data[middle * PAGE : (middle + 1) * PAGE] = b"\xa5" * PAGE
    store.write_bytes(data)
    assert damage.find_damage(store) != []
    tables = damage.recover(store, tmp_path / "new.db")
    assert sum(item.rows for item in tables) > 0.8 * sum(whole.values())
    assert any(item.lost_rows != 0 for item in tables)
    assert {item.table: item.rows for item in tables} == counts(tmp_path / "new.db")
    assert not [item for item in damage.find_damage(tmp_path / "new.db") if not item.row]


def test_what_is_no_store_is_one_clear_error(store: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such store"):
        damage.find_damage(tmp_path / "none.db")
    with pytest.raises(BadInput, match="exists; choose another file"):
        damage.recover(store, store)
    (tmp_path / "text").write_text("x" * 5000)
    with pytest.raises(StoreFailed, match="nothing of it can be read"):
        damage.recover(tmp_path / "text", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
