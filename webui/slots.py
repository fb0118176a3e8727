"""The bench's slots in the page: what becomes of the drive in each, and how to stop or repeat it.

Starting a test is the agent's alone; the page asks it to stop one or to count down anew.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.plan.errors import BadInput
from benchstick.store import pages, records, slots
from benchstick.store.slots import COUNTDOWN, DONE, STOPPED, TESTING, Slot
from webui.api import asked
from webui.bench import reader, the_bench, writer
from webui.errors import WebError, not_found
from webui.inputs import json_body
from webui.words import _

bp = Blueprint("slots", __name__)

STOP, AGAIN = "stop", "again"
WISHES = (STOP, AGAIN)
# Of a slot that nobody looks at.
UNKNOWN = "unknown"
_CAN = {COUNTDOWN: STOP, TESTING: STOP, STOPPED: AGAIN, DONE: AGAIN}
_LOOK = {"pass": "ok", "fail": "bad", "inconclusive": "warn", COUNTDOWN: "run", TESTING: "run"}


def listed() -> list[dict[str, Any]]:
    """The slots in the order of the settings, as the agent keeps them, then the tests beside them;
    each with the seconds that are left of its countdown, the run that is on, and what it can be
    asked for now (`can`)."""
    db = reader()
    there = pages.agent_runs()
    found = slots.listed(db)
    if not found:
        names = the_bench().settings.bench_ports
        found = [{**asdict(Slot(name=name)), "utc": None} for name in names]
    labels = records.labels(db)
    on = {row["drive_key"]: int(row["number"]) for row in pages.running(db)}
    now = time.time()
    for slot in found:
        if not there and slot["state"] != DONE:
            slot["state"] = UNKNOWN
        counting, testing = slot["state"] == COUNTDOWN, slot["state"] == TESTING
        # By the bench's clock: that of the visitor's computer may be another.
        slot["left"] = max(0, round(slot["until"] - now)) if counting else None
        slot["run"] = on.get(slot["drive_key"]) if testing else None
        slot["label"] = labels.get(slot["drive_key"])
        slot["can"] = _can(slot) if there else None
    return found


def _can(slot: dict[str, Any]) -> str | None:
    """What the slot may be asked for now. Nothing is repeated where nothing starts by itself: where
    no recipe does, and beside the slots, where a test has a place of its own."""
    settings, found = the_bench().settings, _CAN.get(slot["state"])
    starts = bool(settings.autostart) and slot["name"] in settings.bench_ports
    return found if found == STOP or starts else None


@bp.app_template_global("slot_look")
def look(slot: dict[str, Any]) -> str:
    """The look of a slot's card: the colour only repeats its word."""
    return _LOOK.get(slot["word"] if slot["state"] == DONE else slot["state"], "plain")


def _ask(name: str, wanted: object) -> int:
    """Ask the agent for it; the request's number. WebError 404 and 409, BadInput."""
    slot = next((item for item in listed() if item["name"] == name), None)
    if slot is None:
        raise not_found(_("Slot %(name)s: the bench has no such slot.", name=name[:60]))
    if wanted not in WISHES:
        raise BadInput(f"do: one of {', '.join(WISHES)} is wanted", field="do")
    if not pages.agent_runs():
        raise WebError(409, "no_agent", _("no agent is running, which tests: benchstick agent"))
    return records.add_request(writer(), "qa", {"slot": name, "do": wanted})


@bp.post("/desk/slots/<path:name>")
def ask(name: str) -> BaseResponse:
    _ask(name, request.form.get("do"))
    return redirect(url_for("desk.page"), 303)


@bp.post("/api/v1/desk/slots/<path:name>")
def api_ask(name: str) -> Response:
    """`{"do": "stop"}` ends its countdown or test, `again` counts down anew; answers 202 with a
    request."""
    number = _ask(name, json_body(("do",)).get("do"))
    return asked(number, url_for("start.api_request", number=str(number)))
