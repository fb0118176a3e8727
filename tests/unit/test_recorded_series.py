"""Knee and slow-downs on recorded fills with known answers, and on what is derived from them.

series_recordings/README.md says what was recorded, and how.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from benchstick.analysis.cache_knee import find_knees
from benchstick.analysis.change_points import Interval
from benchstick.analysis.slowdowns import Reading, SlowDown, find_slow_downs

HERE = Path(__file__).parent / "series_recordings"
GB = 10**9
# Where the fast zone ended (GB) and MB/s before and after it, of the recordings that have one.
KNEES = {"nvme-fast-zone": (2.0, 60, 15), "sata-fast-zone-with-pauses": (2.0, 40, 10)}
NAMES = (*KNEES, "uas-slow-minute", "bot-constant")


@cache
def recorded(name: str) -> tuple[Interval, ...]:
    """A recording as `suites.sustained.fill_series` gave it, with whole ends."""
    rows = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return tuple(
        Interval(offset, seconds, byte_count, t, True) for offset, seconds, byte_count, t in rows
    )


def begin_of(series: Sequence[Interval]) -> float:
    """The start of the writes, on the clock of the series."""
    first = series[0]
    assert first.t is not None
    return first.t - first.seconds


def later(series: Sequence[Interval], seconds: float) -> list[Interval]:
    """The same, so many seconds later on the clock."""
    return [one._replace(t=(one.t or 0.0) + seconds) for one in series]


def test_each_file_is_a_recording_that_is_looked_at() -> None:
    assert {path.stem for path in HERE.glob("*.json")} == set(NAMES)
    for name in NAMES:
        series = recorded(name)
        assert len(series) > 50
        # Nothing is missing between two readings.
        for before, after in pairwise(series):
            assert after.total == before.total + after.moved


@pytest.mark.parametrize("name", KNEES)
def test_the_end_of_a_fast_zone_is_found_and_is_no_slow_down(name: str) -> None:
    at_gb, before, after = KNEES[name]
    result = find_knees(recorded(name), ends_whole=True)
    (knee,) = result.knees
    assert knee.confidence == "clear", result.text
    assert knee.at_gb == pytest.approx(at_gb, rel=0.03)
    assert knee.before_mbps == pytest.approx(before, rel=0.05)
    assert knee.after_mbps == pytest.approx(after, rel=0.05)
    assert find_slow_downs(recorded(name), ends_whole=True).state == "none"


@pytest.mark.parametrize("name", KNEES)
def test_before_the_end_of_the_fast_zone_there_is_no_knee(name: str) -> None:
    at_gb = KNEES[name][0]
    series = [one for one in recorded(name) if one.total < 0.95 * at_gb * GB]
    assert find_knees(series, ends_whole=True).knees == ()
    assert find_slow_downs(series, ends_whole=True).state == "none"


def slow_minute(temperatures: Sequence[Reading] = ()) -> tuple[str, SlowDown]:
    verdict = find_slow_downs(recorded("uas-slow-minute"), temperatures, ends_whole=True)
    (slow,) = verdict.slow_downs
    return verdict.state, slow


def test_half_the_speed_for_a_minute_is_one_slow_down_and_no_knee() -> None:
    series = recorded("uas-slow-minute")
    state, slow = slow_minute()
    assert (state, slow.cause, slow.warming) == ("slowdown", "unknown", None)
    assert slow.from_seconds - begin_of(series) == pytest.approx(25, abs=3)
    assert slow.to_seconds - slow.from_seconds == pytest.approx(60, abs=3)
    assert slow.depth == pytest.approx(0.5, abs=0.05)
    speeds = (slow.before_mbps, slow.slow_mbps, slow.after_mbps)
    assert speeds == pytest.approx((20, 10, 20), rel=0.05)
    assert find_knees(series, ends_whole=True).knees == ()


def test_with_a_temperature_that_rises_it_is_throttling_and_else_not() -> None:
    begin = begin_of(recorded("uas-slow-minute"))
    slow = slow_minute()[1]
    end = slow.to_seconds
    rising: list[Reading] = [
        (begin, 41), (slow.from_seconds - 5, 52), (slow.from_seconds + 30, 58), (end + 20, 50),
    ]  # fmt: skip
    state, warm = slow_minute(rising)
    assert (state, warm.cause) == ("throttling", "throttling")
    assert warm.warming is not None
    assert (warm.warming.from_celsius, warm.warming.to_celsius) == (41, 58)
    level = [(t, 45.0) for t, _ in rising]
    # It rises when the slow time is over.
    too_late = [(begin, 45.0), (slow.from_seconds + 30, 44.0), (end + 20, 58.0)]
    for readings in (level, too_late, [(t, None) for t, _ in rising]):
        state, cool = slow_minute(readings)
        assert (state, cool.cause) == ("slowdown", "unknown")


def constant() -> list[Interval]:
    return list(recorded("bot-constant"))


def test_a_drive_that_is_only_slow_has_neither() -> None:
    assert sum(one.moved for one in constant()) / sum(one.seconds for one in constant()) < 12e6
    calm(constant())


@pytest.mark.parametrize("at", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("seconds", [3, 30])
def test_an_idle_gap_is_neither(at: float, seconds: int) -> None:
    series = constant()
    gap_start = int(at * len(series))
    before, after = series[:gap_start], later(series[gap_start:], seconds)
    # Left out, as the suite does with its pauses; and in the record, as a sampler sees it.
    calm([*before, *after])
    t, offset = before[-1].t, before[-1].total
    assert t is not None
    idle = [Interval(offset, 1.0, 0, t + second) for second in range(1, seconds + 1)]
    calm([*before, *idle, *after])


@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_a_noisy_line_is_neither(noise: float) -> None:
    for seed in range(5):
        source, offset = random.Random(seed), 0
        series = []
        for one in constant():
            byte_count = round(one.moved * max(0.1, source.gauss(1.0, noise)))
            offset += byte_count
            series.append(one._replace(total=offset, moved=byte_count))
        calm(series)


def calm(series: Sequence[Interval]) -> None:
    """Neither a knee nor a slow-down is reported."""
    knees = find_knees(series, ends_whole=True)
    assert knees.knees == (), knees.text
    slow = find_slow_downs(series, ends_whole=True)
    assert (slow.state, slow.slow_downs) == ("none", ()), slow.text
