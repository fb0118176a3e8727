"""Runs: the list, the live run, the result, its exports and what each step left."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sqlite3
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, send_file, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.analysis.run_timeline import passes, timed_steps
from benchstick.analysis.series import POINTS, every_of
from benchstick.drives import bottlenecks
from benchstick.errors import BadInput
from benchstick.plan.figure import Figure
from benchstick.plan.steps import Plan, plan_from_json
from benchstick.store import (
    agent_requests,
    comparisons,
    imported_runs,
    known_drives,
    live_progress,
    run_queries,
    run_reader,
)
from benchstick.store import export as store_export
from benchstick.suites import cdm, registry
from benchstick.suites.erase_certificate import certificate
from benchstick.suites.interface import Result
from webui import charts, latencies, present, queues, resting, verdicts, windows
from webui.api import reply, reply_request
from webui.bench import find_run, reader, the_bench, writer
from webui.errors import WebError, not_found
from webui.inputs import LARGEST, no_body, number_in_path, plain_text, whole

bp = Blueprint("runs", __name__)

PAGE = 50
SAMPLES_AT_ONCE = 5000
# With `every` so many are looked at for one answer: a day comes in nine.
LOOKED_AT = 10_000
MOST_EVERY = 1000
# With more samples than that a page that follows a run asks for all of them again, reduced.
MOST_DRAWN = 8000
# Limits of a run's page: a day of rounds has ten thousand results and more than a thousand steps.
# The page shows the results over all passes and so many others, and the first and last steps.
FIGURES = 1000
FIRST_STEPS, LAST_STEPS = 20, 100
# Columns of the table of every pass: the suite takes no more than 9.
PASSES = 20


def _number(text: str) -> int:
    return number_in_path(text, "Run")


# ---- the list


def kind_asked() -> bool:
    """Whether practice runs are requested: they are never mixed with real ones."""
    text = request.args.get("kind")
    if text in (None, "", "real", "practice"):
        return text == "practice"
    raise BadInput("kind: expected real or practice", field="kind")


def _page_of_runs(practice: bool) -> list[Any]:
    before = whole(request.args.get("before"), "before", low=1, high=LARGEST, default=LARGEST)
    limit = whole(request.args.get("limit"), "limit", low=1, high=500, default=PAGE)
    drive = _drive_asked()
    if drive:
        keys = run_queries.keys_of(reader(), drive)
        return run_queries.runs_before(reader(), drive_keys=keys, before=before, limit=limit)
    return run_queries.runs_before(reader(), practice=practice, before=before, limit=limit)


def _drive_asked() -> str:
    """The drive whose history is requested: its label, code or key."""
    return plain_text(request.args.get("drive", ""), "drive", most=400)


@bp.get("/runs")
def index() -> str:
    practice = kind_asked()
    rows = _page_of_runs(practice)
    other = run_queries.runs_before(reader(), practice=not practice, limit=1)
    return render_template(
        "runs.html",
        runs=list_for_page(rows),
        drive=_drive_asked(),
        practice=practice,
        other=bool(other),
        waiting=run_queries.waiting_requests(reader()),
        queues=queues.open_now(),
        more=rows[-1]["number"] if len(rows) == PAGE else None,
    )


@bp.get("/api/v1/runs")
def api_index() -> Response:
    """The newest runs first: `?kind=real|practice&before=N&limit=N`, or those of one drive:
    `?drive=LABEL`, or its code or key."""
    rows = _page_of_runs(kind_asked())
    return reply({"schema": "benchstick/runs/1", "runs": list_for_api(rows)})


def list_for_page(rows: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    """Rows of `pages.runs_before` as a page lists them."""
    from_others = imported_runs.imported(reader(), [row["number"] for row in rows])
    labels = known_drives.labels(reader())
    return [
        {
            "row": row,
            "label": labels.get(row["drive_key"]),
            "imported": row["number"] in from_others,
            "state": run_reader.shown_state(reader(), row),
            "headline": list(run_queries.headline(row))[:2],
            "title": suite_title(row["suite"]),
        }
        for row in rows
    ]


def list_for_api(rows: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    """The same rows as the API lists them."""
    from_others = imported_runs.imported(reader(), [row["number"] for row in rows])
    labels = known_drives.labels(reader())
    return [
        {
            **{key: row[key] for key in ("number", "uuid", "suite", "exit_code", "why",
                                         "created_utc", "ended_utc", "seconds")},
            "practice": bool(row["practice"]),
            "imported": row["number"] in from_others,
            "drive": {"code": row["drive_code"], "model": row["drive_model"],
                      "key": row["drive_key"], "label": labels.get(row["drive_key"])},
            "state": run_reader.shown_state(reader(), row),
            "headline": list(run_queries.headline(row)),
        }
        for row in rows
    ]  # fmt: skip


def suite_title(name: str) -> str:
    """The title of a suite; the name of one that this bench does not know."""
    suite = registry.all_suites().get(name)
    return suite.title if suite is not None else name


# ---- one run


def document(number: int) -> dict[str, Any]:
    """The `benchstick/run/2` document with the state as it is shown, and the result so far."""
    return _document_and_results(number)[0]


def _document_and_results(number: int) -> tuple[dict[str, Any], list[Figure]]:
    """The run's document, and its results, of an unfinished run with those over all passes so
    far."""
    row = find_run(number)
    run = run_reader.run_json(reader(), number)
    figures = run_reader.figures_of(reader(), number)
    result = so_far(run, figures)
    run["state"] = run_reader.shown_state(reader(), row)
    run["so_far"] = None if result is None else result.document
    bottlenecks.put_into(run["drive"])
    return run, figures if result is None else [*figures, *result.figures]


def so_far(run: Mapping[str, Any], figures: Sequence[Figure]) -> Result | None:
    """The suite's result from the finished steps of a run that has no result yet: it is running, or
    its process died. None where nothing was measured yet."""
    measured = [figure for figure in figures if figure.pass_no is not None]
    suite = registry.all_suites().get(run["suite"])
    if run["result"] is not None or run["imported"] or suite is None or not measured:
        return None
    plan = _plan(run)
    return None if plan is None else suite.result(plan, measured, run["drive"])


def _plan(run: Mapping[str, Any]) -> Plan | None:
    """None when it is of another version of the bench: the table of results shows those."""
    try:
        return plan_from_json(run["plan"])
    except (BadInput, KeyError, TypeError, ValueError):
        return None


def grid(run: Mapping[str, Any], figures: Sequence[Figure]) -> list[cdm.GridRow]:
    """The grid of a CrystalDiskMark-style run; empty of any other run."""
    plan = _plan(run) if run["suite"] == cdm.Cdm.name else None
    return [] if plan is None else [row for row in cdm.grid_of(plan, figures) if row.cells]


@bp.get("/runs/<number>")
def run(number: str) -> str:
    run, figures = _document_and_results(_number(number))
    result = run["result"] or run.get("so_far") or {}
    # While it runs the timeline is drawn second by second, and no other chart.
    chart_data = {} if run["state"] == "running" else result
    samples = run_queries.samples_count(reader(), run["number"])
    steps = latencies.of_steps(run)
    grid_rows = grid(run, figures)
    return render_template(
        "run.html",
        run=run,
        title=suite_title(run["suite"]),
        live=live_progress.read(run["uuid"]) if run["state"] == "running" else None,
        bar=steps_bar(run),
        queue=queues.of_run(run["number"]),
        verdicts=verdicts.of_run(run["number"]),
        timed=[at for at, step in enumerate(run["plan"]["steps"]) if step.get("timed")],
        grid=grid_rows,
        passes=passes_of(grid_rows),
        sets=result.get("sets") or [],
        headline=result.get("headline") or [],
        tables=[present.table(item) for item in result.get("tables") or ()],
        atto=windows.atto(result),
        asssd=windows.asssd(result),
        scores=windows.scores(result),
        charts=list(charts.list_charts(chart_data)),
        shared=charts.shared(chart_data),
        latencies=steps,
        percentiles=latencies.columns(steps),
        histograms=latencies.HISTOGRAMS,
        rests=list(resting.rows(run)),
        untrusted=[figure for figure in run["figures"] if figure["state"] != "valid"],
        figures=figures_shown(run["figures"]),
        commands=commands_of(run),
        others=comparisons.others_of_suite(
            reader(), run["suite"], practice=run["practice"], leave_out=[run["number"]]
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
    return any(step["index"] in timed for step in run["steps"]) or run_queries.has_traffic(
        reader(), run["number"]
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


def passes_of(rows: Sequence[cdm.GridRow]) -> list[int]:
    """The numbers of the passes of a grid."""
    numbers = {number for row in rows for cell in row.cells.values() for number in cell.passes}
    return sorted(numbers)[:PASSES]


def steps_bar(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The plan's steps side by side in 1000 units: `x`, `width`, the look, the bytes to move."""
    planned = run["plan"].get("steps") or []
    run_steps = {step["index"]: step for step in run["steps"]}
    total = sum(max(0.0, float(step["seconds"])) for step in planned) or 1.0
    # A step of no time at all is still to be seen.
    weights = [max(float(step["seconds"]), total / 400) for step in planned]
    scale = 1000.0 / (sum(weights) or 1.0)
    bar, x = [], 0.0
    for index, (step, weight) in enumerate(zip(planned, weights, strict=True)):
        state = run_steps[index]["state"] if index in run_steps else "pending"
        width = weight * scale
        bar.append(
            {
                "index": index,
                "name": step["name"],
                "look": "" if step.get("timed") else "idle" if step["kind"] == "idle" else "aside",
                "state": "interrupted" if _was_interrupted(run, state) else state,
                "why": run_steps[index]["why"] if index in run_steps else None,
                "x": round(x, 2),
                "width": round(max(1.0, width - min(1.6, width / 4)), 2),
                "bytes": int(step["bytes_written"] or step["bytes_read"]),
            }
        )
        x += width
    return bar


