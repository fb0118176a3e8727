"""Downloads of a run or a comparison: report as HTML and PDF, results as CSV, charts as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.analysis.run_timeline import Session, timed_steps
from benchstick.errors import BadInput
from benchstick.reports import comparison_report, html, pdf, ranking, run_report, svg
from benchstick.reports.comparison_csv import comparison_csv
from benchstick.reports.content import Chart, Ranks, Report
from webui.context import bench, no_run
from webui.errors import WebError, not_found
from webui.forms.inputs import number_in_path
from webui.responses import reply
from webui.view import compare
from webui.view.runs import document, results_csv

bp = Blueprint("reports", __name__)


def attached(body: str | bytes, kind: str, name: str) -> Response:
    """A file that the browser saves under `name`, which is ours and not a drive's."""
    response = Response(body, content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _session(run: Mapping[str, Any]) -> Session:
    """The speed by second of the run with this document."""
    return bench().speed_by_second(run["number"], timed_steps(run["plan"]))


def _report(number: str) -> tuple[Report, str]:
    """The report of a run, and the name of its file without an end."""
    run = document(number_in_path(number, "Run"))
    run["verdicts"] = bench().verdicts_of_run(run["number"])
    content = run_report.of_run(run, _session(run), bench().bench_id())
    return content, f"benchstick-run-{run['number']}"


@bp.get("/runs/<number>/report.html")
@bp.get("/api/v1/runs/<number>/report.html", endpoint="api_html")
def as_html(number: str) -> Response:
    """The report as one HTML file, which needs no network."""
    content, name = _report(number)
    return attached(html.page(content), "text/html; charset=utf-8", f"{name}.html")


@bp.get("/runs/<number>/report.pdf")
@bp.get("/api/v1/runs/<number>/report.pdf", endpoint="api_pdf")
def as_pdf(number: str) -> Response:
    """The report as PDF, A4."""
    content, name = _report(number)
    return attached(pdf.document(content), "application/pdf", f"{name}.pdf")


@bp.get("/runs/<number>/results.csv")
@bp.get("/api/v1/runs/<number>/results.csv", endpoint="api_results")
def results(number: str) -> Response:
    """The results, one a line, as the export's `csv`."""
    run_number = number_in_path(number, "Run")
    name = f"benchstick-run-{run_number}-results.csv"
    return attached(results_csv(run_number), "text/csv; charset=utf-8", name)


@bp.get("/runs/<number>/charts/<which>.svg")
@bp.get("/api/v1/runs/<number>/charts/<which>.svg", endpoint="api_chart")
def chart(number: str, which: str) -> Response:
    """One chart: 1, 2, ... as on the run's page, the timeline last."""
    run = document(number_in_path(number, "Run"))
    at = number_in_path(which, "Chart")
    charts = run_report.result_charts(run)
    if at > len(charts):
        whole = run_report.session_chart(run, _session(run))
        charts += [whole] if whole is not None else []
    if not 1 <= at <= len(charts):
        raise not_found(f"Run {run['number']} has {len(charts)} charts: no {which[:20]}.")
    name = f"benchstick-run-{run['number']}-chart-{at}.svg"
    drawing = charts[at - 1]
    text = svg.standalone(drawing, run_report.file_title(run, drawing.title))
    return attached(text, "image/svg+xml", name)


# ---- comparisons: the same query as the page's, `?runs=1,2&mark=2&references=no`


@bp.get("/compare/report.html")
@bp.get("/api/v1/compare/report.html", endpoint="api_compared_html")
def compared_html() -> Response:
    """The report of a comparison as one HTML file, which needs no network."""
    comparison = compare.document()
    content = comparison_report.of_comparison(comparison, bench().bench_id())
    name = f"{ranking.name_of(comparison)}.html"
    return attached(html.page(content), "text/html; charset=utf-8", name)


@bp.get("/compare/report.pdf")
@bp.get("/api/v1/compare/report.pdf", endpoint="api_compared_pdf")
def compared_pdf() -> Response:
    """The report of a comparison as PDF, A4."""
    comparison = compare.document()
    content = comparison_report.of_comparison(comparison, bench().bench_id())
    return attached(pdf.document(content), "application/pdf", f"{ranking.name_of(comparison)}.pdf")


@bp.get("/compare/results.csv")
@bp.get("/api/v1/compare/results.csv", endpoint="api_compared_results")
def compared_results() -> Response:
    """The compared results, one a line for each run and reference."""
    comparison = compare.document()
    name = f"{ranking.name_of(comparison)}-results.csv"
    return attached(comparison_csv(comparison), "text/csv; charset=utf-8", name)


@bp.get("/compare/ranks/<which>.svg")
@bp.get("/api/v1/compare/ranks/<which>.svg", endpoint="api_compared_ranks")
def compared_ranks(which: str) -> Response:
    """The bars of one result: 1, 2, ... in the order of the document's `results`."""
    comparison = compare.document()
    return _drawing(
        which, comparison_report.ranks_of(comparison), "rank", ranking.name_of(comparison)
    )


@bp.get("/compare/charts/<which>.svg")
@bp.get("/api/v1/compare/charts/<which>.svg", endpoint="api_compared_chart")
def compared_chart(which: str) -> Response:
    """One overlaid chart: 1, 2, ... as on the page."""
    comparison = compare.document()
    return _drawing(
        which, comparison_report.charts_of(comparison), "chart", ranking.name_of(comparison)
    )


def _drawing(which: str, drawings: Sequence[Chart | Ranks], kind: str, name: str) -> Response:
    """Drawing number `which`. WebError 404 when there are fewer."""
    at = number_in_path(which, "Chart")
    if not 1 <= at <= len(drawings):
        words = {"rank": "ranked results", "chart": "charts"}[kind]
        raise not_found(f"This comparison has {len(drawings)} {words}: no {which[:20]}.")
    return attached(svg.standalone(drawings[at - 1]), "image/svg+xml", f"{name}-{kind}-{at}.svg")


# ---- bundles


@bp.get("/runs/<number>/bundle")
@bp.get("/api/v1/runs/<number>/bundle", endpoint="api_bundle")
def as_bundle(number: str) -> Response:
    """The run as a bundle that another bench imports, without what its steps left."""
    run_number = number_in_path(number, "Run")
    run_bundle = bench().bundle(run_number)
    if run_bundle is None:
        raise no_run(run_number)
    name = f"benchstick-run-{run_number}-{run_bundle.uuid[:8]}.zip"
    return attached(run_bundle.data, "application/zip", name)


def _take(data: bytes) -> dict[str, Any]:
    """Check a bundle and hand it to the agent: the `benchstick/import/1` document. The run is in
    it at once where it is here already."""
    here = bench().run_of_bundle(data)
    if here is not None:
        text = f"it was here, as run {here}"
        return {"schema": "benchstick/import/1", "id": None, "state": "done", "run": here,
                "text": text}  # fmt: skip
    running = bench().running()
    if running:
        raise WebError(
            409,
            "busy",
            f"Run {running[0].number} is on: nothing is imported while a drive is "
            "timed. Try again when it is over.",
        )
    return bench().add_upload(data)


@bp.post("/imports")
def upload() -> BaseResponse:
    """The form of the runs' list: a file."""
    file = request.files.get("bundle")
    if file is None or not file.filename:
        raise BadInput("bundle: choose a file that another bench made", field="bundle")
    with file.stream:
        data = file.read()
    record = _take(data)
    if record["id"] is None:
        return redirect(url_for("runs.run", number=record["run"], here=1), 303)
    return redirect(url_for("reports.import_", number=record["id"]), 303)


@bp.post("/api/v1/imports")
def api_upload() -> Response:
    """The bundle is the body: `Content-Type: application/zip`."""
    if request.mimetype != "application/zip":
        raise WebError(415, "content_type", "the body must be a bundle: application/zip")
    record = _take(request.get_data(cache=False))
    return reply(record, 202 if record["state"] == "waiting" else 200)


def _import(number: str) -> dict[str, Any]:
    record = bench().upload(number_in_path(number, "Import"))
    if record is None:
        raise not_found(f"Import {number[:20]}: there is no such import.")
    return record


@bp.get("/imports/<number>")
def import_(number: str) -> str:
    return render_template("import.html", found=_import(number), agent=bench().agent_runs())


@bp.get("/api/v1/imports/<number>")
def api_import(number: str) -> Response:
    """The state of a bundle: `state` is waiting, done or refused."""
    return reply(_import(number))
