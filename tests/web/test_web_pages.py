"""What the pages show."""

from __future__ import annotations

import contextlib
import datetime
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from benchstick.drives.types import Guard
from benchstick.paths import make_run_folder
from benchstick.plan.states import GuardState, RequestState, RunState
from benchstick.plan.units import duration_text
from benchstick.reports import formatting
from benchstick.store import agent_requests, export, known_drives, locks, run_queries
from benchstick.store.database import open_writer
from benchstick.suites import registry
from tests.web import sample
from tests.web.conftest import Bench, Browser, SignedIn, browser
from webui.server.app import create_app

LOCKED = "S6PUNX0T312345A"


def words(html: str) -> str:
    """The text of a page without tags, with single spaces."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def test_a_card_shows_state_link_code_and_temperature(client: Browser) -> None:
    text = words(client.get("/drives").text)
    assert "USB 10 Gb/s · UASP · queue 30 · TRIM yes" in text
    assert "41 °C" in text
    assert "code port:1-4:0" in text
    assert "temperature: behind this bridge: no ATA pass-through" in text
    assert "the drive can do 10 Gb/s, the link runs at 480 Mb/s" in text
    assert "holds an EFI system partition and BitLocker" in text
    assert "/dev/nvme0n1p2 is mounted on /" in text
    assert "Practice drive" in text


@pytest.mark.parametrize(
    ("offered", "usable", "text"),
    [(True, 1 << 30, "TRIM yes"), (False, 0, "TRIM no"), (True, None, "TRIM yes"),
     (True, 0, "TRIM offered, not used by the kernel")],
)  # fmt: skip
def test_the_line_says_yes_only_to_a_trim_that_the_kernel_uses(
    app: Flask, offered: bool, usable: int | None, text: str
) -> None:
    fact = {"value": usable} if usable is not None else {"value": None, "reason": "not reported"}
    drive = {"transport": {"value": "usb-uas"}, "trim": {"value": offered}, "trim_kernel": fact}
    with app.test_request_context("/drives"):
        assert formatting.link_line(drive)[-1] == text


def test_page_and_json_list_bottlenecks_also_from_an_older_agents_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    drives = [make().to_json() for make in (sample.fast, sample.slow)]
    drives[0]["trim_kernel"] = {"value": 0, "unit": "B", "source": "sysfs discard_max_bytes"}
    for drive in drives:
        del drive["bottlenecks"]
    with contextlib.closing(open_writer(tmp_path / "home")) as db:
        known_drives.keep_drives_seen(db, {"schema": "benchstick/drives/2", "drives": drives})
    client = browser(create_app(tmp_path / "home"))
    listed_drives = {drive["name"]: drive for drive in client.get("/api/v1/drives").json["drives"]}
    codes = {
        name: [item["code"] for item in drive["bottlenecks"]]
        for name, drive in listed_drives.items()
    }
    assert codes == {"sdb": ["trim"], "sdc": ["usb_link", "usb_driver"]}
    for drive in listed_drives.values():
        text = "; ".join(item["text"] for item in drive["bottlenecks"])
        assert (
            client.get(f"/api/v1/drives/{drive['code']}").json["bottlenecks"]
            == drive["bottlenecks"]
        )
        for path in ("/drives", f"/drives/{drive['code']}", f"/runs/new?drive={drive['code']}"):
            assert f"Not running at full speed: {text}." in words(client.get(path).text), path


def test_a_run_of_an_older_version_shows_its_bottlenecks(client: Browser, bench: Bench) -> None:
    number = bench.numbers["slow"]
    with contextlib.closing(open_writer(bench.home)) as db:
        db.execute("UPDATE runs SET drive_json = json_remove(drive_json, '$.bottlenecks')"
                   " WHERE number = ?", (number,))  # fmt: skip
        exported = export.bundle(db, number)["drive"]["bottlenecks"]
    bottlenecks = client.get(f"/api/v1/runs/{number}").json["drive"]["bottlenecks"]
    assert [item["code"] for item in bottlenecks] == ["usb_link", "usb_driver"]
    assert bottlenecks == exported
    assert client.get(f"/runs/{number}/export").json["drive"]["bottlenecks"] == exported
    report = words(client.get(f"/runs/{number}/report.html").text)
    assert "; ".join(item["text"] for item in bottlenecks) in report


# ---- the runs on the pages of the drives and in their JSON versions


def card_of(html: str, key: str) -> str:
    """The card of the drive with this key."""
    (card,) = [
        str(part) for part in re.findall(r'<article class="card drive".*?</article>', html, re.S)
        if f'data-key="{key}"' in unescape(part)
    ]  # fmt: skip
    return card


def results_in(html: str) -> list[str]:
    """The headline results in a part of a page."""
    one = r'<span class="fig">(.*?</span> <span class="nowrap">.*?)</span></span>'
    return [words(part).strip() for part in re.findall(one, html, re.S)]


def results_of(app: Flask, headline: list[dict[str, Any]]) -> list[str]:
    """What the page shows of the headline of a run."""
    with app.test_request_context("/"):
        macros: Any = app.jinja_env.get_template("macros.html").module
        return results_in(str(macros.results(headline[:2])))


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages' clock stands: "3 s ago" is the same in two of them."""
    now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=3)
    stopped = SimpleNamespace(
        datetime=SimpleNamespace(now=lambda _: now, fromisoformat=datetime.datetime.fromisoformat),
        UTC=datetime.UTC,
    )
    monkeypatch.setattr(formatting, "datetime", stopped)


