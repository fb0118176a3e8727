"""Queues: several suites for one drive. Started here, run by the agent.

The page only asks: the agent checks every run again before the first one starts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput, BenchError
from benchstick.plan.request import OWN, RunRequest
from benchstick.plan.run_queue import Cost
from benchstick.store import agent_requests, live_progress, queues, run_reader
from benchstick.suites import registry
from webui.api import reply, reply_request
from webui.bench import drive_scans, find_drive, reader, visitor, writer
from webui.errors import WebError, not_found
from webui.inputs import no_body, number_in_path, plain_text, whole
from webui.present import drive_title, word
from webui.run_requests import (
    ask_agent,
    check_codes,
    check_possible,
    cost_of,
    draft,
    drafts_in,
    needs_unlock,
    plans_of,
    queue_from_json,
    queue_request,
    request_from_form,
    request_text,
)
from webui.start import start_form, unlock_page

bp = Blueprint("queues", __name__)

# States of queues with runs still to come.
_OPEN = ("waiting", "open")
_LEFT_OUT = ("taken_out", "not_started")


def document(number: int) -> dict[str, Any]:
    """The `benchstick/queue/2` document with the cost of each run. WebError 404."""
    return _with_costs(number)[0]


def _find_queue(number: int) -> dict[str, Any]:
    """The document as the store has it. WebError 404."""
    queue = queues.document(reader(), number)
    if queue is None:
        raise not_found(f"Queue {number}: there is no such queue.")
    return queue


def _with_costs(number: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The document with its costs, and the queue's drive if it is there. WebError 404."""
    queue = _find_queue(number)
    drive = _drive_of(queue)
    for entry in queue["entries"]:
        run_request = _request_of(entry, queue["drive"]["code"])
        cost = (
            cost_of(run_request, drive) if run_request is not None and drive is not None else None
        )
        entry["cost"] = cost.to_json() if isinstance(cost, Cost) else None
    counted = [item for item in queue["entries"] if item["state"] not in _LEFT_OUT]
    queue["total"] = _total([entry["cost"] for entry in counted])
    queue["remaining"] = _estimate_rest(queue["entries"]) if queue["state"] in _OPEN else None
    return queue, drive


