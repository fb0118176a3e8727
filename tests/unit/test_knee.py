"""The cache knee on made fills with known answers, false alarms included."""

from __future__ import annotations

import json
import random

import pytest

from benchstick.analysis.cache_knee import CacheKnees, find_knees
from benchstick.analysis.change_points import Interval
from tests.unit.made_series import GB, Speed, constant, falling, fill, slowed, zones


def knees_of(result: CacheKnees) -> list[float]:
    return [knee.at_gb for knee in result.knees]


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("fast", [50, 100, 200, 400, 500])
def test_two_gb_fast_zone_then_a_quarter_of_the_speed(fast: int, noise: float) -> None:
    for seed in range(5):
        series = fill(zones((2, fast), (0, fast / 4)), 8, noise=noise, seed=seed, wait=seed / 5)
        result = find_knees(series)
        assert knees_of(result) == pytest.approx([2.0], rel=0.03), (seed, result.text)
        knee = result.knees[0]
        # Of four noisy seconds the mean is no better than its own noise.
        samples = 2000 / fast
        slack = 0.01 + 3.5 * noise / samples**0.5
        assert knee.before_mbps == pytest.approx(fast, rel=slack)
        assert knee.after_mbps == pytest.approx(fast / 4, rel=0.05)
        assert abs(knee.at_bytes - 2 * GB) <= 0.005 * GB + 4 * knee.plus_minus_bytes


def test_both_speeds_and_the_sentence() -> None:
    result = find_knees(fill(zones((2, 200), (0, 50)), 8, noise=0.02, seed=1))
    (knee,) = result.knees
    assert knee.confidence == "clear"
    assert knee.at_seconds == pytest.approx(10, abs=0.5)
    assert result.reason is None
    assert result.first == knee
    assert result.text == (
        f"The fast zone ends at {knee.at_gb:.2f} GB: {knee.before_mbps:.0f} MB/s before, "
        f"{knee.after_mbps:.0f} MB/s after."
    )
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert document["knees"][0]["at_gb"] == knee.at_gb


@pytest.mark.parametrize("seed", range(5))
def test_three_levels(seed: int) -> None:
    series = fill(zones((12, 800), (40, 200), (0, 60)), 55, noise=0.06, seed=seed)
    result = find_knees(series)
    assert knees_of(result) == pytest.approx([12, 40], rel=0.03)
    first, second = result.knees
    assert (first.before_mbps, first.after_mbps) == pytest.approx((800, 200), rel=0.05)
    assert (second.before_mbps, second.after_mbps) == pytest.approx((200, 60), rel=0.05)
    assert "; at " in result.text


