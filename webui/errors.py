"""What went wrong, as a page or as the API's `{"error": {"code", "message", "field"}}`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from flask import Flask, Response, current_app, g, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput, BenchError, Refused, StoreFailed
from benchstick.recipes import documents
from benchstick.recipes.parser import RecipeMistakes
from webui.responses import reply

log = logging.getLogger("benchstick.web")

_TITLES = {
    400: "Invalid request",
    401: "Sign in first",
    403: "Refused",
    404: "Not found",
    405: "Method not allowed",
    409: "Not now",
    413: "Too large",
    415: "Wrong kind of content",
    421: "Unknown host name",
    429: "Too many attempts",
    500: "The page failed",
    503: "The store cannot be read",
}
_CODES = {404: "not_found", 405: "method", 413: "too_large", 415: "content_type"}
_SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    413: "The request is larger than 64 KiB.",
}


class WayBack(NamedTuple):
    """The page of a refused form: a path of our own, and a message on what is kept."""

    path: str
    message: str


class WebError(BenchError):
    """An error with an HTTP status of its own; `back`: of a form that can be sent again."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        back: WayBack | None = None,
    ) -> None:
        super().__init__(message, field=field)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        self.back = back


def not_found(message: str) -> WebError:
    return WebError(404, "not_found", message)


def status_of(error: BenchError) -> int:
    """The HTTP status for an error of the bench."""
    if isinstance(error, WebError):
        return error.status
    if isinstance(error, BadInput):
        return 400
    if isinstance(error, Refused):
        return 403
    return 503 if isinstance(error, StoreFailed) else 500


def error_document(
    code: str, message: str, field: str | None = None, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "field": field, **(more or {})}}


def asks_for_json() -> bool:
    """Whether the address is a script's, whose errors are JSON."""
    return request.path.startswith("/api/") or request.path == "/openapi.json"


def answer(
    status: int,
    code: str,
    message: str,
    field: str | None = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
    back: WayBack | None = None,
) -> Response:
    """The error as JSON, there with `more` in it, where a script asks; else as a page, there with
    the way `back`."""
    # A refused request has no session to show and must not touch the store again.
    if status in (421, 503):
        g.bare = True
    if asks_for_json():
        response = reply(error_document(code, message, field, more), status)
    else:
        title = _TITLES.get(status, "Request failed")
        page = render_template(
            "error.html", title=title, message=message, status=status, json_url=None, way_back=back
        )
        response = Response(page, status)
    response.headers.update(dict(headers or {}))
    return response


def register(app: Flask) -> None:
    """Make every failure an answer: never a traceback."""

    @app.errorhandler(BenchError)
    def bench_error(error: BenchError) -> Response:
        headers, back = (error.headers, error.back) if isinstance(error, WebError) else (None, None)
        more = {"errors": documents.errors(error)} if isinstance(error, RecipeMistakes) else None
        status = status_of(error)
        return answer(status, error.code, error.message, error.field, headers, more, back)

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> BaseResponse:
        status = error.code or 500
        if error.response is not None or 300 <= status < 400:
            return error.get_response()
        message = _SENTENCES.get(status) or error.description or error.name
        if status == 413 and request.max_content_length != current_app.config["MAX_CONTENT_LENGTH"]:
            size = (request.max_content_length or 0) >> 20
            message = f"The bundle is larger than {size} MiB; on the bench: benchstick import FILE"
        headers = {
            name: value
            for name, value in error.get_headers(request.environ)
            if name in ("Allow", "Retry-After")
        }
        return answer(status, _CODES.get(status, "http"), message, headers=headers)

    @app.errorhandler(Exception)
    def unexpected(error: Exception) -> Response:
        log.exception("%s %s failed", request.method, request.path)
        message = "an error inside the page; the page's log has the details"
        return answer(500, "internal", message)
