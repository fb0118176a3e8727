"""Runs of one suite compared: ranked results, overlaid charts, differing conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, render_template, request
from werkzeug.datastructures import MultiDict

from benchstick.errors import BadInput
from benchstick.reports import charts
from benchstick.reports.ranking import groups, looks_of, name_of
from benchstick.store import comparisons, run_queries
from benchstick.suites import registry
from webui.api import reply
from webui.bench import reader
from webui.inputs import LARGEST, plain_text, whole
from webui.runs import kind_asked, list_for_api, list_for_page, suite_title

bp = Blueprint("compare", __name__)

# Runs to choose from on one page.
CHOICE = 50


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
    """The `benchstick/comparison/1` document: `?runs=1,2,3&mark=2`; with `&references=no` of the
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
        groups=list(groups(comparison["figures"])),
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
        query=f"runs={','.join(map(str, numbers))}&mark={comparison['marked']}"
        + ("&references=no" if request.args.get("references") == "no" else ""),
        file_name=name_of(comparison),
        referenced=any(row["reference"] for item in comparison["figures"] for row in item["rows"]),
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
            "schema": "benchstick/comparisons/1",
            "suite": selection.suite,
            "suites": [
                {"name": suite.name, "title": suite.title}
                for suite in registry.all_suites().values()
            ],
            "runs": list_for_api(selection.rows),
        }
    )


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
