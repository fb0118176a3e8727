"""Mean and spread of the passes of one test."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float | None:
    """The mean, None of nothing."""
    return statistics.fmean(values) if values else None


def deviation(values: Sequence[float]) -> float | None:
    """The sample standard deviation, None of fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else None
