"""The sampler on a made sysfs, whose counters the test moves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchstick.engine.measure.sampler import Counters, Sampler

# 17 fields of Documentation/block/stat.rst.
LINE = "10 0 800 5 20 0 1600 9 3 7 14 2 0 64 1 4 2\n"


def make_drive(sysfs: Path, line: str = LINE) -> Path:
    folder = sysfs / "block" / "sdx"
    folder.mkdir(parents=True)
    (folder / "stat").write_text(line)
    (folder / "inflight").write_text("       2        5\n")
    return folder


def test_fields_are_those_of_the_kernels_description() -> None:
    counters = Counters.parse(LINE, 1.0)
    assert (counters.reads, counters.read_bytes) == (10, 800 * 512)
    assert (counters.writes, counters.write_bytes) == (20, 1600 * 512)
    assert (counters.discards, counters.discard_bytes, counters.flushes) == (2, 64 * 512, 4)


def test_old_kernels_have_eleven_fields() -> None:
    counters = Counters.parse("1 0 8 1 1 0 8 1 0 1 2", 0.0)
    assert (counters.discards, counters.flushes) == (0, 0)


def test_the_mean_queue_is_waiting_time_over_time() -> None:
    before = Counters.parse("0 0 0 0 0 0 0 0 0 0 0", 10.0)
    after = Counters.parse("100 0 800 14000 0 0 0 0 0 1000 14000", 11.0)
    assert after.since(before)["queue_mean"] == pytest.approx(14.0)


def test_samples_carry_the_change_and_the_step(tmp_path: Path) -> None:
    folder = make_drive(tmp_path)
    ticks: list[int] = []
    sampler = Sampler("sdx", interval=0.05, tick=lambda: ticks.append(1), sysfs=tmp_path)
    sampler.step = 7
    sampler.start()
    time.sleep(0.12)
    (folder / "stat").write_text(LINE.replace("1600", "3600"))
    time.sleep(0.12)
    sampler.stop()
    samples = sampler.take()
    assert [sample.n for sample in samples] == list(range(len(samples)))
    assert sum(sample.write_bytes for sample in samples) == 2000 * 512
    assert {sample.step_index for sample in samples} == {7}
    assert {sample.inflight for sample in samples} == {7}
    assert len(ticks) >= len(samples)
    assert sampler.take() == []
    assert 0 < sampler.cpu_seconds < sampler.wall_seconds


def test_a_drive_that_goes_away_is_noticed(tmp_path: Path) -> None:
    folder = make_drive(tmp_path)
    sampler = Sampler("sdx", interval=0.02, sysfs=tmp_path)
    sampler.start()
    # What sysfs gives for a device that was removed while its file is open.
    (folder / "stat").write_text("")
    assert sampler.drive_lost.wait(60)
    sampler.stop()


def test_an_unknown_drive_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Sampler("nosuch", sysfs=tmp_path)


def test_only_what_is_new_is_asked_for(tmp_path: Path) -> None:
    folder = make_drive(tmp_path)
    sampler = Sampler("sdx", interval=0.02, sysfs=tmp_path)
    sampler.step = 3
    sampler.start()
    deadline = time.monotonic() + 60
    # The first values are those before the change.
    while len(sampler.pending()) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    (folder / "stat").write_text(LINE.replace("1600", "3600").replace("800", "900"))
    while not sampler.moved(3) and time.monotonic() < deadline:
        time.sleep(0.02)
    sampler.stop()
    everything = sampler.pending()
    assert len(everything) > 4
    last = everything[-1].n
    assert [sample.n for sample in sampler.pending(last - 3)] == [last - 2, last - 1, last]
    assert sampler.pending(last) == []
    assert sampler.pending(last + 100) == []
    assert sampler.newest(2) == everything[-2:]
    assert sampler.newest(10_000) == everything
    assert sampler.moved(3) == 2100 * 512
    assert sampler.moved(2) == 0
    sampler.take()
    assert sampler.pending() == sampler.newest(5) == []
