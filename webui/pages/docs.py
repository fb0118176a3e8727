"""The suites with their parameters, and the pages of docs/."""

from __future__ import annotations

import re
from pathlib import Path

from flask import Blueprint, Response, render_template

from benchstick.suites import registry
from benchstick.suites.interface import Suite
from webui.errors import not_found
from webui.responses import reply
from webui.view import markdown

bp = Blueprint("methods", __name__)

_WEBUI = Path(__file__).resolve().parents[1]
# A wheel has the docs inside `webui` (setup.py); a clone and the image have them next to it.
DOCS = _WEBUI / "docs" if (_WEBUI / "docs").is_dir() else _WEBUI.parent / "docs"
# The folders of docs/, as the pages' addresses have them.
SOURCES, DECISIONS = "methods", "decisions"


def find_suite(name: str) -> Suite:
    """The suite, or 404."""
    suites = registry.all_suites()
    if name not in suites:
        names = ", ".join(suites)
        raise not_found(f"Suite {name[:60]!r}: there are {names}.")
    return suites[name]


def doc_text(name: str) -> str | None:
    """The Markdown of the page `name` or `folder/name` of docs/, None when there is none."""
    if not re.fullmatch(r"([a-z]{1,60}/)?[A-Za-z0-9_-]{1,60}", name):
        return None
    try:
        return (DOCS / f"{name}.md").read_text(encoding="utf-8")
    except OSError:
        return None


def doc_pages() -> list[dict[str, str]]:
    """Name and title of every page of docs/, those in its folders last."""
    pages = []
    for path in (*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("*/*.md"))):
        name = path.relative_to(DOCS).with_suffix("").as_posix()
        text = doc_text(name)
        if text is not None:
            pages.append({"name": name, "title": markdown.title_of(text, path.stem)})
    return pages


@bp.get("/suites")
@bp.get("/methods")
def index() -> str:
    suites = registry.all_suites()
    pages = [page for page in doc_pages() if page["name"] not in suites]

    def of_folder(folder: str) -> list[dict[str, str]]:
        return [page for page in pages if page["name"].rpartition("/")[0] == folder]

    return render_template(
        "methods.html",
        suites=suites.values(),
        pages=of_folder(""),
        sources=of_folder(SOURCES),
        decisions=of_folder(DECISIONS),
    )


@bp.get("/api/v1/suites")
def api_suites() -> Response:
    suites = [registry.suite_json(suite) for suite in registry.all_suites().values()]
    return reply({"schema": "benchstick/suites/2", "suites": suites})


@bp.get("/suites/<name>")
def suite(name: str) -> str:
    suite = find_suite(name)
    text = doc_text(name)
    # The page has the suite's title as its heading.
    body = None if text is None else markdown.render(re.sub(r"\A# .*\n", "", text))
    return render_template("suite.html", suite=suite, body=body)


@bp.get("/api/v1/suites/<name>")
def api_suite(name: str) -> Response:
    return reply({"schema": "benchstick/suite/2", **registry.suite_json(find_suite(name))})


@bp.get("/api/v1/methods")
def api_methods() -> Response:
    return reply({"schema": "benchstick/methods/1", "pages": doc_pages()})


@bp.get("/methods/<name>")
@bp.get("/methods/<folder>/<name>")
def page(name: str, folder: str = "") -> str:
    title, text = _doc(name, folder)
    return render_template("method.html", title=title, body=markdown.render(text, folder))


@bp.get("/api/v1/methods/<name>")
@bp.get("/api/v1/methods/<folder>/<name>")
def api_page(name: str, folder: str = "") -> Response:
    title, text = _doc(name, folder)
    return reply(
        {
            "schema": "benchstick/method/1",
            "name": _full_name(name, folder),
            "title": title,
            "markdown": text,
        }
    )


def _full_name(name: str, folder: str) -> str:
    return f"{folder}/{name}" if folder else name


def _doc(name: str, folder: str) -> tuple[str, str]:
    """Title and Markdown of a page, or 404."""
    text = doc_text(_full_name(name, folder))
    if text is None:
        page_name = repr(_full_name(name, folder)[:60])
        raise not_found(f"There is no page called {page_name}.")
    return markdown.title_of(text, name), text
