"""Lets a drive go after its test: out of the kernel's sight, so that it can be pulled, or without
power."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from benchstick.drives import guard, nvme
from benchstick.drives.model import Drive
from benchstick.drives.tree import DRIVE_NAME, Tree
from benchstick.drives.where import locate
from benchstick.plan.errors import BadInput, DriveLost, Refused


def switch(tree: Tree, name: str, *, power_off: bool) -> Path:
    """The sysfs file that takes disk `name` away when 1 is written to it. BadInput where there is
    none, or where it would take another disk along.

    A SCSI disk's `delete` flushes its cache and leaves the device on its bus; a USB device's
    `remove` switches its port off, a PCI device's takes its driver away.
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
    """`file` of a device that has no other disk below it."""
    for entry in sorted(tree.path("sys/block").iterdir()):
        other = entry.name
        if other == name or not DRIVE_NAME.fullmatch(other):
            continue
        if device in _place(tree, other).parents:
            raise BadInput(f"{name}: {other} is on the same device and would go along")
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
    drive: Drive, *, power_off: bool, seen: Collection[int] = (), home: Path | None = None
) -> None:
    """Flush the drive and take it away. Nothing is taken away that the guard would not let a run
    write: Refused for a drive that is not free, in use or another one, BadInput where there is no
    way, DriveLost when it is gone."""
    path = switch(Tree(), drive.name, power_off=power_off)
    with guard.hold(drive, destructive=False, seen=seen, home=home) as held:
        held.check_before_write()
        try:
            fd = os.open(drive.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            path.write_text("1", encoding="ascii")
        except FileNotFoundError as error:
            raise DriveLost(f"{drive.code}: the drive went away") from error
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}") from error
