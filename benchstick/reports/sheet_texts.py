"""The texts of a spec sheet and of its claims. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchstick.plan.units import binary_text
from benchstick.reports import formatting


def sheet_facts(sheet: Mapping[str, Any], price: float | None) -> list[tuple[str, str]]:
    """(title, text) of the fields of a sheet other than its claims."""
    facts: list[tuple[str, str]] = []
    raw, capacity = sheet["raw_nand"], sheet["capacity"]
    if raw is not None:
        text = binary_text(raw)
        if capacity is not None and raw > capacity:
            more = f"{100 * (raw - capacity) / capacity:.1f}"
            text = f"{text}, {more} % more than its capacity"
        facts.append(("Raw NAND", text))
    for name, title in (("nand", "Kind of NAND"), ("controller", "Controller")):
        if sheet[name] is not None:
            facts.append((title, sheet[name]))
    if sheet["warranty_years"] is not None:
        years = f"{sheet['warranty_years']:g} years"
        facts.append(("Warranty", years))
    if sheet["price"] is not None:
        paid = f"{sheet['price']:.2f} {sheet['currency']}"
        facts.append(("Price", f"{paid} on {sheet['price_date']}"))
    if price is not None:
        facts.append(("Price per GB", f"{price:.3f} {sheet['currency']}"))
    if sheet["source"] is not None:
        facts.append(("Source", sheet["source"]))
    return facts


def claimed_share(claim: Mapping[str, Any]) -> str:
    """Measured in percent of the specification, as `101 %`, or why there is nothing to compare."""
    if claim["percent"] is None:
        return str(claim["reason"])
    percent = formatting.number(claim["percent"], 0)
    if claim["better"] == "lower":
        return f"{percent} %; lower is better"
    return f"{percent} %"
