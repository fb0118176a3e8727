"""The page in a real browser: from a drive to a result, keyboard, console, narrow screens."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect

from benchstick import paths
from benchstick.agent import run_queues as agents
from benchstick.appliance import clock, state
from benchstick.plan.states import QueueState, RequestState, RunState, StepState
from benchstick.store import agent_requests, live_progress, locks, queues
from benchstick.store.database import open_writer
from tests.web import every_page, sample
from tests.web.browser_tab import BrowserTab
from tests.web.conftest import Bench
from webui.auth.pin import LoginKey

PAGES = ("/drives", "/drives/2318E6C0A1F2", "/runs", "/runs/new?drive=practice", "/methods",
         "/licences", "/suites/cdm", "/login", "/compare?runs=3,4", "/references",
         "/models")  # fmt: skip


def sign_in(tab: BrowserTab, key: LoginKey) -> None:
    tab.go(f"/login?key={key.current}")
    assert "key" not in tab.page.url
    expect(tab.page.get_by_role("button", name="Sign out")).to_be_visible()


class Agent:
    """A stand-in for the agent: takes requests and records a run, in its own thread."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.stop = threading.Event()
        self.go_on = threading.Event()
        self.cancelled_runs: list[int] = []
        self.thread = threading.Thread(target=self._loop)

    def __enter__(self) -> Agent:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.go_on.set()
        self.thread.join(timeout=60)
        assert not self.thread.is_alive()

    def _loop(self) -> None:
        with contextlib.closing(open_writer(self.home)) as db:
            while not self.stop.wait(0.1):
                for row in agent_requests.open_requests(db):
                    body = json.loads(row["body_json"])
                    if row["kind"] == "cancel":
                        self.cancelled_runs.append(body["run"])
                        agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)
                    else:
                        self._run(db, row["id"], body)

    def _run(self, db: Any, request: int, body: dict[str, Any]) -> None:
        # Like the real agent: it takes the request at once, and starts a run some time later.
        agent_requests.answer_request(db, request, RequestState.ACCEPTED)
        self.stop.wait(1.5)
        make = next(one for one in sample.ALL if one().code == body["drive"])
        story = sample.start(
            self.home, db, body["suite"], make(), params=body["params"], fs=body["fs"],
            scale=body["scale"], target=body["target"],
        )  # fmt: skip
        lock = locks.RunLock(story.uuid)
        agent_requests.answer_request(db, request, RequestState.ACCEPTED, run=story.record.number)
        story.tell(5)
        step = story.plan.steps[5]
        story.record.step_begins(5, step.name, step.kind, story.t, f"runs/{story.uuid}/05-step")
        story.publish(5, 0.5)
        self.go_on.wait(30)
        if self.cancelled_runs:
            story.finish(RunState.CANCELLED, 130, "cancelled")
        else:
            story.record.step_ends(5, StepState.COMPLETE, story.t + 1)
            story.finish()
        live_progress.remove(story.uuid)
        lock.release()


def test_from_a_drive_to_its_result(tab: BrowserTab, key: LoginKey, bench: Bench) -> None:
    sign_in(tab, key)
    page = tab.go("/drives")
    card = page.get_by_role("article").filter(has_text="Practice drive")
    card.get_by_role("link", name="Test").click()
    page.get_by_role("link", name="CrystalDiskMark-style").first.click()
    cost_cell = page.locator('[data-cost="written"]')
    before = cost_cell.inner_text()
    page.get_by_label("Size").fill("64MiB")
    expect(cost_cell).not_to_have_text(before)
    page.get_by_label("Passes").fill("99")
    expect(page.locator("#cost-problem")).to_contain_text("whole number from 0 to 9")
    page.get_by_label("Passes").fill("1")
    expect(page.locator("#cost-list")).to_be_visible()
    expect(page.locator('[data-cost="destroys"]')).to_have_text("destroyed")
    # A wrong code is refused with a message at the field, and the field keeps its text.
    page.get_by_label("Type the drive's code to confirm").fill("practise")
    page.get_by_role("button", name="Erase and start").click()
    expect(page.get_by_role("alert").filter(has_text="is not this drive's code")).to_be_visible()
    expect(page.get_by_label("Size")).to_have_value("64MiB")
    requests = bench.count("requests")
    with Agent(bench.home) as agent:
        page.get_by_label("Type the drive's code to confirm").fill("practice")
        page.get_by_role("button", name="Erase and start").click()
        expect(page).to_have_url(re.compile(r"/runs/\d+$"), timeout=15000)
        assert bench.count("requests") == requests + 1
        expect(page.locator("#now-text")).to_contain_text("step 6 of")
        expect(page.locator("#part")).not_to_have_attribute("width", "0")
        expect(page.locator("#chart canvas")).to_be_visible()
        expect(page.locator("#steps rect.done")).to_have_count(5)
        agent.go_on.set()
        expect(page.get_by_role("heading", name="Test conditions")).to_be_visible()
        expect(page.locator(".tag", has_text="done").first).to_be_visible(timeout=15000)
    expect(page.locator(".cdm")).to_contain_text("SEQ1M")
    expect(page.locator("#chart canvas")).to_be_visible()


