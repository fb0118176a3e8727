"""A step of 24 hours at one sample a second: what reaches the store, and how often."""

from __future__ import annotations

import contextlib
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchstick.engine.eta import Paces, of_step
from benchstick.engine.measure.sampler import Sampler
from benchstick.engine.run_context import CurrentStep
from benchstick.engine.runner import COMMIT_EVERY, Progress, Runner
from benchstick.engine.steps.idle import do_idle
from benchstick.errors import DriveLost, StoreFailed
from benchstick.plan.steps import Idle
from benchstick.store import database
from benchstick.store.run_reader import samples_of
from benchstick.store.run_results import Sample
from benchstick.store.run_writer import RunRecord
from benchstick.suites import registry

Make = Callable[..., dict[str, Any]]


class Record:
    """The part of a run's record that the runner uses here. `batches` has the samples per call."""

    def __init__(self) -> None:
        self.db: object = object()
        self.number = 1
        self.batches: list[list[int]] = []
        self.fails = False

    def samples(self, samples: Sequence[Sample]) -> None:
        if self.fails:
            raise StoreFailed("the store failed")
        self.batches.append([sample.n for sample in samples])


def one(n: int) -> Sample:
    return Sample(
        n=n, t=float(n + 1), dt=1.0, step_index=0, read_bytes=0, write_bytes=4096 * 1000,
        writes=1000,
        discard_bytes=0, reads=0, discards=0, flushes=0, inflight=32, queue=32.0,
    )  # fmt: skip


@pytest.fixture
def runner(
    drive_json: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Runner, Record, Sampler]:
    """A runner in the middle of its first step, with a clock and samples that the test sets."""
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path))
    (tmp_path / "live").mkdir()
    folder = tmp_path / "block" / "sdx"
    folder.mkdir(parents=True)
    for name in ("stat", "inflight"):
        (folder / name).write_text("0\n")
    suite = registry.find("consistency")
    plan = registry.make_plan("consistency", drive_json(), {"time": "86400"})
    step_runner = Runner(
        None, tmp_path, suite, plan, SimpleNamespace(), SimpleNamespace(),  # type: ignore[arg-type]
        sets={}, cancel=threading.Event(),
    )  # fmt: skip
    record, sampler = Record(), Sampler("sdx", sysfs=tmp_path)
    step_runner.record = record  # type: ignore[assignment]
    step_runner.work = SimpleNamespace(  # type: ignore[assignment]
        sampler=sampler, now=0.0, current=CurrentStep()
    )
    return step_runner, record, sampler


def pass_seconds(runner: Runner, sampler: Sampler, begin: int, end: int) -> None:
    for second in range(begin, end):
        sampler._pending.append(one(second))
        runner.work.now = float(second + 1)  # type: ignore[misc]
        # As `_tick` does, without the live progress, which is written each second.
        if runner.work.now - runner._commit_time > COMMIT_EVERY:
            runner._commit()


def test_each_sample_is_written_once(runner: tuple[Runner, Record, Sampler]) -> None:
    step_runner, record, sampler = runner
    pass_seconds(step_runner, sampler, 0, 86400)
    flat = [n for batch in record.batches for n in batch]
    assert flat == list(range(len(flat)))
    assert len(flat) > 86400 - 62
    assert max(len(batch) for batch in record.batches) <= 62
    # What the in-flight median and the series by second need is still there.
    assert len(sampler.pending()) == 86400


def test_what_failed_is_written_the_next_time(runner: tuple[Runner, Record, Sampler]) -> None:
    step_runner, record, sampler = runner
    pass_seconds(step_runner, sampler, 0, 60)
    record.fails = True
    with pytest.raises(StoreFailed):
        pass_seconds(step_runner, sampler, 60, 61)
    record.fails = False
    pass_seconds(step_runner, sampler, 61, 62)
    assert record.batches == [list(range(62))]


