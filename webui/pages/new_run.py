"""Starting a run: the estimate, the code typed to erase, the second confirmation to unlock.

The page only asks. The agent checks everything again before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput, BenchError
from benchstick.plan.request import RunRequest
from benchstick.plan.states import RequestState
from benchstick.suites import registry
from benchstick.suites.interface import Suite
from webui.context import bench, drive_scans, find_drive
from webui.errors import not_found
from webui.forms.inputs import number_in_path, plain_text
from webui.forms.run_requests import (
    ask_agent,
    check_codes,
    check_possible,
    draft,
    drafts_in,
    needs_unlock,
    plan_of,
    plans_of,
    request_from_form,
    request_from_json,
    scaled,
)
from webui.responses import reply, reply_request
from webui.view.new_run import preview, start_form, unlock_page

bp = Blueprint("start", __name__)


# ---- the API


@bp.get("/api/v1/runs/new")
def api_new() -> Response:
    """What a run would cost: `?drive=CODE&suite=NAME[&p.NAME=...][&target=][&fs=][&scale=]`, and
    a queue: each of its runs a `q` that is a query of its own."""
    run_request = request_from_form(request.args)
    drive = find_drive(run_request.drive)
    drafts = drafts_in(request.args, drive["code"])
    return reply(preview(run_request, drive, plan_of(run_request, drive), drafts))


@bp.post("/api/v1/runs")
def api_start() -> Response:
    """Ask the agent to start a run; answers 202 with the request to look at."""
    run_request = request_from_json()
    drive = find_drive(run_request.drive)
    check_possible(run_request, drive)
    check_codes(run_request, drive, [plan_of(run_request, drive)])
    number = ask_agent(run_request.to_json(drive))
    return reply_request(number, url_for("start.api_request", number=str(number)))


@bp.get("/api/v1/requests/<number>")
def api_request(number: str) -> Response:
    return reply(_find_request(number))


# ---- the pages


@bp.get("/runs/new")
def new() -> Response:
    """The form, filled in from the query."""
    form = request.args
    problem = None
    code = plain_text(form.get("drive", ""), "drive")
    if not code:
        return Response(_choose_drive(), content_type="text/html; charset=utf-8")
    drive = find_drive(code)
    suite = _suite_of(form)
    try:
        run_request = request_from_form(MultiDict([*form.items(), ("suite", suite.name)]))
    except BadInput as error:
        run_request, problem = RunRequest(drive=code, suite=suite.name), error
    if "scale" not in form:
        run_request = scaled(run_request, drive)
    return start_form(run_request, drive, suite, drafts_in(form, drive["code"]), problem)


def _suite_of(form: Mapping[str, str]) -> Suite:
    """The suite asked for, else the first there is."""
    suites = registry.all_suites()
    name = form.get("suite") or next(iter(suites))
    return registry.find(name)


def _choose_drive() -> str:
    scan = drive_scans()
    return render_template(
        "choose_drive.html",
        scan_time=scan.utc,
        drives=scan.drives,
        json_url=url_for("drives.api_index"),
    )


@bp.post("/runs")
def start() -> BaseResponse:
    """Take the form: show the cost again, ask for the unlocking, or start."""
    drive = find_drive(plain_text(request.form.get("drive", ""), "drive"))
    suite = _suite_of(request.form)
    drafts = drafts_in(request.form, drive["code"])
    try:
        run_request = request_from_form(request.form)
    except BadInput as error:
        nothing = RunRequest(drive=drive["code"], suite=suite.name)
        return start_form(nothing, drive, suite, drafts, error)
    act = request.form.get("act")
    if act == "preview":
        return start_form(run_request, drive, suite, drafts)
    if act == "add":
        return _add(run_request, drive, suite, drafts)
    try:
        check_possible(run_request, drive)
        plan = plan_of(run_request, drive)
        # The first act is complete before the second one is asked for.
        check_codes(replace(run_request, unlock=drive["code"]), drive, [plan])
        if needs_unlock(drive) and run_request.unlock != drive["code"]:
            return unlock_page(run_request, drive, [plan])
        number = ask_agent(run_request.to_json(drive))
    except BenchError as error:
        return start_form(run_request, drive, suite, drafts, error)
    return redirect(url_for("start.request_page", number=number), 303)


def _add(
    run_request: RunRequest, drive: Mapping[str, Any], suite: Suite, drafts: Sequence[RunRequest]
) -> BaseResponse:
    """The form with one run more in its queue, which lies in the address and nowhere else."""
    try:
        plans_of([*drafts, run_request], drive)
    except BadInput as error:
        return start_form(run_request, drive, suite, drafts, error)
    draft_texts = [draft(item) for item in (*drafts, run_request)]
    return redirect(url_for("start.new", drive=drive["code"], suite=suite.name, q=draft_texts), 303)


def _find_request(text: str) -> dict[str, Any]:
    record = bench().request(number_in_path(text, "Request"))
    if record is None:
        raise not_found(f"Request {text[:20]}: there is no such request.")
    return record


@bp.get("/requests/<number>")
def request_page(number: str) -> BaseResponse:
    """Waits for the agent's answer; redirects to the run once there is one."""
    record = _find_request(number)
    if record["run"] is not None and record["state"] != RequestState.REFUSED:
        return redirect(url_for("runs.run", number=record["run"]), 303)
    if record["kind"] == "clock" and record["state"] == RequestState.COMPLETE:
        return redirect("/drives", 303)
    body = record["body"]
    if "runs" in body:
        return redirect(url_for("queues.page", number=number), 303)
    names = ("drive", "suite", "target", "fs", "scale")
    again = {name: body[name] for name in names if body.get(name)}
    again.update({f"p.{name}": text for name, text in (body.get("params") or {}).items()})
    back = url_for("start.new", **again) if "suite" in again else url_for("runs.index")
    if "recipe" in body:
        back = url_for("recipe_tests.new", drive=body["drive"], recipe=body["recipe"])
    page = render_template("request.html", agent_request=record, back=back)
    return Response(page, content_type="text/html; charset=utf-8")
