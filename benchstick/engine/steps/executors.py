"""Runs each kind of step."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchstick import paths
from benchstick.analysis.ncq_verdict import waits_in_kernel
from benchstick.analysis.validity import distrust
from benchstick.drives import prepare, temperature
from benchstick.drives.types import Fact
from benchstick.engine.copier.copy import copy_tree, empty_folder
from benchstick.engine.copier.direct_io import syncfs
from benchstick.engine.copier.errors import DRIVE_LOST
from benchstick.engine.copier.report import (
    CopyCancelled,
    CopyDriveLost,
    CopyReport,
    TargetFull,
    TargetReadOnly,
)
from benchstick.engine.fileset_source.passes import Options, open_cycle
from benchstick.engine.measure import fio, page_cache
from benchstick.engine.measure.per_second_log import by_second, figures_of
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.engine.step_artifacts import StepFolder
from benchstick.engine.steps.sanitize import do_purge
from benchstick.engine.steps.sanitize_sampling import do_mark, do_read_back
from benchstick.errors import BadInput, BenchError, Inconclusive
from benchstick.plan import corrupt
from benchstick.plan.figure import Figure
from benchstick.plan.fileset import FileSet
from benchstick.plan.quantity import (
    IOPS,
    LATENCY,
    LATENCY_MAX,
    SPEED,
    TIME,
    Quantity,
    latency_percentile,
)
from benchstick.plan.states import Validity
from benchstick.plan.steps import (
    FROM,
    TO,
    BuildSet,
    Copy,
    CopyWithin,
    Empty,
    Fio,
    Idle,
    LaySet,
    Mark,
    Prepare,
    Purge,
    ReadBack,
    Skip,
    Step,
    Verify,
)
from benchstick.plan.units import megabytes_per_second, size_text

TEST_FILE = "benchstick.test"
# A source less than twice as fast as the drive may limit the result.
SOURCE_MARGIN = 2.0
# The messages of this system's C library, which fio uses as well.
# EILSEQ: the drive or dm-integrity detected a block with a wrong checksum.
_DRIVE_LOST = re.compile(
    "|".join(re.escape(os.strerror(number)) for number in (*DRIVE_LOST, errno.EILSEQ))
)


# Steps that do not access the drive.
_NOT_ON_THE_DRIVE = (BuildSet, Skip)


def do_prepare(work: Work, step: Prepare) -> StepOutcome:
    """Raw: open the drive exclusively. File: format unless `keep`, mount, create the run folder."""
    if step.target == "block":
        if work.plan.destroys:
            work.hold.check_before_write(writes=False)
        work.cleanup.enter_context(work.hold.exclusive())
        return StepOutcome(detail={"target": "block"})
    if step.fs == "keep":
        filesystem = prepare.find_filesystem(work.drive, run=work.tool)
        device, fs, fs_details = filesystem.path, filesystem.fs, asdict(filesystem)
    else:
        prepared = prepare.make_filesystem(work.hold, step.fs, run=work.tool)
        device, fs, fs_details = prepared.path, prepared.fs, asdict(prepared)
    if step.fs == "keep":
        # The mount is the first write.
        work.hold.check_before_write()
    else:
        work.hold.check_medium()
    # Before the mount, which a cancel may interrupt.
    work.cleanup.callback(_unmount, work)
    mounted = prepare.mount(device, fs, work.uuid, run=work.tool)
    work.device, work.target = Path(device), f"file on {fs}"
    work.folder = prepare.new_folder(mounted, work.record.number, work.uuid)
    work.cleanup.callback(_remove_folder, work)
    work.filled = _filled(mounted)
    work.extra_conditions["filesystem"] = fs_details
    return StepOutcome(detail={"target": work.target, "filesystem": fs_details})


def _filled(mounted: Path) -> Fact:
    """How full the filesystem was before the run wrote to it."""
    stats = os.statvfs(mounted)
    share = 100 * (stats.f_blocks - stats.f_bfree) / max(1, stats.f_blocks)
    return Fact(round(share, 1), "%", "statfs")


def _unmount(work: Work) -> None:
    # Another medium gets no data of the filesystem.
    with contextlib.suppress(BenchError, OSError):
        work.hold.check_medium()
    try:
        problem = prepare.unmount(paths.run_folder() / "mnt" / work.uuid)
    except (BenchError, OSError) as error:
        problem = str(error)
    if problem:
        work.record.event(work.now, "unmount", problem)


def _remove_folder(work: Work) -> None:
    """Remove the bench's files from the drive's filesystem."""
    if work.folder is None or work.sampler.drive_lost.is_set():
        return
    try:
        work.hold.check_medium()
        empty_folder(work.folder)
        work.folder.rmdir()
    except (BenchError, OSError) as error:
        work.record.event(work.now, "clean-up", f"{work.folder.name} stays on the drive: {error}")


def do_idle(work: Work, step: Idle) -> StepOutcome:
    """Wait. Reads the temperature at the start, so that the drive is idle afterwards."""
    started_at = time.monotonic()
    detail: dict[str, Any] = {}
    if step.temperature:
        fact = temperature.read(work.drive)
        celsius = None if fact.value is None else float(fact.value)
        work.record.temperature(work.now, work.index, celsius, fact.source or None, fact.reason)
        detail = {"temperature": fact.to_json()}
    # The idle time may last hours: stop when the drive is lost.
    while (remaining := step.seconds - (time.monotonic() - started_at)) > 0:
        work.cancel.wait(min(remaining, 1.0))
        work.check_cancelled()
    work.check_cancelled()
    return StepOutcome(detail=detail)


def do_fio(work: Work, step: Fio) -> StepOutcome:
    """Run fio, and check its totals against the drive's counters."""
    folder = work.artifacts
    assert folder is not None
    lacking = fio.lacking(step)
    if lacking:
        figures = (
            [_skipped(work, step, "MB/s", step.pass_no, lacking)] if step.recording.counted else []
        )
        return StepOutcome(skipped=lacking, figures=figures)
    raw = work.folder is None or step.span.whole_drive
    filename = work.drive.path if raw else str(_test_file(work))
    no_logs = fio.lacks(("log_window_value",)) if step.recording.series else None
    logged = step
    if no_logs:
        logged = replace(step, recording=replace(step.recording, series=False))
    argv = fio.command(logged, filename, folder.path, raw=raw)
    if not step.recording.counted and work.folder:
        argv.append("--end_fsync=1")
    if step.span.whole_drive and work.folder:
        _settle(work.folder)
    if step.destroys:
        # The full check once per sequence of writing steps. Between these, which follow each other
        # without a pause, only the open descriptor, the node and diskseq are checked.
        work.hold.check_before_write(asks_drive=not _follows_a_write(work))
    detail: dict[str, Any] = {"command": argv}
    started_at = work.now
    try:
        totals = _timed_fio(work, step, argv, detail)
    except BenchError as stop:
        if step.recording.series and step.recording.counted:
            # An error here must not hide why the step ended.
            with contextlib.suppress(BenchError, OSError):
                figures = _by_second(work, step, started_at, None, no_logs, stop.message)
                work.partial = StepOutcome(figures=figures, detail=detail)
        raise
    detail["totals"] = _totals_json(totals)
    if not step.recording.counted:
        return StepOutcome(detail=detail)
    reason = _fio_distrust(work, step, totals, detail)
    figures = _fio_figures(work, step, totals, reason, detail)
    if step.recording.series:
        figures += _by_second(work, step, started_at, totals, no_logs, reason)
    return StepOutcome(figures=figures, detail=detail)


