"""Starting a run: the estimate, the code typed to erase, the second confirmation to unlock.

The page only asks. The agent checks everything again before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput, BenchError
from benchstick.plan import run_queue
from benchstick.plan.request import OWN, RunRequest
from benchstick.plan.run_queue import Cost
from benchstick.plan.steps import FILESYSTEMS, Plan
from benchstick.store import run_queries
from benchstick.suites import presets, registry
from benchstick.suites.interface import Suite
from webui import present, sharing
from webui.api import reply, reply_request
from webui.bench import drive_scans, find_drive, reader, visitor
from webui.errors import not_found, status_of
from webui.inputs import number_in_path, plain_text
from webui.run_requests import (
    NOT_IN_THE_PAGE,
    ask_agent,
    check_codes,
    check_possible,
    cost_of,
    draft,
    drafts_in,
    needs_unlock,
    plan_of,
    plans_of,
    preset_request,
    request_from_form,
    request_from_json,
    request_text,
    same_run,
    scaled,
    shown_default,
)

bp = Blueprint("start", __name__)


def preview(
    run_request: RunRequest, drive: Mapping[str, Any], plan: Plan, drafts: Sequence[RunRequest] = ()
) -> dict[str, Any]:
    """The cost of a run before it starts, and of the queue that is put together."""
    return {
        "schema": "benchstick/start/2",
        "drive": drive["code"],
        "drive_key": drive["identity"]["drive_key"],
        "diskseq": drive.get("diskseq"),
        "medium": drive.get("medium"),
        "guard": drive["guard"],
        "suite": run_request.suite,
        "needs": {"erase": plan.destroys, "unlock": needs_unlock(drive)},
        "plan": plan.to_json(),
        "queue": queue_preview(drafts, drive) if drafts else None,
        "shared": sharing.describe_link(drive),
    }


def queue_preview(drafts: Sequence[RunRequest], drive: Mapping[str, Any]) -> dict[str, Any]:
    """The runs of a queue, each with its cost, and the whole. BadInput."""
    plans = plans_of(drafts, drive)
    return {
        "runs": [
            {
                **{name: run_request.to_json(drive)[name] for name in OWN},
                "cost": run_queue.cost([plan]).to_json(),
            }
            for run_request, plan in zip(drafts, plans, strict=True)
        ],
        "total": run_queue.cost(plans).to_json(),
    }


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
    scanned, drives, _shared = drive_scans()
    return render_template(
        "choose_drive.html", scanned=scanned, drives=drives, twin=url_for("drives.api_index")
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


def start_form(
    run_request: RunRequest,
    drive: Mapping[str, Any],
    suite: Suite,
    drafts: Sequence[RunRequest] = (),
    problem: BenchError | None = None,
    *,
    of_queue: bool = False,
) -> Response:
    """The form with what was typed, its cost, and what was wrong with it or, `of_queue`, with the
    queue."""
    plan = None
    try:
        plan = plan_of(run_request, drive)
    except BadInput as error:
        problem = problem or error
    page = render_template(
        "new_run.html",
        run_request=run_request,
        drive=drive,
        suite=suite,
        suites=[(one, *_own_cost(one, drive)) for one in registry.all_suites().values()],
        params=[
            (param, shown_default(param))
            for param in suite.params
            if param.name not in NOT_IN_THE_PAGE
        ],
        filesystems=FILESYSTEMS,
        plan=plan,
        locked=plan is not None and needs_unlock(drive),
        problem=problem if not of_queue else None,
        presets=list(_presets(run_request, drive)),
        drafts=[draft(item) for item in drafts],
        queue=_shown_queue(drafts, drive, problem if of_queue else None),
        may_write=visitor().is_known,
        practice=present.is_practice(drive),
        twin=_twin(run_request, drive, drafts),
        shared=sharing.describe_link(drive),
    )
    status = 200 if problem is None else status_of(problem)
    return Response(page, status, content_type="text/html; charset=utf-8")


def _own_cost(suite: Suite, drive: Mapping[str, Any]) -> tuple[Cost | None, str]:
    """The cost of a suite as its card starts it, or why it is not available on this drive."""
    cost = cost_of(scaled(RunRequest(drive=drive["code"], suite=suite.name), drive), drive)
    return (None, cost) if isinstance(cost, str) else (cost, "")


def _presets(run_request: RunRequest, drive: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The presets of the suite with their cost, or why they are not available on this drive."""
    for preset in presets.of_suite(run_request.suite):
        filled = preset_request(preset, run_request.suite, drive)
        cost = cost_of(filled, drive)
        yield {
            "preset": preset,
            "query": dict(parse_qsl(draft(filled))),
            "cost": None if isinstance(cost, str) else cost,
            "reason": cost if isinstance(cost, str) else None,
            "chosen": same_run(run_request, filled, drive),
            # Not part of the preset: full file sets do not fit on every drive.
            "scale": f"{filled.scale:g}" if filled.scale != preset.scale else None,
        }


