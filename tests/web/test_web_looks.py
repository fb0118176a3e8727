"""The charts of `pts` on the page: all of them are drawn, each line in a colour of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick.plan.steps import Fio
from benchstick.reports import charts, formatting
from benchstick.suites import registry
from tests.results import document, results_from

STYLE = Path(__file__).resolve().parents[2] / "webui/static/style.css"


def result_of(drive: dict[str, Any], **params: str) -> dict[str, Any]:
    """Seven rounds that rise a little: each test has its own results."""
    plan = registry.make_plan("pts", drive, params)
    results = []
    for at, step in enumerate(plan.steps):
        if not isinstance(step, Fio) or step.round.number > 7 or step.name.startswith("fill"):
            continue
        base = {"step": step.name, "pass": step.pass_no, "target": "block", "state": "valid",
                "reason": None, "detail": {"totals": {"write_bytes": 10**10}}}  # fmt: skip
        results += [
            {**base, "name": f"{step.test}{suffix}", "value": 1000.0 + at / 100, "unit": unit}
            for suffix, unit in (("", "MB/s"), (" IOPS", "IOPS"), (" latency", "us"),
                                 (" latency max", "us"))
        ]  # fmt: skip
    return dict(
        registry.find("pts")
        .result(plan, results_from([document(item) for item in results]), drive)
        .document
    )


@pytest.mark.parametrize("preset", ["client", "enterprise", "reduced"])
@pytest.mark.parametrize("test", ["iops", "throughput", "latency", "wsat", "hir"])
def test_every_chart_is_drawn_and_no_two_lines_look_alike(
    drive_json: Callable[..., dict[str, Any]], test: str, preset: str
) -> None:
    document = result_of(drive_json(trim=True, trim_kernel=1 << 30), test=test, preset=preset)
    items = list(charts.list_charts(document))
    assert [item.chart["title"] for item in items] == [c["title"] for c in document["charts"]]
    assert items
    for item in items:
        looks = item.looks.split()
        assert len(looks) == len(set(looks)) == len(item.chart["series"]), item.chart["title"]
        assert "temp" not in looks
    guides = [line["name"].startswith(("average", "best fit")) for item in items
              for line in item.chart["series"]]  # fmt: skip
    assert " ".join(item.dashes for item in items) == " ".join("01"[guide] for guide in guides)
    assert any(guides) or test == "wsat"
    if (test, preset) == ("iops", "client"):
        assert max(len(item.lines) for item in items) == 7


def test_every_look_has_its_colour_in_light_dark_and_print() -> None:
    text = STYLE.read_text(encoding="utf-8")
    themes = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    assert len(themes) == 3
    for look in charts._LOOKS:
        colours = [re.findall(rf"--{look}: (#[0-9a-f]{{6}});", theme) for theme in themes]
        assert all(len(values) == 1 for values in colours), (look, colours)
        assert f".legend i.{look} {{" in text
    for theme in themes:
        line_colours = [
            re.findall(rf"--{look}: (#[0-9a-f]{{6}});", theme)[0] for look in charts._LOOKS
        ]
        assert len(set(line_colours)) == len(line_colours)


def test_a_class_has_its_layout_in_one_place() -> None:
    """Another rule for the same class, further down, would turn the first one over on all pages."""
    text = re.sub(r"/\*.*?\*/", "", STYLE.read_text(encoding="utf-8"), flags=re.DOTALL)
    at_top = re.sub(r"@[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", text)
    selectors = re.findall(r"^(\.[\w-]+) \{[^}]*\bdisplay:", at_top, re.MULTILINE)
    assert len(selectors) > 20
    assert sorted(name for name in set(selectors) if selectors.count(name) > 1) == []


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (3166.0, "s", ("52 min 46 s", "")), (3.25, "s", ("3.2", "s")),
        (1060.83, "MB/s", ("1060.8", "MB/s")), (123_488.2, "IOPS", ("123\u202f488", "IOPS")),
        (None, "s", ("–", "s")), (11.59, "mean/stdev", ("11.6", "mean/stdev")),
    ],
)  # fmt: skip
def test_a_headline_shows_a_long_time_in_minutes_and_hours(
    value: float | None, unit: str, expected: tuple[str, str]
) -> None:
    assert formatting.headline_text({"label": "x", "value": value, "unit": unit}) == expected