def test_a_small_fast_zone_in_a_long_run() -> None:
    result = find_knees(fill(zones((10, 1000), (0, 300)), 400, noise=0.06))
    assert knees_of(result) == pytest.approx([10], rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_a_pause_every_five_percent_hides_no_knee(seed: int) -> None:
    series = fill(
        zones((21, 400), (0, 100)), 100, noise=0.04, seed=seed, wait=seed / 5, pause_every=5
    )
    assert knees_of(find_knees(series)) == pytest.approx([21], rel=0.03)


@pytest.mark.parametrize("seed", range(10))
def test_a_knee_that_falls_into_a_pause(seed: int) -> None:
    # 2.5 s between two pauses: most seconds of the fast zone are pauses in part.
    series = fill(
        zones((2, 400), (0, 100)), 20, noise=0.03, seed=seed, wait=seed / 10, pause_every=1
    )
    assert knees_of(find_knees(series)) == pytest.approx([2], rel=0.03)


CALM: dict[str, tuple[Speed, float, float | None]] = {
    "constant": (constant(200), 20, None),
    "only slow": (constant(5), 1, None),
    "a pause every 5 %": (constant(200), 80, 4.0),
    "a pause every three seconds": (constant(200), 12, 0.6),
    "a pause every second and a half": (constant(200), 8, 0.3),
    "a hard disk": (falling(200, 100, 50), 50, None),
    "a short run of a hard disk's speeds": (falling(200, 90, 9), 9, None),
    "a very short one": (falling(200, 90, 4), 4, None),
    "a hard disk with pauses": (falling(200, 90, 80), 80, 4.0),
    "rising": (falling(100, 200, 50), 50, None),
    "one slow second": (slowed(constant(200), 60.3, 61.3, 0.1), 30, None),
    "one fast second": (slowed(constant(200), 60.3, 61.3, 4.5), 30, None),
    "a fast first second": (slowed(constant(200), 0, 1.4, 4.5), 30, None),
    "two slow seconds at the end": (zones((19.8, 200), (0, 100)), 20, None),
    "1.5 slow seconds of every ten": (
        lambda t, offset: 20.0 if t % 10 < 1.5 else 200.0, 40, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALM)
@pytest.mark.parametrize("noise", [0.0, 0.03, 0.1])
def test_no_knee_is_invented(name: str, noise: float) -> None:
    speed, gb, pause_every = CALM[name]
    for seed in range(4):
        series = fill(speed, gb, noise=noise, seed=seed, wait=seed / 4, pause_every=pause_every)
        result = find_knees(series)
        assert result.knees == (), (seed, result.text)
        assert result.reason
        assert result.text == f"No cache knee was found: {result.reason}."


@pytest.mark.parametrize("noise", [0.2, 0.3])
def test_no_knee_in_a_very_noisy_line(noise: float) -> None:
    for seed in range(25):
        for gb in (8, 40):
            assert find_knees(fill(constant(200), gb, noise=noise, seed=seed)).knees == ()


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_minute_at_half_speed_is_no_knee(noise: float) -> None:
    result = find_knees(fill(slowed(constant(400), 100, 160, 0.5), 80, noise=noise))
    assert result.knees == ()
    assert "came back" in (result.reason or "")


@pytest.mark.parametrize("seed", range(4))
def test_a_slow_down_before_or_after_the_knee_does_not_move_it(seed: int) -> None:
    drive = zones((20, 500), (0, 200))
    before = find_knees(fill(slowed(drive, 10, 40, 0.5), 60, noise=0.04, seed=seed))
    after = find_knees(fill(slowed(drive, 150, 200, 0.5), 60, noise=0.04, seed=seed))
    assert knees_of(before) == pytest.approx([20], rel=0.03)
    assert knees_of(after) == pytest.approx([20], rel=0.03)


def test_a_cache_that_gets_some_room_in_each_pause_has_one_knee() -> None:
    def speed(t: float, offset: float) -> float:
        return 1000.0 if offset < 20 * GB or offset % (4 * GB) < 1 * GB else 200.0

    result = find_knees(fill(speed, 80, noise=0.03, pause_every=4))
    # The first burst follows right upon the fast zone.
    assert knees_of(result) == pytest.approx([21], rel=0.03)


def test_folding_that_ends_leaves_the_knee_at_its_start() -> None:
    result = find_knees(fill(zones((20, 800), (25, 60), (0, 400)), 80, noise=0.03))
    assert knees_of(result) == pytest.approx([20], rel=0.03)


def test_a_drive_that_jumps_between_two_speeds_after_its_knee() -> None:
    source = random.Random(3)
    jumps = [source.random() < 0.5 for _ in range(5000)]

    def speed(t: float, offset: float) -> float:
        return 1500.0 if offset < 100 * GB else 900.0 if jumps[int(t)] else 100.0

    result = find_knees(fill(speed, 400, noise=0.03))
    assert knees_of(result) == pytest.approx([100], rel=0.03)
    assert result.knees[0].after_mbps == pytest.approx(500, rel=0.1)


def test_stalls_count_as_time_and_pauses_do_not() -> None:
    def speed(t: float, offset: float) -> float:
        return 100.0 if offset < 2 * GB else 0.0 if t % 4 < 2.5 else 60.0

    series = fill(speed, 5, noise=0.03)
    stalling = [interval._replace(waiting=True) for interval in series]
    knee = find_knees(stalling).first
    assert knee is not None
    assert knee.at_gb == pytest.approx(2, rel=0.03)
    assert knee.after_mbps == pytest.approx(60 * 1.5 / 4, rel=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_a_hard_disk_that_stalls_has_no_knee_where_it_has_become_slower(seed: int) -> None:
    """Each stall comes back, though not to the speed of the outer tracks."""
    calm = falling(220, 110, 100)

    def speed(t: float, offset: float) -> float:
        return 0.0 if (t + 7 * seed) % 60 < 5 else calm(t, offset)

    stalling = [one._replace(waiting=True) for one in fill(speed, 100, noise=0.03, seed=seed)]
    result = find_knees(stalling)
    assert result.knees == (), result.text


def test_a_gradual_fall_is_reported_as_one() -> None:
    result = find_knees(fill(falling(200, 90, 50), 50, noise=0.01))
    assert "falls gradually, from " in (result.reason or "")


def test_too_few_intervals_are_reported() -> None:
    for seconds in range(3, 8):
        series = [Interval(at * 10**8, 1.0, 10**8) for at in range(1, seconds + 1)]
        result = find_knees(series)
        assert result.knees == ()
        assert f"only {seconds} intervals" in result.text
    assert "only 0 intervals" in find_knees([]).text


def test_a_knee_near_the_end_is_likely_only() -> None:
    result = find_knees(fill(zones((18, 200), (0, 50)), 18.5, noise=0.02))
    (knee,) = result.knees
    assert knee.at_gb == pytest.approx(18, rel=0.03)
    assert knee.confidence == "likely"
    assert "of the slower speed were seen" in (knee.reason or "")
    assert "likely, not certain" in result.text


def test_intervals_of_any_length_and_without_a_clock() -> None:
    source = random.Random(5)
    offset, t, series = 0, 0.0, []
    while offset < 8 * GB:
        seconds = source.uniform(0.2, 0.9)
        fast = min(seconds, max(0.0, 10.0 - t))
        byte_count = round(200e6 * fast + 50e6 * (seconds - fast))
        offset, t = offset + byte_count, t + seconds
        series.append(Interval(offset, seconds, byte_count))
    assert knees_of(find_knees(series, ends_whole=True)) == pytest.approx([2], rel=0.01)


@pytest.mark.parametrize(
    "series",
    [
        [Interval(10, 1.0, 20)],
        [Interval(100, 1.0, 100), Interval(90, 1.0, 10)],
        [Interval(100, -1.0, 100)],
        [Interval(-5, 1.0, -5)],
    ],
)
def test_a_series_out_of_order_is_an_error(series: list[Interval]) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        find_knees(series)
