"""Queues through the page and its API: what may be asked for, and what is refused."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from benchstick.agent import run_queues as agents
from benchstick.plan.states import QueueState, RequestState
from benchstick.plan.units import duration_text
from benchstick.store import agent_requests, live_progress, queues
from benchstick.store.database import open_writer
from tests.web import every_page, sample
from tests.web.conftest import Bench, Browser, SignedIn

LOCKED = "S6PUNX0T312345A"
CDM = {"suite": "cdm", "params": {"passes": "1"}}
DAS = {"suite": "das", "scale": 0.01}


@pytest.fixture
def db(bench: Bench) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(open_writer(bench.home)) as db:
        yield db


def take(db: sqlite3.Connection, number: int) -> None:
    """What the agent does with the request, but for the runs."""
    body = json.loads(db.execute("SELECT body_json FROM requests WHERE id = ?",
                                 (number,)).fetchone()[0])  # fmt: skip
    agent_requests.answer_request(db, number, RequestState.ACCEPTED)
    agents.take(db, number, body, lambda *_: None)


def test_a_locked_drive_needs_a_second_confirmation_for_the_queue(
    signed_in: SignedIn, bench: Bench
) -> None:
    drafts = ["suite=das", "suite=cdm&fs=exfat&p.passes=1"]
    form = {"drive": LOCKED, "q": drafts, "erase": LOCKED}
    before = bench.count("requests")
    answer = signed_in.post("/queues", form)
    assert answer.status_code == 200 and "Unlock, erase and start" in answer.text
    assert [unescape(q) for q in re.findall(r'name="q" value="([^"]*)"', answer.text)] == drafts
    assert signed_in.post("/queues", {**form, "unlock": "x"}).status_code == 403
    assert signed_in.post("/queues", {**form, "erase": ""}).status_code == 403
    assert bench.count("requests") == before
    start_answer = signed_in.post("/queues", {**form, "unlock": LOCKED})
    assert start_answer.status_code == 303
    assert json.loads(bench.last_request()["body_json"])["unlock"] == LOCKED


def test_an_impossible_queue_is_refused_and_nothing_is_requested(
    signed_in: SignedIn, client: Browser, bench: Bench
) -> None:
    before = bench.count("requests")
    busy = sample.fast().code
    for body, status, field in (
        ({"drive": "practice", "runs": [CDM, DAS]}, 403, "erase"),
        ({"drive": "practice", "runs": [CDM], "erase": "practise"}, 403, "erase"),
        ({"drive": "practice", "runs": [CDM], "erase": "practice", "diskseq": 99}, 409, "drive"),
        ({"drive": busy, "runs": [CDM], "erase": busy}, 409, "drive"),
        ({"drive": LOCKED, "runs": [CDM, DAS], "erase": LOCKED}, 403, "unlock"),
        ({"drive": "practice", "runs": [{"suite": "cdm", "erase": "x"}]}, 400, "runs"),
        ({"drive": "practice", "runs": [CDM] * 21}, 400, "runs"),
        ({"drive": "practice", "runs": [CDM, {"suite": "cdm", "params": {"passes": 99}}],
          "erase": "practice"}, 400, "passes"),
        ({"drive": "port:1-4:0", "runs": [{"suite": "sustained"}, {"suite": "cdm"}],
          "erase": "port:1-4:0"}, 400, "fs"),
    ):  # fmt: skip
        answer = signed_in.api("/api/v1/queues", body)
        assert (answer.status_code, answer.json["error"]["field"]) == (status, field), answer.text
    assert client.post("/api/v1/queues", json={"drive": "practice", "runs": []}).status_code == 401
    assert signed_in.post("/queues", {"drive": "practice"}).status_code == 400
    wrong = signed_in.post("/runs", {"drive": "port:1-4:0", "suite": "cdm", "act": "add",
                                     "q": "suite=sustained"})  # fmt: skip
    assert wrong.status_code == 400 and "put cdm first" in wrong.text
    assert bench.count("requests") == before


def test_a_queue_that_has_ended_is_not_changed(signed_in: SignedIn, db: sqlite3.Connection) -> None:
    body = {"drive": "practice", "runs": [CDM, DAS], "erase": "practice"}
    answer = signed_in.api("/api/v1/queues", body)
    number = answer.json["id"]
    assert answer.headers["Location"] == f"/api/v1/queues/{number}"
    assert get_queue(signed_in, number)["state"] == "waiting"
    take(db, number)
    assert signed_in.api("/api/v1/queues", body).json["error"]["code"] == "busy"
    assert f"Queue {number}" in signed_in.client.get("/runs").text
    queue = get_queue(signed_in, number)
    assert queue["total"]["seconds"] == sum(run["cost"]["seconds"] for run in queue["entries"])
    queues.end(db, number, QueueState.CANCELLED, "cancelled")
    page = signed_in.client.get(f"/queues/{number}").text
    again = unescape(re.findall(r'href="(/runs/new[^"]*)"', page)[0])
    assert parse_qs(urlsplit(again).query)["q"] == ["suite=cdm&p.passes=1", "suite=das&scale=0.01"]
    assert "A queue for this drive" in signed_in.client.get(again).text
    for path in ("cancel", "entries/1/remove"):
        assert signed_in.api(f"/api/v1/queues/{number}/{path}", {}).status_code == 409
    assert signed_in.api(f"/api/v1/queues/{number}/entries/9/remove", {}).status_code == 404
    assert signed_in.client.get(f"/requests/{number}").location == f"/queues/{number}"
    assert signed_in.client.get("/queues/1234567").status_code == 404


def test_the_time_left_is_what_runs_and_what_waits(
    signed_in: SignedIn, bench: Bench, db: sqlite3.Connection
) -> None:
    number = every_page.add_queue(db, bench.numbers)
    story = bench.numbers["story"]
    queue = get_queue(signed_in, number)
    waiting = sum(run["cost"]["seconds"] for run in queue["entries"] if run["state"] == "waiting")
    running = live_progress.read(story.uuid)
    assert running is not None and waiting > 60
    expected = pytest.approx(running["seconds_left"] + waiting)
    assert queue["remaining"] == {"seconds": expected, "is_upper_bound": False}
    text = f"{duration_text(queue['remaining']['seconds'])} left"
    assert text in signed_in.client.get(f"/queues/{number}").text
    queues.end(db, number, QueueState.STOPPED, queues.NO_AGENT)
    assert get_queue(signed_in, number)["remaining"] is None


def get_queue(signed_in: SignedIn, number: int) -> Any:
    return signed_in.client.get(f"/api/v1/queues/{number}").json


def test_the_queue_being_put_together_is_in_the_address_alone(signed_in: SignedIn) -> None:
    form = {"drive": "practice", "suite": "cdm", "p.size": "64MiB", "act": "add", "fs": "auto",
            "erase": "practice", "q": "suite=das&scale=0.01"}  # fmt: skip
    answer = signed_in.post("/runs", form)
    assert answer.status_code == 303
    query = parse_qs(urlsplit(answer.location).query)
    assert set(query) == {"drive", "suite", "q"}
    assert query["q"] == ["suite=das&scale=0.01", "suite=cdm&fs=auto&p.size=64MiB"]
    twin = signed_in.client.get(f"/api/v1{answer.location}").json["queue"]
    assert [run["suite"] for run in twin["runs"]] == ["das", "cdm"]
    assert twin["total"]["destroys"]
