"""What the agent is given to test drives by themselves: the settings' slots and recipe, and
what the page asks for."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchstick.drives.bays import by_port
from benchstick.drives.medium import to_token
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive
from benchstick.errors import BadInput, Refused
from benchstick.plan.labels import Ticket
from benchstick.qa.autostart import Begin, Hands, Test
from benchstick.recipes.event_lines import line_of
from benchstick.store.database import utc_now
from benchstick.store.settings import Settings, SettingsError


def hands(settings: Settings, home: Path, tell: Callable[[str], None]) -> Hands:
    """The slots of the settings, if any, and the tests that are asked for; `tell` takes a line for
    each event. SettingsError for a recipe that is not there or has a mistake: found out at the
    start, not with a drive in somebody's hand. A recipe that `autostart` does not pin by its
    SHA-256 starts no test: the slots and a line on stderr say what to do."""
    ports = settings.bench_ports
    if settings.autostart and not ports:
        raise SettingsError("settings", None, "autostart: it needs bench_ports to start on")

    def wanted(body: Mapping[str, Any], drive: Drive) -> Begin:
        name, erase_code = body.get("recipe"), body.get("erase")
        if not isinstance(name, str):
            raise BadInput("recipe: a recipe's name is wanted", field="recipe")
        if erase_code not in (None, drive.code):
            raise Refused(f"erase: {erase_code!r} is not the code of {drive.code}", field="erase")
        # On use, here and below: they bring the runner and every suite, and an agent without slots
        # waits most of its life.
        from benchstick.recipes import library
        from benchstick.recipes.parser import read

        recipe = library.find(name, home)
        raw = recipe.raw()
        read(raw, recipe.file)
        medium = body.get("medium")
        to_token(medium)
        return _begin(settings, home, raw, recipe.file, erase=erase_code, medium=medium or None)

    begin = why_not = None
    if settings.autostart:
        from benchstick.recipes import library
        from benchstick.recipes.parser import RecipeMistakes, read

        recipe = library.find(settings.autostart_recipe, home)
        raw = recipe.raw()
        try:
            read(raw, recipe.file)
        except RecipeMistakes as error:
            mistake = error.mistakes[0].format(recipe.file)
            message = f"autostart: {mistake}"
            raise SettingsError("settings", None, message, field="autostart") from None
        why_not = pin_problem(settings, raw)
        if why_not is None:
            begin = _begin(settings, home, raw, recipe.file)
        else:
            print(f"benchstick agent: {why_not}", file=sys.stderr)
            tell(line_of({"time": utc_now(), "event": "autostart", "said": why_not}))
    return Hands(
        ports, settings.countdown, begin, tell=tell, request_reader=wanted, why_not=why_not
    )


def problem(settings: Settings, home: Path) -> str | None:
    """Why the recipe of `autostart` starts no test by itself; None also where none is set."""
    from benchstick.recipes import library

    if not settings.autostart:
        return None
    try:
        return pin_problem(settings, library.find(settings.autostart_recipe, home).raw())
    except BadInput as error:
        return f"autostart: {error.message}"


def pin_problem(settings: Settings, raw: bytes) -> str | None:
    """Why the recipe of `autostart`, whose file has these bytes, starts no test by itself; None
    where its SHA-256 is the one in the settings."""
    name, pin = settings.autostart_recipe, settings.autostart_sha256
    digest = hashlib.sha256(raw).hexdigest()
    if digest == pin:
        return None
    what = (
        f"the recipe {name!r} changed (its SHA-256 is {digest[:12]}..., the settings have "
        f"{pin[:12]}...)"
        if pin
        else f"the setting has no SHA-256 for the recipe {name!r}"
    )
    return (
        f"autostart: {what}: no test starts by itself; check the recipe, put the line that "
        f"'benchstick recipe show {name} --pin' prints into the settings, and restart the bench"
    )


def _begin(
    settings: Settings, home: Path, raw: bytes, file: str, *, erase: str | None = None,
    medium: str | None = None,
) -> Begin:  # fmt: skip
    """What begins a test by this recipe. `erase` is the drive's code, typed by a person for the
    `medium` that was in the drive."""

    def begin(drive: Drive, slot: str, ticket: Ticket) -> Test:
        from benchstick.qa.drive_session import Ask
        from benchstick.qa.parallel_drives import Asked, Child

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
