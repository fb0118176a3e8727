"""What the steps of one run share."""

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
from benchstick.plan.steps import Copy, CopyWithin, Plan
from benchstick.store.records import Figure, RunRecord


@dataclass
class StepOutcome:
    """What a step gave: figures and what they rest on; `skipped` is the reason it could not run."""

    figures: Sequence[Figure] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    skipped: str | None = None
    # What the step found wrong; the run goes on.
    failed: str | None = None


@dataclass(frozen=True)
class Either:
    """Set as soon as one of two is set."""

    one: subprocesses.Flag
    other: subprocesses.Flag

    def is_set(self) -> bool:
        return self.one.is_set() or self.other.is_set()


RAW_FILLED = Fact.unknown("raw drive: what it holds is not known")


@dataclass
class Work:
    """One run in the making. `target` is `block`, or `file on exfat` once it is known."""

    uuid: str
    home: Path
    drive: Drive
    plan: Plan
    hold: Hold
    record: RunRecord
    sampler: Sampler
    cancel: threading.Event
    cleanup: contextlib.ExitStack
    cgroup: Path | None
    sets: Mapping[str, FileSet]
    target: str
    set_folder: Path | None = None
    file: Path | None = None
    folder: Path | None = None
    device: Path | None = None
    source: Cycle | None = None
    bytes_done: int = 0
    artefacts: StepFolder | None = None
    index: int = 0
    # What a step that is cut short has to show; kept with its end.
    partial: StepOutcome | None = None
    filled: Fact = RAW_FILLED
    # What part of the step is done, 0 to 1, where the step can tell it.
    share: Callable[[], float | None] | None = None
    marks: Marks | None = None
    # Files of this pass that were not copied, and whose report says so.
    not_copied: set[str] = field(default_factory=set)
    # The drive's state that a purge left, for every figure; None where the plan has none.
    state: str | None = None
    extra_conditions: dict[str, Any] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """Seconds on the run's clock."""
        return time.monotonic() - self.sampler.start_time

    def check_cancelled(self) -> None:
        """Cancelled or DriveLost when there is a reason to stop."""
        if self.sampler.lost.is_set():
            raise self.lost("went away")
        if self.cancel.is_set():
            raise Cancelled("cancelled")

    def lost(self, how: str) -> DriveLost:
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
        """Keep that the data read back differs from what was written: the run is corrupt, and the
        results of `tests` in that pass are invalid."""
        name = self.plan.steps[self.index].name
        self.record.data_differs(
            self.now,
            corrupt.finding(step=self.index, name=name, text=text, set_name=set_name,
                            pass_no=pass_no, files=files, differences=differences),
            tests,
        )  # fmt: skip

    def read_back(self, text: str, *, proved: bool) -> None:
        """Say on every figure what the places of the marks held after the purge."""
        self.extra_conditions["purge"] = {
            **self.extra_conditions.get("purge", {}), "read back": text,
        }  # fmt: skip
        if not proved:
            self.state = sanitize_methods.not_proved(str(self.state), text)
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
        """`tool.run` in the run's cgroup, ended by a cancel or the drive's loss, with its
        artefacts kept.

        What is not `stoppable` (a command that the drive carries to its end) is waited for
        whatever is asked meanwhile; the caller looks at the cancel after it.
        """
        if self.artefacts is not None:
            self.artefacts.command(argv)
        result = subprocesses.run(
            argv,
            timeout=timeout,
            cancel=Either(cancel or self.cancel, self.sampler.lost) if stoppable else None,
            cgroup=cgroup or self.cgroup,
            started=started,
            grace=grace,
        )
        if self.artefacts is not None:
            self.artefacts.output(result.stdout, result.stderr, result.exit_code)
        if stoppable and (self.cancel.is_set() or self.hold.medium_changed is not None):
            self.check_cancelled()
        return result

    @contextlib.contextmanager
    def measured(self, into: dict[str, Any]) -> Iterator[None]:
        """Put into `into` what the drive's counters say of the time in between.

        `inflight_median` is what the drive itself held, `queue_mean` also counts requests that
        waited in the kernel.
        """
        try:
            before = self.sampler.counters()
            start = self.now
            yield
            after = self.sampler.counters()
        except OSError as error:
            if self.sampler.lost.is_set() or not self.hold.alive():
                raise self.lost("went away") from error
            raise
        end = self.now
        into["counters"] = after.since(before)
        into["inflight_median"] = self._median_inflight(start, end)

    def _median_inflight(self, start: float, end: float) -> float | None:
        depths = [
            sample.inflight
            for sample in self.sampler.pending()
            if sample.step == self.index and start <= sample.t <= end
        ]
        return statistics.median(depths) if depths else None
