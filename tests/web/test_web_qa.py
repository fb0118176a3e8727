"""QA in the page: the slots, verdicts and recipes; what drives and files say of themselves is text,
whatever it holds."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import time
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchstick.plan.states import RequestState
from benchstick.qa import recipe_library
from benchstick.recipes import event_lines, outputs, ready, shelf
from benchstick.store import agent_requests, bays, locks, recipes, run_reader, verdicts
from benchstick.store import settings as settings_file
from benchstick.store.bays import Slot
from benchstick.store.database import open_writer
from tests.host.bench import wait_for
from tests.unit import test_recipe_outputs
from tests.web import every_page, sample
from tests.web.browser_tab import BrowserTab
from tests.web.conftest import Bench, Browser, SignedIn, browser
from webui.auth.pin import LoginKey
from webui.server.app import create_app

EVIL = "<b id=evil>x</b>\"'&"
ESCAPED = "&lt;b id=evil&gt;"


def keep_slots(bench: Bench, *slots: Slot) -> None:
    with contextlib.closing(open_writer(bench.home)) as db:
        bays.keep(db, slots)


def counting(**more: Any) -> Slot:
    return Slot(**{
        "name": "slot 1", "state": bays.COUNTDOWN, "drive_key": "k|m|1", "code": "C1",
        "model": "Extreme", "until": time.time() + 90, **more,
    })  # fmt: skip


# ---- slots


def test_a_slot_counts_down_by_the_benchs_clock(bench: Bench, client: Browser) -> None:
    keep_slots(bench, counting(), Slot(name="slot 2"))
    one, two = client.get("/api/v1/desk").json["slots"]
    assert 85 <= one["countdown_seconds"] <= 90
    assert (one["action"], one["run"], two["state"], two["action"], two["countdown_seconds"]) == (
        "stop", None, "empty", None, None,
    )  # fmt: skip
    page = client.get("/desk").text
    # Who is not signed in may look.
    assert 'data-part="act" disabled' in page
    assert page.index('id="slots"') < page.index('id="ticket"')


def test_what_a_drive_says_of_itself_is_text(bench: Bench, client: Browser) -> None:
    keep_slots(bench, counting(name=f"s {EVIL}"[:40], model=EVIL, code=EVIL, message=EVIL))
    page = client.get("/desk").text
    assert ESCAPED in page
    assert "<b id=evil" not in page
    assert client.get("/api/v1/desk").json["slots"][0]["message"] == EVIL


def test_only_an_automatic_test_can_be_repeated(bench: Bench, client: Browser) -> None:
    slot = counting(state=bays.FINISHED, until=None, verdict="pass", verdict_number=1)
    keep_slots(bench, slot, replace(slot, name="port 5-1"),
               replace(slot, name="port 5-2", state=bays.TESTING))  # fmt: skip
    assert [slot["action"] for slot in client.get("/api/v1/desk").json["slots"]] == [
        "again", None, "stop",
    ]  # fmt: skip
    page = client.get("/desk").text
    assert page.count('name="do"') == 2 and "port 5-1" in page
    # A bench without a recipe that starts automatically.
    ports = settings_file.read('bench_ports = {"slot 1" = "2-1"}', "test")
    slots = browser(create_app(bench.home, ports)).get("/api/v1/desk").json["slots"]
    assert [slot["action"] for slot in slots] == [None, None, "stop"]


def test_the_current_run_is_shown(bench: Bench, client: Browser) -> None:
    with contextlib.closing(open_writer(bench.home)) as db:
        key = run_reader.find_run(db, bench.numbers["running"])["drive_key"]
    keep_slots(bench, counting(state=bays.TESTING, until=None, drive_key=key))
    assert client.get("/api/v1/desk").json["slots"][0]["run"] == bench.numbers["running"]
    assert f'href="/runs/{bench.numbers["running"]}" data-part="run"' in client.get("/desk").text


def test_a_test_is_stopped_and_repeated_by_a_request(bench: Bench, signed_in: SignedIn) -> None:
    keep_slots(bench, counting(), Slot(name="bay/2 #1", state=bays.STOPPED))
    answer = signed_in.api("/api/v1/desk/slots/slot%201", {"do": "stop"})
    assert answer.status_code == 202
    request = bench.last_request()
    assert (request["kind"], json.loads(request["body_json"])) == (
        "qa", {"slot": "slot 1", "do": "stop"},
    )  # fmt: skip
    assert signed_in.client.get(answer.json["href"]).json["kind"] == "qa"
    again = signed_in.post("/desk/slots/bay/2%20%231", {"do": "again"})
    assert (again.status_code, again.location) == (303, "/desk")
    assert json.loads(bench.last_request()["body_json"])["slot"] == "bay/2 #1"


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("slot%201", {}, 400),
        ("slot%201", {"do": "start"}, 400),
        ("slot%201", {"do": ["stop"]}, 400),
        ("slot%201", {"do": "stop", "erase": "C1"}, 400),
        ("slot%209", {"do": "stop"}, 404),
    ],
)
def test_what_a_slot_cannot_do_is_not_asked_for(
    bench: Bench, signed_in: SignedIn, name: str, body: Any, status: int
) -> None:
    keep_slots(bench, counting())
    before = bench.count("requests")
    answer = signed_in.api(f"/api/v1/desk/slots/{name}", body)
    assert answer.status_code == status
    assert answer.json["error"]["message"]
    assert bench.count("requests") == before


def test_without_an_agent_nothing_is_known_of_a_slot(
    bench: Bench, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = counting(name="slot 2", state=bays.FINISHED, verdict="pass", verdict_number=1)
    keep_slots(bench, counting(), slot)
    monkeypatch.setattr(locks, "is_alive", lambda _: False)
    one, two = signed_in.client.get("/api/v1/desk").json["slots"]
    assert (one["state"], one["action"], two["verdict"], two["action"]) == (
        "unknown",
        None,
        "pass",
        None,
    )
    assert "The agent is not running" in signed_in.client.get("/desk").text
    answer = signed_in.api("/api/v1/desk/slots/slot%201", {"do": "stop"})
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "no_agent")


def test_slots_of_the_settings_are_there_before_the_agent_was(bench: Bench, key: LoginKey) -> None:
    keep_slots(bench)
    without = browser(create_app(bench.home, settings_file.read("", "test"), key=key))
    assert 'id="slots"' not in without.get("/desk").text
    ports = settings_file.read('bench_ports = {"bay 1" = "2-1"}', "test")
    slots = browser(create_app(bench.home, ports, key=key)).get("/api/v1/desk").json["slots"]
    assert [(item["name"], item["state"]) for item in slots] == [("bay 1", "empty")]


def test_who_is_not_signed_in_stops_nothing(bench: Bench, client: Browser) -> None:
    keep_slots(bench, counting())
    before = bench.count("requests")
    assert client.post("/api/v1/desk/slots/slot%201", json={"do": "stop"}).status_code == 401
    assert client.post("/desk/slots/slot%201", data={"do": "stop"}).status_code == 401
    assert bench.count("requests") == before


def carried_out(bench: Bench, *slots: Slot) -> None:
    """What the agent does with the last request."""
    with contextlib.closing(open_writer(bench.home)) as db:
        row = agent_requests.open_requests(db)[-1]
        assert row["kind"] == "qa"
        bays.keep(db, slots)
        agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)


def test_the_cards_follow_the_bench(tab: BrowserTab, key: LoginKey, bench: Bench) -> None:
    keep_slots(bench, counting(model=EVIL))
    tab.go(f"/login?key={key.current}")
    page: Page = tab.go("/desk")
    card = page.locator('[data-slot="slot 1"]')
    countdown = card.locator('[data-part="left"]')
    expect(countdown).not_to_have_text(countdown.text_content() or "")
    stop = page.get_by_role("button", name="Stop slot 1")
    stop.focus()
    before = bench.count("requests")
    stop.press("Enter")
    wait_for(lambda: bench.count("requests") == before + 1)
    carried_out(bench, counting(state=bays.STOPPED, until=None, model=EVIL))
    expect(card.locator(".verdict")).to_have_text("stopped")
    expect(page.locator("#slot-news")).to_have_text("slot 1: stopped.")
    expect(page.get_by_role("button", name="Test again slot 1")).to_be_focused()
    keep_slots(
        bench,
        counting(state=bays.FINISHED, until=None, verdict="fail", message=EVIL, verdict_number=7),
    )
    expect(card.locator(".verdict")).to_have_text("fail")
    expect(card).to_contain_text(EVIL)
    expect(page.locator("#slot-problem")).to_be_hidden()
    # The page shows why the agent refuses, without a reload.
    page.get_by_role("button", name="Test again slot 1").click()
    wait_for(lambda: bench.count("requests") == before + 2)
    with contextlib.closing(open_writer(bench.home)) as db:
        row = agent_requests.open_requests(db)[-1]
        error = {"code": "bad_input", "message": f"no drive {EVIL}", "field": None}
        agent_requests.answer_request(db, row["id"], RequestState.REFUSED, answer={"error": error})
    expect(page.locator("#slot-problem")).to_have_text(f"no drive {EVIL}")
    assert page.locator("#evil").count() == 0


# ---- verdicts


@pytest.fixture(scope="module")
def numbers(bench: Bench) -> dict[str, int]:
    """A verdict of each kind."""
    with contextlib.closing(open_writer(bench.home)) as db:
        return every_page.add_verdicts(bench.home, db, bench.numbers)


def kept_evil(bench: Bench) -> int:
    """A verdict whose every text is HTML."""
    verdict = copy.deepcopy(test_recipe_outputs.verdicts()[1])
    for name in ("code", "label", "model", "serial", "port", "firmware", "slot"):
        verdict["drive"][name] = EVIL
    verdict["recipe"] = {"name": EVIL, "file": EVIL, "sha256": "0" * 64}
    verdict["reason"], verdict["labels"] = EVIL, {"asset": EVIL, EVIL: EVIL}
    verdict["failures"] = [{"code": EVIL, "text": EVIL, "limit": 1}]
    for limit in verdict["limits"]:
        limit |= {
            "description": EVIL,
            "required": [EVIL],
            "measured": EVIL,
            "unit": EVIL,
            "text": EVIL,
        }
    run = {"number": bench.numbers["das"], "uuid": "u", "suite": EVIL, "state": EVIL,
           "exit_code": 0, "reason": EVIL}  # fmt: skip
    verdict["runs"] = [run]
    verdict["post_action"] = {"action": "eject", "is_done": False, "reason": EVIL}
    with contextlib.closing(open_writer(bench.home)) as db:
        return verdicts.keep(db, verdict)


def test_verdicts_are_listed_newest_first(client: Browser, numbers: dict[str, int]) -> None:
    rows = client.get("/api/v1/verdicts").json["verdicts"]
    order = [item["number"] for item in rows]
    assert order == sorted(order, reverse=True) and len(order) >= 9
    failed_verdicts = client.get("/api/v1/verdicts?verdict=fail&limit=2").json["verdicts"]
    assert [item["verdict"] for item in failed_verdicts] == ["fail", "fail"]
    older = client.get(f"/api/v1/verdicts?verdict=fail&before={failed_verdicts[1]['number']}").json
    assert older["verdicts"][0]["number"] < failed_verdicts[1]["number"]
    page = client.get("/verdicts?verdict=pass").text
    assert f'href="/verdicts/{numbers["verdict-pass"]}"' in page
    assert f'href="/verdicts/{numbers["verdict-fail"]}"' not in page


def test_a_verdict_says_why(client: Browser, bench: Bench, numbers: dict[str, int]) -> None:
    number = next(
        item["number"] for item in client.get("/api/v1/verdicts?verdict=fail").json["verdicts"]
        if "required >= 400 MB/s" in item["reason"]
    )  # fmt: skip
    verdict = client.get(f"/api/v1/verdicts/{number}").json
    assert (verdict["schema"], verdict["number"]) == ("benchstick/verdict/2", number)
    page = client.get(f"/verdicts/{number}").text
    limit = next(item for item in verdict["limits"] if item["state"] == "failed")
    text = f"{limit['shortfall']:.10g} {limit['unit']} ({limit['shortfall_percent']:.10g} %)"
    assert text in page
    for part in (verdict["recipe"]["sha256"], "<code class=\"nowrap\">figure-limit</code>",
                  f"/runs/{bench.numbers['slow']}"):  # fmt: skip
        assert part in page


def test_a_runs_report_shows_its_verdicts(
    client: Browser, bench: Bench, numbers: dict[str, int]
) -> None:
    verdict = client.get(f"/api/v1/verdicts/{numbers['verdict-fail']}").json
    run = next(item["number"] for item in verdict["runs"] if item["number"])
    heading = f"FAIL: verdict {verdict['number']} by {verdict['recipe']['name']}"
    page = unescape(client.get(f"/runs/{run}/report.html").text)
    assert f"{heading}. {verdict['reason']}" in page
    kept_evil(bench)
    evil = client.get(f"/runs/{bench.numbers['das']}/report.html").text
    assert f"asset {ESCAPED}" in evil
    assert "<b id=evil" not in evil


def test_a_verdicts_files_say_the_same(client: Browser, numbers: dict[str, int]) -> None:
    number = numbers["verdict-inconclusive"]
    verdict = client.get(f"/api/v1/verdicts/{number}").json
    answers = {}
    for form in ("json", "junit", "csv", "events"):
        answer = client.get(f"/verdicts/{number}/export?format={form}")
        assert f'filename="benchstick-verdict-{number}.' in answer.headers["Content-Disposition"]
        twin = client.get(f"/api/v1/verdicts/{number}/export?format={form}")
        assert answer.data == twin.data
        answers[form] = answer
    assert answers["json"].json == verdict
    assert answers["junit"].text == outputs.junit([verdict])
    assert answers["csv"].text == outputs.csv_text([verdict])
    assert answers["events"].text.splitlines() == event_lines.event_lines(verdict)
    assert client.get(f"/verdicts/{number}/export?format=pdf").status_code == 400


def test_the_list_goes_into_one_file(client: Browser, numbers: dict[str, int]) -> None:
    rows = client.get("/api/v1/verdicts?verdict=fail").json["verdicts"]
    failed_verdicts = [client.get(f"/api/v1/verdicts/{item['number']}").json for item in rows]
    assert len(failed_verdicts) > 1
    answers = {}
    for form in ("json", "junit", "csv"):
        answer = client.get(f"/verdicts/export?format={form}&verdict=fail")
        assert 'filename="benchstick-verdicts.' in answer.headers["Content-Disposition"]
        assert client.get(f"/api/v1/verdicts/export?format={form}&verdict=fail").data == answer.data
        answers[form] = answer
    assert answers["json"].json == failed_verdicts
    assert answers["junit"].text == outputs.junit(failed_verdicts)
    assert answers["csv"].text == outputs.csv_text(failed_verdicts)
    older = client.get(f"/verdicts/export?before={rows[0]['number']}&format=json&limit=1").json
    assert [item["number"] for item in older] == [rows[0]["number"] - 1]
    assert client.get("/verdicts/export?format=pdf").status_code == 400


def test_the_list_shows_model_and_asset_tag(client: Browser, numbers: dict[str, int]) -> None:
    verdict = client.get(f"/api/v1/verdicts/{numbers['verdict-pass']}").json
    rows = client.get("/api/v1/verdicts").json["verdicts"]
    mine = next(item for item in rows if item["number"] == verdict["number"])
    assert mine["drive_model"] == verdict["drive"]["model"] == "Samsung PSSD T7"
    assert mine["asset"] == verdict["labels"]["asset"]
    page = client.get("/verdicts").text
    assert f"<bdi>{mine['asset']}</bdi>" in page
    assert "<bdi>Samsung PSSD T7</bdi>" in page


def test_a_verdict_leads_to_its_recipe_and_its_tag_is_in_the_files_name(
    bench: Bench, client: Browser
) -> None:
    verdict = copy.deepcopy(test_recipe_outputs.verdicts()[0])
    verdict["runs"], verdict["labels"] = [], {"asset": "A 17/\u00fc-\r\nx"}
    raw = recipe_library.find("full-review", bench.home).raw()
    with contextlib.closing(open_writer(bench.home)) as db:
        verdict["recipe"] = {
            "name": "Review",
            "file": "x",
            "sha256": hashlib.sha256(raw).hexdigest(),
        }
        number = verdicts.keep(db, verdict)
        verdict["recipe"]["sha256"] = "0" * 64
        other = verdicts.keep(db, {**verdict, "labels": {}})
    assert (
        '<a href="/recipes/full-review"><bdi>Review</bdi></a>'
        in client.get(f"/verdicts/{number}").text
    )
    page = client.get(f"/verdicts/{other}").text
    assert (
        "<bdi>Review</bdi>" in page
        and "this version of the recipe is no longer stored here" in page
    )
    for at, name in ((number, f"verdict-{number}-A-17-x"), (other, f"verdict-{other}")):
        disposition = client.get(f"/verdicts/{at}/export?format=csv").headers["Content-Disposition"]
        assert disposition == f'attachment; filename="benchstick-{name}.csv"'


def test_a_run_names_the_verdicts_that_use_it(
    client: Browser, bench: Bench, numbers: dict[str, int]
) -> None:
    for number in numbers.values():
        for run in client.get(f"/api/v1/verdicts/{number}").json["runs"]:
            page = client.get(f"/runs/{run['number']}").text
            assert f'<a href="/verdicts/{number}">' in page
    assert "/verdicts/" not in client.get(f"/runs/{bench.numbers['lost']}").text


def test_a_verdict_of_html_is_text(client: Browser, bench: Bench) -> None:
    number = kept_evil(bench)
    for path in ("/verdicts", f"/verdicts/{number}", f"/runs/{bench.numbers['das']}"):
        page = client.get(path).text
        assert ESCAPED in page, path
        assert "<b id=evil" not in page, path
    assert client.get("/verdicts/999999").status_code == 404
    assert client.get("/verdicts/x").status_code == 404


# ---- recipes

GOOD = every_page.OWN_RECIPE
BAD = """retries = 9
speed = "fast"
"<b id=evil>" = 1
[[suite]]
name = "cdm"
[[limit]]
fact = "x"
"""


def recipe_names(bench: Bench) -> list[str]:
    with contextlib.closing(open_writer(bench.home)) as db:
        return [row["name"] for row in recipes.list_recipes(db)]


def test_the_shelf_is_listed(client: Browser) -> None:
    recipes = {item["name"]: item for item in client.get("/api/v1/recipes").json["recipes"]}
    assert recipes["full-review"]["origin"] == "ready"
    assert recipes["incoming-portable-ssd"]["recipe"]["time_limit"] == 300
    page = client.get("/recipes").text
    assert '<a href="/recipes/incoming-portable-ssd">' in page
    assert "Sign in</a> to add" in page
    one = client.get("/api/v1/recipes/incoming-portable-ssd").json
    assert one["text"].startswith("# Incoming inspection")
    assert any(line.startswith("limit 1:") for line in one["lines"])


def test_a_recipe_is_checked_before_it_is_kept(bench: Bench, signed_in: SignedIn) -> None:
    page = signed_in.post("/recipes/check", {"name": "mine", "text": GOOD.replace("\n", "\r\n")})
    assert page.status_code == 200
    assert "No errors. Not saved yet." in page.text
    assert "erases without a code, on the ports of the bench" in page.text
    assert "mine" not in recipe_names(bench)
    # What the page hands on is what was looked at.
    text = unescape(page.text.split('<textarea name="text" hidden>\n')[1].split("</textarea>")[0])
    assert text == GOOD
    answer = signed_in.post("/recipes", {"name": "mine", "text": text})
    assert (answer.status_code, answer.location) == (303, "/recipes?kept=mine")
    one = signed_in.client.get("/api/v1/recipes/mine").json
    assert (one["origin"], one["text"], one["recipe"]["allow_erase"]) == ("uploaded", GOOD, True)
    assert one["recipe"]["sha256"] == hashlib.sha256(GOOD.encode()).hexdigest()
    assert (
        "It replaces the uploaded recipe"
        in signed_in.post("/recipes/check", {"name": "mine", "text": GOOD}).text
    )
    assert signed_in.post("/recipes/mine/remove", {}).status_code == 303
    assert "mine" not in recipe_names(bench)


def test_every_error_is_reported_with_its_line(bench: Bench, signed_in: SignedIn) -> None:
    for path, status in (("/recipes/check", 200), ("/recipes", 400)):
        page = signed_in.post(path, {"name": "mine", "text": BAD})
        assert page.status_code == status
        for line in (1, 2, 3, 6):
            assert f"<code>mine.toml:{line}</code>" in page.text
        assert "<b id=evil" not in page.text
    assert "mine" not in recipe_names(bench)
    check_answer = signed_in.api("/api/v1/recipes/check", {"name": "mine", "text": BAD}).json
    assert {item["line"] for item in check_answer["errors"]} >= {1, 2, 3, 6}
    refusal = signed_in.api("/api/v1/recipes", {"name": "mine", "text": BAD})
    assert refusal.status_code == 400
    assert refusal.json["error"]["errors"] == check_answer["errors"]
    assert refusal.json["error"]["message"].startswith("mine.toml:1: ")


def test_a_file_names_its_recipe(bench: Bench, signed_in: SignedIn) -> None:
    form = {"csrf": signed_in.csrf, "file": (io.BytesIO(GOOD.encode()), "My Drives (2).TOML")}
    page = signed_in.client.post("/recipes/check", data=form)
    assert 'name="name" value="my-drives-2"' in page.text
    odd = {"csrf": signed_in.csrf, "file": (io.BytesIO(b"\xff\xfe"), "x.toml")}
    assert signed_in.client.post("/recipes/check", data=odd).status_code == 400


@pytest.mark.parametrize("name", ["", "../x", "A b", "x.toml", "a" * 61, EVIL])
def test_odd_names_are_refused(bench: Bench, signed_in: SignedIn, name: str) -> None:
    answer = signed_in.api("/api/v1/recipes", {"name": name, "text": GOOD})
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "name")
    if name != "x.toml":
        page = signed_in.post("/recipes", {"name": name, "text": GOOD})
        assert page.status_code == 400
        assert "<b id=evil" not in page.text
    assert name not in recipe_names(bench)


def test_a_recipe_of_html_is_text(signed_in: SignedIn) -> None:
    text = f"name = {json.dumps(EVIL)}\nabout = {json.dumps(EVIL)}\n{GOOD}\n# </textarea></pre>"
    assert signed_in.api("/api/v1/recipes", {"name": "evil", "text": text}).status_code == 201
    check_answer = signed_in.post("/recipes/check", {"name": "evil", "text": text}).text
    for page in (check_answer, signed_in.client.get("/recipes").text,
                 signed_in.client.get("/recipes/evil").text):  # fmt: skip
        assert ESCAPED in page
        assert "<b id=evil" not in page
    assert "# </textarea></pre>" not in check_answer
    remove_answer = signed_in.api("/api/v1/recipes/evil/remove", {})
    assert remove_answer.json == {"schema": "benchstick/recipe-removed/1", "name": "evil"}


def test_the_sticks_override_the_uploaded(
    signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A recipe that comes to the stick later has its name; the uploaded one is put aside."""
    monkeypatch.setattr(shelf, "folder", lambda: tmp_path)
    assert signed_in.api("/api/v1/recipes", {"name": "twice", "text": GOOD}).status_code == 201
    (tmp_path / "twice.toml").write_text("speed = 1\n", encoding="utf-8")
    one = signed_in.client.get("/api/v1/recipes/twice").json
    assert (one["origin"], one["recipe"], one["uploaded_utc"]) == ("stick", None, None)
    assert one["errors"][0]["line"] == 1
    assert "This recipe has errors" in signed_in.client.get("/recipes/twice").text
    aside = signed_in.client.get("/api/v1/recipes/uploaded:twice").json
    assert (aside["origin"], aside["text"]) == ("uploaded", GOOD)
    assert "upload it with another name" in signed_in.client.get("/recipes/uploaded:twice").text
    assert 'action="/recipes/uploaded:twice/remove"' in signed_in.client.get("/recipes").text
    again = signed_in.api("/api/v1/recipes", {"name": "twice", "text": GOOD})
    assert (again.status_code, again.json["error"]["field"]) == (400, "name")
    assert signed_in.post("/recipes/uploaded:twice/remove", {}).status_code == 303
    assert signed_in.client.get("/recipes/uploaded:twice").status_code == 404


