"""What a page in a browser does when the bench changes under it: drives come and go, the network
and the server go and come, the laptop sleeps. No page is reloaded."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator

import pytest
from flask import Flask
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, Route, expect

from benchstick.drives.types import Drive
from benchstick.plan.states import QueueState, RequestState, StepState
from benchstick.store import agent_requests, known_drives, live_progress, queues, run_writer
from benchstick.store.database import open_reader, open_writer
from tests.host.bench import wait_for
from tests.results import named
from tests.web import every_page, sample
from tests.web.conftest import Bench, Browser, Server, served
from tests.web.test_web_browser import sign_in
from tests.web.watched import Watched
from webui.auth.pin import LoginKey, Pin

FAST, SLOW = "2318E6C0A1F2", "port:1-4:0"


def see(bench: Bench, *drives: Drive) -> None:
    """The agent's scan finds these drives."""
    document = {"schema": "benchstick/drives/2", "drives": [drive.to_json() for drive in drives]}
    with contextlib.closing(open_writer(bench.home)) as db:
        known_drives.keep_drives_seen(db, document)


@pytest.fixture
def plugged(bench: Bench) -> Iterator[None]:
    """All drives are there again when the test ends."""
    yield
    see(bench, *(make() for make in sample.ALL))


def mark(page: Page) -> None:
    """Set a mark that a reload of the page removes."""
    page.evaluate("window.still = true")


def not_loaded_anew(page: Page) -> bool:
    return bool(page.evaluate("window.still === true"))


def happens(bench: Bench, text: str) -> None:
    """An event of the running run."""
    with contextlib.closing(open_writer(bench.home)) as db:
        run_writer.RunRecord(db, bench.numbers["running"]).event(9.0, "link", text)


def test_cards_come_and_go_with_their_drives(watched: Watched, bench: Bench, plugged: None) -> None:
    page = watched.go("/drives")
    mark(page)
    cards = page.get_by_role("article")
    expect(cards).to_have_count(5)
    facts = page.get_by_role("link", name=re.compile("^Details of Crucial"))
    facts.focus()
    see(bench, *(make() for make in sample.ALL if make is not sample.slow))
    expect(cards).to_have_count(4)
    expect(cards.filter(has_text="SanDisk")).to_have_count(0)
    expect(page.locator("#news")).to_contain_text("SanDisk Extreme")
    expect(page.locator("#news")).to_contain_text("was unplugged.")
    # Whoever works with the keyboard is where he was.
    expect(facts).to_be_focused()
    see(bench, *(make() for make in sample.ALL))
    expect(cards.filter(has_text="Not running at full speed")).to_have_count(1)
    expect(page.locator("#news")).to_contain_text("was plugged in.")
    see(bench)
    expect(page.get_by_role("heading", name="No drive is plugged in")).to_be_visible()
    assert not_loaded_anew(page)


def test_the_pages_of_an_unplugged_drive_report_it(
    watched: Watched, bench: Bench, plugged: None
) -> None:
    for path in (f"/drives/{SLOW}", f"/runs/new?drive={SLOW}&suite=cdm"):
        page = watched.go(path)
        mark(page)
        note = page.locator("#gone")
        expect(note).to_be_hidden()
        see(bench, sample.fast())
        expect(note).to_have_text("This drive is not plugged in any more.")
        again = sample.slow()
        see(bench, sample.fast(), Drive(**{**vars(again), "diskseq": 99}))
        expect(note).to_contain_text("unplugged and plugged in again")
        see(bench, sample.fast(), again)
        expect(note).to_be_hidden()
        assert not_loaded_anew(page)
    # Its address leads to what was measured of it.
    see(bench, sample.fast())
    page = watched.go(f"/drives/{SLOW}")
    expect(page.get_by_role("heading", name=f"Runs of {SLOW}")).to_be_visible()
    expect(page.get_by_role("link", name=str(bench.numbers["slow"]), exact=True)).to_be_visible()


def test_the_log_shows_steps_events_and_temperatures_as_they_come(
    watched: Watched, bench: Bench
) -> None:
    page = watched.go(f"/runs/{bench.numbers['running']}")
    mark(page)
    log = page.get_by_role("log")
    expect(log).to_contain_text("idle at the start · done in")
    expect(log).to_contain_text(re.compile(r"\d °C"))
    happens(bench, "<b>reset</b> by its host")
    expect(log).to_contain_text("link: <b>reset</b> by its host")
    assert not_loaded_anew(page)


