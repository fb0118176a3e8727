"""The API's own pages: its index and the bench's state; and how a document is sent."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, current_app

from benchstick import __doc__ as _about
from benchstick.appliance import state
from webui.context import bench, page_state, visitor
from webui.errors import not_found
from webui.responses import reply

bp = Blueprint("api", __name__)


def status() -> dict[str, Any]:
    """What the head of every page shows: the bench, its running runs, how to sign in."""
    current = bench().status()
    return {
        "schema": "benchstick/status/1",
        "bench": current.bench,
        "running": current.running,
        "scanned_utc": current.scanned_utc,
        "agent": current.agent,
        "pin": page_state().pin is not None,
        "signed_in": visitor().is_known,
        "notices": state.notices(),
    }


@bp.get("/api/v1/")
def api_index() -> Response:
    """Every address of the API with its methods."""
    rules = [
        {"path": rule.rule, "methods": sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})}
        for rule in current_app.url_map.iter_rules()
        if rule.rule.startswith("/api/")
    ]
    rules.sort(key=lambda item: str(item["path"]))
    return reply(
        {
            "schema": "benchstick/api/1",
            "about": _about,
            "openapi": "/openapi.json",
            "paths": rules,
        }
    )


@bp.get("/api/v1/appliance")
def api_appliance() -> Response:
    """What the booted stick reports: itself, an error in its settings, whether results last."""
    appliance = state.read()
    if appliance is None:
        raise not_found("This bench is not a booted stick.")
    return reply(appliance)


@bp.get("/api/v1/status")
def api_status() -> Response:
    return reply(status())
