"""fio's logs by second: lines as fio 3.41 wrote them, and what a busy host makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchstick.engine.measure.per_second_log import by_second, counter_rates, fio_iops, fio_latency
from benchstick.store.run_results import Sample

# A job that stopped for 3.3 s after each 20000 writes (thinktime); 80031 writes in 12.003 s.
STOPS_IOPS = """\
1003, 19971, 19971, 1, 0, 0
4004, 4887, 4887, 1, 0, 0
5003, 15128, 15128, 1, 0, 0
8003, 6220, 6220, 1, 0, 0
9003, 13793, 13793, 1, 0, 0
12027, 19940, 19940, 1, 0, 0
"""
STOPS_LATENCY = """\
3836, 853221, 5720848, 1, 0, 0
4003, 1050053, 7971608, 1, 0, 0
7895, 1071124, 8446242, 1, 0, 0
8000, 580140, 18874015, 1, 0, 0
11511, 477360, 4977305, 1, 0, 0
12002, 758815, 14914259, 1, 0, 0
"""
# Five seconds without a stop, 223597 writes.
STEADY_IOPS = """\
1003, 34335, 34335, 1, 0, 0
2003, 37556, 37556, 1, 0, 0
3003, 51257, 51257, 1, 0, 0
4004, 46332, 46332, 1, 0, 0
5003, 54116, 54116, 1, 0, 0
"""
STEADY_LATENCY = """\
1003, 926198, 8060054, 1, 0, 0
2000, 858301, 8841746, 1, 0, 0
3000, 622456, 6137665, 1, 0, 0
4000, 690862, 8088156, 1, 0, 0
5000, 585979, 10129741, 1, 0, 0
5000, 290103, 563789, 1, 0, 0
"""


def sample(n: int, ios: float, dt: float = 1.0) -> Sample:
    return Sample(
        n=n, t=float(n + 1), dt=dt, step_index=0, read_bytes=0, write_bytes=int(ios * 4096),
        discard_bytes=0, reads=0, writes=int(ios), discards=0, flushes=0, inflight=32, queue=32.0,
    )  # fmt: skip


def lines(times_and_values: list[tuple[int, float]]) -> str:
    return "".join(f"{time}, {value:.0f}, {value:.0f}, 1, 0, 0\n"
                   for time, value in times_and_values)  # fmt: skip


def test_seconds_without_a_line_are_empty() -> None:
    assert fio_iops(STOPS_IOPS, 12, 80031) == [
        19971, 0, 0, 4887, 15128, 0, 0, 6220, 13793, 0, 0, 19940,
    ]  # fmt: skip
    assert fio_iops(STEADY_IOPS, 5, 223597) == [34335, 37556, 51257, 46332, 54116]


def test_a_latency_line_stands_for_every_second_of_a_stop() -> None:
    means, maxima = fio_latency(STOPS_LATENCY, 12)
    assert maxima[:3] == [5720.848] * 3
    assert maxima[3] == 7971.608
    assert maxima[4:7] == [8446.242] * 3
    assert means[8:11] == [477.36] * 3
    assert means[11] == 758.815


def test_what_is_left_at_the_end_counts_to_the_last_seconds_maximum_only() -> None:
    means, maxima = fio_latency(STEADY_LATENCY, 5)
    assert len(means) == len(maxima) == 5
    assert (means[4], maxima[4]) == (585.979, 10129.741)
    slow_end = STEADY_LATENCY.replace("290103, 563789", "290103, 99000000")
    means, maxima = fio_latency(slow_end, 5)
    assert (means[4], maxima[4]) == (585.979, 99_000.0)


def test_lines_that_drift_lose_no_second() -> None:
    # As tried: 1.7 ms more than a second from line to line, and no line for the rest.
    drifting = [(round(number * 1001.7), 2000.0) for number in range(1, 1997)]
    drifting[999] = (drifting[999][0], 20.0)
    iops = fio_iops(lines(drifting), 2000, 2000 * 2000)
    # The last line ends before the middle of the last second.
    assert len(iops) == 1999
    assert 0.0 not in iops
    assert 1 <= iops.count(20.0) <= 2


def test_the_second_that_fio_ends_in_is_left_out() -> None:
    first = [(1000 * number + 3, 100.0) for number in range(1, 10)]
    assert fio_iops(lines(first), 10, 1000) == [100.0] * 9
    # More than that is the drive's: it did nothing.
    stopped_iops = fio_iops(lines([(1003, 100.0), (2003, 5.0)]), 6, 105)
    assert stopped_iops == [100.0, 5.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "seconds", "ios", "reason"),
    [
        (lines([(1003, 100), (2500, 100), (3003, 100)]), 3, 300, "came late"),
        (STEADY_IOPS, 5, 100_000, "adds up to"),
        (STEADY_IOPS.replace("3003, 51257, 51257, 1", "3003, 51257, 51257, 0"), 5, None, "one dir"),
        ("1003, 5\n", 1, None, "other columns"),
        ("", 5, 0, "no log"),
    ],
)
def test_a_log_without_usable_seconds_gives_the_reason(
    text: str, seconds: int, ios: int | None, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        fio_iops(text, seconds, ios)


def test_a_step_that_was_cut_short_ends_with_its_last_line() -> None:
    assert len(fio_iops(STEADY_IOPS, 600, None)) == 5


def test_counters_count_bytes_and_leave_out_both_ends() -> None:
    samples = [sample(0, 50), sample(1, 100), sample(2, 300, dt=3.0), sample(3, 90), sample(4, 1)]
    assert counter_rates(samples, 4096) == [100.0, 100.0, 100.0, 100.0, 90.0]
    assert counter_rates(samples[:2], 4096) == []


def write(folder: Path, iops: str, latency: str) -> Path:
    (folder / "iops_iops.1.log").write_text(iops)
    (folder / "latency_lat.1.log").write_text(latency)
    return folder


def test_fios_own_are_taken(tmp_path: Path) -> None:
    series = by_second(
        write(tmp_path, STEADY_IOPS, STEADY_LATENCY), seconds=5, ios=223597, block=4096, samples=[]
    )
    assert (series.source, series.reason, series.start) == ("fio", None, 0)
    rows = series.csv().splitlines()
    assert rows[0] == "second,iops,latency_mean_us,latency_max_us"
    assert rows[3] == "2,51257.0,622.5,6137.7"
    assert len(rows) == 6


def test_empty_seconds_are_valid_only_where_the_drive_was_slow_too(tmp_path: Path) -> None:
    write(tmp_path, STOPS_IOPS, STOPS_LATENCY)
    busy = [sample(n, 6600) for n in range(12)]
    series = by_second(tmp_path, seconds=12, ios=80031, block=4096, samples=busy)
    assert (series.source, series.start) == ("counters", 1)
    assert series.reason is not None
    assert "in which the drive was busy" in series.reason
    assert series.iops == [6600.0] * 10
    # Its second 1 is the latency's second 1.
    assert series.csv().splitlines()[1] == "1,6600.0,853.2,5720.8"
    stopping = [sample(n, 0 if n in (1, 2, 5, 6, 9, 10) else 20_000) for n in range(12)]
    assert by_second(
        tmp_path, seconds=12, ios=80031, block=4096, samples=stopping
    ).source == "fio"  # fmt: skip


def test_an_older_fio_has_the_counters_iops_and_no_latency(tmp_path: Path) -> None:
    series = by_second(
        tmp_path, seconds=5, ios=500, block=4096, lacking="too old",
        samples=[sample(n, 100) for n in range(5)],
    )  # fmt: skip
    assert (series.source, series.reason, series.latency_why) == ("counters", "too old", "too old")
    assert series.iops == [100.0] * 3
    assert series.csv().splitlines()[1] == "1,100.0,,"


def test_a_step_cut_short_in_its_first_second_has_no_series(tmp_path: Path) -> None:
    (tmp_path / "iops_iops.1.log").write_text("")
    # What fio writes at its end, whenever that is.
    (tmp_path / "latency_lat.1.log").write_text("412, 853221, 5720848, 1, 0, 0\n")
    series = by_second(tmp_path, seconds=0, ios=None, block=4096, samples=[])
    assert (list(series.iops), list(series.latency_mean)) == ([], [])
    assert series.latency_why == "fio left no log"
