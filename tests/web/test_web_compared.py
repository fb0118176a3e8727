"""Reports of a comparison: each result in every file is that of the JSON document."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pypdf
import pytest

from benchstick import cli
from benchstick.analysis.comparison.rank import compare
from benchstick.reports import comparison_report
from benchstick.reports.content import UNDER_TEST, Table, Text
from benchstick.reports.drawing import COLOURS
from benchstick.reports.metrics import escaped
from benchstick.reports.svg import standalone
from benchstick.store.database import open_writer
from tests.unit.test_compare import result, run
from tests.web import every_page, made_charts, made_runs, sample
from tests.web.conftest import Bench, Browser

EVIL = "=1+1</td><script>alert(1)</script>\"'\u202e漢"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def compared(bench: Bench) -> dict[str, str]:
    """The queries of comparisons: with spread, a reference and claims; of one drive with charts;
    with a result that is not valid and a name that is an attack."""
    with contextlib.closing(open_writer(bench.home)) as db:
        every_page.furnish(db)
        keep = partial(made_runs.add_run, bench.home, db, "sustained", {}, made_charts.sustained)
        charts = [keep(), keep()]
        atto: list[int] = []
        for make in (sample.fast, sample.slow):
            wishes = {"from": "4KiB", "to": "16KiB", "length": "1MiB"}
            story = sample.start(bench.home, db, "atto", make(), fs="exfat", params=wishes)
            story.tell(spoil="16 KiB read" if atto else None)
            atto.append(story.finish())
        db.execute("UPDATE runs SET drive_json = json_set(drive_json, '$.identity.model', ?)"
                   " WHERE number = ?", (EVIL, atto[1]))  # fmt: skip
    cdm = [bench.numbers["cdm"], bench.numbers["slow"]]
    return {
        name: f"runs={','.join(map(str, runs))}&mark={runs[1]}"
        for name, runs in (("cdm", cdm), ("charts", charts), ("atto", atto))
    }


def table_of(data: bytes, heading: str, columns: int) -> Iterator[list[str]]:
    """The rows of the table under a heading of a PDF, without its heads. No cell may be empty.

    The cells of a row are written from left to right, each from its first line down; all first
    lines are at one height."""
    pieces: list[tuple[float, float, str]] = []

    def collect(text: str, cm: Any, tm: Any, font: Any, size: Any) -> None:
        if text.strip() and tm[4] and tm[5] > 52:
            pieces.append((tm[4], tm[5], text.strip()))

    for page in pypdf.PdfReader(io.BytesIO(data), strict=True).pages:
        page.extract_text(visitor_text=collect)
    begin = [text for _, _, text in pieces].index(heading) + 1
    row: list[str] = []
    head: list[str] = []
    top = math.nan
    for x, y, text in pieces[begin:]:
        if x == 42 and len(row) != 1:
            head = head or row
            if len(row) == columns and row != head:
                yield row
            row, top = [text], y
        elif y == top:
            row.append(text)
            if len(row) > columns:
                return
        else:
            row[-1] += f" {text}"
    if len(row) == columns:
        yield row


def near(text: str, value: float | None) -> bool:
    return text == "–" if value is None else math.isclose(float(text), value, rel_tol=1e-5)


@pytest.mark.parametrize(("name", "least"), [("cdm", 24), ("atto", 8)])
def test_pdf_and_csv_have_every_result_of_the_json(
    client: Browser, compared: dict[str, str], name: str, least: int
) -> None:
    query = compared[name]
    document = client.get(f"/api/v1/compare?{query}").json
    expected = [(item, row) for item in document["results"] for row in item["rows"]]
    assert len(expected) >= least
    pdf_rows = list(table_of(client.get(f"/compare/report.pdf?{query}").data, "All results", 9))
    rows = list(csv.DictReader(io.StringIO(client.get(f"/compare/results.csv?{query}").text)))
    assert len(pdf_rows) == len(rows) == len(expected)
    for (item, row), cells, line in zip(expected, pdf_rows, rows, strict=True):
        rank = "–" if row["rank"] is None else str(row["rank"])
        assert cells[:3] == [item["name"], item["unit"], rank]
        label = row["label"] + (UNDER_TEST if row["under_test"] else "")
        assert cells[3].replace(" ", "") == escaped(label).replace(" ", "")
        for cell, key in zip(cells[4:7], ("value", "min", "max"), strict=True):
            assert near(cell, row[key])
        passes = f"{len(row['passes'])} of {row['passes_all']}" if row["passes_all"] else "–"
        assert cells[7] == passes
        assert cells[8].startswith(row["state"])
        for word in (row["reason"] or "").split():
            assert word in cells[8]
        assert (line["result"], line["unit"], line["state"]) == (
            item["name"], item["unit"], row["state"],
        )  # fmt: skip
        for column, value in (
            ("rank", row["rank"]), ("run", row["run"]), ("value", row["value"]),
            ("lowest", row["min"]), ("highest", row["max"]),
        ):  # fmt: skip
            assert line[column] == ("" if value is None else str(value))
        assert line["under_test"] == ("yes" if row["under_test"] else "no")
        assert (line["passes_valid"], line["passes_all"]) == (
            str(len(row["passes"])), str(row["passes_all"]),
        )  # fmt: skip
        assert line["drive"].lstrip("'") == row["label"]
        assert not re.match(r"[=+@\t\r]", line["drive"])
        texts = [one["text"] for item in document["differ"] for one in item["values"]
                 if one["run"] == row["run"]]  # fmt: skip
        assert all(text in line["differs"] for text in texts)


def test_the_html_has_what_the_page_has(client: Browser, compared: dict[str, str]) -> None:
    document = client.get(f"/api/v1/compare?{compared['cdm']}").json
    page = client.get(f"/compare/report.html?{compared['cdm']}").text
    assert "Test conditions differ between these runs" in page
    assert "<td>USB 10 Gb/s</td><td>USB 480 Mb/s</td>" in page.replace(' class="whole"', "")
    assert page.count('<figure class="ranks">') == len(document["results"]) > 8
    # As text and in its colour, once for each result.
    (bars,) = re.findall(r"<h2>Results in MB/s.*?<h2>", page, re.S)
    drawings = re.findall(r"<svg .*?</svg>", bars, re.S)
    for drawing in drawings:
        assert len(re.findall(rf"font-weight=\"bold\">[^<]*(?:<title>[^<]*</title>)?[^<]*"
                              rf"{re.escape(UNDER_TEST)}</text>", drawing)) == 1  # fmt: skip
        assert drawing.count(f'fill="{COLOURS["accent"]}"') == 1
    assert "in 3 passes" in drawings[0]
    assert "reference, not measured here: its maker&#x27;s page" in page
    assert "spec sheet Any drive" in page
    assert "0.090 EUR" in page
    charts = client.get(f"/compare/report.html?{compared['charts']}").text
    assert charts.count('<figure class="chart"') == 2
    # Each line and each mark has the name of its drive, and so have the values.
    drives = {
        run["label"] for run in client.get(f"/api/v1/compare?{compared['charts']}").json["runs"]
    }
    assert len(drives) == 2
    for drawing in re.findall(r'<figure class="chart">.*?</details>', charts, re.S):
        legend = re.findall(r"</svg> ([^<]*)</span>", drawing)
        assert {name.removesuffix(UNDER_TEST).split(" · ")[0] for name in legend} == drives
        assert any(name.endswith(UNDER_TEST) for name in legend)
        marks = re.findall(r"<text[^>]*><title>([^<]*): (?:knee|slow)[^<]*</title>", drawing)
        assert set(marks) == drives
        assert all(
            re.search(rf"<title>[^<]*\n{re.escape(name)}: [\d.]", drawing) for name in legend
        )
        assert all(f">{name}</th>" in drawing for name in legend)
    bare = client.get(f"/compare/report.html?{compared['cdm']}&references=no").text
    assert "not measured here" not in bare
    hostile = client.get(f"/compare/report.html?{compared['atto']}").text
    assert hostile.count("<script") == 0
    assert "=1+1&lt;/td&gt;&lt;script&gt;" in hostile


def test_conditions_of_many_runs_are_grouped_by_value() -> None:
    runs = [run(n, result("A", float(n)), host={"kernel": f"6.{n // 4}"}) for n in range(1, 7)]
    report = comparison_report.of_comparison({**compare(runs, mark=3), "models": []})
    table = next(part for part in report.parts if isinstance(part, Table))
    assert list(table.rows) == [
        ["Kernel", "6.0", f"Model 1; Model 2; Model 3{UNDER_TEST}"],
        ["Kernel", "6.1", "Model 4; Model 5; Model 6"],
    ]
    assert report.lead[0] == "Under test: Model 3, run 3"
    assert report.made_utc == "2026-01-31T12:00:00.000Z"


def test_bars_are_as_long_as_their_values_and_spread_is_drawn() -> None:
    passes = [result("A", value, pass_no=at) for at, value in enumerate((40.0, 60.0), 1)]
    runs = [run(1, result("A", 50.0), *passes), run(2, result("A", 100.0)),
            run(3, result("A", 80.0, state="invalid", reason="buffered"))]  # fmt: skip
    (ranks,) = comparison_report.ranks_of({**compare(runs), "models": []})
    assert [(bar.place, bar.look, bar.value) for bar in ranks.bars] == [
        ("1", "other", "100.0"), ("2", "mine", "50.0"), ("–", "other", "–"),
    ]  # fmt: skip
    first, second, third = ranks.bars
    assert second.length == pytest.approx(first.length / 2, abs=0.01)
    assert (second.low, second.high) == pytest.approx((0.8 * second.length, 1.2 * second.length),
                                                      abs=0.02)  # fmt: skip
    assert third.length == 0
    assert third.detail == "invalid · buffered"
    root = ElementTree.fromstring(standalone(ranks))
    fills = [path for path in root.iter(f"{SVG}path") if path.get("fill") in
             (COLOURS["accent"], COLOURS["seventh"])]  # fmt: skip
    ends = [max(float(x) for x, _ in re.findall(r"([\d.]+) ([\d.]+)", path.get("d", "")))
            for path in fills]  # fmt: skip
    assert ends[1] - 22 == pytest.approx((ends[0] - 22) / 2, abs=0.1)
    # The part that distinguishes two drives of one name is never cut off.
    twins = [run(n, result("A", 1.0), model=40 * "W") for n in (1, 2)]
    (ranks,) = comparison_report.ranks_of({**compare(twins), "models": []})
    root = ElementTree.fromstring(standalone(ranks))
    assert any("WWW…, run 2" in "".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    alone = comparison_report.of_comparison({**compare([run(1)]), "models": []})
    assert any("ended before" in part.text for part in alone.parts if isinstance(part, Text))


@pytest.mark.parametrize("way", ["", "/api/v1"])
def test_each_file_has_our_name_and_errors_are_reported(
    client: Browser, compared: dict[str, str], way: str
) -> None:
    query = compared["charts"]
    name = "benchstick-compare-" + query.split("&")[0].removeprefix("runs=").replace(",", "-")
    for path, kind, end in (
        ("report.html", "text/html", ".html"), ("report.pdf", "application/pdf", ".pdf"),
        ("results.csv", "text/csv", "-results.csv"),
        ("charts/2.svg", "image/svg+xml", "-chart-2.svg"),
    ):  # fmt: skip
        answer = client.get(f"{way}/compare/{path}?{query}")
        assert answer.content_type.split(";")[0] == kind
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}{end}"'
        for wrong in ("", "runs=3,999999", "runs=2,3", "runs=3&mark=9"):
            assert client.get(f"{way}/compare/{path}?{wrong}").status_code == 400
    for path in ("charts/0.svg", "charts/3.svg", "charts/x.svg", "ranks/0.svg", "ranks/999.svg"):
        assert client.get(f"{way}/compare/{path}?{query}").status_code == 404
    drawing = client.get(f"{way}/compare/ranks/2.svg?{compared['cdm']}")
    document = client.get(f"/api/v1/compare?{compared['cdm']}").json
    title = ElementTree.fromstring(drawing.data).findtext(f"{SVG}title")
    assert title is not None
    assert title.startswith(document["results"][1]["name"])


def test_the_command_writes_the_same(
    bench: Bench, compared: dict[str, str], client: Browser, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    numbers = compared["cdm"].split("&")[0].removeprefix("runs=").split(",")
    argv = ["compare", *numbers, "--mark", numbers[1]]
    for form, path in (
        ("html", "/compare/report.html"), ("pdf", "/compare/report.pdf"),
        ("csv", "/compare/results.csv"), ("json", "/api/v1/compare"),
    ):  # fmt: skip
        file = tmp_path / f"c.{form}"
        assert cli.invoke([*argv, "--format", form, "--output", str(file)]) == 0
        answer = client.get(f"{path}?{compared['cdm']}")
        if form == "json":
            assert answer.json == json.loads(file.read_text(encoding="utf-8"))
        else:
            assert file.read_bytes() == answer.data
    folder = tmp_path / "drawings"
    assert cli.invoke([*argv, "--format", "svg", "--output", str(folder)]) == 0
    name = f"benchstick-compare-{'-'.join(numbers)}-rank"
    assert (folder / f"{name}-1.svg").read_bytes() == client.get(
        f"/compare/ranks/1.svg?{compared['cdm']}"
    ).data
    capsys.readouterr()
    for wrong, message in (
        (["--json", "--format", "pdf"], "choose one"), (["--format", "svg"], "--output FOLDER"),
        (["--format", "pdf", "--output", str(tmp_path / "no/c.pdf")], "No such file"),
    ):  # fmt: skip
        assert cli.invoke([*argv, *wrong]) == 2
        stderr = capsys.readouterr().err
        assert message in stderr
        assert len(stderr.splitlines()) == 1


def test_the_charts_come_before_many_results_and_after_few(
    client: Browser, compared: dict[str, str]
) -> None:
    for name, first in (("charts", True), ("atto", False)):
        page = client.get(f"/compare?{compared[name]}").text
        assert page.count("<h2>Charts</h2>") == 1
        assert (page.index("<h2>Charts</h2>") < page.index("<h2>Results in ")) is first
