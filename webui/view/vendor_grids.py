"""The results of ATTO-style and AS SSD-style runs in the layout of those programs' windows. Pure
functions of a result document; what is not in its format is left out, as it may come from another
version or another bench."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.plan.states import Validity

WAYS = ("write", "read")
# AS SSD counts in MiB/s, and shows the time of an access instead of a speed.
MIB = 1 << 20
ACCESS = "Acc.time"


@dataclass(frozen=True)
class Cell:
    """One measured speed: MB/s, IOPS and microseconds, None where there is none; why, where it is
    not valid; and its bar in percent of the longest."""

    mbps: float | None
    iops: float | None
    us: float | None
    state: str
    reason: str
    bar: float

    @property
    def mib(self) -> float | None:
        """The speed in MiB/s."""
        return None if self.mbps is None else self.mbps * 1e6 / MIB


@dataclass(frozen=True)
class Line:
    """A row: its name, and a cell for each of `WAYS`, None where it was not measured."""

    name: str
    cells: Mapping[str, Cell | None]

    @property
    def is_access(self) -> bool:
        """Shown by its time, not its speed."""
        return self.name == ACCESS


def atto(result: Mapping[str, Any]) -> list[Line]:
    """A row for each I/O size, empty where the run was of another suite."""
    return _lines(result.get("sizes"), "name")


def asssd(result: Mapping[str, Any]) -> list[Line]:
    """A row for each test of AS SSD's window."""
    return _lines(result.get("tests"), "test")


def scores(result: Mapping[str, Any]) -> dict[str, float]:
    """AS SSD's scores: read, write, total; those that count."""
    entries = result.get("scores")
    if not isinstance(entries, Mapping):
        return {}
    return {
        name: item["value"]
        for name, item in entries.items()
        if isinstance(item, Mapping) and item.get("state") == Validity.VALID
        and _number(item.get("value")) is not None
    }  # fmt: skip


def _lines(entries: Any, name: str) -> list[Line]:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return []
    rows = [row for row in entries if isinstance(row, Mapping) and isinstance(row.get(name), str)]
    # An access is of one small block: its speed cannot be compared with the others'.
    speeds = [_speed(row, way) for row in rows if row[name] != ACCESS for way in WAYS]
    best = max((speed for speed in speeds if speed is not None), default=0.0)
    return [Line(row[name], {way: _cell(row.get(way), best) for way in WAYS}) for row in rows]


def _speed(row: Mapping[str, Any], way: str) -> float | None:
    cell = row.get(way)
    if not isinstance(cell, Mapping) or cell.get("state") != Validity.VALID:
        return None
    return _number(cell.get("mbps"))


def _cell(cell: Any, best: float) -> Cell | None:
    if not isinstance(cell, Mapping):
        return None
    mbps = _number(cell.get("mbps"))
    bar = 100.0 * mbps / best if mbps is not None and best > 0 else 0.0
    return Cell(
        mbps,
        _number(cell.get("iops")),
        _number(cell.get("us")),
        str(cell.get("state")),
        str(cell.get("reason") or ""),
        round(min(100.0, max(0.0, bar)), 2),
    )


def _number(value: Any) -> float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and math.isfinite(value) else None
