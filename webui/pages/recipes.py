"""Recipes in the page: those of the library, and a bench's own: checked, saved, removed.

Nothing here starts a test. The process that runs a recipe reads it again and keeps the rules for
erasing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput
from benchstick.plan import recipe_names
from benchstick.protocol import settings
from benchstick.recipes import documents, shelf
from benchstick.recipes.model import Recipe
from webui.context import bench, page_state
from webui.errors import not_found, status_of
from webui.forms.inputs import json_body, no_body, plain_text
from webui.responses import reply

bp = Blueprint("recipes", __name__)

# Maximum length of a recipe in a request; the error message states it.
MOST_TEXT = 60_000
_UNNAMED = "recipe.toml"


@dataclass(frozen=True)
class Draft:
    """A recipe that was sent, and the result of its check."""

    name: str
    text: str
    result: Recipe | BadInput

    @property
    def where(self) -> str:
        """Its file name in error messages."""
        return f"{self.name}.toml" if self.name else _UNNAMED


def _draft(name: str, text: Any) -> Draft:
    """BadInput for what can be no recipe's text or name, and for a name that is taken."""
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise BadInput(f"text: expected a recipe of up to {MOST_TEXT} characters", field="text")
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise BadInput("text: not valid Unicode text", field="text") from None
    if name:
        recipe_names.check_name(name)
    result = documents.checked(raw, f"{name}.toml" if name else _UNNAMED)
    if name and isinstance(result, Recipe):
        shelf.check_upload(name, result)
    return Draft(name, text, result)


def _keep(draft: Draft) -> None:
    """Save a recipe without errors. RecipeMistakes, BadInput."""
    if isinstance(draft.result, BadInput):
        raise draft.result
    bench().save_recipe(recipe_names.check_name(draft.name), draft.text)


def _uploaded() -> dict[str, str]:
    """The uploaded ones: when each was saved, by name."""
    return dict(bench().uploaded_recipes())


def _find(name: str) -> shelf.Shelved:
    for item in bench().shelved_recipes():
        if item.name == name:
            return item
    raise not_found(f"Recipe {name[:60]!r}: there is none.")


def document(name: str) -> dict[str, Any]:
    """The `benchstick/shelved-recipe/2` document. WebError 404."""
    item = _find(name)
    result = documents.of_shelf(item)
    try:
        text = item.raw().decode("utf-8-sig", "replace")
    except BadInput:
        text = ""
    upload_time = _uploaded().get(item.stored_name) if item.origin == shelf.UPLOADED else None
    return {
        "schema": "benchstick/shelved-recipe/2",
        **documents.build_entry(item, result),
        "text": text,
        "lines": documents.lines(result),
        "uploaded_utc": upload_time,
    }


def _pin(item: shelf.Shelved) -> str | None:
    """The line for the settings that starts the recipe automatically; None where it cannot be."""
    if not isinstance(documents.of_shelf(item), Recipe) or not recipe_names.NAME.fullmatch(
        item.name
    ):
        return None
    return f'autostart = "{settings.pinned(item.name, item.raw())}"'


def _autostart() -> tuple[str | None, str | None]:
    """The recipe that starts automatically, or why the one in the settings does not."""
    reason = bench().autostart_problem()
    return (None, reason) if reason else (page_state().settings.autostart_recipe or None, None)


def _list_recipes() -> list[dict[str, Any]]:
    return [
        documents.build_entry(item, documents.of_shelf(item)) for item in bench().shelved_recipes()
    ]


# ---- the pages


@bp.get("/recipes")
def index() -> str:
    return _page(None, None)


def _page(draft: Draft | None, problem: BadInput | None) -> str:
    """The list, and the form with the draft and its errors."""
    origins = {item.name: item.origin for item in bench().shelved_recipes()}
    result = None if draft is None else draft.result
    starts, why_not = _autostart()
    return render_template(
        "recipes.html",
        recipes=_list_recipes(),
        autostart=starts,
        why_not=why_not,
        draft=draft,
        lines=[] if result is None else documents.lines(result),
        errors=[] if result is None else documents.errors(result),
        existing_origin=origins.get(draft.name) if draft is not None else None,
        problem=problem,
        saved_name=request.args.get("kept"),
    )


