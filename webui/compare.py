"""Runs of one suite compared: ranked results, overlaid charts, differing conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, render_template, request
from werkzeug.datastructures import MultiDict

from benchstick.errors import BadInput
from benchstick.store import comparisons, run_queries
from benchstick.suites import registry
from webui import charts, present
from webui.api import reply
from webui.bench import reader
from webui.inputs import LARGEST, plain_text, whole
from webui.runs import kind_asked, list_for_api, list_for_page, suite_title

bp = Blueprint("compare", __name__)

# Runs to choose from on one page.
CHOICE = 50

# Colours of style.css for the runs that are not marked; the marked one has the accent.
_LOOKS = ("write", "third", "fifth", "sixth", "temp", "eighth", "seventh")
MARKED = "accent"


def numbers_of(form: MultiDict[str, str]) -> list[int]:
    """The run numbers of a query: `runs=1,2,3`, or one `runs=N` for each box that was ticked."""
    texts = [part.strip() for text in form.getlist("runs") for part in text.split(",")]
    numbers = []
    for text in filter(None, texts):
        if not re.fullmatch(r"[0-9]{1,15}", text):
            excerpt = plain_text(text[:40], "runs")
            raise BadInput(f"runs: {excerpt!r} is no run's number; write them as 3,5", field="runs")
        numbers.append(int(text))
    return numbers


def document() -> dict[str, Any]:
    """The comparison that the query asks for."""
    numbers = numbers_of(request.args)
    mark = whole(request.args.get("mark"), "mark", low=1, high=LARGEST, default=0)
    references = request.args.get("references", "yes")
    if references not in ("yes", "no"):
        raise BadInput("references: expected yes or no", field="references")
    return comparisons.comparison(
        reader(), numbers, mark=mark or None, with_references=references == "yes"
    )


@bp.get("/api/v1/compare")
def api_compare() -> Response:
    """The `benchstick/comparison/2` document: `?runs=1,2,3&mark=2`; with `&references=no` of the
    runs alone."""
    return reply(document())


@bp.get("/compare")
def compare() -> str:
    comparison = document()
    numbers = [item["run"] for item in comparison["runs"]]
    looks = looks_of(comparison["runs"])
    return render_template(
        "compare.html",
        compared=comparison,
        title=suite_title(comparison["suite"]),
        looks=looks,
        labels={item["run"]: item["label"] for item in comparison["runs"]},
        groups=list(groups(comparison["results"])),
        charts=[
            overlay(item, looks) for item in charts.list_charts({"charts": comparison["charts"]})
        ],
        others=comparisons.others_of_suite(
            reader(),
            comparison["suite"],
            practice=comparison["runs"][0]["practice"],
            leave_out=numbers,
        ),
        numbers=numbers,
        # The query of its files.
        query=f"runs={','.join(map(str, numbers))}&mark={comparison['under_test']}"
        + ("&references=no" if request.args.get("references") == "no" else ""),
        file_name=name_of(comparison),
        referenced=any(row["reference"] for item in comparison["results"] for row in item["rows"]),
    )


# ---- what to compare


@dataclass(frozen=True)
class Choice:
    """The newest runs of a suite below `before`, real or practice ones."""

    suite: str
    practice: bool
    rows: Sequence[Any]

    @property
    def more(self) -> int | None:
        """The number below which there are older ones."""
        return self.rows[-1]["number"] if len(self.rows) == CHOICE else None


def choice() -> Choice:
    """The runs to choose from by the query; default suite: that of the newest run."""
    practice = kind_asked()
    before = whole(request.args.get("before"), "before", low=1, high=LARGEST, default=LARGEST)
    name = request.args.get("suite")
    if not name:
        newest = run_queries.runs_before(reader(), practice=practice, limit=1)
        name = newest[0]["suite"] if newest else next(iter(registry.all_suites()))
    suite = registry.find(plain_text(name, "suite")).name
    rows = run_queries.runs_before(
        reader(), practice=practice, suite=suite, before=before, limit=CHOICE
    )
    return Choice(suite, practice, rows)


@bp.get("/comparisons")
def choose() -> str:
    selection = choice()
    return render_template(
        "comparisons.html",
        choice=selection,
        suites=registry.all_suites().values(),
        title=suite_title(selection.suite),
        runs=list_for_page(selection.rows),
    )


@bp.get("/api/v1/comparisons")
def api_choose() -> Response:
    """The runs of a suite that can be compared, newest first: `?suite=NAME&kind=real|practice`,
    and `&before=N` for older ones; without a suite those of the suite of the newest run."""
    selection = choice()
    return reply(
        {
            "schema": "benchstick/comparisons/2",
            "suite": selection.suite,
            "suites": [
                {"name": suite.name, "title": suite.title}
                for suite in registry.all_suites().values()
            ],
            "runs": list_for_api(selection.rows),
        }
    )


def name_of(document: Mapping[str, Any]) -> str:
    """The name of a comparison's files, without an end: `benchstick-compare-3-4`."""
    return "-".join(["benchstick-compare", *(str(item["run"]) for item in document["runs"])])


