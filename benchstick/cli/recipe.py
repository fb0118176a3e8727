"""`benchstick recipe`: check, list and show recipes."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path

import click

from benchstick.cli.common import print_json, print_line, print_table, read_file
from benchstick.errors import EXIT_BAD_INPUT, BadInput
from benchstick.paths import data_folder
from benchstick.plan.plain import storable
from benchstick.plan.recipe_names import check_name
from benchstick.qa import recipe_library
from benchstick.recipes import describe, documents
from benchstick.recipes.model import Recipe
from benchstick.recipes.parser import RecipeMistakes, read
from benchstick.recipes.shelf import check_upload, stored_name
from benchstick.store import database, recipes, settings


@click.group()
def recipe() -> None:
    """Manage test recipes: suites, drives and limits."""


@recipe.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/recipe-check/2 document")
def check(path: Path, as_json: bool) -> int:
    """Check FILE and list every error as FILE:LINE: message."""
    try:
        recipe = read(read_file(path), str(path))
    except RecipeMistakes as error:
        if as_json:
            print_json(documents.check(error, str(path)))
        else:
            tell_mistakes(error, str(path))
        return EXIT_BAD_INPUT
    if as_json:
        print_json(documents.check(recipe, str(path)))
    else:
        print_line(f"{path}: {recipe.name}: {_counts(recipe)}; no errors")
    return 0


def tell_mistakes(error: RecipeMistakes, where: str) -> None:
    """Print each error on stderr as FILE:LINE: message."""
    for item in error.errors:
        print_line(item.format(where), file=sys.stderr)


def _counts(recipe: Recipe) -> str:
    suites, limits = len(recipe.entries), len(recipe.limits)
    return (f"{suites} suite{'s' if suites > 1 else ''}, "
            f"{limits} limit{'s' if limits > 1 else ''}")  # fmt: skip


@recipe.command("list")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/recipes/2 document")
def list_(as_json: bool) -> None:
    """List the recipes: built-in, uploaded, and on the stick."""
    shelf = [(item, documents.of_shelf(item)) for item in recipe_library.shelved()]
    if as_json:
        entries = [documents.build_entry(item, content) for item, content in shelf]
        print_json({"schema": "benchstick/recipes/2", "recipes": entries})
        return
    print_table(
        ("recipe", "at most", "suites", "about"),
        [(item.name, *_summarise(content)) for item, content in shelf],
    )


def _summarise(content: Recipe | BadInput) -> tuple[str, str, str]:
    if isinstance(content, BadInput):
        return "-", "-", storable(content.message) or ""
    most = describe.time_text(content.time_limit) if content.time_limit else "-"
    return most, " ".join(entry.suite for entry in content.entries), content.about


@recipe.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--toml", "as_toml", is_flag=True, help="the file itself, as a template for your own")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/recipe/1 document")
@click.option("--pin", is_flag=True, help="the line for the settings that starts it automatically")
def show(name: str, as_toml: bool, as_json: bool, pin: bool) -> None:
    """Show what a recipe does: one of `list`, or one in a file."""
    raw, where = source(name)
    recipe = read(raw, where)
    if pin:
        print(_pin_line(name, raw))
    elif as_toml:
        print(raw.decode("utf-8-sig"), end="")
    elif as_json:
        print_json(recipe.to_json())
    else:
        print("\n    ".join(describe.lines(recipe)))


def _pin_line(name: str, raw: bytes) -> str:
    """BadInput for a recipe that no setting can name."""
    if is_file(name):
        raise BadInput(
            f"{name}: --pin needs the name of a recipe of this bench; add the file first: "
            f"benchstick recipe add {shlex.quote(name)}",
            field="pin",
        )
    return f'autostart = "{settings.pinned(check_name(name), raw)}"'


@recipe.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--name", metavar="NAME", help="its name here (default: the file name)")
def add(path: Path, name: str | None) -> int:
    """Save the recipe in FILE on this bench, as the page does; one of the same name is replaced."""
    recipe_name = check_name(path.stem if name is None else name)
    raw = read_file(path)
    try:
        # As it is read later: a recipe without a name is called as its file.
        recipe = read(raw, f"{recipe_name}.toml")
    except RecipeMistakes as error:
        tell_mistakes(error, str(path))
        return EXIT_BAD_INPUT
    check_upload(recipe_name, recipe)
    with contextlib.closing(database.open_writer(data_folder())) as db:
        recipes.save(db, recipe_name, raw.decode("utf-8-sig"))
    print_line(f"{recipe_name} is kept (benchstick recipe show {recipe_name})")
    return 0


@recipe.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove a recipe that was added or uploaded."""
    with contextlib.closing(database.open_writer(data_folder())) as db:
        if not recipes.remove(db, stored_name(name)):
            raise BadInput(f"recipe {name[:60]!r}: none of that name was added", field="recipe")
    print_line(f"{name} is removed")


def is_file(name: str) -> bool:
    """Whether this means a file, not a recipe of the bench's."""
    if "/" in name or name.endswith(".toml"):
        return True
    # A file in this folder does not replace a recipe of the bench.
    return Path(name).exists() and name not in {item.name for item in recipe_library.shelved()}


def source(name: str) -> tuple[bytes, str]:
    """The text of a recipe and what its file is called. BadInput when there is none."""
    if is_file(name):
        return read_file(Path(name)), name
    item = recipe_library.find(name)
    return item.raw(), item.file
