"""The page of the QA desk: slots, data scanned for the next drive, pending webhook messages.

A scan only asks the agent to save it. It confirms, starts and stops nothing.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.plan.labels import scan_text
from webui.context import bench
from webui.errors import WebError
from webui.forms.inputs import json_body, no_body
from webui.responses import reply, reply_request

bp = Blueprint("desk", __name__)


def document() -> dict[str, Any]:
    """The `benchstick/desk/2` document of this bench."""
    return bench().desk()


def _ask(body: dict[str, Any]) -> int:
    """Ask the agent for it; the request's number. 409 without an agent."""
    if not bench().agent_runs():
        raise WebError(
            409, "no_agent", "no agent is running, which would keep it: benchstick agent"
        )
    return bench().add_request("scan", body)


@bp.get("/desk")
def page() -> Response:
    html = render_template("desk.html", desk=document())
    return Response(html, content_type="text/html; charset=utf-8")


@bp.post("/desk/scans")
def scan() -> BaseResponse:
    _ask({"text": scan_text(request.form.get("text"))})
    return redirect(url_for("desk.page"), 303)


@bp.post("/desk/drop")
def drop() -> BaseResponse:
    _ask({"drop": True})
    return redirect(url_for("desk.page"), 303)


@bp.get("/api/v1/desk")
def api_page() -> Response:
    """The slots, the ticket of the next drive, the last scans, the scanner, the webhook."""
    return reply(document())


@bp.post("/api/v1/desk/scans")
def api_scan() -> Response:
    """`{"text": T}` as a scanner would have read it; answers 202 with a request."""
    number = _ask({"text": scan_text(json_body(("text",)).get("text"))})
    return reply_request(number, url_for("start.api_request", number=str(number)))


@bp.post("/api/v1/desk/drop")
def api_drop() -> Response:
    """Clear scanned data; answers 202 with a request."""
    no_body()
    number = _ask({"drop": True})
    return reply_request(number, url_for("start.api_request", number=str(number)))