def test_the_json_of_the_drives_has_all_that_a_card_shows(app: Flask, still: None) -> None:
    client = browser(app)
    page = client.get("/drives").text
    drives = client.get("/api/v1/drives").json["drives"]
    counts = {"runs": 0, "running": 0, "headline": 0, "none": 0}
    for drive in drives:
        card = card_of(page, drive["identity"]["drive_key"])
        numbers = {int(number) for number in re.findall(r'href="/runs/(\d+)"', card)}
        last = drive["last_run"]
        assert numbers == {last["number"] if last else None, drive["running"]} - {None}
        running = re.search(r"Run (\d+)…", words(card))
        assert drive["running"] == (int(running[1]) if running else None)
        count = re.search(r"(\d+) runs?\b", words(card))
        assert drive["runs"] == (int(count[1]) if count else 0)
        if last is None:
            assert "Last:" not in card
            counts["none"] += 1
            continue
        assert f"Last: {last['suite']}" in words(card)
        assert formatting.ago(last["created_utc"]) in words(card)
        assert results_in(card) == results_of(app, last["headline"])
        if not last["headline"]:
            assert last["state"] in words(card)
        counts["runs"] += drive["runs"]
        counts["running"] += drive["running"] is not None
        counts["headline"] += bool(last["headline"])
    assert min(counts.values()) > 0, counts


def test_the_json_of_a_drive_has_all_that_its_page_shows(app: Flask, still: None) -> None:
    client = browser(app)
    counts = {"history": 0, "running": 0, "temperature": 0}
    for drive in client.get("/api/v1/drives").json["drives"]:
        html = client.get(f"/drives/{drive['code']}").text
        twin = client.get(f"/api/v1/drives/{drive['code']}").json
        for name in ("runs", "running", "bottlenecks"):
            assert twin[name] == drive[name]
        assert twin["history"][:1] == [drive["last_run"]][: drive["runs"]]
        running = re.search(r"Run (\d+)…", words(html))
        assert twin["running"] == (int(running[1]) if running else None)
        rows = re.findall(r"<tr>(.*?)</tr>", html[html.rindex("<h3>Runs</h3>") :], re.S)
        assert len(rows) == len(twin["history"])
        for row, run in zip(rows, twin["history"], strict=True):
            assert f'href="/runs/{run["number"]}"' in row
            assert results_in(row) == results_of(app, run["headline"])
            assert run["state"] in words(row)
            assert formatting.ago(run["created_utc"]) in words(row)
        if rows:
            assert f"All {twin['runs']} in one list" in words(html)
        reading = twin["last_temperature"]
        assert (reading is not None) == ("Last temperature of a run" in html)
        if reading:
            text = f"{reading['celsius']:g} °C in run {reading['run']} , "
            assert text + formatting.ago(reading["created_utc"]) in words(html)
        counts["history"] += len(rows)
        counts["running"] += twin["running"] is not None
        counts["temperature"] += reading is not None
    assert min(counts.values()) > 0, counts


