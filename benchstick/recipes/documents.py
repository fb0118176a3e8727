"""Recipes and their errors as documents, for the command line and the page."""

from __future__ import annotations

import functools
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.plain import storable
from benchstick.recipes import describe
from benchstick.recipes.model import Recipe
from benchstick.recipes.parser import RecipeMistakes, read
from benchstick.recipes.shelf import Shelved


@functools.lru_cache(maxsize=256)
def checked(raw: bytes, where: str) -> Recipe | RecipeMistakes:
    """The recipe, or all its errors. Cached: the same text is listed often."""
    try:
        return read(raw, where)
    except RecipeMistakes as error:
        return error.with_traceback(None)


def of_shelf(item: Shelved) -> Recipe | BadInput:
    """A recipe of the library, or its errors."""
    try:
        return checked(item.raw(), item.file)
    except BadInput as error:
        return error


def errors(result: Recipe | BadInput) -> list[dict[str, Any]]:
    """Its errors: `line` (None: in the whole), `field` and `message` of each."""
    if not isinstance(result, RecipeMistakes):
        return []
    return [
        {"line": item.line, "field": storable(item.field), "message": storable(item.message)}
        for item in result.errors
    ]


def check(result: Recipe | BadInput, where: str) -> dict[str, Any]:
    """The `benchstick/recipe-check/2` document."""
    return {
        "schema": "benchstick/recipe-check/2",
        "file": storable(where),
        "errors": errors(result),
    }


def build_entry(item: Shelved, result: Recipe | BadInput) -> dict[str, Any]:
    """A recipe of the library as in the `benchstick/recipes/2` document."""
    return {
        "name": storable(item.name),
        "origin": item.origin,
        "path": None if item.path is None else storable(str(item.path)),
        "recipe": result.to_json() if isinstance(result, Recipe) else None,
        "error": None if isinstance(result, Recipe) else storable(result.message),
        "errors": errors(result),
    }


def lines(result: Recipe | BadInput) -> list[str]:
    """The lines that describe a recipe; none for one with errors."""
    return list(describe.lines(result)) if isinstance(result, Recipe) else []
