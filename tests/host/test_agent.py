"""The agent: takes requests from the store, checks each, and answers."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from benchstick.store import agent_requests, database, known_drives, recipes, verdicts
from tests.host.bench import Bench, mounts_below, processes, wait_for

PARAMS = {"passes": "1", "time": "1", "interval": "0", "size": "32MiB", "profile": "demo"}


@pytest.fixture(scope="module")
def agent(bench: Bench) -> Iterator[subprocess.Popen[str]]:
    bench.run("practice")
    process = bench.start("agent")
    wait_for(lambda: read_seen_drives(bench))
    yield process
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)


def read_seen_drives(bench: Bench) -> Any:
    try:
        with contextlib.closing(database.open_reader(bench.home)) as db:
            return known_drives.drive_scans(db)
    except Exception:  # noqa: BLE001 - not there yet: asked again
        return None


def practice_drive(bench: Bench) -> dict[str, Any]:
    _, document = read_seen_drives(bench)
    drive: dict[str, Any] = next(d for d in document["drives"] if d["code"] == "practice")
    return drive


def ask(bench: Bench, kind: str, body: object) -> int:
    with contextlib.closing(database.open_for_web(bench.home)) as db:
        return agent_requests.add_request(db, kind, body)  # type: ignore[arg-type]


def answer(bench: Bench, request: int) -> sqlite3.Row | None:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        row: sqlite3.Row | None = db.execute(
            "SELECT * FROM answers WHERE request = ?", (request,)
        ).fetchone()
        return row


def final(bench: Bench, request: int) -> Any:
    def final_answer() -> Any:
        row = answer(bench, request)
        return row if row is not None and row["state"] != "taken" else None

    return wait_for(final_answer, 90)


def wish(bench: Bench, **changes: object) -> dict[str, Any]:
    drive = practice_drive(bench)
    return {
        "suite": "cdm",
        "drive": "practice",
        "drive_key": drive["identity"]["drive_key"],
        "diskseq": drive["diskseq"],
        "params": PARAMS,
        "erase": "practice",
        **changes,
    }


def test_a_request_becomes_a_run(bench: Bench, agent: subprocess.Popen[str]) -> None:
    row = final(bench, ask(bench, "run", wish(bench)))
    assert row["state"] == "done", row["answer_json"]
    document = bench.json("show", str(row["run"]))
    assert document["state"] == "done"
    assert document["suite"] == "cdm"


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"erase": "wrong"}, "refused", "erase"),
        ({"erase": None}, "refused", "erase"),
        ({"suite": "nosuch"}, "bad_input", "suite"),
        ({"suite": None}, "bad_input", "suite"),
        ({"suite": ["cdm"]}, "bad_input", "suite"),
        ({"drive": "NOSUCH"}, "bad_input", None),
        ({"drive": 5}, "bad_input", "drive"),
        ({"params": {"size": "x"}}, "bad_input", "size"),
        ({"params": "x"}, "bad_input", "params"),
        ({"params": {"size": 5}}, "bad_input", "params"),
        ({"scale": "much"}, "bad_input", "scale"),
        ({"scale": 0.5}, "bad_input", "scale"),
        ({"target": "moon"}, "bad_input", "target"),
        ({"fs": "zfs"}, "bad_input", "fs"),
        ({"drive_key": "other"}, "refused", None),
        ({"drive_key": 7}, "bad_input", "drive_key"),
        ({"drive_key": None}, "bad_input", "drive_key"),
        ({"diskseq": 999999}, "refused", None),
        ({"suite": "das", "params": {"set": "/etc"}}, "bad_input", "set"),
    ],
)
def test_a_wrong_request_is_refused_with_its_field_and_writes_nothing(
    bench: Bench,
    agent: subprocess.Popen[str],
    changes: dict[str, object],
    code: str,
    field: str | None,
) -> None:
    before = len(bench.json("runs", "--practice")["runs"])
    row = final(bench, ask(bench, "run", wish(bench, **changes)))
    assert row["state"] == "refused"
    error = json.loads(row["answer_json"])["error"]
    assert error["code"] == code, error
    assert "Traceback" not in error["message"]
    if field is not None:
        assert error["field"] == field
    assert len(bench.json("runs", "--practice")["runs"]) == before


def test_a_request_that_is_no_object_is_refused(bench: Bench, agent: subprocess.Popen[str]) -> None:
    deep: list[object] = []
    for _ in range(900):
        deep = [deep]
    for body in ([], "x", 5, None, deep, {"suite": deep, "drive": "practice"}):
        assert final(bench, ask(bench, "run", body))["state"] == "refused"
    assert agent.poll() is None


def test_cancel_by_request(bench: Bench, agent: subprocess.Popen[str]) -> None:
    long = wish(bench, params={**PARAMS, "time": "30"})
    request = ask(bench, "run", long)
    wait_for(lambda: processes("fio", str(bench.home)))
    number = wait_for(lambda: (answer(bench, request) or {"run": None})["run"])
    assert final(bench, ask(bench, "cancel", {"run": number}))["state"] == "done"
    assert final(bench, request)["state"] == "done"
    assert bench.json("show", str(number))["state"] == "cancelled"
    assert mounts_below(bench.root) == []
    for body in ({"run": number}, {"run": "1"}, {"run": True}, {}, {"run": 10**30}):
        assert final(bench, ask(bench, "cancel", body))["state"] == "refused"


def test_a_second_agent_is_refused(bench: Bench, agent: subprocess.Popen[str]) -> None:
    result = bench.run("agent")
    assert result.returncode == 3
    assert "already running" in result.stderr


def test_a_request_from_before_the_agent_started_is_refused(own_bench: Bench) -> None:
    own_bench.run("practice")
    database.open_writer(own_bench.home).close()
    body = {"suite": "cdm", "drive": "practice", "params": PARAMS, "erase": "practice"}
    request = ask(own_bench, "run", body)
    process = own_bench.start("agent")
    row = final(own_bench, request)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert row["state"] == "refused"
    assert "request it again" in row["answer_json"]
    assert own_bench.json("runs", "--practice")["runs"] == []


def test_an_agent_that_ends_cancels_its_runs(own_bench: Bench) -> None:
    own_bench.run("practice")
    process = own_bench.start("agent")
    wait_for(lambda: read_seen_drives(own_bench))
    ask(own_bench, "run", wish(own_bench, params={**PARAMS, "time": "30"}))
    wait_for(lambda: processes("fio", str(own_bench.home)))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert processes("fio", str(own_bench.home)) == []
    (run,) = own_bench.json("runs", "--practice")["runs"]
    assert run["state"] == "cancelled"
    assert mounts_below(own_bench.root) == []


RECIPE = """
[[suite]]
name = "cdm"
params = { passes = 1, time = 1, interval = 0, size = "32MiB", profile = "demo" }
[[limit]]
fact = "transport"
op = "=="
value = "virtual"
"""


def ask_for_test(bench: Bench, **changes: object) -> Any:
    """The answer to a request for a test of the practice drive by the uploaded recipe."""
    drive = practice_drive(bench)
    body = {"recipe": "mine", "drive": "practice", "drive_key": drive["identity"]["drive_key"],
            "diskseq": drive["diskseq"], "erase": None, **changes}  # fmt: skip
    return final(bench, ask(bench, "qa", body))


def verdicts_of(bench: Bench) -> list[dict[str, Any]]:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        return [verdicts.find(db, item["number"]) for item in verdicts.list_verdicts(db)]


def test_a_test_by_an_uploaded_recipe(agent: subprocess.Popen[str], bench: Bench) -> None:
    with contextlib.closing(database.open_for_web(bench.home)) as db:
        recipes.save(db, "mine", RECIPE)
        recipes.save(db, "wrong", "speed = 1")
    final(bench, ask(bench, "scan", {"text": "A-17"}))
    for changes, message in (
        ({"erase": "other"}, "is not the code of practice"),
        ({"diskseq": 99999}, "unplugged or replaced"),
        ({"recipe": "wrong"}, "wrong.toml:1: 'speed'"),
        ({"recipe": "/etc/hostname"}, "no such file"),
    ):
        refusal = ask_for_test(bench, **changes)
        assert refusal["state"] == "refused"
        assert message in json.loads(refusal["answer_json"])["error"]["message"]
    assert verdicts_of(bench) == []
    assert ask_for_test(bench, erase="practice")["state"] == "done"
    assert (
        "is being tested"
        in json.loads(ask_for_test(bench, erase="practice")["answer_json"])["error"]["message"]
    )
    wait_for(lambda: verdicts_of(bench), 90)
    (verdict,) = verdicts_of(bench)
    assert (verdict["verdict"], verdict["labels"]) == ("pass", {"asset": "A-17"})
    assert verdict["recipe"]["file"] == "mine.toml"
    # Nobody typed the code, and no port of the bench is set where that is not needed.
    wait_for(lambda: ask_for_test(bench)["state"] == "done", 30)
    wait_for(lambda: len(verdicts_of(bench)) == 2, 90)
    assert verdicts_of(bench)[0]["inconclusive"][0]["code"] == "erase-not-allowed"
