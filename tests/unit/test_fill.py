"""From a run's samples to a series without pauses."""

from __future__ import annotations

import math

import pytest

from benchstick.analysis.change_points import (
    busy_points,
    calmed,
    levels_of,
    noise_of,
    of_writing,
)
from benchstick.store.run_results import Sample
from tests.unit.made_series import constant, fill, zones

MB = 10**6


def samples(*byte_counts: int, step: int = 3, inflight: int = 0) -> list[Sample]:
    return [
        Sample(n, n + 1.0, 1.0, step, 0, count, 0, 0, 0, 0, 0, inflight, 0.0)
        for n, count in enumerate(byte_counts)
    ]


def test_the_ends_of_a_write_share_the_time_that_the_tool_reports() -> None:
    # Two whole seconds, and 1.0 s at the ends: 0.3 s of it at the start, by the bytes.
    intervals = of_writing(samples(0, 30 * MB, 100 * MB, 100 * MB, 70 * MB, 0), 3.0, 1000)
    assert [interval.seconds for interval in intervals] == pytest.approx([0.3, 1.0, 1.0, 0.7])
    assert [interval.t for interval in intervals] == pytest.approx([2.0, 3.0, 4.0, 4.7])
    assert intervals[-1].total == 1000 + 300 * MB
    for interval in intervals:
        assert interval.moved / interval.seconds == pytest.approx(100 * MB)
    points, partial = busy_points(intervals, ends_whole=True)
    assert (len(points), partial) == (4, [])


def test_ends_never_last_longer_than_their_samples() -> None:
    intervals = of_writing(samples(1 * MB, 100 * MB, 99 * MB), 2.9)
    assert [interval.seconds for interval in intervals] == pytest.approx([0.9, 1.0, 1.0])
    intervals = of_writing(samples(1 * MB, 100 * MB, 99 * MB), 100.0)
    assert [interval.seconds for interval in intervals] == pytest.approx([1.0, 1.0, 1.0])
    (only,) = of_writing(samples(0, 5 * MB, 0), 0.25)
    assert (only.seconds, only.moved) == (0.25, 5 * MB)
    assert of_writing(samples(0, 0), 1.0) == []


def test_a_write_cut_short_keeps_its_bytes_and_not_its_ends() -> None:
    intervals = of_writing(samples(30, 100, 0, 100, 70), None, 1000)
    assert [(one.total, one.moved) for one in intervals] == [(1130, 100), (1130, 0), (1230, 100)]
    # A second without a byte in the middle of it is a stall, and no pause.
    assert all(one.waiting for one in intervals)
    assert of_writing(samples(30), None) == []


def test_pauses_and_what_was_a_pause_in_part_are_left_out() -> None:
    series = fill(constant(100), 1.0, wait=0.4, pause_every=0.5)
    points, partial = busy_points(series)
    assert {round(point.speed / MB) for point in points} == {100}
    assert len(points) + len(partial) == sum(1 for interval in series if interval.moved)
    assert all(round(point.speed / MB) < 90 for point in partial)
    assert [point.has_pause_before for point in points].count(True) == 1


def test_pauses_that_the_caller_left_out_are_seen_on_the_clock() -> None:
    series = [one for one in fill(constant(100), 1.0, pause_every=0.5) if one.moved]
    assert [point.has_pause_before for point in busy_points(series)[0]].count(True) == 1


def test_noise_is_distinguished_from_levels() -> None:
    points, _ = busy_points(fill(zones((2, 200), (0, 50)), 8, noise=0.05, seed=2))
    assert noise_of(points) == pytest.approx(0.05, rel=0.3)
    levels = levels_of(points)
    assert [round(level.speed / MB / 50) for level in levels] == [4, 1]
    assert sum(level.count for level in levels) == len(points)
    assert levels_of([]) == []


def test_jagged_series_are_joined_and_calm_ones_left_alone() -> None:
    calm, _ = busy_points(fill(constant(200), 20, noise=0.05))
    assert calmed(calm) == (calm, 1)
    jagged_points, _ = busy_points(
        fill(lambda t, offset: 100.0 if math.floor(t * 0.7) % 2 else 900.0, 100, noise=0.02)
    )
    joined_points, each = calmed(jagged_points)
    assert each > 1
    assert sum(point.moved for point in joined_points) == sum(
        point.moved for point in jagged_points
    )
    assert joined_points[-1].t1 == jagged_points[-1].t1
    assert noise_of(joined_points) < noise_of(jagged_points)
