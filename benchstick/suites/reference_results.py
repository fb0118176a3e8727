"""Results measured elsewhere or published, read from a TOML or CSV file. Pure functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.plan.tabular_input import (
    checked_number,
    checked_text,
    decoded,
    line_of,
    parse_csv,
    parse_toml,
    wrong,
)
from benchstick.suites import registry

FIELDS = ("drive", "suite", "result", "value", "unit", "source")
# The key of a TOML file's tables.
_TABLE = "result"
# Files of earlier versions have this name for the field and for the tables.
OLD_NAMES = {"figure": "result"}
# The keys before the tables of a TOML file, which apply to all of them.
_FOR_ALL = ("drive", "suite", "source")
# Units of results, and others in which they are published: (unit stored, factor).
UNITS: Mapping[str, tuple[str, float]] = {
    "MB/s": ("MB/s", 1), "GB/s": ("MB/s", 1000), "IOPS": ("IOPS", 1), "points": ("points", 1),
    "us": ("us", 1), "ms": ("us", 1000), "s": ("s", 1), "GB": ("GB", 1), "%": ("%", 1),
}  # fmt: skip
MOST = 2000


@dataclass(frozen=True)
class Reference:
    """One result of a drive that was not measured on this bench, with its source."""

    drive: str
    suite: str
    result: str
    value: float
    unit: str
    source: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read(raw: bytes, where: str) -> list[Reference]:
    """The reference results in a file whose name, `where`, ends in .toml or .csv. BadInput of one
    line, `FILE: line N: what`, for the first error."""
    if where.lower().endswith(".csv"):
        references = _csv(decoded(raw, where), where)
    elif where.lower().endswith(".toml"):
        references = _toml(decoded(raw, where), where)
    else:
        wrong(where, None, "neither .toml nor .csv; name the file so")
    if not references:
        wrong(where, None, f"has no results: add a [[{_TABLE}]] table or a row")
    if len(references) > MOST:
        wrong(where, None, f"{len(references)} results; at most {MOST} in a file")
    return references


def _csv(text: str, where: str) -> list[Reference]:
    rows = parse_csv(text, where, FIELDS, OLD_NAMES)
    return _all(rows, where, lambda at, _: rows[at][0])


def _toml(text: str, where: str) -> list[Reference]:
    document = parse_toml(text, where)
    table = next((old for old in OLD_NAMES if old in document), _TABLE)
    for name in document:
        if name not in (*_FOR_ALL, table):
            wrong(where, line_of(text, name), f"{name[:60]!r}: not one of {_TABLE}, "
                  f"{', '.join(_FOR_ALL)}")  # fmt: skip
    tables = document.get(table, [])
    if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
        wrong(where, line_of(text, table), f"{table}: [[{table}]] tables are required")
    for_all = {name: document[name] for name in _FOR_ALL if name in document}

    def line(at: int, name: str | None) -> int:
        if name in for_all and name not in tables[at]:
            return line_of(text, name)
        return line_of(text, name, table=table, number=at)

    records = [
        (index, {OLD_NAMES.get(name, name): value for name, value in {**for_all, **item}.items()})
        for index, item in enumerate(tables)
    ]
    return _all(records, where, line)


def _all(
    records: list[tuple[int, dict[str, Any]]],
    where: str,
    line: Callable[[int, str | None], int],
) -> list[Reference]:
    """The records, checked; `line` gives the line of a field of the record at an index, or the
    record's first line for None."""
    references: list[Reference] = []
    indexes: dict[tuple[str, ...], int] = {}
    for index, (_, record) in enumerate(records):
        for name in record:
            if name not in FIELDS:
                wrong(where, line(index, name), f"{name[:60]!r}: not one of {', '.join(FIELDS)}")
        reference = _reference(record, where, functools.partial(line, index))
        key = (reference.drive, reference.suite, reference.result, reference.unit, reference.source)
        if key in indexes:
            wrong(
                where, line(index, None), f"the same result as on line {line(indexes[key], None)}"
            )
        indexes[key] = index
        references.append(reference)
    return references


def _reference(
    record: Mapping[str, Any], where: str, line: Callable[[str | None], int]
) -> Reference:
    args: dict[str, Any] = {}
    for name in FIELDS:
        if name not in record:
            wrong(where, line(None), f"{name}: is missing")
        try:
            if name == "value":
                args[name] = checked_number(record[name], name)
            else:
                args[name] = checked_text(record[name], name, most=500 if name == "source" else 200)
                _check_exists(name, args[name])
        except ValueError as error:
            wrong(where, line(name), str(error))
    args["unit"], factor = UNITS[args["unit"]]
    # 0.57 ms are 570 us, not 569.9999999999999.
    args["value"] = float(f"{args['value'] * factor:.12g}")
    return Reference(**args)


def _check_exists(name: str, text: str) -> None:
    """ValueError for an unknown suite or unit."""
    if name == "suite" and text not in registry.all_suites():
        there = ", ".join(registry.all_suites())
        raise ValueError(f"suite: {text[:60]!r} is none; there are {there}")
    if name == "unit" and text not in UNITS:
        raise ValueError(f"unit: {text[:60]!r} is none; there are {', '.join(UNITS)}")
