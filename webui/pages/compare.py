"""Runs of one suite compared: ranked results, overlaid charts, differing conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Blueprint, Response, render_template, request

from benchstick.protocol.messages import RunEntry
from benchstick.reports import charts
from benchstick.reports.ranking import groups, looks_of, name_of
from benchstick.suites import registry
from webui.context import bench
from webui.forms.inputs import LARGEST, plain_text, whole
from webui.forms.queries import kind_asked
from webui.responses import reply
from webui.view.compare import document, overlay
from webui.view.runs import list_for_api, list_for_page, suite_title

bp = Blueprint("compare", __name__)

# Runs to choose from on one page.
CHOICE = 50


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
        comparison=comparison,
        title=suite_title(comparison["suite"]),
        looks=looks,
        labels={item["run"]: item["label"] for item in comparison["runs"]},
        groups=list(groups(comparison["results"])),
        charts=[
            overlay(item, looks) for item in charts.list_charts({"charts": comparison["charts"]})
        ],
        others=bench().others_of_suite(
            comparison["suite"],
            practice=comparison["runs"][0]["practice"],
            leave_out=numbers,
        ),
        numbers=numbers,
        # The query of its files.
        query=f"runs={','.join(map(str, numbers))}&mark={comparison['under_test']}"
        + ("&references=no" if request.args.get("references") == "no" else ""),
        file_name=name_of(comparison),
        has_references=any(
            row["reference"] for item in comparison["results"] for row in item["rows"]
        ),
    )


# ---- what to compare


@dataclass(frozen=True)
class Choice:
    """The newest runs of a suite below `before`, real or practice ones."""

    suite: str
    practice: bool
    rows: Sequence[RunEntry]

    @property
    def more(self) -> int | None:
        """The number below which there are older ones."""
        return self.rows[-1].number if len(self.rows) == CHOICE else None


def choice() -> Choice:
    """The runs to choose from by the query; default suite: that of the newest run."""
    practice = kind_asked()
    before = whole(request.args.get("before"), "before", low=1, high=LARGEST, default=LARGEST)
    name = request.args.get("suite")
    if not name:
        name = bench().newest_suite(practice=practice) or next(iter(registry.all_suites()))
    suite = registry.find(plain_text(name, "suite")).name
    rows = bench().runs(practice=practice, suite=suite, before=before, limit=CHOICE)
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
