"""Folding on made series with known answers, false alarms included."""

from __future__ import annotations

import json

import pytest

from benchstick.analysis.cache_knee import find_knees
from benchstick.analysis.change_points import Interval
from benchstick.analysis.folding import Folding, find_folding
from benchstick.analysis.slowdowns import Reading, find_slow_downs
from tests.unit.made_series import GB, Speed, constant, falling, fill, slowed, zones


def folding_of(series: list[Interval], readings: list[Reading] | None = None) -> Folding:
    return find_folding(series, find_knees(series), find_slow_downs(series, readings or []))


@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("end", "slow", "after"), [(25, 60.0, 400.0), (35, 100.0, 300.0), (60, 100.0, 300.0)]
)
def test_a_slow_time_right_behind_the_fast_zone_that_ends(
    end: float, slow: float, after: float, noise: float, seed: int
) -> None:
    drive = zones((20, 800), (end, slow), (0, after))
    folding = folding_of(fill(drive, 80, noise=noise, seed=seed, wait=seed / 4))
    assert folding.state == "likely"
    (fold,) = folding.folds
    assert fold.from_bytes == pytest.approx(20 * GB, rel=0.03)
    # Where it ends is known to some seconds.
    assert fold.to_bytes == pytest.approx(end * GB, abs=3 * after * 1e6)
    assert (fold.mbps, fold.beside_mbps) == pytest.approx((slow, after), rel=0.05)


def test_a_third_level_below_the_one_after_the_cache() -> None:
    folding = folding_of(fill(zones((12, 800), (40, 200), (0, 60)), 55, noise=0.03))
    assert folding.state == "likely"
    (fold,) = folding.folds
    assert fold.from_bytes == pytest.approx(40 * GB, rel=0.03)
    assert fold.to_bytes is None
    assert (fold.mbps, fold.beside_mbps) == pytest.approx((60, 200), rel=0.05)
    assert folding.text == (
        f"The drive likely folds its cache from {fold.from_bytes / 1e9:.2f} GB on "
        f"({fold.mbps:.0f} MB/s; {fold.beside_mbps:.0f} MB/s before)."
    )
    assert json.loads(json.dumps(folding.to_json()))["found"][0]["to_bytes"] is None


CALM: dict[str, tuple[Speed, float, float | None]] = {
    "constant": (constant(200), 20, None),
    "a hard disk": (falling(200, 100, 50), 50, None),
    "one knee": (zones((20, 800), (0, 200)), 60, None),
    "one knee and pauses": (zones((20, 800), (0, 200)), 60, 3.0),
    "half the speed for a minute, no cache": (slowed(constant(400), 100, 160, 0.5), 80, None),
    "half the speed long after the knee": (
        slowed(zones((20, 800), (0, 200)), 150, 210, 0.5), 60, None,
    ),
    "half the speed in the fast zone": (slowed(zones((20, 500), (0, 200)), 10, 25, 0.5), 60, None),
    "slow at the start of a drive that is fast again": (
        slowed(constant(400), 20, 80, 0.3), 60, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALM)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_no_folding_is_invented(name: str, noise: float) -> None:
    speed, gb, pause_every = CALM[name]
    for seed in range(3):
        series = fill(speed, gb, noise=noise, seed=seed, pause_every=pause_every)
        folding = folding_of(series)
        assert (folding.state, folding.folds) == ("none", ()), (seed, folding.text)


def test_with_rising_temperature_it_is_unclear() -> None:
    series = fill(zones((20, 800), (25, 60), (0, 400)), 80)
    folding = folding_of(series, [(0, 40), (20, 55), (60, 70), (100, 72), (200, 60)])
    assert folding.state == "unclear"
    assert folding.text.startswith("Folding or throttling, which look the same")
    assert folding_of([]).text == "No folding: no fast zone was seen to end."