def test_from_presets_to_a_queue_and_its_end(tab: BrowserTab, key: LoginKey, bench: Bench) -> None:
    sign_in(tab, key)
    page = tab.go("/runs/new?drive=practice&suite=cdm")
    preset = page.get_by_role("link", name=re.compile("^Peak performance"))
    preset_text = preset.inner_text()
    preset.click()
    expect(page.get_by_label("Profile")).to_have_value("peak")
    expect(preset).to_have_attribute("aria-current", "true")
    assert page.locator('[data-cost="seconds"]').inner_text() in preset_text
    page.get_by_role("button", name="Add to a queue").click()
    page.get_by_role("link", name=re.compile("^DAS suite")).click()
    page.get_by_role("link", name=re.compile("^Quick")).click()
    page.get_by_role("button", name="Add to the queue").click()
    page.get_by_role("button", name="Add to the queue").click()
    rows = page.locator("#queue tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_role("link", name=re.compile("Remove number 3")).click()
    expect(rows).to_have_count(2)
    expect(page.locator("#queue")).to_contain_text("Total:")
    # Nothing is asked for without the code of this drive.
    before = bench.count("requests")
    for wrong in ("", "practise"):
        page.get_by_label("Type the drive's code to confirm").fill(wrong)
        page.get_by_role("button", name="Erase and start the queue").click()
        expect(page.locator("#queue-problem")).to_contain_text("this queue destroys")
        expect(rows).to_have_count(2)
    assert bench.count("requests") == before
    page.get_by_label("Type the drive's code to confirm").fill("practice")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/queues/\d+$"))
    number = int(page.url.rsplit("/", 1)[1])
    body = json.loads(bench.last_request()["body_json"])
    assert [run["suite"] for run in body["runs"]] == ["cdm", "das"]
    assert (body["erase"], body["diskseq"]) == ("practice", 20)
    with contextlib.closing(open_writer(bench.home)) as db:
        agent_requests.answer_request(db, number, RequestState.ACCEPTED)
        agents.take(db, number, body, lambda *_: None)
        expect(page.locator("#queue-state")).to_have_text("open")
        queues.entry_runs(db, number, 0, bench.numbers["practice"])
        expect(page.get_by_role("link", name=f"Run {bench.numbers['practice']}")).to_be_visible()
        page.get_by_role("button", name="Remove number 2").click()
        expect(page.get_by_role("status").filter(has_text="was asked")).to_be_visible()
        assert json.loads(bench.last_request()["body_json"]) == {"queue": number, "position": 1}
        page.get_by_text("Cancel the queue…").click()
        page.get_by_role("button", name=f"Cancel queue {number}").click()
        expect(page).to_have_url(re.compile(r"asked=1$"))
        assert json.loads(bench.last_request()["body_json"]) == {"queue": number}
        queues.end(db, number, QueueState.STOPPED, "run 1 failed: the drive went away")
        expect(page.locator("#queue-why")).to_have_text("run 1 failed: the drive went away")
        expect(page.locator('[data-position="1"]')).to_contain_text("not started")
        for row in agent_requests.open_requests(db):
            agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)


def test_a_cancelled_queue_is_followed_until_its_run_has_ended(
    tab: BrowserTab, bench: Bench
) -> None:
    with contextlib.closing(open_writer(bench.home)) as db:
        story = sample.start(bench.home, db, "cdm", sample.slow(), fs="exfat")
        lock = locks.RunLock(story.uuid)
        runs = {"das": bench.numbers["das"], "running": story.record.number}
        number = every_page.add_queue(db, runs)
        queues.take_out(db, number, 2)
        queues.end(db, number, QueueState.CANCELLED, "cancelled")
        page = tab.go(f"/queues/{number}")
        expect(page.locator("#queue-state")).to_have_text("cancelled")
        state = page.locator('[data-position="1"] [data-part="state"]')
        expect(state).to_have_text("running")
        head = page.locator("#now").get_by_role("link", name=f"run {story.record.number} ")
        expect(head).to_be_visible()
        story.finish(RunState.CANCELLED, 130, "cancelled")
        lock.release()
        expect(state).to_have_text("cancelled")
        expect(head).to_have_count(0)
        # The script shows the states in the words of the server.
        expect(page.locator('[data-position="2"] [data-part="state"]')).to_have_text("removed")
    assert tab.problems == []


