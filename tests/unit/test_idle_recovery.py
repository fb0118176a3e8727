"""How much of the fast zone came back, from bursts with known answers."""

from __future__ import annotations

import json

import pytest

from benchstick.analysis.idle_recovery import Burst, judge_recovery

GB = 10**9


def burst(idle: float, fast_gb: float, gb: float = 4.0) -> Burst:
    """A burst of `gb`, its first `fast_gb` at 400 MB/s and the rest at 100 MB/s."""
    return Burst(idle, round(gb * GB), fast_gb * 1000 / 400 + (gb - fast_gb) * 1000 / 100)


def test_how_much_came_back_after_each_idle_time() -> None:
    verdict = judge_recovery(
        [burst(30, 0.5), burst(300, 3.0), burst(1800, 4.0)],
        fast_mbps=400, slow_mbps=100, zone_bytes=12 * GB,
    )  # fmt: skip
    assert [one.fast_bytes for one in verdict.bursts] == [0.5 * GB, 3 * GB, 4 * GB]
    assert [one.share for one in verdict.bursts] == pytest.approx([0.5 / 12, 0.25, 4 / 12])
    assert [one.at_least for one in verdict.bursts] == [False, False, True]
    assert verdict.bursts[1].mbps == pytest.approx(4000 / 17.5)
    assert verdict.text == (
        "Of the fast zone's 12.00 GB came back after 30 s: 500.00 MB (4 %), "
        "after 5 min 0 s: 3.00 GB (25 %), after 30 min 0 s: at least 4.00 GB (33 %)."
    )


@pytest.mark.parametrize("fast_gb", [0.5, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("error", [-0.03, 0.03])
def test_a_small_error_of_the_speed_moves_the_answer_little(fast_gb: float, error: float) -> None:
    exact = burst(30, fast_gb)
    noisy = Burst(30, exact.moved, exact.seconds * (1 + error))
    (one,) = judge_recovery([noisy], fast_mbps=400, slow_mbps=100, zone_bytes=None).bursts
    assert one.fast_bytes == pytest.approx(fast_gb * GB, abs=0.16 * GB)
    assert one.share is None


def test_nothing_and_everything() -> None:
    verdict = judge_recovery(
        [burst(30, 0.0), Burst(300, 4 * GB, 4000 / 95), burst(1800, 2.0, gb=2.0),
         Burst(3600, 4 * GB, 4000 / 450)],
        fast_mbps=400, slow_mbps=100, zone_bytes=2 * GB,
    )  # fmt: skip
    assert [one.fast_bytes for one in verdict.bursts] == [0, 0, 2 * GB, 2 * GB]
    assert [one.share for one in verdict.bursts] == [0, 0, 1, 1]
    # The whole zone is back: there cannot be more.
    assert [one.at_least for one in verdict.bursts] == [False] * 4
    assert "after 30 s: nothing, after 5 min 0 s: nothing," in verdict.text


def test_an_unknown_recovery_has_the_reason() -> None:
    no_knee = judge_recovery([burst(30, 1)], fast_mbps=None, slow_mbps=None, zone_bytes=None)
    assert (no_knee.bursts, no_knee.reason) == ((), "no fast zone was found that could come back")
    near = judge_recovery([burst(30, 1)], fast_mbps=400, slow_mbps=390, zone_bytes=GB)
    assert "too close to each other" in near.text
    none = judge_recovery([], fast_mbps=400, slow_mbps=100, zone_bytes=GB)
    assert "no burst" in none.text
    for verdict in (no_knee, near, none):
        assert verdict.text == f"Recovery after idle is not known: {verdict.reason}."


def test_an_invalid_burst_is_listed_with_the_others() -> None:
    invalid = Burst(30, 0, 0.0, reason="counters: nothing was moved")
    verdict = judge_recovery(
        [invalid, burst(300, 1.0)], fast_mbps=400, slow_mbps=100, zone_bytes=4 * GB
    )
    assert verdict.bursts[0].fast_bytes is None
    assert verdict.bursts[1].fast_bytes == GB
    assert "after 30 s: not known (counters: nothing was moved)" in verdict.text
    document = json.loads(json.dumps(verdict.to_json(), allow_nan=False))
    assert [item["fast_bytes"] for item in document["bursts"]] == [None, GB]


@pytest.mark.parametrize(("byte_count", "seconds"), [(0, 1.0), (GB, 0.0), (-1, 1.0)])
def test_a_burst_without_bytes_or_time_is_an_error(byte_count: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="burst after 30 s"):
        judge_recovery([Burst(30, byte_count, seconds)], fast_mbps=4, slow_mbps=1, zone_bytes=None)
