"""A script, not a module of the package: looks at one device node and prints `key=value` lines.

    probe_node.py /dev/sda [OFFSET:LENGTH ...]

`exclusive` is `ok`, `busy` or the error's name from opening with O_RDONLY|O_EXCL, which fails with
EBUSY while the kernel itself uses the device (mounted, swap, RAID, LVM), whatever mountinfo says.
`read` is `ok` or `OFFSET: error` for the first range that cannot be read: tools such as blkid
answer "nothing found" for an unreadable drive, which must not pass for an empty one. `rdev` is the
node's device number. It runs in a process of its own because opening a drive that hangs, hangs;
and it imports next to nothing, because it starts once for every drive of every scan.
"""

import errno
import os
import sys
import time

AGAIN_AFTER = 0.2


def read_problem(fd: int, ranges: list[str]) -> str:
    """`ok`, or where and why the first unreadable range cannot be read."""
    for text in ranges:
        offset, length = (int(part) for part in text.split(":"))
        problem = range_problem(fd, offset, length)
        if problem:
            # A drive that was plugged in a moment ago may fail once; one that is broken, again.
            time.sleep(AGAIN_AFTER)
            problem = range_problem(fd, offset, length)
        if problem:
            return f"{offset}: {problem}"
    return "ok"


def range_problem(fd: int, offset: int, length: int) -> str:
    """Why not all of a range can be read; empty when it can. The kernel ends a read early for many
    reasons, and only the next one tells which."""
    end = offset + length
    while offset < end:
        try:
            got = len(os.pread(fd, end - offset, offset))
        except OSError as error:
            return str(error.strerror)
        if not got:
            return f"ends {end - offset} bytes early"
        offset += got
    return ""


def main(path: str, ranges: list[str]) -> None:
    exclusive = "ok"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        busy = error.errno == errno.EBUSY
        exclusive = "busy" if busy else errno.errorcode.get(error.errno or 0, str(error))
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as again:
            print(f"exclusive={exclusive}\nread=cannot be opened: {again.strerror}\nrdev=")
            return
    node = os.fstat(fd).st_rdev
    print(f"exclusive={exclusive}\nread={read_problem(fd, ranges)}")
    print(f"rdev={os.major(node)}:{os.minor(node)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
