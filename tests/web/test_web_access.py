"""Who may read and who may write: sessions, PIN, tokens, forged requests, headers."""

from __future__ import annotations

import contextlib
import sqlite3
import time

import pytest
from flask import Flask

from benchstick.store import agent_requests, auth, known_drives, recipes, run_queries
from benchstick.store.database import open_for_web, open_reader
from tests.web.conftest import Bench, SignedIn, browser
from webui.auth.pin import EACH_LIMIT, LoginKey, Pin
from webui.auth.request_guard import COOKIE
from webui.errors import WebError
from webui.server.app import create_app

WRITES = [
    ("/api/v1/runs", {"drive": "practice", "suite": "cdm", "erase": "practice"}),
    ("/api/v1/runs/6/cancel", {}),
    ("/api/v1/labels", {"drive": "practice", "label": "x"}),
    ("/api/v1/logout", {}),
    ("/api/v1/imports", {}),
]


def test_every_answer_has_the_headers(app: Flask) -> None:
    client = browser(app)
    for path in ("/drives", "/api/v1/drives", "/static/style.css", "/nowhere", "/login"):
        with client.get(path) as answer:
            headers = answer.headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        expected = "no-cache" if path.startswith("/static") else "no-store"
        assert headers["Cache-Control"] == expected


def test_no_page_has_inline_script_or_style_or_outside_address(app: Flask, bench: Bench) -> None:
    client = browser(app)
    number = bench.numbers["das"]
    for path in ("/drives", f"/runs/{number}", "/runs/new?drive=practice", "/login", "/methods"):
        text = client.get(path).text
        assert " style=" not in text
        assert " onclick=" not in text
        assert "<script>" not in text
        assert "//cdn" not in text
        for part in text.split("src=")[1:] + text.split("<link ")[1:]:
            assert "http" not in part.split(">")[0], part[:80]


# ---- loopback


def test_on_loopback_reading_is_open_and_writing_is_not(app: Flask, bench: Bench) -> None:
    client = browser(app)
    before = bench.count("requests")
    assert client.get("/drives").status_code == 200
    assert client.get("/api/v1/runs").status_code == 200
    for path, body in WRITES:
        answer = client.post(path, json=body)
        assert answer.status_code == 401, path
        assert answer.json["error"]["code"] == "sign_in"
    form = {"drive": "practice", "suite": "cdm", "erase": "practice"}
    assert client.post("/runs", data=form).status_code == 401
    assert client.post("/runs/6/cancel").status_code == 401
    assert bench.count("requests") == before


def test_the_link_works_once_and_leaves_the_address(bench: Bench) -> None:
    keys: list[str] = []
    key = LoginKey(keys.append)
    app = create_app(bench.home, key=key)
    first = key.current
    client = browser(app)
    assert client.head(f"/login?key={first}").status_code == 200
    answer = client.get(f"/login?key={first}&next=/runs")
    assert answer.status_code == 303
    assert answer.location == "/runs"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert keys == [key.current]
    assert key.current != first
    other = browser(app)
    again = other.get(f"/login?key={first}")
    assert again.status_code == 403
    assert "used before" in again.text
    assert other.get_cookie(COOKIE) is None


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil", "x", ""])
def test_after_signing_in_one_stays_here(app: Flask, key: LoginKey, target: str) -> None:
    answer = browser(app).get("/login", query_string={"key": key.current, "next": target})
    assert answer.location == "/drives"


def test_the_store_keeps_no_cookie_and_no_token(
    signed_in: SignedIn, bench: Bench, token: str
) -> None:
    cookie = signed_in.client.get_cookie(COOKIE)
    assert cookie is not None
    for file in bench.home.glob("store.db*"):
        data = file.read_bytes()
        assert cookie.value.encode() not in data
        assert token.encode() not in data


def test_signing_out_ends_the_session(signed_in: SignedIn) -> None:
    cookie = signed_in.client.get_cookie(COOKIE)
    assert cookie is not None
    assert signed_in.post("/logout", {}).status_code == 303
    signed_in.client.set_cookie(COOKIE, cookie.value)
    answer = signed_in.api("/api/v1/labels", {"drive": "practice", "label": ""})
    assert answer.status_code == 401


