"""The form that starts a run, its estimate, and the page that asks for the unlocking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from flask import Response, render_template, url_for

from benchstick.errors import BadInput, BenchError
from benchstick.plan import run_queue
from benchstick.plan.request import OWN, RunRequest
from benchstick.plan.run_queue import Cost
from benchstick.plan.steps import FILESYSTEMS, Plan
from benchstick.reports import formatting
from benchstick.suites import presets, registry
from benchstick.suites.interface import Suite
from webui.context import visitor
from webui.errors import status_of
from webui.forms.run_requests import (
    NOT_IN_THE_PAGE,
    cost_of,
    draft,
    needs_unlock,
    plan_of,
    plans_of,
    preset_request,
    request_text,
    same_run,
    scaled,
    shown_default,
)
from webui.view import sharing


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
        suites=[(each, *_own_cost(each, drive)) for each in registry.all_suites().values()],
        params=[
            (param, shown_default(param))
            for param in suite.params
            if param.name not in NOT_IN_THE_PAGE
        ],
        filesystems=FILESYSTEMS,
        plan=plan,
        is_locked=plan is not None and needs_unlock(drive),
        problem=problem if not of_queue else None,
        presets=list(_presets(run_request, drive)),
        drafts=[draft(item) for item in drafts],
        queue=_shown_queue(drafts, drive, problem if of_queue else None),
        may_write=visitor().is_known,
        is_practice_drive=formatting.is_practice(drive),
        json_url=_json_url(run_request, drive, drafts),
        link_note=sharing.describe_link(drive),
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
        preset_values = preset_request(preset, run_request.suite, drive)
        cost = cost_of(preset_values, drive)
        yield {
            "preset": preset,
            "query": dict(parse_qsl(draft(preset_values))),
            "cost": None if isinstance(cost, str) else cost,
            "reason": cost if isinstance(cost, str) else None,
            "is_selected": same_run(run_request, preset_values, drive),
            # Not part of the preset: full file sets do not fit on every drive.
            "scale": f"{preset_values.scale:g}" if preset_values.scale != preset.scale else None,
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
                "others": [draft(item) for item in (*drafts[:index], *drafts[index + 1 :])],
            }
            for index, run_request in enumerate(drafts)
        ],
        "total": total,
        "erase": drafts[0].erase,
        "problem": problem,
    }


def _json_url(
    run_request: RunRequest, drive: Mapping[str, Any], drafts: Sequence[RunRequest]
) -> str:
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
