"""Comparing runs in the page, its JSON version and the command line."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchstick import cli
from benchstick.store.database import open_writer
from tests.host.bench import wait_for
from tests.web import sample
from tests.web.browser_tab import BrowserTab
from tests.web.conftest import Bench, Browser
from tests.web.test_web_browser import CONTRAST
from tests.web.test_web_pages import words

EVIL = "<script>alert(1)</script>\"'>\u202e"


@pytest.fixture(scope="module")
def atto(bench: Bench) -> list[int]:
    """Three runs of atto: of two drives, one of them with a name that is an attack."""
    numbers = []
    with contextlib.closing(open_writer(bench.home)) as db:
        for make, model in ((sample.fast, None), (sample.slow, None), (sample.internal, EVIL)):
            wishes = {"from": "4KiB", "to": "64KiB", "length": "1MiB"}
            story = sample.start(bench.home, db, "atto", make(), fs="exfat", params=wishes)
            story.tell(spoil="16 KiB read" if model is None else None)
            number = story.finish()
            if model is not None:
                db.execute(
                    "UPDATE runs SET drive_model = ?, drive_json = json_set(drive_json,"
                    " '$.identity.model', ?) WHERE number = ?",
                    (model, model, number),
                )
            numbers.append(number)
    return numbers


@pytest.fixture
def two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bench of its own whose runs 1 and 2 are of cdm; the folder in which one stands."""
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(open_writer(tmp_path / "home")) as db:
        for make in (sample.fast, sample.slow):
            story = sample.start(tmp_path / "home", db, "cdm", make(), fs="exfat")
            story.tell()
            story.finish()
    return tmp_path


def test_the_page_ranks_marks_and_shows_differing_conditions(client: Browser, bench: Bench) -> None:
    first, second = bench.numbers["cdm"], bench.numbers["slow"]
    page = client.get(f"/compare?runs={first}&runs={second}&mark={second}")
    text = words(page.text)
    assert "Test conditions differ between these runs" in text
    assert "USB 10 Gb/s USB 480 Mb/s" in text
    assert "UASP, driver uas BOT, driver usb-storage" in text
    assert "Parameter preset nvme default" in text
    document = client.get(f"/api/v1/compare?runs={first},{second}&mark={second}").json
    assert document["schema"] == "benchstick/comparison/2"
    assert document["under_test"] == second
    # Each bar of the drive under test has a text too; the form has it selected.
    lists = re.findall(r'<ol class="rank">(.*?)</ol>', page.text, re.S)
    assert len(lists) == len(document["results"]) > 8
    for rank_list in lists:
        (bar_under_test,) = re.findall(r'<li class="under-test">(.*?)</li>', rank_list, re.S)
        assert "under test" in bar_under_test
        assert rank_list.count("under test") == 1
    (speed,) = [item for item in document["results"] if item["name"] == "SEQ1M Q8T1 read"]
    assert [row["rank"] for row in speed["rows"]] == [1, 2]
    assert speed["rows"][0]["value"] >= speed["rows"][1]["value"]
    low, high = (f"{speed['rows'][0][end]:.1f}" for end in ("min", "max"))
    assert f"{low} to {high} in 3 passes" in text
    assert f'<option value="{second}" selected>' in page.text


def test_a_pass_that_does_not_count_is_shown(client: Browser, bench: Bench) -> None:
    text = words(client.get(f"/compare?runs={bench.numbers['slow']},{bench.numbers['cdm']}").text)
    assert "in 2 of 3 passes · 2 of 3 passes; pass 1 invalid: buffered" in text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "runs: select at least one run"),
        ("?runs=", "runs: select at least one run"),
        ("?runs=das", "'das' is no run's number"),
        ("?runs=2,3", "only runs of one suite"),
        ("?runs=3,999999", "run 999999: there is no such run"),
        ("?runs=3,3", "run 3 is named twice"),
        ("?runs=3&mark=4", "mark: run 4 is not one of those compared"),
        ("?runs=3&mark=x", "mark: expected a whole number"),
        ("?runs=1,3", "run 1 is on the practice drive"),
        ("?runs=" + ",".join(str(n) for n in range(1, 20)), "at most 12"),
    ],
)
def test_runs_that_cannot_be_compared_give_one_line(
    client: Browser, query: str, message: str
) -> None:
    answer = client.get(f"/api/v1/compare{query}")
    assert answer.status_code == 400
    assert message in answer.json["error"]["message"]
    assert answer.json["error"]["field"] in ("runs", "mark")
    page = client.get(f"/compare{query}")
    assert page.status_code == 400
    assert message in words(page.text)