def test_a_protected_drive_has_no_way_to_a_test(client: Browser) -> None:
    html = client.get("/drives").text
    assert "/runs/new?drive=S4EWNX0R654321B" not in html
    page = client.get("/runs/new?drive=S4EWNX0R654321B").text
    assert "No run can be started on it" in page
    assert 'id="go"' not in page


def test_a_protected_drives_code_is_not_offered_for_erasing(client: Browser) -> None:
    assert "type this to confirm erasing" in words(client.get("/drives/port:1-4:0").text)
    protected = words(client.get("/drives/S4EWNX0R654321B").text)
    assert "type this to confirm erasing" not in protected
    assert "identifies the drive; protected drives are never erased" in protected


def test_a_run_without_io_has_no_chart_of_nothing(client: Browser, bench: Bench) -> None:
    with contextlib.closing(open_writer(bench.home)) as db:
        story = sample.start(bench.home, db, "erase", sample.fast(),
                             params={"rung": "overwrite", "samples": "16"})  # fmt: skip
        story.tell()
        number = story.finish()
    html = client.get(f"/runs/{number}").text
    assert 'id="chart"' not in html
    assert "/charts/" not in html.replace("/methods/charts", "")
    assert "there is no speed to show" in words(html)


def test_every_fact_has_its_source_or_its_reason(client: Browser) -> None:
    html = client.get("/drives/port:1-4:0").text
    text = words(html)
    assert "not readable" in text
    assert "behind this bridge: no ATA pass-through" in text
    for make in sample.ALL:
        drive = make()
        page = words(client.get(f"/drives/{drive.code}").text)
        for name, fact in drive.facts.items():
            expected = fact.reason if fact.value is None else fact.source
            assert str(expected) in page, (drive.code, name)


def test_without_a_scan_the_page_says_what_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    open_writer(tmp_path / "home").close()
    client = browser(create_app(tmp_path / "home"))
    assert "benchstick agent" in client.get("/drives").text
    assert "No runs yet" in client.get("/runs").text
    assert client.get("/api/v1/drives").json["drives"] == []


def test_without_a_store_it_reports_that(tmp_path: Path) -> None:
    client = browser(create_app(tmp_path))
    for path in ("/drives", "/api/v1/drives"):
        answer = client.get(path)
        assert answer.status_code == 503
        assert "no store yet" in answer.text
    (tmp_path / "store.db").write_bytes(b"this is not a database, whatever its name says" * 100)
    answer = client.get("/drives")
    assert answer.status_code == 503
    assert "Traceback" not in answer.text


def test_hostile_names_are_shown_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    with contextlib.closing(open_writer(tmp_path / "home")) as db:
        drive = sample.fast().to_json()
        evil = "<script>alert(1)</script>\"'>"
        drive["identity"]["model"] = drive["identity"]["serial"] = drive["code"] = evil
        drive["temperature"] = {"value": None, "reason": evil}
        document = {"schema": "benchstick/drives/2", "drives": [drive]}
        known_drives.keep_drives_seen(db, document)
    client = browser(create_app(tmp_path / "home"))
    link = client.get("/drives").text
    assert "<script>alert" not in link
    path = re.search(r'href="(/drives/[^"]+)"', link)
    assert path is not None
    page = client.get(unescape(path[1]))
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    form = client.get("/runs/new", query_string={"drive": evil, "suite": "cdm"})
    assert form.status_code == 200
    assert "<script>alert" not in form.text