def test_cancel_takes_two_clicks_and_reaches_the_agent(
    tab: BrowserTab, key: LoginKey, bench: Bench
) -> None:
    sign_in(tab, key)
    page = tab.go("/runs/new?drive=practice&suite=cdm&p.size=64MiB&p.passes=1")
    page.get_by_label("Type the drive's code to confirm").fill("practice")
    with Agent(bench.home) as agent:
        page.get_by_role("button", name="Erase and start").click()
        expect(page).to_have_url(re.compile(r"/runs/\d+$"), timeout=15000)
        number = int(page.url.rsplit("/", 1)[1])
        button = page.get_by_role("button", name=f"Cancel run {number}")
        expect(button).to_be_hidden()
        page.locator("summary", has_text="Cancel").click()
        button.click()
        expect(page.get_by_role("status")).to_contain_text("asked to cancel")
        assert records_of_cancel(bench) == {"run": number}
        agent.cancelled_runs.append(number)
        agent.go_on.set()
        expect(page.locator("h1 + span")).to_have_text("cancelled", timeout=15000)


# 640 by 400 is 1280 by 800 at a zoom of 200 %.
@pytest.mark.parametrize(("width", "height"), [(320, 640), (400, 800), (640, 400)])
def test_what_confirms_a_cancel_is_on_the_screen(
    chromium: Chromium, base: str, bench: Bench, width: int, height: int
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(f"{base}/runs/{bench.numbers['running']}")
    # The longest text next to it: the row wraps.
    expect(page.locator("#now-text")).to_contain_text("step 13 of")
    page.locator("summary", has_text="Cancel").click()
    box = page.locator("#cancel").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    context.close()


def records_of_cancel(bench: Bench) -> Any:
    row = bench.last_request()
    assert row["kind"] == "cancel"
    return json.loads(row["body_json"])


def test_a_locked_drive_takes_two_pages(tab: BrowserTab, key: LoginKey, bench: Bench) -> None:
    sign_in(tab, key)
    page = tab.go("/drives")
    card = page.get_by_role("article").filter(has_text="Samsung SSD 870 EVO")
    card.get_by_role("link", name="Unlock and test").click()
    expect(page.locator("#lock-part")).to_contain_text("BitLocker")
    page.get_by_label("Scale").fill("0.01")
    page.get_by_label("Type the drive's code to confirm").fill("S6PUNX0T312345A")
    before = bench.count("requests")
    page.get_by_role("button", name="Continue to unlock").click()
    expect(page.get_by_role("heading", name="Unlock this drive?")).to_be_visible()
    page.get_by_label("once more").fill("no")
    page.get_by_role("button", name="Unlock, erase and start").click()
    expect(page.get_by_role("alert")).to_contain_text("is not this drive's code")
    assert bench.count("requests") == before
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile("/drives$"))


@pytest.mark.parametrize("width", [861, 1001, 1100, 1240])
def test_the_head_breaks_no_word(chromium: Chromium, base: str, width: int) -> None:
    """Also with two runs on drives with long names, on a bench in a network."""
    context = chromium.new_context(viewport={"width": width, "height": 900})
    tab = BrowserTab(context.new_page(), base)
    page = tab.go("/drives")
    page.evaluate("""() => {
      const on = document.querySelector(".now .on");
      on.append(" and so on and so on and so on and so on");
      on.after(on.cloneNode(true));
      on.nextElementSibling.nextElementSibling.textContent = "on the network, PIN off";
    }""")
    for link in page.locator(".top .brand, .top nav a, .top .now > :not(.on)").all():
        high = link.evaluate(
            "(node) => { const text = document.createRange(); text.selectNodeContents(node);"
            " return text.getBoundingClientRect().height; }"
        )
        assert high < 30, link.inner_text()
        box = link.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    context.close()
    assert tab.problems == []


