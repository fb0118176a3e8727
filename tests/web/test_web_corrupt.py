"""A run whose data is corrupt: red on its page, a state of its own in every list and document."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from benchstick.plan import corrupt
from benchstick.recipes.limits import Evidence
from benchstick.recipes.parser import read
from benchstick.recipes.verdict import Attempt, judge
from benchstick.store import verdicts
from benchstick.store.database import open_writer
from benchstick.store.run_reader import run_json
from tests.web import every_page, made_verdicts, sample
from tests.web.conftest import Bench, Browser
from tests.web.watched import Watched

FILE = "DCIM/100BENCH/IMG_00012.JPG"
TAG = re.compile(r'<span class="tag bad"[^>]*>data corrupt</span>')


@pytest.fixture(scope="module")
def number(bench: Bench) -> int:
    """The run, the last one of its drive."""
    with contextlib.closing(open_writer(bench.home)) as db:
        run = every_page.add_corrupt(bench.home, db)
        queue = every_page.add_queue(db, {"das": run, "running": bench.numbers["running"]})
        bench.numbers["queue"] = queue
        drive = sample.fast().to_json()
        recipe = read(made_verdicts.INCOMING.encode(), "incoming.toml")
        evidence = Evidence(drive=drive, runs=[run_json(db, run)], after=drive)
        stamp = "2026-01-31T12:00:00.000Z"
        judgement = judge(
            recipe,
            Attempt(evidence=evidence, seconds=1.0, started_utc=stamp, ended_utc=stamp),
        )
        bench.numbers["verdict"] = verdicts.keep(db, judgement)
        return run


def text_of(client: Browser, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return str(answer.text)


def test_its_page_has_a_red_banner_with_file_pass_and_place(client: Browser, number: int) -> None:
    text = text_of(client, f"/runs/{number}")
    begin = '<section class="note bad" id="corrupt" role="alert"'
    (banner,) = re.findall(f"{begin}.*?</section>", text, re.DOTALL)
    assert "Home, pass 2, compare" in banner and "Home, pass 3, compare" in banner
    assert f"{FILE} at byte 1048576: differs from there" in banner
    assert "IMG_00871.JPG" in banner
    heading = text.split("</h1>")[1].split("</div>")[0]
    assert TAG.search(heading) and "tag ok" not in heading


@pytest.mark.parametrize(
    "path",
    ["/runs", "/comparisons?suite=das", "/drives", "/drives/2318E6C0A1F2", "/compare?runs={run},2",
     "/queues/{queue}", "/verdicts/{verdict}"],
)  # fmt: skip
def test_every_list_shows_the_state_in_red(
    client: Browser, bench: Bench, number: int, path: str
) -> None:
    numbers = {**bench.numbers, "run": number}
    text = text_of(client, path.format(**numbers))
    assert TAG.search(text), path


def test_its_verdict_is_a_fail_in_the_list_of_verdicts(
    client: Browser, bench: Bench, number: int
) -> None:
    answer = client.get(f"/api/v1/verdicts/{bench.numbers['verdict']}").json
    assert (answer["verdict"], answer["exit_code"]) == ("fail", 1)
    assert "data-corrupt" in [item["code"] for item in answer["failures"]]
    text = text_of(client, "/verdicts")
    row = next(row for row in text.split("<tr") if f'/verdicts/{bench.numbers["verdict"]}"' in row)
    assert "tag bad" in row and f"run {number} (das): data corrupt" in row


def test_documents_have_the_state_and_the_findings(client: Browser, number: int) -> None:
    document: dict[str, Any] = client.get(f"/api/v1/runs/{number}").json
    assert (document["state"], document["exit_code"]) == ("corrupt", 4)
    assert [(item["set"], item["pass"], item["files"]) for item in document["corrupt"]] == [
        ("Home", 2, 1), ("Home", 3, 3),
    ]  # fmt: skip
    (entry,) = [one for one in client.get("/api/v1/runs").json["runs"] if one["number"] == number]
    assert entry["state"] == "corrupt" and FILE in entry["reason"]
    other = client.get("/api/v1/runs/2").json
    assert (other["state"], other["corrupt"]) == ("done", [])


def test_files_do_not_hide_it(client: Browser, number: int) -> None:
    page = text_of(client, f"/runs/{number}/report.html")
    assert "DATA CORRUPT: Home, pass 2, compare" in page and "IMG_00871.JPG" in page
    assert client.get(f"/runs/{number}/report.pdf").status_code == 200
    assert "data corrupt" in text_of(client, f"/runs/{number}/charts/1.svg")
    assert "data corrupt" not in text_of(client, "/runs/2/charts/1.svg")
    rows = text_of(client, f"/runs/{number}/results.csv").splitlines()
    assert rows[0].endswith(",run_state") and all(row.endswith(",corrupt") for row in rows[1:])


def test_a_comparison_does_not_rank_it(client: Browser, bench: Bench, number: int) -> None:
    document = client.get(f"/api/v1/compare?runs={number},{bench.numbers['das']}").json
    rows = [row for item in document["results"] for row in item["rows"] if row["run"] == number]
    assert rows and {row["rank"] for row in rows} == {None}
    assert "valid" not in {row["state"] for row in rows}


def test_a_running_run_shows_it_at_once(client: Browser, bench: Bench, number: int) -> None:
    story = bench.numbers["story"]
    text = text_of(client, f"/runs/{story.record.number}")
    assert 'id="corrupt"' not in text
    defect = corrupt.finding(
        step_index=6, name="AV, pass 1, compare", text="data differ: 1 file differs"
    )
    with contextlib.closing(open_writer(bench.home)) as db:
        story.record.db = db
        story.record.data_differs(1.0, defect)
    text = text_of(client, f"/runs/{story.record.number}")
    assert 'id="corrupt"' in text.split('id="so-far"')[1]
    assert "AV, pass 1, compare" in text


def test_the_banner_is_red_in_a_real_browser(watched: Watched, number: int) -> None:
    watched.go(f"/runs/{number}")
    banner = watched.page.get_by_role("alert", name="Data corrupt")
    expect(banner).to_be_visible()
    red = watched.page.evaluate(
        "getComputedStyle(document.getElementById('corrupt')).borderTopColor"
    )
    r, g, b = (int(part) for part in re.findall(r"\d+", red)[:3])
    assert r > 2 * g and r > 2 * b, red
