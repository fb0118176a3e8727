"""fio: its command line for a step, its features, and its JSON output.

Options and their reasons: docs/methods/fio.md.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchstick.analysis.histogram import one_two_five, percentile_of
from benchstick.drives import subprocesses
from benchstick.errors import BadInput
from benchstick.plan.steps import Fio

# JSON with nanosecond latencies and everything that the plain steps use.
OLDEST = (3, 16)
# The first versions with options that a step may need (docs/methods/fio.md), for the message. The
# check itself queries fio.
SINCE = {"log_window_value": "3.38", "log_issue_time": "3.38", "ss_interval": "3.35"}


@functools.cache
def _ask(argument: str, path: str) -> str:
    """The output of the fio at `path` for an argument."""
    result = subprocesses.run([path, argument], timeout=20)
    return result.text + result.stderr.decode("utf-8", "replace")


def ask(argument: str) -> str:
    """fio's output for `--version`, `--cmdhelp=...`. BadInput when fio is missing."""
    return _ask(argument, subprocesses.require("fio"))


def version() -> tuple[int, int]:
    """(3, 39) of `fio-3.39`. BadInput when fio is missing or does not report it."""
    match = re.search(r"fio-(\d+)\.(\d+)", ask("--version"))
    if match is None:
        place = subprocesses.require("fio")
        raise BadInput(f"{place} does not report its version: apt-get install --reinstall fio")
    return int(match[1]), int(match[2])


def check() -> None:
    """BadInput when fio is missing, older than OLDEST, or lacks the libaio engine."""
    actual = version()
    if actual < OLDEST:
        raise BadInput(
            f"fio {actual[0]}.{actual[1]} is too old: {OLDEST[0]}.{OLDEST[1]} or later is needed"
        )
    if "libaio" not in ask("--enghelp"):
        raise BadInput("fio was built without libaio: install Debian's fio or rebuild it")


def lacking(step: Fio) -> str | None:
    """Why this fio cannot run the step, None when it can. Checks the options, not the version."""
    return lacks(step.job.needs)


def lacks(options: Sequence[str]) -> str | None:
    """A reason with the first of `options` that this fio lacks; None when it has all."""
    for option in options:
        if "No such command" in ask(f"--cmdhelp={option}"):
            actual = ".".join(str(number) for number in version())
            minimum = SINCE.get(option)
            since = f"; {minimum} or later is needed" if minimum else ""
            return f"fio {actual} has no option {option}{since}"
    return None


def command(step: Fio, filename: str, folder: Path, *, raw: bool = True) -> list[str]:
    """The exact command of a step on `filename`; JSON and logs go to `folder`.

    `raw`: it is a drive. A step with several files then uses areas of the drive, else `filename`
    with a number appended.
    """
    job, span, pauses, recording = step.job, step.span, step.pauses, step.recording
    if recording.series and job.threads != 1:
        raise ValueError(f"{step.name}: fio logs each thread apart; a series is of one")
    argv = [
        "fio",
        "--name=" + step.test.replace(" ", "_"),
        *_place(step, filename, raw),
        f"--rw={job.rw}",
        f"--bs={job.block}",
        f"--iodepth={job.depth}",
        f"--numjobs={job.threads}",
        f"--size={span.size * (span.files if job.threads == 1 else 1)}",
        "--ioengine=libaio",
        "--direct=1",
        "--thread",
        "--group_reporting",
        "--randrepeat=0",
        "--norandommap",
        "--random_generator=tausworthe64",
        "--fallocate=none",
        "--eta=never",
        "--percentile_list=50:99:99.9:99.99:99.999",
        # With the bins of the latency histogram.
        "--output-format=json+",
        f"--output={folder / 'fio.json'}",
    ]
    argv += _data(step)
    if job.write_through:
        argv.append("--sync=dsync")
    if span.offset:
        argv.append(f"--offset={span.offset}")
    if job.mix is not None:
        argv.append(f"--rwmixread={job.mix}")
    if job.runtime is not None:
        # No power of ten: fio does not read it.
        seconds = f"{job.runtime:.3f}".rstrip("0").rstrip(".")
        argv += ["--time_based", f"--runtime={seconds}"]
    if pauses.rest:
        argv += [f"--thinktime={pauses.rest:g}s", f"--thinktime_iotime={pauses.busy:g}s"]
    if recording.series:
        argv.append(f"--write_iops_log={folder / 'iops'}")
    if recording.latency_log or recording.series:
        argv += [
            f"--write_lat_log={folder / 'latency'}",
            "--log_avg_msec=1000",
            "--log_window_value=both",
        ]
    return argv


