"""What a result is a value of: the metric, the statistic over its requests or seconds, the part.

A result is found by its test and its quantity. Its name, which people read, is made of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple


class Metric(StrEnum):
    """What is measured. The unit depends on it: MB/s, IOPS, us, s, mean/stdev, points, %, GB."""

    SPEED = "speed"
    IOPS = "iops"
    LATENCY = "latency"
    TIME = "time"
    # How many seconds of a test fulfil the condition that `part` states.
    SECONDS = "seconds"
    CONSISTENCY = "consistency"
    BYTES_WRITTEN = "written"
    SCORE = "score"
    SHARE = "share"
    SIZE = "size"


class Statistic(StrEnum):
    """Over the requests or seconds of a test. A latency without one is the mean."""

    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    STDEV = "stdev"
    PERCENTILE = "percentile"


_WORDS = {
    Metric.IOPS: " IOPS",
    Metric.LATENCY: " latency",
    Metric.TIME: " time",
    Metric.SECONDS: " seconds",
    Metric.CONSISTENCY: " consistency",
    Metric.BYTES_WRITTEN: " written",
}
FIELDS = ("metric", "statistic", "percentile", "part")


@dataclass(frozen=True)
class Quantity:
    """`percentile` in percent, for that statistic only; `part`: which part of the test, as text,
    None for the whole."""

    metric: Metric
    statistic: Statistic | None = None
    percentile: float | None = None
    part: str | None = None

    @property
    def suffix(self) -> str:
        """What follows the test in a result's name: ` latency p99.9`. Nothing for the speed."""
        words = _WORDS.get(self.metric, "")
        if self.metric == Metric.SPEED and self.statistic is not None:
            words = " MB/s"
        if self.statistic == Statistic.PERCENTILE:
            words += f" p{self.percentile:g}"
        elif self.statistic is not None:
            words += f" {self.statistic}"
        return words if self.part is None else f"{words} {self.part}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}


SPEED = Quantity(Metric.SPEED)
IOPS = Quantity(Metric.IOPS)
LATENCY = Quantity(Metric.LATENCY)
LATENCY_MAX = Quantity(Metric.LATENCY, Statistic.MAX)
TIME = Quantity(Metric.TIME)
IOPS_BY_SECOND = Quantity(Metric.IOPS, part="by second")
LATENCY_BY_SECOND = Quantity(Metric.LATENCY, part="by second")
TIME_UNTIL_HALF = Quantity(Metric.TIME, part="until half")
SCORE = Quantity(Metric.SCORE)
SHARE = Quantity(Metric.SHARE)
SIZE = Quantity(Metric.SIZE)


def latency_percentile(percentile: float) -> Quantity:
    """A percentile of the latency of single requests."""
    return Quantity(Metric.LATENCY, Statistic.PERCENTILE, percentile)


def quantity_of(result: Mapping[str, Any]) -> Quantity:
    """The quantity of a result's document or row."""
    statistic = result["statistic"]
    return Quantity(
        Metric(result["metric"]),
        None if statistic is None else Statistic(statistic),
        result["percentile"],
        result["part"],
    )


class ResultKey(NamedTuple):
    """What finds a result among those of its run and pass."""

    test: str
    quantity: Quantity

    @property
    def name(self) -> str:
        """What people read and write."""
        return f"{self.test}{self.quantity.suffix}"

    def to_json(self) -> dict[str, Any]:
        return {"test": self.test, **self.quantity.to_json()}


def key_of(result: Mapping[str, Any]) -> ResultKey:
    """The key of a result's document or row."""
    return ResultKey(result["test"], quantity_of(result))


_NAME = re.compile(
    r"(?P<test>.*?)"
    r"(?: (?P<words>IOPS|MB/s|latency|time|seconds|consistency|written)"
    r"(?: (?P<statistic>mean|min|max|stdev)| p(?P<percentile>\d+(?:\.\d+)?))?"
    r"(?: (?P<part>by second|from \d+ s|of the .*|until half|with a latency above .*))?)?",
    re.DOTALL,
)
_METRICS = {"MB/s": Metric.SPEED, **{word.strip(): metric for metric, word in _WORDS.items()}}
# Names without a word for what is measured are mostly those of speeds.
_BY_UNIT = {"points": Metric.SCORE, "%": Metric.SHARE, "GB": Metric.SIZE, "s": Metric.TIME}


def read_name(name: str, unit: str | None) -> ResultKey:
    """The key of the result that a person, or an older program, calls `name`.

    This is the only place that takes a name apart: what comes from outside is read here once.
    """
    match = _NAME.fullmatch(name)
    assert match is not None, "the test may be any text"
    words, percentile, statistic = match["words"], match["percentile"], match["statistic"]
    metric = _METRICS[words] if words else _BY_UNIT.get(unit or "", Metric.SPEED)
    quantity = Quantity(
        metric,
        Statistic.PERCENTILE if percentile else Statistic(statistic) if statistic else None,
        float(percentile) if percentile else None,
        match["part"],
    )
    return ResultKey(match["test"], quantity)


# The results of a purge.
PURGE, MARKS_GONE = "purge", "marks gone"
OVERWRITE = {way: f"overwrite {way}" for way in ("write", "read")}
PURGE_TIME, MARKS_SHARE = ResultKey(PURGE, TIME), ResultKey(MARKS_GONE, SHARE)
