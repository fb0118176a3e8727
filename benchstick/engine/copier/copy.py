"""The copy of the DAS suite: what `robocopy /MIR /J /MT:32` does, on Linux (docs/filesets.md).

`copy_tree` mirrors a source to a target folder: folders first, then 32 threads with one file each,
in directory order, with direct I/O on the drive's side. It preserves times, and the measured time
includes the flush to the drive (syncfs). Files of equal size and time are skipped, extras are
removed. It touches nothing outside of the target folder: it works from open folders and follows no
links.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchstick.engine.copier.direct_io import ALIGNMENT, Buffer, filesystem_of, in_memory, syncfs
from benchstick.engine.copier.errors import DRIVE_LOST, ENDS_COPY, FULL, file_words
from benchstick.engine.copier.files import (
    Discard,
    DriveReader,
    DriveWriter,
    MemoryWriter,
    Reader,
    SourceError,
    Strategy,
    Writer,
    strategy_for,
)
from benchstick.engine.copier.mirror import Comparison, Job, Mirror, slack_for
from benchstick.engine.copier.report import (
    CopyCancelled,
    CopyDriveLost,
    CopyReport,
    FileRecord,
    Row,
    TargetFull,
    TargetReadOnly,
)
from benchstick.engine.copier.source import FolderSource, OpenSource, Source
from benchstick.engine.copier.target import empty_folder, open_target, refuse_nesting
from benchstick.engine.copier.tree import Handles, Tree, TreeFile, join, open_below
from benchstick.errors import BadInput

__all__ = [
    "CopyCancelled",
    "CopyDriveLost",
    "CopyReport",
    "FileRecord",
    "Row",
    "TargetFull",
    "TargetReadOnly",
    "copy_tree",
    "empty_folder",
    "read_back",
]

THREADS = 32
BLOCK = 1 << 20
# How long a cancelled or failed copy waits for outstanding requests of the drive.
PATIENCE = 5.0


class _Copy:
    """A copy in progress, shared by its threads. Each thread counts on its own and adds its counts
    at its end."""

    def __init__(
        self,
        source: Source,
        target: Path | None,
        *,
        threads: int,
        block: int,
        direct: bool,
        mirror: bool,
        slack: float | None,
        cancel: threading.Event | None,
        progress: Callable[[int], None] | None,
        how: Strategy | None,
    ) -> None:
        self.source, self.target = source, target
        self.threads, self.block, self.direct, self.mirror = threads, block, direct, mirror
        self.slack, self.cancel, self.progress, self.how = slack, cancel, progress, how
        self.report = CopyReport(threads=threads, block=block, direct=direct)
        self.jobs: collections.deque[Job] = collections.deque()
        self.byte_counts = [0] * threads
        self.fatal: tuple[OSError, str, bool] | None = None
        self.lock = threading.Lock()
        self.root = -1
        self.handles: Handles | None = None
        self.filesystem = ""
        self.memory_target = False
        self.cached_sizes: list[int | None] = []
        self.start_time = 0.0
        self.crash: BaseException | None = None
        # True when threads still wait for a drive that does not respond: what they use stays open.
        self.stragglers = False
        # Allocated before the measured time.
        self.buffers = [Buffer(block) for _ in range(threads)]

    # --- the steps of a copy ---------------------------------------------------------------

    def run(self) -> CopyReport:
        if self.target is not None:
            self.root = open_target(self.target)
        try:
            self.start_time = time.monotonic()
            open_source = self.source.open_source()
            try:
                self._copy(open_source)
            finally:
                if not self.stragglers:
                    open_source.close()
        finally:
            if self.root >= 0 and not self.stragglers:
                os.close(self.root)
        self.report.complete = True
        return self.report

    def _copy(self, open_source: OpenSource) -> None:
        tree = open_source.tree
        self.report.left_out = dict(tree.left_out)
        self.report.dirs.total = len(tree.folders) - 1
        self.report.files.total, self.report.sizes.total = tree.count, tree.bytes
        try:
            plan = self._prepare(open_source)
            self.jobs.extend(plan.jobs)
            open_source.begin(dict(plan.uses))
            self.handles = Handles(self.root, plan.uses) if self.root >= 0 else None
            try:
                self._work(open_source)
                if self.root >= 0 and not self._halted():
                    self._folder_times(tree)
            finally:
                if self.handles is not None and not self.stragglers:
                    self.handles.close()
        except OSError as error:
            # Only from the target: errors of the source are SourceErrors.
            self._fail(error, str(self.target or ""), of_source=False)
        self._add_up()
        self.report.seconds_without_flush = self.report.seconds = self._clock()
        if self.root >= 0 and not self._halted() and not self.memory_target:
            self._flush()
        self.report.seconds = self._clock()
        self._raise()

    def _clock(self) -> float:
        return time.monotonic() - self.start_time

    def _prepare(self, open_source: OpenSource) -> Mirror:
        if self.target is None or self.root < 0:
            return Mirror(
                [
                    Job(folder.path, file)
                    for folder in open_source.tree.folders
                    for file in folder.files
                ],
                {folder.path: len(folder.files) for folder in open_source.tree.folders},
            )
        self.filesystem = self.report.filesystem = filesystem_of(self.root)
        self.memory_target = in_memory(self.filesystem)
        self.how = self.how or strategy_for(self.filesystem)
        refuse_nesting(self.root, open_source, self.target)
        if self.slack is None:
            sides = [self.filesystem] + (
                [] if open_source.fd is None else [filesystem_of(open_source.fd)]
            )
            self.slack = slack_for(sides)
        comparison = Comparison(
            self.root, self.report, self.slack, purge=self.mirror, is_halted=self._halted
        )
        plan = comparison.compare(open_source.tree)
        self._room(sum(job.file.size for job in plan.jobs))
        return plan

    def _room(self, byte_count: int) -> None:
        """TargetFull when the files do not fit: before the first byte, not after an hour."""
        status = os.fstatvfs(self.root)
        free = status.f_bavail * status.f_frsize
        if byte_count > free:
            raise TargetFull(
                f"{self.filesystem} at {self.target}: {byte_count} bytes have no room in {free} "
                "free bytes: choose smaller sets or a larger drive",
                self.report,
            )

    # --- the threads -----------------------------------------------------------------------

    def _work(self, open_source: OpenSource) -> None:
        workers = [
            threading.Thread(
                target=self._worker, args=(i, open_source), daemon=True, name=f"copy-{i}"
            )
            for i in range(min(self.threads, len(self.jobs)))
        ]
        for worker in workers:
            worker.start()
        deadline: float | None = None
        for worker in workers:
            while worker.is_alive():
                worker.join(0.1)
                if self.progress is not None:
                    self.progress(sum(self.byte_counts))
                if deadline is None and self._halted():
                    deadline = time.monotonic() + PATIENCE
                if deadline is not None and time.monotonic() > deadline:
                    # A drive that does not respond must not block the bench.
                    self.stragglers = True
                    return
        if self.progress is not None:
            self.progress(sum(self.byte_counts))

    def _worker(self, index: int, open_source: OpenSource) -> None:
        try:
            self._take_jobs(index, open_source)
        except BaseException as error:  # noqa: BLE001 - the copy's own thread raises it again
            self.crash = error

    def _take_jobs(self, index: int, open_source: OpenSource) -> None:
        buffer = self.buffers[index]
        records: list[FileRecord] = []
        tally = _Tally()
        while not self._halted():
            try:
                job = self.jobs.popleft()
            except IndexError:
                break
            start = self._clock()
            try:
                is_complete = self._one(index, open_source, job, buffer, tally)
            except SourceError as error:
                self._file_failed(job, error.error, of_source=True)
            except OSError as error:
                self._file_failed(job, error, of_source=False)
            else:
                if is_complete:
                    records.append(
                        FileRecord(
                            join(job.folder, job.file.name), start, self._clock(), job.file.size
                        )
                    )
            finally:
                open_source.finish_file(job.folder)
                if self.handles is not None:
                    self.handles.release(job.folder)
        with self.lock:
            self.report.records += records
            self.report.direct_bytes += tally.direct
            self.report.tail_bytes += tally.tail
            self.report.fallback_bytes += tally.fallback
            self.cached_sizes.append(tally.cached_bytes)

    def _one(
        self, index: int, open_source: OpenSource, job: Job, buffer: Buffer, tally: _Tally
    ) -> bool:
        """Copy one file. False when the copy was stopped before its end."""
        file = job.file
        reader = open_source.reader(job.folder, file, buffer)
        try:
            writer = self._writer(job, buffer)
            try:
                if not self._blocks(index, file, reader, writer):
                    writer.abandon()
                    self._drop(job)
                    return False
            except (OSError, SourceError):
                writer.abandon()
                self._drop(job)
                raise
            cached_bytes = writer.finish(file)
            if isinstance(reader, DriveReader) and not isinstance(writer, DriveWriter):
                cached_bytes = reader.cached()
        finally:
            reader.close()
        tally.add(file.size, writer.tail, cached_bytes, direct=reader.direct and writer.direct)
        return True

    def _blocks(self, index: int, file: TreeFile, reader: Reader, writer: Writer) -> bool:
        size, block = file.size, self.block
        for offset in range(0, size, block):
            if self._halted():
                return False
            length = min(block, size - offset)
            for at, n in reader.pieces(offset, length):
                data = reader.block(at, n)
                if len(data) != n:
                    shorter = f"the file became shorter while it was read: {at + len(data)} bytes"
                    raise SourceError(OSError(errno.ESTALE, shorter, file.name))
                writer.write(data, at)
            self.byte_counts[index] += length
        return True

    def _writer(self, job: Job, buffer: Buffer) -> Writer:
        if self.handles is None:
            return Discard()
        parent = self.handles.acquire(job.folder)
        file = job.file
        if self.memory_target:
            return MemoryWriter(file.name, parent, file.size)
        assert self.how is not None
        return DriveWriter(file.name, parent, file.size, self.how, buffer, direct=self.direct)

    def _drop(self, job: Job) -> None:
        """Remove an incomplete file, so that no later copy skips it as complete."""
        if self.handles is not None:
            with contextlib.suppress(OSError):
                os.unlink(job.file.name, dir_fd=self.handles.acquire(job.folder))

    # --- errors ----------------------------------------------------------------------------

    def _halted(self) -> bool:
        return (
            self.fatal is not None
            or self.crash is not None
            or (self.cancel is not None and self.cancel.is_set())
        )

    def _file_failed(self, job: Job, error: OSError, *, of_source: bool) -> None:
        path = join(job.folder, job.file.name)
        if error.errno in ENDS_COPY or (error.errno == errno.EFAULT and self.memory_target):
            self._fail(error, path, of_source=of_source)
            return
        with self.lock:
            self.report.errors[path] = file_words(error, self.filesystem, of_source=of_source)
            self.report.files.failed += 1
            self.report.sizes.failed += job.file.size

    def _fail(self, error: OSError, path: str, *, of_source: bool) -> None:
        with self.lock:
            if self.fatal is None:
                self.fatal = (error, path, of_source)

    def _raise(self) -> None:
        """Raise the error that stopped the copy, if there is one."""
        if self.crash is not None:
            raise self.crash
        if self.fatal is not None:
            error, path, of_source = self.fatal
            share = f"after {self.report.bytes} of {self.report.sizes.total} bytes"
            at = f"{self.filesystem or 'the filesystem'} at {self.target}"
            if error.errno in FULL and not of_source:
                raise TargetFull(
                    f"{at} is full {share} ({path}): choose smaller sets or a larger drive",
                    self.report,
                )
            if error.errno == errno.EROFS and not self.report.records:
                raise TargetReadOnly(f"{at} is mounted read-only: mount it writable", self.report)
            if error.errno in (*DRIVE_LOST, errno.EROFS):
                side = "reading" if of_source else "writing"
                raise CopyDriveLost(
                    f"{side} {path} failed {share}: {error.strerror}: the drive is gone or failing",
                    self.report,
                )
            raise BadInput(f"{at}: {path}: {error.strerror}")
        if self.cancel is not None and self.cancel.is_set():
            raise CopyCancelled(f"cancelled after {self.report.bytes} bytes", self.report)

    # --- the end ---------------------------------------------------------------------------

    def _add_up(self) -> None:
        report = self.report
        with self.lock:
            report.records.sort(key=lambda record: (record.start, record.path))
            report.bytes = sum(record.bytes for record in report.records)
            report.files.copied, report.sizes.copied = len(report.records), report.bytes
            sizes = [n for n in self.cached_sizes if n is not None]
            report.cached_bytes = (
                sum(sizes) if sizes and len(sizes) == len(self.cached_sizes) else None
            )

    def _folder_times(self, tree: Tree) -> None:
        for folder in reversed(tree.folders):
            # A folder that could not be created is in the report already.
            if folder.path in self.report.errors:
                continue
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                fd = open_below(self.root, folder.path)
                try:
                    os.utime(fd, ns=(folder.mtime_ns, folder.mtime_ns))
                finally:
                    os.close(fd)

    def _flush(self) -> None:
        """syncfs in a thread of its own, so that a cancel does not wait for a slow drive."""
        errors: list[OSError] = []

        def flush(fd: int) -> None:
            try:
                syncfs(fd)
            except OSError as error:
                errors.append(error)
            finally:
                os.close(fd)

        worker = threading.Thread(target=flush, args=(os.dup(self.root),), daemon=True)
        worker.start()
        while worker.is_alive():
            worker.join(0.1)
            if self._halted():
                return
        if errors:
            self._fail(errors[0], "the flush", of_source=False)


@dataclass(slots=True)
class _Tally:
    direct: int = 0
    tail: int = 0
    fallback: int = 0
    cached_bytes: int | None = 0

    def add(self, size: int, tail: int, cached_bytes: int | None, *, direct: bool) -> None:
        if direct:
            self.direct += size - tail
            self.tail += tail
        else:
            self.fallback += size
        if cached_bytes is None or self.cached_bytes is None:
            self.cached_bytes = None
        else:
            self.cached_bytes += cached_bytes


def copy_tree(
    source: Source | Path,
    target: Path,
    *,
    threads: int = THREADS,
    block: int = BLOCK,
    direct: bool = True,
    mirror: bool = True,
    mtime_slack: float | None = None,
    cancel: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
    how: Strategy | None = None,
) -> CopyReport:
    """Mirror `source` (a folder or a source of `fileset_source.ram_disk`) to `target`.

    `block` is in bytes, a multiple of 4096; `mtime_slack` in seconds (None: 2 on FAT and exFAT);
    `progress` is called in the calling thread ten times a second with the bytes moved so far;
    `how` overrides the write strategy for the target's filesystem. A file that fails is in the
    report's `errors`, and the copy continues. Raises TargetFull, TargetReadOnly, CopyDriveLost and
    CopyCancelled, each with the `report` so far; Refused when `target` is a link; BadInput when
    source or target cannot be used. After a cancel the copy ends as soon as the drive has completed
    its outstanding requests, after five seconds at the latest.
    """
    _check(threads, block)
    if isinstance(source, Path):
        source = FolderSource(source, direct=direct)
    return _Copy(
        source, target, threads=threads, block=block, direct=direct, mirror=mirror,
        slack=mtime_slack, cancel=cancel, progress=progress, how=how,
    ).run()  # fmt: skip


def read_back(
    source: Path,
    *,
    threads: int = THREADS,
    block: int = BLOCK,
    direct: bool = True,
    cancel: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> CopyReport:
    """Read every file below `source` as `copy_tree` does, and discard the data.

    For sets that do not fit in RAM. The data is not checked during the measured time: see
    `GeneratedSource.verify`.
    """
    _check(threads, block)
    return _Copy(
        FolderSource(source, direct=direct), None, threads=threads, block=block, direct=direct,
        mirror=False, slack=None, cancel=cancel, progress=progress, how=None,
    ).run()  # fmt: skip


def _check(threads: int, block: int) -> None:
    if not 1 <= threads <= 256:
        raise BadInput(f"threads: {threads} is out of range: 1 to 256", field="threads")
    if block < ALIGNMENT or block % ALIGNMENT or block > 64 << 20:
        raise BadInput(
            f"block: {block} bytes is not a multiple of {ALIGNMENT} up to 64 MiB", field="block"
        )