def test_a_suite_of_the_raw_drive_asks_for_no_filesystem(client: Browser) -> None:
    html = client.get("/runs/new?drive=practice&suite=consistency").text
    assert 'name="fs"' not in html
    assert "The raw drive" in html
    assert 'name="fs"' in client.get("/runs/new?drive=practice&suite=cdm").text
    form = {"drive": "practice", "suite": "consistency", "p.span": "50", "p.time": "60"}
    cost = client.get("/api/v1/runs/new", query_string=form).json["plan"]
    assert (cost["target"], cost["destroys"]) == ("block", True)


def test_the_start_form_shows_the_cost_and_what_is_lost(client: Browser) -> None:
    text = words(client.get("/runs/new?drive=port:1-4:0&suite=das&scale=0.01").text)
    assert "Written to the drive" in text
    assert "destroyed" in text
    assert "type its code: port:1-4:0" in text
    page = client.get(f"/runs/new?drive={LOCKED}&suite=cdm").text
    assert re.search(r'id="erase-part"[^>]* hidden', page)
    assert "Continue to unlock" in page


def test_a_wrong_code_is_reported_at_its_field_and_nothing_is_requested(
    signed_in: SignedIn, bench: Bench
) -> None:
    before = bench.count("requests")
    form = {"drive": "practice", "suite": "cdm", "erase": "practise", "p.passes": "2"}
    answer = signed_in.post("/runs", form)
    assert answer.status_code == 403
    assert "&#39;practise&#39; is not this drive&#39;s code" in answer.text
    assert 'value="2"' in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert bench.count("requests") == before


def test_a_bad_parameter_is_reported_and_the_rest_is_kept(signed_in: SignedIn) -> None:
    form = {"drive": "practice", "suite": "cdm", "p.passes": "77", "p.time": "3"}
    answer = signed_in.post("/runs", form)
    assert answer.status_code == 400
    assert "is not a whole number from 0 to 9" in answer.text
    assert re.search(r"<option selected>3</option>", answer.text)


def test_a_suite_of_the_raw_drive_alone_starts_from_its_form(
    signed_in: SignedIn, bench: Bench
) -> None:
    """Its form must not name a filesystem, also for the practice drive, which else takes one."""
    page = signed_in.client.get("/runs/new?drive=practice&suite=erase").text
    assert 'id="p-rung"' in page
    assert 'name="fs"' not in page
    assert "destroyed" in page
    before = bench.count("requests")
    form = {"drive": "practice", "suite": "erase", "erase": "practice", "p.rung": "overwrite"}
    assert signed_in.post("/runs", form).status_code == 303
    assert bench.count("requests") == before + 1


def test_a_drive_that_does_not_answer_is_not_offered_to_be_unlocked(
    signed_in: SignedIn, bench: Bench
) -> None:
    """The page, the preview and each way to start a run: try again, whatever codes are sent."""
    guard = Guard(GuardState.LOCKED, "not answering, try again: the drive is slow", retry=True)
    document = {"schema": "benchstick/drives/2", "shared": [], "drives": [
        replace(sample.internal(), guard=guard).to_json()
    ]}  # fmt: skip
    before = bench.count("requests")
    try:
        with contextlib.closing(open_writer(bench.home)) as db:
            known_drives.keep_drives_seen(db, document)
        client = signed_in.client
        for path in ("/drives", f"/drives/{LOCKED}", f"/runs/new?drive={LOCKED}&suite=cdm"):
            page = client.get(path).text
            assert "not answering" in page, path
            assert "unlock" not in page.lower().replace("unlocking", ""), path
        document = client.get(f"/api/v1/runs/new?drive={LOCKED}&suite=cdm").json
        assert (document["needs"]["unlock"], document["guard"]["retry"]) == (False, True)
        form = {"drive": LOCKED, "suite": "cdm", "fs": "ext4", "erase": LOCKED, "unlock": LOCKED}
        draft = "suite=cdm&target=block"
        codes = {"drive": LOCKED, "erase": LOCKED, "unlock": LOCKED}
        runs = [{"suite": "cdm", "fs": "ext4"}]
        for answer in (
            signed_in.post("/runs", form),
            signed_in.post("/queues", {**codes, "q": draft}),
            signed_in.api("/api/v1/runs", form),
            signed_in.api("/api/v1/queues", {**codes, "runs": runs}),
        ):
            assert answer.status_code == 403
            assert "not answering, try again: the drive is slow" in answer.text
        assert bench.count("requests") == before
    finally:
        with contextlib.closing(open_writer(bench.home)) as db:
            sample.keep_drives(db)


