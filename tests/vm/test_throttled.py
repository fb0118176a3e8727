"""Truth of the file-set copy: USB drives of a known bandwidth, compared with raw fio on them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from .conftest import LiveVm, Qmp, StartVm, once_more_when_lost
from .rates import is_at_limit

# Bytes a second; a pass takes more than 30 s. So low that an emulated processor with other work
# still keeps the drives full.
LIMITS = {"BSUAS0001": 4_000_000, "BSBOT0001": 5_000_000}
# Of the sequential tests, which take 20 s whatever the limit: so high that one request of 1 MiB
# more or less counts for little.
FAST = {"BSUAS0001": 24_000_000, "BSBOT0001": 32_000_000}
DRIVES = {"BSUAS0001": "uas", "BSBOT0001": "bot"}


def throttle(vm: LiveVm) -> None:
    """Sets the limits as soon as QEMU is there."""
    deadline = time.monotonic() + 60
    while not vm.qmp_path.exists():
        assert time.monotonic() < deadline, "QEMU made no control socket"
        time.sleep(0.1)
    limit(vm.qmp(), LIMITS)


def limit(qmp: Qmp, limits: dict[str, int]) -> None:
    for serial, name in DRIVES.items():
        qmp.limit(name, limits[serial])
    qmp.close()


@pytest.fixture(scope="module")
def measured(live_vms: StartVm) -> Any:
    """All of throttled_runs.py, in one boot."""

    def measure() -> Any:
        vm = live_vms("python3 tests/vm/throttled_runs.py")
        throttle(vm)
        vm.wait_line(b"copies measured")
        limit(vm.qmp(), FAST)
        answer = vm.wait_line(b"answer ")
        assert vm.finish().code == 0
        return json.loads(answer.split(b" ", 1)[1])

    return once_more_when_lost(measure)


# How many requests each drive takes at once, and each test gives it more.
DEPTHS = {"BSUAS0001": 14, "BSBOT0001": 1}


def test_a_copy_on_a_throttled_usb_drive_is_its_limit_and_raw_fios(measured: Any) -> None:
    for serial, transport in (("BSUAS0001", "usb-uas"), ("BSBOT0001", "usb-bot")):
        entry = measured[serial]
        assert (entry["transport"], entry["target"]) == (transport, "file on exfat")
        results = {result["name"].split()[-1]: result for result in entry["results"]}
        for way in ("write", "read"):
            result = results[way]
            assert result["state"] == "valid", result
            detail = result["detail"]
            # 32 threads keep the drive full, until fewer files than it takes at once are left.
            depth = detail["inflight_median"]
            assert 0.7 * DEPTHS[serial] <= depth <= DEPTHS[serial], (serial, way, detail)
            drive_bytes = detail["counters"][f"{way}_bytes"]
            # A filesystem's own blocks come on top; a file's last block is filled up.
            assert detail["bytes"] <= drive_bytes <= 1.02 * detail["bytes"], (serial, way, detail)
            rate = result["value"] * 1e6
            assert is_at_limit(rate, LIMITS[serial], entry["raw"][way]), (serial, way, entry)


@pytest.mark.parametrize("serial", DRIVES)
def test_a_sequential_test_of_a_throttled_usb_drive_is_its_limit_and_raw_fios(
    measured: Any, serial: str
) -> None:
    entry = measured[serial]["cdm"]
    for way in ("read", "write"):
        name = f"SEQ1M Q8T1 {way}"
        result, raw = entry["results"][name], entry["raw"][name]
        assert result["state"] == "valid", result
        rate = result["iops"] * 2**20
        assert raw["share"] > 0, raw
        assert is_at_limit(rate, FAST[serial], raw["iops"] * 2**20), (way, entry)
        assert result["device_bytes"] == pytest.approx(result["tool_bytes"], rel=0.005)
        # A request of 1 MiB comes in two on UAS, whole on BOT.
        assert result["inflight"] == pytest.approx(min(16, DEPTHS[serial]), rel=0.1), entry
    # What fio wrote, and the run before it, does not compress.
    assert entry["packed"] >= 0.98
