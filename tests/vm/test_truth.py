"""Accuracy: on drives with a known service time the results must match it."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import RunVm
from .rates import is_at_limit

# So long that the overhead of an emulated processor, which 32 requests that end together wait for
# one after another, hardly matters: up to 13 ms on a busy host.
DELAY_MS = 250
NULL_DELAY_MS = 500


@pytest.fixture(scope="module")
def measured(vm: RunVm) -> Any:
    """All runs of delayed_runs.py, in one boot."""
    return vm(
        f"python3 tests/vm/delayed_runs.py {NULL_DELAY_MS}",
        BENCHSTICK_VM_BACKEND="null",
        BENCHSTICK_VM_DELAY_MS=str(DELAY_MS),
        BENCHSTICK_VM_TIMEOUT="1500",
    ).json()


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("BSUAS0001", "works"),
        ("BSSATA0001", "works"),
        ("BSNVME0001", "works"),
        ("BSBOT0001", "ineffective"),
        ("sata-queue-depth-1", "ineffective"),
    ],
)
def test_the_queueing_verdict_is_definite_and_agrees_with_sysfs(
    measured: Any, name: str, state: str
) -> None:
    entry = measured[name]
    assert entry["verdict"]["state"] == state, entry
    assert entry["events"] == [], entry


def assert_at_limit(entry: Any, name: str, limit: float) -> None:
    """The result is the limit, or as near to it as raw fio, which had the drive to itself."""
    result, raw = entry["results"][name], entry["raw"][name]
    assert result["state"] == "valid", result
    assert raw["share"] > 0.99, (name, raw)
    assert is_at_limit(result["iops"], limit, raw["iops"]), (result, raw, limit)


@pytest.mark.parametrize("name", ["truth-uas", "truth-bot"])
def test_a_usb_drives_result_is_its_limit_and_raw_fios(measured: Any, name: str) -> None:
    entry = measured[name]
    result = entry["results"]["RND4K Q32T1 read"]
    depth = min(32, entry["queue_depth"])
    assert_at_limit(entry, "RND4K Q32T1 read", depth * 1000 / DELAY_MS)
    assert result["inflight"] == depth
    assert result["queue"] <= 1.1 * min(32, entry["nr_requests"])
    assert result["request"] == 4096
    assert result["device_bytes"] == pytest.approx(result["tool_bytes"], rel=0.005)


@pytest.mark.parametrize("way", ["read", "write"])
def test_a_null_blk_with_fixed_completion_time(measured: Any, way: str) -> None:
    entry = measured["truth-null"]
    assert entry["transport"] == "other"
    result = entry["results"][f"RND4K Q32T1 {way}"]
    assert_at_limit(entry, f"RND4K Q32T1 {way}", 32 * 1000 / NULL_DELAY_MS)
    assert result["request"] == 4096
    assert result["inflight"] == pytest.approx(32, rel=0.1)
    assert result["queue"] <= 1.1 * 32
    assert result["device_bytes"] == pytest.approx(result["tool_bytes"], rel=0.005)
    # 8 of 1 MiB in flight, all their parts at once.
    large = entry["results"][f"SEQ1M Q8T1 {way}"]
    assert large["state"] == "valid"
    limit = 8 * 1000 / NULL_DELAY_MS
    assert 0.94 * limit <= large["iops"] <= 1.02 * limit, large
    assert large["device_bytes"] == pytest.approx(large["tool_bytes"], rel=0.005)


def test_a_throttled_drive_gives_its_limit(measured: Any) -> None:
    result = measured["truth-throttled"]["results"]["RND4K Q32T1 read"]
    assert_at_limit(measured["truth-throttled"], "RND4K Q32T1 read", 4 * 2**20 / 4096)
    assert result["request"] == pytest.approx(4096, rel=0.01)
    assert result["device_bytes"] == pytest.approx(result["tool_bytes"], rel=0.005)
