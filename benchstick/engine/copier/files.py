"""Readers and writers of single files for the copier.

A reader returns blocks as memory, a writer takes them. On the drive's side all I/O is O_DIRECT from
page-aligned memory; a file in RAM is mapped, so that the drive reads directly from its pages.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from benchstick.engine.copier.direct_io import ALIGNMENT, Buffer, write_at
from benchstick.engine.copier.tree import TreeFile
from benchstick.engine.measure.page_cache import resident_bytes

# Below this size a read into the thread's buffer costs less than creating and removing a mapping.
MAP_FROM = 256 << 10


@dataclass(frozen=True)
class Strategy:
    """How to write a new file with direct I/O on a type of filesystem.

    `size_first`: set the size before the first write, else each write extends the file.
    `pad_tail`: pad the last, partial block to a full one and truncate the file to its size, else
    write it through the page cache, which the flush includes.
    """

    size_first: bool
    pad_tail: bool


# For the measurements see docs/filesets.md, "Direct writes".
_STRATEGIES = {
    "exfat": Strategy(size_first=False, pad_tail=False),
    "vfat": Strategy(size_first=False, pad_tail=False),
    "ntfs3": Strategy(size_first=False, pad_tail=False),
}
_USUAL = Strategy(size_first=True, pad_tail=False)


def strategy_for(filesystem: str) -> Strategy:
    """The fastest strategy for this filesystem that writes to the drive."""
    return _STRATEGIES.get(filesystem, _USUAL)


class SourceError(Exception):
    """The source could not be opened or read; `error` says why."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Reader(Protocol):
    """An open source file."""

    direct: bool

    def pieces(self, offset: int, length: int) -> Iterable[tuple[int, int]]:
        """The (offset, length) pairs in which to read these bytes."""
        ...

    def block(self, offset: int, length: int) -> memoryview:
        """Up to `length` bytes from `offset` (a multiple of 4 KiB); fewer only at the end."""
        ...

    def close(self) -> None: ...


class Writer(Protocol):
    """An open target file. It counts the bytes for `CopyReport`."""

    direct: bool
    tail: int

    def write(self, data: memoryview, offset: int) -> None: ...

    def finish(self, file: TreeFile) -> int | None:
        """Set times and attributes, and close. Returns the bytes in the page cache, if known."""
        ...

    def abandon(self) -> None:
        """Close after an error."""
        ...


def open_direct(name: str, flags: int, parent: int, mode: int = 0o644) -> tuple[int, bool]:
    """Open with O_DIRECT, or without it when the filesystem refuses. (descriptor, direct)."""
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags | os.O_DIRECT, mode, dir_fd=parent), True
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
    # Some filesystems create the file before they refuse the flag.
    if flags & os.O_EXCL:
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise OSError(error.errno, error.strerror, name) from None
    return os.open(name, flags, mode, dir_fd=parent), False


def open_quietly(name: str, parent: int, flags: int = 0) -> int:
    """Open for reading and keep the access time where the kernel allows it."""
    flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(name, flags | os.O_NOATIME, dir_fd=parent)
    except PermissionError:
        return os.open(name, flags, dir_fd=parent)


