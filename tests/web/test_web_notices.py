"""What the booted stick has to say is on every page, in the API and on stderr; never too early."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from benchstick import paths
from benchstick.appliance import state
from benchstick.cli import invoke
from tests.web.conftest import Bench, Browser, SignedIn, browser

NOTICE = "Results will not last: the stick is &lt;write-protected&gt;."


@pytest.fixture
def notices(bench: Bench) -> Iterator[None]:
    paths.make_run_folder()
    document: dict[str, Any] = {
        "schema": state.SCHEMA, "stick": None, "persistent": False,
        "reason": "the stick is <write-protected>",
        "settings_error": {"line": 3, "message": "port: 0 is wrong"}, "other_sticks": [],
        "notes": [],
    }  # fmt: skip
    state.write(document)
    yield
    (paths.run_folder() / "appliance/state.json").unlink()


@pytest.mark.parametrize("path", ["/drives", "/runs", "/methods", "/runs/1", "/nowhere"])
def test_every_page_has_them(client: Browser, notices: None, path: str) -> None:
    page = client.get(path).text
    assert NOTICE in page
    assert "Settings: line 3: port: 0 is wrong; running with defaults." in page


def test_a_host_has_none(client: Browser) -> None:
    assert "About this bench" not in client.get("/drives").text
    assert client.get("/api/v1/status").json["notices"] == []


def test_the_status_has_them(client: Browser, notices: None) -> None:
    texts = client.get("/api/v1/status").json["notices"]
    assert texts[0] == "Results will not last: the stick is <write-protected>."


def test_programs_get_the_whole_record(client: Browser, notices: None) -> None:
    document = client.get("/api/v1/appliance").json
    assert document["schema"] == "benchstick/appliance/1"
    assert document["settings_error"]["line"] == 3


def test_a_host_has_no_record(client: Browser) -> None:
    assert client.get("/api/v1/appliance").status_code == 404


def test_on_the_network_nothing_is_shown_before_the_pin(network_app: Flask, notices: None) -> None:
    visitor = browser(network_app)
    assert not re.search("will not last|line 3", visitor.get("/login").text)
    assert not re.search("will not last|line 3", visitor.get("/drives").text)


def test_signed_in_users_see_them(signed_in: SignedIn, notices: None) -> None:
    assert NOTICE in signed_in.client.get("/drives").text


@pytest.mark.parametrize("command", ["drives", "runs"])
def test_the_commands_print_them_with_their_output(
    bench: Bench, notices: None, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert invoke([command, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "Results will not last: the stick is <write-protected>." in err
    assert "will not last" not in out
