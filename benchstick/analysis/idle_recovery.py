"""How much of the fast zone comes back while the drive rests.

Our choice (no published rule was found): after the fill has left the fast zone, the drive idles
and is then written to for a short burst. The burst's mean speed lies between the fast and the slow
speed of the fill; from that follows how many of its bytes went at the fast speed, and so how much
of the fast zone had come back. Each burst uses up what came back, so each idle time is judged
independently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.plan.units import duration_text, size_text

# Fast and slow must differ by this much, else a burst's speed does not show how much was fast.
LEAST_FALL = 0.20
# A burst that was fast up to this share may have ended before the fast zone did.
_ALL_FAST = 0.95
_NONE_FAST = 0.05


@dataclass(frozen=True)
class Burst:
    """A burst of `moved` bytes in `seconds` after `idle_seconds` of idle time. `reason` is the
    reason why it cannot be used (its pass was invalid), None when it can."""

    idle_seconds: float
    moved: int
    seconds: float
    reason: str | None = None


@dataclass(frozen=True)
class CameBack:
    """The result of one burst. `fast_bytes` of the fast zone had come back, `share` of it (0 to 1;
    None when the zone's size is not known); both are None with a `reason` when the burst does not
    show it. `at_least`: the whole burst was fast, more may have come back."""

    idle_seconds: float
    mbps: float | None
    fast_bytes: int | None
    share: float | None
    at_least: bool
    reason: str | None
    text: str


@dataclass(frozen=True)
class IdleRecovery:
    """All bursts in order; `reason` is set when nothing could be judged."""

    bursts: tuple[CameBack, ...]
    reason: str | None
    text: str

    def to_json(self) -> dict[str, Any]:
        return {
            "bursts": [asdict(burst) for burst in self.bursts],
            "reason": self.reason,
            "text": self.text,
        }


def judge_recovery(
    bursts: Sequence[Burst],
    *,
    fast_mbps: float | None,
    slow_mbps: float | None,
    zone_bytes: int | None,
) -> IdleRecovery:
    """How much came back, by the bursts in the order in which they were written.

    `fast_mbps` and `slow_mbps` are the speeds before and after the knee, None when no knee was
    found; `zone_bytes` the size of the fast zone. ValueError for a burst without bytes or time.
    """
    if fast_mbps is None or slow_mbps is None:
        return _unknown("no fast zone was found that could come back")
    if not 0 < slow_mbps <= (1 - LEAST_FALL) * fast_mbps < math.inf:
        return _unknown(
            f"{fast_mbps:.0f} MB/s and {slow_mbps:.0f} MB/s are too close to each other"
        )
    if not bursts:
        return _unknown("no burst after an idle time was measured")
    recoveries = tuple(
        _came_back(burst, fast_mbps * 1e6, slow_mbps * 1e6, zone_bytes) for burst in bursts
    )
    return IdleRecovery(recoveries, None, _text(recoveries, zone_bytes))


def _came_back(burst: Burst, fast: float, slow: float, zone: int | None) -> CameBack:
    rest = duration_text(burst.idle_seconds)
    if burst.reason is not None:
        return CameBack(
            burst.idle_seconds, None, None, None, False, burst.reason,
            f"after {rest}: not known ({burst.reason})",
        )  # fmt: skip
    if not (burst.moved > 0 and 0 < burst.seconds < math.inf):
        raise ValueError(f"burst after {rest}: {burst.moved} bytes in {burst.seconds} s")
    # seconds = x / fast + (moved - x) / slow, solved for the fast bytes x.
    bytes_fast = (burst.moved / slow - burst.seconds) / (1 / slow - 1 / fast)
    part = bytes_fast / burst.moved
    at_least = part >= _ALL_FAST
    came = burst.moved if at_least else 0 if part < _NONE_FAST else round(bytes_fast)
    if zone is not None and came >= zone:
        # More than there is cannot come back; a zone smaller than the burst came back whole.
        came, at_least = zone, False
    share = came / zone if zone else None
    amount = f"{'at least ' if at_least else ''}{size_text(came)}" if came else "nothing"
    of_zone = f" ({100 * share:.0f} %)" if share is not None and came else ""
    return CameBack(
        burst.idle_seconds,
        burst.moved / burst.seconds / 1e6,
        came,
        share,
        at_least,
        None,
        f"after {rest}: {amount}{of_zone}",
    )


def _text(recoveries: Sequence[CameBack], zone: int | None) -> str:
    size = f"the fast zone's {size_text(zone)}" if zone else "the fast zone"
    return f"Of {size} came back " + ", ".join(burst.text for burst in recoveries) + "."


def _unknown(reason: str) -> IdleRecovery:
    return IdleRecovery((), reason, f"Recovery after idle is not known: {reason}.")
