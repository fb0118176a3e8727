"""The bench's slots in the page: the state of each drive, and how to stop or repeat its test.

Only the agent starts a test; the page asks it to stop one or to restart the countdown.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput
from benchstick.plan.states import SlotAction, SlotState, Verdict
from webui.context import bench
from webui.errors import WebError, not_found
from webui.forms.inputs import json_body
from webui.responses import reply_request

bp = Blueprint("slots", __name__)

_LOOK = {Verdict.PASS: "ok", Verdict.FAIL: "bad", Verdict.INCONCLUSIVE: "warn",
         SlotState.COUNTDOWN: "run", SlotState.TESTING: "run"}  # fmt: skip


def list_slots() -> list[dict[str, Any]]:
    """The slots of this bench, as the desk has them."""
    return bench().slots()


@bp.app_template_global("slot_look")
def look(slot: dict[str, Any]) -> str:
    """The look of a slot's card: the colour only repeats its word."""
    return _LOOK.get(
        slot["verdict"] if slot["state"] == SlotState.FINISHED else slot["state"], "plain"
    )


def _ask(name: str, action: object) -> int:
    """Ask the agent for it; the request's number. WebError 404 and 409, BadInput."""
    slot = next((item for item in list_slots() if item["name"] == name), None)
    if slot is None:
        raise not_found(f"Slot {name[:60]}: the bench has no such slot.")
    if action not in tuple(SlotAction):
        raise BadInput(f"do: expected one of {', '.join(SlotAction)}", field="do")
    if not bench().agent_runs():
        raise WebError(409, "no_agent", "no agent is running, which tests: benchstick agent")
    return bench().add_request("qa", {"slot": name, "do": action})


@bp.post("/desk/slots/<path:name>")
def ask(name: str) -> BaseResponse:
    _ask(name, request.form.get("do"))
    return redirect(url_for("desk.page"), 303)


@bp.post("/api/v1/desk/slots/<path:name>")
def api_ask(name: str) -> Response:
    """`{"do": "stop"}` ends its countdown or test, `again` restarts the countdown; answers 202
    with a request."""
    number = _ask(name, json_body(("do",)).get("do"))
    return reply_request(number, url_for("start.api_request", number=str(number)))
