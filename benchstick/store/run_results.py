"""The samples of each second, and how the store takes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INSERT_RESULT = (
    "INSERT INTO results (run, step, name, value, unit, pass, target, state, reason, detail_json,"
    " test, direction, metric, statistic, percentile, part)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One second of a drive's block-layer counters; see the samples table for the fields."""

    n: int
    t: float
    dt: float
    step_index: int | None
    read_bytes: int
    write_bytes: int
    discard_bytes: int
    reads: int
    writes: int
    discards: int
    flushes: int
    inflight: int
    queue: float

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}
