"""The API's own pages: its index and the bench's state; and how a document is sent."""

from __future__ import annotations

import json
import math
from typing import Any

from flask import Blueprint, Response, current_app

from benchstick import __doc__ as _about
from benchstick.appliance import state
from benchstick.store import known_drives, run_queries
from webui.bench import reader, the_bench, visitor
from webui.errors import not_found

bp = Blueprint("api", __name__)


def reply(document: Any, status: int = 200) -> Response:
    """A JSON answer. NaN and infinities become null."""
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(document), ensure_ascii=False, allow_nan=False)
    return Response(text + "\n", status, content_type="application/json")


def reply_request(number: int, href: str) -> Response:
    """The answer to a request that the agent will run: 202, with the address of its state."""
    document = {"schema": "benchstick/request/1", "id": number, "state": "waiting", "href": href}
    response = reply(document, 202)
    response.headers["Location"] = href
    return response


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def status() -> dict[str, Any]:
    """What the head of every page shows: the bench, its running runs, how to sign in."""
    db = reader()
    scan = known_drives.drive_scans(db)
    return {
        "schema": "benchstick/status/1",
        "bench": run_queries.bench_id(db),
        "running": [row["number"] for row in run_queries.running(db)],
        "scanned_utc": None if scan is None else scan[0],
        "agent": run_queries.agent_runs(),
        "pin": the_bench().pin is not None,
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
