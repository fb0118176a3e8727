"""The sources of the copier: the protocol, and plain folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from benchstick.engine.copier.direct_io import Buffer, filesystem_of, in_memory
from benchstick.engine.copier.errors import DRIVE_LOST
from benchstick.engine.copier.files import DriveReader, MemoryReader, Reader, SourceError
from benchstick.engine.copier.report import CopyDriveLost, CopyReport
from benchstick.engine.copier.tree import Handles, Tree, TreeFile, list_tree
from benchstick.errors import BadInput


class Source(Protocol):
    """The source of a copy. `fileset_source.ram_disk` has sources other than plain folders."""

    def open_source(self) -> OpenSource:
        """List the files and prepare to read them. Part of the measured time."""
        ...


class OpenSource(Protocol):
    """An opened source: its tree, and a reader for each file."""

    tree: Tree
    fd: int | None

    def reader(self, folder: str, file: TreeFile, buffer: Buffer) -> Reader: ...

    def begin(self, uses: dict[str, int]) -> None:
        """Set how many files of each folder will be read. Called once before the first reader."""
        ...

    def finish_file(self, folder: str) -> None:
        """Note that a file of `folder` is complete."""
        ...

    def close(self) -> None: ...


class FolderSource:
    """A folder on a drive (direct reads) or in a tmpfs (mapped) as a source."""

    def __init__(self, path: Path, *, direct: bool = True) -> None:
        self.path = path
        self.direct = direct

    def open_source(self) -> OpenFolder:
        return OpenFolder(self.path, direct=self.direct)


class OpenFolder:
    """An opened `FolderSource`."""

    def __init__(self, path: Path, *, direct: bool) -> None:
        try:
            self.fd: int | None = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise BadInput(f"source folder {path}: {error.strerror}") from None
        self._root = self.fd
        self._direct = direct
        try:
            self.filesystem = filesystem_of(self._root)
            self._in_memory = in_memory(self.filesystem)
            self.tree = list_tree(self._root, quiet=True)
        except OSError as error:
            os.close(self._root)
            where = error.filename or path
            if error.errno in DRIVE_LOST:
                message = f"source folder {path}: {where}: {error.strerror}"
                raise CopyDriveLost(message, CopyReport()) from None
            raise BadInput(f"source folder {path}: {where}: {error.strerror}") from None
        self._handles = Handles(self._root, {}, quiet=True)

    def begin(self, uses: dict[str, int]) -> None:
        self._handles = Handles(self._root, uses, quiet=True)

    def reader(self, folder: str, file: TreeFile, buffer: Buffer) -> Reader:
        try:
            parent = self._handles.acquire(folder)
        except OSError as error:
            raise SourceError(error) from None
        if self._in_memory:
            return MemoryReader(file.name, parent, buffer, file.size)
        return DriveReader(file.name, parent, buffer, direct=self._direct)

    def finish_file(self, folder: str) -> None:
        self._handles.release(folder)

    def close(self) -> None:
        self._handles.close()
        os.close(self._root)
        self.fd = None
