"""The page offers to set the clock on a booted stick alone, and only asks the agent for it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from benchstick import paths
from benchstick.appliance import clock, state
from tests.web.conftest import Bench, Browser, SignedIn


@pytest.fixture
def stick(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    paths.make_run_folder()
    state.write({"schema": state.SCHEMA, "persistent": True, "stick": None})
    monkeypatch.setattr(clock, "is_kept", lambda: False)
    yield
    (paths.run_folder() / "appliance/state.json").unlink()


def now() -> int:
    return int(time.time() * 1000)


def test_the_offer_is_on_the_page_of_a_stick_only(client: Browser) -> None:
    assert 'id="clock"' not in client.get("/drives").text
    assert client.get("/api/v1/clock").json["may_be_set"] is False


def test_who_is_signed_in_may_ask(stick: None, bench: Bench, signed_in: SignedIn) -> None:
    page = signed_in.client.get("/drives").text
    assert 'id="clock-form"' in page
    answer = signed_in.post("/clock", {"ms": str(now())})
    assert answer.status_code == 303
    request = bench.last_request()
    assert request["kind"] == "clock"
    assert abs(json.loads(request["body_json"])["time"] - time.time()) < 5
    assert "The agent sets the clock" in signed_in.client.get(answer.headers["Location"]).text


def test_the_api_takes_it_too(stick: None, bench: Bench, signed_in: SignedIn) -> None:
    assert signed_in.client.get("/api/v1/clock").json["may_be_set"] is True
    answer = signed_in.api("/api/v1/clock", {"ms": now()})
    assert answer.status_code == 202
    assert signed_in.client.get(answer.json["href"]).json["kind"] == "clock"


def test_nobody_else_may(stick: None, bench: Bench, client: Browser, signed_in: SignedIn) -> None:
    before = bench.count("requests")
    assert "clock-form" not in client.get("/drives").text
    assert client.post("/clock", data={"ms": str(now())}).status_code == 401
    assert signed_in.client.post("/clock", data={"ms": str(now())}).status_code == 403
    assert bench.count("requests") == before


@pytest.mark.parametrize("ms", ["", "x", "0", "-1", "99999999999999999999", "1e12"])
def test_an_odd_time_is_bad_input(stick: None, signed_in: SignedIn, ms: str) -> None:
    assert signed_in.post("/clock", {"ms": ms}).status_code == 400


def test_a_host_keeps_its_clock(signed_in: SignedIn) -> None:
    assert signed_in.post("/clock", {"ms": str(now())}).status_code == 409
