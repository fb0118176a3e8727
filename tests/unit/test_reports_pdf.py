"""PDF reports, read back by a reader of others."""

from __future__ import annotations

import io
import re
import zlib
from typing import Any

import pypdf
import pytest
from pypdf._codecs.core_font_metrics import CORE_FONT_METRICS

from benchstick.reports import metrics, pdf
from benchstick.reports.content import (
    Bar,
    Big,
    Chart,
    Heading,
    Part,
    Ranks,
    Report,
    Table,
    Text,
    Verbatim,
)
from benchstick.reports.drawing import draw_chart
from benchstick.suites.charts import axis, chart, line, mark

HOSTILE = ") Tj ET (\\ <</JS>> \u202e\x00\x1b漢字 " + 10_000 * "x"


def report(*parts: Part, title: str = "Run 1") -> Report:
    return Report(title=title, parts=parts, made_utc="2026-01-31T12:00:00.123Z")


def read(data: bytes) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(data), strict=True)


def texts(reader: pypdf.PdfReader) -> list[str]:
    return [page.extract_text() for page in reader.pages]


def test_each_object_is_where_the_table_says() -> None:
    data = pdf.document(report(Text("one"), Table([["a", "1"]] * 200, ("name", "value"))))
    begin = int(re.findall(rb"startxref\n(\d+)\n%%EOF\n\Z", data)[0])
    head, first, *rows = data[begin:].split(b"trailer")[0].splitlines()
    assert head == b"xref"
    count = int(first.split()[1])
    assert len(rows) == count
    assert all(len(row) == 19 for row in rows)  # 20 with the end of the line
    for number, row in enumerate(rows[1:], 1):
        place = int(row[:10])
        assert data[place:].startswith(b"%d 0 obj\n" % number)
    assert b"/Size %d " % count in data[begin:]
    streams = re.findall(rb"/Length (\d+) /Filter /FlateDecode >>\nstream\n", data)
    for length, match in zip(
        streams, re.finditer(rb"stream\n(.*?)\nendstream", data, re.S), strict=True
    ):
        assert len(match[1]) == int(length)
        assert zlib.decompress(match[1]).startswith(b"BT ")


def test_title_author_pages_and_their_numbers() -> None:
    reader = read(pdf.document(report(Table([["x", "1"]] * 300, ("n", "v")), title="Run 5 · 漢字")))
    assert reader.metadata is not None
    assert (reader.metadata.title, reader.metadata.author) == ("Run 5 · 漢字", "Benchstick")
    assert str(reader.metadata.creation_date) == "2026-01-31 12:00:00+00:00"
    count = len(reader.pages)
    assert count > 3
    assert [float(side) for side in reader.pages[0].mediabox[2:]] == [595.28, 841.89]
    for number, text in enumerate(texts(reader), 1):
        assert f"Page {number} of {count}" in text


def test_a_long_table_has_its_head_on_every_page_and_each_row_once() -> None:
    rows = [[f"row {at}", str(at), "why " * (at % 40)] for at in range(150)]
    pages = texts(read(pdf.document(report(Table(rows, ("Result", "Value", "State"))))))
    assert len(pages) > 3
    assert all(text.count("Result Value State") == 1 for text in pages)
    for at in range(150):
        assert sum(len(re.findall(rf"\brow {at}\b", text)) for text in pages) == 1


@pytest.mark.parametrize("kind", ["chart", "bars", "table"])
def test_a_heading_is_on_the_page_of_the_drawing_below_it(kind: str) -> None:
    lines = [line("read", [(0, 1.0), (1, 2.0)])]
    drawing = chart("Below", axis("time", "s"), axis("IOPS", "IOPS"), lines)
    below: Part = Chart(drawing, lines, ["read"])
    if kind == "bars":
        drives = [Bar("1", f"drive {n}", "5", "", 50) for n in "ab"]
        below = Ranks("Below", "more is better", drives)
    elif kind == "table":
        below = Table([["a", "1"], ["b", "Below"]], ("name", "value"))
    for rows in range(20, 50, 3):
        above = Table([["name", str(at)] for at in range(rows)])
        pages = texts(read(pdf.document(report(above, Heading("Drawings"), below))))
        assert [("Drawings" in text) for text in pages] == [("Below" in text) for text in pages]


def test_nothing_lies_outside_of_the_page() -> None:
    rows = [[HOSTILE, "1.5", "w" * 80], ["a", "2", "b c"]]
    reader = read(pdf.document(report(
        Table(rows, ("Result", "Value", "State")), Table(rows), Text(HOSTILE, "bad"),
        Verbatim(HOSTILE + "\nx"), Heading(HOSTILE), Big([(HOSTILE, "1.5", HOSTILE, HOSTILE)] * 5),
    )))  # fmt: skip
    for page in reader.pages:
        places: list[tuple[str, float, float, float]] = []

        def visit(
            text: str, cm: Any, tm: Any, font: Any, size: float,
            places: list[tuple[str, float, float, float]] = places,
        ) -> None:  # fmt: skip
            if text.strip() and tm[4]:
                name = str(font["/BaseFont"])[1:]
                places.append((text.strip(), tm[4], tm[5], metrics.width_of(text, size, name)))

        page.extract_text(visitor_text=visit)
        assert len(places) > 1
        for text, x, y, width in places:
            assert x >= 41, text
            assert 20 <= y <= 842 - 40, text
            assert x + width <= 595.28 - 41 + 3, text