def _settle(folder: Path) -> None:
    """Flush the filesystem before a test of the raw drive that contains it: it would write during
    the test. Best effort: the counters show such writes."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            syncfs(fd)
        finally:
            os.close(fd)


def _follows_a_write(work: Work) -> bool:
    before = work.plan.steps[work.index - 1] if work.index else None
    return isinstance(before, Fio) and before.destroys


def _timed_fio(work: Work, step: Fio, argv: Sequence[str], detail: dict[str, Any]) -> fio.Totals:
    """Run fio; the counters go to `detail`. A BenchError has the reason when it failed."""
    assert work.artifacts is not None
    with work.measured(detail):
        limit = None if step.job.runtime is None else step.job.runtime * 4 + 120
        result = work.tool(argv, timeout=limit)
    _fio_errors(work, result.exit_code, result.timed_out, work.artifacts.path, result.stderr)
    try:
        totals, error = fio.read_output(work.artifacts.path / "fio.json")
    except (OSError, ValueError, KeyError, LookupError) as problem:
        raise Inconclusive(f"fio: its output cannot be read ({problem})") from None
    if error:
        raise Inconclusive(f"fio: error {error}")
    if step.busy_seconds is not None:
        detail["seconds_with_rests"] = totals.seconds
        return replace(totals, seconds=step.busy_seconds)
    return totals


def _totals_json(totals: fio.Totals) -> dict[str, Any]:
    return {
        "read_bytes": totals.read_bytes,
        "write_bytes": totals.write_bytes,
        "ios": totals.ios,
        "seconds": totals.seconds,
        "latency_us": totals.latency_us,
        "max_us": totals.max_us,
        "percentiles_us": dict(totals.percentiles),
        "histogram_us": {way: list(bins) for way, bins in totals.histogram.items()},
    }


def _fio_errors(
    work: Work, exit_code: int, timed_out: bool, folder: Path, stderr_bytes: bytes
) -> None:
    """Raise the error for fio's failure; nothing when it did not fail."""
    if exit_code == 0 and not timed_out:
        return
    stderr = stderr_bytes.decode("utf-8", "replace")
    if work.sampler.drive_lost.is_set() or not work.hold.alive():
        raise work.drive_lost("went away during the test")
    if _DRIVE_LOST.search(stderr) or _DRIVE_LOST.search(_json_text(folder)):
        raise work.drive_lost("answers with I/O errors")
    if "No space left" in stderr:
        raise BadInput(f"{work.target}: the filesystem is full; free space or use a smaller size")
    if timed_out:
        raise Inconclusive("fio: did not end in time and was killed")
    lines = [line for line in stderr.splitlines() if line.strip()]
    raise Inconclusive(f"fio: exit code {exit_code}: {lines[-1] if lines else 'no message'}")