@pytest.mark.parametrize(
    "text", ["9" * 400, "%00", "%ff", "-1", "1e3", "'", "0", "1;2", "a" * 3000]
)
def test_garbage_is_refused(client: Browser, text: str) -> None:
    for query in (f"runs={text}", f"runs=3&mark={text}"):
        assert client.get(f"/compare?{query}").status_code in (200, 400)
        answer = client.get(f"/api/v1/compare?{query}")
        assert answer.status_code in (200, 400)
        assert "Traceback" not in answer.text


def test_hostile_names_are_text(client: Browser, atto: list[int]) -> None:
    for path in (f"/compare?runs={','.join(map(str, atto))}", f"/runs/{atto[0]}", "/runs"):
        page = client.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        if path.startswith("/compare"):
            assert "\u202e" not in re.sub(r'<span class="sub">.*?</span>', "", page.text)


def test_the_head_of_every_page_leads_to_what_can_be_compared(
    client: Browser, bench: Bench
) -> None:
    assert '<a href="/comparisons">Compare</a>' in client.get("/drives").text
    html = client.get("/comparisons?suite=cdm").text
    assert '<a href="/comparisons" aria-current="page">' in html
    (form,) = re.findall(r'<form method="get" action="/compare">.*?</form>', html, re.S)
    # Of this suite only, and not the practice drive's.
    assert re.findall(r'name="runs" value="(\d+)"', form) == [
        str(bench.numbers[name]) for name in ("slow", "cdm")
    ]
    # Each value with what it is.
    assert "SEQ1M Q8T1 read 1060.8 MB/s SEQ1M Q8T1 write 985.7 MB/s" in words(form)
    practice = client.get("/api/v1/comparisons?suite=cdm&kind=practice").json
    assert [run["number"] for run in practice["runs"]] == [bench.numbers["practice"]]
    # Without a suite that of the newest run.
    newest = client.get("/api/v1/runs?limit=1").json["runs"]
    assert client.get("/api/v1/comparisons").json["suite"] == newest[0]["suite"]
    none = client.get("/comparisons?suite=consistency").text
    assert "No runs of Write consistency" in words(none)
    wrong = client.get("/api/v1/comparisons?suite=none")
    assert wrong.status_code == 400
    assert wrong.json["error"]["field"] == "suite"


def test_the_list_and_a_run_lead_to_it_without_scripts(client: Browser, bench: Bench) -> None:
    html = client.get("/runs").text
    (form,) = re.findall(r'<form method="get" action="/compare">.*?</form>', html, re.S)
    cdm, slow = bench.numbers["cdm"], bench.numbers["slow"]
    for number in (cdm, slow):
        assert f'name="runs" value="{number}"' in form
    html = client.get(f"/runs/{cdm}").text
    (form,) = re.findall(r'<form method="get" action="/compare">.*?</form>', html, re.S)
    assert f'type="hidden" name="runs" value="{cdm}"' in form
    boxes = re.findall(r'type="checkbox" id="pick-\d+" name="runs" value="(\d+)"', form)
    # Of this suite only, and not the practice drive's.
    assert boxes == [str(slow)]
    assert client.get(f"/compare?runs={cdm}&mark={cdm}&runs={slow}").status_code == 200