class DriveReader:
    """A file on a drive: direct reads into the thread's buffer (buffered where refused)."""

    def __init__(self, name: str, parent: int, buffer: Buffer, *, direct: bool) -> None:
        self._view = buffer.view
        self.direct = False
        try:
            if direct:
                try:
                    self._fd = open_quietly(name, parent, os.O_DIRECT)
                    self.direct = True
                    return
                except OSError as error:
                    if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                        raise
            self._fd = open_quietly(name, parent)
        except OSError as error:
            raise SourceError(error) from None

    def pieces(self, offset: int, length: int) -> Iterable[tuple[int, int]]:
        return ((offset, length),)

    def block(self, offset: int, length: int) -> memoryview:
        # Rounded up: a direct read requests whole blocks, and is shorter at the end of the file.
        read_size = -(-length // ALIGNMENT) * ALIGNMENT
        try:
            got = os.preadv(self._fd, [self._view[:read_size]], offset)
            if 0 < got < length:
                got += self._rest(offset, got, length)
        except OSError as error:
            raise SourceError(error) from None
        return self._view[: min(got, length)]

    def _rest(self, offset: int, got: int, length: int) -> int:
        """Continue after a short read in the middle of a file (a signal, a limit of the drive)."""
        more = 0
        while (got + more) % ALIGNMENT == 0 and got + more < length:
            n = os.preadv(self._fd, [self._view[got + more :]], offset + got + more)
            if n == 0:
                break
            more += n
        return more

    def cached(self) -> int | None:
        """Bytes of the file in the page cache; None when the kernel does not report them."""
        return resident_bytes(self._fd)

    def close(self) -> None:
        os.close(self._fd)


class MemoryReader:
    """A file in a tmpfs. A large one is mapped and not copied on its way to the drive.

    Only the kernel reads the mapping: a write fails with EFAULT when pages are missing, while
    access from Python would kill the process.
    """

    direct = True

    def __init__(self, name: str, parent: int, buffer: Buffer, size: int) -> None:
        self._buffer = buffer.view
        self._map: mmap.mmap | None = None
        self._view: memoryview | None = None
        try:
            self._fd = open_quietly(name, parent)
        except OSError as error:
            raise SourceError(error) from None
        if size >= MAP_FROM and os.fstat(self._fd).st_size >= size:
            self._map = mmap.mmap(self._fd, size, mmap.MAP_SHARED, mmap.PROT_READ)
            self._view = memoryview(self._map)

    def pieces(self, offset: int, length: int) -> Iterable[tuple[int, int]]:
        whole = length // ALIGNMENT * ALIGNMENT
        if whole in (0, length) or self._view is None:
            return ((offset, length),)
        # The tail separately, so that the rest goes to the drive directly from the mapping.
        return ((offset, whole), (offset + whole, length - whole))

    def block(self, offset: int, length: int) -> memoryview:
        if self._view is not None and length % ALIGNMENT == 0:
            return self._view[offset : offset + length]
        try:
            got = os.preadv(self._fd, [self._buffer[:length]], offset)
        except OSError as error:
            raise SourceError(error) from None
        return self._buffer[:got]

    def close(self) -> None:
        if self._view is not None and self._map is not None:
            self._view.release()
            self._map.close()
        os.close(self._fd)


class MadeReader:
    """Generated content, not a file: `make(offset, length)` fills the thread's buffer."""

    direct = True

    def __init__(self, buffer: Buffer, make: Callable[[int, int], None]) -> None:
        self._view = buffer.view
        self._make = make

    def pieces(self, offset: int, length: int) -> Iterable[tuple[int, int]]:
        return ((offset, length),)

    def block(self, offset: int, length: int) -> memoryview:
        self._make(offset, length)
        return self._view[:length]

    def close(self) -> None:
        pass


class DriveWriter:
    """A new file on a drive, written with direct I/O (see `Strategy`)."""

    def __init__(
        self, name: str, parent: int, size: int, how: Strategy, scratch: Buffer, *, direct: bool
    ) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        self.tail = 0
        self._how, self._size, self._scratch = how, size, scratch
        # A file without a whole block is not opened for direct I/O.
        if direct and (size >= ALIGNMENT or how.pad_tail):
            self._fd, self.direct = open_direct(name, flags, parent)
            self._has_direct = self.direct
        else:
            flags |= os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(name, flags, 0o644, dir_fd=parent)
            # It is all tail.
            self.direct = direct
            self._has_direct = False
        if how.size_first and size >= ALIGNMENT:
            try:
                os.ftruncate(self._fd, size)
            except OSError:
                os.close(self._fd)
                raise

    def write(self, data: memoryview, offset: int) -> None:
        if not self._has_direct:
            write_at(self._fd, data, offset)
            if self.direct:
                self.tail += len(data)
            return
        whole = len(data) // ALIGNMENT * ALIGNMENT
        if whole:
            write_at(self._fd, data[:whole], offset)
        if whole < len(data):
            self._write_tail(data[whole:], offset + whole)

    def _write_tail(self, rest: memoryview, offset: int) -> None:
        if self._how.pad_tail:
            self._scratch.view[: len(rest)] = rest
            self._scratch.view[len(rest) : ALIGNMENT] = bytes(ALIGNMENT - len(rest))
            write_at(self._fd, self._scratch.view[:ALIGNMENT], offset)
            os.ftruncate(self._fd, self._size)
            return
        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        fcntl.fcntl(self._fd, fcntl.F_SETFL, flags & ~os.O_DIRECT)
        write_at(self._fd, rest, offset)
        self.tail += len(rest)

    def finish(self, file: TreeFile) -> int | None:
        try:
            cached_bytes = resident_bytes(self._fd)
            _keep(self._fd, file)
        finally:
            os.close(self._fd)
        return cached_bytes

    def abandon(self) -> None:
        os.close(self._fd)


class MemoryWriter:
    """A new file in a tmpfs."""

    direct = True
    tail = 0

    def __init__(self, name: str, parent: int, size: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(name, flags, 0o644, dir_fd=parent)
        # The size first, so that a tmpfs with huge pages uses them for a large file.
        os.ftruncate(self._fd, size)

    def write(self, data: memoryview, offset: int) -> None:
        write_at(self._fd, data, offset)

    def finish(self, file: TreeFile) -> int | None:
        try:
            _keep(self._fd, file)
        finally:
            os.close(self._fd)
        return None

    def abandon(self) -> None:
        os.close(self._fd)


class Discard:
    """Discards the data: for reading back a set that does not fit in RAM."""

    direct = True
    tail = 0

    def write(self, data: memoryview, offset: int) -> None:
        pass

    def finish(self, file: TreeFile) -> int | None:
        return None

    def abandon(self) -> None:
        pass


def _keep(fd: int, file: TreeFile) -> None:
    """Set the source's time and read-only attribute on the open file."""
    if file.read_only:
        # Clear only the write bits: exFAT ignores a mode in which any other bit changes.
        os.fchmod(fd, os.fstat(fd).st_mode & 0o555)
    os.utime(fd, ns=(file.mtime_ns, file.mtime_ns))