def _was_interrupted(run: Mapping[str, Any], state: str) -> bool:
    return state == "running" and run["state"] != "running"


@bp.get("/api/v1/runs/<number>/samples")
def api_samples(number: str) -> Response:
    """Samples with n > `after`, and how far the run is. `next` is the cursor for the next call;
    `more`: there are more already. With `every` of every so many samples only those with the
    minimum and maximum of a counter. `steps` of the query: those from that index on."""
    row = find_run(_number(number))
    after = whole(request.args.get("after"), "after", low=-1, high=LARGEST, default=-1)
    every = whole(request.args.get("every"), "every", low=1, high=MOST_EVERY, default=1)
    first = whole(request.args.get("steps"), "steps", low=0, high=LARGEST, default=0)
    # The live record first: what leaves it in between is in the store by then.
    now = live_progress.read(row["uuid"]) if row["state"] == "running" else None
    if every == 1:
        batch = run_queries.samples_page(reader(), row["number"], after, SAMPLES_AT_ONCE)
        last = batch[-1].n if batch else after
    else:
        batch, last = run_queries.samples_reduced(reader(), row["number"], after, every, LOOKED_AT)
    samples = [sample.to_json() for sample in batch]
    more = last + 1 < run_queries.samples_count(reader(), row["number"])
    if now is not None and not more:
        samples += [item for item in _live_samples(now) if item["n"] > last]
        last = max(last, samples[-1]["n"]) if samples else last
    # The state is read last: if the run ended during this call, the page asks once more for the
    # last samples.
    steps = [
        {key: step[key] for key in ("idx", "name", "kind", "state", "why", "t_start", "t_end")}
        for step in run_queries.steps_of(reader(), row["number"], first)
    ]
    return reply(
        {
            "schema": "benchstick/samples/1",
            "run": row["number"],
            "state": run_reader.shown_state(reader(), row),
            "after": after,
            "every": every,
            "next": last,
            "more": more,
            "samples": samples,
            "live": {key: value for key, value in now.items() if key != "samples"} if now else None,
            "steps": steps,
            "temperatures": run_queries.temperatures_of(reader(), row["number"]),
            "events": run_queries.events_of(reader(), row["number"]),
        }
    )


