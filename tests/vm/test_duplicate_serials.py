"""Drives that a serial does not distinguish: LUNs of one bridge, and one serial twice.

QEMU's bridges make up a serial where none is given; a drive without any is written by its port in
test_truth.py (null_blk), and recorded in tests/hardware (two-with-one-serial).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import RunVm

MIB = 1 << 20
# Images by name: an enclosure of two LUNs, two sticks with one serial.
IMAGES = ("lun0", "lun1", "same0", "same1")
DEVICES = (
    "usb-uas,bus=xhci.0,port=4,id=enc,serial=TWINBRIDGE",
    "scsi-hd,bus=enc.0,scsi-id=0,lun=0,drive=lun0,serial=TWINLUN",
    "scsi-hd,bus=enc.0,scsi-id=0,lun=1,drive=lun1,serial=TWINLUN",
    "usb-storage,bus=xhci.0,port=3.1,drive=same0,serial=TWINSAME",
    "usb-storage,bus=xhci.0,port=3.2,drive=same1,serial=TWINSAME",
)


@pytest.fixture(scope="module")
def extra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("twins")
    words = ["-device", "usb-hub,bus=xhci.0,port=3"]
    for name in IMAGES:
        path = Path(folder, f"{name}.img")
        with path.open("wb") as file:
            file.truncate(64 * MIB)
        words += ["-drive", f"if=none,id={name},format=raw,file={path}"]
    for device in DEVICES:
        words += ["-device", device]
    yield shlex.join(words)


@pytest.fixture(scope="module")
def results(vm: RunVm, extra: str) -> Any:
    """The results of duplicate_serial_runs.py, in one boot."""
    return vm("python3 tests/vm/duplicate_serial_runs.py", BENCHSTICK_VM_QEMU=extra).json()


def test_codes_are_ports_where_a_serial_is_not_unique(results: Any) -> None:
    for name in IMAGES:
        assert results["codes"][name].startswith("port:"), results["codes"]
    assert len(set(results["codes"].values())) == len(IMAGES)
    assert results["codes"]["lun0"].removesuffix("0") == results["codes"]["lun1"].removesuffix("1")


@pytest.mark.parametrize("serial", ["TWINLUN", "TWINSAME"])
def test_a_shared_serial_erases_nothing(results: Any, serial: str) -> None:
    refusal = results["refused"][serial]
    assert refusal["code"] == 3, refusal
    assert "port:" in refusal["message"]
    assert refusal["changed"] == []


@pytest.mark.parametrize("name", ["lun1", "same1"])
def test_the_right_port_erases_that_drive_and_no_other(results: Any, name: str) -> None:
    outcome = results["written"][name]
    assert outcome["code"] == 0, outcome
    assert outcome["changed"] == [name]