def _estimate_rest(entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The remaining time: that of the running run, and the costs of the waiting ones."""
    seconds, is_upper_bound = 0.0, False
    for entry in entries:
        if entry["state"] == "running":
            row = run_reader.find_run(reader(), entry["run"])
            source = live_progress.read(row["uuid"]) or {}
            rest = source.get("seconds_left")
        elif entry["state"] in ("waiting", "starting"):
            source = entry["cost"] or {}
            rest = source.get("seconds")
        else:
            continue
        if not isinstance(rest, int | float):
            return None
        seconds += rest
        is_upper_bound = is_upper_bound or bool(source.get("is_upper_bound"))
    return {"seconds": seconds, "is_upper_bound": is_upper_bound}


def _drive_of(queue: dict[str, Any]) -> dict[str, Any] | None:
    """The queue's drive if it is there: costs are estimated from its facts."""
    for drive in drive_scans().drives:
        if drive["identity"]["drive_key"] == queue["drive"]["drive_key"]:
            return drive
    return None


def _request_of(entry: dict[str, Any], code: str) -> RunRequest | None:
    """The request of an entry, which a program other than the page may have written; None where it
    cannot be read."""
    form = [(name, entry[name]) for name in OWN if name != "params" and entry[name] is not None]
    params = entry["params"] if isinstance(entry["params"], dict) else {}
    try:
        fields = [("drive", code), *form, *((f"p.{name}", value) for name, value in params.items())]
        return request_from_form(MultiDict([(name, str(value)) for name, value in fields]))
    except BadInput:
        return None


def _total(costs: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    known_costs = [cost for cost in costs if cost is not None]
    if len(known_costs) < len(costs):
        return None
    return {
        **{name: sum(cost[name] for cost in known_costs) for name in
           ("seconds", "bytes_written", "bytes_read")},
        **{name: any(cost[name] for cost in known_costs) for name in ("destroys",
        "is_upper_bound")},
    }  # fmt: skip


def build_view(number: int) -> dict[str, Any]:
    """The document with the texts that the page adds."""
    queue, drive = _with_costs(number)
    rest = []
    for entry in queue["entries"]:
        run_request = _request_of(entry, queue["drive"]["code"])
        if run_request is not None and entry["state"] in ("not_started", "refused"):
            rest.append(run_request)
        suite = registry.all_suites().get(str(entry["suite"]))
        entry["title"] = suite.title if suite is not None else entry["suite"]
        entry["text"] = request_text(run_request, drive) if suite and run_request and drive else ""
    queue["title"] = queue["drive"]["code"]
    if drive is not None:
        queue["title"] = drive_title(drive)
    queue["open"] = queue["state"] in _OPEN
    # The run of a queue that was cancelled ends a while later.
    queue["moves"] = queue["open"] or any(
        entry["state"] in ("starting", "running") for entry in queue["entries"]
    )
    # To be put together and confirmed again.
    queue["again"] = None
    if rest and drive is not None and not queue["open"]:
        queue["again"] = url_for(
            "start.new",
            drive=queue["drive"]["code"],
            suite=rest[-1].suite,
            q=[draft(run_request) for run_request in rest],
        )
    return queue


def of_run(run: int) -> dict[str, Any] | None:
    """The queue of a run, as the run's page shows it; None for one that was started alone."""
    number = queues.of_run(reader(), run)
    return None if number is None else build_view(number)


def state_of_run(run: int) -> dict[str, Any] | None:
    """The number and state of a run's queue, without its costs; None for one started alone."""
    number = queues.of_run(reader(), run)
    return None if number is None else {"number": number, "state": _find_queue(number)["state"]}


def open_now() -> list[dict[str, Any]]:
    """The queues with runs still to come, oldest first."""
    rows = queues.open_queues(reader())
    return [build_view(row["number"]) for row in rows if queues.is_carried_out(row)]


# ---- the API


@bp.get("/api/v1/queues")
def api_index() -> Response:
    """The newest queues first: `?limit=N`."""
    limit = whole(request.args.get("limit"), "limit", low=1, high=100, default=20)
    documents = [document(number) for number in queues.newest(reader(), limit)]
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
    state = _find_queue(number)["state"]
    if state not in _OPEN:
        message = f"Queue {number} has ended: it is {word(state)}."
        raise WebError(409, "not_open", message)
    return agent_requests.add_request(writer(), "cancel", {"queue": number})


def _remove(number: int, position: int) -> int:
    queue = _find_queue(number)
    if position >= len(queue["entries"]):
        raise not_found(f"Queue {number} has no position {position}.")
    state = queue["entries"][position]["state"]
    if state != "waiting":
        message = f"Queue {number}: run {position + 1} does not wait, it is {word(state)}."
        raise WebError(409, "not_waiting", message)
    return agent_requests.add_request(writer(), "cancel", {"queue": number, "position": position})


# ---- the pages


@bp.post("/queues")
def start() -> BaseResponse:
    """Take the queue that the form has put together: ask for the unlocking, or start."""
    drive = find_drive(plain_text(request.form.get("drive", ""), "drive"))
    drafts = drafts_in(request.form, drive["code"])
    if not drafts:
        raise BadInput("q: the queue is empty; add a suite first", field="q")
    one = drafts[0]
    try:
        check_possible(one, drive)
        plans = plans_of(drafts, drive)
        # The first confirmation is complete before the second one is requested.
        check_codes(replace(one, unlock=drive["code"]), drive, plans, "this queue")
        if needs_unlock(drive) and one.unlock != drive["code"]:
            return unlock_page(one, drive, plans, drafts)
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
        asked=request.args.get("asked"),
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
