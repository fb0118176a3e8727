"""Whether the suites of a recipe can be planned at all, checked on made-up drives that match the
recipe. Pure functions.

What depends on the actual drive (its purge methods, the user's own folder) is checked later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan import run_queue
from benchstick.plan.quantity import ResultKey
from benchstick.plan.steps import Plan
from benchstick.recipes.model import Entry, Match
from benchstick.recipes.preconditions import why_no_match
from benchstick.suites import registry
from benchstick.suites.result_names import keys_of_plan

# Depends on the drive, or on the content of a folder.
_OF_THE_DRIVE = frozenset({"rung", "purge", "set", "source"})
_SIZES = tuple(10**9 * count for count in (1000, 500, 64, 2000, 4000, 250, 128, 16, 8, 20000))
_RAM = 1 << 40


def drives(match: Match) -> Iterator[dict[str, Any]]:
    """Made-up drives that match the recipe, likely ones first."""
    bounds = [bound.value for bound in match.size]
    for transport in match.transport or ("usb-uas",):
        for capacity in (*_SIZES, *bounds):
            facts = {
                "transport": transport, "usb_speed": 10000, "queue_depth": 32, "rotational": False,
                "write_cache": "enabled", "trim": True, "trim_kernel": 1 << 30,
                "logical_sector": 512, "physical_sector": 512,
            }  # fmt: skip
            drive = {
                "code": "made-up",
                "identity": {"model": "made up", "capacity": capacity, "drive_key": "made-up"},
                **{name: {"value": value, "unit": None, "source": "made up"}
                   for name, value in facts.items()},
            }  # fmt: skip
            if why_no_match(Match(transport=match.transport, size=match.size), drive) is None:
                yield drive


def why_never(entry: Entry, match: Match) -> BadInput | None:
    """Why the entry can be planned on none of the drives; None when it can, or when that depends on
    the actual drive."""
    wrong: BadInput | None = None
    for drive in drives(match):
        try:
            _plan(entry, drive)
        except BadInput as error:
            if error.field in _OF_THE_DRIVE:
                return None
            wrong = wrong or error
        else:
            return None
    return wrong


def why_not_in_order(entries: Sequence[Entry], match: Match) -> str | None:
    """Why the entries cannot follow each other; None when they can, or one cannot be planned on any
    of the drives that all others can be planned on."""
    wrong = None
    for drive in drives(match):
        try:
            plans = [_plan(entry, drive) for entry in entries]
        except BadInput:
            continue
        try:
            run_queue.check(plans)
        except BadInput as error:
            wrong = wrong or error.message
        else:
            return None
    return wrong


def results(entry: Entry, match: Match) -> list[ResultKey] | None:
    """The results that the entry gives on the drives; None where that depends on the actual
    drive."""
    keys: dict[ResultKey, None] = {}
    transports: set[str] = set()
    for drive in drives(match):
        transport = drive["transport"]["value"]
        if transport in transports:
            continue
        try:
            plan = _plan(entry, drive)
        except BadInput:
            continue
        transports.add(transport)
        keys |= dict.fromkeys(keys_of_plan(plan))
    return list(keys) if transports else None


def _plan(entry: Entry, drive: dict[str, Any]) -> Plan:
    return registry.make_plan(
        entry.suite, drive, entry.params, target=entry.target, fs=entry.fs, scale=entry.scale,
        ram=_RAM,
    )  # fmt: skip
