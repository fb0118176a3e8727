"""The charts of consistency, sweep and sustained as a browser draws them, and each step's latency.

What is drawn is asked of uPlot's own scales, of the pixels, and of the marks' elements.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchstick.plan.states import RunState
from benchstick.reports import charts
from benchstick.store.database import open_reader, open_writer
from benchstick.store.run_reader import samples_of
from tests.host.bench import wait_for
from tests.web import made_charts, made_runs, sample
from tests.web.conftest import Bench, Browser
from tests.web.watched import Watched, drag
from webui.view import latencies
from webui.view import runs as pages

LIGHT_READ, LIGHT_WRITE, DARK_READ = (0, 114, 178), (213, 94, 0), (86, 180, 233)
HOURS = 6 * 3600


@pytest.fixture(scope="module")
def runs(bench: Bench) -> dict[str, int]:
    """A run of each suite whose charts are of this module, and long ones."""
    db = open_writer(bench.home)
    keep = partial(made_runs.add_run, bench.home, db)
    numbers = {
        "consistency": keep("consistency", {}, made_charts.consistency),
        "sweep": keep("sweep", {}, made_charts.sweep),
        # As long as its charts show second by second.
        "sustained": keep("sustained", {"span": "49%"}, made_charts.sustained),
        "hours": keep("consistency", {"time": str(HOURS), "fills": "0"},
                      partial(made_charts.consistency, source="counters")),
        "long": keep("sustained", {}, made_charts.sustained),
    }  # fmt: skip
    db.close()
    return numbers


def read_chart(page: Page, at: int) -> dict[str, Any]:
    """The scales, data and size of a chart as uPlot has them."""
    expect(page.locator("[data-lines] canvas").nth(at)).to_be_visible()
    chart_state: dict[str, Any] = page.evaluate(
        """at => {
            const { plot } = document.querySelectorAll("[data-lines]")[at].lines;
            const scale = (of) => of && { min: of.min, max: of.max, distr: of.distr, log: of.log };
            return { x: scale(plot.scales.x), y: scale(plot.scales.y), y2: scale(plot.scales.y2),
                     data: plot.data, width: plot.over.clientWidth };
        }""",
        at,
    )
    return chart_state


def colour_at(page: Page, at: int, x: float, y: float, scale: str = "y") -> list[list[int]]:
    """The pixels (r, g, b, a) of the drawing around a place given in values."""
    pixels: list[list[int]] = page.evaluate(
        """([at, x, y, scale]) => {
            const box = document.querySelectorAll("[data-lines]")[at], { plot } = box.lines;
            const left = Math.round(plot.valToPos(x, "x", true)) - 1;
            const top = Math.round(plot.valToPos(y, scale, true)) - 1;
            const part = new OffscreenCanvas(3, 3).getContext("2d");
            part.drawImage(box.querySelector("canvas"), -left, -top);
            const { data } = part.getImageData(0, 0, 3, 3);
            return Array.from({ length: 9 }, (_, n) => [...data.slice(4 * n, 4 * n + 4)]);
        }""",
        [at, x, y, scale],
    )
    return pixels


def has(pixels: list[list[int]], colour: tuple[int, int, int]) -> bool:
    return any(
        alpha > 200 and all(abs(one - target) < 40 for one, target in zip(rgb, colour, strict=True))
        for *rgb, alpha in pixels
    )


def place_of(page: Page, at: int, x: float) -> float:
    """Pixels from the left edge of the drawing."""
    offset: float = page.evaluate(
        "([at, x]) => document.querySelectorAll('[data-lines]')[at].lines.plot.valToPos(x, 'x')",
        [at, x],
    )
    return offset


def drag_over(page: Page, at: int, low: float, high: float) -> None:
    drag(page.locator("[data-lines] .u-over").nth(at), low, high)


def test_consistency_is_drawn_as_dots_on_log_and_linear_axes(
    watched: Watched, runs: dict[str, int]
) -> None:
    page = watched.go(f"/runs/{runs['consistency']}")
    expect(page.locator("[data-lines] canvas")).to_have_count(4)
    whole, late, linear, latency = (read_chart(page, at) for at in range(4))
    assert [(one["y"]["distr"], one["y"]["log"]) for one in (whole, late, latency)] == [(3, 10)] * 3
    assert linear["y"]["distr"] == 1
    assert linear["y"]["min"] == 0
    assert {one["x"]["distr"] for one in (whole, late, linear, latency)} == {1}
    assert [len(one["data"][0]) for one in (whole, late, linear, latency)] == [2000, 600, 600, 2000]
    assert late["data"][0][0] == 1400
    assert whole["x"]["min"] <= 0
    assert whole["x"]["max"] >= 2000
    # Ten times as much is as far from 1000 as from 10 000.
    assert whole["y"]["min"] <= 4300
    assert whole["y"]["max"] >= 80_000
    fast = whole["data"][1][50]
    assert fast > 70_000
    assert has(colour_at(page, 0, 50, fast), LIGHT_READ)
    # A second without I/O has no place on a log axis, but must be seen.
    assert whole["data"][1][made_charts.STALLED] == 0
    assert has(colour_at(page, 0, made_charts.STALLED, whole["y"]["min"]), LIGHT_READ)
    assert not has(colour_at(page, 0, made_charts.STALLED + 60, whole["y"]["min"]), LIGHT_READ)
    # Dots are not joined: nothing lies between the fast part and the next.
    assert not has(colour_at(page, 0, made_charts.FELL - 0.5, 45_000), LIGHT_READ)
    assert page.locator(".charts p").all_inner_texts() == [
        "Log scale: zero values are drawn at the bottom edge."
    ]
    assert len(latency["data"]) == 3


def test_dragging_zooms_and_a_double_click_shows_the_whole(
    watched: Watched, runs: dict[str, int]
) -> None:
    page = watched.go(f"/runs/{runs['consistency']}")
    before, other = read_chart(page, 0), read_chart(page, 3)
    button = page.locator("[data-whole]").first
    expect(button).to_be_hidden()
    drag_over(page, 0, 0.5, 0.75)
    zoomed = read_chart(page, 0)
    assert zoomed["x"]["min"] == pytest.approx(1000, abs=20)
    assert zoomed["x"]["max"] == pytest.approx(1500, abs=20)
    # The other axis follows what is left to be seen.
    assert zoomed["y"]["max"] < before["y"]["max"]
    assert read_chart(page, 3)["x"] == other["x"]
    expect(button).to_be_visible()
    page.locator("[data-lines] .u-over").first.dblclick()
    assert read_chart(page, 0) == before
    expect(button).to_be_hidden()
    drag_over(page, 0, 0.2, 0.3)
    assert read_chart(page, 0)["x"] != before["x"]
    button.click()
    assert read_chart(page, 0) == before


@pytest.mark.parametrize("name", ["consistency", "sweep"])
def test_the_keyboard_moves_zooms_and_goes_back(
    watched: Watched, runs: dict[str, int], name: str
) -> None:
    page = watched.go(f"/runs/{runs[name]}")
    before = read_chart(page, 0)
    box = page.locator("[data-lines]").first
    at = box.locator("xpath=..").locator(".at")
    box.focus()
    page.keyboard.press("ArrowRight")
    expect(at).to_contain_text("at ")
    first = at.inner_text()
    page.keyboard.press("+")
    wait_for(lambda: read_chart(page, 0)["x"]["max"] < before["x"]["max"])
    page.keyboard.press("ArrowRight")
    expect(at).not_to_have_text(first)
    page.keyboard.press("End")
    # What is beyond the edge is brought into view.
    wait_for(lambda: read_chart(page, 0)["x"]["min"] > before["x"]["min"])
    page.keyboard.press("-")
    page.keyboard.press("Escape")
    wait_for(lambda: read_chart(page, 0) == before)


def test_depths_above_the_drives_are_marked_on_a_log2_axis(
    watched: Watched, runs: dict[str, int]
) -> None:
    page = watched.go(f"/runs/{runs['sweep']}")
    expect(page.locator("[data-lines] canvas")).to_have_count(2)
    iops, latency = read_chart(page, 0), read_chart(page, 1)
    assert [(one["x"]["distr"], one["x"]["log"]) for one in (iops, latency)] == [(3, 2)] * 2
    assert (iops["y"]["distr"], latency["y"]["distr"]) == (1, 3)
    assert iops["data"][0] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert len(iops["data"]) == 4
    # Each doubling is as wide.
    steps = [place_of(page, 0, depth) for depth in (1, 2, 128, 256)]
    assert steps[1] - steps[0] == pytest.approx(steps[3] - steps[2], abs=0.5)
    mark = page.locator(".mark.above").first
    expect(mark).to_be_visible()
    expect(mark.locator("span")).to_have_text("above 30: waiting in the kernel")
    left_x, width = mark.evaluate("one => [one.offsetLeft, one.offsetWidth]")
    assert left_x == pytest.approx(place_of(page, 0, 30), abs=1)
    assert left_x + width == pytest.approx(iops["width"], abs=3)
    assert has(colour_at(page, 0, 1, iops["data"][1][0]), LIGHT_READ)
    assert has(colour_at(page, 0, 256, iops["data"][1][8]), LIGHT_READ)
    drag_over(page, 0, 0.02, 0.4)
    expect(mark).to_be_hidden()
    # The legend has the colours of the lines, by their names.
    legend = page.locator("[data-lines] + .legend").first.locator("i")
    looks = legend.evaluate_all("all => all.map((one) => one.className)")
    assert looks == ["read", "third", "write"]


def test_sustained_has_position_and_time_with_its_knee_and_temperature(
    watched: Watched, runs: dict[str, int], bench: Bench
) -> None:
    page = watched.go(f"/runs/{runs['sustained']}")
    expect(page.locator("[data-lines] canvas")).to_have_count(2)
    place, time = read_chart(page, 0), read_chart(page, 1)
    # Each second in which it wrote, as far as that went.
    with contextlib.closing(open_reader(bench.home)) as db:
        samples = samples_of(db, runs["sustained"])
    assert len(place["data"][0]) == sum(item.write_bytes > 0 for item in samples) < 1200
    assert place["data"][0][-1] == pytest.approx(490, abs=1)
    first, second = page.locator("[data-lines]").all()
    (knee,) = first.locator(".mark").all()
    label = knee.inner_text()
    match = re.fullmatch(r"knee at ([\d.]+) GB", label)
    assert match is not None, label
    assert float(match[1]) == pytest.approx(made_charts.KNEE_GB, rel=0.03)
    left_x = knee.evaluate("one => one.offsetLeft")
    assert left_x == pytest.approx(place_of(page, 0, float(match[1])), abs=2)
    assert has(colour_at(page, 0, place["data"][0][40], place["data"][1][40]), LIGHT_WRITE)
    marks = [mark.inner_text() for mark in second.locator(".mark").all()]
    assert marks[0] == "knee"
    assert re.fullmatch(r"slow for (59 s|1 min [0-5] s)", marks[1]), marks
    # The label lies over the drawing, and covers nothing of it.
    over = first.locator(".u-over").bounding_box()
    text = knee.locator("span").bounding_box()
    assert over is not None
    assert text is not None
    assert text["y"] + text["height"] <= over["y"] + 1
    temperatures = [value for value in time["data"][2] if value is not None]
    assert len(temperatures) == 21
    assert (time["y2"]["min"], time["y2"]["max"]) == (20, 60)
    # A pause breaks the line of the speed: undefined comes as None here, as null does.
    assert time["data"][1].count(None) >= 19
    second.locator(".u-over").hover(position={"x": time["width"] - 2, "y": 60})
    legend = page.locator("[data-lines] + .legend").nth(1)
    # The last one before the pointer.
    expect(legend.locator("b").nth(1)).to_have_text(f"{temperatures[-2]} °C")
    expect(legend.locator(".at")).to_have_text(re.compile(r"at [\d.]+ s"))


def test_a_long_run_has_few_points_and_a_band(watched: Watched, runs: dict[str, int]) -> None:
    page = watched.go(f"/runs/{runs['hours']}")
    whole = read_chart(page, 0)
    x, mean, high, low = whole["data"]
    assert len(x) == 1200
    assert x[1] - x[0] == HOURS / 1200
    for at in (0, 600, 1199):
        assert low[at] <= mean[at] <= high[at]
    # Between the mean and the highest there is the band: a paler colour of the line.
    # At a place without a line of the grid.
    assert mean[610] < 5400 < 5650 < high[610]
    around = [colour_at(page, 2, x[610], value)[4][3] for value in (5650, 6150)]
    assert 20 < around[0] < 120
    assert around[1] < 20
    notes = page.locator(".charts .card").first.locator("p").all_inner_texts()
    assert notes[0].startswith("Each point averages several seconds")
    assert notes[-1] == (
        "IOPS from the drive's counters: fio's log came late: 2400 ms after the line before."
    )
    page.locator("[data-lines] .u-over").first.hover(position={"x": 500, "y": 60})
    legend = page.locator("[data-lines] + .legend").first
    expect(legend.locator("b").first).to_have_text(re.compile(r"^\d+ IOPS \(\d+ to \d+\)$"))
    expect(legend.locator(".at")).to_have_text(re.compile(r"^at \d+:\d\d:\d\d$"))
    # The whole page of a long run, with its data.
    assert len(page.content()) < 400_000


def test_dark_and_print_draw_in_their_own_colours(watched: Watched, runs: dict[str, int]) -> None:
    page = watched.go(f"/runs/{runs['sweep']}")
    first = read_chart(page, 0)["data"][1][0]
    assert has(colour_at(page, 0, 1, first), LIGHT_READ)
    page.emulate_media(color_scheme="dark")
    wait_for(lambda: has(colour_at(page, 0, 1, first), DARK_READ), 10)
    page.emulate_media(color_scheme="dark", media="print")
    wait_for(lambda: has(colour_at(page, 0, 1, first), LIGHT_READ), 10)
    assert read_chart(page, 0)["width"] < 700
    mark = page.locator(".mark.above").first
    assert mark.evaluate("one => one.offsetLeft") == pytest.approx(place_of(page, 0, 30), abs=1)


@pytest.mark.parametrize(
    "path",
    ["/runs/{consistency}", "/runs/{sweep}", "/runs/{sustained}", "/runs/{hours}", "/runs/{long}",
     "/compare?runs={sustained},{long}"],
)  # fmt: skip
def test_a_narrow_page_does_not_scroll_sideways(
    watched: Watched, runs: dict[str, int], path: str
) -> None:
    watched.page.set_viewport_size({"width": 400, "height": 800})
    page = watched.go(path.format_map(runs))
    wide = [read_chart(page, at)["width"] for at in range(page.locator("[data-lines]").count())]
    assert wide
    assert all(200 < width < 340 for width in wide), wide
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    for label in page.locator(".mark span").all():
        box = label.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400


def test_charts_have_a_text_for_screen_readers(client: Browser, runs: dict[str, int]) -> None:
    html = client.get(f"/runs/{runs['sweep']}").text
    labels = re.findall(r'role="img" aria-label="([^"]*queue depth[^"]*)"', html)
    assert len(labels) == 2
    assert labels[0].startswith("IOPS by queue depth over queue depth: read from 9000 IOPS to ")
    assert labels[0].endswith("above 30: waiting in the kernel")
    assert "read from 111 µs to" in labels[1]


def line(points: Any, **more: Any) -> dict[str, Any]:
    return {"name": "IOPS", "points": points, **more}


GOOD: Mapping[str, Any] = {
    "title": "whole run", "x": {"label": "second", "unit": "s", "scale": "linear"},
    "y": {"label": "IOPS", "unit": "IOPS", "scale": "log"}, "series": ["IOPS"],
}  # fmt: skip
TWO = [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("result", "count"),
    [
        ({"charts": [GOOD], "series": [line(TWO)]}, 1),
        ({"charts": [GOOD], "series": []}, 0),
        ({"charts": [GOOD]}, 0),
        ({"charts": [GOOD], "series": "IOPS"}, 0),
        ({"charts": [GOOD], "series": [line([[0, 1], [1, None]])]}, 0),
        ({"charts": [{**GOOD, "from": 1, "to": 9}], "series": [line(TWO)]}, 0),
        ({"charts": [{**GOOD, "from": "1"}], "series": [line(TWO)]}, 0),
        ({"charts": [GOOD], "series": [line(TWO, low=[1], high=[1, 2])]}, 0),
        ({"charts": [GOOD], "series": [line([[0, "1"], [1, 2]])]}, 0),
        ({"charts": [{**GOOD, "series": [line(TWO), line(TWO)]}]}, 1),
        ({"charts": [{**GOOD, "series": [line(TWO), 7]}]}, 0),
        ({"charts": [{**GOOD, "series": []}]}, 0),
        ({"charts": [{**GOOD, "marks": [{"x": "2", "label": "knee"}]}], "series": [line(TWO)]}, 0),
        ({"charts": [{**GOOD, "mark_above": 32}], "series": [line(TWO)]}, 0),
        # A place 0 does not exist on an axis of doublings.
        ({"charts": [{**GOOD, "x": {**GOOD["x"], "scale": "log2"}}], "series": [line(TWO)]}, 0),
        # As an earlier version of the bench kept them.
        ({"charts": [{"title": "whole run", "series": ["IOPS"], "x": "s", "y": "log"}],
          "series": [{"name": "IOPS", "values": {"from": 0, "every": 1, "mean": [1, 2]}}]}, 0),
        ({"speed": [{"gb": 1, "t": 1, "mbps": 1}]}, 0),
        ({"charts": {"a": 1}}, 0),
        ({}, 0),
    ],
)  # fmt: skip
def test_a_chart_in_another_format_is_left_out(result: dict[str, Any], count: int) -> None:
    assert len(list(charts.list_charts(result))) == count


def test_each_line_has_a_colour_of_its_own() -> None:
    names = ["latency max", "temperature", "read", "write", "mix", "one more"]
    chart = {**GOOD, "series": [{**line(TWO), "name": name} for name in names]}
    (drawing,) = charts.list_charts({"charts": [chart]})
    looks = [look for _, look in drawing.lines]
    assert dict(drawing.lines)["temperature"] == "temp"
    assert (dict(drawing.lines)["read"], dict(drawing.lines)["mix"]) == ("read", "third")
    assert len(set(looks)) == len(names)


def test_a_line_without_a_point_is_not_drawn() -> None:
    # As of host idle recovery with a fio that cannot wait: the script reads the first line's end.
    chart = {**GOOD,
             "series": [line([], name="with the wait"), "shared",
                        line([[5, 1.0], [10, 2.0]], name="without")]}  # fmt: skip
    shared = line([[5, None], [10, None]], name="shared")
    (drawing,) = charts.list_charts({"charts": [chart], "series": [shared]})
    assert [item["name"] for item in drawing.chart["series"]] == ["without"]
    assert [name for name, _ in drawing.lines] == ["without"]


def test_an_unknown_document_does_not_break_the_page(bench: Bench, client: Browser) -> None:
    db = open_writer(bench.home)
    old = {"headline": [], "charts": [{"title": "old", "series": ["a"], "x": "s", "y": "log"}],
           "text": "", "series": [{"name": "a", "values": {}}], "speed": [{"gb": 1}]}  # fmt: skip
    record = sample.start(bench.home, db, "sustained", sample.fast()).record
    record.finish(RunState.COMPLETE, 0, seconds=60.0, result=old)
    number = record.number
    db.close()
    answer = client.get(f"/runs/{number}")
    assert answer.status_code == 200
    assert "data-lines" not in answer.text


@pytest.fixture(scope="module")
def cdm(bench: Bench) -> int:
    db = open_writer(bench.home)
    story = sample.start(bench.home, db, "cdm", sample.fast(), fs="exfat",
                         params={"passes": "1", "time": "1"})  # fmt: skip
    story.tell()
    number = story.finish()
    db.close()
    return number


def test_every_fio_result_has_its_percentiles_and_histogram(
    watched: Watched, cdm: int, client: Browser
) -> None:
    document = client.get(f"/api/v1/runs/{cdm}").json
    results = [item for item in document["results"] if item["pass"] and item["unit"] == "MB/s"]
    page = watched.go(f"/runs/{cdm}")
    section = page.locator("#latencies")
    expect(section.locator("table").first).to_be_hidden()
    section.locator("summary").first.click()
    heads = section.locator("thead").first.locator("th").all_inner_texts()
    assert heads == ["Test", "Pass", "Mean", "50 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "Max"]
    rows = section.locator("table").first.locator("tbody tr")
    expect(rows).to_have_count(len(results))
    assert len(results) == 8
    tests = [row.locator("td").first.inner_text() for row in rows.all()]
    assert tests == [item["name"] for item in results]
    # The slowest of the invented results: a request of 4 KiB at depth 1 takes 4096 / 27.9 us.
    last = rows.nth(tests.index("RND4K Q1T1 read")).locator("td").all_inner_texts()
    mean = results[tests.index("RND4K Q1T1 read")]["detail"]["totals"]["latency_us"]
    assert mean == pytest.approx(4096 / 27.9, rel=0.01)
    assert last[2:4] == [f"{mean:.0f} µs", f"{0.9 * mean:.0f} µs"]
    assert last[-1] == f"{40 * mean / 1000:.1f} ms"
    histograms = section.locator("details.step")
    expect(histograms).to_have_count(8)
    histograms.first.locator("summary").click()
    lines = histograms.first.locator("tbody tr")
    assert [line.locator("td").nth(0).inner_text() for line in lines.all()] == [
        "20.0 µs", "50.0 µs", "100 µs", "200 µs"
    ]  # fmt: skip
    assert [line.locator("td").last.inner_text() for line in lines.all()] == [
        "25.0 %", "50.0 %", "25.0 %", "0.0001 %"
    ]  # fmt: skip
    bars = [
        line.locator("rect.read, rect.write").last.bounding_box()["width"]  # type: ignore[index]
        for line in lines.all()
    ]
    assert bars[0] == pytest.approx(bars[1] / 2, rel=0.02)
    assert bars[3] < 0.01 * bars[1]
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_records_without_percentiles_have_no_such_section() -> None:
    def run(totals: Any) -> dict[str, Any]:
        return {"results": [{"name": "a", "pass": 1, "state": "valid", "unit": "MB/s",
                             "detail": {"totals": totals}},
                            {"name": "b", "pass": None, "state": "valid", "unit": "MB/s",
                             "detail": {"totals": {"percentiles_us": {"50": 1.0}}}}]}  # fmt: skip

    assert latencies.of_steps(run(None)) == []
    assert latencies.of_steps(run({"read_bytes": 1})) == []
    assert latencies.of_steps(run({"percentiles_us": {"odd": 1.0}})) == []
    (one,) = latencies.of_steps(run({"percentiles_us": {"99.9": 5, "50": 2}}))
    assert (one.mean, one.most, one.histogram) == (None, None, {})
    assert latencies.columns([one]) == ["50", "99.9"]


def test_a_run_of_a_thousand_steps_has_a_page_of_bounded_size() -> None:
    bins = [[10, 3], [20, 1]]
    results = [
        {"name": "RND4K", "pass": at, "state": "valid",
         "detail": {"totals": {"percentiles_us": {"50": 1.0}, "histogram_us": {"write": bins}}}}
        for at in range(1, 1401)
    ]  # fmt: skip
    entries = latencies.of_steps({"results": results})
    assert len(entries) == 1400
    pass_numbers = [item.pass_no for item in entries if item.histogram]
    # The last ones: what a run of rounds ended with.
    assert pass_numbers == list(range(1401 - latencies.HISTOGRAMS, 1401))
    few = latencies.of_steps({"results": results[: latencies.HISTOGRAMS]})
    assert all(item.histogram for item in few)
    # Its results and steps: the valid ones, and the last ones.
    overall = [{"name": "RND4K", "pass": None}] * 3
    page_results = pages.results_shown([*results, *overall])
    assert page_results == [*results[-pages.RESULTS :], *overall]
    assert pages.results_shown([*results[:20], *overall]) == [*results[:20], *overall]
    steps = [
        {"step_index": at, "name": str(at), "artifacts": f"runs/u/{at}" if at < 500 else None}
        for at in range(1400)
    ]
    indices = [
        item["step"]["step_index"] for item in pages.commands_of({"uuid": "", "steps": steps})
    ]
    assert indices == [*range(20), *range(400, 500)]
    indices = [
        i["step"]["step_index"] for i in pages.commands_of({"uuid": "", "steps": steps[450:570]})
    ]
    assert indices == [*range(450, 570)]