def unescaped(text: str) -> str:
    """The text of a page with its escapes turned back into letters."""
    return re.sub(
        r"\[(U\+[0-9A-F]+(?: U\+[0-9A-F]+)*)\]",
        lambda match: "".join(chr(int(code[2:], 16)) for code in match[1].split()),
        " ".join(text.split()),
    )


@pytest.mark.parametrize(
    "name", ["漢字固态硬盘", "Диск №7", "قرص", "Łódź", "disk 🚀", "a\u202eb", "x\x00\x1b\x85y"]
)
def test_no_letter_of_a_name_is_lost(name: str) -> None:
    lines = [line(f"line {name}", [(0, 1.0), (1, 2.0)])]
    x_axis, y_axis = axis(f"x {name}", "x"), axis(f"y {name}", f"y {name}")
    drawing = chart(f"chart {name}", x_axis, y_axis, lines, marks=[mark(0.2, f"mark {name}")])
    parts: list[Part] = [
        Text(f"text {name}"), Heading(f"heading {name}"),
        Big([(f"label {name}", f"value {name}", "MB/s", f"reason {name}")]),
        Table([[f"cell {name}", "1"]], (f"column {name}", "n"), f"table {name}"),
        Chart(drawing, lines, ["read"], "", [f"note {name}"]),
        Ranks(f"ranks {name}", f"hint {name}", [Bar("1", f"bar {name}", "5", "in 3 passes", 9)]),
        Verbatim(f"verbatim {name}\nsecond line"),
    ]  # fmt: skip
    content = Report(title=f"title {name}", parts=parts, lead=[f"lead {name}"], foot=f"foot {name}")
    reader = read(pdf.document(content))
    page = unescaped(" ".join(texts(reader)))
    for place in (
        "title", "lead", "text", "heading", "label", "value", "reason", "cell", "column",
        "table", "chart", "line", "y", "mark", "note", "ranks", "hint", "bar", "verbatim",
        "foot",
    ):  # fmt: skip
        assert f"{place} {name}" in page, place
    # Lines of a fixed width stay lines.
    assert f"verbatim {name}second line" not in page
    assert pdf.ESCAPED[:40] in page
    assert reader.metadata is not None
    assert reader.metadata.title == f"title {name}"


def test_letters_that_the_fonts_have_are_not_escaped() -> None:
    (page,) = texts(read(pdf.document(report(Text("µs ±5 °C – 57\u202f739 Größe é €\tμ−1")))))
    assert "µs ±5 °C – 57\u00a0739 Größe é € µ-1" in page.replace("57 739", "57\u00a0739")
    assert "U+" not in page
    assert pdf.ESCAPED[:40] not in page


def test_hostile_text_is_text_and_no_operator() -> None:
    data = pdf.document(report(Text(HOSTILE[:40]), Table([[HOSTILE, "2"]]), title=HOSTILE))
    reader = read(data)
    assert ") Tj ET (\\ <</JS>> " in texts(reader)[0]
    assert b"/JS" not in data
    assert b"/JavaScript" not in data


def test_charts_are_drawn_with_the_geometry_of_the_svg() -> None:
    lines = [line("read", [(0, 1.0), (1, 2.0), (2, None), (3, 1.0)], band=[(0.5, 3.0)] * 4)]
    drawing = chart("Speed", axis("time", "s"), axis("IOPS", "IOPS"), lines)
    speed_chart = Chart(drawing, lines, ["read"], "told", ["a note"])
    page = read(pdf.document(report(speed_chart))).pages[0]
    content = page.get_contents()
    assert content is not None
    layout, operators = draw_chart(speed_chart), content.get_data().decode("latin-1")
    first, second = ((layout.x.place(x), layout.y.place(y)) for x, y in ((0, 1), (1, 2)))
    numbers = "{:g} {:g} m {:g} {:g} l S".format(
        *(round(value, 2) for value in (*first, *second))
    )  # fmt: skip
    assert numbers in operators
    assert "/A22 gs" in operators
    states = page["/Parent"]["/Resources"]["/ExtGState"]  # type: ignore[index]
    assert float(states["/A22"]["/ca"]) == 0.22
    text = page.extract_text()
    assert all(word in text for word in ("Speed", "IOPS", "read", "a note"))


@pytest.mark.parametrize("font", list(metrics.WIDTHS))
def test_the_letters_are_as_wide_as_the_fonts_have_them(font: str) -> None:
    checked = 0
    for code in range(32, 256):
        try:
            letter = bytes([code]).decode("cp1252")
        except UnicodeDecodeError:
            continue
        width = CORE_FONT_METRICS[font].character_widths.get(letter)
        if width is not None:
            assert metrics.WIDTHS[font][code - 32] == width, letter
            checked += 1
    assert checked > 180


def test_lines_are_broken_at_spaces_and_inside_of_long_words() -> None:
    lines = metrics.wrapped("one two " + 50 * "x" + " three", 60, 8)
    assert lines[0] == "one two"
    assert "".join(lines[1:-1]).replace(" ", "").startswith("x" * 40)
    assert all(metrics.width_of(text, 8) <= 60 for text in lines)
    assert metrics.wrapped("", 60, 8) == [""]
    assert metrics.shortened("abcdef", 20, 8).endswith("…")


def test_columns_share_what_narrow_ones_leave() -> None:
    rows = [["a", "1", "long " * 100], ["b", "2", "longer " * 100]]
    widths = pdf.column_widths(Table(rows, ("x", "y", "z")))
    assert sum(widths) == pytest.approx(pdf.ROOM)
    assert widths[0] < 25
    assert widths[2] > 400
