"""Comparing runs: ranks, spread, missing results, different conditions, overlaid charts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchstick.analysis.comparison.overlay import MOST_POINTS, overlaid, reduced
from benchstick.analysis.comparison.rank import MOST_RUNS, compare, labels_of
from benchstick.errors import BadInput
from benchstick.suites.charts import axis, chart, curve, line, mark
from benchstick.suites.result_names import result_key
from tests.results import document as document_of

Json = dict[str, Any]


def result(
    name: str, value: float | None, unit: str = "MB/s", pass_no: int | None = None, **more: Any
) -> Json:
    return document_of(
        {"name": name, "value": value, "unit": unit, "pass": pass_no, "target": "file on exfat",
         "state": "valid", "reason": None, **more}
    )  # fmt: skip


def run(number: int, *results: Json, model: str = "", **more: Any) -> Json:
    """A run's document as the store gives it; `host`, `params`, `facts` replace parts of it."""
    host = {"kernel": "6.1", "fio": "fio-3.39", "benchstick": "0.1.0", "cpu": "i7", "ram": 2**34}
    facts = {"transport": "usb-uas", "usb_speed": 10000, "driver": "uas", "queue_depth": 30}
    return {
        "number": number, "uuid": f"u{number}", "suite": "cdm", "practice": False, "state": "done",
        "created_utc": "2026-01-31T12:00:00.000Z",
        "drive": {
            "code": f"S{number}", "label": None,
            "identity": {"model": model or f"Model {number}", "capacity": 10**12},
            **{name: {"value": value} for name, value in (facts | more.pop("facts", {})).items()},
        },
        "plan": {"target": "file", "fs": "exfat", "scale": None, "sets": [],
                 "params": {"passes": 3, "size": 1 << 30} | more.pop("params", {})},
        "conditions": {"filesystem": {"fs": "exfat"}, "state": "newly formatted",
                       "host": host | more.pop("host", {})},
        "result": None, "results": list(results), **more,
    }  # fmt: skip


def rows(document: Json, name: str) -> list[tuple[Any, ...]]:
    (entry,) = [item for item in document["results"] if item["name"] == name]
    return [(row["rank"], row["run"], row["value"]) for row in entry["rows"]]


def test_higher_is_better_for_speeds_and_lower_for_times() -> None:
    document = compare(
        [
            run(number, *(result(name, value, name.removesuffix(" time")) for name in
                          ("MB/s", "IOPS", "points", "us", "ms", "s time", "GB")))
            for number, value in ((1, 20.0), (2, 30.0), (3, 10.0))
        ]
    )  # fmt: skip
    for unit in ("MB/s", "IOPS", "points"):
        assert rows(document, unit) == [(1, 2, 30.0), (2, 1, 20.0), (3, 3, 10.0)]
    for name in ("us", "ms", "s time"):
        assert rows(document, name) == [(1, 3, 10.0), (2, 1, 20.0), (3, 2, 30.0)]
    # Neither direction is better for GB: in the order named, without a rank.
    assert rows(document, "GB") == [(None, 1, 20.0), (None, 2, 30.0), (None, 3, 10.0)]


def test_results_whose_unit_does_not_show_which_is_better_are_known_by_name() -> None:
    spread, half = "RND4K Q32T1 write IOPS stdev of the last 400 s", "RND4K write time until half"
    runs = [
        run(number, result(spread, value, "IOPS"), result(half, value, "s"))
        for number, value in ((1, 20.0), (2, 30.0))
    ]
    # A slow drive has a lower deviation but is not better.
    assert rows(compare(runs), spread) == [(None, 1, 20.0), (None, 2, 30.0)]
    assert rows(compare(runs), half) == [(1, 2, 30.0), (2, 1, 20.0)]


def test_equal_results_share_a_rank_in_the_order_named() -> None:
    document = compare([run(n, result("A", v)) for n, v in ((4, 5.0), (3, 9.0), (2, 9.0))])
    assert rows(document, "A") == [(1, 3, 9.0), (1, 2, 9.0), (3, 4, 5.0)]


