"""A form that is sent without a session, or with an old one, leads back to its page."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from flask import Flask

from tests.web.conftest import Bench, Browser, SignedIn, browser
from webui.auth.pin import LoginKey, Pin
from webui.auth.request_guard import COOKIE

FIELDS = [
    ("drive", "practice"), ("suite", "cdm"), ("target", "file"), ("fs", "exfat"),
    ("p.size", "64MiB"), ("p.passes", "3"), ("p.profile", "peak"),
    ("q", "suite=das&scale=0.05&p.passes=1"), ("q", "suite=sustained&p.block=128k"),
]  # fmt: skip
SECRETS = {"csrf": "x", "erase": "practice", "unlock": "practice", "drive_key": "k|m|1"}
START: dict[str, Any] = {**SECRETS, "diskseq": "1", "medium": "1-1-x", "act": "start"}
for name, value in FIELDS:
    START.setdefault(name, []).append(value)


def way_back(answer: Any) -> str:
    """Where the page's button leads after signing in."""
    link = re.search(r'class="btn primary" href="([^"]+)"', answer.text)
    assert link is not None
    address = html.unescape(link[1])
    if not address.startswith("/login"):
        return address
    return dict(parse_qsl(urlsplit(address).query))["next"]


def sign_in(client: Browser, key: LoginKey, back: str) -> str:
    """Sign in with the one-time key on the page of the button; where that leads."""
    form = client.get("/login", query_string={"next": back}).text
    field = re.search(r'name="next" value="([^"]+)"', form)
    assert field is not None
    data = {"secret": key.current, "next": html.unescape(field[1])}
    return str(client.post("/login", data=data).location)


def test_the_start_form_comes_back_with_what_was_chosen(
    app: Flask, key: LoginKey, bench: Bench
) -> None:
    client, before = browser(app), bench.count("requests")
    answer = client.post("/runs", data=START, headers={"Referer": "http://localhost/runs/new"})
    assert answer.status_code == 401
    assert "What was chosen is kept; codes have to be typed again." in answer.text
    back = sign_in(client, key, way_back(answer))
    assert urlsplit(back).path == "/runs/new"
    assert sorted(parse_qsl(urlsplit(back).query)) == sorted(FIELDS)
    page = client.get(back)
    assert page.status_code == 200
    for field, value in (("p-size", "64MiB"), ("p-passes", "3")):
        assert re.search(rf'id="{field}"[^>]* value="{value}"', page.text), field
    assert "<option selected>peak</option>" in page.text
    assert '<option value="exfat" selected>' in page.text
    assert 'name="q" value="suite=sustained&amp;p.block=128k"' in page.text
    assert re.search(r'name="erase"[^>]* value=""', page.text)
    assert bench.count("requests") == before


def test_a_queue_comes_back_with_its_runs(client: Browser) -> None:
    drafts = [value for name, value in FIELDS if name == "q"]
    answer = client.post("/queues", data={**SECRETS, "drive": "practice", "q": drafts})
    assert answer.status_code == 401
    path, _, query = way_back(answer).partition("?")
    assert path == "/runs/new"
    assert parse_qsl(query) == [("drive", "practice"), *(("q", item) for item in drafts)]


