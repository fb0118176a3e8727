"""The drives as the agent saw them last, and the operators' labels on them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.plan.errors import BadInput
from benchstick.store import models, pages, records
from webui import present, runs
from webui.api import reply
from webui.bench import drives_seen, find_drive, reader, writer
from webui.errors import WebError
from webui.inputs import json_body, plain_text

bp = Blueprint("drives", __name__)

# Runs on a drive's own page; the rest is at /runs?drive=.
HISTORY = 20
_GUARD_ORDER = {"free": 0, "locked": 1, "protected": 2}


def _ordered(drives: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Free ones first: those are what one came for."""
    return sorted(
        drives, key=lambda drive: (_GUARD_ORDER.get(drive["guard"]["state"], 3), drive["name"])
    )


def _busy() -> dict[str, int]:
    """The running run of each drive key."""
    return {row["drive_key"]: row["number"] for row in pages.running(reader())}


@bp.get("/drives")
def index() -> str:
    scanned, drives, _shared = drives_seen()
    real = [drive for drive in drives if not present.is_practice(drive)]
    practice = [drive for drive in drives if present.is_practice(drive)]
    return render_template(
        "drives.html",
        scanned=scanned,
        drives=_ordered(real),
        practice=practice,
        history=_history(drives),
        busy=_busy(),
        agent=pages.agent_runs(),
    )


def _history(drives: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each drive key: number of runs, the last run and its headline, the last temperature."""
    db = reader()
    told = pages.history(db, {drive["identity"]["key"] for drive in drives})
    return {
        key: {
            **item,
            "state": records.shown_state(db, item["last"]),
            "headline": list(pages.headline(item["last"]))[:2],
        }
        for key, item in told.items()
    }


@bp.get("/api/v1/drives")
def api_index() -> Response:
    """The `benchstick/drives/1` document of the agent's last scan; empty before any."""
    scan = drives_seen()
    return reply({
        "schema": "benchstick/drives/1", "scanned_utc": scan.utc, "drives": scan.drives,
        "shared": scan.shared,
    })  # fmt: skip


@bp.get("/drives/<path:code>")
def drive(code: str) -> BaseResponse:
    try:
        found = find_drive(code)
    except WebError:
        # What was measured of it is still here.
        if pages.keys_of(reader(), code):
            return redirect(url_for("runs.index", drive=code), 303)
        raise
    key = found["identity"]["key"]
    keys = pages.same_drive(reader(), key)
    page = render_template(
        "drive.html",
        drive=found,
        runs=runs.shown(pages.runs_before(reader(), drive_keys=keys, limit=HISTORY)),
        count=pages.count_of(reader(), keys),
        others=keys[1:],
        temperature=pages.last_temperature(reader(), keys),
        busy=_busy().get(key),
        model=models.beside_drive(reader(), found),
    )
    return Response(page, content_type="text/html; charset=utf-8")


@bp.get("/api/v1/drives/<path:code>")
def api_drive(code: str) -> Response:
    """The drive's facts; `model_sheet` is what its maker claims beside what was measured; `history`
    its last runs under all identities that its label joins, `runs` how many it has."""
    found = find_drive(code)
    keys = pages.same_drive(reader(), found["identity"]["key"])
    last = pages.runs_before(reader(), drive_keys=keys, limit=HISTORY)
    return reply(
        {
            "schema": "benchstick/drive/1",
            **found,
            "model_sheet": models.beside_drive(reader(), found),
            "identities": keys,
            "runs": pages.count_of(reader(), keys),
            "history": runs.listed(last),
        }
    )


def _set_label(code: str, label: str) -> dict[str, Any]:
    found = find_drive(code)
    drives = drives_seen().drives
    taken = {name for drive in drives for name in (drive["code"], drive["path"])}
    # A label that reads like another way to name a drive would make that way ambiguous.
    if label == "practice" or label.startswith(("/", "port:")) or label in taken - {code}:
        raise BadInput(f"label: {label!r} names a drive already; take another", field="label")
    others = {drive["identity"]["key"] for drive in drives}
    pages.set_label(writer(), found["identity"]["key"], label, others)
    return found


@bp.post("/labels")
def label() -> BaseResponse:
    code = plain_text(request.form.get("drive", ""), "drive")
    found = _set_label(code, plain_text(request.form.get("label", ""), "label", most=60).strip())
    return redirect(url_for("drives.drive", code=found["code"]), 303)


@bp.get("/api/v1/labels")
def api_labels() -> Response:
    """The labels by identity."""
    return reply({"schema": "benchstick/labels/1", "labels": records.labels(reader())})


@bp.post("/api/v1/labels")
def api_label() -> Response:
    """`{"drive": CODE, "label": TEXT}`; an empty text takes the label away."""
    body = json_body(("drive", "label"))
    code = plain_text(body.get("drive"), "drive")
    text = plain_text(body.get("label"), "label", most=60).strip()
    found = _set_label(code, text)
    return reply({"schema": "benchstick/label/1", "drive": found["code"], "label": text or None})
