"""Verdicts as their pages show them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.recipes import limits
from webui.context import bench
from webui.errors import not_found
from webui.forms.inputs import number_in_path


def find(text: str) -> dict[str, Any]:
    """The `benchstick/verdict/2` document with its number. WebError 404."""
    number = number_in_path(text, "Verdict")
    verdict = bench().verdict(number)
    if verdict is None:
        raise not_found(f"Verdict {number}: there is no such verdict.")
    return verdict


def of_run(number: int) -> list[dict[str, Any]]:
    """Those that use a run; of an imported one also those that came with it, whose `number` is
    None."""
    return bench().verdicts_of_run(number)


def recipe_of(verdict: Mapping[str, Any]) -> str | None:
    """The name of the verdict's recipe, if the bench still has it with the same text."""
    digest = verdict["recipe"]["sha256"]
    for item in bench().shelved_recipes():
        with contextlib.suppress(BadInput):
            if hashlib.sha256(item.raw()).hexdigest() == digest:
                return item.name
    return None


def format_limit(limit: Mapping[str, Any]) -> dict[str, str]:
    """Measured, required and by how much it is off, as text."""
    unit = f" {limit['unit']}" if limit["unit"] else ""
    within = (
        f" ± {limits.format_value(limit['tolerance_percent'])} %"
        if limit["tolerance_percent"] is not None
        else ""
    )
    shortfall = (
        "" if limit["shortfall"] is None else f"{limits.format_value(limit['shortfall'])}{unit}"
    )
    if limit["shortfall_percent"] is not None:
        shortfall += f" ({limits.format_value(limit['shortfall_percent'])} %)"
    return {
        "measured": ""
        if limit["measured"] is None
        else f"{limits.format_value(limit['measured'])}{unit}",
        "required": f"{limit['op']} {_format_value(limit['required'])}{unit}{within}",
        "shortfall": shortfall,
    }


def _format_value(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " or ".join(limits.format_value(item) for item in value)
    return "–" if value is None else limits.format_value(value)
