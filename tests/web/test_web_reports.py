"""Reports of a run: as files, opened from disk in a browser, and next to its charts on the page."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pypdf
import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect

from benchstick import cli
from benchstick.analysis.run_timeline import POINTS, session
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.plan.plain import plain
from benchstick.plan.states import GuardState
from benchstick.reports import run_report
from benchstick.store.database import open_reader, open_writer
from benchstick.store.export import results_csv
from benchstick.store.run_reader import run_json
from benchstick.store.run_results import Sample
from tests.results import results_from
from tests.web import made_charts, made_runs, sample
from tests.web.conftest import Bench, Browser
from tests.web.watched import Watched

HOSTILE = "=1+1</td><script>alert(1)</script>\"'\u202e漢" + 10_000 * "x"


@pytest.fixture(scope="module")
def runs(bench: Bench) -> dict[str, int]:
    """Runs with charts, and one on a drive with a name that somebody thought about."""
    db = open_writer(bench.home)
    keep = partial(made_runs.add_run, bench.home, db)
    numbers = {
        "sweep": keep("sweep", {}, made_charts.sweep),
        "sustained": keep("sustained", {"span": "49%"}, made_charts.sustained),
    }
    drive = Drive(
        name="sdx", path="/dev/sdx", devno="8:0", diskseq=99, code="HOSTILE",
        identity=Identity("HOSTILE", HOSTILE, HOSTILE, None, 10**12, "2-9", 0),
        guard=Guard(GuardState.FREE, HOSTILE), facts={"transport": Fact("usb-uas"),
                                             "odd": Fact(HOSTILE, source=HOSTILE)},
    )  # fmt: skip
    story = sample.start(bench.home, db, "cdm", drive, fs="exfat", params={"passes": "1"})
    story.tell()
    story.record.event(1.0, HOSTILE, HOSTILE)
    numbers["hostile"] = story.finish(reason=HOSTILE)
    db.close()
    return numbers


def document(bench: Bench, number: int) -> dict[str, Any]:
    with contextlib.closing(open_reader(bench.home)) as db:
        return run_json(db, number)


# ---- files


@pytest.mark.parametrize("way", ["", "/api/v1"])
def test_each_file_is_attached_under_a_name_of_ours(
    client: Browser, runs: dict[str, int], way: str
) -> None:
    number = runs["hostile"]
    for path, kind, name in (
        ("report.html", "text/html; charset=utf-8", f"run-{number}.html"),
        ("report.pdf", "application/pdf", f"run-{number}.pdf"),
        ("results.csv", "text/csv; charset=utf-8", f"run-{number}-results.csv"),
        ("charts/1.svg", "image/svg+xml", f"run-{number}-chart-1.svg"),
    ):
        with client.get(f"{way}/runs/{number}/{path}") as answer:
            assert answer.status_code == 200
            assert answer.content_type.split(";")[0] == kind.split(";")[0]
            expected = f'attachment; filename="benchstick-{name}"'
            assert answer.headers["Content-Disposition"] == expected
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_what_is_not_there_is_404(client: Browser, runs: dict[str, int]) -> None:
    for path in ("99999/report.html", "99999/report.pdf", "x/report.html", "99999/results.csv",
                 f"{runs['sweep']}/charts/0.svg", f"{runs['sweep']}/charts/4.svg",
                 f"{runs['sweep']}/charts/x.svg", "99999/charts/1.svg"):  # fmt: skip
        for way in ("", "/api/v1"):
            assert client.get(f"{way}/runs/{path}").status_code == 404, path


def test_a_chart_is_that_of_the_page(client: Browser, runs: dict[str, int], bench: Bench) -> None:
    run = document(bench, runs["sweep"])
    for at, chart in enumerate(run["result"]["charts"], 1):
        root = ElementTree.fromstring(client.get(f"/runs/{runs['sweep']}/charts/{at}.svg").data)
        assert root.findtext("{http://www.w3.org/2000/svg}title") == chart["title"]


def test_the_pdf_has_every_result_of_the_json(client: Browser, bench: Bench) -> None:
    for name in ("das", "cdm", "slow"):
        number = bench.numbers[name]
        data = client.get(f"/api/v1/runs/{number}/report.pdf").data
        rows = list(result_rows(data))
        results = client.get(f"/api/v1/runs/{number}").json["results"]
        assert len(rows) == len(results) > 20
        for row, result in zip(rows, results, strict=True):
            pass_text = "all" if result["pass"] is None else str(result["pass"])
            assert (row[0], row[1], row[3], row[4]) == (
                result["name"], pass_text, result["unit"], result["target"],
            )  # fmt: skip
            assert row[5].startswith(result["state"])
            if result["value"] is None:
                assert row[2] == "–"
            else:
                assert math.isclose(float(row[2]), result["value"], rel_tol=1e-5)
            for word in (result["reason"] or "").split():
                assert word in row[5]


def result_rows(data: bytes) -> Iterator[list[str]]:
    """The cells of each row of the table of all results: a row starts at the left edge, and each of
    its cells is below its column's name."""
    pieces: list[tuple[float, float, str]] = []

    def collect(text: str, cm: Any, tm: Any, font: Any, size: Any) -> None:
        if text.strip() and tm[4]:
            pieces.append((tm[4], tm[5], text.strip()))

    reader = pypdf.PdfReader(io.BytesIO(data), strict=True)
    for page in reader.pages:
        page.extract_text(visitor_text=collect)
    texts = [text for _, _, text in pieces]
    begin, end = texts.index("All results") + 1, texts.index("Steps")
    row: list[str] = []
    last = math.inf
    for x, y, text in pieces[begin:end]:
        if text.startswith(("Page ", "Run ")):
            continue
        # The first line of the first cell is above all others of its row, and below the last row.
        if x == 42 and not (row and len(row) == 1):
            if row and row[0] != "Result":
                yield row
            row = [text]
        elif y == last or len(row) < 6:
            row.append(text)
        else:
            row[-1] += f" {text}"
        last = y
    yield row