def test_a_step_that_has_just_started_does_not_show_the_progress_of_the_previous_one(
    watched: Watched, bench: Bench
) -> None:
    number = bench.numbers["running"]
    with contextlib.closing(open_reader(bench.home)) as db:
        uuid, plan = db.execute(
            "SELECT uuid, plan_json FROM runs WHERE number = ?", (number,)
        ).fetchone()
    progress = live_progress.read(uuid)
    assert progress is not None
    page = watched.go(f"/runs/{number}")
    name, now = page.locator("#now-step"), page.locator("#now-text")
    step = json.loads(plan)["steps"][progress["step_index"]]
    expect(now).to_contain_text("GB in this step")
    try:
        live_progress.publish(
            uuid, {**progress, "step_index": progress["step_index"] - 1, "name": "the step before"}
        )
        expect(now).not_to_contain_text("GB in this step")
        expect(now).to_contain_text(f"step {progress['step_index'] + 1} of")
        expect(name).to_have_text(step["name"])
        expect(page.locator("#part")).to_have_attribute("width", "0")
    finally:
        live_progress.publish(uuid, progress)


def test_each_sets_passes_are_marked_over_the_session(watched: Watched, bench: Bench) -> None:
    page = watched.go(f"/runs/{bench.numbers['das']}")
    sets = len(page.evaluate("JSON.parse(document.getElementById('chart').dataset.passes)"))
    marks = page.locator("#chart .pass")
    expect(marks).to_have_count(sets)
    names = page.locator("#chart .pass.first")
    assert sets == 3 * names.count()
    number, name = names.first.inner_text().split()
    assert (number, name) == ("1", page.locator("table.sets td").first.inner_text().split()[0])
    # Only those that have started.
    page = watched.go(f"/runs/{bench.numbers['running']}")
    expect(page.locator("#chart canvas")).to_be_visible()
    passes = page.evaluate("JSON.parse(document.getElementById('chart').dataset.passes)")
    started = [item for item in passes if item[3] is not None]
    assert 0 < len(started) < len(passes)
    expect(page.locator("#chart .pass")).to_have_count(len(started))


@pytest.fixture
def own_server(app: Flask) -> Iterator[list[Server]]:
    """The page, at a port of its own, by a server that a test may stop and start again."""
    servers: list[Server] = []
    yield servers
    for server in servers:
        server.close()


def test_a_restarted_server_is_found_again(
    chromium: Chromium, own_server: list[Server], app: Flask, bench: Bench, key: LoginKey
) -> None:
    own_server.append(Server(app))
    port = own_server[0].port
    context = chromium.new_context()
    watched = Watched(context.new_page(), f"http://127.0.0.1:{port}")
    sign_in(watched, key)
    page = watched.go(f"/runs/{bench.numbers['running']}")
    mark(page)
    now, log = page.locator("#now-text"), page.get_by_role("log")
    expect(now).to_contain_text("step 13 of")
    drives = context.new_page()
    drives.goto(f"{watched.base}/drives")
    own_server.pop().close()
    expect(now).to_contain_text("no connection to the bench, retrying")
    expect(drives.locator("#silent")).to_contain_text("no connection to the bench")
    happens(bench, "while nobody served")
    own_server.append(Server(app, port))
    expect(now).to_contain_text("step 13 of")
    expect(log).to_contain_text("while nobody served")
    expect(drives.locator("#silent")).to_be_hidden()
    assert not_loaded_anew(page)
    # Who was signed in still is.
    page.locator("summary", has_text="Cancel").click()
    page.get_by_role("button", name="Cancel run").click()
    expect(page.get_by_role("status").filter(has_text="asked to cancel")).to_be_visible()
    context.close()
    assert watched.problems == []


def test_a_queue_and_a_request_report_a_lost_connection(
    watched: Watched, key: LoginKey, bench: Bench
) -> None:
    sign_in(watched, key)
    with contextlib.closing(open_writer(bench.home)) as db:
        request = agent_requests.add_request(db, "run", {"drive": "practice", "suite": "cdm"})
        queue = every_page.add_queue(db, bench.numbers)
    for path, note, open_part in (
        (f"/queues/{queue}", "#queue-silent", "#queue"),
        (f"/requests/{request}", "#silent", "#request"),
    ):
        page = watched.go(path)
        mark(page)
        expect(page.locator(open_part)).to_be_visible()
        expect(page.locator(note)).to_be_hidden()
        page.context.set_offline(True)
        expect(page.locator(note)).to_contain_text("no connection to the bench, retrying")
        expect(page.get_by_text("Perhaps the agent is not running")).to_be_hidden()
        page.context.set_offline(False)
        expect(page.locator(note)).to_be_hidden()
        assert not_loaded_anew(page)
    with contextlib.closing(open_writer(bench.home)) as db:
        agent_requests.answer_request(db, request, RequestState.COMPLETE)
        queues.end(db, queue, QueueState.STOPPED, queues.NO_AGENT)


