"""Queues without a drive: which run may follow which, when the agent continues, its reports."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchstick import paths
from benchstick.agent import run_queues as agents
from benchstick.cli import queue as commands
from benchstick.cli.queue import Options, read_suites
from benchstick.drives.medium import Token
from benchstick.engine.run_request import Ready
from benchstick.engine.runner import Outcome
from benchstick.errors import PRECEDENCE, BadInput, Refused
from benchstick.plan import run_queue
from benchstick.plan.request import RunRequest
from benchstick.plan.states import RequestState, RunState
from benchstick.plan.steps import Plan
from benchstick.store import agent_requests, database, locks, queues, run_writer
from benchstick.suites import presets, registry
from tests.web import sample

Make = Callable[..., dict[str, Any]]


def plans(drive: dict[str, Any], *choices: tuple[str, str]) -> list[Plan]:
    return [registry.make_plan(suite, drive, {}, fs=fs or None) for suite, fs in choices]


def test_the_cost_of_a_queue_is_that_of_its_runs(drive_json: Make) -> None:
    queue_plans = plans(drive_json(), ("cdm", "keep"), ("sustained", ""))
    whole = run_queue.cost(queue_plans)
    assert whole.seconds == queue_plans[0].seconds + queue_plans[1].seconds
    assert whole.bytes_written == queue_plans[0].bytes_written + queue_plans[1].bytes_written
    assert whole.destroys and not run_queue.cost(queue_plans[:1]).destroys


def test_what_leaves_no_filesystem_is_not_followed_by_what_keeps_one(drive_json: Make) -> None:
    drive = drive_json()
    run_queue.check(
        plans(drive, ("cdm", "keep"), ("sustained", ""), ("das", "auto"), ("cdm", "keep"))
    )
    with pytest.raises(BadInput, match="put cdm first") as refusal:
        run_queue.check(plans(drive, ("sustained", ""), ("cdm", "keep")))
    assert refusal.value.field == "fs"
    with pytest.raises(BadInput, match="1 to 20"):
        run_queue.check([])


def test_only_a_run_that_came_to_its_end_is_followed_by_another() -> None:
    assert [code for code in (*PRECEDENCE, 2, -9) if run_queue.goes_on(code)] == [1, 5, 0]


@pytest.mark.parametrize(
    ("codes", "code"), [((0, 0), 0), ((0, 5), 5), ((5, 2), 2), ((0, 3), 3), ((0, 130), 130)]
)
def test_the_exit_code_is_the_worst(codes: tuple[int, ...], code: int) -> None:
    assert run_queue.exit_code(codes) == code


def test_an_entry_brings_no_drive_and_no_code_of_its_own() -> None:
    body = {"drive": "D", "erase": None, "runs": [{"suite": "cdm", "drive": "X", "erase": "X"}]}
    (entry,) = run_queue.entries_of(body)
    assert (entry["drive"], entry["erase"], entry["suite"]) == ("D", None, "cdm")
    wrongs: tuple[Any, ...] = (None, 5, [], [5], [{}] * 21)
    for wrong in wrongs:
        with pytest.raises(BadInput):
            run_queue.entries_of({"runs": wrong})


# ---- presets, and suites as the command line takes them


@pytest.mark.parametrize("suite", list(presets.PRESETS))
def test_every_preset_of_every_suite_makes_a_plan_of_its_own(suite: str, drive_json: Make) -> None:
    drive = drive_json(write_cache="enabled", trim=True)
    suite_presets = presets.of_suite(suite)
    assert suite_presets[0].name == "default" and not suite_presets[0].params
    assert len({preset.name for preset in suite_presets}) == len(suite_presets)
    steps = set()
    for preset in suite_presets:
        plan = registry.make_plan(
            suite, drive, preset.params, target=preset.target, fs=preset.fs, scale=preset.scale
        )
        steps.add(str(plan.to_json()["steps"]))
    assert len(steps) == len(suite_presets)


def test_several_suites_each_take_the_options_that_they_know() -> None:
    job = RunRequest(suite="das:quick, cdm,sustained", drive="D", erase="D")
    options = Options(params={"passes": "2", "cdm.size": "64MiB"}, fs="exfat", scale=0.1)
    das, cdm, sustained_suite = read_suites(job, options)
    assert (das.suite, das.params, das.fs, das.scale) == ("das", {"passes": "2"}, "exfat", 0.1)
    assert (cdm.params, cdm.scale) == ({"passes": "2", "size": "64MiB"}, None)
    assert (sustained_suite.params, sustained_suite.fs) == ({}, None)
    assert {item.erase for item in (das, cdm, sustained_suite)} == {"D"}
    for suite, wrong in (
        ("das,cdm", Options(params={"nosuch": "1"})), ("cdm,atto", Options(scale=0.5)),
        ("sustained,pts", Options(fs="exfat")), ("das,", Options()), ("das:nosuch", Options()),
        ("das,cdm", Options(params={"pts.depth": "1"})),
    ):  # fmt: skip
        with pytest.raises(BadInput):
            read_suites(RunRequest(suite=suite, drive="D"), wrong)


@pytest.mark.parametrize(
    ("ends", "code", "began", "reason"),
    [
        ((0, 5, 0), 5, 3, None),
        ((0, 4, 0), 4, 2, "why of 4"),
        ((0, Refused("another drive"), 0), 3, 1, "cdm was not started: another drive"),
    ],
)
def test_in_the_foreground_each_run_is_bound_to_the_drive_of_the_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], drive_json: Make,
    bench_home: Path, ends: tuple[Any, ...], code: int, began: int, reason: str | None,
) -> None:  # fmt: skip
    (plan,) = plans(drive_json(), ("cdm", "keep"))
    identity = SimpleNamespace(key=lambda: "key", model="Model X")
    token = Token(5, 7)
    drive = SimpleNamespace(identity=identity, diskseq=7, code="D", medium=token)
    jobs = [RunRequest(suite="cdm", drive="D") for _ in ends]
    readies = [SimpleNamespace(request=job, drive=drive, plan=plan) for job in jobs]
    ready_jobs: list[RunRequest] = []
    ending = iter(ends)

    def again(job: RunRequest, home: Path, hotplugs: object) -> object:
        ready_jobs.append(job)
        return readies[0]

    def carried(ready: object, home: Path, cancel: object, on_begin: object) -> object:
        end = next(ending)
        if isinstance(end, Refused):
            raise end
        number = len(ready_jobs) + 1
        return SimpleNamespace(
            number=number, exit_code=end, reason=f"why of {end}" if end > 3 else ""
        )

    for name, stand_in in (
        ("check_queue", lambda *_: readies), ("make_ready", again), ("carry_out", carried),
        ("document_of", lambda home, number: {"number": number}),
    ):  # fmt: skip
        monkeypatch.setattr(commands, name, stand_in)
    assert commands.queue_of(jobs, bench_home, (), dry_run=False, as_json=True) == code
    document = json.loads(capsys.readouterr().out)
    assert [run["number"] for run in document["runs"]] == list(range(1, began + 1))
    assert len(document["not_started"]) == len(ends) - began
    assert reason is None or document["reason"] == reason
    assert {((job.drive_key, job.diskseq), job.medium, job.follows) for job in ready_jobs} == {
        (("key", 7), token.text, True)
    }


# ---- the agent's part, with workers that do nothing


@pytest.fixture
def db(bench_home: Path) -> Iterator[sqlite3.Connection]:
    paths.make_run_folder()
    lock = locks.RunLock("agent")
    with contextlib.closing(database.open_writer(bench_home)) as connection:
        yield connection
    lock.release()


class Workers:
    """A stand-in for the agent: lists the workers that it would start, and reports their ends."""

    def __init__(self, db: sqlite3.Connection, drive: dict[str, Any]) -> None:
        self.db = db
        self.drive = drive
        self.start_calls: list[tuple[int, int, bool]] = []

    def start(self, number: int, place: int, first: bool) -> None:
        self.start_calls.append((number, place, first))

    def take(self, *suites: str) -> int:
        body = {
            "drive": "D", "drive_key": "key", "diskseq": 1, "erase": "D",
            "runs": [{"suite": suite} for suite in suites],
        }  # fmt: skip
        number = agent_requests.add_request(self.db, "run", body)
        agent_requests.answer_request(self.db, number, RequestState.ACCEPTED)
        agents.take(self.db, number, body, self.start)
        return number

    def ends(self, number: int, code: int, reason: str | None = None) -> None:
        """The run that was started last ends."""
        place = self.start_calls[-1][1]
        run = run_writer.RunRecord.create(
            self.db, uuid=f"u{number}{place}", suite="cdm", practice=False, drive=self.drive,
            plan={"schema": "benchstick/plan/2", "steps": [], "notes": []}, pid=1, device="sdx",
        )  # fmt: skip
        queues.entry_runs(self.db, number, place, run.number)
        agent_requests.answer_request(self.db, number, RequestState.ACCEPTED, run=run.number)
        state = RunState.COMPLETE if code in (0, 5) else RunState.FAILED
        run.finish(state, code, seconds=1.0, reason=reason)
        agents.continue_queue(self.db, number, code, self.start)

    def read_state(self, number: int) -> tuple[str, str | None, list[str]]:
        document = queues.document(self.db, number)
        assert document is not None
        return (
            document["state"],
            document["reason"],
            [entry["state"] for entry in document["entries"]],
        )


@pytest.fixture
def workers(db: sqlite3.Connection, drive_json: Make) -> Workers:
    return Workers(db, drive_json())


def test_runs_follow_one_another_without_the_removed_one(workers: Workers) -> None:
    number = workers.take("cdm", "das", "atto")
    assert workers.read_state(number) == ("open", None, ["starting", "waiting", "waiting"])
    with pytest.raises(Refused, match=f"queue {number} has this drive"):
        workers.take("cdm")
    assert agents.cancel(workers.db, {"queue": number, "position": 1}) is None
    with pytest.raises(BadInput, match="no run waits"):
        agents.cancel(workers.db, {"queue": number, "position": 0})
    workers.ends(number, 5)
    workers.ends(number, 0)
    assert workers.start_calls == [(number, 0, True), (number, 2, False)]
    assert workers.read_state(number) == ("done", None, ["done", "taken_out", "done"])
    answer = agent_requests.answer_of(workers.db, number)
    assert answer is not None and answer["state"] == RequestState.COMPLETE


def test_a_drive_that_is_lost_or_replaced_stops_the_queue(workers: Workers) -> None:
    number = workers.take("cdm", "das")
    workers.ends(number, 4, "the drive went away")
    state, reason, entries = workers.read_state(number)
    assert (state, entries) == ("stopped", ["failed", "not_started"])
    assert reason is not None and reason.endswith("failed: the drive went away")
    other = workers.take("cdm", "das", "atto")
    workers.ends(other, 0)
    queues.entry_refused(workers.db, other, 1, "D: not the drive that was chosen")
    agents.continue_queue(workers.db, other, 3, workers.start)
    state, reason, entries = workers.read_state(other)
    assert (state, entries) == ("stopped", ["done", "refused", "not_started"])
    assert reason == "entry 2 of the queue was not started: D: not the drive that was chosen"


def test_a_cancelled_queue_starts_nothing_more(workers: Workers) -> None:
    number = workers.take("cdm", "das")
    assert agents.cancel(workers.db, {"queue": number}) == number
    workers.ends(number, 0)
    assert len(workers.start_calls) == 1
    assert workers.read_state(number) == ("cancelled", "cancelled", ["done", "not_started"])
    for wrong in ({"queue": number}, {"queue": "1"}, {"queue": True}, {"queue": -1}):
        with pytest.raises(BadInput):
            agents.cancel(workers.db, wrong)


def test_a_queue_refused_at_the_start_is_reported_as_refused(workers: Workers) -> None:
    number = workers.take("cdm", "das")
    error = {"code": "bad_input", "message": "passes: wrong", "field": "passes"}
    agent_requests.answer_request(workers.db, number, RequestState.REFUSED, answer={"error": error})
    agents.continue_queue(workers.db, number, 2, workers.start)
    assert workers.read_state(number) == ("refused", "passes: wrong", ["not_started"] * 2)
    assert queues.open_queues(workers.db) == []


# ---- a queue of the command line


def readies(suites: str) -> list[Ready]:
    drive = sample.practice()
    return [
        Ready(RunRequest(suite=suite, drive="practice"), drive, plan, {}, None)
        for suite, plan in ((name, registry.make_plan(name, drive.to_json(), {}))
                            for name in suites.split(","))
    ]  # fmt: skip


@pytest.fixture
def in_turn(
    db: sqlite3.Connection, bench_home: Path, monkeypatch: pytest.MonkeyPatch, drive_json: Make
) -> Callable[..., tuple[Any, list[dict[str, Any]]]]:
    """Runs a queue as the command does. The runs are invented: each has an exit code, and an action
    during it. Returns the outcome, and the queue's document at the start of each run and at the
    end."""
    documents: list[dict[str, Any]] = []

    def carry(codes: list[int], act: Callable[[int], None] = lambda _: None) -> Any:
        ends = iter(codes)

        def one(ready: Ready, home: Path, cancel: Any, on_begin: Callable[[int], None]) -> Any:
            run = run_writer.RunRecord.create(
                db, uuid=f"r{len(documents)}", suite=ready.plan.suite, practice=True,
                drive=drive_json(), plan=ready.plan.to_json(), pid=1, device="loop0",
            )  # fmt: skip
            on_begin(run.number)
            (row,) = queues.open_queues(db)
            documents.append(queues.document(db, row["number"]) or {})
            act(int(row["number"]))
            code = next(ends)
            run.finish(RunState.COMPLETE if code == 0 else RunState.FAILED, code, seconds=1.0)
            return Outcome(run.number, f"r{len(documents)}", RunState.COMPLETE, code, "it failed")

        monkeypatch.setattr(commands, "carry_out", one)
        monkeypatch.setattr(
            commands, "make_ready",
            lambda job, *_: next(item for item in readies("cdm,atto,sweep") if item.request.suite
                                 == job.suite),
        )  # fmt: skip
        outcome = commands._carry_out_all(readies("cdm,atto,sweep"), bench_home, ())
        documents.append(queues.document(db, documents[0]["number"]) or {})
        return outcome, documents

    return carry


def test_the_page_shows_a_queue_of_the_command_line(
    in_turn: Callable[..., Any], db: sqlite3.Connection
) -> None:
    outcome, documents = in_turn([0, 0, 0])
    states = [[entry["state"] for entry in document["entries"]] for document in documents]
    assert outcome.codes == [0, 0, 0]
    assert [document["state"] for document in documents] == ["open", "open", "open", "done"]
    assert {document["by"] for document in documents} == {"command"}
    assert states[0][1:] == ["waiting", "waiting"]
    assert states[-1] == ["done", "done", "done"]
    assert [entry["run"] for entry in documents[-1]["entries"]] == outcome.numbers
    # The agent takes no part in it: it was answered from the start.
    assert agent_requests.open_requests(db) == []
    assert queues.open_of_agent(db) == []


def test_a_run_of_it_can_be_removed_and_a_failure_ends_it(
    in_turn: Callable[..., Any], db: sqlite3.Connection
) -> None:
    def meanwhile(number: int) -> None:
        agents.cancel(db, {"queue": number, "position": 1})
        with pytest.raises(Refused, match="has this drive"):
            agents.check_free(db, {"drive_key": sample.practice().identity.key()})
        # An agent that starts leaves it alone.
        agents.close_all(db)

    numbers: list[int] = []

    def once(number: int) -> None:
        if not numbers:
            meanwhile(number)
        numbers.append(number)

    outcome, documents = in_turn([0, 4], once)
    assert (outcome.taken_out, outcome.codes) == ([1], [0, 4])
    assert (documents[-1]["state"], documents[-1]["reason"]) == ("stopped", "it failed")
    assert [entry["state"] for entry in documents[-1]["entries"]] == ["done", "taken_out", "failed"]


def test_what_a_killed_command_left_is_closed_by_the_next_agent(db: sqlite3.Connection) -> None:
    body = {"drive": "practice", "drive_key": "key", "runs": [{"suite": "cdm"}] * 2}
    lock = locks.RunLock("queue-x")
    number = queues.begin_own(db, body, "queue-x")
    assert (queues.document(db, number) or {})["state"] == "open"
    with pytest.raises(Refused):
        agents.check_free(db, {"drive_key": "key"})
    lock.release()
    document = queues.document(db, number) or {}
    assert (document["state"], document["reason"]) == ("stopped", queues.NO_COMMAND)
    agents.check_free(db, {"drive_key": "key"})
    agents.close_all(db)
    assert queues.open_queues(db) == []
    assert (queues.document(db, number) or {})["reason"] == queues.NO_COMMAND


def test_the_next_agent_starts_nothing(workers: Workers) -> None:
    number = workers.take("cdm", "das")
    agents.close_all(workers.db)
    assert workers.read_state(number) == ("stopped", queues.NO_AGENT, ["not_started"] * 2)
    workers.ends(number, 0)
    assert len(workers.start_calls) == 1