def test_no_cell_of_the_csv_is_a_formula(
    client: Browser, runs: dict[str, int], bench: Bench
) -> None:
    text = client.get(f"/runs/{runs['hostile']}/results.csv").text
    hostile = document(bench, runs["hostile"])
    rows = list(csv.reader(io.StringIO(text)))
    assert {row[3][:3] for row in rows[1:]} == {"'=1"}
    assert rows[1][3] == plain(f"'{HOSTILE}")
    assert [row[3][:3] for row in csv.reader(io.StringIO(results_csv(
        hostile, results_from(hostile["results"])
    )))][1] == "'=1"  # fmt: skip
    for row in rows[1:]:
        for cell in row:
            assert not re.match(r"[=+\-@\t\r]", cell) or float(cell) is not None


def test_hostile_names_are_text_in_every_file(client: Browser, runs: dict[str, int]) -> None:
    number = runs["hostile"]
    page = client.get(f"/runs/{number}/report.html").text
    assert page.count("<script") == 0
    assert "=1+1&lt;/td&gt;&lt;script&gt;" in page
    data = client.get(f"/runs/{number}/report.pdf").data
    pdf = pypdf.PdfReader(io.BytesIO(data), strict=True)
    assert "=1+1</td><script>alert(1)</script>" in pdf.pages[0].extract_text()
    ElementTree.fromstring(client.get(f"/runs/{number}/charts/1.svg").data)


def test_a_run_without_result_or_samples_has_a_report(client: Browser, bench: Bench) -> None:
    for name in ("lost", "running", "practice"):
        number = bench.numbers[name]
        assert client.get(f"/runs/{number}/report.html").status_code == 200
        assert client.get(f"/runs/{number}/report.pdf").status_code == 200


# ---- the chart over the session


def test_the_session_has_gaps_where_nothing_was_measured() -> None:
    def one(n: int, moved: int, step: int) -> dict[str, Any]:
        return Sample(n, n + 1.0, 1.0, step, moved, 0, 0, 1, 0, 0, 0, 1, 1.0).to_json()

    samples = [one(0, 5, 0), one(1, 7, 0), one(2, 0, 0), one(3, 0, 1), one(4, 9, 0), one(20, 3, 0)]
    run = {
        "plan": {"steps": [{"timed": True}, {"timed": False}]},
        "temperatures": [{"t": 4.0, "celsius": 40.0}, {"t": 5.0, "celsius": None}],
    }
    chart = run_report.session_chart(run, session(samples, {0}))
    assert chart is not None
    # Nothing was written: there is no such line.
    read, warm = chart.lines
    assert read["points"] == [[1, 5], [2, 7], [3, 0], [4, None], [5, 9], [5.01, None], [21, 3]]
    assert warm["points"] == [[4, 40]]
    assert run_report.session_chart({**run, "temperatures": []}, session([], set())) is None


