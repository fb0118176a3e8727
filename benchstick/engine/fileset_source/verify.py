"""Checks every byte of a tree. Not measured."""

from __future__ import annotations

import collections
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchstick.engine.copier.direct_io import Buffer, filesystem_of, in_memory
from benchstick.engine.copier.errors import DRIVE_LOST
from benchstick.engine.copier.files import DriveReader, SourceError
from benchstick.engine.copier.report import CopyDriveLost, CopyReport
from benchstick.engine.copier.tree import Tree, TreeFile, join, list_tree, open_below
from benchstick.engine.fileset_source.content import CHUNK, Content, Difference
from benchstick.errors import BadInput, Cancelled
from benchstick.plan.fileset import FileEntry

CHECKERS = 8


@dataclass(frozen=True)
class FileHash:
    """The SHA-256 of each MiB of a file, which shows where a difference is; and its size."""

    size: int
    chunks: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        """One hash of all, in hex."""
        return hashlib.sha256(b"".join(self.chunks)).hexdigest()


# Checks an open file: path, reader, its entry in the tree, the reader's buffer, a scratch buffer.
Look = Callable[[str, DriveReader, TreeFile, Buffer, Buffer], None]


def each_file(
    folder: Path,
    look: Look,
    *,
    cancel: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tree:
    """Open every file below `folder` (with direct I/O on a drive) and pass it to `look`.

    `look` gets the path, a reader, the entry in the tree, the reader's buffer and a scratch buffer.
    Runs in several threads. Returns the tree. BadInput, DriveLost or Cancelled.
    """
    try:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}") from None
    try:
        tree = list_tree(root, quiet=True)
        _Walk(root, folder, tree, look, cancel, progress).run()
        return tree
    except OSError as error:
        raise _as_user_error(folder, str(error.filename or ""), error) from None
    finally:
        os.close(root)


class _Walk:
    def __init__(
        self,
        root: int,
        folder: Path,
        tree: Tree,
        look: Look,
        cancel: threading.Event | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.root, self.folder, self.look = root, folder, look
        self.cancel, self.progress = cancel, progress
        self.direct = not in_memory(filesystem_of(root))
        self.jobs = collections.deque(
            (folder.path, file) for folder in tree.folders for file in folder.files
        )
        self.error: BaseException | None = None
        self.byte_counts = [0] * CHECKERS

    def run(self) -> None:
        workers = [
            threading.Thread(target=self._worker, args=(i,), daemon=True)
            for i in range(min(CHECKERS, len(self.jobs)))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(0.1)
                if self.progress is not None:
                    self.progress(sum(self.byte_counts))
        if self.error is not None:
            raise self.error
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled(f"cancelled while {self.folder} was read")

    def _worker(self, index: int) -> None:
        buffer, scratch = Buffer(CHUNK), Buffer(CHUNK)
        while self.error is None and not (self.cancel is not None and self.cancel.is_set()):
            try:
                folder, file = self.jobs.popleft()
            except IndexError:
                return
            path = join(folder, file.name)
            try:
                self._one(folder, file, path, buffer, scratch)
            except SourceError as error:
                self.error = _as_user_error(self.folder, path, error.error)
            except BaseException as error:  # noqa: BLE001 - the caller's thread raises it again
                self.error = error
            self.byte_counts[index] += file.size

    def _one(self, folder: str, file: TreeFile, path: str, buffer: Buffer, scratch: Buffer) -> None:
        parent = open_below(self.root, folder, quiet=True)
        try:
            reader = DriveReader(file.name, parent, buffer, direct=self.direct)
        finally:
            os.close(parent)
        try:
            self.look(path, reader, file, buffer, scratch)
        finally:
            reader.close()


def _as_user_error(folder: Path, path: str, error: OSError) -> Exception:
    where = f"{folder}/{path}" if path else str(folder)
    if error.errno in DRIVE_LOST:
        return CopyDriveLost(
            f"reading {where}: {error.strerror}: the drive is gone or failing", CopyReport()
        )
    return BadInput(f"{where}: {error.strerror}")


def hash_tree(
    folder: Path,
    *,
    cancel: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Tree, dict[str, FileHash]]:
    """Read and hash every file below `folder`."""
    hashes: dict[str, FileHash] = {}

    def look(path: str, reader: DriveReader, file: TreeFile, buffer: Buffer, _: Buffer) -> None:
        hashes[path] = _hash(reader, file.size)

    tree = each_file(folder, look, cancel=cancel, progress=progress)
    return tree, hashes


def _hash(reader: DriveReader, size: int) -> FileHash:
    chunks, length = [], 0
    for offset in range(0, size, CHUNK):
        data = reader.block(offset, min(CHUNK, size - offset))
        chunks.append(hashlib.sha256(data).digest())
        length += len(data)
    return FileHash(length, tuple(chunks))


def check_hashes(
    folder: Path,
    reference: Mapping[str, FileHash],
    *,
    cancel: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Difference]:
    """The files below `folder` that differ from their hashes. Empty when all are correct."""
    tree, hashes = hash_tree(folder, cancel=cancel, progress=progress)
    diffs = _names(tree, {path: value.size for path, value in reference.items()})
    for path, value in reference.items():
        other = hashes.get(path)
        if other is None or other.size != value.size:
            continue
        for number, (a, b) in enumerate(zip(value.chunks, other.chunks, strict=True)):
            if a != b:
                diffs.append(Difference(path, number * CHUNK, "differs in the MiB from there"))
                break
    return sorted(diffs, key=lambda difference: difference.path)


def check_content(
    folder: Path,
    entries: Iterable[FileEntry],
    content: Content,
    *,
    cancel: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Difference]:
    """The files below `folder` that differ from the seed's content. Empty when all are correct."""
    by_path = {entry.path: entry for entry in entries}
    differences: list[Difference] = []

    def look(
        path: str, reader: DriveReader, file: TreeFile, buffer: Buffer, scratch: Buffer
    ) -> None:
        entry = by_path.get(path)
        if entry is None or entry.size != file.size:
            return
        key = content.key(entry)
        for offset in range(0, entry.size, CHUNK):
            length = min(CHUNK, entry.size - offset)
            got = len(reader.block(offset, length))
            if got != length:
                differences.append(Difference(path, offset + got, "ends there when read"))
                return
            wrong = content.compare(buffer, scratch, key, offset, length)
            if wrong is not None:
                differences.append(Difference(path, wrong, "differs from there"))
                return

    tree = each_file(folder, look, cancel=cancel, progress=progress)
    differences += _names(tree, {entry.path: entry.size for entry in by_path.values()})
    return sorted(differences, key=lambda difference: difference.path)


def _names(tree: Tree, sizes: Mapping[str, int]) -> list[Difference]:
    """The files that are missing, not in the set, or of the wrong size."""
    there = {
        join(folder.path, file.name): file.size for folder in tree.folders for file in folder.files
    }
    diffs = [Difference(path, None, "is missing") for path in sizes if path not in there]
    for path, size in there.items():
        if path not in sizes:
            diffs.append(Difference(path, None, "is not in the set", of_drive=False))
        elif size != sizes[path]:
            diffs.append(
                Difference(path, min(size, sizes[path]), f"has {size} of {sizes[path]} bytes")
            )
    return diffs
