"""Folding: a time after the fast zone in which the drive is slower still than it can be.

What it is: the drive moves what its cache took into the flash proper, and has little left for what
comes meanwhile. From outside that is only a likely reading of the speeds. Our choice (no published
rule was found): a slow-down that begins where the fast zone ends and gives way to a speed between
the two, or a second lasting fall behind that of the knee. One with rising temperature can be
either thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.analysis.cache_knee import CacheKnees, Knee
from benchstick.analysis.change_points import Interval
from benchstick.analysis.slowdowns import SlowDown, SlowDowns

# How far from the knee a slow-down that belongs to it begins, in seconds and of its own length.
_NEAR_SECONDS, _NEAR_SHARE = 5.0, 0.1
# What comes after it must still be below the fast zone by this share.
_LEAST_FALL = 0.20


@dataclass(frozen=True)
class Fold:
    """One time of it: from and to in bytes written, `to_bytes` to some seconds, None up to the end
    of the fill; MB/s in it and beside it (after it, or before it where it does not end). `warm`:
    the temperature rose meanwhile."""

    from_bytes: int
    to_bytes: int | None
    mbps: float
    beside_mbps: float
    warm: bool


@dataclass(frozen=True)
class Folding:
    """`state` is `likely`, `unclear` (with rising temperature) or `none`."""

    state: str
    found: tuple[Fold, ...]
    text: str

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "found": [asdict(item) for item in self.found],
            "text": self.text,
        }


def find_folding(intervals: Sequence[Interval], knees: CacheKnees, slow: SlowDowns) -> Folding:
    """Folding in a sequential fill whose `knees` and slow-downs are known."""
    if knees.first is None:
        return Folding("none", (), "No folding: no fast zone was seen to end.")
    folds = tuple(
        sorted((*_after_knee(intervals, knees.first, slow), *_later(knees)),
               key=lambda fold: fold.from_bytes)
    )  # fmt: skip
    if not folds:
        return Folding("none", (), "No folding: after the fast zone the speed kept its level.")
    state = "unclear" if all(fold.warm for fold in folds) else "likely"
    return Folding(state, folds, _text(state, folds))


def _after_knee(intervals: Sequence[Interval], knee: Knee, slow: SlowDowns) -> Iterator[Fold]:
    for item in slow.found:
        near = max(_NEAR_SECONDS, _NEAR_SHARE * (item.to_seconds - item.from_seconds))
        if abs(item.from_seconds - knee.at_seconds) > near:
            continue
        if item.after_mbps <= (1 - _LEAST_FALL) * knee.before_mbps:
            yield Fold(
                from_bytes=knee.at_bytes,
                to_bytes=_done_at(intervals, item),
                mbps=item.slow_mbps,
                beside_mbps=item.after_mbps,
                warm=item.warming is not None,
            )


def _later(knees: CacheKnees) -> Iterator[Fold]:
    """Each knee after the first is the begin of a level below the one that follows the cache."""
    ends = [*(knee.at_bytes for knee in knees.knees[2:]), None]
    for knee, end in zip(knees.knees[1:], ends, strict=False):
        yield Fold(knee.at_bytes, end, knee.after_mbps, knee.before_mbps, warm=False)


def _done_at(intervals: Sequence[Interval], slow: SlowDown) -> int:
    """Bytes written when the slow-down was over."""
    clock, total = 0.0, 0
    for interval in intervals:
        clock = clock + interval.seconds if interval.t is None else interval.t
        if clock > slow.to_seconds:
            break
        total = interval.done
    return total


def _text(state: str, folds: Sequence[Fold]) -> str:
    parts = []
    for fold in folds:
        to = "on" if fold.to_bytes is None else f"to about {fold.to_bytes / 1e9:.1f} GB"
        than = "before" if fold.to_bytes is None else "after"
        parts.append(
            f"from {fold.from_bytes / 1e9:.2f} GB {to} ({fold.mbps:.0f} MB/s; "
            f"{fold.beside_mbps:.0f} MB/s {than})"
        )
    head = (
        "Folding or throttling, which look the same while it gets warmer:"
        if state == "unclear"
        else "The drive likely folds its cache"
    )
    return f"{head} {', '.join(parts)}."