@pytest.mark.parametrize("name", ["incoming-usb-stick", "incoming_usb_stick", "fu11-review"])
def test_no_upload_takes_the_name_of_a_recipe_of_the_bench(
    bench: Bench, signed_in: SignedIn, name: str
) -> None:
    for path in ("/api/v1/recipes", "/api/v1/recipes/check"):
        answer = signed_in.api(path, {"name": name, "text": GOOD})
        assert (answer.status_code, answer.json["error"]["field"]) == (400, "name")
        assert "a built-in recipe" in answer.json["error"]["message"]
    for path in ("/recipes", "/recipes/check"):
        page = signed_in.post(path, {"name": name, "text": GOOD})
        assert page.status_code == 400
        assert "choose another name" in page.text
    form = {"csrf": signed_in.csrf, "file": (io.BytesIO(GOOD.encode()), f"{name.upper()}.TOML")}
    assert signed_in.client.post("/recipes", data=form).status_code == 400
    text_with_title = f'name = "Full  REVIEW"\n{GOOD}'
    answer = signed_in.api("/api/v1/recipes", {"name": "mine", "text": text_with_title})
    assert (answer.status_code, answer.json["error"]["field"]) == (400, "text")
    assert {name, "mine"}.isdisjoint(recipe_names(bench))


