"""Data that reads back differently: how such a run ends, what a verdict says, what is kept."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchstick import paths
from benchstick.analysis.comparison.rank import compare
from benchstick.appliance.outcome_text import BAD, ending
from benchstick.drives.subprocesses import Finished
from benchstick.engine.fileset_source.content import Difference
from benchstick.engine.fileset_source.ram_disk import DriveSource, read_tree
from benchstick.engine.steps import sanitize
from benchstick.engine.steps.file_sets import do_verify
from benchstick.errors import DataCorrupt, DriveLost, Inconclusive
from benchstick.plan import corrupt, run_queue
from benchstick.plan.states import RequestState, RunState
from benchstick.plan.steps import Verify
from benchstick.recipes import codes, verdict
from benchstick.recipes.codes import Reason
from benchstick.store import agent_requests, database, export, imported_runs, run_reader, run_writer
from tests.results import named, results_from
from tests.unit import test_compare, test_verdicts

Json = dict[str, Any]
Make = Callable[..., Json]

FINDING = corrupt.finding(
    step_index=6, name="BR, pass 1, compare", text="data differ: 1 file differs, the first: a: b",
    set_name="BR", pass_no=1, files=1,
    differences=[{"path": "a", "offset": 7, "description": "differs from there"}],
)  # fmt: skip
TEXT = "data corrupt: BR, pass 1, compare: data differ: 1 file differs, the first: a: b"


# ---- how a run ends


@pytest.mark.parametrize(
    ("state", "code", "reason", "ends"),
    [
        (RunState.COMPLETE, 0, None, (4, TEXT)),
        (RunState.COMPLETE, 5, "no valid result", (4, TEXT)),
        (
            RunState.FAILED,
            4,
            "the drive went away",
            (4, f"{TEXT}; then failed: the drive went away"),
        ),
        (RunState.FAILED, 2, "the drive is full", (4, f"{TEXT}; then failed: the drive is full")),
        (RunState.FAILED, 3, "another drive", (3, f"{TEXT}; then failed: another drive")),
        (RunState.FAILED, 6, "the store failed", (6, f"{TEXT}; then failed: the store failed")),
        (RunState.CANCELLED, 130, "cancelled", (130, f"{TEXT}; then cancelled: cancelled")),
        (RunState.INTERRUPTED, 70, None, (70, f"{TEXT}; then interrupted")),
        (RunState.FAILED, 4, FINDING["text"], (4, TEXT)),
    ],
)
def test_no_end_hides_that_data_is_corrupt(
    state: RunState, code: int, reason: str | None, ends: tuple[int, str]
) -> None:
    assert corrupt.end_of(state, code, reason, [FINDING]) == ("corrupt", *ends)
    assert corrupt.end_of(state, code, reason, []) == (state, code, reason)


def test_a_queue_stops_after_corrupt_data() -> None:
    assert not run_queue.goes_on(corrupt.EXIT_CORRUPT)
    assert run_queue.exit_code([0, corrupt.EXIT_CORRUPT]) == 4


def test_a_bench_shows_corrupt_data_from_afar_however_the_run_ended() -> None:
    for code in (4, 130, 70):
        assert ending(RunState.CORRUPT, code, None, "x").word == "DATA CORRUPT"
        assert ending(RunState.CORRUPT, code, "pass", "x").kind == BAD


# ---- verdicts


def spoilt(state_code: int = 4, reason: str = TEXT, *results: Json, **more: Any) -> Json:
    return test_verdicts.run(
        *results, state="corrupt", exit_code=state_code, reason=reason, corrupt=[FINDING], **more
    )


HOLDS = test_verdicts.recipe(test_verdicts.limit("figure", test_verdicts.READ, ">=", "1"))
GOOD = test_verdicts.result(test_verdicts.READ, 500.0)


def test_corrupt_data_fails_a_drive_whose_limits_all_hold() -> None:
    outcome = test_verdicts.of(HOLDS, spoilt(4, TEXT, GOOD))
    assert [item["state"] for item in outcome["limits"]] == ["held"]
    assert (outcome["verdict"], outcome["exit_code"]) == ("fail", 1)
    assert test_verdicts.codes_of(outcome) == (["data-corrupt"], [])
    assert outcome["reason"] == f"run 7 (cdm): {TEXT}"


def test_a_drive_that_was_lost_after_it_fails_as_well() -> None:
    loss = "the drive went away"
    outcome = test_verdicts.of(HOLDS, spoilt(4, f"{TEXT}; then failed: {loss}"), end=(4, loss))
    assert (outcome["verdict"], outcome["exit_code"]) == ("fail", 1)
    assert outcome["reason"].startswith(f"run 7 (cdm): {TEXT}")


@pytest.mark.parametrize(("code", "reason"), [(130, "cancelled"), (6, "store-failed")])
def test_a_cancelled_or_broken_test_is_inconclusive_and_names_the_corrupt_data(
    code: int, reason: str
) -> None:
    outcome = test_verdicts.of(HOLDS, spoilt(code, f"{TEXT}; then stopped", GOOD))
    assert (outcome["verdict"], outcome["exit_code"]) == ("inconclusive", code)
    assert test_verdicts.codes_of(outcome) == (["data-corrupt"], [reason])
    assert f"run 7 (cdm): {TEXT}" in outcome["reason"]


def test_a_rule_that_ends_the_test_leaves_a_fail() -> None:
    stopped = Reason(codes.STOPPED_ERRORS, "1 errors, required fewer than 1: data differ")
    outcome = test_verdicts.of(HOLDS, spoilt(130, f"{TEXT}; then cancelled", GOOD), stopped=stopped)
    assert (outcome["verdict"], outcome["exit_code"]) == ("fail", 1)
    assert test_verdicts.codes_of(outcome) == (["data-corrupt", "stopped-errors"], [])


def test_a_drive_with_corrupt_data_is_not_tested_again() -> None:
    twice = test_verdicts.recipe(
        test_verdicts.limit("figure", test_verdicts.READ, ">=", "9e9"), top="retries = 3"
    )
    assert verdict.again(twice, test_verdicts.of(twice, test_verdicts.run(GOOD)))
    assert not verdict.again(twice, test_verdicts.of(twice, spoilt(4, TEXT, GOOD)))


def test_a_run_with_corrupt_data_is_no_reference() -> None:
    recipe = test_verdicts.recipe(
        test_verdicts.limit("figure", test_verdicts.READ, "~", '"5 %"', 'of = "run 3"')
    )
    outcome = test_verdicts.of(
        recipe, test_verdicts.run(GOOD), referenced={"run 3": spoilt(4, TEXT, GOOD, number=3)}
    )
    assert test_verdicts.codes_of(outcome) == ([], ["no-reference"])
    assert "data is corrupt" in outcome["reason"]


def test_a_run_with_corrupt_data_is_never_ranked() -> None:
    result = test_compare.result
    fast = test_compare.run(1, result("read", 900.0), state="corrupt")
    document = compare([fast, test_compare.run(2, result("read", 100.0))])
    assert test_compare.rows(document, "read") == [(1, 2, 100.0), (None, 1, 900.0)]
    (row,) = [row for row in document["results"][0]["rows"] if row["run"] == 1]
    assert (row["state"], row["reason"]) == ("invalid", "the run's data is corrupt")


# ---- the store


def add_run(db: sqlite3.Connection, drive: Json, uuid: str = "u1") -> run_writer.RunRecord:
    return run_writer.RunRecord.create(
        db, uuid=uuid, suite="das", practice=False, drive=drive,
        plan={"schema": "benchstick/plan/2", "steps": [], "notes": []}, pid=1, device="sdx",
    )  # fmt: skip


def test_a_run_keeps_its_findings_and_its_other_passes(bench_home: Path, drive_json: Make) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json())
        record.results([
            named(step="s", name="BR read", value=1.0, unit="MB/s", target="t", pass_no=at)
            for at in (1, 2)
        ])  # fmt: skip
        record.data_differs(3.0, FINDING, ["BR read"])
        before = run_reader.run_json(db, record.number)
        assert (before["corrupt"], before["exit_code"]) == ([FINDING], None)
        # A page read before the recovery after a killed runner.
        paths.make_run_folder()
        row = run_reader.find_run(db, record.number)
        assert run_reader.shown_state(db, row) == "corrupt"
        assert record.finish(RunState.COMPLETE, 0, seconds=4.0) == ("corrupt", 4, TEXT)
        document = run_reader.run_json(db, record.number)
    assert (document["state"], document["exit_code"], document["reason"]) == ("corrupt", 4, TEXT)
    assert [item["state"] for item in document["results"]] == ["invalid", "valid"]
    assert [item["kind"] for item in document["events"]] == ["data-differ"]
    rows = list(
        csv.DictReader(export.results_csv(document, results_from(document["results"])).splitlines())
    )
    assert [row["run_state"] for row in rows] == ["corrupt", "corrupt"]


PLAN: Json = {"schema": "benchstick/plan/1", "steps": [], "notes": []}
# Tables that migration 018 renames.
NEW_TABLES = {
    "figures": "results", "reference_figures": "reference_results", "model_sheets": "spec_sheets",
    "drives_seen": "drive_scans", "desk": "scanner_status",
}  # fmt: skip


def older(home: Path, monkeypatch: pytest.MonkeyPatch) -> sqlite3.Connection:
    """The store as the version before wrote it."""
    scripts = database.migrations()
    monkeypatch.setattr(database, "migrations", lambda: scripts[:15])
    return database.open_writer(home)


def test_runs_of_an_older_store_get_the_state_of_their_event(
    bench_home: Path, drive_json: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = database.migrations()
    with contextlib.closing(older(bench_home, monkeypatch)) as db:
        for at, (state, code, reason, bad) in enumerate(
            [
                (RunState.COMPLETE, 0, None, True),
                (RunState.CANCELLED, 130, "cancelled", True),
                (RunState.COMPLETE, 0, None, False),
            ]
        ):
            db.execute(
                "INSERT INTO runs (uuid, suite, practice, drive_key, drive_code, drive_model,"
                " drive_json, plan_json, state, exit_code, why, created_utc)"
                " VALUES (?, 'cdm', 0, 'key', 'S1', 'Model X', ?, ?, ?, ?, ?, '')",
                (f"u{at}", json.dumps(drive_json()), json.dumps(PLAN), state, code, reason),
            )
            number = at + 1
            db.execute(
                "INSERT INTO steps (run, idx, name, kind, state, t_start, artefacts)"
                " VALUES (?, 0, 'first', 'verify', 'done', 0.5, 'runs/u/00')",
                (number,),
            )
            db.execute(
                "INSERT INTO host_settings (run, path, old, new) VALUES (?, '/sys/x', '1', '2')",
                (number,),
            )
            events = [("link", "reset")]
            if bad:
                events.append(("data-differ", "data differ: 1 files, the first: a"))
                events.append(("data-differ", "data differ: 2 files, the first: b"))
            db.executemany(
                "INSERT INTO events (run, t, utc, kind, text) VALUES (?, 1.0, '', ?, ?)",
                [(number, kind, text) for kind, text in events],
            )
            request = agent_requests.add_request(db, "run", {})
            agent_requests.answer_request(db, request, RequestState.COMPLETE, run=number)
        tables = [row["name"] for row in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )]  # fmt: skip
        counts = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
        indexes = {row["name"] for row in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'runs'"
        )}  # fmt: skip
    monkeypatch.setattr(database, "migrations", lambda: scripts)
    # The page reads a store that is not migrated yet.
    with contextlib.closing(database.open_reader(bench_home)) as db:
        assert len(run_reader.run_json(db, 1)["corrupt"]) == 2
    with contextlib.closing(database.open_writer(bench_home)) as db:
        rows = {row["number"]: row for row in run_reader.list_runs(db)}
        assert [(rows[at]["state"], rows[at]["exit_code"]) for at in (1, 2, 3)] == [
            ("corrupt", 4), ("corrupt", 130), ("done", 0),
        ]  # fmt: skip
        text = "data corrupt: compare: data differ: 1 files, the first: a (and 1 more comparisons)"
        assert rows[1]["reason"] == text
        assert rows[2]["reason"] == f"{text}; then cancelled: cancelled"
        first = run_reader.run_json(db, 1)
        # As the program itself would make them of the same events.
        assert first["corrupt"] == corrupt.from_events(first["events"])
        assert rows[1]["reason"] == corrupt.reason_of(first["corrupt"])
        assert run_reader.run_json(db, 3)["corrupt"] == []
        assert counts == {
            name: db.execute(f"SELECT count(*) FROM {NEW_TABLES.get(name, name)}").fetchone()[0]
            for name in tables
        }
        assert indexes <= {row["name"] for row in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index'"
        )}  # fmt: skip
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert db.execute("PRAGMA foreign_keys").fetchone()[0] == 1
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("INSERT INTO temperatures (run, t, step_index) VALUES (999, 1.0, 0)")
        # Numbers continue, and no unknown state can be stored.
        assert add_run(db, drive_json(), "new").number == 4
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("UPDATE runs SET state = 'green' WHERE number = 4")


def test_an_old_bundle_with_that_event_is_not_imported_as_done(
    bench_home: Path, drive_json: Make
) -> None:
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = add_run(db, drive_json())
        record.event(1.0, "data-differ", "data differ: 1 files, the first: a")
        record.finish(RunState.COMPLETE, 0, seconds=4.0)
        bundle = run_reader.run_json(db, record.number)
        del bundle["corrupt"]
        number = imported_runs.add_run(db, {**bundle, "uuid": "u2"}, [], bench="b", digest="d")
        row = run_reader.find_run(db, number)
        assert (row["state"], row["exit_code"]) == ("corrupt", 4)
        assert json.loads(row["corrupt_json"])[0]["text"] == "data differ: 1 files, the first: a"
        plain = imported_runs.add_run(
            db, {**bundle, "uuid": "u3", "events": [], "exit_code": None}, [], bench="b", digest="d"
        )
        row = run_reader.find_run(db, plain)
        assert (row["state"], row["exit_code"], row["corrupt_json"]) == ("done", None, None)


# ---- what is and what is no fault of the drive


class Cycle:
    """A source that finds these differences."""

    def __init__(self, *differences: Difference) -> None:
        self.differences, self.renewed = differences, False

    def compare(self, *_: object) -> tuple[Difference, ...]:
        return self.differences

    def renew(self, *_: object) -> None:
        self.renewed = True


@pytest.mark.parametrize(
    ("differences", "files"),
    [
        ([Difference("a", 7, "differs from there")], 1),
        ([Difference("a", None, "is missing"), Difference("left", None, "is missing")], 1),
        # The copy reported that this file was left out, another program wrote that one.
        ([Difference("left", None, "is missing")], 0),
        ([Difference("Thumbs.db", None, "is not in the set", of_drive=False)], 0),
    ],
)
def test_only_what_the_drive_did_makes_a_run_corrupt(
    differences: list[Difference], files: int, tmp_path: Path
) -> None:
    reports: list[Any] = []
    invalid: list[Any] = []
    source = Cycle(*differences)
    work: Any = SimpleNamespace(
        filesets=SimpleNamespace(source=source, not_copied={"left"}),
        target=SimpleNamespace(folder=tmp_path), cancel=None, check_cancelled=lambda: 0,
        tests_of_set=lambda name: [f"{name} write"],
        data_differs=lambda text, **more: reports.append({"text": text, **more}),
        record=SimpleNamespace(invalidate_pass=lambda *args: invalid.append(args)),
    )  # fmt: skip
    step = Verify(name="BR, pass 1, compare", seconds=1, set_name="BR", pass_no=1)
    outcome = do_verify(work, step)
    assert outcome.failed and source.renewed
    assert [item["files"] for item in reports] == ([files] if files else [])
    assert len(invalid) == (0 if files else 1)
    if files:
        assert outcome.failed.startswith("data differ: 1 file differs, the first: a")


def test_a_changed_source_is_no_fault_of_the_drive(tmp_path: Path) -> None:
    own, copy = tmp_path / "own", tmp_path / "copy"
    for folder in (own, copy):
        folder.mkdir()
        for name in ("a", "b"):
            (folder / name).write_bytes(name.encode() * 5000)
    source: DriveSource = read_tree(own)
    (own / "a").write_bytes(b"x" * 5000)
    for name in ("a", "b"):
        (copy / name).write_bytes(b"x" * 5000)
    findings = [(item.path, item.of_drive) for item in source.verify(copy)]
    assert findings == [("a", False), ("b", True)]


@pytest.mark.parametrize(
    ("tool", "text", "kind"),
    [
        ("fio", "verify: bad magic header 0, wanted acca at file /dev/loop0 offset 0", DataCorrupt),
        ("fio", "fio: io_u error: Input/output error", DriveLost),
        ("hdparm", "security: cannot verify the password", Inconclusive),
    ],
)
def test_an_overwrite_that_does_not_read_back_is_corrupt(
    tool: str, text: str, kind: type[Exception]
) -> None:
    work: Any = SimpleNamespace(
        sampler=SimpleNamespace(drive_lost=SimpleNamespace(is_set=lambda: False)),
        hold=SimpleNamespace(alive=lambda: True), drive_lost=DriveLost,
    )  # fmt: skip
    result = Finished((tool,), 1, b"", text.encode(), 1.0)
    error = sanitize._failed(work, "overwrite", result)
    assert type(error) is kind
    assert error.exit_code == (5 if kind is Inconclusive else 4)
