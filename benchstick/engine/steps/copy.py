"""Copies file sets to the drive, back from it and within it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchstick.analysis.validity import distrust
from benchstick.engine.copier.copy import copy_tree
from benchstick.engine.copier.report import (
    CopyCancelled,
    CopyDriveLost,
    CopyReport,
    TargetFull,
    TargetReadOnly,
)
from benchstick.engine.fileset_source.passes import Options
from benchstick.engine.measure import page_cache
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.engine.step_artifacts import StepFolder
from benchstick.engine.steps.results import result_of_pass
from benchstick.plan.fileset import FileSet
from benchstick.plan.quantity import SPEED, TIME
from benchstick.plan.result import Result
from benchstick.plan.steps import FROM, TO, Copy, CopyWithin, LaySet
from benchstick.plan.units import megabytes_per_second, size_text

# A source less than twice as fast as the drive may limit the result.
SOURCE_MARGIN = 2.0


def do_copy(work: Work, step: Copy) -> StepOutcome:
    """Measure a copy to the drive or back, flush included."""
    assert work.target.folder is not None
    source = work.filesets.source
    assert source is not None
    assert work.current.artifacts is not None
    options = Options(step.threads, step.block, work.cancel, _progress(work))
    detail: dict[str, Any] = {}
    if step.direction == "read":
        source.make_room()
    page_cache.drop_caches()
    copy = source.write if step.direction == "write" else source.read
    with _report_of_stop(work.current.artifacts), work.measured(detail):
        report = copy(work.target.folder, options)
    _store_report(work, work.current.artifacts, report)
    reason = _copy_distrust(work, step, report, detail)
    detail["copy"] = {
        key: value for key, value in report.to_json().items() if key not in ("files", "errors")
    }
    return StepOutcome(results=_copy_results(work, step, report, reason, detail), detail=detail)


def _store_report(work: Work, artifacts: StepFolder, report: CopyReport) -> None:
    """Store the report of a measured copy that came to its end."""
    work.check_cancelled()
    work.filesets.not_copied |= report.errors.keys()
    artifacts.document("copy.json", report.to_json())
    artifacts.text("stdout", report.summary() + "\n")


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
        work.current.bytes_done = byte_count

    return note


def _copy_distrust(
    work: Work, step: Copy, report: CopyReport, detail: Mapping[str, Any]
) -> str | None:
    missing = _missing_files(report, work.filesets.sets[step.set_name].count)
    if missing:
        return missing
    side = "write_bytes" if step.direction == "write" else "read_bytes"
    reason = distrust(
        target=work.target.name,
        tool_bytes=report.bytes,
        device_bytes=int(detail["counters"][side]),
        cached_bytes=report.buffered_bytes(),
        files=report.files.copied,
    )
    rate = None if work.filesets.source is None else work.filesets.source.rate
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


def _copy_results(
    work: Work,
    step: Copy | CopyWithin,
    report: CopyReport,
    reason: str | None,
    detail: Mapping[str, Any],
) -> list[Result]:
    rest = _copy_detail(work.filesets.sets[step.set_name], report, detail)
    if isinstance(step, CopyWithin):
        rest["totals"] = {"read_bytes": report.bytes, "write_bytes": report.bytes}
    return [
        result_of_pass(work, step, quantity, value, unit, reason, rest)
        for quantity, value, unit in (
            (SPEED, megabytes_per_second(report.bytes, report.seconds), "MB/s"),
            (TIME, report.seconds, "s"),
        )
    ]


def do_lay_set(work: Work, step: LaySet) -> StepOutcome:
    """Write the set to the drive, to copy it to another folder there."""
    assert work.target.folder is not None
    source = work.filesets.source
    assert source is not None
    assert work.current.artifacts is not None
    options = Options(step.threads, step.block, work.cancel, _progress(work))
    with _report_of_stop(work.current.artifacts):
        report = source.write(work.target.folder / FROM, options)
    work.check_cancelled()
    work.filesets.not_copied |= report.errors.keys()
    return StepOutcome(detail={"bytes": report.bytes, "files": report.files.copied})


def do_copy_within(work: Work, step: CopyWithin) -> StepOutcome:
    """Measure a copy within the drive, through the page cache, flush included."""
    assert work.target.folder is not None
    assert work.current.artifacts is not None
    detail: dict[str, Any] = {}
    page_cache.drop_caches()
    with _report_of_stop(work.current.artifacts), work.measured(detail):
        report = copy_tree(
            work.target.folder / FROM,
            work.target.folder / TO,
            threads=step.threads,
            block=step.block,
            direct=False,
            cancel=work.cancel,
            progress=_progress(work),
        )
    _store_report(work, work.current.artifacts, report)
    reason = _within_distrust(work, step, report, detail)
    return StepOutcome(results=_copy_results(work, step, report, reason, detail), detail=detail)


def _within_distrust(
    work: Work, step: CopyWithin, report: CopyReport, detail: Mapping[str, Any]
) -> str | None:
    """Why the result is invalid. The page cache is part of this test, but all data must be read
    from the drive and written to it."""
    missing = _missing_files(report, work.filesets.sets[step.set_name].count)
    if missing:
        return missing
    for side in ("read_bytes", "write_bytes"):
        reason = distrust(
            target=work.target.name,
            tool_bytes=report.bytes,
            device_bytes=int(detail["counters"][side]),
            files=report.files.copied,
        )
        if reason:
            return f"{side.split('_')[0]}: {reason}"
    return None