def test_a_lost_network_and_a_sleep_are_waited_for(watched: Watched, bench: Bench) -> None:
    page = watched.go(f"/runs/{bench.numbers['running']}")
    mark(page)
    now, log = page.locator("#now-text"), page.get_by_role("log")
    expect(now).to_contain_text("step 13 of")
    page.context.set_offline(True)
    expect(now).to_contain_text("no connection to the bench")
    happens(bench, "while off the network")
    page.context.set_offline(False)
    expect(log).to_contain_text("while off the network")
    # Frozen, as in a laptop whose lid is shut: no timer runs.
    devtools = page.context.new_cdp_session(page)
    devtools.send("Page.setWebLifecycleState", {"state": "frozen"})
    happens(bench, "while it slept")
    devtools.send("Page.setWebLifecycleState", {"state": "active"})
    expect(log).to_contain_text("while it slept")
    expect(now).to_contain_text("step 13 of")
    assert not_loaded_anew(page)


# ---- signing in


def test_a_wrong_pin_is_reported_and_too_many_cause_a_delay(
    chromium: Chromium, network_app: Flask, pin: Pin
) -> None:
    with served(network_app) as base:
        context = chromium.new_context()
        watched = Watched(context.new_page(), base)
        page = watched.go("/drives")
        wrong = "000000" if pin.digits != "000000" else "000001"
        for _ in range(2):
            page.get_by_label("PIN").fill(wrong)
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_label("PIN").fill(pin.text)
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{base}/drives")
        expect(page.get_by_role("article")).to_have_count(5)
        page.get_by_role("button", name="Sign out").click()
        for _ in range(3):
            watched.go("/login")
            page.get_by_label("PIN").fill(wrong)
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_label("PIN").fill(pin.text)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("too many wrong PINs; try again in")
        context.close()
        assert watched.problems == []


def test_a_token_is_made_used_and_revoked(watched: Watched, key: LoginKey) -> None:
    sign_in(watched, key)
    page = watched.go("/settings/tokens")
    page.get_by_label("Name of a new token").fill("a script")
    page.get_by_role("button", name="Create token").click()
    secret = page.locator(".code").inner_text()

    def answer() -> int:
        bare = page.context.browser
        assert bare is not None
        context = bare.new_context(extra_http_headers={"Authorization": f"Bearer {secret}"})
        status = context.request.get(f"{watched.base}/api/v1/status").status
        context.close()
        return int(status)

    assert answer() == 200
    page.locator("summary", has_text="Revoke… a script").click()
    page.get_by_role("button", name="Revoke a script").click()
    expect(page.get_by_role("heading", name="No tokens yet")).to_be_visible()
    assert answer() == 401


# ---- charts by keyboard


def test_a_chart_is_read_and_zoomed_by_keyboard(
    watched: Watched, bench: Bench, key: LoginKey
) -> None:
    page = watched.go(f"/runs/{bench.numbers['cdm']}")
    chart, time = page.locator("#chart"), page.locator("#v-time")
    expect(chart.locator("canvas")).to_be_visible()
    section = chart.locator("xpath=..")
    whole, spoken_text = section.locator("[data-whole]"), section.locator("[aria-live=polite]")
    assert chart.get_attribute("role") == "application"
    assert "Arrow keys move the crosshair" in str(chart.get_attribute("aria-label"))
    chart.focus()
    page.keyboard.press("ArrowRight")
    expect(time).to_have_text(re.compile(r"at \d+:\d\d"))
    first = time.inner_text()
    expect(spoken_text).to_contain_text(first)
    expect(spoken_text).to_contain_text(re.compile(r"write \d+ MB/s$"))
    page.keyboard.press("PageDown")
    expect(time).not_to_have_text(first)
    later = time.inner_text()
    page.keyboard.press("ArrowLeft")
    expect(time).not_to_have_text(later)
    expect(whole).to_be_hidden()
    page.keyboard.press("+")
    page.keyboard.press("+")
    expect(whole).to_be_visible()
    expect(spoken_text).to_contain_text(re.compile(r"^from \d+:\d\d to \d+:\d\d$"))
    # The chart scrolls when the crosshair leaves the visible range.
    page.keyboard.press("End")
    last = time.inner_text()
    expect(spoken_text).to_contain_text(last)
    page.keyboard.press("0")
    expect(whole).to_be_hidden()
    page.keyboard.press("Home")
    expect(time).to_have_text(first)
    page.keyboard.press("Control+-")
    expect(whole).to_be_hidden()


