"""Recovery does not trust the store: the page's user could have written anything in it."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.engine import host_settings, recovery, results
from benchstick.engine.runner import MARK
from benchstick.plan.states import RunState, StepState
from benchstick.store import database, locks, run_reader, run_results, run_writer
from benchstick.suites import registry
from tests.results import named

Make = Callable[..., dict[str, Any]]
UUID = "12345678-1234-1234-1234-123456789abc"


def add_run(db: Any, drive: dict[str, Any], uuid: str) -> run_writer.RunRecord:
    return run_writer.RunRecord.create(
        db, uuid=uuid, suite="cdm", practice=False, drive=drive,
        plan={"schema": "benchstick/plan/2", "steps": [], "notes": []}, pid=1, device="nosuch",
    )  # fmt: skip


def test_a_uuid_that_is_a_path_is_no_run(bench_home: Path, drive_json: Make) -> None:
    victim = bench_home.parent / "victim.json"
    victim.write_text("x")
    paths.make_run_folder()
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
        host_settings.restore_settings(record)
        assert record.settings_to_restore() == []
    assert victim.read_text() == "x"


def test_a_run_that_ends_during_the_recovery_keeps_its_state(
    bench_home: Path, drive_json: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json(), UUID)
        real = locks.RunLock

        def finished_first(uuid: str) -> locks.RunLock:
            record.finish(RunState.COMPLETE, 0, seconds=1.0)
            return real(uuid)

        monkeypatch.setattr(locks, "RunLock", finished_first)
        assert recovery.recover(db) == []
        assert run_reader.find_run(db, record.number)["state"] == "done"


FILL, TEST = "fill SEQ128K Q32T1 write, pass 1", "RND4K Q32T1 write"


def killed_in_its_writing(db: Any, drive: dict[str, Any]) -> run_writer.RunRecord:
    """A consistency run that filled once and wrote for 40 s at 1000 IOPS, as its runner left it."""
    plan = registry.make_plan("consistency", drive, {})
    paths.make_run_folder()
    record = run_writer.RunRecord.create(
        db, uuid=UUID, suite="consistency", practice=False, drive=drive, plan=plan.to_json(),
        pid=1, device="nosuch",
    )  # fmt: skip
    record.conditions({"target": "block", "state": plan.state})
    fill, test = ([step.name for step in plan.steps].index(name) for name in (FILL, TEST))
    record.step_begins(fill, FILL, "fio", 1.0, "01-fill")
    filled = named(
        step=FILL, name="fill SEQ128K Q32T1 write", value=450.0, unit="MB/s", target="block",
        pass_no=1,
    )  # fmt: skip
    record.step_ends(fill, StepState.COMPLETE, 9.0, results=[filled])
    record.step_begins(test, TEST, "fio", 10.0, "02-test")
    # The first one is of the step before, though it ended in this one.
    record.samples(
        [
            run_results.Sample(
                n=n, t=10.5 + n, dt=1.0, step_index=test, read_bytes=0, write_bytes=4096 * 1000,
                discard_bytes=0, reads=0, writes=1000, discards=0, flushes=0, inflight=32,
                queue=32.0,
            )
            for n in range(41)
        ]
    )  # fmt: skip
    return record


def test_a_killed_run_shows_what_it_had(bench_home: Path, drive_json: Make) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        number = killed_in_its_writing(db, drive_json()).number
        assert recovery.recover(db) == [number]
        document = run_reader.run_json(db, number)
    assert (document["state"], document["exit_code"]) == ("interrupted", 70)
    (first, *_), tables = document["result"]["charts"], document["result"]["tables"]
    assert first["title"] == "IOPS by second, whole run"
    # Of the 40 whole seconds those at both ends may not be whole.
    assert document["result"]["series"][0]["points"] == [[n, 1000] for n in range(1, 39)]
    assert tables[-1]["rows"] == [["pass 1", "450.0", "valid"]]
    by_name = {item["name"]: item for item in document["results"]}
    reason = "the bench was killed or lost power after 38 s of 2000"
    for name in (f"{TEST} IOPS by second", f"{TEST} IOPS mean"):
        assert (by_name[name]["value"], by_name[name]["state"]) == (1000, "invalid")
        assert by_name[name]["reason"] == reason
    latency = by_name[f"{TEST} latency by second"]
    assert (latency["step"], latency["state"]) == (TEST, "skipped")
    assert "log is lost" in latency["reason"]


def test_what_recovery_kept_before_it_was_killed_is_kept_once(
    bench_home: Path, drive_json: Make
) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = killed_in_its_writing(db, drive_json())
        first = json.loads(json.dumps(results.conclude_killed(record)))
        stored_results = record.all_results()
        assert any(result.pass_no is None for result in stored_results)
        assert recovery.recover(db) == [record.number]
        assert record.all_results() == stored_results
        assert run_reader.run_json(db, record.number)["result"] == first


def test_a_run_of_which_nothing_can_be_made_is_closed_all_the_same(
    bench_home: Path, drive_json: Make
) -> None:
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as db:
        number = add_run(db, drive_json(), UUID).number
        assert recovery.recover(db) == [number]
        document = run_reader.run_json(db, number)
    assert (document["state"], document["result"]) == ("interrupted", None)
    (event,) = document["events"]
    assert event["kind"] == "recovery"
    assert "no result can be made of what was measured: KeyError" in event["text"]


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


def test_a_lock_taken_on_a_file_that_was_removed_is_taken_again(bench_home: Path) -> None:
    paths.make_run_folder()
    first = locks.RunLock(UUID)
    assert locks.lock_path(UUID).exists()
    first.release()
    second = locks.RunLock(UUID)
    assert locks.lock_path(UUID).exists()
    second.release()
