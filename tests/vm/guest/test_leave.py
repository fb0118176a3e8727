"""Ejecting drives on real drivers: what the kernel shows then, and what may not be removed.

After an eject a drive comes back by a scan of its host. After `power_off` it does not as long as
its plug is in, and its folder with `authorized` is gone: here its USB controller's driver is bound
again, as after a boot.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.drives import discover, eject
from benchstick.drives.guard import hold
from benchstick.drives.sysfs import Tree, disk_names
from benchstick.drives.topology import locate
from benchstick.drives.types import Drive
from benchstick.errors import BadInput, Refused

from .drive_help import call, checksum, drive, names_by_serial, usb_folder, wait_for

USB = ("BSUAS0001", "BSBOT0001")
DRIVERS = {"BSUAS0001": "uas", "BSBOT0001": "usb-storage"}
PATTERN = b"what is on the drive stays on it " * 128


@pytest.fixture(autouse=True)
def all_there() -> Iterator[None]:
    """Each test ends with the drives that it started with."""
    before = set(names_by_serial())
    yield
    assert set(names_by_serial()) == before


def plugged(serial: str) -> Drive:
    """A drive as the guard has it when the agent saw it being plugged in: an internal one is free
    only then."""
    disk = drive(serial)
    assert disk.diskseq is not None
    others = [name for name in disk_names(Tree()) if name != disk.name]
    drives = discover.scan(hotplugs={disk.diskseq}, skip_queries=others)
    return next(one for one in drives if one.name == disk.name)


def let_go(disk: Drive, *, power_off: bool) -> None:
    assert disk.diskseq is not None
    eject.let_go(disk, power_off=power_off, hotplugs={disk.diskseq})


def is_here(disk: Drive) -> bool:
    """Whether the kernel shows the disk: the node, or the folder, of this very one."""
    folder = Path(f"/sys/block/{disk.name}")
    try:
        return int((folder / "diskseq").read_text()) == disk.diskseq
    except FileNotFoundError:
        return False


def host_of(disk: Drive) -> Path:
    """The SCSI host that the disk hangs on, in sysfs."""
    scsi = locate(Tree(), disk.name).scsi
    assert scsi is not None
    return Path(f"/sys/class/scsi_host/host{scsi[0]}")


def back(serial: str) -> Drive:
    wait_for(lambda: serial in names_by_serial())
    call("udevadm", "settle")
    return drive(serial)


def write(disk: Drive) -> None:
    """Something that must be there afterwards."""
    with Path(disk.path).open("r+b", buffering=0) as file:
        file.seek(1 << 20)
        file.write(PATTERN)


def read(disk: Drive) -> bytes:
    call("blockdev", "--flushbufs", disk.path)
    with Path(disk.path).open("rb", buffering=0) as file:
        file.seek(1 << 20)
        return file.read(len(PATTERN))


@pytest.mark.parametrize("serial", USB)
def test_an_ejected_usb_drive_is_gone_and_its_device_stays(serial: str) -> None:
    disk = drive(serial)
    write(disk)
    host, usb = host_of(disk), usb_folder(disk)
    let_go(disk, power_off=False)
    assert not is_here(disk)
    assert not Path(disk.path).exists()
    # Its bus still has it, with its driver: only the disk was taken away.
    assert (usb / "idVendor").exists()
    (interface,) = usb.glob("*:*.*")
    assert (interface / "driver").resolve().name == DRIVERS[serial]
    time.sleep(3)
    assert serial not in names_by_serial(), "nothing brings it back by itself"
    (host / "scan").write_text("- - -")
    again = back(serial)
    assert again.diskseq != disk.diskseq, "another disk, for the kernel"
    assert again.identity.key() == disk.identity.key()
    assert read(again) == PATTERN


def test_an_ejected_sata_drive_is_gone_and_comes_back_by_a_scan() -> None:
    disk = plugged("BSSATA0001")
    before, host = checksum(disk.path, 4 << 20), host_of(disk)
    let_go(disk, power_off=False)
    assert not is_here(disk) and not Path(disk.path).exists()
    (host / "scan").write_text("- - -")
    again = back("BSSATA0001")
    assert checksum(again.path, 4 << 20) == before


def test_an_ejected_nvme_drive_is_gone_with_its_controller() -> None:
    disk = plugged("BSNVME0001")
    before = checksum(disk.path, 4 << 20)
    switch = eject.switch(Tree(), disk.name, power_off=False)
    device = switch.parent
    assert (device / "nvme").is_dir()
    let_go(disk, power_off=False)
    assert not is_here(disk) and not device.exists()
    Path("/sys/bus/pci/rescan").write_text("1")
    again = back("BSNVME0001")
    assert checksum(again.path, 4 << 20) == before


@pytest.mark.parametrize("serial", USB)
def test_a_powered_off_usb_drive_leaves_its_port_until_it_is_plugged_in_again(serial: str) -> None:
    disk = drive(serial)
    write(disk)
    usb = usb_folder(disk)
    controller = locate(Tree(), disk.name).pci[-1]
    beside = set(names_by_serial()) - {serial}
    let_go(disk, power_off=True)
    assert not is_here(disk) and not Path(disk.path).exists()
    wait_for(lambda: not usb.exists(), 10)
    # The device is still in its socket: the kernel does not take it up again.
    time.sleep(3)
    assert not usb.exists()
    assert set(names_by_serial()) == beside, "no other drive went along"
    driver = (controller / "driver").resolve()
    (driver / "unbind").write_text(controller.name)
    (driver / "bind").write_text(controller.name)
    again = back(serial)
    # What is on the same controller comes back as well.
    wait_for(lambda: set(names_by_serial()) == {*beside, serial})
    assert again.identity.key() == disk.identity.key()
    assert read(again) == PATTERN


@pytest.mark.parametrize("power_off", [False, True], ids=["eject", "power off"])
def test_a_mounted_drive_stays(tmp_path: Path, power_off: bool) -> None:
    disk = drive("BSUAS0001")
    call("mkfs.ext4", "-q", "-F", disk.path)
    try:
        call("mount", disk.path, tmp_path)
        (tmp_path / "file").write_bytes(PATTERN)
        with pytest.raises(Refused, match="mounted"):
            let_go(drive("BSUAS0001"), power_off=power_off)
        # Mounted since it was looked at.
        with pytest.raises(Refused):
            let_go(disk, power_off=power_off)
        assert is_here(disk)
        assert (tmp_path / "file").read_bytes() == PATTERN
        call("umount", tmp_path)
    finally:
        if os.path.ismount(tmp_path):
            call("umount", "-l", tmp_path)
        call("wipefs", "-a", disk.path)


@pytest.mark.parametrize("power_off", [False, True], ids=["eject", "power off"])
def test_a_drive_that_another_run_has_stays(power_off: bool) -> None:
    disk = drive("BSUAS0001")
    with hold(disk, destructive=False):
        with pytest.raises(Refused, match="held by another run or program"):
            let_go(disk, power_off=power_off)
        assert is_here(disk)


def test_a_drive_that_somebody_uses_alone_stays() -> None:
    disk = drive("BSBOT0001")
    fd = os.open(disk.path, os.O_RDONLY | os.O_EXCL)
    try:
        with pytest.raises(Refused, match="exclusive use"):
            let_go(disk, power_off=True)
    finally:
        os.close(fd)
    assert is_here(disk)


def test_a_drive_that_was_there_from_the_start_stays() -> None:
    for serial in ("BSSATA0001", "BSNVME0001"):
        disk = drive(serial)
        with pytest.raises(Refused, match="locked"):
            eject.let_go(disk, power_off=False)
        with pytest.raises(BadInput, match="only USB drives can be powered off"):
            eject.let_go(disk, power_off=True)
        assert is_here(disk)