def test_the_page_shows_why_no_test_starts_automatically(bench: Bench, client: Browser) -> None:
    name = "incoming-usb-stick"
    pin = settings_file.pinned(name, ready.raw(name))
    page = unescape(client.get(f"/recipes/{name}").text)
    assert f'autostart = "{pin}"' in page
    assert "starts automatically</span>" in page
    for value, reason in ((name, "no SHA-256"), (f"{name}@sha256:{'0' * 64}", "changed")):
        settings = settings_file.read(f'autostart = "{value}"\n', "test")
        odd = browser(create_app(bench.home, settings))
        for path in ("/recipes", f"/recipes/{name}"):
            page = unescape(odd.get(path).text)
            assert reason in page and "no test starts automatically; check the recipe" in page
            assert "starts automatically</span>" not in page
        other = odd.get("/recipes/full-review").text
        assert "no test starts automatically" not in other


def test_who_is_not_signed_in_keeps_no_recipe(bench: Bench, client: Browser) -> None:
    before = recipe_names(bench)
    body = {"name": "mine", "text": GOOD}
    for path in ("/recipes", "/recipes/check", "/recipes/own/remove"):
        assert client.post(path, data=body).status_code == 401
    assert client.post("/api/v1/recipes", json=body).status_code == 401
    assert recipe_names(bench) == before


