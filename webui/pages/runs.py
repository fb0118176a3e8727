"""Runs: the list, the live run, the result, its exports and what each step left."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, send_file, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.analysis.run_timeline import passes, timed_steps
from benchstick.analysis.series import POINTS, every_of
from benchstick.errors import BadInput
from benchstick.protocol.messages import RunEntry
from benchstick.reports import charts, conditions, formatting
from benchstick.suites.erase_certificate import certificate
from webui.context import bench, no_run, page_state, run_state
from webui.errors import WebError, not_found
from webui.forms.inputs import LARGEST, no_body, number_in_path, plain_text, whole
from webui.forms.queries import kind_asked
from webui.responses import reply, reply_request
from webui.view import latencies, queues, vendor_grids, verdicts
from webui.view.runs import (
    artifacts,
    commands_of,
    document,
    document_and_results,
    grid,
    list_for_api,
    list_for_page,
    open_file,
    passes_of,
    results_csv,
    results_shown,
    steps_bar,
    suite_title,
)

bp = Blueprint("runs", __name__)

PAGE = 50
SAMPLES_AT_ONCE = 5000
# With `every` so many are looked at for one answer: a day comes in nine.
LOOKED_AT = 10_000
MOST_EVERY = 1000
# With more samples than that a page that follows a run asks for all of them again, reduced.
MOST_DRAWN = 8000


def _number(text: str) -> int:
    return number_in_path(text, "Run")


# ---- the list


def _page_of_runs(practice: bool) -> Sequence[RunEntry]:
    before = whole(request.args.get("before"), "before", low=1, high=LARGEST, default=LARGEST)
    limit = whole(request.args.get("limit"), "limit", low=1, high=500, default=PAGE)
    drive = _drive_asked()
    if drive:
        return bench().runs(drive=drive, before=before, limit=limit)
    return bench().runs(practice=practice, before=before, limit=limit)


def _drive_asked() -> str:
    """The drive whose history is requested: its label, code or key."""
    return plain_text(request.args.get("drive", ""), "drive", most=400)


@bp.get("/runs")
def index() -> str:
    practice = kind_asked()
    rows = _page_of_runs(practice)
    return render_template(
        "runs.html",
        runs=list_for_page(rows),
        drive=_drive_asked(),
        practice=practice,
        other=bench().newest_suite(practice=not practice) is not None,
        waiting=bench().waiting_requests(),
        queues=queues.open_now(),
        more=rows[-1].number if len(rows) == PAGE else None,
    )


@bp.get("/api/v1/runs")
def api_index() -> Response:
    """The newest runs first: `?kind=real|practice&before=N&limit=N`, or those of one drive:
    `?drive=LABEL`, or its code or key."""
    rows = _page_of_runs(kind_asked())
    return reply({"schema": "benchstick/runs/2", "runs": list_for_api(rows)})


# ---- one run


@bp.get("/runs/<number>")
def run(number: str) -> str:
    run, results = document_and_results(_number(number))
    result = run["result"] or run.get("partial_result") or {}
    # While it runs the timeline is drawn second by second, and no other chart.
    chart_data = {} if run["state"] == "running" else result
    samples = bench().samples_count(run["number"])
    steps = latencies.of_steps(run)
    grid_rows = grid(run, results)
    return render_template(
        "run.html",
        run=run,
        title=suite_title(run["suite"]),
        live=bench().live(run["number"]) if run["state"] == "running" else None,
        bar=steps_bar(run),
        queue=queues.of_run(run["number"]),
        verdicts=verdicts.of_run(run["number"]),
        timed=[at for at, step in enumerate(run["plan"]["steps"]) if step.get("timed")],
        grid=grid_rows,
        passes=passes_of(grid_rows),
        sets=result.get("sets") or [],
        headline=result.get("headline") or [],
        tables=[formatting.table(item) for item in result.get("tables") or ()],
        atto=vendor_grids.atto(result),
        asssd=vendor_grids.asssd(result),
        scores=vendor_grids.scores(result),
        charts=list(charts.list_charts(chart_data)),
        shared=charts.shared(chart_data),
        latencies=steps,
        percentiles=latencies.columns(steps),
        histograms=latencies.HISTOGRAMS,
        rests=list(conditions.rows(run)),
        untrusted=[item for item in run["results"] if item["state"] != "valid"],
        results=results_shown(run["results"]),
        commands=commands_of(run),
        others=bench().others_of_suite(
            run["suite"], practice=run["practice"], leave_out=[run["number"]]
        ),
        passes_begun=passes(run),
        has_samples=bool(samples),
        has_session=bool(samples) and _has_session(run),
        every=min(every_of(samples), MOST_EVERY),
        parts=POINTS,
        most_drawn=MOST_DRAWN,
    )


def _has_session(run: Mapping[str, Any]) -> bool:
    """Whether there is a speed to draw: a drive that erases itself is neither read nor written."""
    timed = timed_steps(run["plan"])
    return any(step["step_index"] in timed for step in run["steps"]) or bench().has_traffic(
        run["number"]
    )


@bp.get("/api/v1/runs/<number>")
def api_run(number: str) -> Response:
    """The run, with the verdicts that use it and the queue that it is part of, as on its page."""
    run = document(_number(number))
    return reply(
        {
            **run,
            "verdicts": verdicts.of_run(run["number"]),
            "queue": queues.state_of_run(run["number"]),
        }
    )


@bp.get("/api/v1/runs/<number>/samples")
def api_samples(number: str) -> Response:
    """Samples with n > `after`, and how far the run is. `next` is the cursor for the next call;
    `more`: there are more already. With `every` of every so many samples only those with the
    minimum and maximum of a counter. `steps` of the query: those from that index on."""
    run_number = _number(number)
    run_state(run_number)
    after = whole(request.args.get("after"), "after", low=-1, high=LARGEST, default=-1)
    every = whole(request.args.get("every"), "every", low=1, high=MOST_EVERY, default=1)
    first = whole(request.args.get("steps"), "steps", low=0, high=LARGEST, default=0)
    most = SAMPLES_AT_ONCE if every == 1 else LOOKED_AT
    document = bench().samples(run_number, after=after, every=every, most=most, first_step=first)
    if document is None:
        raise no_run(run_number)
    return reply(document)


# ---- cancel


def _cancel(number: int) -> int:
    state = run_state(number)
    if state != "running":
        message = f"Run {number} is not running: it is {formatting.word(state)}."
        raise WebError(409, "not_running", message)
    return bench().add_request("cancel", {"run": number})


@bp.post("/runs/<number>/cancel")
def cancel(number: str) -> BaseResponse:
    run_number = _number(number)
    _cancel(run_number)
    return redirect(url_for("runs.run", number=run_number, cancelling=1), 303)


@bp.post("/api/v1/runs/<number>/cancel")
def api_cancel(number: str) -> Response:
    """Ask the agent to cancel the run; the body is empty or `{}`."""
    no_body()
    request_id = _cancel(_number(number))
    return reply_request(request_id, url_for("start.api_request", number=str(request_id)))


# ---- exports


@bp.get("/runs/<number>/export")
@bp.get("/api/v1/runs/<number>/export", endpoint="api_export")
def export(number: str) -> Response:
    """The run as one file: `?format=json` with its samples, `csv` its results, `samples` the
    per-second record as CSV, `certificate` and `certificate-text` the certificate of an erase."""
    run_number = _number(number)
    run_state(run_number)
    form = request.args.get("format", "json")
    name = f"benchstick-run-{run_number}"
    if form == "json":
        samples = bench().all_samples(run_number)
        run_verdicts = verdicts.of_run(run_number)
        response = reply({**document(run_number), "samples": samples, "verdicts": run_verdicts})
        name += ".json"
    elif form == "csv":
        response = Response(results_csv(run_number), content_type="text/csv; charset=utf-8")
        name += "-results.csv"
    elif form == "samples":
        text = bench().samples_csv(run_number)
        response = Response(text, content_type="text/csv; charset=utf-8")
        name += "-samples.csv"
    elif form == "certificate":
        response = reply(certificate(document(run_number)))
        name += "-certificate.json"
    elif form == "certificate-text":
        text = certificate(document(run_number))["text"]
        response = Response(text, content_type="text/plain; charset=utf-8")
        name += "-certificate.txt"
    else:
        raise BadInput("format: expected json, csv, samples, certificate or certificate-text",
                       field="format")  # fmt: skip
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


# ---- what a step left


def _folder(number: int, index: int) -> Path:
    """The folder of one step's artifacts. WebError 404 when there is none."""
    relative = bench().step_folder(number, index)
    if relative is None:
        raise not_found(f"Run {number}, step {index}: it left nothing (yet).")
    return page_state().home / relative


@bp.get("/api/v1/runs/<number>/steps/<index>")
def api_step(number: str, index: str) -> Response:
    """What one step left: its files with their sizes."""
    run_number = _number(number)
    run_state(run_number)
    folder = _folder(run_number, number_in_path(index, "Step"))
    return reply(
        {
            "schema": "benchstick/step/2",
            "run": run_number,
            "step_index": int(index),
            "files": artifacts(folder),
        }
    )


@bp.get("/runs/<number>/steps/<index>/<name>")
@bp.get("/api/v1/runs/<number>/steps/<index>/<name>", endpoint="api_artifact")
def artifact(number: str, index: str, name: str) -> Response:
    """One file that a step left, as it is."""
    run_number = _number(number)
    run_state(run_number)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise not_found("There is no such file.")
    file = open_file(_folder(run_number, number_in_path(index, "Step")) / name)
    kind = "application/json" if name.endswith(".json") else "text/plain"
    response = send_file(file, mimetype=kind, etag=False, conditional=False)
    response.content_length = os.fstat(file.fileno()).st_size
    return response
