"""Results for tests, written by the names that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.plan.quantity import quantity_of
from benchstick.plan.result import Result, result_from_json
from benchstick.plan.steps import Fio, Plan
from benchstick.store.legacy_names import fields_of_name
from benchstick.suites.interface import RoundSuite, Suite, SuiteResult


def named(*, name: str, unit: str, **fields: Any) -> Result:
    """The result of this name and unit."""
    typed_fields = fields_of_name(name, unit)
    return Result(
        test=typed_fields["test"],
        direction=typed_fields["direction"],
        quantity=quantity_of(typed_fields),
        unit=unit,
        **fields,
    )


def document(item: Mapping[str, Any]) -> dict[str, Any]:
    """A result's document with its fields_of_name fields."""
    return {**fields_of_name(item["name"], item["unit"]), **item}


@dataclass(frozen=True)
class Outcome:
    """A suite's result with the documents of its results over all passes."""

    results: Sequence[dict[str, Any]]
    document: Mapping[str, Any]
    events: Sequence[tuple[str, str]]


def outcome(result: SuiteResult) -> Outcome:
    """`result` as the run's document has it."""
    return Outcome([item.to_json() for item in result.results], result.document, result.events)


def results_from(documents: Sequence[Mapping[str, Any]]) -> list[Result]:
    """The results that these documents are of."""
    return [result_from_json({"step": "", "pass": 1, "value": None, **item}) for item in documents]


def result_of(
    suite: Suite, plan: Plan, documents: Sequence[Mapping[str, Any]], drive: Mapping[str, Any]
) -> Outcome:
    """The suite's result of the results that these documents are of."""
    return outcome(suite.result(plan, results_from(documents), drive))


def over(
    suite: RoundSuite, plan: Plan, step: Fio, documents: Sequence[Mapping[str, Any]]
) -> str | None:
    """Why the round of `step` is not needed after the results that these documents are of."""
    return suite.over(plan, step, results_from(documents))
