"""The store: migrations, corruption, who may write what, and what a run leaves."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.errors import BadInput, NoStore, StoreFailed
from benchstick.plan.states import RequestState, RunState, StepState
from benchstick.store import (
    agent_requests,
    comparisons,
    database,
    locks,
    run_reader,
    run_results,
    run_writer,
)
from tests.results import named

Make = Callable[..., dict[str, Any]]


def add_run(
    db: sqlite3.Connection, drive: dict[str, Any], uuid: str = "u1"
) -> run_writer.RunRecord:
    return run_writer.RunRecord.create(
        db, uuid=uuid, suite="cdm", practice=False, drive=drive,
        plan={"schema": "benchstick/plan/2", "steps": [], "notes": []}, pid=1, device="sdx",
    )  # fmt: skip


def test_migrations_are_numbered_without_a_gap_and_named_after_what_they_do() -> None:
    folder = Path(database.__file__).parent / "migrations"
    names = sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")
    assert names
    for number, name in enumerate(names, start=1):
        assert re.fullmatch(rf"{number:03d}_[a-z]+(_[a-z]+)*\.sql", name), name


def test_a_fresh_store_is_migrated_and_private(bench_home: Path) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(database.migrations())
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert bench_home.stat().st_mode & 0o7 == 0
    assert (bench_home / "runs").stat().st_mode & 0o27 == 0


def test_a_corrupt_store_is_set_aside_and_reported(
    bench_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.open_writer(bench_home).close()
    (bench_home / "store.db").write_bytes(b"not a database " * 1000)
    with contextlib.closing(database.open_writer(bench_home)) as db:
        (event,) = db.execute("SELECT text FROM events").fetchall()
    (aside,) = bench_home.glob("store.db.corrupt-*")
    assert aside.read_bytes().startswith(b"not a database")
    assert aside.name in event["text"]
    assert aside.name in capsys.readouterr().err


def test_damage_in_the_middle_is_found(bench_home: Path, drive_json: Make) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        for number in range(50):
            add_run(db, drive_json(), f"u{number}").event(1.0, "x", "y" * 500)
    path = bench_home / "store.db"
    data = bytearray(path.read_bytes())
    data[8192:16384] = b"\xff" * 8192
    path.write_bytes(data)
    with contextlib.closing(database.open_writer(bench_home)) as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone()[0] == 0
    assert list(bench_home.glob("store.db.corrupt-*"))


def test_a_large_store_is_read_whole_once_a_boot(
    bench_home: Path, drive_json: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Damage behind the time limit of a check is found at the next boot, or once a query met it."""
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        for number in range(400):
            add_run(db, drive_json(), f"u{number}").event(1.0, "x", "y" * 3000)
    path = bench_home / "store.db"
    data = bytearray(path.read_bytes())
    data[-200_000:] = b"\xff" * 200_000
    path.write_bytes(data)
    # A limit of no time, so that the damage is behind it.
    monkeypatch.setattr(database, "CHECK_SECONDS", -1.0)
    monkeypatch.setattr(database, "CHECK_STEPS", 1)
    with contextlib.closing(database.open_writer(bench_home)) as db:
        assert not list(bench_home.glob("store.db.corrupt-*"))
        with pytest.raises(StoreFailed, match="malformed"), database.transaction(db):
            db.execute("DELETE FROM events")
    with contextlib.closing(database.open_writer(bench_home)) as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone()[0] == 0
    (aside,) = bench_home.glob("store.db.corrupt-*")
    # The same without such a query, but after another boot.
    path.write_bytes(aside.read_bytes())
    database.open_writer(bench_home).close()
    assert len(list(bench_home.glob("store.db.corrupt-*"))) == 1
    (tmp_path / "boot").write_text("another\n")
    monkeypatch.setattr(database, "BOOT_ID", tmp_path / "boot")
    database.open_writer(bench_home).close()
    assert len(list(bench_home.glob("store.db.corrupt-*"))) == 2


