"""The suites with their parameters, and the pages of docs/."""

from __future__ import annotations

import re
from pathlib import Path

from flask import Blueprint, Response, render_template

from benchstick.suites import registry
from benchstick.suites.base import Suite
from webui import markdown
from webui.api import reply
from webui.errors import not_found
from webui.words import _

bp = Blueprint("methods", __name__)

DOCS = Path(__file__).resolve().parent.parent / "docs"


def find_suite(name: str) -> Suite:
    """The suite, or 404."""
    suites = registry.all_suites()
    if name not in suites:
        known = ", ".join(suites)
        raise not_found(
            _("Suite %(name)s: there are %(suites)s.", name=repr(name[:60]), suites=known)
        )
    return suites[name]


def doc_text(name: str) -> str | None:
    """The Markdown of one page of docs/, None when there is none."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name):
        return None
    try:
        return (DOCS / f"{name}.md").read_text(encoding="utf-8")
    except OSError:
        return None


def doc_pages() -> list[dict[str, str]]:
    """Name and title of every page of docs/."""
    found = []
    for path in sorted(DOCS.glob("*.md")):
        text = doc_text(path.stem)
        if text is not None:
            found.append({"name": path.stem, "title": markdown.title_of(text, path.stem)})
    return found


@bp.get("/suites")
@bp.get("/methods")
def index() -> str:
    suites = registry.all_suites()
    others = [page for page in doc_pages() if page["name"] not in suites]
    return render_template("methods.html", suites=suites.values(), pages=others)


@bp.get("/api/v1/suites")
def api_suites() -> Response:
    suites = [registry.suite_json(suite) for suite in registry.all_suites().values()]
    return reply({"schema": "benchstick/suites/1", "suites": suites})


@bp.get("/suites/<name>")
def suite(name: str) -> str:
    found = find_suite(name)
    text = doc_text(name)
    # The page has the suite's title as its heading.
    body = None if text is None else markdown.render(re.sub(r"\A# .*\n", "", text))
    return render_template("suite.html", suite=found, body=body)


@bp.get("/api/v1/suites/<name>")
def api_suite(name: str) -> Response:
    return reply({"schema": "benchstick/suite/1", **registry.suite_json(find_suite(name))})


@bp.get("/api/v1/methods")
def api_methods() -> Response:
    return reply({"schema": "benchstick/methods/1", "pages": doc_pages()})


@bp.get("/methods/<name>")
def page(name: str) -> str:
    text = doc_text(name)
    if text is None:
        raise not_found(_("There is no page called %(name)s.", name=repr(name[:60])))
    title = markdown.title_of(text, name)
    return render_template("method.html", title=title, body=markdown.render(text))


@bp.get("/api/v1/methods/<name>")
def api_page(name: str) -> Response:
    text = doc_text(name)
    if text is None:
        raise not_found(_("There is no page called %(name)s.", name=repr(name[:60])))
    return reply(
        {
            "schema": "benchstick/method/1",
            "name": name,
            "title": markdown.title_of(text, name),
            "markdown": text,
        }
    )
