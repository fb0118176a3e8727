"""The sources of a file set: RAM, a generator, or a tree on another drive.

A pass with `ram` copies `RamSource.tree` to the drive. Then `delete_tree` frees the RAM, and the
read-back fills the same folder again. `check`, which is not measured, compares it with the data
written. It is the source of the next pass; when it differs the caller marks the pass
`invalid: data differ` and calls `rebuild`.

With `generated` there is no room for the read-back: `copier.read_back` is measured and discards
the data, and `GeneratedSource.verify` reads and checks every byte once more, not measured.
"""

from __future__ import annotations

import collections
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchstick.engine.copier.copy import copy_tree
from benchstick.engine.copier.direct_io import Buffer
from benchstick.engine.copier.files import MadeReader, Reader
from benchstick.engine.copier.source import OpenFolder
from benchstick.engine.copier.target import empty_folder
from benchstick.engine.copier.tree import Folder, Tree, TreeFile, join
from benchstick.engine.fileset_source import free_ram
from benchstick.engine.fileset_source.content import CHUNK, Content, Difference
from benchstick.engine.fileset_source.free_ram import ram_free
from benchstick.engine.fileset_source.verify import FileHash, check_content, check_hashes, hash_tree
from benchstick.errors import BadInput, Cancelled
from benchstick.plan.fileset import FileEntry, FileSet, from_listing

__all__ = [
    "Difference",
    "DriveSource",
    "GeneratedSource",
    "RamSource",
    "ram_free",
    "read_tree",
]

# Synthetic files have fixed times, two seconds apart: FAT stores only even seconds.
FIRST_TIME = 1_325_376_000
# Threads that fill a tmpfs: more only wait for each other.
BUILDERS = 4

Progress = Callable[[int], None]


class RamSource:
    """A set in the bench's tmpfs at `mount_at`, created from the set's seed or a user's tree.

    `swappable` is the reason why its pages may be swapped, or None. Use `close` or a `with` block
    to unmount it.
    """

    def __init__(
        self, mount_at: Path, fileset: FileSet, *, origin: DriveSource | None = None
    ) -> None:
        self.fileset = fileset
        self.mount_at = mount_at
        self.tree = mount_at / "tree"
        self._origin = origin
        self._content = Content(fileset.seed)
        free_ram.refuse_if_too_large(fileset)
        # Spare room, as the read-back from a faulty drive may return more.
        size = fileset.ram_needed + (16 << 20)
        self.swappable = free_ram.mount(mount_at, size)
        try:
            self.tree.mkdir(mode=0o700)
        except OSError as error:
            free_ram.unmount(mount_at)
            raise BadInput(f"{self.tree}: {error.strerror}") from None

    def __enter__(self) -> RamSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unmount. The RAM is free again."""
        free_ram.unmount(self.mount_at)

    def open_source(self) -> OpenFolder:
        """For `copy_tree`."""
        return OpenFolder(self.tree, direct=True)

    def build(
        self, *, cancel: threading.Event | None = None, progress: Progress | None = None
    ) -> None:
        """Create the files. BadInput when RAM runs out or the user's tree changed; Cancelled."""
        if self._origin is not None:
            self._origin.copy_to(self.tree, cancel=cancel, progress=progress)
        else:
            _Builder(self.tree, self.fileset, self._content, cancel, progress).run()

    def delete_tree(self) -> None:
        """Remove the files before the read-back."""
        empty_folder(self.tree)

    def rebuild(
        self, *, cancel: threading.Event | None = None, progress: Progress | None = None
    ) -> None:
        """Create the files again, after a read-back that differed."""
        self.delete_tree()
        self.build(cancel=cancel, progress=progress)

    def check(
        self, *, cancel: threading.Event | None = None, progress: Progress | None = None
    ) -> list[Difference]:
        """The differences in the tree. Checks every byte. Not measured."""
        if self._origin is not None:
            return check_hashes(self.tree, self._origin.hashes, cancel=cancel, progress=progress)
        return check_content(
            self.tree, self.fileset.files, self._content, cancel=cancel, progress=progress
        )


