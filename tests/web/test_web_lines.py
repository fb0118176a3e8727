"""The charts over I/O size and compressibility, and the tables of the suites that have them."""

from __future__ import annotations

import json
import re

import pytest
from markupsafe import Markup
from playwright.sync_api import expect

from benchstick.store.database import open_writer
from tests.web import sample
from tests.web.browser_tab import BrowserTab
from tests.web.conftest import Bench, Browser
from webui.view import vendor_grids


@pytest.fixture(scope="module")
def atto(bench: Bench) -> int:
    """A run of atto, its 16 KiB read invalid."""
    db = open_writer(bench.home)
    wishes = {"from": "4KiB", "to": "1MiB", "length": "64MiB"}
    story = sample.start(bench.home, db, "atto", sample.fast(), fs="exfat", params=wishes)
    story.tell(spoil="16 KiB read")
    number = story.finish()
    db.close()
    return number


@pytest.fixture(scope="module")
def asssd(bench: Bench) -> int:
    """A run of asssd without the copies."""
    db = open_writer(bench.home)
    wishes = {"parts": "benchmark,compression", "time": "1"}
    story = sample.start(bench.home, db, "asssd", sample.fast(), fs="exfat", params=wishes)
    story.tell()
    number = story.finish()
    db.close()
    return number


def charts_in(html: str) -> list[dict[str, object]]:
    return [
        json.loads(Markup(text).unescape()) for text in re.findall(r'data-lines="([^"]*)"', html)
    ]


def test_the_list_has_the_scores_with_their_unit_once(client: Browser, asssd: int) -> None:
    (row,) = re.findall(rf'<tr[^>]*>(?:(?!</tr>).)*/runs/{asssd}".*?</tr>',
                        client.get("/runs").text, re.S)  # fmt: skip
    (cell,) = re.findall(r'data-label="Result"[^>]*>(.*?)</td>', row, re.S)
    text = " ".join(re.sub(r"<[^>]*>", "", cell).split())
    assert re.fullmatch(r"Score total \d+ points Score read \d+ points", text), text


def test_a_row_for_each_size_and_a_bar_for_each_speed(client: Browser, atto: int) -> None:
    html = client.get(f"/runs/{atto}").text
    sizes = client.get(f"/api/v1/runs/{atto}").json["result"]["sizes"]
    (table,) = re.findall(r'<table class="atto">(.*?)</table>', html, re.S)
    rows = re.findall(r"<tr><td.*?</tr>", table, re.S)
    assert len(rows) == len(sizes) == 9
    for row, size in zip(rows, sizes, strict=True):
        assert size["name"] in row
        valid = [size[way] for way in ("write", "read") if size[way]["state"] == "valid"]
        assert all(f"{cell['mbps']:.1f}<" in row for cell in valid)
        assert len(re.findall(r'class="(?:write|read)" width', row)) == len(valid)
    # The invalid read has no bar, and is shown as invalid.
    assert sum("invalid" in row for row in rows) == 1
    assert 'width="100.0"' in table


def test_the_window_of_as_ssd_has_its_tests_and_scores(client: Browser, asssd: int) -> None:
    html = client.get(f"/runs/{asssd}").text
    result = client.get(f"/api/v1/runs/{asssd}").json["result"]
    (window,) = re.findall(r'aria-label="AS SSD-style result">(.*?)</section>', html, re.S)
    heads = [text.split("<")[0] for text in re.findall(r'role="rowheader">(.*?)</div>', window)]
    assert heads == ["Seq", "4K", "4K-64Thrd", "Acc.time", "Score"]
    for test in result["tests"][:3]:
        for way in ("read", "write"):
            assert f"{test[way]['mbps']:.1f}<small>MB/s" in window
            assert f"{test[way]['mbps'] * 1e6 / (1 << 20):.2f} MiB/s" in window
    assert f"{result['tests'][3]['read']['us'] / 1000:.3f} ms" in window
    for way in ("read", "write", "total"):
        assert str(result["scores"][way]["value"]) in window


ODD = [None, "x", [1], [{"test": 3}], [{"test": "Seq", "read": "fast", "write": {"mbps": "x"}}]]


@pytest.mark.parametrize("odd", ODD)
def test_a_result_of_another_format_is_left_out(odd: object) -> None:
    assert vendor_grids.atto({"sizes": odd}) == []
    for line in vendor_grids.asssd({"tests": odd}):
        assert [cell and cell.mbps for cell in line.cells.values()] == [None, None]
    assert vendor_grids.scores({"scores": odd}) == {}


def test_the_page_has_the_charts_of_the_document(client: Browser, atto: int) -> None:
    html = client.get(f"/runs/{atto}").text
    document = client.get(f"/api/v1/runs/{atto}").json["result"]
    assert charts_in(html) == document["charts"]
    lines = {line["name"]: line["points"] for line in document["charts"][0]["series"]}
    assert [at for at, _ in lines["write"]] == [4096 << n for n in range(9)]
    # Invalid results are not drawn.
    assert [at for at, _ in lines["read"]] == [4096 << n for n in (0, 1, *range(3, 9))]
    assert "16 KiB" in html and "invalid: buffered: 37 %" in html


def test_charts_are_drawn_and_show_the_value_under_the_pointer(tab: BrowserTab, atto: int) -> None:
    page = tab.go(f"/runs/{atto}")
    boxes = page.locator("[data-lines]")
    expect(boxes.locator("canvas")).to_have_count(2)
    boxes.first.locator(".u-over").hover(position={"x": 2, "y": 60})
    legend = page.locator("[data-lines] + .legend").first
    expect(legend.locator(".at")).to_have_text("at 4 KiB")
    write = page.evaluate(
        "JSON.parse(document.querySelector('[data-lines]').dataset.lines).series[0].points[0][1]"
    )
    expect(legend.locator("b").first).to_have_text(f"{write / 1e6:.0f} MB/s")
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_scores_are_whole_points_and_the_curve_is_drawn(tab: BrowserTab, asssd: int) -> None:
    page = tab.go(f"/runs/{asssd}")
    # 500 MB/s for each read and 465 for each write, in MiB/s.
    read = round(2.1 * 500e6 * 0.998 / 2**20)
    score = page.locator(".big b").nth(1).inner_text().split()[0].replace("\u202f", "")
    assert abs(int(score) - read) <= 4
    expect(page.locator("[data-lines] canvas")).to_have_count(1)
    expect(page.get_by_role("heading", name="Compression")).to_be_visible()
