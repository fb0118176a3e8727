"""The recipes that a bench has by name: the booted stick's, those uploaded in the page, those that
come with it. In this order: a shop's own may stand in for one of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchstick.plan.errors import BadInput, BenchError
from benchstick.recipes import ready
from benchstick.store import database, recipes
from benchstick.store.home import data_folder, stick_recipes

STICK, UPLOADED, OURS = "stick", "uploaded", "ready"


@dataclass(frozen=True)
class Shelved:
    """A recipe by its name. `origin` is where it is from, `text` that of an uploaded one, `path`
    the file of one of the stick's."""

    name: str
    origin: str
    path: Path | None = None
    text: str = ""

    @property
    def file(self) -> str:
        """What it is called where its mistakes are told."""
        return f"{self.name}.toml" if self.path is None else str(self.path)

    def raw(self) -> bytes:
        """Its text. BadInput when the file cannot be read."""
        if self.origin == OURS:
            return ready.raw(self.name)
        if self.path is None:
            return self.text.encode()
        try:
            with self.path.open("rb") as file:
                return file.read(recipes.MOST_BYTES + 1)
        except OSError as error:
            raise BadInput(f"{self.path}: {error.strerror}", field="recipe") from None


def folder() -> Path:
    """Where the stick's recipes are; not there on a host."""
    return stick_recipes()


def shelved(home: Path | None = None) -> list[Shelved]:
    """All of them in the order of their names."""
    found = {name: Shelved(name, OURS) for name in ready.names()}
    found |= {item.name: item for item in _uploaded(home or data_folder())}
    try:
        files = sorted(folder().iterdir())
    except OSError:
        files = []
    for path in files:
        # FAT keeps no case that anybody could rely on.
        if path.suffix.lower() == ".toml" and path.is_file():
            found[path.stem] = Shelved(path.stem, STICK, path)
    return [found[name] for name in sorted(found)]


def _uploaded(home: Path) -> Iterator[Shelved]:
    # A store that is not there, or cannot be read, has none.
    with contextlib.suppress(BenchError), contextlib.closing(database.open_reader(home)) as db:
        for row in recipes.listed(db):
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
