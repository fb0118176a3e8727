"""Runs fio, and checks its totals against the drive's counters."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchstick.analysis.ncq_verdict import waits_in_kernel
from benchstick.analysis.validity import distrust
from benchstick.engine.copier.errors import DRIVE_LOST
from benchstick.engine.measure import fio, page_cache
from benchstick.engine.measure.per_second_log import by_second, results_of
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.engine.steps.results import result_of_pass, skipped_result, target_of
from benchstick.engine.steps.target import settle
from benchstick.errors import BadInput, BenchError, Inconclusive
from benchstick.plan.quantity import IOPS, LATENCY, LATENCY_MAX, SPEED, latency_percentile
from benchstick.plan.result import Result
from benchstick.plan.steps import Fio

TEST_FILE = "benchstick.test"
# The messages of this system's C library, which fio uses as well.
# EILSEQ: the drive or dm-integrity detected a block with a wrong checksum.
_DRIVE_LOST = re.compile(
    "|".join(re.escape(os.strerror(number)) for number in (*DRIVE_LOST, errno.EILSEQ))
)


def do_fio(work: Work, step: Fio) -> StepOutcome:
    """Run fio, and check its totals against the drive's counters."""
    folder = work.current.artifacts
    assert folder is not None
    lacking = fio.lacking(step)
    if lacking:
        results = (
            [skipped_result(work, step, "MB/s", step.pass_no, lacking)]
            if step.recording.counted
            else []
        )
        return StepOutcome(skipped=lacking, results=results)
    raw = work.target.folder is None or step.span.whole_drive
    filename = work.drive.path if raw else str(_test_file(work))
    no_logs = fio.lacks(("log_window_value",)) if step.recording.series else None
    logged = step
    if no_logs:
        logged = replace(step, recording=replace(step.recording, series=False))
    argv = fio.command(logged, filename, folder.path, raw=raw)
    if not step.recording.counted and work.target.folder:
        argv.append("--end_fsync=1")
    if step.span.whole_drive and work.target.folder:
        settle(work.target.folder)
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
                results = _by_second(work, step, started_at, None, no_logs, stop.message)
                work.current.partial = StepOutcome(results=results, detail=detail)
        raise
    detail["totals"] = _totals_json(totals)
    if not step.recording.counted:
        return StepOutcome(detail=detail)
    reason = _fio_distrust(work, step, totals, detail)
    results = _fio_results(work, step, totals, reason, detail)
    if step.recording.series:
        results += _by_second(work, step, started_at, totals, no_logs, reason)
    return StepOutcome(results=results, detail=detail)


def _follows_a_write(work: Work) -> bool:
    before = work.plan.steps[work.current.index - 1] if work.current.index else None
    return isinstance(before, Fio) and before.destroys


def _timed_fio(work: Work, step: Fio, argv: Sequence[str], detail: dict[str, Any]) -> fio.Totals:
    """Run fio; the counters go to `detail`. A BenchError has the reason when it failed."""
    assert work.current.artifacts is not None
    with work.measured(detail):
        limit = None if step.job.runtime is None else step.job.runtime * 4 + 120
        result = work.tool(argv, timeout=limit)
    _fio_errors(
        work, result.exit_code, result.timed_out, work.current.artifacts.path, result.stderr
    )
    try:
        totals, error = fio.read_output(work.current.artifacts.path / "fio.json")
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
        raise BadInput(
            f"{work.target.name}: the filesystem is full; free space or use a smaller size"
        )
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
    assert work.target.folder is not None
    return work.target.folder / TEST_FILE


def _fio_distrust(
    work: Work, step: Fio, totals: fio.Totals, detail: Mapping[str, Any]
) -> str | None:
    counters = detail["counters"]
    target = target_of(work, step)
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


def _fio_results(
    work: Work, step: Fio, totals: fio.Totals, reason: str | None, detail: Mapping[str, Any]
) -> list[Result]:
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
        result_of_pass(
            work, step, quantity, value, unit, reason, rest if quantity == SPEED else state
        )
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
    return {"drive_state": work.plan.state_after(work.conditions.state, step.drive_state)}


def _by_second(
    work: Work,
    step: Fio,
    started_at: float,
    totals: fio.Totals | None,
    lacking: str | None,
    reason: str | None,
) -> list[Result]:
    """The mean IOPS and latency of all seconds, with their series; all values in `by-second.csv`.

    `started_at` is the start of the step in seconds of the run, `totals` None when it ended early,
    `lacking` why there are no logs of fio, `reason` why the results are invalid.
    """
    assert work.current.artifacts is not None
    now = work.now
    samples = [
        sample
        for sample in work.sampler.pending()
        if sample.step_index == work.current.index
        and started_at <= sample.t - sample.dt
        and sample.t <= now
    ]
    series = by_second(
        work.current.artifacts.path,
        # fio ends some milliseconds before or after its time.
        seconds=int(0.05 + (now - started_at if totals is None else totals.seconds)),
        ios=None if totals is None else totals.ios,
        block=step.job.block,
        samples=samples,
        lacking=lacking,
    )
    work.current.artifacts.text("by-second.csv", series.csv())
    target = target_of(work, step)
    results = results_of(step, series, target=target, reason=reason, whole=totals is not None)
    state = _own_state(work, step)
    return [replace(item, detail={**item.detail, **state}) for item in results]
