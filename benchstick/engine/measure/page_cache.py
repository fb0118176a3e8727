"""Measures how much of a file is in the page cache, to detect direct I/O that was not direct.

ext4 with `data=journal`, btrfs with checksums and some others accept `O_DIRECT` without an error
and write through the page cache. cachestat(2) counts the pages since Linux 6.5; mincore(2) on a
mapping does the same on older kernels.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

from benchstick.errors import BadInput

# The same number on every architecture (system calls added since 2019 share one table).
_SYS_CACHESTAT = 451
# In mincore's result only the lowest bit is defined.
_LOWEST_BIT = bytes(value & 1 for value in range(256))
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
)  # fmt: skip
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class _Range(ctypes.Structure):
    _fields_ = (("off", ctypes.c_uint64), ("len", ctypes.c_uint64))


class _Cachestat(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in ("cache", "dirty", "writeback", "evicted", "recently_evicted")
    )


def cachestat_bytes(fd: int) -> int | None:
    """Bytes of the open file in the page cache, by cachestat(2); None when the kernel lacks it.

    In whole pages: a cached file of one byte counts as one page.
    """
    # A length of 0 means to the end of the file.
    whole, stats = _Range(0, 0), _Cachestat()
    result = _libc.syscall(
        ctypes.c_long(_SYS_CACHESTAT),
        ctypes.c_int(fd),
        ctypes.byref(whole),
        ctypes.byref(stats),
        ctypes.c_uint(0),
    )
    if result == 0:
        return int(stats.cache) * mmap.PAGESIZE
    number = ctypes.get_errno()
    # EPERM: a sandbox without the call, or a file of another user.
    if number in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
        return None
    raise OSError(number, os.strerror(number))


def mincore_bytes(fd: int) -> int:
    """Bytes of the open file in the page cache, by mincore(2) on a mapping.

    When the descriptor is open for writing only the file is opened once more.
    """
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
        readable = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return mincore_bytes(readable)
        finally:
            os.close(readable)
    size = os.fstat(fd).st_size
    total = 0
    # In parts of 1 GiB: the result has a byte per page.
    for offset in range(0, size, 1 << 30):
        length = min(1 << 30, size - offset)
        pages = -(-length // mmap.PAGESIZE)
        answer = (ctypes.c_ubyte * pages)()
        address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, offset)
        if address == ctypes.c_void_p(-1).value:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        try:
            if _libc.mincore(address, length, answer) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
        finally:
            _libc.munmap(address, length)
        total += bytes(answer).translate(_LOWEST_BIT).count(1)
    return total * mmap.PAGESIZE


def resident_bytes(files: int | Path | Iterable[Path]) -> int:
    """Bytes in the page cache of an open file (its descriptor), a file, or several files.

    Symlinks are not followed. OSError when a file cannot be opened.
    """
    if isinstance(files, int):
        by_call = cachestat_bytes(files)
        return mincore_bytes(files) if by_call is None else by_call
    total = 0
    for path in [files] if isinstance(files, Path) else files:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            total += resident_bytes(fd)
        finally:
            os.close(fd)
    return total


def drop_caches(what: int = 3) -> None:
    """Drop the machine's clean page cache (1), dentries and inodes (2), or both (3). Needs root."""
    if what not in (1, 2, 3):
        raise ValueError(f"drop_caches takes 1, 2 or 3, not {what}")
    os.sync()
    path = Path("/proc/sys/vm/drop_caches")
    try:
        path.write_text(f"{what}\n", encoding="ascii")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}: dropping caches needs root") from None
