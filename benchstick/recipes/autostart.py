"""What the agent is given to test drives by themselves: the settings' slots and recipe, and
what the page asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchstick.drives.medium import to_token
from benchstick.drives.model import Drive
from benchstick.drives.slots import by_port
from benchstick.drives.tree import Tree
from benchstick.plan.errors import BadInput, Refused
from benchstick.plan.ticket import Ticket
from benchstick.recipes.hands import Begin, Hands, Test
from benchstick.store.settings import Settings, SettingsError


def hands(settings: Settings, home: Path, tell: Callable[[str], None]) -> Hands:
    """The slots of the settings, if any, and the tests that are asked for; `tell` takes a line for
    each event. SettingsError for a recipe that is not there or has a mistake: found out at the
    start, not with a drive in somebody's hand."""
    ports = settings.bench_ports
    if settings.autostart and not ports:
        raise SettingsError("settings", None, "autostart: it needs bench_ports to start on")

    def wanted(body: Mapping[str, Any], drive: Drive) -> Begin:
        name, typed = body.get("recipe"), body.get("erase")
        if not isinstance(name, str):
            raise BadInput("recipe: a recipe's name is wanted", field="recipe")
        if typed not in (None, drive.code):
            raise Refused(f"erase: {typed!r} is not the code of {drive.code}", field="erase")
        # On use, here and below: they bring the runner and every suite, and an agent without slots
        # waits most of its life.
        from benchstick.recipes import shelf
        from benchstick.recipes.read import read

        recipe = shelf.find(name, home)
        raw = recipe.raw()
        read(raw, recipe.file)
        medium = body.get("medium")
        to_token(medium)
        return _begin(settings, home, raw, recipe.file, erase=typed, medium=medium or None)

    begin = None
    if settings.autostart:
        from benchstick.recipes import shelf
        from benchstick.recipes.read import RecipeMistakes, read

        recipe = shelf.find(settings.autostart, home)
        raw = recipe.raw()
        try:
            read(raw, recipe.file)
        except RecipeMistakes as error:
            told = error.mistakes[0].told(recipe.file)
            said = f"autostart: {told}"
            raise SettingsError("settings", None, said, field="autostart") from None
        begin = _begin(settings, home, raw, recipe.file)
    return Hands(ports, settings.countdown, begin, tell=tell, wanted=wanted)


def _begin(
    settings: Settings, home: Path, raw: bytes, file: str, *, erase: str | None = None,
    medium: str | None = None,
) -> Begin:  # fmt: skip
    """What begins a test by this recipe. `erase` is the drive's code, typed by a person for the
    `medium` that was in the drive."""

    def begin(drive: Drive, slot: str, ticket: Ticket) -> Test:
        from benchstick.recipes.drive_test import Ask
        from benchstick.recipes.several import Asked, Child

        labels = {"asset": ticket.asset, "order": ticket.order, "operator": ticket.operator}
        ask = Ask(
            recipe=raw, file=file, drive=drive.code,
            expected=(drive.identity.key(), drive.diskseq),
            bench_ports=by_port(Tree(), settings.bench_ports), erase=erase,
            per_controller=settings.per_controller, scanned=ticket.serial or None,
            labels={name: text for name, text in labels.items() if text}, medium=medium,
        )  # fmt: skip
        return Child(Asked(drive, ask), home)

    return begin
