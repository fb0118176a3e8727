"""Series by second, their derived results and the histogram, against values worked by hand."""

from __future__ import annotations

import random

import pytest

from benchstick.analysis.consistency import half_after, part, seconds_above, summary
from benchstick.analysis.histogram import one_two_five
from benchstick.analysis.series import percentile, reduced, scaled


def test_percentiles_are_of_the_nearest_rank() -> None:
    values = [float(number) for number in range(1, 201)]
    assert percentile(values, 1) == 2.0
    assert percentile(values, 50) == 100.0
    assert percentile(values, 100) == 200.0
    assert percentile([5.0], 1) == 5.0
    assert percentile([], 1) is None


def test_a_series_of_the_methods_length_is_kept_second_by_second() -> None:
    values = [float(number) for number in range(2000)]
    series = reduced(values)
    assert (series["from"], series["every"]) == (0, 1)
    assert series["mean"] == values
    assert "min" not in series


def test_a_long_series_keeps_every_dip_and_peak() -> None:
    values: list[float | None] = [1000.0] * 86400
    values[40_000], values[50_001] = 3.0, 90_000.0
    values[100] = None
    series = reduced(values, start=7)
    assert series["every"] == 72
    assert len(series["mean"]) == len(series["min"]) == len(series["max"]) == 1200
    assert min(series["min"]) == 3
    assert max(series["max"]) == 90_000
    dip = series["min"].index(3)
    assert dip == 40_000 // 72
    assert series["mean"][dip] == pytest.approx((71 * 1000 + 3) / 72, rel=1e-4)
    assert series["from"] == 7


def test_points_without_a_value_stay_empty() -> None:
    series = reduced([None] * 86400)
    assert set(series["mean"]) == {None}
    assert reduced([1.0, None])["mean"] == [1, None]


def test_scaling_leaves_the_time_alone() -> None:
    series = scaled(reduced([100.0, None], start=1), 131072 / 1e6)
    assert series == {"from": 1, "every": 1, "mean": [13.107, None]}


def test_the_histogram_puts_a_bound_into_its_own_bucket() -> None:
    bins = {800: 1, 1000: 2, 1001: 3, 2000: 4, 4999: 5, 5001: 6, 70_000: 7, 100_000: 8}
    assert one_two_five(bins) == [
        (1, 3), (2, 7), (5, 5), (10, 6), (20, 0), (50, 0), (100, 15),
    ]  # fmt: skip
    assert one_two_five({3_000_000_000: 1}) == [(5_000_000, 1)]
    assert one_two_five({}) == []
    assert one_two_five({500: 0}) == []


def test_a_part_by_hand() -> None:
    stats = part([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert stats is not None
    assert (stats.seconds, stats.mean, stats.min, stats.p1) == (8, 5.0, 2.0, 2.0)
    # Squares of the deviations add up to 32; over 7 that is 4.571.
    assert stats.stdev == pytest.approx(2.1381, abs=1e-4)
    assert stats.consistency == pytest.approx(5 / 2.1381, abs=1e-4)
    assert part([]) is None


def test_an_even_series_has_no_consistency() -> None:
    stats = part([100.0] * 10)
    assert stats is not None
    assert (stats.stdev, stats.consistency) == (0.0, None)


def test_the_steady_part_starts_at_1400_s() -> None:
    iops = [50_000.0] * 1400 + [5000.0] * 600
    stats = summary(iops)
    assert stats["seconds"] == 2000
    assert stats["late"]["seconds"] == 600
    assert (stats["late"]["mean"], stats["late"]["min"]) == (5000.0, 5000.0)
    assert stats["last"]["seconds"] == 400
    assert stats["all"]["mean"] == pytest.approx((1400 * 50_000 + 600 * 5000) / 2000)
    # 1 % of 2000 values is the 20th lowest.
    assert stats["all"]["p1"] == 5000.0
    assert (stats["first"], stats["half_after"]) == (50_000.0, 1400)
    assert summary(iops[:1400])["late"] is None
    assert summary(iops[:1401])["late"]["seconds"] == 1
    assert summary(iops[:399])["last"] is None
    # The counters' first second is left out: second 1400 is then the 1400th value.
    assert summary(iops[1:], start=1)["late"]["seconds"] == 600
    assert summary(iops[1:], start=1)["half_after"] == 1400


def test_one_short_stop_is_not_the_end_of_a_cache() -> None:
    steady = [40_000.0] * 100
    assert half_after(steady) is None
    stop = [*steady]
    stop[50] = 0.0
    assert half_after(stop) is None
    assert half_after([*steady, *([19_000.0] * 10)]) == 100
    assert half_after([*steady, *([21_000.0] * 100)]) is None
    # Slow from the first second on, or noisy: it never loses half of what it had.
    noise = random.Random(7)
    assert half_after([400.0 * noise.uniform(0.6, 1.4) for _ in range(2000)]) is None
    assert half_after(steady[:19]) is None


def test_latency_above_the_limit() -> None:
    assert seconds_above([49_999.0, 50_000.0, 50_001.0, None, 90_000.0]) == 2