def test_the_first_run_is_under_test_or_the_one_marked() -> None:
    runs = [run(n, result("A", float(n))) for n in (1, 2)]
    for mark_, expected in ((None, 1), (1, 1), (2, 2)):
        document = compare(runs, mark=mark_)
        assert document["under_test"] == expected
        assert [item["run"] for item in document["runs"] if item["under_test"]] == [expected]
        assert [row["run"] for row in document["results"][0]["rows"] if row["under_test"]] == [
            expected
        ]


def test_the_spread_is_that_of_the_valid_passes() -> None:
    passes = [
        result("A", 5.0, pass_no=1), result("A", 7.0, pass_no=2),
        result("A", 99.0, pass_no=3, state="invalid", reason="buffered"),
    ]  # fmt: skip
    document = compare([run(1, *passes, result("A", 7.0, reason="2 of 3 passes"))])
    (row,) = document["results"][0]["rows"]
    assert (row["value"], row["min"], row["max"]) == (7.0, 5.0, 7.0)
    assert (row["passes"], row["passes_all"], row["reason"]) == ([5.0, 7.0], 3, "2 of 3 passes")


def test_a_result_of_single_passes_only_is_their_mean() -> None:
    passes = [result("A", value, pass_no=at) for at, value in enumerate((4.0, 8.0))]
    (row,) = compare([run(1, *passes)])["results"][0]["rows"]
    assert (row["value"], row["state"], row["reason"]) == (6.0, "valid", "mean of 2 passes")
    bad = [{**item, "state": "invalid", "reason": "buffered"} for item in passes]
    (row,) = compare([run(1, *bad)])["results"][0]["rows"]
    assert (row["state"], row["reason"], row["rank"]) == ("invalid", "buffered", None)


def test_what_is_missing_or_not_valid_comes_last_without_a_rank() -> None:
    document = compare(
        [
            run(1, result("A", 99.0, state="invalid", reason="buffered"), result("only one", 1.0)),
            run(2),
            run(3, result("A", 1.0)),
            run(4, result("A", None, state="skipped", reason="no TRIM")),
            run(5, result("A", float("nan"))),
            # With another unit it is another result.
            run(6, result("A", 5.0, "IOPS")),
        ]
    )
    (entry,) = document["results"]
    ranking = [(row["run"], row["rank"], row["state"]) for row in entry["rows"]]
    assert ranking == [(3, 1, "valid"), (1, None, "invalid"), (2, None, "missing"),
                    (4, None, "skipped"), (5, None, "invalid"), (6, None, "missing")]  # fmt: skip
    assert entry["rows"][1]["reason"] == "buffered"
    assert document["apart"] == [
        {"name": "only one", "unit": "MB/s", "run": 1}, {"name": "A", "unit": "IOPS", "run": 6},
    ]  # fmt: skip


def test_conditions_that_differ_are_listed_and_no_others() -> None:
    same = [run(1), run(2)]
    assert compare(same)["differ"] == []
    other = run(
        2,
        facts={"transport": "usb-bot", "usb_speed": 480, "driver": "usb-storage"},
        host={"kernel": "6.12", "fio": "fio-3.33", "benchstick": "0.2.0", "cpu": "N100"},
        params={"passes": 5, "new": True, "size": 64 << 20},
    )
    other["plan"] |= {"scale": 0.05, "sets": [{"name": "Home", "bytes": 5 * 10**9}]}
    other["conditions"] |= {"filesystem": {"fs": "ntfs"}, "state": "fresh: purged"}
    conditions = {
        item["name"]: [one["text"] for one in item["values"]]
        for item in compare([run(1), other])["differ"]
    }
    assert conditions == {
        "filesystem": ["exfat", "ntfs"],
        "link": ["USB 10 Gb/s", "USB 480 Mb/s"],
        "driver": ["UASP, driver uas", "BOT, driver usb-storage"],
        "state": ["newly formatted", "fresh: purged"],
        "scale": ["whole (1)", "0.05"],
        "sets": ["none", "Home 5.00 GB"],
        "host": ["i7, 17.18 GB RAM", "N100, 17.18 GB RAM"],
        "kernel": ["6.1", "6.12"],
        "fio": ["fio-3.39", "fio-3.33"],
        "benchstick": ["0.1.0", "0.2.0"],
        "param.passes": ["3", "5"],
        "param.size": ["1 GiB", "64 MiB"],
        "param.new": ["not known", "yes"],
    }