def test_unlocking_is_an_act_of_its_own(signed_in: SignedIn, bench: Bench) -> None:
    before = bench.count("requests")
    form = {"drive": LOCKED, "suite": "cdm", "fs": "ext4", "erase": LOCKED}
    first = signed_in.post("/runs", form)
    assert first.status_code == 200
    assert "Unlock this drive?" in first.text
    assert "EFI system partition" in first.text
    wrong = signed_in.post("/runs", {**form, "unlock": "x"})
    assert wrong.status_code == 403
    assert bench.count("requests") == before
    assert signed_in.post("/runs", {**form, "erase": "x", "unlock": LOCKED}).status_code == 403
    assert bench.count("requests") == before
    right = signed_in.post("/runs", {**form, "unlock": LOCKED})
    assert right.status_code == 303
    assert right.location.startswith("/requests/")
    assert bench.count("requests") == before + 1


def test_the_request_page_shows_the_agents_answer(signed_in: SignedIn, bench: Bench) -> None:
    form = {"drive": "practice", "suite": "cdm", "erase": "practice", "p.size": "32MiB"}
    address = signed_in.post("/runs", form).location
    assert "Waiting for the agent" in signed_in.client.get(address).text
    number = int(address.rsplit("/", 1)[1])
    with contextlib.closing(open_writer(bench.home)) as db:
        error = {"code": "refused", "message": "the drive is <busy>", "field": "drive"}
        agent_requests.answer_request(db, number, RequestState.REFUSED, answer={"error": error})
        page = signed_in.client.get(address).text
        assert "the drive is &lt;busy&gt;" in page
        assert "p.size=32MiB" in page
        assert signed_in.client.get(f"/api/v1{address}").json["error"]["code"] == "refused"
        agent_requests.answer_request(db, number, RequestState.ACCEPTED, run=1)
    answer = signed_in.client.get(address)
    assert answer.status_code == 303
    assert answer.location == "/runs/1"


def test_real_and_practice_runs_are_never_mixed(client: Browser, bench: Bench) -> None:
    practice = f'href="/runs/{bench.numbers["practice"]}"'
    assert practice not in client.get("/runs").text
    page = client.get("/runs?kind=practice").text
    assert practice in page
    assert f'href="/runs/{bench.numbers["das"]}"' not in page.split("<main")[1]
    assert (
        "not the results of a real drive" in client.get(f"/runs/{bench.numbers['practice']}").text
    )


def test_a_das_result_has_each_pass_in_mb_and_seconds(client: Browser, bench: Bench) -> None:
    text = words(client.get(f"/runs/{bench.numbers['das']}").text)
    for name in ("AV", "Home", "BR", "ISOs"):
        assert name in text
    assert "849.0 1.42 s" in text
    assert "scale 0.05" in text
    assert "data differ: 00012.jpg" in text
    assert "Invalid results" in text


def test_a_cdm_result_has_grid_passes_verdict_and_commands(client: Browser, bench: Bench) -> None:
    html = client.get(f"/runs/{bench.numbers['cdm']}").text
    text = words(html)
    assert "SEQ128K Q32T1" in text
    assert "1060.8" in text
    assert "works Q32 is 8.5 times Q1" in text
    assert "drive counters and fio agree within 0.08 %" in text
    assert "fio --thread --output-format=json" in text
    assert "SEQ 1MiB (Q= 8, T= 1):" in text
    assert f"/runs/{bench.numbers['cdm']}/steps/1/fio.json" in html


