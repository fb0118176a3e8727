"""The bench's clock: shown, and set by the agent to that of the visitor's computer."""

from __future__ import annotations

import time

from flask import Blueprint, Response, redirect, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.appliance import clock
from benchstick.errors import BadInput
from webui.context import bench
from webui.errors import WebError
from webui.forms.inputs import json_body, optional_whole
from webui.responses import reply, reply_request

bp = Blueprint("clock", __name__)


def offered() -> int | None:
    """The bench's time in milliseconds for the page to compare, where it may be set at all."""
    return int(time.time() * 1000) if clock.may_be_set() else None


def _ask(value: object) -> int:
    """Ask the agent to set the clock; the request's id."""
    browser = optional_whole(value, "ms")
    if browser is None:
        raise BadInput("ms: expected the time in milliseconds", field="ms")
    body = clock.wish(browser / 1000)
    if not clock.may_be_set():
        raise WebError(409, "clock", "The clock is set by this machine's system or by NTP.")
    if not bench().agent_runs():
        raise WebError(409, "no_agent", "no agent is running, which would set it: benchstick agent")
    return bench().add_request("clock", body)


@bp.post("/clock")
def set_clock() -> BaseResponse:
    number = _ask(request.form.get("ms"))
    return redirect(url_for("start.request_page", number=number), 303)


@bp.get("/api/v1/clock")
def api_clock() -> Response:
    """The bench's time, whether NTP keeps it right, and whether it may be set from here."""
    return reply(
        {
            "schema": "benchstick/clock/1",
            "utc": bench().time_utc(),
            "kept": clock.is_kept(),
            "may_be_set": clock.may_be_set(),
        }
    )


@bp.post("/api/v1/clock")
def api_set_clock() -> Response:
    """`{"ms": N}`, Unix time in milliseconds; answers 202 with a request."""
    number = _ask(json_body(("ms",)).get("ms"))
    return reply_request(number, url_for("start.api_request", number=str(number)))
