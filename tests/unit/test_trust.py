"""The rules for a valid result, on both sides of each bound."""

from __future__ import annotations

import pytest

from benchstick.analysis.validity import distrust

MB = 10**6


@pytest.mark.parametrize(
    ("target", "tool", "device", "cached_bytes", "files", "is_believed"),
    [
        ("block", 1000 * MB, 1000 * MB, 0, 1, True),
        ("block", 1000 * MB, 1004 * MB, 0, 1, True),
        ("block", 1000 * MB, 1006 * MB, 0, 1, False),
        ("block", 1000 * MB, 996 * MB, 0, 1, True),
        ("block", 1000 * MB, 994 * MB, 0, 1, False),
        ("file on exfat", 1000 * MB, 1029 * MB, 0, 1, True),
        ("file on exfat", 1000 * MB, 1031 * MB, 0, 1, False),
        ("file on exfat", 1000 * MB, 1031 * MB, 0, 100, True),
        ("file on exfat", 1000 * MB, 1000 * MB - 1, 0, 1, False),
        ("file on ext4", 1000 * MB, 1000 * MB, 10 * MB, 1, True),
        ("file on ext4", 1000 * MB, 1000 * MB, 11 * MB, 1, False),
        ("block", 0, 0, 0, 1, False),
    ],
)
def test_bounds(
    target: str, tool: int, device: int, cached_bytes: int, files: int, is_believed: bool
) -> None:
    reason = distrust(
        target=target, tool_bytes=tool, device_bytes=device, cached_bytes=cached_bytes, files=files
    )
    assert (reason is None) is is_believed


def test_buffered_is_named_before_the_counters() -> None:
    reason = distrust(
        target="file on ext4", tool_bytes=100 * MB, device_bytes=MB, cached_bytes=90 * MB
    )
    assert reason == "buffered: 90 % of the bytes went through the page cache"