def test_a_page_that_stays_open_requests_its_samples_again_reduced(
    watched: Watched, bench: Bench
) -> None:
    path = f"/runs/{bench.numbers['running']}"

    def smaller(route: Route) -> None:
        text = route.fetch().text()
        assert 'data-parts="1200" data-most="8000"' in text
        body = text.replace('data-parts="1200" data-most="8000"', 'data-parts="5" data-most="20"')
        route.fulfill(body=body, content_type="text/html")

    count = "document.getElementById('chart').session.samples.length"
    watched.go(path)
    wait_for(lambda: watched.page.evaluate(count) > 20)
    whole = watched.page.evaluate(count)
    expect(watched.page.locator("#reduced")).to_be_hidden()
    watched.page.route(f"**{path}", smaller)
    page = watched.go(path)
    expect(page.locator("#reduced")).to_have_text(
        re.compile(r"^Reduced for display: minimum and maximum of every \d+ samples")
    )
    wait_for(lambda: 0 < page.evaluate(count) < whole)
    # The last second is among them, and more come.
    last = "document.getElementById('chart').session.samples.at(-1).n"
    wait_for(lambda: page.evaluate(last) >= whole - 1)
    expect(page.locator("#chart canvas")).to_be_visible()


def test_zoom_on_a_live_chart_is_kept(watched: Watched, bench: Bench) -> None:
    page = watched.go(f"/runs/{bench.numbers['running']}")
    chart = page.locator("#chart")
    expect(chart.locator("canvas")).to_be_visible()
    chart.focus()
    for key in ("Home", "+", "+"):
        page.keyboard.press(key)
    whole = chart.locator("xpath=..").locator("[data-whole]")
    expect(whole).to_be_visible()
    step = page.locator("#now-text").inner_text()
    with page.expect_response(re.compile("/samples")):
        pass
    with page.expect_response(re.compile("/samples")):
        pass
    assert step
    expect(whole).to_be_visible()
    page.keyboard.press("Escape")
    expect(whole).to_be_hidden()


def test_what_is_measured_so_far_is_shown_and_follows(watched: Watched, bench: Bench) -> None:
    number = bench.numbers["running"]
    page = watched.go(f"/runs/{number}")
    mark(page)
    box = page.locator("#so-far")
    expect(box.get_by_role("heading", name="So far")).to_be_visible()
    rows = box.locator("table.sets tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("843.0")
    cells = rows.nth(1).locator("td.num")
    expect(cells).to_have_text([re.compile("982"), re.compile("982")])
    story = bench.numbers["story"]
    with contextlib.closing(open_writer(bench.home)) as db:
        record = run_writer.RunRecord(db, number)
        results = [
            named(step=story.plan.steps[12].name, name=name, value=value, unit=unit,
                           pass_no=2, target="file on exfat")
            for name, value, unit in (("AV read", 500.0, "MB/s"), ("AV read time", 4.8, "s"))
        ]  # fmt: skip
        record.step_ends(12, StepState.COMPLETE, story.t + 2, results=results)
    expect(cells).to_have_text([re.compile("741"), re.compile("982"), re.compile("500")])
    assert not_loaded_anew(page)


def test_the_run_shows_its_results_so_far(client: Browser, bench: Bench) -> None:
    running = client.get(f"/api/v1/runs/{bench.numbers['running']}").json
    assert running["result"] is None
    assert [line["direction"] for line in running["partial_result"]["sets"]] == ["write", "read"]
    assert "<h2>So far</h2>" in client.get(f"/runs/{bench.numbers['running']}/report.html").text
    run = client.get(f"/api/v1/runs/{bench.numbers['das']}").json
    assert run["partial_result"] is None
    assert run["result"]["sets"]
