"""Small helpers for the tests of drives and guard inside the VM."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchstick.drives import discover
from benchstick.drives.sysfs import Tree, disk_names
from benchstick.drives.types import Drive


def call(*argv: str | Path) -> str:
    """Run a tool that must succeed; its output."""
    process = subprocess.run([str(word) for word in argv], capture_output=True, text=True)
    assert process.returncode == 0, f"{argv}: {process.stdout}{process.stderr}"
    return process.stdout.strip()


def by_serial() -> dict[str, Drive]:
    """The drives of this boot that have a serial."""
    return {d.identity.serial: d for d in discover.scan() if d.identity.serial}


def names_by_serial() -> dict[str, str]:
    """Kernel names by serial, without asking any drive: under emulation a question takes long."""
    silent = discover.scan(skip_queries=disk_names(Tree()))
    return {d.identity.serial: d.name for d in silent if d.identity.serial}


def drive(serial: str) -> Drive:
    """One drive with all its facts, the others not being asked."""
    name = names_by_serial()[serial]
    others = [other for other in disk_names(Tree()) if other != name]
    return next(d for d in discover.scan(skip_queries=others) if d.name == name)


def checksum(path: str, most: int | None = None) -> str:
    """Of a whole device or its first bytes, read past the page cache.

    Chunks of zeroes count by their absence.
    """
    # Direct: what the device delivers goes past the emulated processor, which copies slowly.
    call("blockdev", "--flushbufs", path)
    digest = hashlib.sha256()
    size = 4 << 20
    zeroes = bytes(size)
    at = 0
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, size) as memory:
            while most is None or at < most:
                length = os.preadv(fd, [memory], at)
                if not length:
                    break
                data = memory[:length]
                if data != zeroes[:length]:
                    digest.update(b"%d:" % at + data)
                at += length
    finally:
        os.close(fd)
    return f"{at}:{digest.hexdigest()}"


def wait_for(what: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def usb_folder(usb_drive: Drive) -> Path:
    """The USB device's folder in sysfs, which has `authorized`."""
    return Path("/sys/bus/usb/devices") / usb_drive.identity.port


def unplug(usb_drive: Drive) -> None:
    """What pulling the cable does to the kernel's devices."""
    (usb_folder(usb_drive) / "authorized").write_text("0")
    wait_for(lambda: not Path(f"/sys/block/{usb_drive.name}").exists())


def plug(usb_drive: Drive) -> None:
    """Plug the drive in again, and wait until it is a disk with a capacity."""
    port = usb_drive.identity.port
    (Path("/sys/bus/usb/devices") / port / "authorized").write_text("1")

    def there() -> bool:
        for disk in Path("/sys/block").iterdir():
            inside = f"/{port}/" in str(disk.resolve())
            if inside and (disk / "size").read_text().strip() != "0":
                return True
        return False

    wait_for(there)
    call("udevadm", "settle")


@contextlib.contextmanager
def scsi_debug(*options: str, disks: int | None = None) -> Iterator[list[str]]:
    """The kernel's SCSI test drive; gives the names of its disks: `disks`, or as many as
    `max_luns=` says, or one.

    Only its own disks are waited for. `udevadm settle` would wait for all: udev puts off what
    happens to a drive that a run holds, until the run of another lane has ended.
    """
    parameters = dict(option.split("=", 1) for option in options)
    count = int(parameters.get("max_luns", "1")) if disks is None else disks
    before = _disks()
    call("modprobe", "scsi_debug", *options)
    wait_for(lambda: len(_disks() - before) == count)
    names = sorted(_disks() - before)
    call("udevadm", "wait", "--timeout=120", *(f"/dev/{name}" for name in names))
    try:
        yield names
    finally:
        # udev may still be looking at what was written last.
        wait_for(lambda: subprocess.run(["modprobe", "-r", "scsi_debug"]).returncode == 0)


def _disks() -> set[str]:
    return {path.name for path in Path("/sys/block").iterdir() if path.name.startswith("sd")}
