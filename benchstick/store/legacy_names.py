"""Typed fields of results that older programs stored by their names alone.

Migration 017 and the import of bundles of version 1 use it; nothing else reads a name.
"""

from __future__ import annotations

import re
from typing import Any

from benchstick.plan.quantity import Metric, Quantity, Statistic

_PARTS = re.compile(
    r"(?P<test>.*?)"
    r"(?: (?P<words>IOPS|MB/s|latency|time|seconds|consistency|written)"
    r"(?: (?P<statistic>mean|min|max|stdev)| p(?P<percentile>\d+(?:\.\d+)?))?"
    r"(?: (?P<part>by second|from \d+ s|of the .*|until half|with a latency above .*))?)?"
)
_METRICS = {
    "IOPS": Metric.IOPS, "MB/s": Metric.SPEED, "latency": Metric.LATENCY, "time": Metric.TIME,
    "seconds": Metric.SECONDS, "consistency": Metric.CONSISTENCY, "written": Metric.BYTES_WRITTEN,
}  # fmt: skip
_BY_UNIT = {"points": Metric.SCORE, "%": Metric.SHARE, "GB": Metric.SIZE, "s": Metric.TIME}


def fields_of_name(name: str, unit: str) -> dict[str, Any]:
    """`test`, `direction` and the fields of the quantity of a result, from its name and unit."""
    match = _PARTS.fullmatch(name)
    assert match is not None, "the test may be any text"
    test, words = match["test"], match["words"]
    metric = _METRICS[words] if words else _BY_UNIT.get(unit, Metric.SPEED)
    percentile = float(match["percentile"]) if match["percentile"] else None
    statistic = Statistic(match["statistic"]) if match["statistic"] else None
    if percentile is not None:
        statistic = Statistic.PERCENTILE
    last = test.rpartition(" ")[2]
    direction = last if last in ("read", "write", "mix") else None
    quantity = Quantity(metric, statistic, percentile, match["part"])
    return {"test": test, "direction": direction, **quantity.to_json()}
