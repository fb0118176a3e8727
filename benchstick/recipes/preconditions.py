"""Conditions for the start of a test. Pure functions of a recipe and a drive's facts."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from benchstick.plan.states import GuardState
from benchstick.plan.units import size_text
from benchstick.recipes import codes
from benchstick.recipes.codes import Reason
from benchstick.recipes.model import Match, Recipe, Size, Start

# 1 TB is 1000.2 GB on one drive and 1000.0 on another.
_NEAR = 0.03
# The link's speed, and the maximum of drive and bridge, as facts.
_LINKS = (
    ("usb_speed", "usb_capable_speed"),
    ("sata_speed", "sata_capable_speed"),
    ("pcie_speed", "pcie_capable_speed"),
    ("pcie_width", "pcie_capable_width"),
)


def value_of(drive: Mapping[str, Any], name: str) -> Any:
    """The value of a drive's fact (of its JSON); None where it is not known."""
    fact = drive.get(name)
    return fact.get("value") if isinstance(fact, Mapping) else None


def why_not_of(drive: Mapping[str, Any], name: str) -> str:
    """Why a fact is not known."""
    fact = drive.get(name)
    reason = fact.get("reason") if isinstance(fact, Mapping) else None
    return str(reason or "this drive has no such fact")


# ---- which drives a recipe matches


def why_no_match(match: Match, drive: Mapping[str, Any]) -> str | None:
    """Why a recipe does not match this drive; None when it does."""
    transport = value_of(drive, "transport")
    if match.transport and transport not in match.transport:
        return f"transport {transport}, required {' or '.join(match.transport)}"
    identity = drive["identity"]
    name = " ".join(str(identity["model"]).lower().split())
    if match.model and not any(fnmatch.fnmatchcase(name, item.lower()) for item in match.model):
        return f"model {identity['model']}, required {' or '.join(match.model)}"
    capacity = identity.get("capacity")
    for bound in match.size:
        if not isinstance(capacity, int) or not _within(bound, capacity):
            size = size_text(capacity) if isinstance(capacity, int) else "unknown"
            return f"size {size}, required {bound.op} {size_text(bound.value)}"
    return None


def _within(bound: Size, capacity: int) -> bool:
    if bound.op == "~":
        return abs(capacity - bound.value) <= _NEAR * bound.value
    return {
        ">=": capacity >= bound.value,
        "<=": capacity <= bound.value,
        "==": capacity == bound.value,
    }[bound.op]


# ---- conditions at the start


def reasons(recipe: Recipe, drive: Mapping[str, Any]) -> list[Reason]:
    """Why a test of this drive would be inconclusive; empty when it may start."""
    wrong = why_no_match(recipe.match, drive)
    if wrong is not None:
        return [Reason(codes.NO_MATCH, f"the recipe does not match this drive: {wrong}")]
    return list(_starts(recipe.start, drive))


def _starts(start: Start, drive: Mapping[str, Any]) -> Iterator[Reason]:
    if start.full_link:
        yield from _slow_links(drive)
    if start.link is not None:
        speeds = [value_of(drive, name) for name in ("usb_speed", "sata_speed")]
        known_speeds = [speed for speed in speeds if isinstance(speed, int | float)]
        if known_speeds and max(known_speeds) < start.link:
            text = f"the link has {max(known_speeds):g} Mb/s, required at least {start.link:g}"
            yield Reason(codes.PORT_SPEED, text)
        elif not known_speeds:
            yield Reason(codes.FACT_UNKNOWN, "the speed of a USB or SATA link: not known")
    if start.temperature is not None:
        now = value_of(drive, "temperature")
        if now is None:
            reason = why_not_of(drive, "temperature")
            yield Reason(codes.FACT_UNKNOWN, f"temperature at the start: not known: {reason}")
        elif now > start.temperature:
            text = f"{now:g} °C at the start, required at most {start.temperature:g}"
            yield Reason(codes.TOO_HOT, text)
    if start.trim:
        yield from _no_trim(drive)


def _slow_links(drive: Mapping[str, Any]) -> Iterator[Reason]:
    is_known = False
    for name, best in _LINKS:
        now, can = value_of(drive, name), value_of(drive, best)
        if not isinstance(now, int | float) or not isinstance(can, int | float):
            continue
        is_known = True
        if now < can:
            unit = drive[name].get("unit") or ""
            text = f"{name} is {now:g} {unit}, the drive can {can:g}: take another port or cable"
            yield Reason(codes.PORT_SPEED, text)
    if not is_known:
        yield Reason(codes.FACT_UNKNOWN, "the link: not known what it has and what the drive can")


def _no_trim(drive: Mapping[str, Any]) -> Iterator[Reason]:
    """Both are needed: the drive supports TRIM, and the kernel can send it."""
    if value_of(drive, "trim") is False:
        yield Reason(codes.NO_TRIM, "TRIM: the drive or its bridge offers none")
    elif value_of(drive, "trim_kernel") == 0:
        yield Reason(codes.NO_TRIM, "TRIM: offered, but the kernel sends none through this bridge")
    elif value_of(drive, "trim_kernel") is None:
        reason = why_not_of(drive, "trim_kernel")
        yield Reason(codes.FACT_UNKNOWN, f"TRIM: not known: {reason}")


# ---- unattended erasing


def why_not_erased(
    recipe: Recipe,
    drive: Mapping[str, Any],
    *,
    bench_ports: Collection[str],
    is_hotplugged: bool,
    sample: Callable[[], str | None],
) -> Reason | None:
    """Why this drive's data may not be destroyed without a typed code; None when it may.

    All four conditions are needed: the recipe allows it; the drive's port is one of the bench's; it
    was plugged in while the agent was running (`is_hotplugged`); it is blank, or the recipe allows
    erasing used drives. A drive that is not free, or that the recipe does not match, is never
    erased. The reason lists each missing condition. `sample` reads from the drive and returns why
    it is not blank (`blank.why_not_blank`); it is called only where nothing else shows that it is
    not.
    """
    missing = []
    guard = drive.get("guard") or {}
    if guard.get("state") != GuardState.FREE:
        reason = guard.get("reason") or "nothing is known of it"
        missing.append(f"the drive is {guard.get('state') or 'not free'}: {reason}")
    wrong = why_no_match(recipe.match, drive)
    if wrong is not None:
        missing.append(f"the recipe does not match this drive: {wrong}")
    if not recipe.allow_erase:
        missing.append("the recipe does not say allow_erase = true")
    port = drive["identity"].get("port")
    if not port or port not in bench_ports:
        missing.append(f"port {port or 'unknown'} is not listed in bench_ports")
    if not is_hotplugged:
        missing.append("the drive was not plugged in while the agent was running")
    holds = value_of(drive, "contents")
    if not recipe.erase_used:
        why_not = holds or f"unknown ({why_not_of(drive, 'contents')})"
        if holds == "nothing":
            # A missing table and signature is not enough: a container without a header has neither.
            why_not = (
                sample() if recipe.allow_erase and guard.get("state") == GuardState.FREE else None
            )
        if why_not is not None:
            missing.append(f"the drive is not blank ({why_not}) and the recipe does not say "
                           "erase_used = true")  # fmt: skip
    if not missing:
        return None
    return Reason(codes.ERASE_NOT_ALLOWED, f"erase not allowed: {'; '.join(missing)}")