def looks_of(runs: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """A colour for each run, the same in all charts."""
    others = [item["run"] for item in runs if not item["under_test"]]
    looks = {number: _LOOKS[at % len(_LOOKS)] for at, number in enumerate(others)}
    return {item["run"]: MARKED if item["under_test"] else looks[item["run"]] for item in runs}


@dataclass(frozen=True)
class Overlay:
    """An overlaid chart as the page draws it: `lines` are (name, look, run, dash), where dash
    counts the lines of a run, which have its colour."""

    drawing: charts.PageChart
    lines: Sequence[tuple[str, str, int, int]]

    @property
    def looks(self) -> str:
        return " ".join(look for _, look, _, _ in self.lines)

    @property
    def dashes(self) -> str:
        return " ".join(str(dash) for _, _, _, dash in self.lines)

    @property
    def runs(self) -> str:
        return " ".join(str(run) for _, _, run, _ in self.lines)


def overlay(drawing: charts.PageChart, looks: Mapping[int, str]) -> Overlay:
    """The chart with each line in the colour of its run."""
    counts: dict[int, int] = {}
    lines = []
    for line in drawing.chart["series"]:
        run = line["run"]
        lines.append((line["name"], looks[run], run, counts.setdefault(run, 0)))
        counts[run] += 1
    return Overlay(drawing, lines)


# ---- ranked bars


@dataclass(frozen=True)
class Bar:
    """One row of a ranked result. `width`, `low` and `high` are in percent of the longest."""

    row: Mapping[str, Any]
    width: float
    low: float | None
    high: float | None

    @property
    def counts(self) -> bool:
        """Whether its value is one to compare with."""
        return self.row["state"] in ("valid", "reference")

    @property
    def look(self) -> str:
        if self.row["state"] == "reference":
            return "ref"
        return "mine" if self.row["under_test"] else "other"


@dataclass(frozen=True)
class Ranked:
    """One result with its bars; `at` is its place in the document's `results`, from 1 on."""

    figure: Mapping[str, Any]
    bars: Sequence[Bar]
    at: int


def ranked(figure: Mapping[str, Any], at: int) -> Ranked:
    """The bars of result number `at`, scaled to the largest value or pass."""
    rows = figure["rows"]
    longest = max(
        (row[name] for row in rows for name in ("value", "max") if row[name] is not None),
        default=0,
    )

    # Some room at the end, so that the last whisker is seen whole.
    longest *= 1.02

    def bar(row: Mapping[str, Any]) -> Bar:
        spread = len(row["passes"]) > 1
        return Bar(
            row=row,
            width=present.share(row["value"], longest) if _is_comparable(row) else 0.0,
            low=present.share(row["min"], longest) if spread else None,
            high=present.share(row["max"], longest) if spread else None,
        )

    return Ranked(figure, [bar(row) for row in rows], at)


def _is_comparable(row: Mapping[str, Any]) -> bool:
    return row["state"] in ("valid", "reference")


def groups(figures: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Ranked]]]:
    """The results by unit, in the order in which the units come first."""
    units = dict.fromkeys(figure["unit"] for figure in figures)
    for unit in units:
        yield (
            unit,
            [ranked(figure, at) for at, figure in enumerate(figures, 1) if figure["unit"] == unit],
        )


@bp.app_template_global("spread_text")
def spread_text(row: Mapping[str, Any], unit: str) -> str:
    """`1058.3 to 1061.4 in 3 passes`: what the whisker shows."""
    count, every = len(row["passes"]), row["passes_all"]
    if not every:
        return ""
    if not count:
        return f"no valid pass of {every}"
    if every == 1:
        return "1 pass"
    least, most = value_text(row["min"], unit), value_text(row["max"], unit)
    if count < every:
        return f"{least} to {most} in {count} of {every} passes"
    return f"{least} to {most} in {every} passes"


@bp.app_template_global("value_text")
def value_text(value: Any, unit: str) -> str:
    """A value without its unit where the heading has it, as its kind is shown elsewhere."""
    if value is None:
        return "–"
    if unit == "us":
        return present.latency(value)
    if unit == "MB/s":
        return present.speed(value)
    if unit in ("IOPS", "points"):
        return present.number(value, 0 if abs(value) >= 100 else 1)
    return present.value_with_unit(value, None)
