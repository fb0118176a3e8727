"""The desk: a scan is distinguished from typing by its speed, is saved and has no other effect."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from playwright.sync_api import Page, expect

from benchstick.agent.station import Desk
from benchstick.plan.labels import Ticket
from benchstick.plan.states import RequestState
from benchstick.store import agent_requests, barcode_scans, locks, webhook_outbox
from benchstick.store.database import open_writer
from tests.host.bench import wait_for
from tests.web.browser_tab import BrowserTab
from tests.web.conftest import Bench, Browser, SignedIn
from webui.auth.pin import LoginKey

KEYS = {"Enter": 13, "Tab": 9, " ": 32}


@pytest.fixture(autouse=True)
def clean(bench: Bench) -> None:
    with contextlib.closing(open_writer(bench.home)) as db:
        db.execute("DELETE FROM scans")


def carried_out(bench: Bench, count: int) -> None:
    """What the agent does with the last `count` requests."""
    with contextlib.closing(open_writer(bench.home)) as db:
        for row in agent_requests.open_requests(db)[-count:]:
            Desk(bench.home).handle_request(db, json.loads(row["body_json"]))
            agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)


def test_a_scan_is_asked_for_and_kept(bench: Bench, signed_in: SignedIn) -> None:
    answer = signed_in.api("/api/v1/desk/scans", {"text": " A-1007 "})
    assert answer.status_code == 202
    assert signed_in.client.get(answer.json["href"]).json["kind"] == "scan"
    assert signed_in.post("/desk/scans", {"text": "<b>A-1008"}).status_code == 303
    carried_out(bench, 2)
    desk = signed_in.client.get("/api/v1/desk").json
    assert desk["ticket"] == Ticket(asset="<b>A-1008").to_json()
    assert [row["text"] for row in desk["scans"]] == ["<b>A-1008", "A-1007"]
    assert "&lt;b&gt;A-1008" in signed_in.client.get("/desk").text
    assert signed_in.api("/api/v1/desk/drop", None).status_code == 202
    carried_out(bench, 1)
    assert signed_in.client.get("/api/v1/desk").json["ticket"] == Ticket().to_json()


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": "x" * 101}, {"text": 5}, {"tag": "x"}])
def test_bad_scans_are_refused(bench: Bench, signed_in: SignedIn, body: object) -> None:
    before = bench.count("requests")
    answer = signed_in.api("/api/v1/desk/scans", body)
    assert answer.status_code == 400
    assert answer.json["error"]["message"]
    assert bench.count("requests") == before


def test_who_is_not_signed_in_scans_nothing(bench: Bench, client: Browser) -> None:
    before = bench.count("requests")
    assert client.post("/api/v1/desk/scans", json={"text": "A"}).status_code == 401
    assert client.post("/desk/drop").status_code == 401
    page = client.get("/desk").text
    assert "scan.js" not in page
    assert "Sign in</a> to scan" in page
    assert bench.count("requests") == before


def test_without_an_agent_a_scan_is_refused(
    signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "is_alive", lambda _: False)
    answer = signed_in.api("/api/v1/desk/scans", {"text": "A"})
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "no_agent")


def test_the_webhook_is_shown(bench: Bench, client: Browser) -> None:
    with contextlib.closing(open_writer(bench.home)) as db:
        webhook_outbox.put(db, "a", "{}")
        webhook_outbox.failed(db, webhook_outbox.waiting(db)[0], "the receiver answered 500")
    hook = client.get("/api/v1/desk").json["webhook"]
    assert hook == {"url": "", "waiting": 1, "reason": "the receiver answered 500"}


def scan(page: Page, text: str, *, gap: float = 0.005, end: str | None = "Enter") -> None:
    """Keys as a scanner sends them, `gap` seconds apart by the browser's own clock: real key events
    that type and press whatever has the focus, unless the page keeps them from it."""
    devtools = page.context.new_cdp_session(page)
    at = time.time()
    for key in [*text, *([] if end is None else [end])]:
        at += gap
        key_text = {"Enter": "\r", "Tab": ""}.get(key, key)
        event = {"key": key, "timestamp": at, "windowsVirtualKeyCode": KEYS.get(key, 0)}
        devtools.send("Input.dispatchKeyEvent", {"type": "keyDown", "text": key_text, **event})
        devtools.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})
    devtools.detach()


def scanned(bench: Bench) -> list[str]:
    """The texts of the scans that were asked for."""
    with contextlib.closing(open_writer(bench.home)) as db:
        rows = db.execute("SELECT body_json FROM requests WHERE kind = 'scan' ORDER BY id")
        return [json.loads(row["body_json"]).get("text") for row in rows]


def sign_in(tab: BrowserTab, key: LoginKey, path: str) -> Page:
    tab.go(f"/login?key={key.current}")
    return tab.go(path)


def test_a_scanner_types_into_no_field_and_confirms_nothing(
    tab: BrowserTab, key: LoginKey, bench: Bench
) -> None:
    page = sign_in(tab, key, "/runs/new?drive=practice&suite=das")
    code = page.get_by_label("Type the drive's code to confirm")
    code.fill("practi")
    code.focus()
    runs = scanned(bench)
    # The right code's end and Enter, had a person typed it, would start the run.
    scan(page, "ce-4711")
    expect(page.locator("#scanned")).to_contain_text("Scanned: ce-4711")
    expect(code).to_have_value("practi")
    assert "/runs/new" in page.url
    # On a button: neither a space in the barcode nor the Enter at its end presses it.
    page.get_by_role("button", name="Erase and start").focus()
    scan(page, "A 7 B9", end="Tab")
    expect(page.locator("#scanned")).to_contain_text("Scanned: A 7 B9")
    assert "/runs/new" in page.url
    expect(page.get_by_role("button", name="Erase and start")).to_be_focused()
    wait_for(lambda: scanned(bench) == [*runs, "ce-4711", "A 7 B9"])
    assert bench.last_request()["kind"] == "scan"


def test_a_person_types_as_ever(tab: BrowserTab, key: LoginKey, bench: Bench) -> None:
    page = sign_in(tab, key, "/desk")
    runs = scanned(bench)
    field = page.get_by_label("Scan, or type and press Enter")
    field.focus()
    scan(page, "A-1007", gap=0.08, end=None)
    expect(field).to_have_value("A-1007")
    assert scanned(bench) == runs
    scan(page, "", gap=0.08)
    wait_for(lambda: scanned(bench) == [*runs, "A-1007"])
    # Three quick characters are no barcode.
    page.get_by_label("Scan, or type and press Enter").focus()
    scan(page, "abc", end=None)
    expect(page.get_by_label("Scan, or type and press Enter")).to_have_value("abc")


def test_the_desk_follows_what_is_scanned(tab: BrowserTab, key: LoginKey, bench: Bench) -> None:
    page = sign_in(tab, key, "/desk")
    with contextlib.closing(open_writer(bench.home)) as db:
        barcode_scans.keep(db, "scanner", "OP:anna", "operator", "anna")
        barcode_scans.say_scanner(db, "scanner Bench Scanner 1 (0c2e:0b61)")
    expect(page.locator('[data-part="operator"]')).to_have_text("anna")
    expect(page.locator("#scanner")).to_have_text("scanner Bench Scanner 1 (0c2e:0b61)")


def test_a_scan_that_was_not_saved_is_reported(
    tab: BrowserTab, key: LoginKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = sign_in(tab, key, "/desk")
    monkeypatch.setattr(locks, "is_alive", lambda _: False)
    scan(page, "A-1007")
    expect(page.locator("#scanned")).to_contain_text("not saved: no agent is running")