def _json_text(folder: Path) -> str:
    """fio's output before its JSON: with `--output` its error lines are there."""
    try:
        return (folder / "fio.json").read_text(encoding="utf-8", errors="replace").split("{", 1)[0]
    except OSError:
        return ""


def _test_file(work: Work) -> Path:
    assert work.folder is not None
    return work.folder / TEST_FILE


def _target_of(work: Work, step: Fio | Copy | CopyWithin) -> str:
    """What the step measures: the raw drive, or the run's target."""
    return "block" if isinstance(step, Fio) and step.span.whole_drive else work.target


def _fio_distrust(
    work: Work, step: Fio, totals: fio.Totals, detail: Mapping[str, Any]
) -> str | None:
    counters = detail["counters"]
    target = _target_of(work, step)
    cached = 0
    if target != "block":
        names = fio.files_of(step, str(_test_file(work)))
        cached = page_cache.resident_bytes(Path(name) for name in names)
    for tool_bytes, device_bytes in (
        (totals.read_bytes, counters["read_bytes"]),
        (totals.write_bytes, counters["write_bytes"]),
    ):
        if tool_bytes:
            reason = distrust(
                target=target,
                tool_bytes=tool_bytes,
                device_bytes=int(device_bytes),
                cached_bytes=min(cached, totals.bytes),
                files=step.span.files,
            )
            if reason:
                return reason
    return None if totals.bytes else "nothing was moved"


def _fio_figures(
    work: Work, step: Fio, totals: fio.Totals, reason: str | None, detail: Mapping[str, Any]
) -> list[Figure]:
    rest = {key: detail[key] for key in ("counters", "inflight_median", "totals")}
    depth = work.drive.value("queue_depth")
    step_depth = step.job.depth * step.job.threads
    rest["queue"] = {
        "requested": step_depth,
        "drive": depth,
        "waits_in_kernel": waits_in_kernel(step_depth, depth),
    }
    state = _own_state(work, step)
    rest |= state
    iops = totals.ios / totals.seconds if totals.seconds else 0.0
    percentiles = [
        (latency_percentile(float(name)), us, "us") for name, us in totals.percentiles.items()
    ]
    return [
        _measured(work, step, quantity, value, unit, reason, rest if quantity == SPEED else state)
        for quantity, value, unit in (
            (SPEED, totals.mbps, "MB/s"),
            (IOPS, iops, "IOPS"),
            (LATENCY, totals.latency_us, "us"),
            (LATENCY_MAX, totals.max_us, "us"),
            *percentiles,
        )
    ]