def _live_samples(now: Mapping[str, Any]) -> list[dict[str, Any]]:
    samples = now.get("samples")
    if not isinstance(samples, list):
        return []
    good = [item for item in samples if isinstance(item, dict) and isinstance(item.get("n"), int)]
    return sorted(good, key=lambda item: int(item["n"]))


# ---- cancel


def _cancel(number: int) -> int:
    row = find_run(number)
    state = run_reader.shown_state(reader(), row)
    if state != "running":
        message = f"Run {number} is not running: it is {present.word(state)}."
        raise WebError(409, "not_running", message)
    return agent_requests.add_request(writer(), "cancel", {"run": number})


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
    find_run(run_number)
    form = request.args.get("format", "json")
    name = f"benchstick-run-{run_number}"
    if form == "json":
        samples = [sample.to_json() for sample in run_reader.samples_of(reader(), run_number)]
        run_verdicts = verdicts.of_run(run_number)
        response = reply({**document(run_number), "samples": samples, "verdicts": run_verdicts})
        name += ".json"
    elif form == "csv":
        response = Response(figures_csv(run_number), content_type="text/csv; charset=utf-8")
        name += "-figures.csv"
    elif form == "samples":
        text = store_export.samples_csv(run_reader.samples_of(reader(), run_number))
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


