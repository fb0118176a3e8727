"""The context that the steps of a run share."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchstick.analysis.sanitize_sampling import Marks
from benchstick.drives import sanitize_methods, subprocesses
from benchstick.drives.guard import Hold
from benchstick.drives.types import Drive, Fact
from benchstick.engine.fileset_source.passes import Cycle
from benchstick.engine.measure.sampler import Sampler
from benchstick.engine.step_artifacts import StepFolder
from benchstick.errors import Cancelled, DriveLost
from benchstick.plan import corrupt
from benchstick.plan.fileset import FileSet
from benchstick.plan.result import Result
from benchstick.plan.steps import Copy, CopyWithin, Plan
from benchstick.store.run_writer import RunRecord


@dataclass
class StepOutcome:
    """The results of a step and their detail; `skipped` is the reason why it could not run."""

    results: Sequence[Result] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    skipped: str | None = None
    # The error that the step reports; the run continues.
    failed: str | None = None


@dataclass(frozen=True)
class Either:
    """Set when one of two flags is set."""

    one: subprocesses.Flag
    other: subprocesses.Flag

    def is_set(self) -> bool:
        return self.one.is_set() or self.other.is_set()


RAW_FILLED = Fact.unknown("raw drive: its content is not known")


@dataclass
class Target:
    """What the run measures: `name` is `block`, or `file on exfat` once it is known. `folder` is
    the bench's folder on the filesystem, None on the raw drive."""

    name: str
    folder: Path | None = None


@dataclass
class FileSets:
    """The file sets of the plan by their names, and the source of the one in use. `own_folder` is
    the user's own; `not_copied` the files of this pass that the report lists as not copied."""

    sets: Mapping[str, FileSet]
    own_folder: Path | None = None
    source: Cycle | None = None
    not_copied: set[str] = field(default_factory=set)


@dataclass
class CurrentStep:
    """The progress of the step that runs. `share` returns the fraction that is done, 0 to 1, if the
    step reports it; `partial` is the outcome of a step that ended early, stored at its end."""

    index: int = 0
    artifacts: StepFolder | None = None
    bytes_done: int = 0
    share: Callable[[], float | None] | None = None
    partial: StepOutcome | None = None


@dataclass
class Conditions:
    """What the run learns about the drive's conditions. `state` is the drive's state after the
    purge, for every result; None when the plan has no purge. `extra` is stored with the others."""

    filled: Fact = RAW_FILLED
    marks: Marks | None = None
    state: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Work:
    """A run in progress: what it was started with, and its parts that change."""

    uuid: str
    drive: Drive
    plan: Plan
    hold: Hold
    record: RunRecord
    sampler: Sampler
    cancel: threading.Event
    cleanup: contextlib.ExitStack
    cgroup: Path | None
    filesets: FileSets
    target: Target
    current: CurrentStep = field(default_factory=CurrentStep)
    conditions: Conditions = field(default_factory=Conditions)

    @property
    def now(self) -> float:
        """Seconds since the start of the run."""
        return time.monotonic() - self.sampler.start_time

    def check_cancelled(self) -> None:
        """Raises Cancelled or DriveLost when there is a reason to stop."""
        if self.sampler.drive_lost.is_set():
            raise self.drive_lost("went away")
        if self.cancel.is_set():
            raise Cancelled("cancelled")

    def drive_lost(self, how: str) -> DriveLost:
        if self.hold.medium_changed is not None:
            how = f"holds another medium: {self.hold.medium_changed}"
        return DriveLost(f"{self.drive.identity.model} ({self.drive.code}): the drive {how}")

    def tests_of_set(self, set_name: str) -> list[str]:
        """The tests of the plan that copy this file set."""
        copies = (step for step in self.plan.steps if isinstance(step, Copy | CopyWithin))
        return list(dict.fromkeys(step.test for step in copies if step.set_name == set_name))

    def data_differs(
        self,
        text: str,
        *,
        tests: Sequence[str] = (),
        set_name: str | None = None,
        pass_no: int | None = None,
        files: int = 0,
        differences: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Record that the data read back differs from the data written: the run is corrupt, and the
        results of `tests` in that pass are invalid."""
        name = self.plan.steps[self.current.index].name
        self.record.data_differs(
            self.now,
            corrupt.finding(step_index=self.current.index, name=name, text=text, set_name=set_name,
                            pass_no=pass_no, files=files, differences=differences),
            tests,
        )  # fmt: skip

    def read_back(self, text: str, *, proved: bool) -> None:
        """Add the content of the marks' places after the purge to the conditions of all results."""
        self.conditions.extra["purge"] = {
            **self.conditions.extra.get("purge", {}), "read_back": text,
        }  # fmt: skip
        if not proved:
            self.conditions.state = sanitize_methods.not_proved(str(self.conditions.state), text)
            self.record.event(self.now, "purge", f"not proved: {text}")

    def tool(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = 60.0,
        cancel: subprocesses.Flag | None = None,
        cgroup: Path | None = None,
        started: Callable[[subprocess.Popen[bytes]], None] | None = None,
        grace: float = 5.0,
        stoppable: bool = True,
    ) -> subprocesses.Finished:
        """`subprocesses.run` in the run's cgroup. A cancel or the loss of the drive ends it. Its
        output is stored.

        A command that is not `stoppable` (as the drive completes it anyway) runs to its end; the
        caller checks for a cancel after it.
        """
        if self.current.artifacts is not None:
            self.current.artifacts.command(argv)
        result = subprocesses.run(
            argv,
            timeout=timeout,
            cancel=Either(cancel or self.cancel, self.sampler.drive_lost) if stoppable else None,
            cgroup=cgroup or self.cgroup,
            started=started,
            grace=grace,
        )
        if self.current.artifacts is not None:
            self.current.artifacts.output(result.stdout, result.stderr, result.exit_code)
        if stoppable and (self.cancel.is_set() or self.hold.medium_changed is not None):
            self.check_cancelled()
        return result

    @contextlib.contextmanager
    def measured(self, into: dict[str, Any]) -> Iterator[None]:
        """Put the changes of the drive's counters during the block into `into`.

        `inflight_median` counts requests in the drive, `queue_mean` also those that waited in the
        kernel.
        """
        try:
            before = self.sampler.counters()
            start = self.now
            yield
            after = self.sampler.counters()
        except OSError as error:
            if self.sampler.drive_lost.is_set() or not self.hold.alive():
                raise self.drive_lost("went away") from error
            raise
        end = self.now
        into["counters"] = after.since(before)
        into["inflight_median"] = self._median_inflight(start, end)

    def _median_inflight(self, start: float, end: float) -> float | None:
        depths = [
            sample.inflight
            for sample in self.sampler.pending()
            if sample.step_index == self.current.index and start <= sample.t <= end
        ]
        return statistics.median(depths) if depths else None
