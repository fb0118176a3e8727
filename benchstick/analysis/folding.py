"""Folding: a time after the fast zone in which the drive is slower than its later steady speed.

The drive moves data from its cache to TLC or QLC flash and has little bandwidth left for new
writes. From the speeds alone folding is only likely. Our choice (no published rule was found): a
slow-down that starts where the fast zone ends and is followed by a speed between the two, or a
second lasting fall after the knee. A slow-down with rising temperature can also be throttling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.analysis.cache_knee import CacheKnees, Knee
from benchstick.analysis.change_points import Interval
from benchstick.analysis.slowdowns import SlowDown, SlowDowns
from benchstick.plan.states import FoldingState

# How far from the knee a slow-down that belongs to it starts, in seconds and of its own length.
_NEAR_SECONDS, _NEAR_SHARE = 5.0, 0.1
# What comes after it must still be below the fast zone by this share.
_LEAST_FALL = 0.20


@dataclass(frozen=True)
class Fold:
    """One time of folding: from and to in bytes written. `to_bytes` is accurate to some seconds,
    and None when folding lasts until the end of the fill. `mbps` is the speed during folding,
    `beside_mbps` the speed after it, or before it where it does not end. `warm`: the temperature
    rose during it."""

    from_bytes: int
    to_bytes: int | None
    mbps: float
    beside_mbps: float
    warm: bool


@dataclass(frozen=True)
class Folding:
    state: FoldingState
    folds: tuple[Fold, ...]
    text: str

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "found": [asdict(fold) for fold in self.folds],
            "text": self.text,
        }


def find_folding(intervals: Sequence[Interval], knees: CacheKnees, slow: SlowDowns) -> Folding:
    """Folding in a sequential fill whose `knees` and slow-downs are known."""
    if knees.first is None:
        return Folding(FoldingState.NONE, (), "No folding: no fast zone was seen to end.")
    folds = tuple(
        sorted((*_after_knee(intervals, knees.first, slow), *_later(knees)),
               key=lambda fold: fold.from_bytes)
    )  # fmt: skip
    if not folds:
        text = "No folding: after the fast zone the speed kept its level."
        return Folding(FoldingState.NONE, (), text)
    state = FoldingState.UNCLEAR if all(fold.warm for fold in folds) else FoldingState.LIKELY
    return Folding(state, folds, _text(state, folds))


def _after_knee(intervals: Sequence[Interval], knee: Knee, slow: SlowDowns) -> Iterator[Fold]:
    for item in slow.slow_downs:
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
    """Each knee after the first starts a level below the one that follows the cache."""
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
        total = interval.total
    return total


def _text(state: FoldingState, folds: Sequence[Fold]) -> str:
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
        if state == FoldingState.UNCLEAR
        else "The drive likely folds its cache"
    )
    return f"{head} {', '.join(parts)}."
