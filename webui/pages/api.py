"""The API's own pages: its index and the bench's state; and how a document is sent."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, current_app

from benchstick import __doc__ as _about
from benchstick.appliance import state
from benchstick.store import known_drives, run_queries
from webui.context import reader, the_bench, visitor
from webui.errors import not_found
from webui.responses import reply

bp = Blueprint("api", __name__)


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
