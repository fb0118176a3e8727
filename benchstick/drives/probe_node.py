"""A script, not a module of the package: looks at one device node and prints `key=value` lines.

    probe_node.py [--sample] /dev/sda [ends] [OFFSET:LENGTH ...]

`exclusive` is `ok`, `busy` or the error's name from opening with O_RDONLY|O_EXCL, which fails with
EBUSY while the kernel itself uses the device (mounted, swap, RAID, LVM), whatever mountinfo says.
`read` is `ok` or `OFFSET: error` for the first range that cannot be read: tools such as blkid
answer "nothing found" for an unreadable drive, which must not pass for an empty one. `data` is
`none`, or the offset of the first block of 64 KiB in the ranges whose bytes are not all 00 and not
all FF. `rdev` is the node's device number. `--sample` reads with O_DIRECT, so that no cached copy
stands in for the drive, and stops at the first data; its ranges must be multiples of the drive's
block size. `size` and `diskseq` are the kernel's, read after the open, which is when the kernel
asks a card reader for a new card. `ends`, where it is asked for, is a hash of the first and last
MiB as they are on the medium, past the page cache. It runs in a process of its own because opening
a drive that hangs, hangs; and it imports next to nothing, because it starts once for every drive of
every scan.
"""

import errno
import fcntl
import mmap
import os
import struct
import sys
import time

AGAIN_AFTER = 0.2
BUSY_ATTEMPTS, BUSY_PAUSE = 4, 0.05
BLOCK = 64 * 1024
ENDS_BYTES = 1 << 20
BLKGETDISKSEQ, BLKGETSIZE64 = 0x80081280, 0x80081272
_CONSTANTS = (bytes(BLOCK), b"\xff" * BLOCK)


def read_ranges(fd: int, ranges: list[str], *, sample: bool = False) -> tuple[str, str]:
    """The values of `read` and `data`. A `sample` stops at the first data."""
    data = "none"
    for text in ranges:
        offset, length = (int(part) for part in text.split(":"))
        problem, at = read_range(fd, offset, length)
        if problem:
            # A drive that was plugged in a moment ago may fail once; one that is broken, again.
            time.sleep(AGAIN_AFTER)
            problem, at = read_range(fd, offset, length)
        if problem:
            return f"{offset}: {problem}", data
        if at is not None and data == "none":
            data = str(at)
            if sample:
                break
    return "ok", data


def read_range(fd: int, offset: int, length: int) -> tuple[str, int | None]:
    """Why part of a range cannot be read, empty when all can; and where it has data, if any. The
    kernel ends a read early for many reasons; only the next read shows which."""
    # Memory of its own page: O_DIRECT demands it.
    with mmap.mmap(-1, max(1, length)) as memory, memoryview(memory) as view:
        count = 0
        while count < length:
            try:
                with view[count:length] as rest:
                    got = os.preadv(fd, [rest], offset + count)
            except OSError as error:
                return str(error.strerror), None
            if not got:
                return f"ends {length - count} bytes early", None
            count += got
        for at in range(0, length, BLOCK):
            block = memory[at : min(at + BLOCK, length)]
            if all(block != constant[: len(block)] for constant in _CONSTANTS):
                return "", offset + at
    return "", None


def number(fd: int, request: int) -> str:
    """What the kernel answers to an ioctl for a 64-bit number; empty where it has no such ioctl."""
    try:
        return str(struct.unpack("Q", fcntl.ioctl(fd, request, bytes(8)))[0])
    except OSError:
        return ""


def hash_of_ends(path: str, size: int) -> str:
    """The hash of the first and last MiB; empty where they cannot be read."""
    # Imported here: most looks do not need it.
    import hashlib

    digest = hashlib.sha256()
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        try:
            fd = os.open(path, flags | os.O_DIRECT)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            fd = os.open(path, flags)
        # A page-aligned buffer, as O_DIRECT needs it.
        with mmap.mmap(-1, ENDS_BYTES) as buffer:
            for start in (0, max(0, size - ENDS_BYTES)):
                got = os.preadv(fd, [buffer], start)
                if got < min(ENDS_BYTES, size):
                    return ""
                digest.update(buffer[:got])
        os.close(fd)
    except OSError:
        return ""
    return digest.hexdigest()[:32]


def exclusive_open(path: str, flags: int) -> str:
    """The value of `exclusive`. The node is closed at once, and a busy one is tried again:
    two probes of the same drive must not take each other for a user of it."""
    for attempt in range(BUSY_ATTEMPTS):
        if attempt:
            time.sleep(BUSY_PAUSE)
        try:
            os.close(os.open(path, flags | os.O_EXCL))
            return "ok"
        except OSError as error:
            if error.errno != errno.EBUSY:
                return error_name(error)
    return "busy"


def error_name(error: OSError) -> str:
    """The kernel's name of an error, such as ENXIO."""
    return errno.errorcode.get(error.errno or 0, str(error))


def main(path: str, words: list[str], *, sample: bool = False) -> None:
    ranges = [word for word in words if word != "ends"]
    flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_DIRECT if sample else 0)
    try:
        fd = os.open(path, flags)
    except OSError as error:
        print(f"exclusive={error_name(error)}\nread=cannot be opened: {error.strerror}\nrdev=")
        return
    exclusive = exclusive_open(path, flags)
    node = os.fstat(fd).st_rdev
    read, data = read_ranges(fd, ranges, sample=sample)
    print(f"exclusive={exclusive}\nread={read}\ndata={data}")
    print(f"rdev={os.major(node)}:{os.minor(node)}")
    size = number(fd, BLKGETSIZE64)
    if "ends" in words and size:
        print(f"ends={hash_of_ends(path, int(size))}")
    print(f"size={size}\ndiskseq={number(fd, BLKGETDISKSEQ)}")


if __name__ == "__main__":
    if sys.argv[1] == "--sample":
        main(sys.argv[2], sys.argv[3:], sample=True)
    else:
        main(sys.argv[1], sys.argv[2:])