@pytest.mark.parametrize(
    ("form", "referrer", "back"),
    [
        ("/runs/6/cancel", "/runs/6", "/runs/6"),
        ("/runs/6/cancel", None, "/runs/6"),
        ("/queues/2/entries/3/remove", None, "/queues/2"),
        ("/labels", "/drives/port:1-4:0", "/drives/port:1-4:0"),
        ("/labels", None, "/drives"),
        ("/desk/new", "/desk/new?drive=practice&recipe=own", "/desk/new?drive=practice&recipe=own"),
        ("/desk/slots/slot 1", None, "/desk"),
        ("/recipes", "/recipes", "/recipes"),
        ("/recipes/check", None, "/recipes"),
        # The page that shows what was sent is no page to load.
        ("/recipes", "/recipes/check", "/recipes"),
        ("/recipes/my own/remove", None, "/recipes/my%20own"),
        ("/models", "/models?edit=3", "/models?edit=3"),
        ("/models/3/remove", None, "/models"),
        ("/references", None, "/references"),
        ("/settings/tokens", None, "/settings/tokens"),
        ("/imports", None, "/runs"),
        ("/nowhere", None, "/drives"),
        # Codes and keys are in no address, and nobody else's page is led back to.
        ("/clock", "/runs/new?drive=practice&erase=practice&unlock=x", "/runs/new?drive=practice"),
        ("/clock", "/login?key=abc", "/drives"),
        ("/clock", "//evil.example/x", "/drives"),
    ],
)
def test_other_forms_lead_back_to_their_page(
    client: Browser, form: str, referrer: str | None, back: str
) -> None:
    headers = {} if referrer is None else {"Referer": f"http://localhost{referrer}"}
    answer = client.post(form, data={**SECRETS, "text": "typed"}, headers=headers)
    assert answer.status_code == 401
    assert way_back(answer) == back
    assert "What was typed there, or a file, is not kept." in answer.text


def test_a_form_of_another_site_is_not_led_back(network_app: Flask, app: Flask) -> None:
    for one in (app, network_app):
        for headers in (
            {"Origin": "http://evil.example"}, {"Referer": "http://evil.example/runs"},
            {"Sec-Fetch-Site": "cross-site"},
        ):  # fmt: skip
            answer = browser(one).post("/runs", data=START, headers=headers)
            assert answer.status_code == 403
            assert "practice" not in answer.text
        # The Origin is ours, what it says of the page is not.
        headers = {"Origin": "http://localhost", "Referer": "http://evil.example/runs"}
        answer = browser(one).post("/runs/6/cancel", headers=headers)
        assert way_back(answer) == "/runs/6"


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/runs", "/\\evil"])
def test_signing_in_does_not_lead_to_another_host(
    app: Flask, key: LoginKey, target: str, signed_in: SignedIn
) -> None:
    client = browser(app)
    assert client.post("/login", data={"secret": key.current, "next": target}).location == "/drives"
    # Nor does it where one is signed in already.
    answer = signed_in.client.get("/login", query_string={"next": target})
    assert answer.location == "/drives"


def test_a_signed_in_user_goes_straight_back(signed_in: SignedIn) -> None:
    answer = signed_in.client.get("/login?next=/runs/6")
    assert (answer.status_code, answer.location) == (303, "/runs/6")
    assert signed_in.client.get("/login").status_code == 200


def test_a_form_of_an_earlier_session_comes_back_as_well(signed_in: SignedIn, bench: Bench) -> None:
    before = bench.count("requests")
    answer = signed_in.client.post("/runs", data=START)
    assert answer.status_code == 403
    assert "This form has expired" in answer.text
    assert sorted(parse_qsl(urlsplit(way_back(answer)).query)) == sorted(FIELDS)
    assert bench.count("requests") == before


def test_on_the_network_it_takes_the_pin_and_goes_back(network_app: Flask, pin: Pin) -> None:
    client = browser(network_app)
    client.set_cookie(COOKIE, "gone")
    back = way_back(client.post("/runs", data=START))
    answer = client.post("/login", data={"secret": pin.text, "next": back})
    assert answer.location == back
    assert client.get(back).status_code == 200


def test_what_is_too_long_for_an_address_is_not_kept(client: Browser) -> None:
    long = {**START, "p.size": "1" * 9000}
    headers = {"Referer": "http://localhost/runs/new?drive=practice"}
    answer = client.post("/runs", data=long, headers=headers)
    assert answer.status_code == 401
    assert way_back(answer) == "/runs/new?drive=practice"
    assert "is not kept" in answer.text
    # Nor is a body beyond what the page takes read for it.
    answer = client.post("/runs", data={**START, "p.size": "1" * 70_000})
    assert answer.status_code == 401
    assert way_back(answer) == "/runs"


def test_a_script_gets_no_way_back(client: Browser) -> None:
    answer = client.post("/api/v1/runs", json={"drive": "practice", "suite": "cdm"})
    assert answer.status_code == 401
    assert set(answer.json["error"]) == {"code", "message", "field"}
