"""Verdicts in the page: the list, and one with its limits, its reasons and its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from flask import Blueprint, Response, render_template, request

from benchstick.errors import BadInput
from benchstick.plan.labels import verdict_file_name
from benchstick.recipes import event_lines, outputs
from benchstick.recipes.verdict import FAIL, INCONCLUSIVE, PASS
from webui.context import bench
from webui.forms.inputs import LARGEST, whole
from webui.responses import reply
from webui.view.verdicts import find, format_limit, recipe_of

bp = Blueprint("verdicts", __name__)

WORDS = (PASS, FAIL, INCONCLUSIVE)
PAGE = 50
MOST = 500
_LABELS = {"asset": "Asset tag", "order": "Order", "operator": "Operator"}
# The files of a verdict: type, end of the name, and what makes it.
FILES: Mapping[str, tuple[str, str, Callable[[Mapping[str, Any]], str]]] = {
    "junit": ("application/xml", "xml", lambda item: outputs.junit([item])),
    "csv": ("text/csv; charset=utf-8", "csv", lambda item: outputs.csv_text([item])),
    "events": (
        "text/plain; charset=utf-8", "log",
        lambda item: "".join(f"{line}\n" for line in event_lines.event_lines(item)),
    ),
}  # fmt: skip
FORMATS = ("json", *FILES)
# The same of several.
SEVERAL: Mapping[str, tuple[str, str, Callable[[list[dict[str, Any]]], str]]] = {
    "csv": ("text/csv; charset=utf-8", "csv", outputs.csv_text),
    "junit": ("application/xml", "xml", outputs.junit),
    "json": ("application/json", "json", json.dumps),
}


def _word() -> str | None:
    """The requested verdict, None for all."""
    word = request.args.get("verdict") or None
    if word not in (None, *WORDS):
        raise BadInput(f"verdict: expected one of {', '.join(WORDS)}", field="verdict")
    return word


def _which(default: int = PAGE) -> dict[str, Any]:
    """Which of the last verdicts are requested, as the store takes it."""
    before = whole(request.args.get("before"), "before", low=1, high=LARGEST, default=LARGEST)
    limit = whole(request.args.get("limit"), "limit", low=1, high=MOST, default=default)
    return {"limit": limit, "word": _word(), "before": before}


@bp.get("/verdicts")
def index() -> str:
    rows = bench().verdicts(**_which())
    return render_template(
        "verdicts.html",
        verdicts=rows,
        labels=bench().labels(),
        selected_verdict=_word(),
        before=request.args.get("before"),
        verdict_names=WORDS,
        more=rows[-1]["number"] if len(rows) == PAGE else None,
    )


@bp.get("/api/v1/verdicts")
def api_index() -> Response:
    """The newest first: `?verdict=pass|fail|inconclusive&before=N&limit=N`."""
    rows = bench().verdicts(**_which())
    return reply({"schema": "benchstick/verdicts/2", "verdicts": rows})


@bp.get("/verdicts/export")
@bp.get("/api/v1/verdicts/export", endpoint="api_export_all")
def export_all() -> Response:
    """The last verdicts in one file, the newest first: `?format=csv`, `junit` or `json`, an array
    of the whole documents; `verdict`, `before` and `limit` as in the list, default limit: 500."""
    form = request.args.get("format", "csv")
    if form not in SEVERAL:
        raise BadInput(f"format: expected one of {', '.join(SEVERAL)}", field="format")
    documents = bench().verdict_documents(**_which(MOST))
    kind, end, make = SEVERAL[form]
    response = Response(make(documents), content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="benchstick-verdicts.{end}"'
    return response


@bp.get("/verdicts/<number>")
def verdict(number: str) -> str:
    verdict = find(number)
    return render_template(
        "verdict.html",
        verdict=verdict,
        label=bench().labels().get(verdict["drive"]["drive_key"]),
        labels=[(_LABELS.get(name, name), text) for name, text in verdict["labels"].items()],
        limits=[{**item, **format_limit(item)} for item in verdict["limits"]],
        recipe=recipe_of(verdict),
    )


@bp.get("/api/v1/verdicts/<number>")
def api_verdict(number: str) -> Response:
    return reply(find(number))


@bp.get("/verdicts/<number>/export")
@bp.get("/api/v1/verdicts/<number>/export", endpoint="api_export")
def export(number: str) -> Response:
    """The verdict as a file: `?format=json`, `junit`, `csv` or `events`, its key=value lines."""
    verdict = find(number)
    form = request.args.get("format", "json")
    if form == "json":
        response, end = reply(verdict), "json"
    elif form in FILES:
        kind, end, make = FILES[form]
        response = Response(make(verdict), content_type=kind)
    else:
        raise BadInput(f"format: expected one of {', '.join(FORMATS)}", field="format")
    name = f"benchstick-{verdict_file_name(verdict)}.{end}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
