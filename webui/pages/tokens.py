"""Tokens for scripts: listed, made and revoked by somebody who signed in."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput, BenchError
from benchstick.protocol.messages import NameTaken
from webui.context import bench, visitor
from webui.errors import WebError, not_found, status_of
from webui.forms.inputs import json_body, no_body, plain_text
from webui.responses import reply

bp = Blueprint("tokens", __name__)


def _document() -> dict[str, Any]:
    tokens = [
        {"name": token.name, "created_utc": token.created_utc, "used_utc": token.used_utc}
        for token in bench().tokens()
    ]
    return {"schema": "benchstick/tokens/1", "tokens": tokens}


def _check_session() -> None:
    """403 for a token: who has found one must not make more of them, nor take away others."""
    if visitor().session is None:
        raise WebError(
            403,
            "session_only",
            "A token makes and revokes no tokens: sign in with the PIN or the log-in link.",
            field="Authorization",
        )


def _make(name: str) -> str:
    """A new token; 409 when the name is in use."""
    _check_session()
    try:
        return bench().add_token(name)
    except NameTaken as error:
        raise WebError(409, "taken", error.message, field="name") from None


def _revoke(name: str) -> None:
    _check_session()
    if not bench().revoke_token(name):
        raise not_found(f"Token {name[:64]!r}: there is none of this name.")


def _page(new_token: tuple[str, str] | None = None, problem: BenchError | None = None) -> Response:
    page = render_template(
        "tokens.html",
        tokens=bench().tokens(),
        new_token=new_token,
        problem=problem,
        name_text=request.form.get("name", "")[:64],
        may_write=visitor().session is not None,
        json_url=url_for("tokens.api_index"),
    )
    status = 200 if problem is None else status_of(problem)
    return Response(page, status, content_type="text/html; charset=utf-8")


@bp.get("/settings/tokens")
def index() -> Response:
    return _page()


@bp.post("/settings/tokens")
def make() -> Response:
    """Show the new token, this once: it is in no address and no history."""
    try:
        name = plain_text(request.form.get("name", ""), "name").strip()
        return _page(new_token=(name, _make(name)))
    except (BadInput, WebError) as error:
        return _page(problem=error)


@bp.post("/settings/tokens/<name>/revoke")
def revoke(name: str) -> BaseResponse:
    _revoke(name)
    return redirect(url_for("tokens.index"), 303)


@bp.get("/api/v1/settings/tokens")
def api_index() -> Response:
    """Name, age and last use of each token."""
    return reply(_document())


@bp.post("/api/v1/settings/tokens")
def api_make() -> Response:
    """`{"name": TEXT}`; answers 201 with the token, which cannot be read again."""
    _check_session()
    name = plain_text(json_body(("name",)).get("name"), "name").strip()
    return reply({"schema": "benchstick/token/1", "name": name, "token": _make(name)}, 201)


@bp.post("/api/v1/settings/tokens/<name>/revoke")
def api_revoke(name: str) -> Response:
    """The body is empty or `{}`; answers with the tokens that are left."""
    no_body()
    _revoke(name)
    return reply(_document())
