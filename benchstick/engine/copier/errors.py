"""Which errors of the kernel mean what to a copy, and their words for the user."""

from __future__ import annotations

import errno

FULL = (errno.ENOSPC, errno.EDQUOT)
# What the block layer answers when a drive fails or is gone.
LOST = (
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
# These end a copy, others only fail the file they met.
ENDS_COPY = (*FULL, *LOST, errno.EROFS)


def file_words(error: OSError, filesystem: str, *, of_source: bool) -> str:
    """A file's error for the user."""
    if of_source:
        return f"not read: {error.strerror}"
    if error.errno == errno.EEXIST:
        return f"a file of this name is there already ({filesystem} may ignore case)"
    if error.errno in (errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ):
        return f"{filesystem} does not take this name: {error.strerror}"
    if error.errno == errno.EFBIG:
        return f"too large for {filesystem}"
    return f"not written: {error.strerror}"