def figures_csv(number: int) -> str:
    """The results of a run, one a line."""
    return store_export.figures_csv(document(number), run_reader.figures_of(reader(), number))


# ---- what a step left


def _folder(row: sqlite3.Row, index: int) -> Path:
    """The folder of one step's artefacts. WebError 404 when there is none."""
    for step in run_queries.steps_of(reader(), row["number"]):
        if step["idx"] == index and step["artefacts"]:
            relative = Path(step["artefacts"])
            if relative.parts[:2] == ("runs", row["uuid"]) and ".." not in relative.parts:
                return the_bench().home / relative
    raise not_found(f"Run {row['number']}, step {index}: it left nothing (yet).")


def artefacts(folder: Path) -> list[dict[str, Any]]:
    """Name and size of the plain files in a step's folder."""
    files = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append({"name": entry.name, "bytes": entry.stat().st_size})
    return sorted(files, key=lambda item: str(item["name"]))


def _open(path: Path) -> io.BufferedReader:
    """Open a plain file for reading; a link is not followed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise not_found(f"{path.name}: there is no such file.") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise not_found(f"{path.name}: there is no such file.")
    return os.fdopen(fd, "rb")


def figures_shown(figures: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All results; of very many those over all passes, and the last `FIGURES` of the others."""
    over_all = sum(figure["pass"] is None for figure in figures)
    early = len(figures) - over_all - FIGURES
    selection = []
    for figure in figures:
        if figure["pass"] is not None:
            early -= 1
            if early >= 0:
                continue
        selection.append(figure)
    return selection


def _steps_shown(steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """All steps that were started; of very many the first and the last that left files."""
    if len(steps) <= FIRST_STEPS + LAST_STEPS:
        return steps
    file_steps = [step for step in steps if step["artefacts"]]
    return [*file_steps[:FIRST_STEPS], *file_steps[FIRST_STEPS:][-LAST_STEPS:]]


def commands_of(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The exact commands and the files of the steps that a page shows."""
    commands = []
    for step in _steps_shown(run["steps"]):
        text, files = "", []
        relative = step["artefacts"]
        if relative and Path(relative).parts[:2] == ("runs", run["uuid"]):
            folder = the_bench().home / relative
            files = artefacts(folder)
            with contextlib.suppress(WebError), _open(folder / "command") as file:
                text = file.read(16384).decode("utf-8", "replace").strip()
        commands.append({"step": step, "command": text, "files": files})
    return commands


@bp.get("/api/v1/runs/<number>/steps/<index>")
def api_step(number: str, index: str) -> Response:
    """What one step left: its files with their sizes."""
    row = find_run(_number(number))
    folder = _folder(row, number_in_path(index, "Step"))
    return reply(
        {
            "schema": "benchstick/step/1",
            "run": row["number"],
            "step": int(index),
            "files": artefacts(folder),
        }
    )


@bp.get("/runs/<number>/steps/<index>/<name>")
@bp.get("/api/v1/runs/<number>/steps/<index>/<name>", endpoint="api_artefact")
def artefact(number: str, index: str, name: str) -> Response:
    """One file that a step left, as it is."""
    row = find_run(_number(number))
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise not_found("There is no such file.")
    file = _open(_folder(row, number_in_path(index, "Step")) / name)
    kind = "application/json" if name.endswith(".json") else "text/plain"
    response = send_file(file, mimetype=kind, etag=False, conditional=False)
    response.content_length = os.fstat(file.fileno()).st_size
    return response
