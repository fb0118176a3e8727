"""The messages between the page and the bench, answered from a store with runs of every kind."""

from __future__ import annotations

import dataclasses
import inspect
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchstick.errors import NoStore, StoreFailed
from benchstick.protocol import bench as messages
from benchstick.protocol import local, prepare, settings
from benchstick.protocol.local import LocalBench
from tests.data import baseline

NUMBER = 1 << 40
PLAIN = (bool, int, float, str, bytes, Path, type(None))

# The fields of each read, in turn.
READS: Mapping[str, list[dict[str, Any]]] = {
    "status": [{}],
    "bench_id": [{}],
    "agent_runs": [{}],
    "time_utc": [{}],
    "running": [{}],
    "readable_run": [{"number": 1}],
    "runs": [{}, {"practice": True, "limit": 2}, {"drive": "nothing"}, {"suite": "cdm"}],
    "newest_suite": [{"practice": True}, {"practice": False}],
    "run_state": [{"number": 1}],
    "run": [{"number": 1}],
    "live": [{"number": 1}],
    "samples": [
        {"number": 1, "after": -1, "every": 1, "most": 10, "first_step": 0},
        {"number": 1, "after": -1, "every": 5, "most": 100, "first_step": 1},
    ],
    "samples_count": [{"number": 1}],
    "has_traffic": [{"number": 1}],
    "all_samples": [{"number": 1}],
    "samples_csv": [{"number": 1}],
    "results_csv": [{"number": 1}],
    "speed_by_second": [{"number": 1, "timed_steps": {1, 2}}],
    "step_folder": [{"number": 1, "index": 0}],
    "bundle": [{"number": 1}],
    "upload": [{"number": 1}],
    "comparison": [{"numbers": [1], "mark": None, "with_references": True}],
    "others_of_suite": [{"suite": "cdm", "practice": True, "leave_out": [1]}],
    "references": [{}, {"suite": "cdm"}],
    "sheets": [{}],
    "scan": [{}],
    "is_known_drive": [{"name": "practice"}],
    "drives_in_use": [{}],
    "labels": [{}],
    "request": [{"number": 1}],
    "waiting_requests": [{}],
    "queue": [{"number": 1}],
    "newest_queues": [{"limit": 5}],
    "open_queues": [{}],
    "queue_of_run": [{"run": 1}],
    "queue_of_drive": [{"drive_key": "nothing"}],
    "verdict": [{"number": 1}],
    "verdicts_of_run": [{"run": 1}],
    "verdicts": [{"limit": 5, "word": None, "before": NUMBER}],
    "verdict_documents": [{"limit": 5, "word": None, "before": NUMBER}],
    "desk": [{}],
    "slots": [{}],
    "shelved_recipes": [{}],
    "uploaded_recipes": [{}],
    "autostart_problem": [{}],
    "find_session": [{"secret": "x"}],
    "find_token": [{"secret": "x"}],
    "tokens": [{}],
}
# Answered below, with what other answers have.
OTHERS = {"drive_histories", "drive_record", "run_of_bundle"}
NONE_FOR_NO_RUN = ("run_state", "run", "live", "samples", "results_csv", "bundle", "step_folder")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    baseline.make_store(folder)
    with baseline.folders(folder):
        prepare.make_ready(folder)
        yield folder


@pytest.fixture
def bench(home: Path) -> Iterator[LocalBench]:
    local_bench = LocalBench(home, settings.read("", "defaults"))
    yield local_bench
    local_bench.close()


def not_plain(value: Any, where: str) -> Iterator[str]:
    """Where an answer holds something that cannot be sent to another process."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str | int):
                yield f"{where}: key {key!r}"
            yield from not_plain(item, f"{where}.{key}")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from not_plain(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, list | tuple | frozenset):
        for at, item in enumerate(value):
            yield from not_plain(item, f"{where}[{at}]")
    elif not isinstance(value, PLAIN):
        yield f"{where}: {type(value).__name__}"


def test_every_answer_is_plain(bench: LocalBench) -> None:
    names = {name for name, _ in inspect.getmembers(messages.Reads, inspect.isfunction)
             if not name.startswith("_")}  # fmt: skip
    assert names == {*READS, *OTHERS}
    assert len(bench.runs()) > 1
    for name, questions in READS.items():
        for fields in questions:
            assert list(not_plain(getattr(bench, name)(**fields), name)) == []
    keys = {entry.drive_key for entry in bench.runs()}
    histories = bench.drive_histories(keys)
    assert set(histories) == keys
    assert list(not_plain(histories, "drive_histories")) == []
    run = bench.run(1)
    assert run is not None and run.results
    record = bench.drive_record(run.document["drive"], 3)
    assert record.history and list(not_plain(record, "drive_record")) == []
    file = bench.bundle(1)
    assert file is not None and bench.run_of_bundle(file.data) == 1
    assert list(not_plain({"row": object()}, "x")) == ["x.row: object"]


@pytest.mark.parametrize("name", NONE_FOR_NO_RUN)
def test_there_is_no_answer_on_a_run_that_is_not_there(bench: LocalBench, name: str) -> None:
    fields = {**READS[name][0], "number": NUMBER}
    assert getattr(bench, name)(**fields) is None


def test_a_request_opens_what_it_needs_and_closes_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections: list[sqlite3.Connection] = []
    for name in ("open_reader", "open_for_web"):
        opener = getattr(local, name)

        def spy(folder: Path, opener: Any = opener) -> sqlite3.Connection:
            connections.append(opener(folder))
            return connections[-1]

        monkeypatch.setattr(local, name, spy)
    local_bench = LocalBench(home, settings.read("", "defaults"))
    assert connections == []
    local_bench.bench_id()
    local_bench.labels()
    assert len(connections) == 1
    local_bench.add_request("cancel", {"run": 1})
    local_bench.add_request("cancel", {"run": 1})
    assert len(connections) == 2
    local_bench.close()
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")


def test_an_error_of_sqlite_is_one_of_the_bench(bench: LocalBench, home: Path) -> None:
    with sqlite3.connect(home / "store.db") as db:
        db.execute("ALTER TABLE meta RENAME TO moved")
    db.close()
    with pytest.raises(StoreFailed, match="the store failed: no such table: meta; see the agent"):
        bench.bench_id()


def test_without_a_store_there_is_one_clear_error(tmp_path: Path) -> None:
    local_bench = LocalBench(tmp_path, settings.read("", "defaults"))
    with pytest.raises(NoStore):
        local_bench.running()
    local_bench.close()
