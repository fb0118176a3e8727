"""A typed result. It is found by its fields, never by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchstick.plan.quantity import FIELDS, Quantity, ResultKey
from benchstick.plan.states import Validity


@dataclass(frozen=True, kw_only=True)
class Result:
    """One measured number of a test. `direction`: read, write, mix or None. `pass_no` None means
    over all passes; `reason` is why it is invalid or skipped. `target` is empty in a suite's result
    over all passes that was measured on the run's own target. `detail`: the conditions and
    intermediate values."""

    step: str
    test: str
    quantity: Quantity
    value: float | None
    unit: str
    target: str = ""
    direction: str | None = None
    pass_no: int | None = None
    state: Validity = Validity.VALID
    reason: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> ResultKey:
        """What finds it among the results of its run and pass."""
        return ResultKey(self.test, self.quantity)

    @property
    def is_valid(self) -> bool:
        return self.state == Validity.VALID

    @property
    def valid_value(self) -> float | None:
        """None when it is not valid."""
        return self.value if self.is_valid else None

    @property
    def name(self) -> str:
        """What people read."""
        return self.key.name

    def column(self, name: str) -> Any:
        """The field that a document or a table calls `name`."""
        if name in FIELDS:
            return getattr(self.quantity, name)
        return getattr(self, "pass_no" if name == "pass" else name)

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