# The contrast of every text with what lies behind it, after WCAG 2.2, 1.4.3.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
      if (a > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    const box = node.getBoundingClientRect();
    if (!own || !box.width) continue;
    if (node.closest("svg, :disabled, .sr, .skip, noscript, option")) continue;
    const style = getComputedStyle(node);
    if (style.visibility === "hidden") continue;
    const [a, b] = [light(parse(style.color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    const said = node.textContent.trim().slice(0, 40);
    if (ratio < (large ? 3 : 4.5)) poor.push(`${said}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(chromium: Chromium, base: str, bench: Bench, scheme: Any) -> None:
    context = chromium.new_context(color_scheme=scheme)
    page = context.new_page()
    for path in (*PAGES, *(f"/runs/{bench.numbers[name]}" for name in ("das", "slow", "running"))):
        page.goto(base + path)
        assert page.evaluate(CONTRAST) == [], path
    context.close()


def test_the_keyboard_reaches_everything_in_order(tab: BrowserTab, key: LoginKey) -> None:
    sign_in(tab, key)
    page = tab.go("/runs/new?drive=practice&suite=cdm")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    ids = []
    for _ in range(60):
        page.keyboard.press("Tab")
        ids.append(page.evaluate("document.activeElement.id"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or ids[-1] == ""
        if ids[-1] == "go":
            break
    assert ids[-1] == "go"
    order = [
        name for name in ids if name in ("target", "fs", "p-preset", "p-passes", "erase", "go")
    ]
    assert order == ["target", "fs", "p-preset", "p-passes", "erase", "go"]


def test_the_chart_can_show_other_quantities_and_shows_values(
    tab: BrowserTab, bench: Bench
) -> None:
    page = tab.go(f"/runs/{bench.numbers['cdm']}")
    chart = page.locator("#chart .u-over")
    expect(chart).to_be_visible()
    chart.hover(position={"x": 120, "y": 60})
    expect(page.locator("#v-time")).to_have_text(re.compile(r"at \d+:\d\d"))
    expect(page.locator("#v-read")).not_to_be_empty()
    page.get_by_role("button", name="IOPS").click()
    expect(page.get_by_role("button", name="IOPS")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".u-axis").first).to_be_attached()
    page.get_by_role("button", name="In flight").click()
    expect(page.locator("#l-write")).to_be_hidden()


def test_without_scripts_the_page_shows_the_results(
    chromium: Chromium, base: str, bench: Bench
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base}/runs/{bench.numbers['cdm']}")
    expect(page.locator(".cdm")).to_contain_text("1060.8")
    expect(page.get_by_role("link", name="CSV of samples")).to_be_visible()
    bar = page.locator(".cdm .bar rect").first.bounding_box()
    assert bar is not None
    assert bar["width"] > 20
    context.close()


def test_a_result_prints_in_dark_ink_on_white(chromium: Chromium, base: str, bench: Bench) -> None:
    context = chromium.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"{base}/runs/{bench.numbers['cdm']}")
    page.emulate_media(media="print")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"
    expect(page.locator("header.top")).to_be_hidden()
    expect(page.locator(".cdm")).to_be_visible()
    context.close()


def test_an_injected_script_does_not_run(tab: BrowserTab) -> None:
    page = tab.go("/drives")
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.bad = 1\">')"
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.bad") is None
    # The policy's own refusals are what is expected here, and nothing else.
    assert tab.problems
    assert all("Content Security Policy" in problem for problem in tab.problems)
    tab.problems.clear()


@pytest.fixture
def stick(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A booted stick that runs from RAM, whose clock nobody keeps right."""
    paths.make_run_folder()
    state.write(
        {"schema": state.SCHEMA, "persistent": False, "reason": "no stick is plugged in",
         "stick": None}
    )  # fmt: skip
    monkeypatch.setattr(clock, "is_kept", lambda: False)
    yield
    (paths.run_folder() / "appliance/state.json").unlink()


@pytest.mark.parametrize(("minutes", "is_offered"), [(0, False), (1, False), (3, True), (-3, True)])
def test_this_computers_clock_is_offered_when_the_benchs_is_off(
    tab: BrowserTab, stick: None, key: LoginKey, bench: Bench, minutes: int, is_offered: bool
) -> None:
    sign_in(tab, key)
    there = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=minutes)
    tab.page.clock.set_system_time(there)
    page = tab.go("/drives")
    expect(page.get_by_text("Results will not last: no stick is plugged in.")).to_be_visible()
    button = page.get_by_role("button", name="Set the bench's clock")
    if not is_offered:
        expect(button).to_be_hidden()
        return
    button.click()
    expect(page.get_by_text("The agent sets the clock.")).to_be_visible()
    request_body = json.loads(bench.last_request()["body_json"])
    assert abs(request_body["time"] - there.timestamp()) < 20
