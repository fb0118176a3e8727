"""The drives as the agent saw them last, and the operators' labels on them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput
from benchstick.plan.states import GuardState
from benchstick.reports import formatting
from webui.context import bench, drive_scans, find_drive
from webui.errors import WebError
from webui.forms.inputs import json_body, plain_text
from webui.responses import reply
from webui.view import runs

bp = Blueprint("drives", __name__)

# Runs on a drive's own page; the rest is at /runs?drive=.
HISTORY = 20
_GUARD_ORDER = {state: at for at, state in enumerate(GuardState)}


def _ordered(drives: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Free drives first: only these can be tested."""
    return sorted(
        drives, key=lambda drive: (_GUARD_ORDER.get(drive["guard"]["state"], 3), drive["name"])
    )


def _busy() -> dict[str, int]:
    """The running run of each drive key."""
    return {run.drive_key: run.number for run in bench().running()}


def _all() -> dict[str, Any]:
    """The `benchstick/drives/2` document of the agent's last scan; each drive also has how many
    `runs` there are of it, the `last_run`, and the number of the one that is `running`."""
    scan = drive_scans()
    past = bench().drive_histories({drive["identity"]["drive_key"] for drive in scan.drives})
    last = dict(zip(past, runs.list_for_api([item.last for item in past.values()]), strict=True))
    busy = _busy()

    def add_history(drive: dict[str, Any]) -> dict[str, Any]:
        key = drive["identity"]["drive_key"]
        count = past[key].runs if key in past else 0
        return {**drive, "runs": count, "last_run": last.get(key), "running": busy.get(key)}

    return {
        "schema": "benchstick/drives/2",
        "scanned_utc": scan.utc,
        "drives": [add_history(drive) for drive in scan.drives],
        "shared": scan.shared,
    }


@bp.get("/drives")
def index() -> str:
    document = _all()
    drives = document["drives"]
    return render_template(
        "drives.html",
        scan_time=document["scanned_utc"],
        drives=_ordered([drive for drive in drives if not formatting.is_practice(drive)]),
        practice=[drive for drive in drives if formatting.is_practice(drive)],
        agent=bench().agent_runs(),
    )


@bp.get("/api/v1/drives")
def api_index() -> Response:
    """The drives of the agent's last scan, none before any, with their history in short."""
    return reply(_all())


def _one(code: str) -> dict[str, Any]:
    """The `benchstick/drive/2` document: the drive's facts; `spec_sheet`: the manufacturer's
    specifications with the measured values; `history`: its last runs under all `identities` that
    its label combines, `runs`: how many it has; `last_temperature`: the last reading in any of
    them; `running`: the run in progress."""
    drive = find_drive(code)
    record = bench().drive_record(drive, HISTORY)
    return {
        "schema": "benchstick/drive/2",
        **drive,
        "spec_sheet": record.spec_sheet,
        "identities": record.identities,
        "runs": record.runs,
        "history": runs.list_for_api(record.history),
        "running": _busy().get(drive["identity"]["drive_key"]),
        "last_temperature": record.last_temperature,
    }


@bp.get("/drives/<path:code>")
def drive(code: str) -> BaseResponse:
    try:
        document = _one(code)
    except WebError:
        # What was measured of it is still here.
        if bench().is_known_drive(code):
            return redirect(url_for("runs.index", drive=code), 303)
        raise
    page = render_template(
        "drive.html", drive=document, model=document["spec_sheet"], suite_title=runs.suite_title
    )
    return Response(page, content_type="text/html; charset=utf-8")


@bp.get("/api/v1/drives/<path:code>")
def api_drive(code: str) -> Response:
    return reply(_one(code))


def _set_label(code: str, label: str) -> dict[str, Any]:
    target = find_drive(code)
    drives = drive_scans().drives
    names = {name for drive in drives for name in (drive["code"], drive["path"])}
    # A label that reads like another way to name a drive would make that way ambiguous.
    if label == "practice" or label.startswith(("/", "port:")) or label in names - {code}:
        raise BadInput(f"label: {label!r} names a drive already; take another", field="label")
    others = {drive["identity"]["drive_key"] for drive in drives}
    bench().set_label(target["identity"]["drive_key"], label, others)
    return target


@bp.post("/labels")
def label() -> BaseResponse:
    code = plain_text(request.form.get("drive", ""), "drive")
    drive = _set_label(code, plain_text(request.form.get("label", ""), "label", most=60).strip())
    return redirect(url_for("drives.drive", code=drive["code"]), 303)


@bp.get("/api/v1/labels")
def api_labels() -> Response:
    """The labels by identity."""
    return reply({"schema": "benchstick/labels/1", "labels": bench().labels()})


@bp.post("/api/v1/labels")
def api_label() -> Response:
    """`{"drive": CODE, "label": TEXT}`; an empty text takes the label away."""
    body = json_body(("drive", "label"))
    code = plain_text(body.get("drive"), "drive")
    text = plain_text(body.get("label"), "label", most=60).strip()
    drive = _set_label(code, text)
    return reply({"schema": "benchstick/label/1", "drive": drive["code"], "label": text or None})
