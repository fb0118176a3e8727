"""Slow-downs on made series with known answers, false alarms included."""

from __future__ import annotations

import json

import pytest

from benchstick.analysis.slowdowns import find_slow_downs
from tests.unit.made_series import GB, constant, fill, slowed, zones
from tests.unit.test_knee import CALM

HALF_A_MINUTE = slowed(constant(400), 100, 160, 0.5)


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_half_the_speed_for_a_minute_is_reported_with_its_times_and_depth(
    noise: float, seed: int
) -> None:
    verdict = find_slow_downs(fill(HALF_A_MINUTE, 80, noise=noise, seed=seed))
    assert verdict.state == "slowdown"
    (slow,) = verdict.slow_downs
    assert slow.from_seconds == pytest.approx(100, abs=2)
    assert slow.to_seconds == pytest.approx(160, abs=2)
    assert slow.depth == pytest.approx(0.5, abs=0.04)
    assert slow.slow_mbps == pytest.approx(200, rel=0.06)
    assert (slow.before_mbps, slow.after_mbps) == pytest.approx((400, 400), rel=0.06)
    assert (slow.cause, slow.warming, slow.in_pause) == ("unknown", None, False)


def test_the_sentence() -> None:
    verdict = find_slow_downs(fill(HALF_A_MINUTE, 80))
    assert verdict.text == (
        "The drive slowed down by 50 % from 1 min 40 s to 2 min 40 s (to 200 MB/s; 400 MB/s "
        "before, 400 MB/s after), cause unknown."
    )
    document = json.loads(json.dumps(verdict.to_json(), allow_nan=False))
    assert document["found"][0]["from_seconds"] == 100
    assert document["found"][0]["warming"] is None


def test_a_minute_is_found_in_an_hour() -> None:
    verdict = find_slow_downs(fill(slowed(constant(400), 2000, 2060, 0.5), 1400, noise=0.08))
    (slow,) = verdict.slow_downs
    assert (slow.from_seconds, slow.to_seconds) == pytest.approx((2000, 2060), abs=2)


def test_a_gradual_way_down_and_up() -> None:
    def speed(t: float, total_bytes: float) -> float:
        return 400 * (1 - 0.6 * max(0.0, 1 - abs(t - 150) / 60))

    (slow,) = find_slow_downs(fill(speed, 100, noise=0.02)).slow_downs
    assert slow.from_seconds == pytest.approx(100, abs=15)
    assert slow.to_seconds == pytest.approx(200, abs=15)
    assert 0.45 < slow.depth < 0.61


def test_several_slow_downs_are_counted() -> None:
    def speed(t: float, total_bytes: float) -> float:
        return 100.0 if t % 60 > 40 else 400.0

    verdict = find_slow_downs(fill(speed, 90, noise=0.03))
    assert len(verdict.slow_downs) == 4
    assert verdict.text.startswith("The drive slowed down 4 times, cause unknown; the deepest was ")
    for number, slow in enumerate(verdict.slow_downs):
        assert slow.from_seconds == pytest.approx(60 * number + 40, abs=2)


@pytest.mark.parametrize("name", CALM)
@pytest.mark.parametrize("noise", [0.0, 0.03, 0.1])
def test_no_slow_down_is_invented(name: str, noise: float) -> None:
    speed, gb, pause_every = CALM[name]
    for seed in range(4):
        series = fill(speed, gb, noise=noise, seed=seed, wait=seed / 4, pause_every=pause_every)
        verdict = find_slow_downs(series)
        assert verdict.slow_downs == (), (seed, verdict.text)
        if name == "a pause every second and a half":
            # No second was without a pause.
            assert verdict.state in ("none", "unknown")
        else:
            assert verdict.state == "none"
            assert verdict.text == "The drive did not slow down and recover."


@pytest.mark.parametrize("noise", [0.2, 0.3])
def test_no_slow_down_in_a_very_noisy_line(noise: float) -> None:
    for seed in range(25):
        for gb in (8, 40):
            assert find_slow_downs(fill(constant(200), gb, noise=noise, seed=seed)).slow_downs == ()


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_cache_knee_is_no_slow_down(noise: float) -> None:
    for seed in range(4):
        for drive in (zones((2, 400), (0, 100)), zones((12, 800), (20, 200), (0, 60))):
            series = fill(drive, 24, noise=noise, seed=seed, wait=seed / 4)
            assert find_slow_downs(series).state == "none"


