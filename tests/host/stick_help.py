"""Bench sticks as image files on loop devices, for the tests of what the booted stick does."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.appliance.stick import Machine
from benchstick.drives import subprocesses
from benchstick.drives.subprocesses import Finished
from tests.host.drive_help import call, loop

MIB = 1 << 20
TABLE = "label: dos\nlabel-id: 0xb5e0c057\nstart=1MiB, size=24MiB, type=ef\nsize=32MiB, type=83\n"
# The kernel that tests run on may have no FAT: the first partition is ext4 here. The booted image's
# own tests have the real one.
BOOT_FS = "ext4"


def run_but_no_clock(argv: Sequence[str], **options: Any) -> Finished:
    """Tools as they are, but for the one that would set this machine's clock."""
    if argv[0] == "hwclock":
        return Finished(tuple(argv), 0, b"", b"", 0.0)
    return subprocesses.run(argv, **options)


@dataclass(frozen=True)
class Disk:
    """A stick on a loop device, its partitions shown by the kernel."""

    node: str

    @property
    def name(self) -> str:
        return Path(self.node).name

    def machine(self, parameter: str | None, *others: Disk) -> Machine:
        """A machine that has this stick, and `others`, plugged in."""
        line = "quiet" if parameter is None else f"quiet benchstick.stick={parameter} x=y"
        disks = (self.name, *(other.name for other in others))
        return Machine(
            disks=disks, command_line=line, boot_fs=BOOT_FS, patience=0.0, run=run_but_no_clock
        )

    def table(self) -> str:
        return call("sfdisk", "--dump", self.node)


@contextlib.contextmanager
def stick(
    folder: Path,
    files: Mapping[str, str] | None = None,
    *,
    size: int = 256 * MIB,
    table: str = TABLE,
    name: str = "stick",
) -> Iterator[Disk]:
    """A stick of `size` bytes with `files` on its first partition and an empty store."""
    root = folder / f"{name}-files"
    root.mkdir()
    for path, text in (files or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    image = folder / f"{name}.img"
    with image.open("wb") as file:
        file.truncate(size)
    subprocess.run(["sfdisk", "-q", image], input=table.encode(), check=True, capture_output=True)
    with loop(image, size) as node:
        # What an earlier user of the loop device left to the kernel goes.
        subprocess.run(["partx", "--delete", node], capture_output=True)
        call("partx", "--add", node)
        call("mkfs.ext4", "-q", "-F", "-d", root, f"{node}p1")
        call("mkfs.ext4", "-q", "-F", "-b", "4096", f"{node}p2")
        try:
            yield Disk(node)
        finally:
            for part in (1, 2):
                subprocess.run(["umount", "-A", f"{node}p{part}"], capture_output=True)
