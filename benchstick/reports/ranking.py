"""The ranked bars of a comparison, the name of its files, the colours of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.reports import formatting

# Colours of style.css for the runs that are not marked; the marked one has the accent.
_LOOKS = ("write", "third", "fifth", "sixth", "temp", "eighth", "seventh")
MARKED = "accent"


def name_of(document: Mapping[str, Any]) -> str:
    """The name of a comparison's files, without an end: `benchstick-compare-3-4`."""
    return "-".join(["benchstick-compare", *(str(item["run"]) for item in document["runs"])])


def looks_of(runs: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """A colour for each run, the same in all charts."""
    others = [item["run"] for item in runs if not item["under_test"]]
    looks = {number: _LOOKS[at % len(_LOOKS)] for at, number in enumerate(others)}
    return {item["run"]: MARKED if item["under_test"] else looks[item["run"]] for item in runs}


@dataclass(frozen=True)
class Bar:
    """One row of a ranked result. `width`, `low` and `high` are in percent of the longest."""

    row: Mapping[str, Any]
    width: float
    low: float | None
    high: float | None

    @property
    def counts(self) -> bool:
        """Whether its value is one to compare with."""
        return self.row["state"] in ("valid", "reference")

    @property
    def look(self) -> str:
        if self.row["state"] == "reference":
            return "ref"
        return "mine" if self.row["under_test"] else "other"


@dataclass(frozen=True)
class Ranked:
    """One result with its bars; `at` is its place in the document's `results`, from 1 on."""

    result: Mapping[str, Any]
    bars: Sequence[Bar]
    at: int


def ranked(result: Mapping[str, Any], at: int) -> Ranked:
    """The bars of result number `at`, scaled to the largest value or pass."""
    rows = result["rows"]
    longest = max(
        (row[name] for row in rows for name in ("value", "max") if row[name] is not None),
        default=0,
    )

    # Some room at the end, so that the last whisker is seen whole.
    longest *= 1.02

    def bar(row: Mapping[str, Any]) -> Bar:
        spread = len(row["passes"]) > 1
        return Bar(
            row=row,
            width=formatting.share(row["value"], longest) if _is_comparable(row) else 0.0,
            low=formatting.share(row["min"], longest) if spread else None,
            high=formatting.share(row["max"], longest) if spread else None,
        )

    return Ranked(result, [bar(row) for row in rows], at)


def _is_comparable(row: Mapping[str, Any]) -> bool:
    return row["state"] in ("valid", "reference")


def groups(results: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Ranked]]]:
    """The results by unit, in the order in which the units come first."""
    units = dict.fromkeys(result["unit"] for result in results)
    for unit in units:
        yield (
            unit,
            [ranked(result, at) for at, result in enumerate(results, 1) if result["unit"] == unit],
        )


def spread_text(row: Mapping[str, Any], unit: str) -> str:
    """`1058.3 to 1061.4 in 3 passes`: what the whisker shows."""
    count, every = len(row["passes"]), row["passes_all"]
    if not every:
        return ""
    if not count:
        return f"no valid pass of {every}"
    if every == 1:
        return "1 pass"
    least, most = value_text(row["min"], unit), value_text(row["max"], unit)
    if count < every:
        return f"{least} to {most} in {count} of {every} passes"
    return f"{least} to {most} in {every} passes"


def value_text(value: Any, unit: str) -> str:
    """A value without its unit where the heading has it, as its kind is shown elsewhere."""
    if value is None:
        return "–"
    if unit == "us":
        return formatting.latency(value)
    if unit == "MB/s":
        return formatting.speed(value)
    if unit in ("IOPS", "points"):
        return formatting.number(value, 0 if abs(value) >= 100 else 1)
    return formatting.value_with_unit(value, None)
