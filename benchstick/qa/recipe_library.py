"""The recipes of a bench by name, with those that its store has (`recipes.shelf`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from benchstick.errors import BadInput, BenchError
from benchstick.paths import data_folder
from benchstick.recipes.shelf import UPLOADED, Shelved, arrange
from benchstick.store import database, recipes


def shelved(home: Path | None = None) -> list[Shelved]:
    """All of them in the order of their names, as `recipes.shelf.arrange` names them."""
    return arrange(_uploaded(home or data_folder()))


def _uploaded(home: Path) -> Iterator[Shelved]:
    # A store that is not there, or cannot be read, has none.
    with contextlib.suppress(BenchError), contextlib.closing(database.open_reader(home)) as db:
        for row in recipes.list_recipes(db):
            text = recipes.text_of(db, row["name"]) or ""
            yield Shelved(row["name"], UPLOADED, text=text)


def find(name: str, home: Path | None = None) -> Shelved:
    """One of them. BadInput naming those there are."""
    there = {item.name: item for item in shelved(home)}
    if name not in there:
        raise BadInput(
            f"recipe {name[:60]!r}: no such file, and none of that name; there are "
            f"{', '.join(there)}",
            field="recipe",
        )
    return there[name]
