"""The HTML report: complete in one file, asks for nothing, and hostile names stay text."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from benchstick.reports import html
from benchstick.reports.content import Big, Chart, Heading, Report, Table, Text, Verbatim
from benchstick.suites.charts import axis, chart, line

HOSTILE = "</h1><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u202e\x00" + 10_000 * "x"


class Tags(HTMLParser):
    """The tags with their attributes, and the text of styles, titles and cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]][-1] += data


def report(word: str) -> Report:
    lines = [line(word, [(0, 1.0), (1, None), (2, 3.5)])]
    drawing = chart(word, axis("time", "s"), axis("speed", "B/s"), lines)
    return Report(
        title=word,
        lead=[word],
        parts=[
            Text(word, "note"), Heading(word), Big([(word, word, word, word)]),
            Table([[word, "1.5"]], [word, "value"], word), Table([[word, word]]),
            Chart(drawing, lines, ["read"], word, [word]), Verbatim(word),
        ],
        foot=word,
        author=word,
    )  # fmt: skip


def test_everything_is_in_the_file_and_nothing_is_asked_for() -> None:
    tags = Tags(html.page(report("fine")))
    names = {name for _, attributes in tags.tags for name in attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "background", "style"}
    assert {tag for tag, _ in tags.tags} & {"link", "img", "iframe", "object", "form"} == set()
    style = tags.texts["style"][0]
    assert "url(" not in style
    assert "@import" not in style
    assert {"svg", "table", "h1", "h2", "figure", "pre"} <= {tag for tag, _ in tags.tags}


def test_it_has_no_script_and_its_policy_allows_its_own_style_only() -> None:
    tags = Tags(html.page(report(HOSTILE)))
    metas = [one for tag, one in tags.tags if tag == "meta"]
    (policy,) = [one["content"] for one in metas if "http-equiv" in one]
    assert policy is not None
    (style,) = tags.texts["style"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert "script" not in tags.texts
    assert not any(name.startswith("on") for _, one in tags.tags for name in one)


def test_hostile_text_stays_text() -> None:
    tags, fine = Tags(html.page(report(HOSTILE))), Tags(html.page(report("fine")))
    # The tags are those of a report with fine names; only the drawing of a longer legend may have a
    # tag more.
    drawing_tags = {"title", "text", "path", "g"}
    assert [tag for tag, _ in tags.tags if tag not in drawing_tags] == [
        tag for tag, _ in fine.tags if tag not in drawing_tags
    ]
    safe_text = HOSTILE.replace("\x00", "\ufffd")
    assert tags.texts["h1"] == [safe_text]
    assert tags.texts["pre"] == [safe_text]
    assert safe_text in tags.texts["td"]


def test_the_values_of_a_chart_are_in_its_titles_and_in_a_table() -> None:
    lines = [
        line("read", [(4096, 5.5e8), (65536, None), (1 << 20, 2.25e9)]),
        line("temperature", [(4096, 31.5), (65536, 40.0)], on="y2"),
    ]
    drawing = chart("Speed", axis("block", "B", "log2"), axis("speed", "B/s"), lines,
                    y2=axis("temperature", "°C"))  # fmt: skip
    page = html.page(Report(title="Run 1", parts=[Chart(drawing, lines, ["read", "temp"])]))
    tags = Tags(page)
    assert [text for text in tags.texts["title"] if text != "Run 1"] == [
        "4 KiB\nread: 550 MB/s\ntemperature: 31.5 °C",
        "64 KiB\ntemperature: 40 °C",
        "1 MiB\nread: 2250 MB/s",
    ]
    table = page.split("<details>")[1].split("</details>")[0]
    assert re.findall(r"<t[hd](?: [^>]*)?>([^<]*)", table) == [
        "block", "read", "temperature",
        "4 KiB", "550 MB/s", "31.5 °C",
        "64 KiB", "–", "40 °C",
        "1 MiB", "2250 MB/s", "–",
    ]  # fmt: skip
    # Units and names are text that everybody sees: on the axes, in the legend.
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", page)
    assert {"MB/s", "4 KiB", "60 °C"} <= set(texts)
    legend = page.split('<div class="legend">')[1].split("</div>")[0]
    assert re.findall(r"</svg> ([^<]*)</span>", legend) == ["read", "temperature"]


def test_numbers_stand_on_the_right_and_names_on_the_left() -> None:
    rows = [["AV", "837.0"], ["BR", "invalid: data differ"], ["ISOs", "–"], ["Home", "982.0 (2 s)"]]
    assert Table(rows, ("set", "MB/s")).right() == {1}
    assert Table(rows).right() == frozenset()


def test_print_breaks_no_chart_and_no_row_over_pages() -> None:
    style = html.page(report("fine")).split("<style>")[1].split("</style>")[0]
    assert re.search(r"figure \{[^}]*break-inside: avoid", style)
    printed = style.split("@media print {")[1]
    assert "details:not([open]) { display: none; }" in printed
    assert re.search(r"tr, [^{]*\{ break-inside: avoid", printed)
    assert "table-header-group" in printed
    # A4 and Letter: the printer's own.
    assert "size:" not in style.split("@page")[1].split("}")[0]


def test_numbers_are_right_aligned_and_names_that_start_with_one_are_not() -> None:
    rows = [["4 KiB write", "2318E6C0A1F2", "982.0 (1.47 s)", "3 of 3", "0:05"],
            ["8 KiB write", "S6PUNX0T31", "1 min 5 s", "–", "2026-01-31 12:00 UTC"]]  # fmt: skip
    names = ("Result", "Code", "Value", "Passes", "At")
    assert Table(rows, names).right() == {2, 3, 4}
    assert Table(rows, names, texts=frozenset({3})).right() == {2, 4}


def test_no_short_word_is_broken_where_there_is_room() -> None:
    wide = Table([["state", 200 * "x", "a few words"]], ("One", "Two", "Three"))
    assert wide.unbroken() == {0, 2}
    assert Table([[20 * "x"] * 9], ["n"] * 9).unbroken() == {0, 1, 2}
    assert Table([]).unbroken() == frozenset()
