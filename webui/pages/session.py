"""Signing in and out: the one-time link, the PIN, and the same for scripts."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request
from werkzeug.wrappers import Response

from benchstick.protocol.messages import NewSession
from webui.auth.request_guard import COOKIE, how_to_sign_in
from webui.context import bench, page_state, visitor
from webui.errors import WebError
from webui.forms.inputs import json_body, local_path, plain_text
from webui.responses import reply

bp = Blueprint("session", __name__)


def _with_cookie(response: Response, session: NewSession) -> Response:
    response.set_cookie(
        COOKIE,
        session.secret,
        max_age=session.seconds,
        httponly=True,
        samesite="Strict",
        path="/",
    )
    return response


def _check_pin(guess: str) -> None:
    """403 for a wrong PIN, 429 after too many, 409 where there is none."""
    pin = page_state().pin
    if pin is None:
        raise WebError(409, "no_pin", how_to_sign_in())
    if not pin.check(guess, request.remote_addr or "?"):
        message = "That is not the PIN on the bench's screen."
        raise WebError(403, "pin", message, field="pin")


@bp.get("/login")
def login() -> Response:
    """Take a one-time key out of the address, or show the form."""
    back = local_path(request.args.get("next"))
    key = request.args.get("key")
    if key is None:
        # Already signed in, by the terminal's link or in another tab.
        if visitor().session is not None and "next" in request.args:
            return redirect(back, 303)
        return _form(back)
    if request.method == "HEAD":
        # Something that only looks at the link must not use it up.
        return _form(back)
    if page_state().key.take(plain_text(key, "key")):
        return _with_cookie(redirect(back, 303), bench().open_session())
    if visitor().is_known:
        return redirect(back, 303)
    return _form(back, "This link was used before; the terminal shows a new one.", 403)


@bp.post("/login")
def login_post() -> Response:
    """Sign in with the PIN or with a key that was typed."""
    back = local_path(request.form.get("next"))
    secret = plain_text(request.form.get("secret", ""), "secret").strip()
    if secret and page_state().key.take(secret):
        return _with_cookie(redirect(back, 303), bench().open_session())
    try:
        _check_pin(secret)
    except WebError as error:
        message = error.message
        if error.code == "no_pin":
            message = "That key is not (or no longer) the one that the terminal shows."
        response = _form(back, message, 403 if error.status == 409 else error.status)
        response.headers.update(error.headers)
        return response
    return _with_cookie(redirect(back, 303), bench().open_session())


def _form(back: str, problem: str | None = None, status: int = 200) -> Response:
    page = render_template("login.html", back=back, problem=problem, how=how_to_sign_in())
    return Response(page, status, content_type="text/html; charset=utf-8")


@bp.post("/logout")
def logout() -> Response:
    session = visitor().session
    if session is not None:
        bench().close_session(session)
    response = redirect("/login", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="Strict")
    return response


@bp.post("/api/v1/login")
def api_login() -> Response:
    """`{"pin": "482913"}` or `{"key": "..."}` for a session's cookie and its CSRF token."""
    body = json_body(("pin", "key"))
    if "key" in body:
        if not page_state().key.take(plain_text(body["key"], "key")):
            raise WebError(403, "key", "This key was used before or is wrong.", field="key")
    else:
        if "pin" not in body:
            raise WebError(400, "bad_input", "pin: is missing", field="pin")
        _check_pin(plain_text(body["pin"], "pin"))
    session = bench().open_session()
    return _with_cookie(reply({"schema": "benchstick/session/1", "csrf": session.csrf}), session)


@bp.get("/api/v1/login")
def api_session() -> Response:
    """Whether one is signed in, and how."""
    caller = visitor()
    return reply(
        {
            "schema": "benchstick/session/1",
            "signed_in": caller.is_known,
            "token": caller.token,
            "csrf": caller.session.csrf if caller.session else None,
        }
    )


@bp.post("/api/v1/logout")
def api_logout() -> Response:
    session = visitor().session
    if session is not None:
        bench().close_session(session)
    response = reply({"schema": "benchstick/session/1", "signed_in": False})
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="Strict")
    return response