def _read_form() -> tuple[str, str]:
    """Name and text of the form; a file overrides the text area, and names a recipe that has no
    name yet. BadInput."""
    name = plain_text(request.form.get("name", ""), "name", most=100).strip()
    text = request.form.get("text", "")
    upload = request.files.get("file")
    if upload is not None and upload.filename:
        file_name = plain_text(upload.filename, "file", most=200)
        name = name or re.sub(r"[^a-z0-9._-]+", "-", file_name.lower().removesuffix(".toml")).strip(
            "-"
        )
        try:
            text = upload.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BadInput("file: not UTF-8 text", field="file") from None
    # A form sends CRLF; line numbers of errors are the same either way.
    return name.removesuffix(".toml"), text.replace("\r\n", "\n")


@bp.post("/recipes/check")
def check() -> BaseResponse:
    """Check what was sent, and show it; saving it takes another request."""
    draft = None
    name, text = "", ""
    try:
        name, text = _read_form()
        draft = _draft(name, text)
    except BadInput as error:
        return _with_problem(name, text, error)
    return Response(_page(draft, None), content_type="text/html; charset=utf-8")


@bp.post("/recipes")
def add() -> BaseResponse:
    """Save what was sent, if it has no errors."""
    name, text = "", ""
    try:
        name, text = _read_form()
        draft = _draft(recipe_names.check_name(name), text)
        _keep(draft)
    except BadInput as error:
        return _with_problem(name, text, error)
    return redirect(url_for("recipes.index", kept=name), 303)


def _with_problem(name: str, text: str, error: BadInput) -> BaseResponse:
    page = _page(Draft(name, text[:MOST_TEXT], error), error)
    return Response(page, status_of(error), content_type="text/html; charset=utf-8")


@bp.get("/recipes/<name>")
def recipe(name: str) -> str:
    recipe = document(name)
    starts, why_not = _autostart()
    is_autostart = name == page_state().settings.autostart_recipe
    return render_template(
        "recipe.html",
        recipe=recipe,
        autostart=starts,
        why_not=why_not if is_autostart else None,
        pin=_pin(_find(name)),
    )


@bp.post("/recipes/<name>/remove")
def remove(name: str) -> BaseResponse:
    _remove(name)
    return redirect(url_for("recipes.index"), 303)


def _remove(name: str) -> None:
    if not bench().remove_recipe(shelf.stored_name(name)):
        raise not_found(f"Recipe {name[:60]!r}: none was uploaded.")


# ---- the API


@bp.get("/api/v1/recipes")
def api_index() -> Response:
    """The stick's, those that were uploaded, the built-in ones."""
    return reply({"schema": "benchstick/recipes/2", "recipes": _list_recipes()})


@bp.post("/api/v1/recipes/check")
def api_check() -> Response:
    """List every error in `text`, a recipe's TOML. Nothing is saved."""
    body = json_body(("name", "text"))
    draft = _draft(plain_text(body.get("name") or "", "name", most=100), body.get("text"))
    return reply(
        {**documents.check(draft.result, draft.where), "lines": documents.lines(draft.result)}
    )


@bp.post("/api/v1/recipes")
def api_add() -> Response:
    """Save a recipe without errors; an uploaded one of the same name is replaced."""
    body = json_body(("name", "text"))
    name = recipe_names.check_name(plain_text(body.get("name"), "name", most=100))
    _keep(_draft(name, body.get("text")))
    return reply(document(name), 201)


@bp.get("/api/v1/recipes/<name>")
def api_recipe(name: str) -> Response:
    return reply(document(name))


@bp.post("/api/v1/recipes/<name>/remove")
def api_remove(name: str) -> Response:
    """Remove one that was uploaded; the body is empty or `{}`."""
    no_body()
    _remove(name)
    return reply({"schema": "benchstick/recipe-removed/1", "name": name})