class _Builder:
    """Writes the files of a set to a folder in a tmpfs, in a few threads."""

    def __init__(
        self,
        root: Path,
        fileset: FileSet,
        content: Content,
        cancel: threading.Event | None,
        progress: Progress | None,
    ) -> None:
        self.root, self.fileset, self.content = root, fileset, content
        self.cancel, self.progress = cancel, progress
        self.jobs = collections.deque(enumerate(fileset.files))
        self.error: BaseException | None = None
        self.byte_counts = [0] * BUILDERS

    def run(self) -> None:
        for folder in self.fileset.folders:
            (self.root / folder).mkdir(exist_ok=True)
        workers = [
            threading.Thread(target=self._worker, args=(i,), daemon=True) for i in range(BUILDERS)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(0.1)
                if self.progress is not None:
                    self.progress(sum(self.byte_counts))
        if isinstance(self.error, OSError):
            raise BadInput(f"making {self.fileset.name} in RAM: {self.error.strerror}")
        if self.error is not None:
            raise self.error
        if self._halted():
            raise Cancelled(f"cancelled while {self.fileset.name} was made in RAM")
        for folder in (*reversed(self.fileset.folders), ""):
            os.utime(self.root / folder, ns=(FIRST_TIME * 10**9, FIRST_TIME * 10**9))

    def _halted(self) -> bool:
        return self.cancel is not None and self.cancel.is_set()

    def _worker(self, index: int) -> None:
        buffer = Buffer(CHUNK)
        try:
            while self.error is None and not self._halted():
                try:
                    number, entry = self.jobs.popleft()
                except IndexError:
                    return
                self._one(index, number, entry, buffer)
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            self.error = error

    def _one(self, index: int, number: int, entry: FileEntry, buffer: Buffer) -> None:
        key = self.content.key(entry)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.root / entry.path, flags, 0o644)
        try:
            # The size first, so that a tmpfs with huge pages uses them for a large file.
            os.ftruncate(fd, entry.size)
            for offset in range(0, entry.size, CHUNK):
                if self._halted():
                    return
                length = min(CHUNK, entry.size - offset)
                self.content.fill(buffer, key, offset, length)
                os.pwrite(fd, buffer.view[:length], offset)
                self.byte_counts[index] += length
            moment = _time_of(number)
            os.utime(fd, ns=(moment, moment))
        finally:
            os.close(fd)


def _time_of(number: int) -> int:
    return (FIRST_TIME + 2 * number) * 10**9


class GeneratedSource:
    """A set that is generated during the copy: it needs no RAM; every block is unique and can be
    checked."""

    def __init__(self, fileset: FileSet) -> None:
        self.fileset = fileset
        self._content = Content(fileset.seed)

    def open_source(self) -> OpenGenerated:
        """For `copy_tree`."""
        return OpenGenerated(self.fileset, self._content)

    def measure_rate(self, seconds: float = 0.5) -> float:
        """Bytes per second of the generator alone, with a thread per CPU.

        The result of a drive more than half as fast is `source-bound`.
        """
        entry = max(self.fileset.files, key=lambda e: e.size, default=FileEntry("empty", CHUNK))
        key = self._content.key(entry)
        threads = len(os.sched_getaffinity(0))
        counts = [0] * threads
        # Create the pools before the measured time.
        self._content.fill(Buffer(CHUNK), key, 0, CHUNK)
        started_at = time.monotonic()

        def work(index: int) -> None:
            buffer = Buffer(CHUNK)
            while time.monotonic() - started_at < seconds:
                self._content.fill(buffer, key, counts[index], CHUNK)
                counts[index] += CHUNK

        workers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return sum(counts) / (time.monotonic() - started_at)

    def verify(
        self,
        folder: Path,
        *,
        cancel: threading.Event | None = None,
        progress: Progress | None = None,
    ) -> list[Difference]:
        """The differences in the copy at `folder`. Reads every byte with direct I/O."""
        return check_content(
            folder, self.fileset.files, self._content, cancel=cancel, progress=progress
        )


