"""The NCQ and UASP verdict: the measured ratio compared with what the system states."""

from __future__ import annotations

import pytest

from benchstick.analysis.ncq_verdict import judge_queueing, waits_in_kernel


@pytest.mark.parametrize(
    ("q1", "q32", "depth", "state", "contradiction"),
    [
        (100.0, 149.0, 1, "ineffective", False),
        (100.0, 149.0, 30, "ineffective", True),
        (100.0, 150.0, 30, "unclear", False),
        (100.0, 199.0, 30, "unclear", False),
        (100.0, 200.0, 30, "works", False),
        (100.0, 1400.0, 1, "works", True),
        (100.0, 1400.0, None, "works", False),
        (None, 1400.0, 30, "unknown", False),
    ],
)
def test_verdicts(
    q1: float | None, q32: float | None, depth: int | None, state: str, contradiction: bool
) -> None:
    verdict = judge_queueing(q1, q32, queue_depth=depth, driver="uas", rotational=False)
    assert (verdict.state, verdict.contradiction) == (state, contradiction)


def test_the_text_names_ratio_driver_and_depth() -> None:
    verdict = judge_queueing(100, 850, queue_depth=30, driver="uas", rotational=False)
    assert verdict.text == "Q32 is 8.5 times Q1; driver uas, queue depth 30"


def test_sysfs_decides_for_a_rotational_drive() -> None:
    verdict = judge_queueing(100, 130, queue_depth=32, driver="ahci", rotational=True)
    assert verdict.state == "works"
    assert not verdict.contradiction
    assert "rotational, Q32 is 1.3 times Q1" in verdict.text


def test_a_low_ratio_of_a_drive_that_may_be_a_disk_contradicts_nothing() -> None:
    verdict = judge_queueing(100, 130, queue_depth=30, driver="uas", rotational=None)
    assert (verdict.state, verdict.contradiction) == ("unclear", False)
    assert "does not report whether it is a hard disk" in verdict.text
    # A high one is queueing, whatever the drive is.
    verdict = judge_queueing(100, 1300, queue_depth=30, driver="uas", rotational=None)
    assert (verdict.state, verdict.contradiction) == ("works", False)


def test_requests_above_the_drives_depth_wait_in_the_kernel() -> None:
    assert [waits_in_kernel(depth, 32) for depth in (1, 32, 33)] == [False, False, True]
    assert waits_in_kernel(256, None) is None