def test_a_long_session_is_reduced_and_keeps_its_extremes() -> None:
    samples = [
        Sample(n, n + 1.0, 1.0, 0, 10 if n != 7000 else 999, 0, 0, 1, 0, 0, 0, 1, 1.0).to_json()
        for n in range(9000)
    ]
    run = {"plan": {"steps": [{"timed": True}]}, "temperatures": []}
    chart = run_report.session_chart(run, session(samples, {0}))
    assert chart is not None
    line = chart.lines[0]
    assert 1000 < len(line["points"]) <= POINTS
    assert max(line["high"]) == 999
    assert "band" in chart.notes[0]


# ---- in a browser


@contextlib.contextmanager
def opened_from_disk(chromium: Chromium, folder: Path, report: bytes) -> Iterator[Page]:
    """A report that is opened without a network: it asks for nothing, and nothing goes wrong."""
    file = folder / "report.html"
    file.write_bytes(report)
    context = chromium.new_context(offline=True)
    page = context.new_page()
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert requests == [file.as_uri()]
    assert messages == []


def test_from_disk_it_asks_for_nothing_and_shows_all_charts(
    chromium: Chromium, client: Browser, runs: dict[str, int], tmp_path: Path
) -> None:
    data = client.get(f"/runs/{runs['sustained']}/report.html").data
    with opened_from_disk(chromium, tmp_path, data) as page:
        # Its own two, and the timeline.
        expect(page.locator("figure svg[role=img]")).to_have_count(3)
        for at in range(3):
            box = page.locator("figure svg[role=img]").nth(at).bounding_box()
            assert box is not None
            assert box["width"] > 600
            assert box["height"] > 200
        assert page.locator("figure").nth(1).locator("g[data-line='1'] path").count() >= 2
        # The pointer reaches the values at its place, over lines and marks.
        place = page.locator("figure.chart").nth(1).locator("rect").nth(10)
        fill = "(rect) => getComputedStyle(rect).fill"
        assert place.evaluate(fill) == "none"
        place.hover()
        assert place.evaluate(fill) != "none"


