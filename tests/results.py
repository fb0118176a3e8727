"""Results for tests, written by the names that people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchstick.plan.quantity import quantity_of
from benchstick.store.legacy_names import typed
from benchstick.store.records import Figure


def named(*, name: str, unit: str, **fields: Any) -> Figure:
    """The result of this name and unit."""
    typed_fields = typed(name, unit)
    return Figure(
        test=typed_fields["test"],
        direction=typed_fields["direction"],
        quantity=quantity_of(typed_fields),
        unit=unit,
        **fields,
    )


def document(item: Mapping[str, Any]) -> dict[str, Any]:
    """A result's document with its typed fields."""
    return {**typed(item["name"], item["unit"]), **item}
