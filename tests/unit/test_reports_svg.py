"""Charts as SVG: read back as XML, with points at the places that their values have."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from benchstick.reports import axes
from benchstick.reports.bars import draw_bars
from benchstick.reports.content import Bar, Chart, Ranks
from benchstick.reports.drawing import COLOURS, SIZE, Words, draw_chart
from benchstick.reports.metrics import width_of
from benchstick.reports.svg import inline, standalone
from benchstick.suites.charts import axis, chart, curve, line, mark

NAME = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>\"'&\u202e\x00\x1b" + 10_000 * "x"


def make_plot(
    lines: Sequence[dict[str, Any]], *, x: Any = None, y: Any = None, **more: Any
) -> Chart:  # fmt: skip
    drawing = chart("Title", x or axis("n", ""), y or axis("IOPS", "IOPS"), lines, **more)
    looks = ["read", "write", "third", "fifth", "sixth", "seventh", "eighth", "temp"]
    return Chart(drawing, lines, looks[: len(lines)], "told")


def read(text: str) -> ElementTree.Element:
    # This parser drops the comment before the root, and refuses entities.
    return ElementTree.fromstring(text)


def groups(root: ElementTree.Element, at: int) -> list[ElementTree.Element]:
    return [one for one in root.iter(f"{NAME}g") if one.get("data-line") == str(at)]


def paths(root: ElementTree.Element, at: int) -> list[list[tuple[float, float]]]:
    """The places of each unbroken part of a line; its sample in the legend is not among them."""
    parts = []
    for path in groups(root, at)[0].iter(f"{NAME}path"):
        if path.get("stroke-linecap") is None and path.get("fill") == "none":
            pairs = re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path.get("d", ""))
            parts.append([(float(x), float(y)) for x, y in pairs])
    return parts


def test_points_lie_where_linear_axes_have_them() -> None:
    plot = make_plot([line("read", [(0, 0), (50, 100), (100, 200)])])
    drawing = draw_chart(plot)
    (((x0, y0), (x1, y1), (x2, y2)),) = paths(read(standalone(plot)), 0)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.02)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.02)
    # 0 is the lower edge, and 200 of an axis up to 216 is so far above it.
    assert y0 == pytest.approx(drawing.y.start, abs=0.01)
    assert y0 - y2 == pytest.approx((drawing.y.start - drawing.y.end) * 200 / 216, abs=0.02)
    # One hundredth of the width is left at both ends.
    span = drawing.x.end - drawing.x.start
    assert x0 == pytest.approx(drawing.x.start + span / 102, abs=0.02)
    assert x2 == pytest.approx(drawing.x.end - span / 102, abs=0.02)


def test_points_lie_where_log_axes_have_them() -> None:
    points = [(512, 10.0), (1024, 100.0), (1 << 20, 1000.0), (1 << 21, 0.0)]
    plot = make_plot([line("read", points)], x=axis("block", "B", "log2"), y=axis("t", "us", "log"))
    drawing = draw_chart(plot)
    ((a, b, c, d),) = paths(read(standalone(plot)), 0)
    # Ten times as much is as far from 10 as from 100; ten doublings are ten times as far as one.
    assert a[1] - b[1] == pytest.approx(b[1] - c[1], abs=0.02)
    assert c[0] - b[0] == pytest.approx(10 * (b[0] - a[0]), abs=0.1)
    # A zero value is drawn at the lower edge, inside the drawing.
    assert d[1] == pytest.approx(drawing.y.start, abs=0.01)
    ticks = [text for _, text in drawing.x.ticks]
    assert ticks[0] == "512 B"
    assert "1 MiB" in ticks
    assert {"100 µs", "1 ms"} <= {text for _, text in drawing.y.ticks}


def test_a_gap_breaks_the_line_and_a_lone_second_is_a_dot() -> None:
    points = [(at, None if at in (70, 72) else 5.0) for at in range(100)]
    plot = make_plot([line("write", points)])
    root = read(standalone(plot))
    assert [len(part) for part in paths(root, 0)] == [70, 27]
    dots = [one for one in groups(root, 0)[0] if one.get("stroke-linecap") == "round"]
    assert len(dots) == 1


def test_only_the_requested_part_of_x_is_drawn() -> None:
    plot = make_plot([line("read", [(at, 1.0) for at in range(100)])], within=(10, 19))
    ((*places,),) = paths(read(standalone(plot)), 0)
    assert len(places) == 10
    assert places[0][0] == pytest.approx(draw_chart(plot).x.start, abs=0.01)
    assert places[-1][0] == pytest.approx(draw_chart(plot).x.end, abs=0.01)


def test_dots_bands_marks_and_the_right_axis() -> None:
    line_with_band = line("read", [(0, 5.0), (10, 6.0)], band=[(1.0, 9.0), (2.0, 10.0)])
    warm = line("temperature", [(0, 31.0), (10, 45.0)], on="y2")
    plot = make_plot(
        [line_with_band, warm], x=axis("time", "s"), y=axis("speed", "B/s"), y2=axis("t", "°C"),
        mark_above=mark(6, "above"), marks=[mark(2, "knee"), mark(2.1, "slow")],
    )  # fmt: skip
    root, drawing = read(standalone(plot)), draw_chart(plot)
    assert drawing.y2 is not None
    areas = [one for one in root.iter(f"{NAME}path") if one.get("fill-opacity")]
    assert len(areas) == 2
    words = {one.text or one[0].tail: one for one in root.iter(f"{NAME}text")}
    assert {"Title", "knee", "slow", "above", "MB/s", "20 °C", "read", "temperature"} <= set(words)
    # Labels that would cover each other stand on rows of their own.
    assert words["knee"].get("y") != words["slow"].get("y")
    dotted_plot = make_plot([line("read", [(at, 1.0 + at) for at in range(400)])], dots=True)
    assert paths(read(standalone(dotted_plot)), 0) == []
    (dots,) = [one for one in groups(read(standalone(dotted_plot)), 0)[0]
               if one.get("stroke-linecap")]  # fmt: skip
    assert dots.get("d", "").count("M") == 400


def readings(plot: Chart) -> list[tuple[float, float, list[str]]]:
    """(start, end, lines of the title) of the rectangles over the plot."""
    rows = []
    for rect in read(standalone(plot)).iter(f"{NAME}rect"):
        title = rect.findtext(f"{NAME}title")
        if title is not None:
            start, width = float(rect.get("x", "")), float(rect.get("width", ""))
            rows.append((start, start + width, title.split("\n")))
    return rows


def test_the_title_at_each_place_has_the_values_of_all_lines() -> None:
    lines = [line("read", [(1, 10.0), (4, 40.0)]), line("write", [(1, 5.0), (2, None), (8, 7e6)])]
    plot = make_plot(lines, x=axis("depth", "", "log2"))
    drawing = draw_chart(plot)
    rows = readings(plot)
    assert [text for *_, text in rows] == [
        ["1", "read: 10 IOPS", "write: 5 IOPS"], ["4", "read: 40 IOPS"],
        ["8", "write: 7\u202f000\u202f000 IOPS"],
    ]  # fmt: skip
    # They cover the plot without a gap, and each is where its point is.
    assert rows[0][0] == pytest.approx(drawing.x.start, abs=0.01)
    assert rows[-1][1] == pytest.approx(drawing.x.end, abs=0.02)
    for (_, end, _), (start, *_) in pairwise(rows):
        assert end == pytest.approx(start, abs=0.02)
    for (start, end, _), x in zip(rows, (1, 4, 8), strict=True):
        assert start < drawing.x.place(x) < end


def test_the_titles_of_a_record_keep_its_lowest_and_highest_values() -> None:
    points = [(float(at), 5e8) for at in range(9000)]
    points[4000], points[8000] = (4000.0, 1e6), (8000.0, 9e8)
    points[100:300] = [(float(at), None) for at in range(100, 300)]  # type: ignore[misc]
    plot = make_plot([line("write", points)], x=axis("time", "s"), y=axis("speed", "B/s"))
    drawing, rows = draw_chart(plot), readings(plot)
    assert 80 < len(rows) <= 96
    for at, values in (
        (4000, "write: 1 MB/s to 500 MB/s"), (8000, "write: 500 MB/s to 900 MB/s"),
    ):  # fmt: skip
        place = drawing.x.place(at)
        ((when, *texts),) = [text for start, end, text in rows if start <= place < end]
        assert texts == [values]
        assert re.fullmatch(r"\d:\d\d:\d\d to \d:\d\d:\d\d", when)
    # In the gap from 100 to 299 s there is no value.
    assert [text[0] for *_, text in rows[:3]] == ["0:00 to 0:05", "0:06 to 1:39", "5:00 to 6:28"]


def test_lines_are_distinguished_without_colour() -> None:
    lines = [line(f"line {at}", [(0, at), (1, at + 1.0)]) for at in range(8)]
    root = read(standalone(make_plot(lines)))
    dashes = {groups(root, at)[0][0].get("stroke-dasharray") for at in range(8)}
    assert len(dashes) == 8
    assert len({groups(root, at)[0][0].get("stroke") for at in range(8)}) == 8


def test_a_guide_is_dashed_and_has_no_points() -> None:
    ends = [(1.0, 5.0), (5.0, 5.0)]
    root = read(standalone(make_plot([curve("limit", ends, guide=True), curve("IOPS", ends)])))
    (guide,), measured_points = groups(root, 0)[0].findall("*"), groups(root, 1)[0].findall("*")
    assert guide.get("stroke-dasharray")
    assert len(measured_points) == 2


def test_hostile_text_stays_text() -> None:
    lines = [line(HOSTILE, [(0, 1.0), (1, 2.0)])]
    drawing = chart(HOSTILE, axis(HOSTILE, HOSTILE), axis(HOSTILE, HOSTILE), lines,
                    marks=[mark(0.5, HOSTILE)])  # fmt: skip
    for look in ('"><script>', "read"):
        plot = Chart(drawing, lines, [look], HOSTILE)
        for text in (standalone(plot), inline(draw_chart(plot))):
            assert "<script" not in text
            root = read(text)
            tags = {one.tag.removeprefix(NAME) for one in root.iter()}
            assert tags <= {"svg", "title", "desc", "rect", "text", "g", "path"}
            names = {name for one in root.iter() for name in one.attrib}
            assert not any(name.startswith("on") or name in ("style", "href") for name in names)
            titles = ["".join(one.itertext()) for one in root.iter()]
            assert any("<script>alert(1)</script>\"'&" in title for title in titles)


def test_the_same_chart_gives_the_same_file() -> None:
    plot = make_plot([line("read", [(0, 1.0), (1, math.pi)])])
    assert standalone(plot) == standalone(plot)


@pytest.mark.parametrize(
    ("points", "scale"),
    [
        ([(0, 0.0), (0, 0.0)], "linear"),
        ([(0, 0.0), (1, 0.0)], "log"),
        ([(5, -3.0), (6, -1.0)], "linear"),
        ([(5, -3.0), (6, -1.0)], "log"),
        ([(1e-9, 1e-12), (1e12, 1e15)], "log"),
        ([(0, None), (1, None)], "linear"),
        ([], "linear"),
        ([(-5, 1.0), (0, 2.0), (8, 3.0)], "log2 of x"),
        ([(1, 1e-300), (2, 1e300)], "linear"),
    ],
)
def test_odd_values_are_drawn_inside(points: list[Any], scale: str) -> None:
    x = axis("n", "", "log2") if scale == "log2 of x" else None
    y = axis("v", "IOPS", "linear" if x else scale)
    plot = make_plot([line("read", points)], x=x, y=y)
    root = read(standalone(plot))
    for path in root.iter(f"{NAME}path"):
        for number in re.findall(r"[-\d.]+", path.get("d", "")):
            assert -1 <= float(number) <= 721
    assert len(list(root.iter(f"{NAME}text"))) < 60


def test_ticks() -> None:
    assert axes.steps(0, 216, 6) == [0, 50, 100, 150, 200]
    # Of rounds there are no halves; of GB there are.
    count_axis = axes.x_axis(axis("round", ""), 1, 6, 0, 640, exact=False)
    assert [text for _, text in count_axis.ticks] == ["1", "2", "3", "4", "5", "6"]
    gb_axis = axes.x_axis(axis("written", "GB"), 1, 4, 0, 640, exact=False)
    assert "1.5" in [text for _, text in gb_axis.ticks]
    assert axes.decades(20, 2000) == [20, 50, 100, 200, 500, 1000, 2000]
    assert axes.decades(1, 1e6) == [1, 10, 100, 1000, 1e4, 1e5, 1e6]
    assert axes.doublings(1 / 1.12, 256 * 1.12, 20) == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert axes.doublings(1, 256, 3) == [1, 8, 64]
    assert axes.times(0, 9000, 6) == [0, 1800, 3600, 5400, 7200, 9000]
    assert [axes.clock(3725), axes.plain(57_739), axes.plain(1061.4)] == [
        "1:02:05", "57\u202f739", "1061",
    ]  # fmt: skip
    assert [axes.micros(146), axes.micros(7900), axes.micros(2.5e6)] == [
        "146 µs", "7.9 ms", "2.5 s",
    ]  # fmt: skip
    assert [axes.binary(512), axes.binary(131_072)] == ["512 B", "128 KiB"]


def test_the_colours_are_those_of_the_page() -> None:
    assert set(COLOURS) >= {"read", "write", "third", "fifth", "sixth", "seventh", "eighth", "temp"}


def test_many_names_and_marks_leave_the_plot_its_height_and_cover_no_other() -> None:
    lines = [line(f"a drive with a name of some length, {at}", [(0, 1.0), (9, 2.0)])
             for at in range(12)]  # fmt: skip
    marks = [mark(4.0, f"mark {at}") for at in range(12)]
    few, many = (
        draw_chart(make_plot(lines[:2], marks=marks[:2])),
        draw_chart(make_plot(lines, marks=marks)),
    )
    assert many.y.start - many.y.end > 0.8 * (few.y.start - few.y.end)
    assert (few.height, many.height > 400) == (300, True)
    rows = [words.y for words in many.shapes if isinstance(words, Words) and "mark" in words.text]
    assert len(set(rows)) == len(rows) == 12
    assert min(rows) > 11


@pytest.mark.parametrize("place", [1.0, 4.5, 5.5, 9.0])
@pytest.mark.parametrize("label", ["a knee with a long explanation " * 4, "漢字" * 40])
def test_the_label_of_a_mark_stays_inside_the_drawing(place: float, label: str) -> None:
    plot = make_plot([line("read", [(1, 1.0), (9, 2.0)])], marks=[mark(place, label)])
    drawing = draw_chart(plot)
    (words,) = [
        one for one in drawing.shapes if isinstance(one, Words) and one.text[:2] == label[:2]
    ]
    width = width_of(words.text, SIZE)
    start = words.x - width if words.anchor == "end" else words.x
    assert start >= 0
    assert start + width <= drawing.width
    assert words.text.endswith("…")
    assert words.whole.startswith(label)


def test_letters_of_chinese_take_the_room_that_they_need() -> None:
    assert width_of("漢字", 10) == 20
    assert width_of("Диск", 10) == width_of("????", 10)


@pytest.mark.parametrize("look", ["under-test", "other"])
def test_a_name_over_a_bar_does_not_cover_the_text_next_to_it(look: str) -> None:
    name = 8 * "SanDisk Extreme "
    detail = "1059.8 to 1060.8 in 2 of 3 passes; pass 2: " + 20 * "why "
    ranks = Ranks("read", "more is better", [Bar("1", name, "1060.8", detail, 50.0, look=look)])
    _, place, title, caption, value = (
        one for one in draw_bars(ranks).shapes if isinstance(one, Words)
    )
    # DejaVu Sans, which Linux shows for Helvetica, is up to so much wider, its bold letters more.
    name_end = title.x + 1.21 * width_of(title.text, SIZE, "Helvetica-Bold")
    caption_start = caption.x - 1.13 * width_of(caption.text, SIZE)
    value_start = value.x - 1.24 * width_of(value.text, SIZE, "Helvetica-Bold")
    assert place.x < title.x < name_end < caption_start < caption.x < value_start
