"""The system calls of the copier that Python's `os` lacks: aligned buffers, syncfs, statfs.

Calls with ctypes release the GIL, as those of `os` do.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from array import array

PAGE = 4096
# Offsets, lengths and addresses of direct I/O are multiples of this. A drive with 512-byte sectors
# accepts less, but a filesystem reads a block before it writes less than that block.
ALIGNMENT = 4096

_libc = ctypes.CDLL(None, use_errno=True)
_libc.memmove.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_libc.memmove.restype = ctypes.c_void_p
_libc.memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_libc.memcmp.restype = ctypes.c_int
_libc.syncfs.argtypes = (ctypes.c_int,)
_libc.fstatfs.argtypes = (ctypes.c_int, ctypes.c_void_p)

# statfs f_type of the filesystems that the copier treats differently (linux/magic.h; exFAT and NTFS
# from their drivers).
_MAGIC = {
    0xEF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x2011BAB0: "exfat",
    0x7366746E: "ntfs3",
    0x5346544E: "ntfs",
    0x4D44: "vfat",
    0x01021994: "tmpfs",
    0x858458F6: "ramfs",
    0xF2F52010: "f2fs",
    0x65735546: "fuse",
    0x794C7630: "overlay",
}


class Buffer:
    """Anonymous memory, page-aligned, of `size` bytes (a multiple of 4 KiB)."""

    def __init__(self, size: int) -> None:
        if size <= 0 or size % PAGE:
            raise ValueError(f"a buffer of {size} bytes is not a multiple of {PAGE}")
        self.size = size
        self._memory = mmap.mmap(-1, size)
        self.view = memoryview(self._memory)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    @property
    def words(self) -> memoryview:
        """The same memory as 64-bit words."""
        return self.view.cast("Q")


def copy_memory(to: int, origin: int, length: int) -> None:
    """memmove between addresses, without the GIL."""
    _libc.memmove(to, origin, length)


def same_memory(a: int, b: int, length: int) -> bool:
    """memcmp of two addresses, without the GIL."""
    return length == 0 or int(_libc.memcmp(a, b, length)) == 0


def counting_words(first: int, count: int) -> array[int]:
    """`count` little-endian 64-bit words that count up from `first`."""
    words = array("Q", range(first, first + count))
    if sys.byteorder == "big":
        words.byteswap()
    return words


def syncfs(fd: int) -> None:
    """Flush the filesystem of `fd` to its drive. OSError with its errno."""
    if _libc.syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def filesystem_of(fd: int) -> str:
    """The type of the filesystem of `fd`: ext4, exfat, ntfs3, tmpfs, ...; a number if unknown.

    ext2, ext3 and ext4 share one number and are all reported as ext4.
    """
    # struct statfs is 120 bytes on 64-bit Linux; f_type is its first long.
    block = (ctypes.c_long * 64)()
    if _libc.fstatfs(fd, ctypes.byref(block)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    magic = int(block[0]) & 0xFFFFFFFF
    return _MAGIC.get(magic, f"0x{magic:x}")


def in_memory(filesystem: str) -> bool:
    """Whether files of this filesystem are in RAM, where direct I/O has no effect."""
    return filesystem in ("tmpfs", "ramfs")


def write_at(fd: int, data: memoryview, offset: int) -> None:
    """pwrite all of `data`."""
    count = 0
    while count < len(data):
        count += os.pwrite(fd, data[count:], offset + count)
