"""What the copier reads from: the protocol, and plain folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from benchstick.engine.copier.direct_io import Buffer, filesystem_of, in_memory
from benchstick.engine.copier.errors import LOST
from benchstick.engine.copier.files import DriveReader, MemoryReader, Reader, SourceError
from benchstick.engine.copier.report import CopyDriveLost, CopyReport
from benchstick.engine.copier.tree import Found, Handles, Tree, list_tree
from benchstick.errors import BadInput


class Source(Protocol):
    """Where a copy reads from; `fileset_source.ram_disk` has those that are not plain folders."""

    def open_source(self) -> OpenSource:
        """List the files and get ready to read them. Inside the clock."""
        ...


class OpenSource(Protocol):
    """An opened source: its listed tree, and a reader for each file."""

    tree: Tree
    fd: int | None

    def reader(self, folder: str, file: Found, buffer: Buffer) -> Reader: ...

    def begin(self, uses: dict[str, int]) -> None:
        """Told once before the first reader: how many files of each folder will be read."""
        ...

    def done(self, folder: str) -> None:
        """One file of `folder` is done."""
        ...

    def close(self) -> None: ...


class FolderSource:
    """A folder as a source: on a drive (direct reads) or in a tmpfs (mapped)."""

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
            if error.errno in LOST:
                message = f"source folder {path}: {where}: {error.strerror}"
                raise CopyDriveLost(message, CopyReport()) from None
            raise BadInput(f"source folder {path}: {where}: {error.strerror}") from None
        self._handles = Handles(self._root, {}, quiet=True)

    def begin(self, uses: dict[str, int]) -> None:
        self._handles = Handles(self._root, uses, quiet=True)

    def reader(self, folder: str, file: Found, buffer: Buffer) -> Reader:
        try:
            parent = self._handles.acquire(folder)
        except OSError as error:
            raise SourceError(error) from None
        if self._in_memory:
            return MemoryReader(file.name, parent, buffer, file.size)
        return DriveReader(file.name, parent, buffer, direct=self._direct)

    def done(self, folder: str) -> None:
        self._handles.release(folder)

    def close(self) -> None:
        self._handles.close()
        os.close(self._root)
        self.fd = None