def _own_state(work: Work, step: Fio) -> dict[str, str]:
    """For a result's detail: the drive's state, when it differs from that at the end of the run."""
    if step.drive_state is None:
        return {}
    return {"drive_state": work.plan.state_after(work.state, step.drive_state)}


def _by_second(
    work: Work,
    step: Fio,
    started_at: float,
    totals: fio.Totals | None,
    lacking: str | None,
    reason: str | None,
) -> list[Figure]:
    """The mean IOPS and latency of all seconds, with their series; all values in `by-second.csv`.

    `started_at` is the start of the step in seconds of the run, `totals` None when it ended early,
    `lacking` why there are no logs of fio, `reason` why the results are invalid.
    """
    assert work.artifacts is not None
    now = work.now
    samples = [
        sample
        for sample in work.sampler.pending()
        if sample.step_index == work.index
        and started_at <= sample.t - sample.dt
        and sample.t <= now
    ]
    series = by_second(
        work.artifacts.path,
        # fio ends some milliseconds before or after its time.
        seconds=int(0.05 + (now - started_at if totals is None else totals.seconds)),
        ios=None if totals is None else totals.ios,
        block=step.job.block,
        samples=samples,
        lacking=lacking,
    )
    work.artifacts.text("by-second.csv", series.csv())
    target = _target_of(work, step)
    figures = figures_of(step, series, target=target, reason=reason, whole=totals is not None)
    state = _own_state(work, step)
    return [replace(item, detail={**item.detail, **state}) for item in figures]


def _measured(
    work: Work,
    step: Fio | Copy | CopyWithin,
    quantity: Quantity,
    value: float,
    unit: str,
    reason: str | None,
    detail: Mapping[str, Any],
) -> Figure:
    """A result of one pass; invalid when there is a `reason`."""
    return Figure(
        step=step.name, test=step.test, quantity=quantity, direction=step.direction, value=value,
        unit=unit, pass_no=step.pass_no, target=_target_of(work, step),
        state=Validity.INVALID if reason else Validity.VALID, reason=reason, detail=detail,
    )  # fmt: skip


def _skipped(work: Work, step: Fio | Skip, unit: str, pass_no: int, reason: str) -> Figure:
    return Figure(
        step=step.name, test=step.test, quantity=SPEED, value=None, unit=unit, pass_no=pass_no,
        direction=step.direction, target=work.target, state=Validity.SKIPPED, reason=reason,
    )  # fmt: skip


def do_build_set(work: Work, step: BuildSet) -> StepOutcome:
    """Create the set's source again. Free the RAM of the one before first."""
    if work.source is not None:
        work.source.close()
        work.source = None
    files = work.sets[step.set_name]
    place = paths.run_folder() / "ram" / work.uuid
    work.source = open_cycle(step.source, files, place, folder=work.set_folder, cancel=work.cancel)
    work.check_cancelled()
    if work.source.note:
        work.record.event(work.now, "source", work.source.note)
    detail: dict[str, Any] = {"source": step.source, "bytes": files.bytes, "files": files.count}
    if work.source.rate is not None:
        detail["source_rate"] = work.source.rate
    return StepOutcome(detail=detail)


def do_empty(work: Work, step: Empty) -> StepOutcome:
    """Empty the run's folder on the drive and flush it, so that the copy skips no files."""
    assert work.folder is not None
    removed = empty_folder(work.folder)
    work.not_copied.clear()
    return StepOutcome(detail={"removed_files": removed.files, "removed_bytes": removed.bytes})


