"""Rules of the agent's unattended tests: the slots and the recipe of the settings, and the
requests of the page."""

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
from benchstick.qa.autostart import Begin, BenchSlots, Test
from benchstick.recipes.event_lines import line_of
from benchstick.recipes.model import Recipe
from benchstick.store.database import utc_now
from benchstick.store.settings import Settings, SettingsError


def make_slots(settings: Settings, home: Path, tell: Callable[[str], None]) -> BenchSlots:
    """The slots of the settings, if any, and the requested tests; `tell` takes a line for each
    event. SettingsError at the start for a recipe that does not exist or has an error. A recipe
    that `autostart` does not pin by its SHA-256 starts no test: the slots and a line on stderr show
    what to do."""
    ports = settings.bench_ports
    if settings.autostart and not ports:
        raise SettingsError("settings", None, "autostart: it needs bench_ports to start on")

    def read_request(body: Mapping[str, Any], drive: Drive) -> Begin:
        name, erase_code = body.get("recipe"), body.get("erase")
        if not isinstance(name, str):
            raise BadInput("recipe: expected a recipe's name", field="recipe")
        if erase_code not in (None, drive.code):
            raise Refused(f"erase: {erase_code!r} is not the code of {drive.code}", field="erase")
        # Imported on use, here and below: they load the runner and every suite, which an agent
        # without slots does not need.
        from benchstick.qa import recipe_library
        from benchstick.recipes.parser import read

        file = recipe_library.find(name, home)
        recipe = read(file.raw(), file.file)
        medium = body.get("medium")
        to_token(medium)
        return _begin(settings, home, recipe, erase=erase_code, medium=medium or None)

    begin = why_not = None
    if settings.autostart:
        from benchstick.qa import recipe_library
        from benchstick.recipes.parser import RecipeMistakes, read

        file = recipe_library.find(settings.autostart_recipe, home)
        raw = file.raw()
        try:
            recipe = read(raw, file.file)
        except RecipeMistakes as error:
            mistake = error.errors[0].format(file.file)
            message = f"autostart: {mistake}"
            raise SettingsError("settings", None, message, field="autostart") from None
        why_not = pin_problem(settings, raw)
        if why_not is None:
            begin = _begin(settings, home, recipe)
        else:
            print(f"benchstick agent: {why_not}", file=sys.stderr)
            tell(line_of({"time": utc_now(), "event": "autostart", "message": why_not}))
    return BenchSlots(
        ports, settings.countdown, begin, tell=tell, request_reader=read_request, why_not=why_not
    )


def problem(settings: Settings, home: Path) -> str | None:
    """Why the recipe of `autostart` starts no test; None also where none is set."""
    from benchstick.qa import recipe_library

    if not settings.autostart:
        return None
    try:
        return pin_problem(settings, recipe_library.find(settings.autostart_recipe, home).raw())
    except BadInput as error:
        return f"autostart: {error.message}"


def pin_problem(settings: Settings, raw: bytes) -> str | None:
    """Why the recipe of `autostart`, whose file has these bytes, starts no test; None where its
    SHA-256 is the one in the settings."""
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
        f"autostart: {what}: no test starts automatically; check the recipe, put the line that "
        f"'benchstick recipe show {name} --pin' prints into the settings, and restart the bench"
    )


def _begin(
    settings: Settings,
    home: Path,
    recipe: Recipe,
    *,
    erase: str | None = None,
    medium: str | None = None,
) -> Begin:
    """What starts a test with this recipe. `erase` is the drive's code, typed by a user for the
    `medium` that was in the drive."""

    def begin(drive: Drive, slot: str, ticket: Ticket) -> Test:
        from benchstick.qa.drive_session import DriveTestRequest
        from benchstick.qa.parallel_drives import Child, DriveRequest

        labels = {"asset": ticket.asset, "order": ticket.order, "operator": ticket.operator}
        test_request = DriveTestRequest(
            recipe=recipe, drive=drive.code,
            expected=(drive.identity.key(), drive.diskseq),
            bench_ports=by_port(Tree(), settings.bench_ports), erase=erase,
            per_controller=settings.per_controller, scanned_serial=ticket.serial or None,
            labels={name: text for name, text in labels.items() if text}, medium=medium,
        )  # fmt: skip
        return Child(DriveRequest(drive, test_request), home)

    return begin