def test_another_store_gets_all_of_the_step(runner: tuple[Runner, Record, Sampler]) -> None:
    step_runner, record, sampler = runner
    pass_seconds(step_runner, sampler, 0, 130)
    record.db = object()
    pass_seconds(step_runner, sampler, 130, 200)
    assert record.batches[-1][0] == 0


def busy(n: int) -> Sample:
    """A second in which every counter has a number of its own."""
    return Sample(
        n=n, t=n + 1.0123, dt=1.0004, step_index=7, read_bytes=4096 * (90_000 + n),
        reads=90_000 + n,
        write_bytes=4096 * (70_000 + n), writes=70_000 + n, discard_bytes=0, discards=0,
        flushes=0, inflight=n % 32, queue=31.5 + n / 1e5,
    )  # fmt: skip


def test_a_day_takes_little_of_memory_and_store(bench_home: Path, drive_json: Make) -> None:
    tracemalloc.start()
    day = [busy(n) for n in range(86400)]
    memory_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert memory_bytes < 45e6
    with contextlib.closing(database.open_writer(bench_home)) as db:
        record = RunRecord.create(
            db, uuid="u", suite="consistency", practice=False, drive=drive_json(),
            plan={"schema": "benchstick/plan/2", "steps": [], "notes": []}, pid=1, device="sdx",
        )  # fmt: skip
        record.samples(day)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # A page requests the new samples, not those of the day.
        late = samples_of(db, record.number, 86390)
        assert [sample.n for sample in late] == list(range(86391, 86400))
    assert (bench_home / "store.db").stat().st_size < 9e6


def test_what_is_shown_each_second_stays_small(
    runner: tuple[Runner, Record, Sampler], monkeypatch: pytest.MonkeyPatch
) -> None:
    step_runner, _, sampler = runner
    sampler._pending = [one(n) for n in range(86400)]
    calls: list[Any] = []
    monkeypatch.setattr(
        "benchstick.engine.runner.live_progress.publish", lambda uuid, what: calls.append(what)
    )
    step_runner._show_progress()
    assert [sample["n"] for sample in calls[0]["samples"]] == list(range(86400 - 180, 86400))


