"""Queues as their pages show them, with their costs."""

from __future__ import annotations

from typing import Any

from flask import url_for
from werkzeug.datastructures import MultiDict

from benchstick.errors import BadInput
from benchstick.plan.request import OWN, RunRequest
from benchstick.plan.run_queue import Cost
from benchstick.plan.states import EntryState, QueueState, RunState
from benchstick.reports.formatting import drive_title, tag_of, word
from benchstick.suites import registry
from webui.context import bench, drive_scans
from webui.errors import not_found
from webui.forms.run_requests import cost_of, draft, request_from_form, request_text

# States of queues with runs still to come.
OPEN_STATES = (QueueState.WAITING, QueueState.OPEN)
# The text and the tag of each state, for the script that follows a queue.
_STATES = {state: (word(state), tag_of(state)) for state in (*QueueState, *EntryState, *RunState)}
_LEFT_OUT = (EntryState.TAKEN_OUT, EntryState.NOT_STARTED)


def document(number: int) -> dict[str, Any]:
    """The `benchstick/queue/2` document with the cost of each run. WebError 404."""
    return _with_costs(number)[0]


def find_queue(number: int) -> dict[str, Any]:
    """The document as the store has it. WebError 404."""
    queue = bench().queue(number)
    if queue is None:
        raise not_found(f"Queue {number}: there is no such queue.")
    return queue


def _with_costs(number: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The document with its costs, and the queue's drive if it is there. WebError 404."""
    queue = find_queue(number)
    drive = _drive_of(queue)
    for entry in queue["entries"]:
        run_request = _request_of(entry, queue["drive"]["code"])
        cost = (
            cost_of(run_request, drive) if run_request is not None and drive is not None else None
        )
        entry["cost"] = cost.to_json() if isinstance(cost, Cost) else None
    counted_entries = [item for item in queue["entries"] if item["state"] not in _LEFT_OUT]
    queue["total"] = _total([entry["cost"] for entry in counted_entries])
    queue["remaining"] = _estimate_rest(queue["entries"]) if queue["state"] in OPEN_STATES else None
    return queue, drive


def _estimate_rest(entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The remaining time: that of the running run, and the costs of the waiting ones."""
    seconds, is_upper_bound = 0.0, False
    for entry in entries:
        if entry["state"] == RunState.RUNNING:
            source = bench().live(entry["run"]) or {}
            rest = source.get("seconds_left")
        elif entry["state"] in (EntryState.WAITING, EntryState.STARTING):
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
        has_no_run = entry["state"] in (EntryState.NOT_STARTED, EntryState.REFUSED)
        if run_request is not None and has_no_run:
            rest.append(run_request)
        suite = registry.all_suites().get(str(entry["suite"]))
        entry["title"] = suite.title if suite is not None else entry["suite"]
        entry["text"] = request_text(run_request, drive) if suite and run_request and drive else ""
    queue["states"] = _STATES
    queue["title"] = queue["drive"]["code"]
    if drive is not None:
        queue["title"] = drive_title(drive)
    queue["open"] = queue["state"] in OPEN_STATES
    # The run of a queue that was cancelled ends a while later.
    queue["moves"] = queue["open"] or any(
        entry["state"] in (EntryState.STARTING, RunState.RUNNING) for entry in queue["entries"]
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
    number = bench().queue_of_run(run)
    return None if number is None else build_view(number)


def state_of_run(run: int) -> dict[str, Any] | None:
    """The number and state of a run's queue, without its costs; None for one started alone."""
    number = bench().queue_of_run(run)
    return None if number is None else {"number": number, "state": find_queue(number)["state"]}


def open_now() -> list[dict[str, Any]]:
    """The queues with runs still to come, oldest first."""
    return [build_view(number) for number in bench().open_queues()]