def test_an_invalid_pass_stands_in_its_own_column(client: Browser, bench: Bench) -> None:
    """Pass 1 of one test is invalid: the others do not move up into its place."""
    html = client.get(f"/runs/{bench.numbers['slow']}").text
    table = html[html.index("Every pass</h3>") :]
    rows = re.findall(r"<tr.*?</tr>", table[: table.index("</table>")], re.S)
    (row,) = [text for row in rows if (text := words(row).strip()).startswith("RND4K Q1T1 read")]
    assert re.fullmatch(r"RND4K Q1T1 read 16\.4 0\.0 invalid 16\.\d 16\.4 16\.4", row), row
    (row,) = [text for row in rows if (text := words(row).strip()).startswith("SEQ1M Q1T1 write")]
    assert row == "SEQ1M Q1T1 write 38.1 0.1 38.1 38.2 38.1"
    # Its best result has a note that it is of fewer passes.
    assert "2 of 3 passes" in words(html[: html.index("Every pass</h3>")])


def test_a_mixed_result_has_its_column_and_its_contradiction(client: Browser, bench: Bench) -> None:
    text = words(client.get(f"/runs/{bench.numbers['slow']}").text)
    assert "Mix 70/30 MB/s" in text
    assert "the two contradict each other" in text
    assert "buffered: 37 % of the bytes went through the page cache" in text


def test_an_invalid_result_is_struck_out_in_the_headline_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    make_run_folder()
    with contextlib.closing(open_writer(tmp_path)) as db:
        params = {"preset": "reduced", "test": "throughput"}
        story = sample.start(tmp_path, db, "pts", sample.fast(), params=params)
        story.tell(12)
        number = story.finish(RunState.CANCELLED, 130, "cancelled")
    client = browser(create_app(tmp_path))
    struck = r"<s>[\d.]+</s> <small>MB/s</small></b> <span class=\"tag bad\">invalid</span>"
    page = client.get(f"/runs/{number}").text
    assert len(re.findall(struck, page)) == 2
    assert 'role="alert">cancelled<' not in page
    runs = client.get("/runs").text
    assert re.search(r"<s>[\d.]+ MB/s</s> <span class=\"tag bad\">invalid", runs)


def test_a_failed_run_says_why_and_shows_what_was_measured(client: Browser, bench: Bench) -> None:
    text = words(client.get(f"/runs/{bench.numbers['lost']}").text)
    assert "the drive went away" in text
    assert "drive-lost" in text
    assert "9 of 78 steps" in text


def test_a_running_run_whose_runner_died_is_interrupted(client: Browser, bench: Bench) -> None:
    number = bench.numbers["running"]
    assert client.get(f"/api/v1/runs/{number}").json["state"] == "running"
    assert number in client.get("/api/v1/status").json["running"]
    bench.numbers["lock"].release()
    try:
        assert client.get(f"/api/v1/runs/{number}").json["state"] == "interrupted"
        assert client.get(f"/api/v1/runs/{number}/samples").json["state"] == "interrupted"
        assert number not in client.get("/api/v1/status").json["running"]
        assert "process of this test ended unexpectedly" in client.get(f"/runs/{number}").text
    finally:
        bench.numbers["lock"] = locks.RunLock(bench.numbers["story"].uuid)


def test_labels_are_shown_and_unique(signed_in: SignedIn) -> None:
    assert signed_in.post("/labels", {"drive": "practice", "label": "blue box"}).status_code == 303
    assert "blue box" in signed_in.client.get("/drives").text
    assert signed_in.client.get("/drives/blue box").status_code == 200
    answer = signed_in.post("/labels", {"drive": LOCKED, "label": "blue box"})
    assert answer.status_code == 400
    assert signed_in.post("/labels", {"drive": "practice", "label": ""}).status_code == 303