def _shown_queue(
    drafts: Sequence[RunRequest], drive: Mapping[str, Any], problem: BenchError | None
) -> dict[str, Any] | None:
    """What the form shows of the queue that is put together; None where there is none."""
    if not drafts:
        return None
    total = None
    try:
        total = run_queue.cost(plans_of(drafts, drive))
    except BadInput as error:
        problem = problem or error
    return {
        "runs": [
            {
                "title": registry.find(run_request.suite).title,
                "text": request_text(run_request, drive),
                "cost": None if isinstance(cost := cost_of(run_request, drive), str) else cost,
                "others": [draft(item) for item in (*drafts[:at], *drafts[at + 1 :])],
            }
            for at, run_request in enumerate(drafts)
        ],
        "total": total,
        "erase": drafts[0].erase,
        "problem": problem,
    }


def _twin(run_request: RunRequest, drive: Mapping[str, Any], drafts: Sequence[RunRequest]) -> str:
    """The address of the form's estimate as JSON."""
    query: dict[str, Any] = {"drive": drive["code"], "suite": run_request.suite}
    query |= {name: getattr(run_request, name) for name in ("target", "fs", "scale")}
    query |= {f"p.{name}": value for name, value in run_request.params.items()}
    return url_for("start.api_new", **query, q=[draft(item) for item in drafts])


def unlock_page(
    run_request: RunRequest,
    drive: Mapping[str, Any],
    plans: Sequence[Plan],
    drafts: Sequence[RunRequest] = (),
) -> Response:
    """The second confirmation: the code again, on its own page. With `drafts` for their queue."""
    problem = None
    if run_request.unlock:
        problem = f"{run_request.unlock!r} is not this drive's code."
    page = render_template(
        "unlock.html",
        run_request=run_request,
        drive=drive,
        titles=[registry.find(plan.suite).title for plan in plans],
        cost=run_queue.cost(plans),
        drafts=[draft(item) for item in drafts],
        problem=problem,
    )
    status = 403 if problem else 200
    return Response(page, status, content_type="text/html; charset=utf-8")


def _find_request(text: str) -> dict[str, Any]:
    record = run_queries.request_json(reader(), number_in_path(text, "Request"))
    if record is None:
        raise not_found(f"Request {text[:20]}: there is no such request.")
    return record


@bp.get("/requests/<number>")
def request_page(number: str) -> BaseResponse:
    """Waits for the agent's answer; redirects to the run once there is one."""
    record = _find_request(number)
    if record["run"] is not None and record["state"] != "refused":
        return redirect(url_for("runs.run", number=record["run"]), 303)
    if record["kind"] == "clock" and record["state"] == "done":
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
    page = render_template("request.html", asked=record, back=back)
    return Response(page, content_type="text/html; charset=utf-8")
