"""Ejects a drive after its test: stops it and removes it from the kernel, so that it can be pulled
out; can also power a USB drive off."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Collection
from pathlib import Path

from benchstick.drives import guard, nvme, subprocesses
from benchstick.drives.sysfs import Tree, diskseq
from benchstick.drives.topology import locate
from benchstick.drives.types import Drive
from benchstick.errors import BadInput, DriveLost, Refused

# A drive that hangs must not prevent its verdict from being stored. Disks take up to 15 s to stop,
# and the kernel waits as long for a flush.
STOP_SECONDS = 60.0
REMOVE_SECONDS = 60.0
GONE_SECONDS = 10.0
# In a separate process: a call that hangs in the kernel cannot be cancelled. The page cache of the
# drive is written first.
_REMOVE = """
import os, sys
try:
    fd = os.open(sys.argv[1], os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    with open(sys.argv[2], "w") as file:
        file.write("1")
except OSError as error:
    sys.exit(error.strerror)
"""
# The legs of an NVMe drive under multipath are the drive itself.
_LEG = re.compile(r"nvme\d+c\d+n\d+")
_MASS_STORAGE = "08"


def switch(tree: Tree, name: str, *, power_off: bool) -> Path:
    """The sysfs file that removes disk `name` when 1 is written to it. BadInput where there is
    none, or where it would also remove another disk or an interface in use.

    A SCSI disk's `delete` (drivers/scsi/scsi_sysfs.c) leaves the device on its bus: it comes back
    when its host is scanned. A USB device's `remove` (drivers/usb/core/sysfs.c) unbinds it and
    disables its port until the plug is pulled; whether the port's 5 V go off is up to the hub, and
    most hubs leave them on. A PCI device's `remove` shuts an NVMe controller down.
    """
    here = locate(tree, name)
    if power_off:
        if here.usb is None:
            raise BadInput(f"{name}: only USB drives can be powered off; eject it, and pull it")
        return _alone(tree, name, here.usb, "remove")
    if here.scsi is not None and tree.exists(f"sys/block/{name}/device/delete"):
        return tree.path(f"sys/block/{name}/device/delete")
    if here.transport == "nvme":
        device = tree.real(nvme.controller(tree, name) / "device")
        return _alone(tree, name, device, "remove")
    raise BadInput(f"{name}: cannot be ejected by software; pull it")


def _alone(tree: Tree, name: str, device: Path, file: str) -> Path:
    """`file` of a device that has no other disk (or CD) below it, and does nothing else."""
    for other in tree.names("sys/block"):
        if other != name and not _LEG.fullmatch(other) and device in _place(tree, other).parents:
            raise BadInput(f"{name}: {other} is on the same device and would be removed too")
    for child in tree.names(device):
        kind = tree.text(device / child / "bInterfaceClass")
        driver = tree.link_name(device / child / "driver")
        if kind not in (None, _MASS_STORAGE) and driver is not None:
            raise BadInput(f"{name}: the same device is in use by {driver}, which would stop")
    path = tree.path(device / file)
    if not path.exists():
        raise BadInput(f"{name}: {device / file} is not there; pull the drive")
    return path


def _place(tree: Tree, name: str) -> Path:
    # With native multipath a namespace hangs elsewhere than its controller.
    if name.startswith("nvme"):
        return nvme.controller(tree, name)
    return tree.real(f"sys/block/{name}")


def let_go(
    drive: Drive, *, power_off: bool, hotplugs: Collection[int] = (), home: Path | None = None
) -> None:
    """Flush the drive, stop it, and remove it. Only a drive that a run might write is removed:
    Refused for a drive that is not free, mounted, in use by another run or program, or another
    one; Refused as well when it is still there afterwards. BadInput where there is no way to
    remove it, DriveLost when it is gone or does not answer in time."""
    path = switch(Tree(), drive.name, power_off=power_off)
    with guard.hold(drive, destructive=False, hotplugs=hotplugs, home=home) as hold:
        hold.check_before_write()
        # From here on nobody can mount it.
        with hold.exclusive():
            if drive.name.startswith("sd"):
                _stop(drive)
            _remove(drive, path)
            _wait_until_gone(drive)


def _stop(drive: Drive) -> None:
    """Flush and stop a SCSI, SATA or USB disk: it parks its heads, and an SSD counts no unsafe
    shutdown. The kernel flushes only a cache that it knows of, and since 6.6 does not stop a disk
    that is deleted. A bridge that knows neither command rejects them: that is no error."""
    for argv in (("sg_sync", drive.path), ("sg_start", "--readonly", "--stop", drive.path)):
        if subprocesses.run(argv, timeout=STOP_SECONDS).timed_out:
            raise DriveLost(f"{drive.code}: does not answer {argv[0]} within {STOP_SECONDS:.0f} s")


def _remove(drive: Drive, path: Path) -> None:
    argv = (sys.executable, "-I", "-S", "-c", _REMOVE, drive.path, str(path))
    result = subprocesses.run(argv, timeout=REMOVE_SECONDS)
    if result.timed_out:
        raise DriveLost(f"{drive.code}: the kernel did not remove it within {REMOVE_SECONDS:.0f} s")
    if result.exit_code != 0:
        if not path.exists():
            raise DriveLost(f"{drive.code}: the drive went away")
        raise Refused(f"{path}: {result.error_line}")


def _wait_until_gone(drive: Drive) -> None:
    """The kernel may reuse the name at once for another disk."""
    tree, deadline = Tree(), time.monotonic() + GONE_SECONDS
    while tree.exists(f"sys/block/{drive.name}"):
        if drive.diskseq is not None and diskseq(tree, drive.name) != drive.diskseq:
            return
        if time.monotonic() > deadline:
            raise Refused(f"{drive.code}: was ejected but is still there; do not pull it yet")
        time.sleep(0.1)
