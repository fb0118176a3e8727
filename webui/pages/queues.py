"""Queues: several suites for one drive. Started here, run by the agent.

The page only asks: the agent checks every run again before the first one starts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput, BenchError
from benchstick.plan.request import RunRequest
from benchstick.plan.states import EntryState
from benchstick.reports.formatting import word
from benchstick.suites import registry
from webui.context import bench, find_drive, visitor
from webui.errors import WebError, not_found
from webui.forms.inputs import no_body, number_in_path, plain_text, whole
from webui.forms.run_requests import (
    ask_agent,
    check_codes,
    check_possible,
    drafts_in,
    needs_unlock,
    plans_of,
    queue_from_json,
    queue_request,
)
from webui.responses import reply, reply_request
from webui.view.new_run import start_form, unlock_page
from webui.view.queues import OPEN_STATES, build_view, document, find_queue

bp = Blueprint("queues", __name__)


# ---- the API


@bp.get("/api/v1/queues")
def api_index() -> Response:
    """The newest queues first: `?limit=N`."""
    limit = whole(request.args.get("limit"), "limit", low=1, high=100, default=20)
    documents = [document(number) for number in bench().newest_queues(limit)]
    return reply({"schema": "benchstick/queues/2", "queues": documents})


@bp.post("/api/v1/queues")
def api_start() -> Response:
    """Ask the agent to run several suites; answers 202 with the queue to look at."""
    run_requests = queue_from_json()
    number = _ask(run_requests, find_drive(run_requests[0].drive))
    return reply_request(number, url_for("queues.api_queue", number=str(number)))


def _ask(run_requests: list[RunRequest], drive: dict[str, Any]) -> int:
    """Ask the agent for a queue; its number. BadInput, Refused, WebError."""
    check_possible(run_requests[0], drive)
    check_codes(run_requests[0], drive, plans_of(run_requests, drive), "this queue")
    return ask_agent(queue_request(run_requests, drive))


@bp.get("/api/v1/queues/<number>")
def api_queue(number: str) -> Response:
    return reply(document(number_in_path(number, "Queue")))


@bp.post("/api/v1/queues/<number>/cancel")
def api_cancel(number: str) -> Response:
    """Ask the agent to cancel the queue: its run is cancelled, waiting runs are not started."""
    no_body()
    request_id = _cancel(number_in_path(number, "Queue"))
    return reply_request(request_id, url_for("start.api_request", number=str(request_id)))


@bp.post("/api/v1/queues/<number>/entries/<position>/remove")
def api_remove(number: str, position: str) -> Response:
    """Ask the agent to remove a waiting run from the queue."""
    no_body()
    request_id = _remove(number_in_path(number, "Queue"), number_in_path(position, "Position"))
    return reply_request(request_id, url_for("start.api_request", number=str(request_id)))


def _cancel(number: int) -> int:
    state = find_queue(number)["state"]
    if state not in OPEN_STATES:
        message = f"Queue {number} has ended: it is {word(state)}."
        raise WebError(409, "not_open", message)
    return bench().add_request("cancel", {"queue": number})


def _remove(number: int, position: int) -> int:
    queue = find_queue(number)
    if position >= len(queue["entries"]):
        raise not_found(f"Queue {number} has no position {position}.")
    state = queue["entries"][position]["state"]
    if state != EntryState.WAITING:
        message = f"Queue {number}: run {position + 1} does not wait, it is {word(state)}."
        raise WebError(409, "not_waiting", message)
    return bench().add_request("cancel", {"queue": number, "position": position})


# ---- the pages


@bp.post("/queues")
def start() -> BaseResponse:
    """Take the queue that the form has put together: ask for the unlocking, or start."""
    drive = find_drive(plain_text(request.form.get("drive", ""), "drive"))
    drafts = drafts_in(request.form, drive["code"])
    if not drafts:
        raise BadInput("q: the queue is empty; add a suite first", field="q")
    first_request = drafts[0]
    try:
        check_possible(first_request, drive)
        plans = plans_of(drafts, drive)
        # The first confirmation is complete before the second one is requested.
        check_codes(replace(first_request, unlock=drive["code"]), drive, plans, "this queue")
        if needs_unlock(drive) and first_request.unlock != drive["code"]:
            return unlock_page(first_request, drive, plans, drafts)
        number = _ask(drafts, drive)
    except BenchError as error:
        last = drafts[-1]
        suite = registry.find(last.suite)
        return start_form(last, drive, suite, drafts, error, of_queue=True)
    return redirect(url_for("queues.page", number=number), 303)


@bp.get("/queues/<number>")
def page(number: str) -> str:
    """What runs and what waits."""
    return render_template(
        "queue.html",
        queue=build_view(number_in_path(number, "Queue")),
        has_change_request=bool(request.args.get("asked")),
        may_write=visitor().is_known,
    )


@bp.post("/queues/<number>/cancel")
def cancel(number: str) -> BaseResponse:
    queue_number = number_in_path(number, "Queue")
    _cancel(queue_number)
    return redirect(url_for("queues.page", number=queue_number, asked=1), 303)


@bp.post("/queues/<number>/entries/<position>/remove")
def remove(number: str, position: str) -> BaseResponse:
    queue_number = number_in_path(number, "Queue")
    _remove(queue_number, number_in_path(position, "Position"))
    return redirect(url_for("queues.page", number=queue_number, asked=1), 303)
