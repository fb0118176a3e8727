"""Compares a measured rate with the limit that a test has set on the drive."""

from __future__ import annotations


def is_at_limit(rate: float, limit: float, raw: float) -> bool:
    """Whether the bench's rate is the drive's limit: at most 2 % above it, and either at most 6 %
    below it or at most 2 % further below it than raw fio's rate on the same drive.

    An emulated drive on a busy host is slower than its limit, for raw fio as well as for the bench.
    """
    return rate <= 1.02 * limit and rate >= min(0.94 * limit, raw - 0.02 * limit)
