"""The recipes of a bench by name: the built-in ones, those on the booted stick, and those that were
uploaded in the page.

A recipe on the stick may replace a built-in one: whoever writes the stick owns the bench. An
uploaded recipe never has the name of either: the page's visitors are not the bench's owner.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchstick.errors import BadInput
from benchstick.paths import stick_recipes
from benchstick.plan.recipe_names import MOST_BYTES
from benchstick.recipes import ready
from benchstick.recipes.model import Recipe
from benchstick.recipes.parser import read

STICK, UPLOADED, OURS = "stick", "uploaded", "ready"
_OWNERS = {STICK: "a recipe on the stick", OURS: "a built-in recipe"}
# Before the name of an uploaded recipe whose own name is taken. No name may have a colon.
_ASIDE = f"{UPLOADED}:"
# Digits that look like letters.
_ALIKE = str.maketrans("01", "ol")


@dataclass(frozen=True)
class Shelved:
    """A recipe by its name. `origin` is its source, `text` that of an uploaded one, `path` the
    file of one on the stick."""

    name: str
    origin: str
    path: Path | None = None
    text: str = ""

    @property
    def stored_name(self) -> str:
        """The name under which an uploaded recipe is kept in the store."""
        return stored_name(self.name)

    @property
    def file(self) -> str:
        """Its name in error messages."""
        return f"{self.name}.toml" if self.path is None else str(self.path)

    def raw(self) -> bytes:
        """Its text. BadInput when the file cannot be read."""
        if self.origin == OURS:
            return ready.raw(self.name)
        if self.path is None:
            return self.text.encode()
        try:
            with self.path.open("rb") as file:
                return file.read(MOST_BYTES + 1)
        except OSError as error:
            raise BadInput(f"{self.path}: {error.strerror}", field="recipe") from None


def folder() -> Path:
    """Where the stick's recipes are; not there on a host."""
    return stick_recipes()


def stored_name(name: str) -> str:
    """The name in the store of the uploaded recipe that is listed as `name`."""
    return name.removeprefix(_ASIDE)


def arrange(uploads: Iterable[Shelved]) -> list[Shelved]:
    """All of them, with these uploaded ones, in the order of their names. An uploaded one whose
    name is taken, or looks like another's, is `uploaded:NAME`: it is shown and can be removed, and
    replaces nothing."""
    shelf = {item.name: item for item in _owned()}
    likenesses = {_likeness(name) for name in shelf}
    for item in uploads:
        aside = _ASIDE if _likeness(item.name) in likenesses else ""
        shelf[f"{aside}{item.name}"] = replace(item, name=f"{aside}{item.name}")
    return [shelf[name] for name in sorted(shelf)]


def _owned() -> list[Shelved]:
    """The built-in ones, and those on the stick, which replace them."""
    shelf = {name: Shelved(name, OURS) for name in ready.names()}
    try:
        files = sorted(folder().iterdir())
    except OSError:
        files = []
    for path in files:
        # FAT does not preserve case reliably.
        if path.suffix.lower() == ".toml" and path.is_file():
            shelf[path.stem] = Shelved(path.stem, STICK, path)
    return list(shelf.values())


def _likeness(name: str) -> str:
    """What names that a person may confuse have in common: case, separators, blanks around them,
    digits that look like letters, other forms of the same letters."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE)
    return re.sub(r"[\s._-]+", "-", plain).strip("-")


def check_upload(name: str, recipe: Recipe) -> None:
    """BadInput when an uploaded recipe has the name of a built-in one or of one on the stick, in
    the library or in its verdicts."""
    for item in _owned():
        owner = _OWNERS[item.origin]
        if _likeness(item.name) == _likeness(name):
            raise BadInput(
                f"name: {name!r} is taken by {item.name!r}, {owner}; choose another name",
                field="name",
            )
        if _likeness(recipe.name) in {_likeness(title) for title in _titles(item)}:
            raise BadInput(
                f"name: the recipe calls itself {recipe.name!r}, as {item.name!r} does, {owner}; "
                'change name = "..." in its text',
                field="text",
            )


def _titles(item: Shelved) -> Iterator[str]:
    """The names of a recipe in the library and in its verdicts."""
    yield item.name
    with contextlib.suppress(BadInput):
        yield read(item.raw(), item.file).name
