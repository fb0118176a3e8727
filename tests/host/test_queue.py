"""A queue on the practice drive, run by the agent."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchstick.store import database, queues
from tests.host.bench import Bench, wait_for
from tests.host.test_agent import PARAMS, ask, final, read_seen_drives, wish

QUICK = {"suite": "cdm", "params": {**PARAMS, "only": "read"}}
LONG = {"suite": "cdm", "params": {**PARAMS, "time": "30"}}


@pytest.fixture(scope="module")
def agent(bench: Bench) -> Iterator[subprocess.Popen[str]]:
    bench.run("practice")
    process = bench.start("agent")
    wait_for(lambda: read_seen_drives(bench))
    with pytest.MonkeyPatch.context() as patch:
        # The locks of the agent and of runs are there.
        patch.setenv("BENCHSTICK_RUN", bench.environment["BENCHSTICK_RUN"])
        yield process
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def queued(bench: Bench, *runs: object, **changes: object) -> int:
    body = {**wish(bench, **changes), "runs": list(runs)}
    for name in ("suite", "params"):
        body.pop(name)
    return ask(bench, "run", body)


def read_queue(bench: Bench, number: int) -> dict[str, Any]:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        document = queues.document(db, number)
    assert document is not None
    return document


def when(bench: Bench, number: int, is_so: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The queue as soon as `is_so` holds of it."""

    def look() -> dict[str, Any] | None:
        queue = read_queue(bench, number)
        return queue if is_so(queue) else None

    queue: dict[str, Any] = wait_for(look, 90)
    return queue


def states(document: dict[str, Any]) -> list[str]:
    return [entry["state"] for entry in document["entries"]]


def running(document: dict[str, Any]) -> bool:
    return "running" in states(document)


def runs_of(bench: Bench) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = bench.json("runs", "--practice")["runs"]
    return runs


def test_runs_follow_one_another_until_one_is_cancelled(
    bench: Bench, agent: subprocess.Popen[str]
) -> None:
    number = queued(bench, QUICK, LONG, LONG, QUICK)
    when(bench, number, lambda item: item["state"] == "open")
    assert final(bench, ask(bench, "cancel", {"queue": number, "position": 1}))["state"] == "done"
    # The drive is the queue's, between its runs too.
    assert final(bench, ask(bench, "run", wish(bench)))["state"] == "refused"
    third = when(bench, number, lambda item: item["entries"][2]["state"] == "running")
    assert states(third) == ["done", "taken_out", "running", "waiting"]
    run = third["entries"][2]["run"]
    ask(bench, "cancel", {"run": run})
    queue = when(bench, number, lambda item: item["state"] == "stopped")
    assert states(queue) == ["done", "taken_out", "cancelled", "not_started"]
    assert f"run {run} cancelled" in queue["reason"]
    assert [item["number"] for item in runs_of(bench)] == [run, queue["entries"][0]["run"]]


def test_an_error_in_the_last_one_shows_before_the_first_starts(
    bench: Bench, agent: subprocess.Popen[str]
) -> None:
    before = len(runs_of(bench))
    numbers = []
    for runs, changes in (
        ((QUICK, {"suite": "cdm", "params": {"passes": "99"}}), {}),
        ((QUICK, {"suite": "cdm"}), {"erase": None}),
        ((), {}),
    ):  # fmt: skip
        numbers.append(queued(bench, *runs, **changes))
        assert final(bench, numbers[-1])["state"] == "refused"
    queue = read_queue(bench, numbers[0])
    assert (queue["state"], states(queue)) == ("refused", ["not_started"] * 2)
    assert "passes" in queue["reason"]
    assert len(runs_of(bench)) == before


def test_a_command_in_a_terminal_is_shown_and_cancelled_as_a_queue(
    bench: Bench, agent: subprocess.Popen[str]
) -> None:
    params = {**PARAMS, "time": "30"}
    options = [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
    command = bench.start(*bench.practice("cdm,cdm,cdm", "--fs", "auto", *options))

    def started() -> dict[str, Any] | None:
        assert command.poll() is None, command.communicate()
        with contextlib.closing(database.open_reader(bench.home)) as db:
            number = queues.newest(db, 1)
        queue = read_queue(bench, number[0]) if number else None
        return queue if queue and queue["by"] == "command" and running(queue) else None

    number = wait_for(started, 90)["number"]
    assert final(bench, ask(bench, "cancel", {"queue": number, "position": 1}))["state"] == "done"
    # The agent starts nothing of it, and nothing else on its drive.
    assert final(bench, ask(bench, "run", wish(bench)))["state"] == "refused"
    assert states(read_queue(bench, number)) == ["running", "taken_out", "waiting"]
    assert final(bench, ask(bench, "cancel", {"queue": number}))["state"] == "done"
    assert command.wait(timeout=90) == 130
    queue = read_queue(bench, number)
    assert queue["state"] == "cancelled"
    assert states(queue) == ["cancelled", "taken_out", "not_started"]


def test_a_killed_agent_leaves_its_run_and_the_next_starts_nothing(
    bench: Bench, agent: subprocess.Popen[str]
) -> None:
    number = queued(bench, LONG, QUICK)
    when(bench, number, running)
    agent.kill()
    agent.wait(timeout=60)
    # A reader gets the same before the next agent starts. The run itself continues.
    queue = read_queue(bench, number)
    assert (queue["state"], queue["reason"]) == ("stopped", queues.NO_AGENT)
    assert states(queue) == ["running", "not_started"]
    again = bench.start("agent")
    try:
        stored_state = wait_for(lambda: closed(bench, number))
        assert stored_state == ("stopped", queues.NO_AGENT)
        run = str(read_queue(bench, number)["entries"][0]["run"])
        assert bench.run("cancel", run).returncode == 0
        when(bench, number, lambda queue: states(queue) == ["cancelled", "not_started"])
    finally:
        again.send_signal(signal.SIGTERM)
        again.communicate(timeout=120)


def closed(bench: Bench, number: int) -> tuple[str, str] | None:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        row = db.execute("SELECT state, reason FROM queues WHERE number = ?", (number,)).fetchone()
    return None if row["state"] == "open" else (row["state"], row["reason"])
