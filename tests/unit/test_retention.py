"""The tools' raw output stays within its bound; the other data of a run stays."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.engine import retention
from benchstick.errors import StoreFailed
from benchstick.store import database, locks, run_reader, run_writer
from tests.unit.test_recovery import Make, add_run

MIB = 1 << 20


def run_with_output(db: Any, home: Path, drive: dict[str, Any], digit: int) -> run_writer.RunRecord:
    """A run whose one step left 1 MiB."""
    uuid = f"{digit:08d}-1234-1234-1234-123456789abc"
    record = add_run(db, drive, uuid)
    folder = home / "runs" / uuid / "00-step"
    folder.mkdir(parents=True)
    (folder / "stdout").write_bytes(os.urandom(MIB))
    return record


def list_runs(home: Path) -> list[int]:
    return sorted(int(path.name[:8]) for path in (home / "runs").iterdir())


def test_the_oldest_go_until_the_rest_is_within_the_bound(
    bench_home: Path, drive_json: Make
) -> None:
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        runs = [run_with_output(db, bench_home, drive_json(), digit) for digit in (3, 1, 2)]
        # The first is the oldest, but it is running: the next ones are removed instead.
        lock = locks.RunLock("00000003-1234-1234-1234-123456789abc")
        try:
            removals = retention.prune(db, bench_home, 2 * MIB + 64_000, floor=0)
        finally:
            lock.release()
        assert [uuid[:8] for uuid in removals] == ["00000001"]
        assert list_runs(bench_home) == [2, 3]
        document = run_reader.run_json(db, runs[1].number)
        assert [event["kind"] for event in document["events"]] == ["artifacts"]
        assert "1 MiB" in document["events"][0]["text"]
        assert run_reader.run_json(db, runs[2].number)["events"] == []


def test_within_the_bound_nothing_goes(bench_home: Path, drive_json: Make) -> None:
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        run_with_output(db, bench_home, drive_json(), 1)
        assert retention.prune(db, bench_home, 64 * MIB, floor=0) == []
    assert list_runs(bench_home) == [1]


def test_a_full_disk_takes_the_oldest_too(bench_home: Path, drive_json: Make) -> None:
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        run_with_output(db, bench_home, drive_json(), 1)
        assert len(retention.prune(db, bench_home, 64 * MIB, floor=1 << 60)) == 1
    assert list_runs(bench_home) == []


def test_only_folders_of_runs_are_touched(bench_home: Path, drive_json: Make) -> None:
    paths.make_run_folder()
    outside = bench_home.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    with contextlib.closing(database.open_writer(bench_home)) as db:
        runs = bench_home / "runs"
        (runs / "notes").mkdir()
        (runs / "00000009-1234-1234-1234-123456789abc").symlink_to(outside)
        run_with_output(db, bench_home, drive_json(), 1)
        link = runs / "00000001-1234-1234-1234-123456789abc" / "00-step" / "link"
        link.symlink_to(outside)
        assert len(retention.prune(db, bench_home, 0, floor=0)) == 1
        assert sorted(path.name for path in runs.iterdir()) == [
            "00000009-1234-1234-1234-123456789abc", "notes",
        ]  # fmt: skip
        assert (outside / "file").read_text() == "mine"


def test_a_link_in_place_of_the_folder_is_refused(bench_home: Path) -> None:
    outside = bench_home.parent / "elsewhere"
    outside.mkdir()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        (bench_home / "runs").rmdir()
        (bench_home / "runs").symlink_to(outside)
        with pytest.raises(StoreFailed, match="runs"):
            retention.prune(db, bench_home, 0, floor=0)