def test_a_label_combines_the_runs_of_a_drive_behind_another_bridge(
    signed_in: SignedIn, bench: Bench
) -> None:
    """The drive that has no serial here had one in another enclosure, which is not plugged in."""
    client, code = signed_in.client, "port:1-4:0"
    elsewhere = "ABC1|Another enclosure|500000000000"
    alone = client.get(f"/api/v1/drives/{code}").json
    assert alone["identities"] == [alone["identity"]["drive_key"]]
    assert [run["number"] for run in alone["history"]] == [
        bench.numbers["lost"], bench.numbers["slow"]
    ]  # fmt: skip
    cdm = bench.numbers["cdm"]
    with contextlib.closing(open_writer(bench.home)) as db:
        before = db.execute("SELECT drive_key FROM runs WHERE number = ?", (cdm,)).fetchone()[0]
        db.execute("UPDATE runs SET drive_key = ? WHERE number = ?", (elsewhere, cdm))
        run_queries.set_label(db, elsewhere, "SSD 7")
    try:
        assert signed_in.post("/labels", {"drive": code, "label": "SSD 7"}).status_code == 303
        joined = client.get(f"/api/v1/drives/{code}").json
        assert (joined["runs"], len(joined["identities"])) == (3, 2)
        numbers = sorted([cdm, bench.numbers["lost"], bench.numbers["slow"]], reverse=True)
        assert [run["number"] for run in joined["history"]] == numbers
        page = client.get(f"/drives/{code}").text
        assert "combines 2 identities" in page
        assert f'href="/runs/{cdm}"' in page
        assert "3 runs" in client.get("/drives").text
        assert client.get("/runs").text.count("<bdi>SSD 7</bdi>") == 3
        assert {run["drive"]["label"] for run in joined["history"]} == {"SSD 7"}
        # By its label, by each key and by its code; in pages as well.
        for name in ("SSD 7", elsewhere, code, "ABC1"):
            runs = client.get("/api/v1/runs", query_string={"drive": name}).json["runs"]
            assert [run["number"] for run in runs] == numbers, name
        part = client.get(f"/api/v1/runs?drive=SSD 7&before={numbers[0]}&limit=1").json["runs"]
        assert [run["number"] for run in part] == numbers[1:2]
        # Two drives that are both here are two drives.
        assert signed_in.post("/labels", {"drive": LOCKED, "label": "SSD 7"}).status_code == 400
    finally:
        signed_in.post("/labels", {"drive": code, "label": ""})
        with contextlib.closing(open_writer(bench.home)) as db:
            run_queries.set_label(db, elsewhere, "")
            db.execute("UPDATE runs SET drive_key = ? WHERE number = ?", (before, cdm))


def test_the_history_of_a_drive_that_nobody_knows_is_empty(client: Browser) -> None:
    assert client.get("/api/v1/runs?drive=nothing").json["runs"] == []
    assert "No runs of this drive" in client.get("/runs?drive=%3Cb%3E").text
    assert client.get("/drives/nothing").status_code == 404


def test_each_suite_says_what_it_costs_on_this_drive(client: Browser) -> None:
    page = client.get("/runs/new?drive=practice&suite=cdm").text
    (cards,) = re.findall(r'aria-labelledby="which">(.*?)</section>', page, re.S)
    costs = re.findall(r'<b>([^<]+)</b>.*?cost-line">(.*?)</span></a>', cards, re.S)
    assert len(costs) == len(registry.all_suites())
    for name, cost in costs:
        assert re.search(r"(about|at most) \d", cost), name
        assert "writes" in cost
        assert "data destroyed" in cost
    # What the card says is what its page says then.
    (das,) = [cost for name, cost in costs if name.startswith("DAS")]
    plan = client.get("/api/v1/runs/new?drive=practice&suite=das&scale=0.01").json["plan"]
    assert duration_text(plan["seconds"]) in das


