"""Latencies in buckets of 1, 2, 5, 10, 20, 50, ... microseconds, and percentiles of bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction


def one_two_five(bins: Mapping[int, int]) -> list[tuple[int, int]]:
    """(upper bound in us, count) for each bucket, from the first that is not empty to the last.

    `bins` are counts by nanoseconds, as fio's json+ has them; its bins are up to 1.6 % wide, so
    that a request so near to a bound may be counted on its other side. A bucket holds what took
    more than the bound before and up to its own.
    """
    counts: Counter[int] = Counter()
    for nanoseconds, count in bins.items():
        counts[_upper(nanoseconds)] += count
    bounds_with_count = [bound for bound, count in counts.items() if count]
    if not bounds_with_count:
        return []
    bounds = [min(bounds_with_count)]
    while bounds[-1] < max(bounds_with_count):
        bounds.append(_upper(bounds[-1] * 1000 + 1))
    return [(bound, counts[bound]) for bound in bounds]


def percentile_of(bins: Mapping[int, int], percent: Fraction) -> int:
    """The bin that `percent` % of all counts do not exceed: how fio computes percentiles.

    ValueError of nothing.
    """
    threshold = percent / 100 * sum(bins.values())
    count_so_far = 0
    for place, count in sorted(bins.items()):
        count_so_far += count
        if count and count_so_far >= threshold:
            return place
    raise ValueError("no counts")


def _upper(nanoseconds: int) -> int:
    """The bound of the bucket, in us."""
    decade = 1
    while True:
        for step in (1, 2, 5):
            if nanoseconds <= step * decade * 1000:
                return step * decade
        decade *= 10