def test_the_target_is_that_of_the_results_where_the_run_has_none() -> None:
    runs = [run(1, result("A", 1.0)), run(2, result("A", 1.0, target="block"))]
    runs[1]["plan"]["target"] = "block"
    runs[1]["conditions"] = {}
    conditions = {item["name"]: item["values"] for item in compare(runs)["differ"]}
    assert [item["text"] for item in conditions["target"]] == ["file on exfat", "block"]
    assert [item["text"] for item in conditions["filesystem"]] == ["exfat", "none, the raw drive"]
    assert [item["text"] for item in conditions["kernel"]] == ["6.1", "not known"]


def test_conditions_from_another_bench_are_text_whatever_they_are() -> None:
    odd = run(2, facts={"usb_speed": "fast", "queue_depth": [1]}, host={"kernel": "x" * 5000})
    odd["plan"] |= {"scale": "half", "sets": 7, "params": None}
    odd["conditions"] |= {"alongside": "run 5", "queue": "none", "state": "\x1b[31mred\u202e"}
    texts = {item["name"]: item["values"][1]["text"] for item in compare([run(1), odd])["differ"]}
    assert texts["state"] == "[31mred"
    assert len(texts["kernel"]) == 300
    assert (texts["scale"], texts["alongside"]) == ("half", "run 5")
    assert texts["link"] == "usb-uas"


