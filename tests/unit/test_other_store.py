"""A run whose store goes away in the middle: the next store gets all of the run's data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick.engine.step_artifacts import StepFolder
from benchstick.errors import StoreFailed
from benchstick.plan.result import Result
from benchstick.plan.states import RunState, StepState, Validity
from benchstick.store import database, run_reader
from benchstick.store.run_results import Sample
from benchstick.store.run_writer import RunRecord
from tests.results import named
from tests.unit.test_store import add_run

Make = Callable[..., dict[str, Any]]


def sample(n: int) -> Sample:
    return Sample(n, float(n), 1.0, 0, 4096, 0, 0, 1, 0, 0, 0, 1, 1.0)


def result(name: str, value: float) -> Result:
    return named(step="one", name=name, value=value, unit="MB/s", target="block", pass_no=1)


RESTORED = "/sys/block/sdx/queue/read_ahead_kb"


def tell_the_first_half(record: RunRecord) -> None:
    record.conditions({"target": "block"})
    record.setting_changed(RESTORED, "128", "0")
    record.setting_changed("/sys/block/sdx/queue/nr_requests", "64", "32")
    record.step_begins(0, "one", "fio", 0.0, "runs/u1/00-one")
    record.samples([sample(0)])
    record.temperature(0.5, 0, 41.0, "smart", None)
    record.step_ends(
        0, StepState.COMPLETE, 1.0, results=[result("SEQ", 500.0)], samples=[sample(0)]
    )


def tell_the_second_half(record: RunRecord) -> None:
    record.step_begins(1, "two", "fio", 1.0, "runs/u1/01-two")
    record.step_ends(1, StepState.COMPLETE, 2.0, results=[result("RND", 50.0)], samples=[sample(1)])
    record.invalidate_pass("SEQ", 1, "the drive was warm")
    record.setting_restored(RESTORED)
    record.finish(RunState.COMPLETE, 0, seconds=2.0, result={"tables": []})


def undated(document: dict[str, Any]) -> dict[str, Any]:
    document["events"] = [{**event, "utc": None} for event in document["events"]]
    return {**document, "ended_utc": None, "created_utc": None}


@pytest.mark.parametrize("by", ["moving", "telling", "reading"])
def test_a_run_continues_in_another_store(
    tmp_path: Path, bench_home: Path, drive_json: Make, by: str
) -> None:
    wanted_home, other_home = tmp_path / "required", tmp_path / "other"
    with (
        contextlib.closing(database.open_writer(bench_home)) as first,
        contextlib.closing(database.open_writer(wanted_home)) as wanted_db,
        contextlib.closing(database.open_writer(other_home)) as other,
    ):
        # Numbers that differ between the stores: a run before this one, with a setting of its own.
        for db in (first, wanted_db):
            earlier = add_run(db, drive_json(), "u0")
            earlier.setting_changed("/sys/block/sdy/queue/read_ahead_kb", "128", "0")
        undisturbed = add_run(wanted_db, drive_json())
        tell_the_first_half(undisturbed)
        tell_the_second_half(undisturbed)

        record = add_run(first, drive_json())
        pulls: list[bool] = []
        record.follow(lambda: (other, "the stick was pulled out") if pulls else None)
        tell_the_first_half(record)
        assert not record.move()
        pulls.append(True)
        if by == "moving":
            assert record.move()
        else:
            first.close()
        if by == "reading":
            assert [result.name for result in record.all_results()] == ["SEQ"]
            (later, _) = record.settings_to_restore()
            assert later["path"].endswith("nr_requests")
        tell_the_second_half(record)

        assert record.number == undisturbed.number == 2
        document = undated(run_reader.run_json(other, 2))
        (event,) = document["events"]
        assert (event["kind"], event["text"]) == ("store", "the stick was pulled out")
        assert {**document, "events": []} == undated(run_reader.run_json(wanted_db, 2))
        assert run_reader.samples_of(other, 2) == [sample(0), sample(1)]
        (row,) = record.settings_to_restore()
        assert row["path"].endswith("nr_requests")
        assert other.execute("SELECT count(*) FROM running").fetchone()[0] == 0
        assert not record.move(), "there is nothing left to move"


def test_another_runs_number_is_left_to_it(
    tmp_path: Path, bench_home: Path, drive_json: Make
) -> None:
    with (
        contextlib.closing(database.open_writer(bench_home)) as first,
        contextlib.closing(database.open_writer(tmp_path / "other")) as other,
    ):
        record = add_run(first, drive_json())
        record.follow(lambda: (other, "pulled"))
        add_run(other, drive_json(), "u2")
        record.event(0.0, "link", "told before")
        assert record.move()
        assert record.number == 2
        texts = [event["text"] for event in run_reader.run_json(other, 2)["events"]]
        assert texts == ["told before", "pulled"]


def test_without_another_store_a_failing_one_is_reported(
    bench_home: Path, drive_json: Make
) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json())
        record.follow(lambda: None)
        db.close()
        with pytest.raises(StoreFailed):
            record.event(0.0, "link", "lost")
        with pytest.raises(StoreFailed):
            record.settings_to_restore()


def test_artefacts_wait_in_ram_until_they_are_kept(tmp_path: Path) -> None:
    home, staging = tmp_path / "home", tmp_path / "ram"
    folder = StepFolder(home, "u1", 3, "SEQ1M Q8T1", staging)
    folder.make()
    folder.command(["fio", "a b"])
    assert not home.exists()
    folder.keep()
    assert folder.relative == "runs/u1/03-seq1m-q8t1"
    assert (home / folder.relative / "command").read_text() == "fio 'a b'\n"
    assert list(staging.glob("runs/u1/*")) == []


def test_artefacts_that_cannot_be_kept_stay_where_they_are(tmp_path: Path) -> None:
    home, staging = tmp_path / "home", tmp_path / "ram"
    folder = StepFolder(home, "u1", 0, "one", staging)
    folder.make()
    folder.command(["fio"])
    home.write_text("a file in the folder's place")
    with pytest.raises(StoreFailed, match="home"):
        folder.keep()
    home.unlink()
    folder.keep()
    assert (home / folder.relative / "command").exists()


def test_a_running_run_returns_its_results_as_the_store_has_them(
    bench_home: Path, drive_json: Make
) -> None:
    """A file name that is no Unicode in a reason: what is remembered is what is read back."""
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json())
        bad = replace(result("SEQ", 1.0), state=Validity.INVALID, reason="a\udcff is missing")
        record.results([bad])
        assert record.all_results() == run_reader.results_of(db, record.number)
        assert record.all_results()[0].reason == "a\\udcff is missing"
