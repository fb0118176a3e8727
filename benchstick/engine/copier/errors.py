"""What the kernel's errors mean for a copy, and their messages."""

from __future__ import annotations

import errno

FULL = (errno.ENOSPC, errno.EDQUOT)
# What the block layer returns when a drive fails or is gone.
DRIVE_LOST = (
    errno.EIO,
    errno.ENODEV,
    errno.ENXIO,
    errno.EREMOTEIO,
    errno.ETIMEDOUT,
    errno.ENOLINK,
    errno.ENODATA,
    errno.ESHUTDOWN,
    errno.ENOMEDIUM,
)
# These end a copy; other errors fail only their file.
ENDS_COPY = (*FULL, *DRIVE_LOST, errno.EROFS)


def file_words(error: OSError, filesystem: str, *, of_source: bool) -> str:
    """The message for the error of a file."""
    if of_source:
        return f"not read: {error.strerror}"
    if error.errno == errno.EEXIST:
        return f"a file of this name exists already ({filesystem} may ignore case)"
    if error.errno in (errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ):
        return f"{filesystem} does not accept this name: {error.strerror}"
    if error.errno == errno.EFBIG:
        return f"too large for {filesystem}"
    return f"not written: {error.strerror}"