def test_pages_carry_title_language_headings_and_labels(client: Browser, bench: Bench) -> None:
    paths = ["/drives", "/drives/practice", "/runs", "/runs/new", "/runs/new?drive=practice",
             "/methods", "/licences", "/suites/cdm", "/login", "/nowhere", "/compare?runs=3,4",
             "/references", "/models"]  # fmt: skip
    paths += [f"/runs/{bench.numbers[name]}" for name in ("das", "cdm", "running", "lost")]
    for path in paths:
        html = client.get(path).text
        assert '<html lang="en">' in html, path
        assert re.search(r"<title>[^<]+ · Benchstick</title>", html), path
        assert html.count("<h1") == 1, path
        ids = re.findall(r' id="([^"]+)"', html)
        assert len(ids) == len(set(ids)), path
        labelled = set(re.findall(r'<label[^>]* for="([^"]+)"', html))
        for field in re.findall(r"<(?:input|select)([^>]*)>", html):
            if 'type="hidden"' not in field:
                match = re.search(r'id="([^"]+)"', field)
                assert match is not None and match[1] in labelled, (path, field)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (10000, "Mb/s", "10 Gb/s"), (480, "Mb/s", "480 Mb/s"), (41, "°C", "41 °C"),
        (True, None, "yes"), (["BOT", "UAS"], None, "BOT, UAS"), ([], None, "none"),
        (1 << 30, "B", "1.07 GB"), (512, "B", "512 B"), (8057.4, "us", "8.1 ms"),
        (146.2, "us", "146 µs"), (57739, "IOPS", "57\u202f739 IOPS"), (None, None, "–"),
        (float("nan"), None, "–"), ("x", "y", "x y"), ({"a": 1}, None, "a 1"),
    ],
)  # fmt: skip
def test_values_are_shown_for_people(value: object, unit: str | None, text: str) -> None:
    assert formatting.value_with_unit(value, unit) == text


def test_every_verdict_of_a_suite_has_its_colour() -> None:
    assert formatting.tag_of("reached") == "ok"
    for state in ("not reached", "slowdown", "throttling", "likely", "ineffective"):
        assert formatting.tag_of(state) == "warn"
    assert formatting.tag_of("none") == "plain"


def test_a_suites_table_has_its_numbers_on_the_right() -> None:
    table = formatting.table(
        {"title": "Queue depth sweep", "columns": ["depth", "IOPS", "latency us", "queued"],
         "rows": [["1", "9000", "111.1", "in the drive"], ["32", "123488", "-", "in 5 us"]]}
    )  # fmt: skip
    assert table.columns == ["depth", "IOPS", "latency µs", "queued"]
    assert table.rows[1] == ["32", "123\u202f488", "–", "in 5 µs"]
    # The first column names the rows.
    assert table.right == {1, 2}


def test_times_are_shown_in_words() -> None:
    now = formatting.parse_utc("2026-01-31T12:00:00.000Z")
    assert formatting.ago("2026-01-31T11:59:30.000Z", now) == "30 s ago"
    assert formatting.ago("2026-01-31T11:30:00.000Z", now) == "30 min ago"
    assert formatting.ago("2026-01-29T12:00:00.000Z", now) == "2 days ago"
    # The clock was put back: not "in 3 days".
    assert formatting.ago("2026-02-03T12:00:00.000Z", now) == "2026-02-03 12:00 UTC"
    assert formatting.ago("nonsense", now) == "–"
    assert formatting.clock(3723) == "1:02:03"


def test_glossary_and_charts_are_linked_where_they_are_needed(
    client: Browser, bench: Bench
) -> None:
    for name, title in (("glossary", "Glossary"), ("charts", "How to read a chart")):
        page = client.get(f"/methods/{name}").text
        assert f">{title}</h1>" in page
        assert f'href="/methods/{name}"' in client.get("/methods").text
    assert 'href="/methods/charts"' in client.get(f"/runs/{bench.numbers['cdm']}").text
    assert 'href="/methods/glossary"' in client.get("/drives").text
