"""Runs a plan on a drive, and stores every result."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
import uuid as uuids
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick import paths
from benchstick.appliance import state, stick_removed
from benchstick.drives import discover, fact_catalogue
from benchstick.drives.guard import Hold
from benchstick.drives.types import Drive
from benchstick.engine import automount, cgroup, host_settings, retention
from benchstick.engine.eta import Paces, of_step
from benchstick.engine.measure.sampler import Sampler
from benchstick.engine.results import conclude
from benchstick.engine.run_context import CurrentStep, FileSets, StepOutcome, Target, Work
from benchstick.engine.step_artifacts import StepFolder, check_room
from benchstick.engine.steps import executors
from benchstick.errors import (
    EXIT_CANCELLED,
    EXIT_DONE,
    EXIT_INCONCLUSIVE,
    EXIT_INTERNAL,
    BenchError,
    Cancelled,
    DataCorrupt,
    DriveLost,
    StoreFailed,
)
from benchstick.plan.fileset import FileSet
from benchstick.plan.states import RunState, StepState, Validity
from benchstick.plan.steps import Fio, Plan, Prepare, Purge, ReadBack, Step
from benchstick.plan.units import duration_text
from benchstick.store import live_progress, locks, settings
from benchstick.store.run_writer import RunRecord
from benchstick.suites.interface import RoundSuite, Suite

# In long steps the samples reach the store once a minute (docs/architecture.md).
COMMIT_EVERY = 60.0
# Every tool inherits this mark: recovery finds the processes of a killed runner with it.
MARK = "BENCHSTICK_RUN_UUID"


@dataclass(frozen=True)
class Progress:
    """The progress of a run: step `index` of `total`, `fraction` of that step, and the seconds left
    of the run. With `is_upper_bound` these are a maximum: later rounds may not be needed."""

    number: int
    index: int
    total: int
    name: str
    fraction: float | None
    seconds_left: float
    is_upper_bound: bool = False

    @property
    def time_left(self) -> str:
        """`at most 5 h 12 min left`."""
        return f"{'at most ' if self.is_upper_bound else ''}{duration_text(self.seconds_left)} left"


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    number: int
    uuid: str
    state: RunState
    exit_code: int
    reason: str | None


class Runner:
    """A run, from its lock to its last result. `hold` is the guard's hold on the drive, which the
    caller keeps for the whole run."""

    def __init__(
        self,
        store: Any,
        home: Path,
        suite: Suite,
        plan: Plan,
        drive: Drive,
        hold: Hold,
        *,
        sets: Mapping[str, FileSet],
        set_folder: Path | None = None,
        cancel: threading.Event,
        progress: Callable[[Progress], None] | None = None,
        request: int | None = None,
        on_begin: Callable[[int], None] | None = None,
    ) -> None:
        self.on_begin = on_begin
        self._db = store
        self.home = home
        self.suite = suite
        self.plan = plan
        self.drive = drive
        self.hold = hold
        self.sets = sets
        self.set_folder = set_folder
        self.cancel = cancel
        self.progress = progress
        self.request = request
        self.uuid = str(uuids.uuid4())
        self.work_target = plan.target
        self._step_start = 0.0
        self._paces = Paces()
        self._committed = 0.0
        # (the store, the last sample in it); a run may continue in another store.
        self._stored: tuple[Any, int] = (None, -1)
        self._host: dict[str, Any] = {}
        self._controller = ""
        self._queue_settings: dict[str, str] = {}
        self._alongside: set[int] = set()
        self._on_stick = False

    def carry_out(self) -> Outcome:
        """Run the plan. Records every end: done, failed, cancelled; does not raise BenchError."""
        paths.make_run_folder()
        limit_mib = settings.load(paths.settings_file()).output_mib
        retention.prune(self._db, self.home, limit_mib << 20)
        check_room(self.home)
        os.umask(0o027)
        os.environ[MARK] = self.uuid
        lock = locks.RunLock(self.uuid)
        try:
            self.record = RunRecord.create(
                self._db,
                uuid=self.uuid,
                suite=self.suite.name,
                practice=self.drive.is_practice,
                drive=self.drive.to_json(),
                plan=self.plan.to_json(),
                pid=os.getpid(),
                device=self.drive.name,
                request=self.request,
            )
            self._on_stick = state.on_a_stick()
            if self._on_stick:
                self.record.follow(lambda: stick_removed.other_store(self.home))
            if self.on_begin is not None:
                self.on_begin(self.record.number)
            return self._recorded()
        finally:
            os.environ.pop(MARK, None)
            live_progress.remove(self.uuid)
            shutil.rmtree(paths.staging(self.uuid), ignore_errors=True)
            lock.release()

    def _recorded(self) -> Outcome:
        state, code, reason = RunState.COMPLETE, EXIT_DONE, None
        started_at = time.monotonic()
        try:
            self._run()
        except Cancelled as stop:
            state, code, reason = RunState.CANCELLED, EXIT_CANCELLED, stop.message
        except BenchError as error:
            state, code, reason = RunState.FAILED, error.exit_code, error.message
        except BaseException as error:
            with contextlib.suppress(BenchError):
                self._finish(
                    RunState.FAILED, EXIT_INTERNAL, started_at, f"internal error: {error!r}"
                )
            raise
        if state == RunState.COMPLETE:
            code, reason = self._judge()
        state, code, reason = self._finish(state, code, started_at, reason)
        return Outcome(self.record.number, self.uuid, state, code, reason)

    def _finish(
        self, state: RunState, code: int, started_at: float, reason: str | None
    ) -> tuple[RunState, int, str | None]:
        drive = self.drive.to_json()
        result = conclude(self.record, self.suite, self.plan, drive, self.work_target)
        return self.record.finish(
            state,
            code,
            seconds=time.monotonic() - started_at,
            reason=reason,
            result=result,
            open_steps=StepState(state) if state != RunState.COMPLETE else StepState.INTERRUPTED,
        )

    def _judge(self) -> tuple[int, str | None]:
        """(exit code, why) of a plan that ran to its end: 5 when it has no valid result."""
        results = self.record.all_results()
        if results and not any(result.state == Validity.VALID for result in results):
            first = results[0]
            return EXIT_INCONCLUSIVE, f"no valid result; the first is {first.state}: {first.reason}"
        return EXIT_DONE, None

    def _run(self) -> None:
        with contextlib.ExitStack() as cleanup:
            group = cgroup.create(self.uuid)
            if group is not None:
                cleanup.callback(cgroup.end, group)
            cleanup.callback(automount.release, self.uuid)
            automount.keep_off(self.drive.name, self.uuid)
            cleanup.callback(host_settings.restore_settings, self.record)
            refused = host_settings.change_settings(self.drive, self.record)
            sampler = self._sampler()
            cleanup.callback(sampler.stop)
            self.work = Work(
                uuid=self.uuid,
                drive=self.drive,
                plan=self.plan,
                hold=self.hold,
                record=self.record,
                sampler=sampler,
                cancel=self.cancel,
                cleanup=cleanup,
                cgroup=group,
                filesets=FileSets(self.sets, self.set_folder),
                target=Target(self.plan.target),
            )
            cleanup.callback(self._close_source)
            for text in refused:
                self.record.event(0.0, "setting", text)
            self._host = host_settings.facts()
            self._controller = host_settings.controller(self.drive.name)
            self._keep_conditions()
            # The results so far have their conditions, however the run ends.
            cleanup.callback(self._keep_conditions)
            sampler.start()
            try:
                self._steps()
                self._compare_link()
            except BenchError as error:
                # A tool may see the loss, or an effect of it, before the sampler does.
                if isinstance(error, DriveLost) or sampler.drive_lost.is_set():
                    self.record.event(self.work.now, "drive-lost", error.message)
                raise
        # The last check was before the filesystem was unmounted.
        if self.hold.medium_changed is not None:
            raise self.work.drive_lost("was changed")

    def _steps(self) -> None:
        """Run all steps in order, except rounds that the suite no longer needs."""
        judged: tuple[str, int] = ("", 0)
        over: str | None = None
        skipped: list[tuple[int, str, str]] = []
        for index, step in enumerate(self.plan.steps):
            now = (step.round.group, step.round.number) if isinstance(step, Fio) else ("", 0)
            # Once a round of a group is not needed, the later ones are not needed either.
            if now != judged and not (over and now[0] == judged[0]):
                self._skip(skipped, over)
                skipped, over = [], self._over(step)
            judged = now
            if over:
                skipped.append((index, step.name, step.kind))
                continue
            self._step(index, step)
            if isinstance(step, Prepare | Purge | ReadBack):
                self._keep_conditions()
        self._skip(skipped, over)

    def _over(self, step: Step) -> str | None:
        """Why the round that starts with this step is not needed; None when it is needed, or no
        round starts here."""
        if (
            not isinstance(step, Fio)
            or not step.round.number
            or not isinstance(self.suite, RoundSuite)
        ):
            return None
        return self.suite.over(self.plan, step, self.record.all_results())

    def _skip(self, steps: list[tuple[int, str, str]], reason: str | None) -> None:
        """Record all skipped steps at once: there may be a thousand."""
        if steps and reason:
            self.record.steps_skipped(steps, self.work.now, reason)

    def _sampler(self) -> Sampler:
        try:
            return Sampler(self.drive.name, tick=self._tick, changed=self._medium_changed)
        except OSError as error:
            raise DriveLost(f"{self.drive.code}: the drive went away ({error.strerror})") from error

    def _medium_changed(self) -> None:
        """Make sure that no write reaches the other medium while the step ends. Runs in the
        sampler's thread."""
        self.hold.lose_medium("its medium was changed")

    def _close_source(self) -> None:
        if self.work.filesets.source is not None:
            self.work.filesets.source.close()

    def _keep_conditions(self) -> None:
        facts = {name: self.drive.facts[name].to_json() for name in fact_catalogue.CONDITIONS
                 if name in self.drive.facts}  # fmt: skip
        self._note_others()
        sampler = self.work.sampler
        self.record.conditions(
            {
                "target": self.work.target.name,
                "drive": facts,
                "queue": self._queue(),
                "host": self._host,
                "controller": self._controller,
                "alongside": sorted(self._alongside),
                "filled": self.work.conditions.filled.to_json(),
                "state": self._state(),
                "notes": list(self.plan.notes),
                "sets": [dict(item) for item in self.plan.sets],
                "scale": self.plan.scale,
                **self.work.conditions.extra,
                "sampler": {
                    "samples_every": sampler.interval,
                    "cpu_share": sampler.cpu_share(),
                },
            }
        )

    def _state(self) -> str:
        """The state of the drive before the suite's own work."""
        purged = self.plan.state_after(self.work.conditions.state)
        if self.plan.fs == "keep":
            return purged or "as found"
        return f"{purged}, then newly formatted" if purged else "newly formatted, not purged"

    def _queue(self) -> dict[str, str]:
        """The block layer's settings; the last known ones when the drive is gone."""
        self._queue_settings = host_settings.queue_settings(self.drive.name) or self._queue_settings
        return self._queue_settings

    def _note_others(self) -> None:
        """Note the numbers of the other running runs."""
        rows = self.record.read(
            lambda db: db.execute(
                "SELECT runs.number, uuid FROM running JOIN runs ON runs.number = running.run"
                " WHERE runs.number <> ?",
                (self.record.number,),
            ).fetchall()
        )
        self._alongside |= {
            int(row["number"]) for row in rows if locks.holder(row["uuid"]) is not None
        }

    def _step(self, index: int, step: Step) -> None:
        work = self.work
        work.check_cancelled()
        self._note_others()
        staging = paths.staging(self.uuid) if self._on_stick else None
        folder = StepFolder(self.home, self.uuid, index, step.name, staging)
        folder.make()
        work.current = CurrentStep(index, folder)
        self.record.step_begins(index, step.name, step.kind, work.now, folder.relative)
        self._step_start = work.now
        # It stays until the next step starts: a sample between the two belongs to this step.
        work.sampler.step = index
        try:
            outcome = self._carry_out(step)
        except BenchError as error:
            stopped = StepState.CANCELLED if isinstance(error, Cancelled) else StepState.FAILED
            if isinstance(error, StoreFailed):
                raise
            if isinstance(error, DataCorrupt):
                work.data_differs(error.message)
            self._end(index, stopped, work.current.partial or StepOutcome(), error.message)
            raise
        finally:
            self.work_target = work.target.name
            note = folder.bound()
            self._keep(folder)
            if note:
                self.record.event(work.now, "artifacts", f"{step.name}: {note}")
        state = StepState.SKIPPED if outcome.skipped else StepState.COMPLETE
        state = StepState.FAILED if outcome.failed else state
        self._end(index, state, outcome, outcome.failed or outcome.skipped)

    def _keep(self, folder: StepFolder) -> None:
        try:
            folder.keep()
        except StoreFailed:
            if not self.record.move():
                raise
            folder.keep()

    def _carry_out(self, step: Step) -> StepOutcome:
        """Run the step. DriveLost for a system error when the drive is gone."""
        try:
            return executors.carry_out(self.work, step)
        except OSError as error:
            if self.work.sampler.drive_lost.is_set() or not self.hold.alive():
                raise self.work.drive_lost(f"went away ({error.strerror})") from error
            raise

    def _end(self, index: int, state: StepState, outcome: StepOutcome, reason: str | None) -> None:
        self.record.step_ends(
            index,
            state,
            self.work.now,
            reason=reason,
            detail=outcome.detail,
            results=outcome.results,
            samples=self.work.sampler.take(),
        )
        self._committed = self.work.now

    def _tick(self) -> None:
        """Called after each sample, in the sampler's thread. Must not fail: the record would end.

        Progress that cannot be shown or committed now is retried after a second and at the end of
        the step, where an error of the store ends the run.
        """
        with contextlib.suppress(BenchError, OSError):
            if self._on_stick and state.moved_to_ram():
                self.record.move()
            self._show_progress()

    def _show_progress(self) -> None:
        work = self.work
        current = work.current
        index = current.index
        step = self.plan.steps[index]
        elapsed = work.now - self._step_start
        # Read it once: the runner's thread may end the step at any time.
        read_share = current.share
        share = read_share() if read_share is not None else None
        # A copy counts its own bytes; for a tool use the drive's counters.
        moved = work.sampler.moved(index) if isinstance(step, Fio) else current.bytes_done
        fraction, remaining = of_step(step, elapsed, moved, share)
        self._paces.learn(step, elapsed, remaining, moved)
        to_come = self.plan.steps[index + 1 :]
        remaining += self._paces.seconds_of(to_come)
        is_upper_bound = any(isinstance(later, Fio) and later.round.number for later in to_come)
        if work.now - self._committed > COMMIT_EVERY:
            self._commit()
        live_progress.publish(
            self.uuid,
            {
                "step_index": index,
                "name": step.name,
                "fraction": fraction,
                "text": step.name,
                "t": work.now,
                "seconds_left": remaining,
                "is_upper_bound": is_upper_bound,
                "samples": [sample.to_json() for sample in work.sampler.newest(180)],
            },
        )
        if self.progress is not None:
            total = len(self.plan.steps)
            number = self.record.number
            self.progress(
                Progress(number, index, total, step.name, fraction, remaining, is_upper_bound)
            )

    def _commit(self) -> None:
        """Write the samples that the store does not have yet.

        They stay in memory until the step ends: the in-flight median and the per-second series need
        them. A store to which the run moves during the step gets all of them.
        """
        store = self.record.db
        fresh = self.work.sampler.pending(self._stored[1] if self._stored[0] is store else -1)
        if fresh:
            self.record.samples(fresh)
            self._stored = (store, fresh[-1].n)
        self._committed = self.work.now

    def _compare_link(self) -> None:
        """Record whether the drive came back with another link during the run."""
        fresh = discover.reidentify(self.drive)
        if fresh is None:
            raise self.work.drive_lost("went away")
        for name in ("usb_speed", "sata_speed", "driver", "queue_depth"):
            old, new = self.drive.value(name), fresh.value(name)
            if old is not None and new is not None and old != new:
                self.record.event(self.work.now, "link", f"{name} changed from {old} to {new}")