# ---- a test with a recipe

SLOW = "port:1-4:0"


def test_a_test_with_a_recipe_is_requested(bench: Bench, signed_in: SignedIn) -> None:
    page = signed_in.client.get(f"/desk/new?drive={SLOW}&recipe=incoming-portable-ssd").text
    assert "limit 1:" in page
    assert 'name="erase"' not in page
    drive = signed_in.client.get(f"/api/v1/drives/{SLOW}").json
    form = {"drive": SLOW, "recipe": "incoming-portable-ssd", "erase": "",
            "drive_key": drive["identity"]["drive_key"], "diskseq": drive["diskseq"],
            "medium": drive["medium"]}  # fmt: skip
    assert f'name="medium" value="{drive["medium"]}"' in page
    answer = signed_in.post(f"/desk/new?drive={SLOW}&recipe=incoming-portable-ssd", form)
    assert answer.status_code == 303
    request = bench.last_request()
    assert (request["kind"], json.loads(request["body_json"])) == ("qa", {**form, "erase": None})
    waits = signed_in.client.get(answer.location).text
    assert "Waiting for the agent" in waits
    with contextlib.closing(open_writer(bench.home)) as db:
        error = {"code": "bad_input", "message": EVIL, "field": None}
        agent_requests.answer_request(
            db, request["id"], RequestState.REFUSED, answer={"error": error}
        )
    refusal = signed_in.client.get(answer.location).text
    assert ESCAPED in refusal
    assert f"/desk/new?drive={SLOW}&amp;recipe=incoming-portable-ssd" in refusal


