"""When a rate on an emulated drive counts as the drive's limit."""

from __future__ import annotations

import pytest

from tests.vm.rates import is_at_limit


@pytest.mark.parametrize(
    ("rate", "raw", "expected"),
    [
        (100, 100, True),
        (102, 100, True),
        (103, 100, False),
        (103, 103, False),
        (94, 100, True),
        (93, 100, False),
        (90, 91, True),
        (88, 91, False),
        (96, 80, True),
        (0, 50, False),
    ],
)
def test_a_rate_is_the_limit_or_as_near_to_it_as_raw_fio(
    rate: float, raw: float, expected: bool
) -> None:
    assert is_at_limit(rate, 100, raw) is expected