def test_the_command_line_prints_the_same(
    bench: Bench, client: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    cdm, slow = str(bench.numbers["cdm"]), str(bench.numbers["slow"])
    assert cli.invoke(["compare", cdm, slow, "--mark", slow, "--json"]) == 0
    printed_document = json.loads(capsys.readouterr().out)
    assert printed_document == client.get(f"/api/v1/compare?runs={cdm},{slow}&mark={slow}").json
    assert cli.invoke(["compare", cdm, slow, "--mark", slow]) == 0
    text = capsys.readouterr().out
    assert "Link: Crucial X9 Pro: USB 10 Gb/s; SanDisk" in text
    assert re.search(r"SEQ1M Q8T1 read +1 .* \d+\.\d +MB/s +[\d.]+ to [\d.]+ in 3 passes", text)
    assert re.search(r"\* SanDisk Extreme", text)
    for argv, message in ((["compare"], "select at least one run"),
                       (["compare", cdm, "77"], "no such run"),
                       (["compare", cdm, "2"], "only runs of one suite"),
                       (["compare", cdm, "x"], "'x'")):  # fmt: skip
        assert cli.invoke(argv) == 2
        output = capsys.readouterr()
        assert message in output.err
        assert output.out == ""
        assert len(output.err.splitlines()) == 1


def test_a_button_switches_a_drives_lines_and_the_marked_bar_is_seen(
    tab: BrowserTab, atto: list[int], tmp_path: Path
) -> None:
    page = tab.go("/runs")
    for number in atto:
        page.get_by_role("checkbox", name=f"Compare run {number}", exact=True).check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_label("Drive under test").select_option(str(atto[0]))
    page.get_by_role("button", name="Set", exact=True).click()
    bar_under_test = page.locator(".rank li.under-test").first
    expect(bar_under_test).to_contain_text("under test")
    with page.expect_download() as download:
        page.locator(".ranks [data-png]").first.click()
    file_download = download.value
    # The list of runs has the newest first.
    numbers = "-".join(map(str, sorted(atto, reverse=True)))
    assert file_download.suggested_filename == f"benchstick-compare-{numbers}-rank-1.png"
    assert Path(file_download.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with page.expect_download() as download:
        page.get_by_role("link", name="Report", exact=True).click()
    report = page.context.new_page()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    report.goto(file.as_uri())
    expect(report.locator("figure.chart")).to_have_count(2)
    expect(report.locator("figure.chart").first.locator("svg g[data-line]")).to_have_count(6)
    report.close()
    fills = [
        page.locator(f".rank li.{look} .fill").first.evaluate("e => getComputedStyle(e).fill")
        for look in ("under-test", "other")
    ]
    accent = page.evaluate(
        "(() => { const d = document.createElement('i'); d.className = 'dot accent';"
        " document.body.append(d); const c = getComputedStyle(d).backgroundColor; d.remove();"
        " return c; })()"
    )
    assert fills[0] == accent != fills[1]
    expect(page.locator("#charts canvas")).to_have_count(2)
    script = "() => document.querySelector('[data-runs]').lines.plot.series.map((s) => s.show)"
    # The x axis first, then write and read of each drive.
    assert page.evaluate(script) == [True] * 7
    button = page.locator(f'#switches button[data-run="{atto[1]}"]')
    expect(button).to_have_attribute("aria-pressed", "true")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert page.evaluate(script) == [True, True, True, False, False, True, True]
    # Also after the chart was drawn again.
    page.emulate_media(color_scheme="dark")
    wait_for(lambda: page.evaluate(script)[3] is False)
    assert page.evaluate(CONTRAST) == []
    button.click()
    assert page.evaluate(script) == [True] * 7
    page.emulate_media(color_scheme="light")
    assert page.evaluate(CONTRAST) == []
    for width in (390, 1240):
        page.set_viewport_size({"width": width, "height": 900})
        wait_for(lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_the_commands_of_the_docs_work(two_runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/compare.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"^```(?:toml|csv) (\S+)\n(.*?)^```", text, re.S | re.M):
        (two_runs / name).write_text(content, encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    lines = [line for block in blocks for line in block.splitlines() if line]
    assert len(lines) > 6
    for line in lines:
        name, *argv = shlex.split(line)
        assert name == "benchstick"
        assert cli.invoke(argv) == 0, (line, capsys.readouterr().err)
        assert capsys.readouterr().out, line