def do_copy(work: Work, step: Copy) -> StepOutcome:
    """Measure a copy to the drive or back, flush included."""
    assert work.folder is not None
    assert work.source is not None
    assert work.artifacts is not None
    options = Options(step.threads, step.block, work.cancel, _progress(work))
    detail: dict[str, Any] = {}
    if step.direction == "read":
        work.source.make_room()
    page_cache.drop_caches()
    copy = work.source.write if step.direction == "write" else work.source.read
    with _report_of_stop(work.artifacts), work.measured(detail):
        report = copy(work.folder, options)
    work.check_cancelled()
    work.not_copied |= report.errors.keys()
    work.artifacts.document("copy.json", report.to_json())
    work.artifacts.text("stdout", report.summary() + "\n")
    reason = _copy_distrust(work, step, report, detail)
    detail["copy"] = {
        key: value for key, value in report.to_json().items() if key not in ("files", "errors")
    }
    return StepOutcome(figures=_copy_figures(work, step, report, reason, detail), detail=detail)


@contextlib.contextmanager
def _report_of_stop(artifacts: StepFolder) -> Iterator[None]:
    """Store the report of a copy that an error or a cancel ended."""
    try:
        yield
    except (CopyDriveLost, CopyCancelled, TargetFull, TargetReadOnly) as stop:
        artifacts.document("copy.json", stop.report.to_json())
        raise


def _progress(work: Work) -> Callable[[int], None]:
    def note(byte_count: int) -> None:
        work.bytes_done = byte_count

    return note


def _copy_distrust(
    work: Work, step: Copy, report: CopyReport, detail: Mapping[str, Any]
) -> str | None:
    missing = _missing_files(report, work.sets[step.set_name].count)
    if missing:
        return missing
    side = "write_bytes" if step.direction == "write" else "read_bytes"
    reason = distrust(
        target=work.target,
        tool_bytes=report.bytes,
        device_bytes=int(detail["counters"][side]),
        cached_bytes=report.buffered_bytes(),
        files=report.files.copied,
    )
    rate = None if work.source is None else work.source.rate
    if reason is not None or step.direction != "write" or rate is None:
        return reason
    if rate >= SOURCE_MARGIN * report.speed:
        return None
    return (
        f"source-bound: the source reaches {size_text(rate)}/s, "
        f"less than twice the {size_text(report.speed)}/s measured"
    )


def _missing_files(report: CopyReport, total: int) -> str | None:
    """A reason when a part of the set was not copied, else None."""
    if report.errors:
        path, message = next(iter(report.errors.items()))
        return f"{len(report.errors)} files failed, the first: {path}: {message}"
    if report.files.copied != total:
        return f"{report.files.copied} files of {total} were copied"
    return None


