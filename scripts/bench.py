"""`make bench`: the copier against raw fio, cp, rsync and rclone, the sampler's CPU time, pages.

The pages are a part of their own (bench_pages.py); ONLY=copier or ONLY=pages makes one part alone.

The copier: all in one run, on one ext4 loop drive backed by RAM: once limited to 1 GB/s by the
block cgroup, once without a limit. Sets of the Home and ISOs shapes, scaled so that RAM holds them
twice (in the source and on the drive) with room for the peers' page cache. Before each run a new
filesystem and empty caches; the tools take turns; the median of five. Every tool's first copy is
compared with the set byte for byte, outside the clock.

Claims: on the limited drive the copier reaches 95 % of raw fio; without a limit it beats every
peer; the sampler takes under 1 % of a CPU. Exit code 1 when one is missed. BENCH_QUICK=1 makes a
reduced run and prints a note.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import bench_pages
from bench_drive import LoopDrive, end_cleanly, limited, settle, warm_memory
from bench_tools import PEERS, TOOLS, Task, check, require_all, versions

from benchstick import paths
from benchstick.engine.fileset_source.ram_disk import RamSource, ram_free
from benchstick.engine.measure.page_cache import drop_caches
from benchstick.engine.measure.sampler import Sampler
from benchstick.errors import BadInput, BenchError
from benchstick.plan.fileset import FileSet, builtin
from benchstick.store import live_progress

# Of a run that is none: where the sampler's live record goes.
LIVE = "00000000-0000-4000-8000-000000000000"
LIMIT = 1_000_000_000
SHAPES = ("Home", "ISOs")
RUNS, QUICK_RUNS = 5, 3
MOST_BYTES, QUICK_BYTES = 3_000_000_000, 600_000_000
FIO_SHARE = 0.95
SAMPLER_SHARE = 0.01


@dataclass
class Cell:
    """One tool on one drive and shape: its seconds, run by run."""

    bytes: int
    seconds: list[float] = field(default_factory=list)

    @property
    def speed(self) -> float:
        """MB/s of the median run."""
        return self.bytes / statistics.median(self.seconds) / 1e6


@dataclass(frozen=True)
class Claim:
    """What was promised, what was measured, and whether it holds."""

    text: str
    holds: bool


Table = dict[tuple[str, str], dict[str, Cell]]


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def shape(name: str, most: int) -> FileSet:
    """The built-in set, scaled to at most `most` bytes."""
    nominal = builtin(name).bytes
    scale = int(most * 1000 / nominal) / 1000
    if scale <= 0:
        raise BadInput(f"{ram_free() / 1e9:.1f} GB of free RAM are too little for a bench")
    return builtin(name, scale)


def measure(table: Table, where: str, task: Task, runs: int) -> None:
    """All tools in turn, `runs` times; the first is another one each time."""
    names = list(TOOLS)
    cells = table.setdefault(
        (where, task.fileset.name), {name: Cell(task.fileset.bytes) for name in names}
    )
    for number in range(runs):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            task.drive.fresh()
            drop_caches()
            settle()
            seconds = TOOLS[name](task)
            cells[name].seconds.append(seconds)
            say(
                f"{where}, {task.fileset.name}, run {number + 1} of {runs}: {name} "
                f"{seconds:.2f} s, {task.fileset.bytes / seconds / 1e6:.0f} MB/s"
            )
            if number == 0:
                check(task, name)


def print_table(table: Table) -> None:
    head = f"{'drive':<12}{'shape':<7}{'tool':<10}{'MB/s':>8}{'seconds':>9}{'best':>8}{'worst':>8}"
    print(f"\n{head}{'copier is':>14}")
    for (where, name), cells in table.items():
        own = cells["copier"].speed
        for tool, cell in cells.items():
            ratio = "" if tool == "copier" else f"{own / cell.speed:.2f} times"
            print(
                f"{where:<12}{name:<7}{tool:<10}{cell.speed:>8.0f}"
                f"{statistics.median(cell.seconds):>9.2f}{min(cell.seconds):>8.2f}"
                f"{max(cell.seconds):>8.2f}{ratio:>14}"
            )
        print()


def claims(table: Table, sampler_share: float) -> list[Claim]:
    claim_list = []
    for (where, name), cells in table.items():
        own = cells["copier"].speed
        if where == "limited":
            share = own / cells["raw fio"].speed
            claim_list.append(
                Claim(
                    f"{where} {name}: the copier reaches {share:.1%} of raw fio "
                    f"(claim: {FIO_SHARE:.0%})",
                    share >= FIO_SHARE,
                )
            )
            continue
        for peer in PEERS:
            ratio = own / cells[peer].speed
            claim_list.append(
                Claim(f"{where} {name}: the copier is {ratio:.2f} times {peer} (claim: more "
                      "than 1)", ratio > 1)
            )  # fmt: skip
    claim_list.append(
        Claim(
            f"the sampler takes {sampler_share:.3%} of one CPU (claim: under {SAMPLER_SHARE:.0%})",
            sampler_share < SAMPLER_SHARE,
        )
    )
    return claim_list


def each_shape(
    folder: Path, drive: LoopDrive, filesets: list[FileSet], do: Callable[[Task], None]
) -> None:
    """Make each set in RAM, one at a time, and hand it on."""
    for fileset in filesets:
        with RamSource(folder / "source", fileset) as source:
            source.build()
            do(Task(fileset, source, drive, folder))


def copier(quick: bool) -> int:
    """Compare the copier with its peers; 1 when a claim is missed."""
    if os.geteuid() != 0:
        raise BadInput("make bench needs root: it makes a loop drive and RAM disks")
    require_all()
    # The source, the drive, and the page cache that the peers go through; the rest stays free.
    most = min(QUICK_BYTES if quick else MOST_BYTES, int(ram_free() * 0.22))
    filesets = [shape(name, most) for name in SHAPES]
    runs = QUICK_RUNS if quick else RUNS
    print(f"{platform.node()}: {os.cpu_count()} CPUs, Linux {platform.release()}; {versions()}")
    for fileset in filesets:
        print(
            f"{fileset.name} at scale {fileset.scale:g}: {fileset.bytes / 1e9:.2f} GB, "
            f"{fileset.count} files, {len(fileset.folders)} folders; median of {runs} runs"
        )
    table: Table = {}
    size = int(max(fileset.bytes for fileset in filesets) * 1.15) + (256 << 20)
    with tempfile.TemporaryDirectory(prefix="benchstick-bench-", dir="/run") as name:
        folder = Path(name)
        say("preparing RAM and the loop drive")
        warm_memory(most * 2)
        drive = LoopDrive(folder, size // 4096 * 4096)
        os.environ["BENCHSTICK_RUN"] = str(folder / "run")
        paths.make_run_folder()

        def show() -> None:
            # What a run does after each sample, for the page.
            samples = [sample.to_json() for sample in sampler.pending()[-180:]]
            live_progress.publish(LIVE, {"step_index": 0, "name": "bench", "samples": samples})

        sampler = Sampler(drive.name, tick=show)
        sampler.start()
        try:
            with limited(drive, LIMIT) as how:
                print(f"limited: {LIMIT / 1e6:.0f} MB/s by {how}; unlimited: the same drive after")
                each_shape(folder, drive, filesets, lambda t: measure(table, "limited", t, runs))
            each_shape(folder, drive, filesets, lambda t: measure(table, "unlimited", t, runs))
        finally:
            sampler.stop()
            drive.close()
    print_table(table)
    claim_list = claims(table, sampler.cpu_seconds / sampler.wall_seconds)
    for claim in claim_list:
        print(f"{'ok    ' if claim.holds else 'MISSED'}  {claim.text}")
    if quick:
        print("REDUCED RUN (BENCH_QUICK=1): small sets and few runs; no check of the claims")
    return 0 if all(claim.holds for claim in claim_list) else 1


def main() -> int:
    end_cleanly()
    quick = os.environ.get("BENCH_QUICK", "") not in ("", "0")
    parts = {"copier": lambda: copier(quick), "pages": bench_pages.run}
    only = os.environ.get("ONLY", "")
    try:
        if only and only not in parts:
            raise BadInput(f"ONLY={only}: there is no such part; there are {', '.join(parts)}")
        return max([part() for name, part in parts.items() if only in ("", name)])
    except BenchError as error:
        say(error.message)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
