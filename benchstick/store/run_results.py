"""Results, and the samples of each second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchstick.plan.quantity import Quantity
from benchstick.plan.states import Validity


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured number of a test. `direction`: read, write, mix or None. `pass_no` None means
    over all passes; `state` is valid, invalid or skipped, with `reason` for the last two. `detail`:
    the conditions and intermediate values."""

    step: str
    test: str
    quantity: Quantity
    value: float | None
    unit: str
    target: str
    direction: str | None = None
    pass_no: int | None = None
    state: Validity = Validity.VALID
    reason: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What people read; made of test and quantity, and never taken apart again."""
        return f"{self.test}{self.quantity.suffix}"

    def to_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "name": self.name,
            "test": self.test,
            "direction": self.direction,
            **self.quantity.to_json(),
            "value": self.value,
            "unit": self.unit,
            "pass": self.pass_no,
            "target": self.target,
            "state": self.state,
            "reason": self.reason,
            "detail": dict(self.detail),
        }


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


def storable(text: str | None) -> str | None:
    """`text` with what is no Unicode (bytes of odd file names) escaped, as SQLite demands."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