def test_a_filling_goes_by_its_bytes_and_a_timed_test_by_its_time(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {})
    fill, test = plan.steps[2], plan.steps[-2]
    # A quarter in 1000 s: 3000 s more, whatever the plan estimated.
    assert of_step(fill, 1000.0, fill.bytes_written // 4) == pytest.approx((0.25, 3000.0))
    assert of_step(fill, 1.0, 0) == pytest.approx((1 / fill.seconds, fill.seconds - 1))
    assert of_step(test, 500.125, 5 << 40) == pytest.approx((0.25, 1500.375))


def test_the_time_of_a_step_is_used_to_estimate_those_like_it(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(), {})
    parts = [at for at, step in enumerate(plan.steps) if step.name.startswith("part ")]
    first, later = plan.steps[parts[0]], plan.steps[parts[0] + 1 :]
    pauses = 19 * 2 + 2
    paces = Paces()
    assert paces.seconds_of(later) == pytest.approx(19 / 20 * 10**12 / 980e6 + pauses, rel=0.001)
    # A few blocks that went into a cache are ignored.
    paces.learn(first, 0.1, 5.0, first.bytes_written // 100)
    assert paces.seconds_of(later) == pytest.approx(19 / 20 * 10**12 / 980e6 + pauses, rel=0.001)
    # Half of a part of 50 GB in 500 s: 50 MB/s, where the link carries 980.
    _, remaining = of_step(first, 500.0, first.bytes_written // 2)
    paces.learn(first, 500.0, remaining, first.bytes_written // 2)
    assert paces.seconds_of(later) == pytest.approx(19 * 1000 + pauses, rel=0.001)
    # Then the drive is fast again: the newest counts.
    paces.learn(first, 100.0, 0.0, first.bytes_written)
    assert paces.seconds_of(later) == pytest.approx(19 * 100 + pauses, rel=0.001)


def test_the_time_left_is_the_most_while_rounds_may_not_be_needed() -> None:
    at = Progress(1, 3, 60, "round 2", 0.5, 18_720.0, is_upper_bound=True)
    assert at.time_left == "at most 5 h 12 min left"
    assert Progress(1, 3, 60, "part 2", 0.5, 18_720.0).time_left == "5 h 12 min left"


def test_timed_steps_and_other_ways_keep_their_own_seconds(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {"sizes": "1MiB"}, target="block")
    write, read = (step for step in plan.steps if step.name.startswith("1 MiB"))
    paces = Paces()
    paces.learn(write, 50.0 * write.seconds, 0.0, write.bytes_written)
    assert paces.seconds_of([read]) == pytest.approx(read.seconds)
    assert paces.seconds_of([write]) == pytest.approx(50 * write.seconds)
    timed_step = registry.make_plan("consistency", drive_json(), {}).steps[-2]
    paces.learn(timed_step, 10_000.0, 0.0, timed_step.bytes_written)
    assert paces.seconds_of([timed_step]) == timed_step.seconds


def test_the_run_estimates_the_time_left_from_its_own_pace(
    runner: tuple[Runner, Record, Sampler],
    drive_json: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step_runner, _, sampler = runner
    fills = [at for at, step in enumerate(step_runner.plan.steps) if step.name.startswith("fill ")]
    first = step_runner.plan.steps[fills[0]]
    calls: list[Any] = []
    monkeypatch.setattr(
        "benchstick.engine.runner.live_progress.publish", lambda uuid, what: calls.append(what)
    )
    monkeypatch.setattr(sampler, "moved", lambda index: first.bytes_written // 4)
    step_runner.work.current.index = fills[0]
    step_runner.work.now = 1000.0  # type: ignore[misc]
    step_runner._commit_time = step_runner._step_start = 0.0
    step_runner._show_progress()
    assert calls[0]["is_upper_bound"] is False
    # A quarter in 1000 s: 3000 s more, 4000 s for the second filling, then the day itself.
    assert calls[0]["seconds_left"] == pytest.approx(3000 + 4000 + 86400, abs=5)
    # Rounds may end early: the time left is an upper bound.
    step_runner.plan = registry.make_plan("pts", drive_json(), {})
    step_runner.work.current.index = next(
        at for at, step in enumerate(step_runner.plan.steps) if step.name.startswith("fill ")
    )
    step_runner._show_progress()
    assert calls[1]["is_upper_bound"] is True


def test_a_step_that_ends_while_its_share_is_read_does_not_end_the_record(
    runner: tuple[Runner, Record, Sampler], monkeypatch: pytest.MonkeyPatch
) -> None:
    step_runner, _, _ = runner
    monkeypatch.setattr("benchstick.engine.runner.live_progress.publish", lambda uuid, what: None)

    class Ending:
        """The runner's thread takes the share away after it was seen, before it is called."""

        calls = 0

        @property
        def share(self) -> Callable[[], float] | None:
            self.calls += 1
            return None if self.calls > 1 else lambda: 0.5

    step = Ending()
    for name in ("index", "bytes_done"):
        setattr(step, name, getattr(step_runner.work.current, name))
    step_runner.work.current = step  # type: ignore[assignment]
    step_runner._show_progress()
    assert step.calls == 1


def test_a_drive_lost_in_a_long_idle_time_is_reported_at_once() -> None:
    loss = threading.Event()

    def check() -> None:
        if loss.is_set():
            raise DriveLost("the drive went away")

    work = SimpleNamespace(cancel=threading.Event(), check_cancelled=check)
    threading.Timer(0.1, loss.set).start()
    started_at = time.monotonic()
    with pytest.raises(DriveLost):
        do_idle(work, Idle(name="rest for 8 s", seconds=8))  # type: ignore[arg-type]
    assert time.monotonic() - started_at < 4
