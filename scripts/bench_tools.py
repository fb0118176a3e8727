"""Those who copy in `make bench`: the copier, raw fio, and the peers. Each gives its seconds."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from bench_drive import LoopDrive, flush

from benchstick.drives import subprocesses
from benchstick.engine.copier.copy import BLOCK, THREADS, copy_tree
from benchstick.engine.fileset_source.ram_disk import GeneratedSource, RamSource
from benchstick.errors import BadInput, BenchError
from benchstick.plan.fileset import FileSet

CLONE = Path(__file__).resolve().parent.parent
ALIGNED = 4096


@dataclass(frozen=True)
class Task:
    """A set in RAM and the drive it goes to."""

    fileset: FileSet
    source: RamSource
    drive: LoopDrive
    scratch: Path

    @property
    def target(self) -> Path:
        return self.drive.point / "copy"


def copier(task: Task) -> float:
    """The bench's own copier, from call to return: a little more than the time it reports."""
    started_at = time.monotonic()
    report = copy_tree(task.source, task.target)
    seconds = time.monotonic() - started_at
    if report.errors:
        path, message = next(iter(report.errors.items()))
        raise BenchError(f"the copier failed on {path}: {message}")
    return seconds


def raw_fio(task: Task) -> float:
    """fio writing files of the same sizes, one job a file and up to 32 at once, then `sync -f`."""
    folder = task.drive.point / "fio"
    folder.mkdir()
    seconds = replayed(task.fileset, folder, task.scratch, "write")
    started_at = time.monotonic()
    flush(task.drive.point)
    return seconds + time.monotonic() - started_at


def replayed(fileset: FileSet, folder: Path, scratch: Path, way: str) -> float:
    """Seconds that fio takes to write (or read, `way`) the set's files in `folder`, flush not
    included.

    Each job replays a list of files (open, blocks of 1 MiB, close), so that the sizes are the
    set's own and making the files is in its run time; sizes are rounded up to whole blocks,
    which direct I/O needs. Its own start-up is not counted.
    """
    jobs = min(THREADS, fileset.count)
    argv = [
        "fio", "--thread", "--ioengine=psync", "--iodepth=1", "--direct=1", f"--rw={way}",
        "--fallocate=none", f"--create_on_open={int(way == 'write')}", "--output-format=json",
    ]  # fmt: skip
    for number, lines in enumerate(_replay(fileset, folder, jobs, way)):
        log = scratch / f"fio-{number}.log"
        log.write_text("fio version 2 iolog\n" + "\n".join(lines) + "\n", encoding="ascii")
        argv += [f"--name=job{number}", f"--read_iolog={log}"]
    result = subprocesses.run(argv, timeout=600)
    if result.exit_code != 0:
        raise BadInput(f"fio: {result.error_line}")
    job_reports = json.loads(result.text[result.text.index("{") :])["jobs"]
    byte_count = sum(job[way]["io_bytes"] for job in job_reports)
    set_bytes = sum(_rounded(entry.size) for entry in fileset.files)
    if byte_count != set_bytes or any(job["error"] for job in job_reports):
        raise BenchError(f"fio: {way} of {byte_count} of {set_bytes} bytes")
    return max(float(job[way]["runtime"]) for job in job_reports) / 1000


def _rounded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _replay(fileset: FileSet, folder: Path, jobs: int, way: str) -> list[list[str]]:
    """A list of actions for each job; files dealt out so that the jobs have equal bytes."""
    lines: list[list[str]] = [[] for _ in range(jobs)]
    load = [0] * jobs
    for number, entry in enumerate(sorted(fileset.files, key=lambda e: -e.size)):
        job = min(range(jobs), key=load.__getitem__)
        size = _rounded(entry.size)
        load[job] += size
        path = folder / f"f{number}"
        lines[job].append(f"{path} add")
        lines[job].append(f"{path} open")
        for offset in range(0, size, BLOCK):
            lines[job].append(f"{path} {way} {offset} {min(BLOCK, size - offset)}")
        lines[job].append(f"{path} close")
    return lines


def _peer(task: Task, *argv: str) -> float:
    started_at = time.monotonic()
    result = subprocesses.run(argv, timeout=1200)
    if result.exit_code != 0:
        raise BadInput(f"{' '.join(argv)}: {result.error_line}")
    flush(task.drive.point)
    return time.monotonic() - started_at


def cp(task: Task) -> float:
    return _peer(task, "cp", "-r", str(task.source.tree), str(task.target))


def rsync(task: Task) -> float:
    return _peer(task, "rsync", "-a", f"{task.source.tree}/", f"{task.target}/")


def rclone(task: Task) -> float:
    return _peer(
        task, "rclone", "copy", "--config", "/dev/null", "--transfers", str(THREADS),
        str(task.source.tree), str(task.target),
    )  # fmt: skip


# The columns' order; the copier first.
TOOLS = {
    "copier": copier,
    "raw fio": raw_fio,
    "cp -r": cp,
    "rsync -a": rsync,
    "rclone": rclone,
}
PEERS = ("cp -r", "rsync -a", "rclone")


def check(task: Task, name: str) -> None:
    """Compare what `name` left on the drive with the set, byte for byte."""
    if name == "raw fio":
        return
    wrong = GeneratedSource(task.fileset).verify(task.target)
    if wrong:
        raise BenchError(f"{name} left {len(wrong)} wrong files: {wrong[0]}")


def require_all() -> None:
    """BadInput naming the package of the first program that is missing."""
    # The current fio that set-up builds, where there is one.
    built = CLONE / ".cache/fio/bin"
    if built.is_dir():
        os.environ[subprocesses.PATH_VARIABLE] = f"{built}:{subprocesses.search_path()}"
    for name in ("fio", "rsync", "rclone", "losetup", "mkfs.ext4"):
        subprocesses.require(name)


def versions() -> str:
    """One line of what was compared."""
    fio = subprocesses.run(["fio", "--version"]).text.strip()
    rsync_line = subprocesses.run(["rsync", "--version"]).text.split("\n")[0].split()
    rclone_line = subprocesses.run(["rclone", "version"]).text.split("\n")[0]
    cp_line = subprocesses.run(["cp", "--version"]).text.split("\n")[0]
    version = rsync_line[2] if len(rsync_line) > 2 else "?"
    return f"{fio}, {cp_line}, rsync {version}, {rclone_line}"
