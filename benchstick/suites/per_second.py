"""Results of a test that is recorded by second: derived results, table, series.

Source: docs/methods/consistency.md, see `analysis.consistency`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchstick.analysis.consistency import FIRST, GOOD_LATENCY_US, LAST, LATE
from benchstick.analysis.series import scaled
from benchstick.plan.quantity import (
    IOPS_BY_SECOND,
    LATENCY_BY_SECOND,
    TIME_UNTIL_HALF,
    Metric,
    Quantity,
    ResultKey,
    Statistic,
)
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import Fio
from benchstick.plan.units import KIB
from benchstick.suites.charts import axis, by_second
from benchstick.suites.interface import over_all_passes
from benchstick.suites.single_pass import digits

# From this block size on reviewers show MB/s instead of IOPS.
_LARGE = 64 * KIB
# Parts of a test that runs by second.
STEADY_PART, LAST_PART = f"from {LATE} s", f"of the last {LAST} s"
_STATISTICS: Mapping[str, tuple[Statistic, float | None]] = {
    "mean": (Statistic.MEAN, None),
    "min": (Statistic.MIN, None),
    "p1": (Statistic.PERCENTILE, 1.0),
    "stdev": (Statistic.STDEV, None),
}
CONSISTENCY = Quantity(Metric.CONSISTENCY, part=LAST_PART)
SECONDS_ABOVE = Quantity(Metric.SECONDS, part=f"with a latency above {GOOD_LATENCY_US // 1000} ms")
# (part of the summary, its name, seconds it needs, its statistics)
_PARTS = (
    ("all", None, 1, ("mean", "min", "p1")),
    ("late", STEADY_PART, LATE + 1, ("mean", "min", "p1")),
    ("last", LAST_PART, LAST, ("mean", "stdev")),
)


@dataclass(frozen=True)
class BySecond:
    """The two results by second of one test, as far as it ran."""

    step: Fio
    iops: Result | None
    latency: Result | None

    @staticmethod
    def of(step: Fio, results: Sequence[Result]) -> BySecond:
        """Those of `step` among the results of a run."""
        by_quantity = {item.quantity: item for item in results if item.step == step.name}
        return BySecond(step, by_quantity.get(IOPS_BY_SECOND), by_quantity.get(LATENCY_BY_SECOND))

    @property
    def unit(self) -> str:
        """IOPS, or MB/s for large blocks."""
        return "MB/s" if self.step.job.block >= _LARGE else "IOPS"

    @property
    def _factor(self) -> float:
        return self.step.job.block / 1e6 if self.unit == "MB/s" else 1.0

    @property
    def _summary(self) -> Mapping[str, Any] | None:
        return None if self.iops is None else self.iops.detail.get("summary")

    def _scaled(self, value: float | None) -> float | None:
        return None if value is None else value * self._factor

    def results(self) -> Iterator[Result]:
        """Mean, worst and evenness of the whole run, from 1400 s on and of the last 400 s."""
        summary = self._summary
        if summary is None:
            if self.iops is not None:
                yield self._iops_result(self.quantity("mean"), None, self.unit, {}, 1)
            return
        for key, where, least, names in _PARTS:
            part = summary[key] or {}
            for name in names:
                value = self._scaled(part.get(name))
                yield self._iops_result(self.quantity(name, where), value, self.unit, part, least)
        last = summary["last"] or {}
        yield self._iops_result(CONSISTENCY, last.get("consistency"), "mean/stdev", last, LAST)
        yield self._half(summary)
        if self.latency is not None and "above" in self.latency.detail:
            above = self.latency.detail["above"]
            state, reason = self.latency.state, self.latency.reason
            yield self._result(SECONDS_ABOVE, above, "s", {}, state, reason)

    def result_keys(self) -> Iterator[ResultKey]:
        """The keys of `results` of a run that is long enough for all."""
        rates = [self.quantity(name, where) for _, where, _, names in _PARTS for name in names]
        for quantity in (*rates, CONSISTENCY, TIME_UNTIL_HALF, SECONDS_ABOVE):
            yield ResultKey(self.step.test, quantity)

    def quantity(self, statistic: str, part: str | None = None) -> Quantity:
        """A statistic of the rate by second, as the summaries name it."""
        metric = Metric.SPEED if self.unit == "MB/s" else Metric.IOPS
        return Quantity(metric, *_STATISTICS[statistic], part)

    def _result(
        self,
        quantity: Quantity,
        value: float | None,
        unit: str,
        detail: Mapping[str, Any],
        state: str,
        reason: str | None,
    ) -> Result:
        test = self.step.test
        iops_detail = self.iops.detail if self.iops is not None else {}
        own = {key: iops_detail[key] for key in ("drive_state",) if key in iops_detail}
        rows = [(test, quantity, value, unit, {**detail, **own})]
        (result,) = over_all_passes(test, rows, state, reason, self.step.direction)
        return result

    def _iops_result(
        self,
        quantity: Quantity,
        value: float | None,
        unit: str,
        detail: Mapping[str, Any],
        least: int,
    ) -> Result:
        """A result of the IOPS; skipped where the run is shorter than the `least` seconds."""
        assert self.iops is not None
        state, reason = self.iops.state, self.iops.reason
        if value is None and state == Validity.VALID:
            seconds = (self._summary or {"seconds": 0})["seconds"]
            short = f"needs {least} s, the series has {seconds} s"
            state = Validity.SKIPPED
            reason = short if seconds < least else "the seconds do not differ"
        return self._result(quantity, value, unit, detail, state, reason)

    def _half(self, summary: Mapping[str, Any]) -> Result:
        first, seconds = summary["first"], summary["seconds"]
        detail = {"first": self._scaled(first), "unit": self.unit}
        result = self._iops_result(TIME_UNTIL_HALF, summary["half_after"], "s", detail, 2 * FIRST)
        if result.state == Validity.SKIPPED and seconds >= 2 * FIRST:
            # A drive that never fell to half is a valid result.
            return replace(result, state=Validity.VALID, reason=f"never in {seconds} s")
        return result

    def tables(self) -> Iterator[dict[str, Any]]:
        """One table, with a row for each part that the run was long enough for."""
        summary = self._summary
        if summary is None or self.iops is None:
            return
        places = 1 if self.unit == "MB/s" else 0
        rows = []
        for key, where, _, _ in _PARTS:
            part = summary[key]
            if part is None:
                continue
            values = [self._scaled(part[name]) for name in ("mean", "min", "p1", "stdev")]
            rows.append(
                [
                    where or "whole run",
                    digits(part["seconds"]),
                    *(digits(value, places) for value in values),
                    digits(part["consistency"], 2),
                ]
            )
        title = f"{self.step.test}: {self.unit} by second"
        if self.iops.reason:
            title += f" ({self.iops.state}: {self.iops.reason})"
        columns = ["", "seconds", "mean", "min", "1st percentile", "stdev", "mean/stdev"]
        yield {"title": title, "columns": columns, "rows": rows}

    def speed_lines(self) -> list[dict[str, Any]]:
        """The line of the IOPS (or MB/s) with its `source`, and `reason` that is not fio; or
        none."""
        if self.iops is None or "series" not in self.iops.detail:
            return []
        detail = self.iops.detail
        line = by_second(self.unit, scaled(detail["series"], self._factor))
        return [{**line, "source": detail["source"], "reason": detail["source_reason"]}]

    def latency_lines(self) -> list[dict[str, Any]]:
        """The lines of the highest and the mean latency of each second, in us, as far as kept."""
        detail = self.latency.detail if self.latency is not None else {}
        return [
            by_second(f"latency {kind}", detail[kind]) for kind in ("max", "mean") if kind in detail
        ]

    def speed_axis(self, scale: str) -> dict[str, Any]:
        """The axis of `speed_lines`."""
        return axis("speed" if self.unit == "MB/s" else "IOPS", self.unit, scale)