@pytest.mark.parametrize(
    ("runs", "mark_", "words"),
    [
        ([], None, "runs: select at least one run"),
        ([run(1), {**run(2), "suite": "das"}], None, "run 1 is of cdm and run 2 of das"),
        ([run(1), {**run(2), "practice": True}], None, "run 2 is on the practice drive"),
        ([run(1), run(1)], None, "run 1 is named twice"),
        ([run(1)], 2, "mark: run 2 is not one of those compared"),
        ([run(n) for n in range(1, MOST_RUNS + 2)], None, f"at most {MOST_RUNS}"),
    ],
)
def test_runs_that_cannot_be_compared_are_reported_in_one_line(
    runs: list[Json], mark_: int | None, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        compare(runs, mark=mark_)
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.field in ("runs", "mark")


def test_hostile_names_become_one_short_line_and_stay_distinct() -> None:
    names = ["x" * 10_000, "\u202egpj.exe\x00\nnext", "\t\n", "Same", "Same", "<b>&\"'"]
    labels = labels_of([run(n, model=name) for n, name in enumerate(names)])
    assert len(labels[0]) == 60
    assert labels[0].endswith("…")
    assert labels[1] == "gpj.exe next"
    assert labels[2] == "without a name"
    assert (labels[3], labels[4]) == ("Same, run 3", "Same, run 4")
    assert labels[5] == "<b>&\"'"
    labelled_run = run(1)
    labelled_run["drive"]["label"] = "slot 3"
    assert labels_of([labelled_run]) == {1: "slot 3"}


def test_references_are_listed_without_a_rank() -> None:
    reference = {"id": 7, "drive": "T7", "suite": "cdm", "key": result_key("A"), "value": 15.0,
                 "unit": "MB/s", "source": "a review"}  # fmt: skip
    document = compare(
        [run(1, result("A", 10.0)), run(2, result("A", 20.0))],
        references=[reference, {**reference, "unit": "IOPS"}],
    )
    assert rows(document, "A") == [(1, 2, 20.0), (None, None, 15.0), (2, 1, 10.0)]
    row = document["results"][0]["rows"][1]
    assert (row["reference"], row["label"], row["source"]) == (7, "T7", "a review")
    assert row["reason"] == "reference, not measured here"


# ---- charts

SECONDS, SPEED = axis("second", "s"), axis("speed", "MB/s")


def test_charts_with_the_same_title_and_axes_are_overlaid() -> None:
    one = {
        "charts": [
            chart("Speed", SECONDS, SPEED, [line("write", [(0, 5), (1, 6)])], within=(0, 10),
                  marks=[mark(1, "knee")]),
            chart("Both", SECONDS, SPEED, ["shared", line("b", [(0, 1)])]),
            chart("Alone", SECONDS, SPEED, [line("x", [(0, 1)])]),
        ],
        "series": [line("shared", [(0, 2), (1, 3)])],
    }  # fmt: skip
    two = {
        "charts": [
            chart("Speed", SECONDS, SPEED, [line("write", [(0, 7)])], within=(0, 20),
                  mark_above=mark(9, "hot")),
            chart("Both", SECONDS, SPEED, [line("shared", [(0, 9)]), line("b", [(0, 8)])]),
            chart("Alone", axis("written", "GB"), SPEED, [line("x", [(0, 1)])]),
        ],
    }  # fmt: skip
    speed, both = overlaid([(3, "A", one), (5, "B", two)])
    assert speed == {
        "title": "Speed", "x": SECONDS, "y": SPEED, "from": 0, "to": 20,
        "series": [{"name": "A", "run": 3, "points": [[0, 5], [1, 6]]},
                   {"name": "B", "run": 5, "points": [[0, 7]]}],
        "marks": [{"x": 1, "label": "A: knee", "run": 3}, {"x": 9, "label": "B: hot", "run": 5}],
    }  # fmt: skip
    assert [item["name"] for item in both["series"]] == [
        "A · shared", "A · b", "B · shared", "B · b",
    ]  # fmt: skip
    # One run alone keeps its charts, under its own name.
    assert [item["title"] for item in overlaid([(3, "A", one)])] == ["Speed", "Both", "Alone"]


def test_a_long_line_keeps_its_lowest_and_highest() -> None:
    points: list[tuple[float, float | None]] = [(float(at), 100.0) for at in range(86_400)]
    points[40_000], points[70_000], points[5] = (40_000, 3.0), (70_000, 900.0), (5, None)
    outline = reduced(line("x", points))
    assert len(outline["points"]) == len(outline["low"]) == len(outline["high"]) <= MOST_POINTS
    assert (min(outline["low"]), max(outline["high"])) == (3.0, 900.0)
    at = outline["low"].index(3.0)
    assert outline["points"][at][0] <= 40_000 < outline["points"][at + 1][0]
    # Once more, as of a line that was reduced before: its band counts, not its means.
    again = reduced(outline, 50)
    assert len(again["points"]) <= 50
    assert (min(again["low"]), max(again["high"])) == (3.0, 900.0)
    short = line("x", [(0, 1), (1, 2)])
    assert reduced(short) == short


@pytest.mark.parametrize(
    "charts",
    [
        None, 7, ["x"], [{}], [{"title": "Speed", "x": SECONDS, "y": SPEED, "series": ["gone"]}],
        [chart("Speed", SECONDS, SPEED, [{"name": "w", "points": [["a", 1]]}])],
        [chart("Speed", SECONDS, SPEED, [{"name": "w", "points": [[0, 1]], "low": [1, 2]}])],
        [chart("Speed", SECONDS, SPEED, [])],
        [{**chart("Speed", SECONDS, SPEED, [line("w", [(0, 1)])]), "y": {"label": 7}}],
        [{**chart("Speed", SECONDS, SPEED, [line("w", [(0, 1)])]), "y2": "°C"}],
        [{**chart("Speed", SECONDS, SPEED, [line("w", [(0, 1)])]), "title": None}],
    ],
)  # fmt: skip
def test_charts_that_are_not_in_the_format_are_left_out(charts: Any) -> None:
    good = {"charts": [chart("Speed", SECONDS, SPEED, [curve("w", [(0, 1), (1, 2)])])]}
    assert overlaid([(1, "A", good), (2, "B", {"charts": charts, "series": "x"})]) == []
    # The same with that run alone.
    assert overlaid([(2, "B", {"charts": charts, "series": "x"})]) == []
    json.dumps(overlaid([(1, "A", good)]))
