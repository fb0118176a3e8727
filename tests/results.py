"""Results for tests, written by the names that people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchstick.plan.quantity import quantity_of
from benchstick.store.legacy_names import fields_of_name
from benchstick.store.run_results import Figure


def named(*, name: str, unit: str, **fields: Any) -> Figure:
    """The result of this name and unit."""
    typed_fields = fields_of_name(name, unit)
    return Figure(
        test=typed_fields["test"],
        direction=typed_fields["direction"],
        quantity=quantity_of(typed_fields),
        unit=unit,
        **fields,
    )


def document(item: Mapping[str, Any]) -> dict[str, Any]:
    """A result's document with its fields_of_name fields."""
    return {**fields_of_name(item["name"], item["unit"]), **item}
