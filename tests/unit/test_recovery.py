"""Recovery believes nothing in the store, which the page's user could have written."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick.engine import host, recovery
from benchstick.engine.runner import MARK
from benchstick.store import database, locks, records
from benchstick.store import home as places

Make = Callable[..., dict[str, Any]]
UUID = "12345678-1234-1234-1234-123456789abc"


def add_run(db: Any, drive: dict[str, Any], uuid: str) -> records.RunRecord:
    return records.RunRecord.create(
        db, uuid=uuid, suite="cdm", practice=False, drive=drive,
        plan={"schema": "benchstick/plan/1", "steps": [], "notes": []}, pid=1, device="nosuch",
    )  # fmt: skip


def test_a_uuid_that_is_a_path_is_no_run(bench_home: Path, drive_json: Make) -> None:
    victim = bench_home.parent / "victim.json"
    victim.write_text("x")
    places.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        add_run(db, drive_json(), "../../victim")
        assert recovery.recover(db) == []
    assert victim.read_text() == "x"


def test_a_setting_that_is_no_setting_of_ours_is_not_written(
    bench_home: Path, drive_json: Make, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("x")
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json(), UUID)
        for path in (str(victim), f"/sys/..{victim}", f"/sys/block/../..{victim}"):
            record.setting_changed(path, "evil", "y")
        host.restore_settings(record)
        assert record.settings_to_restore() == []
    assert victim.read_text() == "x"


def test_a_run_that_ended_meanwhile_stays_as_it_ended(
    bench_home: Path, drive_json: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json(), UUID)
        real = locks.RunLock

        def finished_first(uuid: str) -> locks.RunLock:
            record.finish("done", 0, seconds=1.0)
            return real(uuid)

        monkeypatch.setattr(locks, "RunLock", finished_first)
        assert recovery.recover(db) == []
        assert records.find_run(db, record.number)["state"] == "done"


def test_a_process_with_the_runs_mark_is_ended(bench_home: Path) -> None:
    process = subprocess.Popen(["sleep", "60"], env={MARK: UUID, "PATH": "/usr/bin:/bin"})
    other = subprocess.Popen(["sleep", "60"], env={MARK: "x" + UUID, "PATH": "/bin"})
    try:
        recovery.end_marked(UUID)
        assert process.wait(50) == -9
        assert other.poll() is None
    finally:
        for one in (process, other):
            one.kill()
            one.wait()


def test_a_lock_taken_on_a_file_that_was_removed_is_taken_anew(bench_home: Path) -> None:
    places.make_run_folder()
    first = locks.RunLock(UUID)
    assert locks.lock_path(UUID).exists()
    first.release()
    second = locks.RunLock(UUID)
    assert locks.lock_path(UUID).exists()
    second.release()