def files_of(step: Fio, filename: str) -> list[str]:
    """The files of a step when the target is a file."""
    if step.span.files == 1:
        return [filename]
    return [f"{filename}.{number}" for number in range(step.span.files)]


def _place(step: Fio, filename: str, raw: bool) -> list[str]:
    """The options for the place that the step accesses."""
    # A colon separates file names in fio, but not in `--filename_format`.
    plain = "--filename=" + filename.replace(":", "\\:")
    if step.span.whole_drive:
        return [plain, "--readonly"]
    if step.span.files == 1:
        return [plain]
    many = step.job.threads > 1
    if raw:
        return [plain, f"--offset_increment={step.span.size}"] if many else [plain]
    if many:
        return [f"--filename_format={filename}.$jobnum"]
    return [
        f"--filename_format={filename}.$filenum",
        f"--nrfiles={step.span.files}",
        f"--filesize={step.span.size}",
        "--file_service_type=sequential",
    ]


def _data(step: Fio) -> list[str]:
    """The options for the data: new random data for each block, zeros, or some of both."""
    share = step.data.compress or 0
    if step.data.fill == "zero" or share == 100:
        return ["--zero_buffers"]
    if not share:
        return ["--refill_buffers"]
    return [
        "--refill_buffers",
        f"--buffer_compress_percentage={share}",
        f"--buffer_compress_chunk={step.job.block}",
    ]


@dataclass(frozen=True)
class Totals:
    """fio's totals of a process: bytes and I/Os per direction, seconds, mean latency in us.

    `percentiles` are those of completion latency in us by their text (`99.9`); for a mix they and
    `latency_us` cover the requests of both directions. `histogram` has for each direction
    (upper bound in us, count) pairs of completion latency, as `one_two_five` returns them.
    """

    read_bytes: int
    write_bytes: int
    ios: int
    seconds: float
    latency_us: float
    max_us: float
    percentiles: Mapping[str, float]
    histogram: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.write_bytes

    @property
    def mbps(self) -> float:
        """10^6 bytes per second, both directions together, like DiskSpd's total."""
        return self.bytes / self.seconds / 1e6 if self.seconds > 0 else 0.0


def read_output(path: Path) -> tuple[Totals, int]:
    """(totals, fio's error number) from its JSON. ValueError when it is not fio's JSON."""
    text = path.read_text(encoding="utf-8", errors="replace")
    # Warnings may precede the document.
    start = text.find("{")
    if start < 0:
        raise ValueError("fio wrote no JSON")
    job = json.loads(text[start:])["jobs"][0]
    sides = [job["read"], job["write"]]
    ios = sum(int(side["total_ios"]) for side in sides)
    # Milliseconds: the longer of two directions, as they run at the same time.
    seconds = max(float(side["runtime"]) for side in sides) / 1000
    weighted_sum = sum(float(side["lat_ns"]["mean"]) * int(side["total_ios"]) for side in sides)
    most = max(float(side["lat_ns"]["max"]) for side in sides) / 1000
    totals = Totals(
        read_bytes=int(job["read"]["io_bytes"]),
        write_bytes=int(job["write"]["io_bytes"]),
        ios=ios,
        seconds=seconds,
        latency_us=weighted_sum / ios / 1000 if ios else 0.0,
        max_us=most,
        # fio names a bin by its middle, which may be above the highest latency in it.
        percentiles={name: min(us, most) for name, us in _percentiles(sides).items()},
        histogram={way: bins for way in ("read", "write") if (bins := _histogram(job[way]))},
    )
    return totals, int(job.get("error", 0))


def _percentiles(sides: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """fio's percentiles for one direction; for two, which fio reports separately, those of the bins
    of both."""
    main = max(sides, key=lambda side: int(side["total_ios"]))
    percentiles = main.get("clat_ns", {}).get("percentile", {})
    bins = [_bins(side) for side in sides if int(side["total_ios"])]
    if len(bins) > 1 and all(bins):
        both: Counter[int] = Counter()
        for counts in bins:
            both.update(counts)
        percentiles = {name: percentile_of(both, Fraction(name)) for name in percentiles}
    return {f"{float(name):g}": float(value) / 1000 for name, value in percentiles.items()}


def _histogram(side: Mapping[str, Any]) -> list[tuple[int, int]]:
    return one_two_five(_bins(side))


def _bins(side: Mapping[str, Any]) -> dict[int, int]:
    """Counts of completion latency by nanoseconds."""
    bins = side.get("clat_ns", {}).get("bins", {})
    return {int(nanoseconds): int(count) for nanoseconds, count in bins.items()}