def test_an_expired_session_is_none(signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch) -> None:
    assert signed_in.client.get("/api/v1/login").json["signed_in"]
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + auth.SESSION_SECONDS + 1)
    assert not signed_in.client.get("/api/v1/login").json["signed_in"]


# ---- forged requests


def test_a_cookie_alone_writes_nothing(signed_in: SignedIn, bench: Bench) -> None:
    before = bench.count("requests")
    for path, body in WRITES:
        for headers in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": "ä" * 43}):
            answer = signed_in.client.post(path, json=body, headers=headers)
            assert answer.status_code == 403, path
            assert answer.json["error"]["code"] == "csrf"
    form = {"drive": "practice", "suite": "cdm", "erase": "practice", "csrf": "x"}
    assert signed_in.client.post("/runs", data=form).status_code == 403
    assert bench.count("requests") == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1234"},
        {"Origin": "https://localhost"},
        {"Referer": "http://evil.example/page"},
        {"Referer": "http://[broken"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_writes_nothing(
    signed_in: SignedIn, bench: Bench, headers: dict[str, str]
) -> None:
    before = bench.count("requests")
    body = {"drive": "practice", "suite": "cdm", "erase": "practice"}
    answer = signed_in.client.post(
        "/api/v1/runs", json=body, headers={"X-CSRF-Token": signed_in.csrf, **headers}
    )
    assert answer.status_code == 403
    assert answer.json["error"]["code"] == "origin"
    assert bench.count("requests") == before


def test_another_site_cannot_sign_a_browser_in(app: Flask, key: LoginKey) -> None:
    headers = {"Origin": "http://evil.example"}
    answer = browser(app).post("/login", data={"secret": key.current}, headers=headers)
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


def test_our_own_origin_writes(signed_in: SignedIn, bench: Bench) -> None:
    answer = signed_in.client.post(
        "/api/v1/labels",
        json={"drive": "practice", "label": "mine"},
        headers={"X-CSRF-Token": signed_in.csrf, "Origin": "http://localhost"},
    )
    assert answer.status_code == 200
    assert bench.count("labels") == 1
    assert signed_in.api("/api/v1/labels", {"drive": "practice", "label": ""}).status_code == 200
    assert bench.count("labels") == 0


# ---- tokens


def test_a_token_writes_without_a_cookie(app: Flask, bench: Bench, token: str) -> None:
    answer = browser(app).post(
        "/api/v1/runs",
        json={"drive": "practice", "suite": "cdm", "erase": "practice"},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 202
    assert answer.json["id"] == bench.last_request()["id"]


@pytest.mark.parametrize(
    "header",
    ["Bearer x", "Bearer ", "Bearer", "Basic Zm9vOmJhcg==", "x" * 2000, "Bearer " + "a" * 43],
)
def test_a_wrong_token_is_refused_even_for_reading(app: Flask, header: str) -> None:
    answer = browser(app).get("/api/v1/drives", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_token_of_the_same_name_replaces_the_old_one(bench: Bench, token: str) -> None:
    with contextlib.closing(open_for_web(bench.home)) as db:
        new = auth.new_token(db, "test")
        current, old = auth.find_token(db, new), auth.find_token(db, token)
        assert (current and current.name, old) == ("test", None)


# ---- the network


def test_on_the_network_nothing_is_shown_without_the_pin(network_app: Flask) -> None:
    client = browser(network_app)
    answer = client.get("/runs?kind=practice")
    assert answer.status_code == 303
    assert answer.location == "/login?next=/runs%3Fkind%3Dpractice"
    for path in ("/api/v1/drives", "/api/v1/runs/1", "/api/v1/status", "/api/v1/", "/api/v1/login"):
        assert client.get(path).status_code == 401, path
    assert client.get("/nowhere").status_code == 303
    login = client.get("/login").text
    assert "PIN" in login
    assert "Crucial" not in login
    with client.get("/static/style.css") as answer:
        assert answer.status_code == 200


def test_the_pin_opens_a_session(network_app: Flask, pin: Pin) -> None:
    client = browser(network_app)
    answer = client.post("/login", data={"secret": pin.text, "next": "/runs"})
    assert answer.status_code == 303
    assert answer.location == "/runs"
    assert client.get("/runs").status_code == 200
    script = browser(network_app)
    answer = script.post("/api/v1/login", json={"pin": pin.digits})
    assert answer.status_code == 200
    assert script.get("/api/v1/drives").status_code == 200


def test_wrong_pins_are_limited(network_app: Flask, pin: Pin, key: LoginKey) -> None:
    client = browser(network_app)
    wrong = f"{(int(pin.digits) + 1) % 10**6:06d}"
    for _ in range(EACH_LIMIT):
        assert client.post("/login", data={"secret": wrong}).status_code == 403
    answer = client.post("/login", data={"secret": pin.digits})
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert client.post("/api/v1/login", json={"pin": pin.digits}).status_code == 429
    other = {"REMOTE_ADDR": "192.0.2.7"}
    answer = client.post("/login", data={"secret": pin.digits}, environ_base=other)
    assert answer.status_code == 303
    # The link of the terminal is no guess: it opens the page during the delay.
    assert browser(network_app).get(f"/login?key={key.current}").status_code == 303


def test_a_limit_over_all_addresses_and_its_end() -> None:
    now = 0.0
    pin = Pin(clock=lambda: now)
    for number in range(30):
        assert not pin.check("x", f"192.0.2.{number}")
    with pytest.raises(WebError, match="try again in 10 min"):
        pin.check(pin.digits, "198.51.100.1")
    now = 601.0
    assert pin.check(pin.text, "198.51.100.1")


def test_without_a_pin_there_is_none_to_guess(app: Flask) -> None:
    answer = browser(app).post("/api/v1/login", json={"pin": "000000"})
    assert answer.status_code == 409
    assert browser(app).post("/login", data={"secret": "000000"}).status_code == 403


# ---- the store


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO events (utc, kind, text) VALUES ('', 'x', 'x')",
        "UPDATE runs SET state = 'done'",
        "DELETE FROM results",
        "UPDATE requests SET kind = 'cancel'",
        "DELETE FROM requests",
        "DELETE FROM uploads",
        "UPDATE uploads SET bundle = x'00'",
        "INSERT INTO upload_answers (upload, text, utc) VALUES (1, '', '')",
        "INSERT INTO imports (run, bench, number, digest, imported_utc) VALUES (1, '', 1, '', '')",
        "INSERT INTO answers (request, state, utc) VALUES (1, 'done', '')",
        "UPDATE drive_scans SET drives_json = '{}'",
        "DELETE FROM slots",
        "DELETE FROM verdicts",
        "DROP TABLE labels",
        "CREATE TABLE x (y)",
        "PRAGMA user_version = 9",
        "ATTACH DATABASE '/tmp/x' AS x",
    ],
)
def test_the_page_can_write_nothing_else(bench: Bench, statement: str) -> None:
    with contextlib.closing(open_for_web(bench.home)) as db, pytest.raises(sqlite3.DatabaseError):
        db.execute(statement)


def test_the_page_can_write_what_it_needs(bench: Bench) -> None:
    with contextlib.closing(open_for_web(bench.home)) as db:
        number = agent_requests.add_request(db, "cancel", {"run": 1})
        assert number > 0
        secret = auth.open_session(db)
        session = auth.find_session(db, secret)
        assert session is not None
        auth.close_session(db, session["hash"])
        assert auth.find_session(db, secret) is None
        run_queries.set_label(db, "k|m|1", "left bay")
        recipes.save(db, "own", "")
        assert recipes.remove(db, "own")
    with contextlib.closing(open_reader(bench.home)) as db:
        assert known_drives.labels(db)["k|m|1"] == "left bay"
