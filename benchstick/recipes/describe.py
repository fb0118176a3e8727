"""A recipe as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchstick.plan.units import duration_text, size_text
from benchstick.recipes import limits
from benchstick.recipes.model import CLAIM, ERRORS, HEAT, Entry, Limit, Recipe, Stop


def lines(recipe: Recipe) -> Iterator[str]:
    """The recipe, a line for each of its rules."""
    yield recipe.name + (f": {recipe.about}" if recipe.about else "")
    match = recipe.match
    if match.transport:
        yield f"for drives on {' or '.join(match.transport)}"
    if match.model:
        yield f"for models like {' or '.join(match.model)}"
    for bound in match.size:
        yield f"for drives of {bound.op} {size_text(bound.value)}"
    yield from _start(recipe)
    for entry in recipe.entries:
        yield f"runs {_entry(entry)}"
    for number, limit in enumerate(recipe.limits, 1):
        yield f"limit {number}: {limit_text(limit)}"
    for rule in recipe.stops:
        yield f"stops when {_stop(rule)}"
    if recipe.time_limit is not None:
        yield f"fails after {time_text(recipe.time_limit)}"
    if recipe.retries:
        yield f"tested again up to {recipe.retries} times"
    if recipe.allow_erase:
        kind = "used drives too" if recipe.erase_used else "blank drives only"
        yield f"erases without a code, on the ports of the bench: {kind}"
    if recipe.after.eject or recipe.after.power_off:
        yield f"then {'powers the drive off' if recipe.after.power_off else 'ejects the drive'}"


def _start(recipe: Recipe) -> Iterator[str]:
    start = recipe.start
    if start.full_link:
        yield "requires a full-speed link"
    if start.link is not None:
        yield f"requires a link of at least {start.link:g} Mb/s"
    if start.temperature is not None:
        yield f"requires at most {start.temperature:g} °C at the start"
    if start.trim:
        yield "requires TRIM that reaches the drive"


def _entry(entry: Entry) -> str:
    params: dict[str, Any] = dict(entry.params)
    params |= {
        name: value
        for name, value in (("target", entry.target), ("fs", entry.fs), ("scale", entry.scale))
        if value is not None
    }
    text = entry.suite + (f":{entry.preset}" if entry.preset else "")
    if params:
        text += f" ({', '.join(f'{name}={value}' for name, value in params.items())})"
    return f"{text}, no other drive at the same time" if entry.exclusive else text


def limit_text(limit: Limit) -> str:
    """`SEQ1M Q8T1 read of cdm >= 380 MB/s`."""
    unit = f" {limit.unit}" if limit.unit else ""
    if limit.of is not None:
        source = "the manufacturer's specification" if limit.of == CLAIM else limit.of
        share = f"{limit.percent:g} % of {source}"
        bound = source if limit.op == "~" else share
    elif isinstance(limit.value, tuple):
        bound = " or ".join(limits.format_value(item) for item in limit.value)
    else:
        bound = limits.format_value(limit.value) + unit
    within = f" within {limit.within:g} %" if limit.within is not None else ""
    return f"{limits.what(limit)} {limit.op} {bound}{within}"


def time_text(seconds: float) -> str:
    """`5 min`, `24 h`, without what is 0."""
    text = duration_text(seconds)
    for tail in (" 0 s", " 0 min"):
        text = text.removesuffix(tail)
    return text


def _stop(rule: Stop) -> str:
    if rule.kind == HEAT:
        return f"it is above {rule.value:g} °C"
    if rule.kind == ERRORS:
        return "there was an error" if rule.value == 1 else f"there were {rule.value:g} errors"
    return f"below {rule.value:g} MB/s for {time_text(rule.seconds)} in {rule.steps}"
