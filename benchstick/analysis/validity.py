"""Is a result valid? Compares the device's own counters with the tool's total.

The rules and their reasons: docs/decisions/sampler.md.
"""

from __future__ import annotations

BLOCK_TOLERANCE = 0.005
FILE_SURPLUS = 0.03
FILE_SURPLUS_EACH = 64 * 1024
CACHED_SHARE = 0.01


def distrust(
    *, target: str, tool_bytes: int, device_bytes: int, cached_bytes: int = 0, files: int = 1
) -> str | None:
    """Why the result is invalid, or None when it is valid.

    `tool_bytes` is what the tool reports, `device_bytes` what the drive's counters show in the same
    direction, `cached_bytes` how much of it was found in the page cache: all in bytes. `files` is
    the number of files. A target that is not `block` is a file on a filesystem.
    """
    if tool_bytes <= 0:
        return "nothing was moved"
    if cached_bytes > CACHED_SHARE * tool_bytes:
        share = 100 * cached_bytes / tool_bytes
        return f"buffered: {share:.0f} % of the bytes went through the page cache"
    difference = (device_bytes - tool_bytes) / tool_bytes
    counted_bytes = (
        f"counters: the drive moved {device_bytes} bytes, the tool says {tool_bytes} "
        f"({100 * difference:+.2f} %)"
    )
    if target == "block":
        return counted_bytes if abs(difference) > BLOCK_TOLERANCE else None
    if device_bytes < tool_bytes:
        return counted_bytes
    byte_limit = tool_bytes * FILE_SURPLUS + files * FILE_SURPLUS_EACH
    return counted_bytes if device_bytes - tool_bytes > byte_limit else None
