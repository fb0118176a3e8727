"""Reference results in the page: listed, imported from a file, removed."""

from __future__ import annotations

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput
from benchstick.suites import reference_results as files
from benchstick.suites import registry
from webui.context import bench
from webui.errors import not_found, status_of
from webui.forms.inputs import json_body, no_body, number_in_path, optional_text, plain_text
from webui.responses import reply

bp = Blueprint("references", __name__)
# Maximum length of a file in a request; the error message states it.
_MOST_TEXT = 60_000


def _suite() -> str | None:
    return optional_text(request.args.get("suite"), "suite", most=60)


@bp.get("/api/v1/references")
def api_index() -> Response:
    """The reference results, of one suite with `?suite=NAME`."""
    results = bench().references(_suite())
    return reply({"schema": "benchstick/references/2", "references": results})


@bp.get("/references")
def index() -> str:
    return _page(None)


def _page(problem: BadInput | None) -> str:
    return render_template(
        "references.html",
        found=bench().references(),
        suites=registry.all_suites(),
        units=list(files.UNITS),
        fields=files.FIELDS,
        kept=request.args.get("kept"),
        problem=problem,
    )


@bp.post("/api/v1/references")
def api_add() -> Response:
    """`{"file": "x.toml" or "x.csv", "text": its content}`; the answer has how many were saved."""
    body = json_body(("file", "text"))
    name = plain_text(body.get("file"), "file", most=100)
    text = body.get("text")
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise BadInput("text: expected the file's content, up to 60000 characters", field="text")
    results = files.read(text.encode("utf-8", "surrogatepass"), name)
    count = bench().add_references(results)
    return reply({"schema": "benchstick/references-kept/1", "kept": count}, 201)


@bp.post("/references")
def add() -> BaseResponse:
    """Import the results of an uploaded file; the page shows what is wrong with it."""
    try:
        upload = request.files.get("file")
        if upload is None or not upload.filename:
            raise BadInput("file: choose a TOML or CSV file first", field="file")
        name = plain_text(upload.filename, "file", most=100)
        count = bench().add_references(files.read(upload.read(), name))
    except BadInput as error:
        page = _page(error)
        return Response(page, status_of(error), content_type="text/html; charset=utf-8")
    return redirect(url_for("references.index", kept=count), 303)


def _remove(number: str) -> int:
    result_number = number_in_path(number, "Reference result")
    try:
        bench().remove_references([result_number])
    except BadInput as error:
        raise not_found(f"Reference result {result_number}: there is none.") from error
    return result_number


@bp.post("/references/<number>/remove")
def remove(number: str) -> BaseResponse:
    _remove(number)
    return redirect(url_for("references.index"), 303)


@bp.post("/api/v1/references/<number>/remove")
def api_remove(number: str) -> Response:
    """Remove one; the body is empty or `{}`."""
    no_body()
    return reply({"schema": "benchstick/reference-removed/1", "id": _remove(number)})
