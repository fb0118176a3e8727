"""What the agent is given to test drives by themselves: the settings' slots and recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchstick.drives.model import Drive
from benchstick.drives.slots import by_port
from benchstick.drives.tree import Tree
from benchstick.plan.ticket import Ticket
from benchstick.recipes import shelf
from benchstick.recipes.drive_test import Ask
from benchstick.recipes.hands import Hands, Test
from benchstick.recipes.read import RecipeMistakes, read
from benchstick.recipes.several import Asked, Child
from benchstick.store.settings import Settings, SettingsError


class _Child:
    """A test in a process of its own, as `hands` wants it."""

    def __init__(self, asked: Asked, home: Path) -> None:
        self._child = Child(asked, home)

    def is_alive(self) -> bool:
        return self._child.is_alive()

    def end(self) -> None:
        self._child.end()

    def verdict(self) -> Mapping[str, Any]:
        return self._child.verdict()


def hands(settings: Settings, home: Path) -> Hands | None:
    """The slots of the settings, None when they name none. SettingsError for a recipe that is not
    there or has a mistake: found out at the start, not with a drive in somebody's hand."""
    if not settings.bench_ports:
        if settings.autostart:
            raise SettingsError("settings", None, "autostart: it needs bench_ports to start on")
        return None
    if not settings.autostart:
        return Hands(settings.bench_ports, settings.countdown, None)
    recipe = shelf.find(settings.autostart, home)
    raw = recipe.raw()
    try:
        read(raw, recipe.file)
    except RecipeMistakes as error:
        told = error.mistakes[0].told(recipe.file)
        raise SettingsError("settings", None, f"autostart: {told}", field="autostart") from None

    def begin(drive: Drive, slot: str, ticket: Ticket) -> Test:
        labels = {"asset": ticket.asset, "order": ticket.order, "operator": ticket.operator}
        ask = Ask(
            recipe=raw, file=recipe.file, drive=drive.code,
            expected=(drive.identity.key(), drive.diskseq),
            bench_ports=by_port(Tree(), settings.bench_ports),
            per_controller=settings.per_controller, scanned=ticket.serial or None,
            labels={name: text for name, text in labels.items() if text},
        )  # fmt: skip
        return _Child(Asked(drive, ask), home)

    return Hands(settings.bench_ports, settings.countdown, begin)