def test_a_newer_store_is_refused_and_unchanged(bench_home: Path) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        db.execute("PRAGMA user_version = 999")
    before = (bench_home / "store.db").read_bytes()
    for opener in (database.open_writer, database.open_reader):
        with pytest.raises(StoreFailed, match="newer"):
            opener(bench_home)
    assert (bench_home / "store.db").read_bytes() == before


def test_a_migration_copies_the_store_first(
    bench_home: Path, drive_json: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        add_run(db, drive_json())
    last = len(database.migrations())
    scripts = [*database.migrations(), "CREATE TABLE later (x INTEGER) STRICT;"]
    monkeypatch.setattr(database, "migrations", lambda: scripts)
    with contextlib.closing(database.open_writer(bench_home)) as db:
        assert db.execute("SELECT count(*) FROM later").fetchone()[0] == 0
        assert db.execute("SELECT count(*) FROM runs").fetchone()[0] == 1
    with contextlib.closing(sqlite3.connect(bench_home / f"store.db.v{last}")) as copy:
        assert copy.execute("PRAGMA user_version").fetchone()[0] == last
        assert copy.execute("SELECT count(*) FROM runs").fetchone()[0] == 1


def test_a_failed_migration_leaves_the_store_as_it_was(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.open_writer(bench_home).close()
    last = len(database.migrations())
    scripts = [*database.migrations(), "CREATE TABLE later (x INTEGER); NONSENSE;"]
    monkeypatch.setattr(database, "migrations", lambda: scripts)
    with pytest.raises(StoreFailed):
        database.open_writer(bench_home)
    with contextlib.closing(sqlite3.connect(bench_home / "store.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == last
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    assert "later" not in tables


def test_requests_and_their_answers_survive_a_new_table(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """002: the answers refer to the requests, and the numbers continue after the last one."""
    every = database.migrations()
    with monkeypatch.context() as old:
        old.setattr(database, "migrations", lambda: every[:1])
        with contextlib.closing(database.open_writer(bench_home)) as db:
            for kind in ("run", "cancel", "run"):
                agent_requests.add_request(db, kind, {"of": kind})
            agent_requests.answer_request(db, 2, RequestState.COMPLETE)
    with contextlib.closing(database.open_writer(bench_home)) as db:
        rows = db.execute("SELECT id, kind, body_json FROM requests ORDER BY id").fetchall()
        assert [(row["id"], row["kind"]) for row in rows] == [(1, "run"), (2, "cancel"), (3, "run")]
        assert [row["id"] for row in agent_requests.open_requests(db)] == [1, 3]
        assert agent_requests.add_request(db, "clock", {}) == 4
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        with pytest.raises(StoreFailed):
            agent_requests.add_request(db, "other", {})


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreFailed, match="choose another BENCHSTICK_HOME"):
        database.open_writer(tmp_path / "file" / "home")


def test_a_link_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / "runs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreFailed, match="not a folder"):
        database.open_writer(home)


def test_the_web_process_may_write_its_own_tables_and_nothing_else(
    bench_home: Path, drive_json: Make
) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        add_run(db, drive_json())
    with contextlib.closing(database.open_for_web(bench_home)) as web:
        assert agent_requests.add_request(web, "run", {"suite": "cdm"}) == 1
        web.execute("INSERT INTO labels VALUES ('key', 'slot 3', 'now')")
        web.execute("DELETE FROM labels")
        for statement in (
            "DELETE FROM runs",
            "UPDATE runs SET state = 'done'",
            "INSERT INTO results (run, step, name, unit, target, state) VALUES (1,'','','','','')",
            "UPDATE requests SET kind = 'cancel'",
            "DELETE FROM requests",
            "INSERT INTO answers VALUES (1, 'done', NULL, '{}', '')",
            "DROP TABLE runs",
            "CREATE TABLE x (y)",
            "PRAGMA user_version = 5",
            "ATTACH DATABASE '/tmp/x' AS x",
            "CREATE TRIGGER t AFTER INSERT ON requests BEGIN DELETE FROM runs; END",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                web.execute(statement)
    with contextlib.closing(database.open_reader(bench_home)) as db:
        assert len(run_reader.list_runs(db)) == 1
        with pytest.raises(sqlite3.OperationalError):
            db.execute("DELETE FROM runs")


def test_a_run_leaves_what_was_measured(bench_home: Path, drive_json: Make) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json())
        record.step_begins(0, "first", "fio", 0.5, "runs/u1/00-first")
        result = named(
            step="first", name="A write", value=1.5, unit="MB/s", target="block", pass_no=1
        )
        sample = run_results.Sample(0, 1.0, 1.0, 0, 0, 4096, 0, 0, 1, 0, 0, 3, 2.5)
        record.step_ends(0, StepState.COMPLETE, 2.0, results=[result], samples=[sample])
        record.temperature(2.5, 0, 41.0, "hwmon", None)
        record.invalidate_pass("A write", 1, "data differ")
        record.finish(RunState.COMPLETE, 0, seconds=3.0, result={"text": "x"})
        document = run_reader.run_json(db, record.number)
    assert document["schema"] == "benchstick/run/2"
    assert document["state"] == "done"
    (result_row,) = document["results"]
    assert (result_row["value"], result_row["pass"], result_row["state"], result_row["reason"]) == (
        1.5, 1, "invalid", "data differ",
    )  # fmt: skip
    assert document["temperatures"][0]["celsius"] == 41.0


def test_invalidating_one_test_leaves_another_with_a_like_name(
    bench_home: Path, drive_json: Make
) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json())
        record.results(
            [
                named(step="s", name=name, value=1.0, unit=unit, target="t", pass_no=number)
                for name, unit in (
                    ("AV write", "MB/s"),
                    ("AVI write", "MB/s"),
                    ("AV write time", "s"),
                    ("AV read", "MB/s"),
                )
                for number in (1, 2)
            ]
        )
        record.invalidate_pass("AV write", 2, "data differ")
        states = {
            (result.name, result.pass_no): result.state
            for result in run_reader.results_of(db, record.number)
        }
    assert {key for key, state in states.items() if state == "invalid"} == {
        ("AV write", 2),
        ("AV write time", 2),
    }


def test_an_unknown_run_is_bad_input(bench_home: Path) -> None:
    with (
        contextlib.closing(database.open_writer(bench_home)) as db,
        pytest.raises(BadInput, match="no such run"),
    ):
        run_reader.find_run(db, 77)


def test_a_running_run_whose_lock_is_free_is_shown_as_interrupted(
    bench_home: Path, drive_json: Make
) -> None:
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json(), "u-lock")
        lock = locks.RunLock("u-lock")
        row = run_reader.find_run(db, record.number)
        assert run_reader.shown_state(db, row) == "running"
        lock.release()
        assert run_reader.shown_state(db, row) == "interrupted"


def test_the_runs_to_compare_with_are_read_from_their_index_alone(bench_home: Path) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        rows = db.execute("EXPLAIN QUERY PLAN " + comparisons.OTHERS, ("cdm", 0, 30)).fetchall()
    (plan,) = [row["detail"] for row in rows]
    assert "USING COVERING INDEX runs_by_suite" in plan


def test_a_reader_waits_for_a_store_that_is_being_made(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.make_home(bench_home)
    sqlite3.connect(bench_home / database.FILE).execute("VACUUM")
    waited = []

    def another_process_makes_it(seconds: float) -> None:
        waited.append(seconds)
        database.open_writer(bench_home).close()

    monkeypatch.setattr(time, "sleep", another_process_makes_it)
    with contextlib.closing(database.open_reader(bench_home)) as db:
        assert db.execute("SELECT COUNT(*) FROM runs").fetchone()[0] == 0
    assert len(waited) == 1


def test_a_store_that_was_never_completed_is_no_store(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "MAKING_SECONDS", 0.0)
    paths.make_home(bench_home)
    sqlite3.connect(bench_home / database.FILE).execute("VACUUM")
    with pytest.raises(NoStore, match="no store yet"):
        database.open_reader(bench_home)