def _copy_detail(files: FileSet, report: CopyReport, detail: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of the results of a copy."""
    return {
        "scale": files.scale,
        "bytes": report.bytes,
        "files": report.files.copied,
        "folders": len(files.folders),
        "seconds_without_flush": report.seconds_without_flush,
        "counters": detail["counters"],
        "inflight_median": detail["inflight_median"],
    }


def _copy_figures(
    work: Work, step: Copy, report: CopyReport, reason: str | None, detail: Mapping[str, Any]
) -> list[Figure]:
    rest = _copy_detail(work.sets[step.set_name], report, detail)
    return [
        _measured(work, step, quantity, value, unit, reason, rest)
        for quantity, value, unit in (
            (SPEED, megabytes_per_second(report.bytes, report.seconds), "MB/s"),
            (TIME, report.seconds, "s"),
        )
    ]


def do_lay_set(work: Work, step: LaySet) -> StepOutcome:
    """Write the set to the drive, to copy it to another folder there."""
    assert work.folder is not None
    assert work.source is not None
    assert work.artifacts is not None
    options = Options(step.threads, step.block, work.cancel, _progress(work))
    with _report_of_stop(work.artifacts):
        report = work.source.write(work.folder / FROM, options)
    work.check_cancelled()
    work.not_copied |= report.errors.keys()
    return StepOutcome(detail={"bytes": report.bytes, "files": report.files.copied})


def do_copy_within(work: Work, step: CopyWithin) -> StepOutcome:
    """Measure a copy within the drive, through the page cache, flush included."""
    assert work.folder is not None
    assert work.artifacts is not None
    detail: dict[str, Any] = {}
    page_cache.drop_caches()
    with _report_of_stop(work.artifacts), work.measured(detail):
        report = copy_tree(
            work.folder / FROM,
            work.folder / TO,
            threads=step.threads,
            block=step.block,
            direct=False,
            cancel=work.cancel,
            progress=_progress(work),
        )
    work.check_cancelled()
    work.not_copied |= report.errors.keys()
    work.artifacts.document("copy.json", report.to_json())
    work.artifacts.text("stdout", report.summary() + "\n")
    reason = _within_distrust(work, step, report, detail)
    return StepOutcome(figures=_within_figures(work, step, report, reason, detail), detail=detail)


def _within_distrust(
    work: Work, step: CopyWithin, report: CopyReport, detail: Mapping[str, Any]
) -> str | None:
    """Why the result is invalid. The page cache is part of this test, but all data must be read
    from the drive and written to it."""
    missing = _missing_files(report, work.sets[step.set_name].count)
    if missing:
        return missing
    for side in ("read_bytes", "write_bytes"):
        reason = distrust(
            target=work.target,
            tool_bytes=report.bytes,
            device_bytes=int(detail["counters"][side]),
            files=report.files.copied,
        )
        if reason:
            return f"{side.split('_')[0]}: {reason}"
    return None


def _within_figures(
    work: Work, step: CopyWithin, report: CopyReport, reason: str | None, detail: Mapping[str, Any]
) -> list[Figure]:
    rest = {
        **_copy_detail(work.sets[step.set_name], report, detail),
        "totals": {"read_bytes": report.bytes, "write_bytes": report.bytes},
    }
    return [
        _measured(work, step, quantity, value, unit, reason, rest)
        for quantity, value, unit in (
            (SPEED, megabytes_per_second(report.bytes, report.seconds), "MB/s"),
            (TIME, report.seconds, "s"),
        )
    ]


def do_skip(work: Work, step: Skip) -> StepOutcome:
    """Record a test that cannot run, with its reason."""
    figure = _skipped(work, step, step.unit, step.pass_no, step.reason)
    return StepOutcome(skipped=step.reason, figures=[figure])


def do_verify(work: Work, step: Verify) -> StepOutcome:
    """Compare the data. Not measured. When it differs the pass is invalid, the run is corrupt, and
    the source is created again for the next pass."""
    assert work.source is not None
    assert work.folder is not None
    differences = work.source.compare(work.folder / step.folder, work.cancel)
    work.check_cancelled()
    if not differences:
        return StepOutcome(detail={"compared": "equal"})
    tests = work.tests_of_set(step.set_name)
    wrong = [item for item in differences if item.of_drive and item.path not in work.not_copied]
    if wrong:
        reason = f"data differ: {_files_differ(len(wrong))}, the first: {wrong[0]}"
        work.data_differs(
            reason, tests=tests, set_name=step.set_name, pass_no=step.pass_no, files=len(wrong),
            differences=[asdict(item) for item in wrong[: corrupt.MOST_DIFFERENCES]],
        )  # fmt: skip
    else:
        # Not due to the drive: the copy did not copy these, or another program wrote them.
        reason = f"not comparable: {len(differences)} files, the first: {differences[0]}"
        for test in tests:
            work.record.invalidate_pass(test, step.pass_no, reason)
    work.source.renew(work.cancel)
    return StepOutcome(detail={"compared": reason}, failed=reason)


def _files_differ(count: int) -> str:
    return "1 file differs" if count == 1 else f"{count} files differ"


_EXECUTORS: Mapping[type[Step], Callable[[Work, Any], StepOutcome]] = {
    Prepare: do_prepare,
    Idle: do_idle,
    Fio: do_fio,
    BuildSet: do_build_set,
    Empty: do_empty,
    Copy: do_copy,
    LaySet: do_lay_set,
    CopyWithin: do_copy_within,
    Verify: do_verify,
    Skip: do_skip,
    Mark: do_mark,
    Purge: do_purge,
    ReadBack: do_read_back,
}


def carry_out(work: Work, step: Step) -> StepOutcome:
    """Run a step. A BenchError has the reason why it ended early.

    Checks the medium before each step on the drive and after each idle time, when nothing is
    measured.
    """
    if not isinstance(step, _NOT_ON_THE_DRIVE):
        work.hold.check_medium()
    if isinstance(step, Idle) and work.folder is not None:
        # Else the kernel would write during the idle time, to any medium that is in the drive.
        _settle(work.folder)
    outcome = _EXECUTORS[type(step)](work, step)
    if isinstance(step, Idle):
        work.hold.check_medium()
    return outcome
