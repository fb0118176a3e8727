"""The IOPS and latency of each second of a fio step, from fio's logs or the drive's counters.

fio's logs: docs/methods/fio.md, and tried with 3.41.
With `log_avg_msec=1000` and `log_window_value=both`
a line is `time in ms, mean, maximum, direction, ...`. A helper thread writes an IOPS line about
once a second, but none for a second in which no request completed. The first request that completes
after the end of a second writes the latency line and is included in it: when the drive stops for
three seconds one line covers all three.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.analysis.consistency import seconds_above, summary
from benchstick.analysis.series import reduced
from benchstick.plan.quantity import IOPS_BY_SECOND, LATENCY_BY_SECOND, Quantity
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import Fio
from benchstick.store.run_results import Sample

# A line of fio's log that is later than this, in ms, may be due to a second without a line.
LATE_MS = 400
# How far the sum of fio's log may differ from fio's total.
TOLERANCE = 0.02
NO_LOG = "fio left no log"


@dataclass(frozen=True)
class BySecond:
    """Series with one value per second. The first second starts `start` seconds after the test.

    `source` is `fio` or `counters`; then `reason` is the reason why it is not fio. Latencies are in
    us, None for a second without any; both lists are empty when `latency_why` has a reason.
    """

    source: str
    reason: str | None
    start: int
    iops: Sequence[float]
    latency_mean: Sequence[float | None] = ()
    latency_max: Sequence[float | None] = ()
    latency_why: str | None = None

    def csv(self) -> str:
        """The series as CSV, one second per line."""
        lines = ["second,iops,latency_mean_us,latency_max_us"]
        for at, iops in enumerate(self.iops):
            second = self.start + at
            mean = self.latency_mean[second] if second < len(self.latency_mean) else None
            most = self.latency_max[second] if second < len(self.latency_max) else None
            lines.append(f"{second},{iops:.1f},{_cell(mean)},{_cell(most)}")
        return "\n".join(lines) + "\n"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def by_second(
    folder: Path,
    *,
    seconds: int,
    ios: int | None,
    block: int,
    samples: Sequence[Sample],
    lacking: str | None = None,
) -> BySecond:
    """The series of a step of `seconds` whole seconds whose logs are in `folder`.

    `ios` is fio's total, None for a step that ended early; `samples` are those completely between
    fio's start and end; `lacking` is the reason why there are no logs of fio.
    """
    rates = counter_rates(samples, block)
    reason, iops = lacking, []
    if lacking is None:
        try:
            iops = fio_iops(_text(folder / "iops_iops.1.log"), seconds, ios)
            _not_late(iops, rates)
        except ValueError as problem:
            reason = str(problem)
    means: Sequence[float | None] = ()
    maxima: Sequence[float | None] = ()
    latency_why = lacking
    if lacking is None:
        try:
            means, maxima = fio_latency(_text(folder / "latency_lat.1.log"), seconds)
        except ValueError as problem:
            latency_why = str(problem)
    if reason is None:
        # Only the log shows where a step ended that ended early.
        count = len(iops) if ios is None else seconds
        return BySecond("fio", None, 0, iops, means[:count], maxima[:count], latency_why)
    return BySecond("counters", reason, 1, rates, means, maxima, latency_why)


def results_of(
    step: Fio, series: BySecond, *, target: str, reason: str | None, whole: bool
) -> list[Result]:
    """The mean IOPS and latency of all seconds, as results with their series.

    `target` is what the step measured, `reason` the reason why they are invalid. `whole` is False
    for a step that ended early: then the reason has the time.
    """
    if not whole and step.job.runtime is not None:
        reason = f"{reason} after {len(series.iops)} s of {step.job.runtime:g}"

    def result(
        quantity: Quantity, value: float | None, info: dict[str, Any], reason: str | None
    ) -> Result:
        state = Validity.INVALID if reason else Validity.VALID
        state = Validity.SKIPPED if value is None else state
        return Result(
            step=step.name,
            test=step.test,
            quantity=quantity,
            direction=step.direction,
            value=value,
            unit="IOPS" if quantity == IOPS_BY_SECOND else "us",
            pass_no=step.pass_no,
            target=target,
            state=state,
            reason=reason,
            detail=info,
        )

    cause = reason or "it ended before a second"
    iops = result(IOPS_BY_SECOND, None, {}, cause)
    if series.iops:
        iops_detail = {
            "source": series.source,
            "source_reason": series.reason,
            "block": step.job.block,
            "summary": summary(series.iops, start=series.start),
            "series": reduced(series.iops, start=series.start),
        }
        iops = result(IOPS_BY_SECOND, sum(series.iops) / len(series.iops), iops_detail, reason)
    means = [value for value in series.latency_mean if value is not None]
    if series.latency_why or not means:
        return [iops, result(LATENCY_BY_SECOND, None, {}, series.latency_why or cause)]
    rest = {
        "mean": reduced(series.latency_mean),
        "max": reduced(series.latency_max),
        "above": seconds_above(series.latency_max),
    }
    return [iops, result(LATENCY_BY_SECOND, sum(means) / len(means), rest, reason)]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise ValueError(NO_LOG) from None


def _rows(text: str) -> Iterator[tuple[int, float, float]]:
    """(time in ms, mean, maximum) of each line. ValueError when a line has another format."""
    directions = set()
    for line in text.splitlines():
        words = line.split(",")
        if len(words) < 4:
            raise ValueError("fio's log has other columns than expected")
        directions.add(words[3].strip())
        yield int(words[0]), float(words[1]), float(words[2])
    if len(directions) > 1:
        raise ValueError("fio's log has more than one direction")


def fio_iops(text: str, seconds: int, ios: int | None) -> list[float]:
    """IOPS of each of the first `seconds` seconds; 0 when no request completed.

    fio's helper thread needs about 2 ms more than a second per line, so its lines drift: each
    second has the value of the line that covers its middle. The result ends with fio's log.
    ValueError with the reason when the seconds of the log cannot be distinguished or it does not
    add up to `ios`.
    """
    iops = [0.0] * seconds
    before, moved, value = 0, 0.0, 0.0
    for time, value, _ in _rows(text):
        whole = round((time - before) / 1000)
        if whole < 1 or abs(time - before - whole * 1000) > LATE_MS:
            raise ValueError(f"fio's log came late: {time - before} ms after the line before")
        # A line covers one second; full seconds before it without a completed request have none.
        covers = time - before - (whole - 1) * 1000
        moved += value * covers / 1000
        for second in range(seconds_of(time - covers), min(seconds, seconds_of(time))):
            iops[second] = value
        before = time
    if not before:
        raise ValueError(NO_LOG)
    if ios is None:
        return iops[: seconds_of(before)]
    # The requests after the last line are not known: assume the rate of the last line.
    rest = 2 * max(0.0, seconds - before / 1000) * value
    slack = max(TOLERANCE * ios, 2)
    if not moved - slack <= ios <= moved + rest + slack:
        raise ValueError(f"fio's log adds up to {moved:.0f} requests of {ios}")
    # Two seconds without a line at the end are due to the drive, one is due to the end of fio.
    return iops[: max(seconds - 1, seconds_of(before))] if seconds_of(before) < seconds else iops


def seconds_of(time: int) -> int:
    """The number of seconds whose middle is before `time` (ms)."""
    return (time + 499) // 1000


def fio_latency(text: str, seconds: int) -> tuple[list[float | None], list[float | None]]:
    """(mean, maximum) latency in us of each of the first `seconds` seconds.

    Each second that a line covers has its values. Requests outstanding at the end count in the
    maximum of the last second. ValueError when there is no log.
    """
    if not seconds:
        raise ValueError(NO_LOG)
    means: list[float | None] = [None] * seconds
    maxima: list[float | None] = [None] * seconds
    next_second = 0
    has_rows = False
    for time, mean, most in _rows(text):
        has_rows = True
        for second in range(next_second, max(next_second + 1, time // 1000)):
            at = min(second, seconds - 1)
            before = maxima[at]
            maxima[at] = most / 1000 if before is None else max(before, most / 1000)
            if second < seconds and before is None:
                means[at] = mean / 1000
        next_second = time // 1000
    if not has_rows:
        raise ValueError(NO_LOG)
    return means, maxima


def counter_rates(samples: Sequence[Sample], block: int) -> list[float]:
    """IOPS in requests of `block` bytes per second, from the drive's counters.

    Computed from bytes, as the kernel may split and merge requests. Without the first and the last
    sample, which include the start and end of fio. A late sample counts for all seconds that it
    covers.
    """
    rates: list[float] = []
    for sample in samples[1:-1]:
        rate = (sample.read_bytes + sample.write_bytes) / block / sample.dt
        rates += [rate] * max(1, round(sample.dt))
    return rates


def _not_late(iops: Sequence[float], rates: Sequence[float]) -> None:
    """ValueError when fio's log lacks seconds in which the drive was busy.

    Samples are a second long too, so each second without I/O leaves at least one of them with half
    of the usual rate or less.
    """
    # Without the first and the last seconds, as their samples are missing.
    empty = sum(1 for value in iops[2:-2] if value == 0)
    if not empty or not rates:
        return
    usual = statistics.median(rates)
    slow = sum(1 for rate in rates if rate <= usual / 2)
    if empty > slow:
        raise ValueError(f"fio's log lacks {empty} seconds, in which the drive was busy")