def test_a_link_shared_with_drives_under_test_is_shown_before_the_start(
    bench: Bench, client: Browser
) -> None:
    """The fast drive has a run that is running, the slow one is on the same hub."""
    (link,) = client.get("/api/v1/drives").json["shared"]
    assert (link["kind"], link["limit_mbps"], len(link["drives"])) == ("USB hub", 500, 2)

    def notes_for(drive: str) -> set[str | None]:
        addresses = (f"/desk/new?drive={drive}&recipe=full-review",
                     f"/runs/new?drive={drive}&suite=cdm")  # fmt: skip
        notes = set()
        for address in addresses:
            note = client.get(f"/api/v1{address}").json["shared"]
            assert note is None or note in unescape(client.get(address).text)
            notes.add(note)
        return notes

    fast = sample.fast()
    (note,) = notes_for(SLOW)
    assert note is not None
    assert note.startswith("USB hub 1-4 is shared with ")
    assert "500 MB/s at most, 250 for each" in note
    assert notes_for(fast.code) == {None}
    key = sample.slow().identity.key()
    keep_slots(bench, counting(state=bays.TESTING, until=None, drive_key=key))
    assert notes_for(fast.code) != {None}


def test_what_destroys_data_wants_the_code(bench: Bench, signed_in: SignedIn) -> None:
    address = f"/desk/new?drive={SLOW}&recipe=full-review"
    document = signed_in.client.get(f"/api/v1{address}").json
    assert document["destroys"] is True
    assert 'name="erase"' in signed_in.client.get(address).text
    before = bench.count("requests")
    for code in ("", "no", "practice"):
        form = {"drive": SLOW, "recipe": "full-review", "erase": code}
        page = signed_in.post(address, form)
        assert page.status_code == 403
        assert "destroys the drive&#39;s data" in page.text
    wrong = {"drive": SLOW, "recipe": "incoming-portable-ssd", "erase": "no"}
    assert signed_in.api("/api/v1/desk/new", wrong).status_code == 403
    assert bench.count("requests") == before
    right = {"drive": SLOW, "recipe": "full-review", "erase": SLOW}
    assert signed_in.api("/api/v1/desk/new", right).status_code == 202
    assert json.loads(bench.last_request()["body_json"])["erase"] == SLOW


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"drive": "none"}, 404, "not_found"),
        ({"recipe": "none"}, 400, "bad_input"),
        ({"recipe": None}, 400, "bad_input"),
        ({"diskseq": 999}, 409, "drive_changed"),
        ({"medium": "1-1-x"}, 409, "drive_changed"),
        ({"drive_key": "x"}, 409, "drive_changed"),
        # Locked, protected, and in use by a run.
        ({"drive": "S6PUNX0T312345A"}, 403, "refused"),
        ({"drive": "S4EWNX0R654321B"}, 403, "refused"),
        ({"drive": "2318E6C0A1F2"}, 409, "busy"),
        ({"unlock": SLOW}, 400, "bad_input"),
    ],
)
def test_what_no_recipe_may_do_is_not_asked_for(
    bench: Bench, signed_in: SignedIn, body: dict[str, Any], status: int, code: str
) -> None:
    before = bench.count("requests")
    wish = {"drive": SLOW, "recipe": "incoming-portable-ssd", **body}
    answer = signed_in.api("/api/v1/desk/new", wish)
    assert (answer.status_code, answer.json["error"]["code"]) == (status, code)
    assert bench.count("requests") == before


def test_a_recipe_with_errors_cannot_be_selected(
    signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "wrong.toml").write_text("speed = 1\n", encoding="utf-8")
    monkeypatch.setattr(shelf, "folder", lambda: tmp_path)
    recipes = signed_in.client.get(f"/api/v1/desk/new?drive={SLOW}").json["recipes"]
    names = {item["name"]: item["why_not"] for item in recipes}
    assert "wrong" not in names
    assert names["incoming-portable-ssd"] is None
    assert "transport" in names["refurbished-sata"]
    answer = signed_in.api("/api/v1/desk/new", {"drive": SLOW, "recipe": "wrong"})
    assert answer.status_code == 400


def test_without_an_agent_no_test_is_asked_for(
    bench: Bench, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bench.count("requests")
    monkeypatch.setattr(locks, "is_alive", lambda _: False)
    wish = {"drive": SLOW, "recipe": "incoming-portable-ssd"}
    answer = signed_in.api("/api/v1/desk/new", wish)
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "no_agent")
    page = signed_in.post("/desk/new", wish)
    assert page.status_code == 409
    assert bench.count("requests") == before
