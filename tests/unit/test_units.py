"""Sizes, durations and rates as people write and read them."""

from __future__ import annotations

import pytest

from benchstick.errors import BadInput
from benchstick.plan import units


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4096", 4096), ("1k", 1024), ("1g", 1 << 30), ("256MiB", 256 << 20), ("40MB", 40_000_000),
        ("1.5 GB", 1_500_000_000), ("2TiB", 2 << 40),
    ],
)  # fmt: skip
def test_sizes(text: str, count: int) -> None:
    assert units.parse_size(text, "size") == count


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1e9", "1 zb", "1k1", "nan", "9" * 400, "9999999t"]
)
def test_what_is_no_size_names_the_field(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        units.parse_size(text, "size")
    assert caught.value.field == "size"
    assert len(caught.value.message) < 120 + len(text[:40])


def test_texts() -> None:
    assert units.size_text(24_030_000_000) == "24.03 GB"
    assert units.size_text(999) == "999 B"
    # It would be rounded to 1000.00 GB.
    assert units.size_text(999_999_995_904) == "1.00 TB"
    assert units.size_text(999_990_000_000) == "999.99 GB"
    assert units.binary_text(1 << 20) == "1 MiB"
    assert units.binary_text(1000) == "1000 B"
    assert units.duration_text(59.4) == "59 s"
    assert units.duration_text(3725) == "1 h 2 min"
    assert units.megabytes_per_second(10**6, 0) == 0
    assert units.megabytes_per_second(2 * 10**6, 2) == 1