def test_bursts_after_pauses_make_the_time_between_them_no_slow_down() -> None:
    def speed(t: float, total_bytes: float) -> float:
        return 1000.0 if total_bytes < 20 * GB or total_bytes % (4 * GB) < 1 * GB else 200.0

    assert find_slow_downs(fill(speed, 80, noise=0.03, pause_every=4)).state == "none"


def test_a_slow_down_after_the_knee_is_compared_with_the_level_there() -> None:
    drive = slowed(zones((20, 500), (0, 200)), 150, 210, 0.5)
    (slow,) = find_slow_downs(fill(drive, 60, noise=0.03)).slow_downs
    assert (slow.from_seconds, slow.to_seconds) == pytest.approx((150, 210), abs=2)
    assert slow.depth == pytest.approx(0.5, abs=0.04)
    assert slow.before_mbps == pytest.approx(200, rel=0.05)


def test_a_slow_down_before_the_knee() -> None:
    drive = slowed(zones((20, 500), (0, 200)), 10, 40, 0.5)
    (slow,) = find_slow_downs(fill(drive, 60, noise=0.03)).slow_downs
    assert (slow.from_seconds, slow.to_seconds) == pytest.approx((10, 40), abs=2)


def test_a_return_in_a_pause_is_reported() -> None:
    # 10 GB at 400 MB/s, then slow until the second pause starts.
    def speed(t: float, total_bytes: float) -> float:
        return 200.0 if 13 * GB < total_bytes < 20 * GB else 400.0

    verdict = find_slow_downs(fill(speed, 60, noise=0.02, pause_every=10))
    (slow,) = verdict.slow_downs
    assert slow.in_pause
    assert "MB/s after a pause), cause unknown." in verdict.text


def warm(*readings: tuple[float, float | None]) -> str:
    verdict = find_slow_downs(fill(HALF_A_MINUTE, 80), readings)
    assert len(verdict.slow_downs) == 1
    assert ("with rising temperature" in verdict.text) == (verdict.state == "throttling")
    return verdict.state


def test_rising_temperature_is_reported_only_when_readings_show_it() -> None:
    assert warm((0, 40), (60, 55), (95, 68), (130, 70), (170, 62)) == "throttling"
    # The readings of two pauses, one before and one in the slow time.
    assert warm((10, 41), (120, 66)) == "throttling"
    assert warm() == "slowdown"
    # Constant, falling, not read, read only before, only after, or long ago.
    assert warm((0, 60), (60, 60), (95, 61), (130, 61)) == "slowdown"
    assert warm((0, 60), (90, 52), (130, 50)) == "slowdown"
    assert warm((0, 40), (95, None), (130, None)) == "slowdown"
    assert (
        warm(
            (50, 60),
        )
        == "slowdown"
    )
    assert warm((170, 70), (200, 60)) == "slowdown"
    assert warm((0, 60), (170, 75)) == "slowdown"


def test_a_rise_that_ended_long_before_is_none() -> None:
    late = fill(slowed(constant(400), 500, 560, 0.5), 240)
    verdict = find_slow_downs(late, [(0, 30), (60, 45), (120, 50), (370, 50), (490, 50), (530, 51)])
    assert verdict.state == "slowdown"
    verdict = find_slow_downs(late, [(0, 30), (370, 50), (490, 58), (530, 61)])
    assert verdict.state == "throttling"
    assert "with rising temperature (50 to 61 °C)" in verdict.text
    (slow,) = verdict.slow_downs
    assert slow.warming is not None
    assert (slow.warming.from_seconds, slow.warming.to_seconds) == (370, 530)


def test_a_lasting_fall_of_a_hot_drive_is_unclear_and_of_a_cool_one_nothing() -> None:
    series = fill(zones((40, 400), (0, 100)), 60, noise=0.03)
    hot = find_slow_downs(series, [(0, 40), (60, 58), (95, 70), (130, 72)])
    assert (hot.state, hot.slow_downs) == ("unclear", ())
    assert "a full cache and throttling look the same here" in hot.text
    assert "with rising temperature" not in hot.text
    cool = find_slow_downs(series, [(0, 30), (60, 36), (95, 40), (130, 41)])
    assert cool.state == "none"
    assert find_slow_downs(series, [(0, 70), (95, 70), (130, 70)]).state == "none"


def test_too_few_intervals_are_reported() -> None:
    assert find_slow_downs([]).state == "unknown"
    assert "only 0 intervals" in find_slow_downs([]).text
