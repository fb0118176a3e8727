"""The way in: Host header, session or token, forged requests, and the headers of every answer."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
from urllib.parse import quote, urlsplit

from flask import Flask, Response, g, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import StoreFailed
from webui.auth import hosts, return_url
from webui.context import Visitor, bench, page_state, visitor
from webui.errors import WayBack, WebError, asks_for_json

COOKIE = "benchstick"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# May be reached by somebody who is not known yet.
OPEN = frozenset({"session.login", "session.login_post", "session.api_login", "static"})

# Addresses that take more than `app.LARGEST_BODY`: bytes of the body. A day's run makes a bundle of
# some 2 MB; larger ones go in by the command line.
LARGEST_BUNDLE = 8 << 20
LARGER_BODIES = {"reports.upload": LARGEST_BUNDLE, "reports.api_upload": LARGEST_BUNDLE}

# Styles and scripts come from our own files alone: an injected one would not run.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # With no-referrer a browser sends `Origin: null` on our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def register(app: Flask) -> None:
    """Check every request, and put the headers on every answer."""

    @app.before_request
    def check() -> BaseResponse | None:
        check_host()
        # Files of the page itself need no store; the log-in page must be able to show them.
        if request.endpoint == "static":
            return None
        g.visitor = who()
        if page_state().private and not visitor().is_known and not is_open():
            return ask_to_sign_in()
        if request.method not in SAFE_METHODS:
            # Before anything looks at the body.
            request.max_content_length = LARGER_BODIES.get(
                request.endpoint or "", request.max_content_length
            )
            check_write()
        return None

    @app.after_request
    def headers(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if request.endpoint == "static":
            # Kept by the browser, asked for again: an update shows at once.
            response.headers["Cache-Control"] = "no-cache"
        else:
            response.headers["Cache-Control"] = "no-store"
        return response


def is_open() -> bool:
    """Whether this address is answered without sign-in: what is needed to sign in, and for this
    machine itself the description of the API, which shows no data of the bench."""
    if request.endpoint == "openapi.serve":
        at = ipaddress.ip_address(request.remote_addr or "::")
        return (getattr(at, "ipv4_mapped", None) or at).is_loopback
    return request.endpoint in OPEN


def check_host() -> None:
    """421 unless the Host header names this machine."""
    header = request.headers.get("Host", "")
    if not hosts.is_ours(header, page_state().settings.hosts):
        raise WebError(
            421,
            "host",
            "This bench does not answer to that name. Use its address, localhost or "
            "benchstick.local, or list the name under hosts in the settings.",
            field="Host",
        )


def who() -> Visitor:
    """The visitor by bearer token or cookie. 401 for a token that is not one of ours."""
    header = request.headers.get("Authorization")
    if header is not None:
        kind, _space, secret = header.partition(" ")
        token = None
        if kind.lower() == "bearer":
            token = bench().find_token(secret.strip())
        if token is None:
            raise WebError(
                401,
                "token",
                "This token is not known; make one at /settings/tokens, or with: "
                "benchstick web --new-token NAME",
                field="Authorization",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if not token.is_noted:
            # What was asked for matters more than the note of it.
            with contextlib.suppress(StoreFailed):
                bench().note_token_use(token.name)
        return Visitor(token=token.name)
    cookie = request.cookies.get(COOKIE)
    return Visitor(session=bench().find_session(cookie) if cookie else None)


def ask_to_sign_in() -> BaseResponse:
    """The log-in page for a browser, 401 for a script."""
    if asks_for_json():
        raise WebError(401, "sign_in", how_to_sign_in())
    if request.method not in SAFE_METHODS:
        # What another site has filled in does not come back as if it were one's own.
        check_origin()
        raise WebError(401, "sign_in", how_to_sign_in(), back=_back())
    back = request.full_path.rstrip("?")
    return redirect(f"/login?next={quote(back, safe='/')}", 303)


def how_to_sign_in() -> str:
    if page_state().pin is not None:
        return "Sign in with the PIN on the bench's screen, or send a bearer token."
    return (
        "Open the log-in link that the terminal of 'benchstick web' shows, or send a bearer token."
    )


def check_write() -> None:
    """401 or 403 unless this is a known visitor's own request and not a forged one."""
    check_origin()
    if request.endpoint in OPEN:
        return
    if not visitor().is_known:
        raise WebError(401, "sign_in", how_to_sign_in(), back=_back())
    session = visitor().session
    if session is None:
        return
    csrf = request.headers.get("X-CSRF-Token") or request.form.get("csrf") or ""
    if not hmac.compare_digest(csrf.encode("utf-8", "replace"), session.csrf.encode()):
        message = "This form has expired. Reload the page."
        raise WebError(403, "csrf", message, field="csrf", back=_back())


def _back() -> WayBack | None:
    """The way back to a form's page; a script has none."""
    return None if asks_for_json() else return_url.of_form()


def check_origin() -> None:
    """403 when a browser says that the request comes from another site."""
    own = f"http://{request.headers.get('Host', '')}".lower()
    origin = request.headers.get("Origin")
    if origin is None:
        referrer = request.headers.get("Referer")
        if referrer is not None:
            try:
                parts = urlsplit(referrer)
            except ValueError:
                origin = "null"
            else:
                origin = f"{parts.scheme}://{parts.netloc}"
    if origin is not None and origin.lower() != own:
        raise WebError(403, "origin", "The request comes from another site.", field="Origin")
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise WebError(403, "origin", "The request comes from another site.", field="Origin")