class OpenGenerated:
    """An opened `GeneratedSource`: it lists the files to generate."""

    fd: int | None = None

    def __init__(self, fileset: FileSet, content: Content) -> None:
        self._content = content
        self._entries = {entry.path: entry for entry in fileset.files}
        folders = {path: Folder(path, FIRST_TIME * 10**9) for path in ("", *fileset.folders)}
        for path in fileset.folders:
            parent, _slash, name = path.rpartition("/")
            folders[parent].folders.append(name)
        for number, entry in enumerate(fileset.files):
            parent, _slash, name = entry.path.rpartition("/")
            folders[parent].files.append(TreeFile(name, entry.size, _time_of(number), False))
        folder_list: list[Folder] = []
        stack = [""]
        while stack:
            folder = folders[stack.pop()]
            folder.files.sort(key=lambda file: file.name)
            folder.folders.sort()
            folder_list.append(folder)
            stack += [join(folder.path, name) for name in reversed(folder.folders)]
        self.tree = Tree(folder_list, {})

    def begin(self, uses: dict[str, int]) -> None:
        """Nothing to open."""

    def reader(self, folder: str, file: TreeFile, buffer: Buffer) -> Reader:
        key = self._content.key(self._entries[join(folder, file.name)])
        return MadeReader(
            buffer, lambda offset, length: self._content.fill(buffer, key, offset, length)
        )

    def finish_file(self, folder: str) -> None:
        """Nothing to close."""

    def close(self) -> None:
        """Nothing to close."""


class DriveSource:
    """A user's tree. It is opened read-only and not changed.

    `fileset` are its files, `hashes` their hashes when they were read (`read_tree`), `left_out` the
    reasons why links, sockets, devices and folders of other filesystems are not in it.
    """

    def __init__(
        self,
        path: Path,
        fileset: FileSet,
        hashes: dict[str, FileHash],
        left_out: dict[str, str],
    ) -> None:
        self.path, self.fileset = path, fileset
        self.hashes, self.left_out = hashes, left_out

    def open_source(self) -> OpenFolder:
        """For `copy_tree`."""
        return OpenFolder(self.path, direct=True)

    def copy_to(
        self,
        folder: Path,
        *,
        cancel: threading.Event | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Read the tree into `folder` (a tmpfs) and hash it, or compare it with earlier hashes.

        BadInput with the first file when the tree changed or could not be read completely.
        """
        report = copy_tree(self, folder, cancel=cancel, progress=progress)
        if report.errors:
            path, message = next(iter(report.errors.items()))
            raise BadInput(
                f"{self.path}: {len(report.errors)} files cannot be read, {path}: {message}",
                field="set",
            )
        if not self.hashes:
            _tree, self.hashes = hash_tree(folder, cancel=cancel)
            return
        differences = check_hashes(folder, self.hashes, cancel=cancel)
        if differences:
            raise BadInput(
                f"{self.path} changed since it was first read: {differences[0]}: "
                "choose a tree that does not change",
                field="set",
            )

    def verify(
        self,
        folder: Path,
        *,
        cancel: threading.Event | None = None,
        progress: Progress | None = None,
    ) -> list[Difference]:
        """The differences of the copy at `folder` from the hashes. A change of the tree itself
        since it was hashed does not count as the drive's."""
        differences = check_hashes(folder, self.hashes, cancel=cancel, progress=progress)
        if not differences:
            return differences
        changed_paths = {item.path for item in check_hashes(self.path, self.hashes, cancel=cancel)}
        return [
            replace(
                item, description=f"{item.description}; the source changed as well", of_drive=False
            )
            if item.path in changed_paths
            else item
            for item in differences
        ]


def read_tree(
    path: Path,
    *,
    hashes: bool = True,
    cancel: threading.Event | None = None,
    progress: Progress | None = None,
) -> DriveSource:
    """List a user's tree, and with `hashes` read and hash it.

    Without `hashes` `RamSource.build` hashes it. BadInput for a tree that is missing, cannot be
    read, or has no file.
    """
    if path.is_symlink() or not path.is_dir():
        what = "is a symbolic link" if path.is_symlink() else "is not a folder"
        raise BadInput(f"set {path} {what}: give a folder", field="set")
    open_folder = OpenFolder(path, direct=True)
    tree = open_folder.tree
    open_folder.close()
    file_hashes: dict[str, FileHash] = {}
    if hashes:
        tree, file_hashes = hash_tree(path, cancel=cancel, progress=progress)
    files = [
        (join(folder.path, file.name), file.size)
        for folder in tree.folders
        for file in folder.files
    ]
    if not files:
        raise BadInput(f"set {path} holds no file: give a folder with files", field="set")
    folders = [folder.path for folder in tree.folders if folder.path]
    fileset = from_listing(path.name or "tree", folders, files)
    return DriveSource(path, fileset, file_hashes, dict(tree.left_out))