def test_without_scripts_it_shows_all_values(
    chromium: Chromium, client: Browser, runs: dict[str, int], bench: Bench, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_bytes(client.get(f"/runs/{runs['sustained']}/report.html").data)
    assert b"<script" not in file.read_bytes()
    context = chromium.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    result = page.locator("figure.chart").nth(1)
    expect(result.locator("figcaption")).to_have_text("Speed by time")
    expect(result.locator(".legend span")).to_have_text(["write", "temperature"])
    texts = result.locator(":scope > svg text").all_text_contents()
    assert {"MB/s", "1000", "40 °C", "200 s"} <= set(texts)
    # A mark has its place as a title.
    marks = result.locator(":scope > svg text title").all_text_contents()
    assert [re.sub(r"[\d.]+", "N", text) for text in marks] == [
        "knee, N s",
        "slow for N min N s, N s",
    ]
    # Under the pointer is what the record has at that place.
    chart = document(bench, runs["sustained"])["result"]["charts"][1]
    titles = result.locator("rect title").all_text_contents()
    assert 60 < len(titles) <= 96
    rows = [dict(text.split(": ") for text in title.split("\n")[1:]) for title in titles]
    points = [y for line in chart["series"] if line["name"] == "write" for _, y in line["points"]]
    values = [value for value in points if value is not None]
    ends = [float(text) for row in rows if "write" in row
            for text in row["write"].replace(" MB/s", "").split(" to ")]  # fmt: skip
    assert (min(ends), max(ends)) == pytest.approx((min(values), max(values)), rel=1e-3)
    # The table below it opens without a script, and has the same.
    table = page.locator("details").nth(1)
    expect(table.locator("table")).to_be_hidden()
    table.locator("summary").click()
    expect(table.locator("tbody tr")).to_have_count(len(titles))
    expect(table.locator("thead th")).to_have_text(["time of the run", "write", "temperature"])
    first, *cells = table.locator("tbody tr").nth(10).locator("td").all_text_contents()
    assert titles[10].split("\n")[0] == first
    assert cells == [rows[10].get(name, "–") for name in ("write", "temperature")]
    context.close()


def test_it_can_be_read_in_the_dark_and_on_a_phone(
    chromium: Chromium, client: Browser, runs: dict[str, int], tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_bytes(client.get(f"/runs/{runs['sustained']}/report.html").data)
    context = chromium.new_context(offline=True, color_scheme="dark")
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(file.as_uri())
    style = "(name) => getComputedStyle(document.body)[name]"
    assert page.evaluate(style, "backgroundColor") == "rgb(16, 19, 22)"
    assert page.evaluate(style, "color") == "rgb(232, 234, 237)"
    # The page is as wide as the phone; its charts keep letters that can be read.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    letter = page.locator("figure.chart svg text").first.bounding_box()
    assert letter is not None
    assert letter["height"] > 9
    page.emulate_media(media="print")
    assert page.evaluate(style, "color") == "rgb(0, 0, 0)"
    assert page.evaluate(style, "backgroundColor") == "rgb(255, 255, 255)"
    expect(page.locator("details").first).to_be_hidden()
    context.close()


def test_it_prints_with_heads_on_each_page_and_headings_with_their_content(
    chromium: Chromium, client: Browser, bench: Bench, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_bytes(client.get(f"/runs/{bench.numbers['das']}/report.html").data)
    headings = re.findall(r"<h2>(.*?)</h2>", file.read_text(encoding="utf-8"))
    assert len(headings) > 6
    context = chromium.new_context(offline=True, color_scheme="dark")
    page = context.new_page()
    page.goto(file.as_uri())
    for form, size in (("A4", (595, 842)), ("Letter", (612, 792))):
        pdf = pypdf.PdfReader(io.BytesIO(page.pdf(format=form)))
        assert [float(side) for side in pdf.pages[0].mediabox[2:]] == pytest.approx(size, abs=2)
        # Fonts join some letters to one: fi.
        texts = [unicodedata.normalize("NFKC", sheet.extract_text()) for sheet in pdf.pages]
        with_rows = [text for text in texts if text.count("file on exfat") > 3]
        assert len(with_rows) > 1
        for text in with_rows:
            assert re.search(r"Result\s+Pass\s+Value\s+Unit\s+Target\s+State", text)
        for text in texts:
            assert text.strip().splitlines()[-1].strip() not in headings
            # What is for the screen alone.
            assert "Values of" not in text
    context.close()


def test_a_hostile_report_runs_nothing(
    chromium: Chromium, client: Browser, runs: dict[str, int], tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    text = client.get(f"/runs/{runs['hostile']}/report.html").text
    # Even if escaping failed: its own policy stops what is put in.
    file.write_text(text.replace("</main>", "<img src='x' onerror='document.title=1'></main>"))
    context = chromium.new_context(java_script_enabled=True, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("h1")).to_contain_text("<script>alert(1)</script>")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title().startswith("Run ")
    context.close()


def test_a_chart_is_saved_as_png_by_the_browser(watched: Watched, runs: dict[str, int]) -> None:
    page = watched.go(f"/runs/{runs['sweep']}")
    with page.expect_download() as waited:
        page.get_by_role("button", name="PNG").first.click()
    saved = waited.value
    assert saved.suggested_filename == f"benchstick-run-{runs['sweep']}-chart-1.png"
    data = Path(saved.path()).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (1440, 660)
    expect(page.get_by_role("link", name="SVG").first).to_have_attribute(
        "href", f"/runs/{runs['sweep']}/charts/1.svg"
    )


# ---- the command


def test_the_command_writes_the_same(
    bench: Bench, runs: dict[str, int], client: Browser, tmp_path: Path
) -> None:
    number = str(runs["sweep"])
    for form in ("html", "pdf"):
        file = tmp_path / f"report.{form}"
        assert cli.invoke(["export", number, "--format", form, "--output", str(file)]) == 0
        assert file.read_bytes() == client.get(f"/runs/{number}/report.{form}").data
    folder = tmp_path / "charts"
    assert cli.invoke(["export", number, "--format", "svg", "--output", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"benchstick-run-{number}-chart-{at}.svg" for at in (1, 2, 3)
    ]
    first = sorted(folder.iterdir())[0]
    assert first.read_bytes() == client.get(f"/runs/{number}/charts/1.svg").data


def test_every_command_of_its_page_works(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    text = (Path(__file__).parents[2] / "docs" / "reports.md").read_text()
    commands = re.findall(r"(?:`|^    )benchstick ([^`\n]+)", text, re.M)
    assert len(commands) > 7
    assert bench.numbers["practice"] == 1
    monkeypatch.chdir(tmp_path)
    for command in commands:
        if command.startswith("import"):
            monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "other"))
        assert cli.invoke(command.split()) == 0, command
    assert {path.name for path in tmp_path.iterdir()} == {
        "report.html", "report.pdf", "charts", "run.zip", "other", "compared.html",
        "compared.pdf", "drawings",
    }  # fmt: skip


def test_what_cannot_be_written_is_bad_input(
    bench: Bench, runs: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    for form, place in (("html", "nowhere/r.html"), ("svg", "file"), ("html", ".")):
        argv = ["export", str(runs["sweep"]), "--format", form, "--output", str(tmp_path / place)]
        assert cli.invoke(argv) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"
