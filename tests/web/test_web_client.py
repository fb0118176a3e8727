"""docs/client.py, as a program of its own, against the page: what it shows works."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from benchstick import errors
from benchstick.plan.states import RequestState
from benchstick.store import agent_requests, auth, bays, known_drives, run_reader, verdicts
from benchstick.store.bays import Slot
from benchstick.store.database import open_writer
from tests.host.bench import wait_for
from tests.unit import test_recipe_outputs
from tests.web.api_document import OPERATIONS
from tests.web.conftest import Bench, serve

CLIENT = Path(__file__).resolve().parents[2] / "docs/client.py"


@pytest.fixture(scope="module")
def url(app: Flask) -> Iterator[str]:
    with serve(app) as address:
        yield address


@pytest.fixture(scope="module")
def token(bench: Bench) -> str:
    with contextlib.closing(open_writer(bench.home)) as db:
        return auth.new_token(db, "client")


def client(url: str, *argv: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({} if token is None else {"BENCHSTICK_TOKEN": token})}
    return subprocess.run(
        # Isolated: nothing of the bench is to be found, the standard library alone.
        [sys.executable, "-I", CLIENT, url, *argv], env=env, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip


@contextlib.contextmanager
def agent(
    bench: Bench, answer: Callable[[sqlite3.Connection, int], None]
) -> Iterator[list[object]]:
    """Answers the next request in the agent's place; gives the requests."""
    requests: list[object] = []

    def work() -> None:
        with contextlib.closing(open_writer(bench.home)) as db:
            (row,) = wait_for(lambda: agent_requests.open_requests(db))
            requests.append(json.loads(row["body_json"]))
            answer(db, row["id"])

    thread = threading.Thread(target=work)
    thread.start()
    yield requests
    thread.join(timeout=90)


def test_it_lists_the_drives(bench: Bench, url: str, token: str) -> None:
    process = client(url, "drives", token=token)
    assert process.returncode == 0, process.stderr
    rows = [line.split("\t") for line in process.stdout.splitlines()]
    with contextlib.closing(open_writer(bench.home)) as db:
        sighting = known_drives.drive_scans(db)
    assert sighting is not None
    assert [row[0] for row in rows] == [drive["code"] for drive in sighting[1]["drives"]]
    assert {"free", "protected"} <= {row[3] for row in rows}


@pytest.mark.parametrize("name", ["cdm", "practice"])
def test_it_runs_a_suite_and_ends_as_the_run(bench: Bench, url: str, token: str, name: str) -> None:
    def answer(db: sqlite3.Connection, request: int) -> None:
        agent_requests.answer_request(db, request, RequestState.ACCEPTED)
        agent_requests.answer_request(db, request, RequestState.COMPLETE, run=bench.numbers[name])

    with contextlib.closing(open_writer(bench.home)) as db:
        run = run_reader.run_json(db, bench.numbers[name])
    with agent(bench, answer) as requests:
        argv = ("run", "cdm", "--drive", "practice", "--param", "passes=1", "--erase", "practice")
        process = client(url, *argv, token=token)
    assert process.returncode == run["exit_code"], process.stderr
    assert f"/runs/{run['number']}\n" in process.stderr
    rows = process.stdout.splitlines()
    assert len(rows) == len(run["results"]) > 0
    assert rows[0].startswith(run["results"][0]["name"])
    (request,) = requests
    assert isinstance(request, dict)
    assert (request["suite"], request["drive"], request["erase"]) == ("cdm", "practice", "practice")
    assert request["params"]["passes"] in ("1", 1)


def test_what_the_agent_refuses_ends_with_its_exit_code(bench: Bench, url: str, token: str) -> None:
    def answer(db: sqlite3.Connection, request: int) -> None:
        error = {"code": "refused", "message": "the drive is in use", "field": None}
        agent_requests.answer_request(db, request, RequestState.REFUSED, answer={"error": error})

    with agent(bench, answer):
        argv = ("run", "cdm", "--drive", "practice", "--erase", "practice")
        process = client(url, *argv, token=token)
    assert (process.returncode, process.stderr) == (3, "client: the drive is in use\n")


def test_it_tests_with_a_recipe_and_ends_as_the_verdict(bench: Bench, url: str, token: str) -> None:
    report = copy.deepcopy(test_recipe_outputs.verdicts()[1])
    assert (report["verdict"], report["exit_code"]) == ("fail", 1)
    code = report["drive"]["code"] = "port:1-4:0"
    report["runs"] = []
    on = Slot(name="port 1-4", state=bays.TESTING, code=code)

    def answer(db: sqlite3.Connection, request: int) -> None:
        bays.keep(db, [on])
        agent_requests.answer_request(db, request, RequestState.COMPLETE)
        # Tested again: that verdict is not the last.
        verdicts.keep(db, {**report, "verdict": "pass", "exit_code": 0})
        time.sleep(1.5)
        last = verdicts.keep(db, report)
        bays.keep(db, [replace(on, state=bays.FINISHED, verdict_number=last, verdict="fail")])

    with agent(bench, answer) as requests:
        process = client(url, "test", "incoming-usb-stick", "--drive", code, token=token)
    assert process.returncode == 1, process.stderr
    (request,) = requests
    assert isinstance(request, dict)
    assert (request["recipe"], request["drive"], request["erase"]) == (
        "incoming-usb-stick",
        code,
        None,
    )
    rows = [line.split("\t") for line in process.stdout.splitlines()]
    assert rows[0][0] == "FAIL"
    assert [report["failures"][0]["code"], report["failures"][0]["text"]] in rows
    assert len(rows) == 1 + len([*report["failures"], *report["inconclusive"], *report["limits"]])
    with contextlib.closing(open_writer(bench.home)) as db:
        last = verdicts.list_verdicts(db, 1)[0]["number"]
    assert f"/verdicts/{last}\n" in process.stderr


@pytest.mark.parametrize(
    ("argv", "with_token", "code", "message"),
    [
        (("run", "cdm", "--drive", "practice"), False, 2, ""),
        (("run", "cdm", "--drive", "no such drive"), True, 2, "no such drive"),
        (("run", "no-such-suite", "--drive", "practice"), True, 2, "no-such-suite"),
        (("run", "cdm", "--drive", "practice", "--param", "passes"), True, 2, "NAME=VALUE"),
        (("test", "no-such-recipe", "--drive", "practice"), True, 2, "no-such-recipe"),
    ],
)
def test_what_the_page_refuses(
    url: str, token: str, argv: tuple[str, ...], with_token: bool, code: int, message: str
) -> None:
    process = client(url, *argv, token=token if with_token else None)
    assert process.returncode == code, process.stderr
    assert message in process.stderr and "Traceback" not in process.stderr


def test_a_bench_that_is_not_there() -> None:
    process = client("http://127.0.0.1:1", "drives")
    assert process.returncode == 75
    assert process.stderr.startswith("client: http://127.0.0.1:1: ")


def test_its_exit_codes_and_addresses_are_those_of_the_bench() -> None:
    text = CLIENT.read_text(encoding="utf-8")
    exits = dict(re.findall(r'"(\w+)": (\d+)', text.split("EXITS = ")[1].split("}")[0]))
    for kind in (errors.BadInput, errors.Refused, errors.DriveLost, errors.StoreFailed):
        assert int(exits[kind.code]) == kind.exit_code
    client_paths = {*re.findall(r'bench\.(?:get|post)\(f?"([a-z]+)', text)}
    assert client_paths == {"drives", "runs", "requests", "desk", "verdicts"}
    bench_paths = {operation.path.split("/")[3] for operation in OPERATIONS}
    assert client_paths <= bench_paths
