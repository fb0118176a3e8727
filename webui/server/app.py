"""The application factory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flask import Flask, redirect
from jinja2 import StrictUndefined
from werkzeug.wrappers import Response

from benchstick.appliance import state
from benchstick.protocol import settings as settings_module
from benchstick.protocol.settings import Settings
from webui import context, errors
from webui.auth import request_guard
from webui.auth.pin import LoginKey, Pin
from webui.pages import (
    api,
    bays,
    clock,
    compare,
    docs,
    drives,
    licences,
    new_run,
    openapi,
    qa_station,
    queues,
    recipe_tests,
    recipes,
    reference_results,
    reports,
    runs,
    session,
    spec_sheets,
    tokens,
    verdicts,
)
from webui.view import api_url, filters

# A body holds a few parameters: 64 KiB is a hundred times enough. Those that may be larger are in
# `request_guard.LARGER_BODIES`.
LARGEST_BODY = 64 << 10


def create_app(
    home: Path,
    settings: Settings | None = None,
    *,
    private: bool = False,
    pin: Pin | None = None,
    key: LoginKey | None = None,
) -> Flask:
    """The page of the bench whose data folder is `home`.

    `private` shows nothing without a session; `pin` is what one signs in with on the network, and
    `key` the one-time key of the link in the terminal.
    """
    # Of the package `webui`, which has the templates and the static files.
    app = Flask("webui", static_url_path="/static")
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY
    app.config["MAX_FORM_MEMORY_SIZE"] = LARGEST_BODY
    app.config["MAX_FORM_PARTS"] = 200
    # A slash too many is another address; no redirect that a script would follow with a new method.
    app.url_map.strict_slashes = False
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    context.register(
        app,
        context.PageState(
            home=home,
            settings=settings or settings_module.read("", "defaults"),
            private=private,
            pin=pin,
            key=key or LoginKey(),
        ),
    )
    request_guard.register(app)
    errors.register(app)
    filters.register(app)
    for blueprint in (
        api.bp, session.bp, drives.bp, new_run.bp, queues.bp, runs.bp, docs.bp, licences.bp,
        clock.bp, compare.bp, reference_results.bp, spec_sheets.bp,
        openapi.bp, tokens.bp, reports.bp, qa_station.bp, bays.bp,
        verdicts.bp, recipes.bp, recipe_tests.bp,
    ):  # fmt: skip
        app.register_blueprint(blueprint)
    app.context_processor(_context)

    @app.get("/")
    def index() -> Response:
        return redirect("/drives", 303)

    return app


def _context() -> dict[str, Any]:
    """What the head of every page shows."""
    from flask import g

    visitor = context.visitor()
    values: dict[str, Any] = {
        "visitor": visitor,
        "csrf": visitor.session.csrf if visitor.session else "",
        "private": context.page_state().private,
        "pin_on": context.page_state().pin is not None,
        "running_now": [],
        "notices": [],
        "clock_ms": None,
        "json_url": api_url.of_this_page(),
    }
    # An error page must not fail over the store that failed.
    if not g.get("bare") and (visitor.is_known or not context.page_state().private):
        values["running_now"] = context.bench().running()
        values["notices"] = state.notices()
        values["clock_ms"] = clock.offered()
    return values
