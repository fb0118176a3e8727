"""Reads sysfs and procfs under a root folder, so that recorded trees read like a live machine.

Nothing here opens a device. A file that is missing or cannot be read gives None: the caller
decides what that means.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

# What may be a drive: whole disks that hold data. Left out: zram, ram, sr, fd, md, bcache,
# partitions, the boot and RPMB areas of eMMC, and the multipath legs of NVMe (nvme0c0n1).
DRIVE_NAME = re.compile(
    r"(sd[a-z]+|nvme\d+n\d+|mmcblk\d+|vd[a-z]+|xvd[a-z]+|nbd\d+|dm-\d+|nullb\d+|loop\d+)"
)
# Device-mapper devices that are parts or contents of drives, not drives: volumes, opened LUKS.
_NO_DRIVE_DM = ("LVM-", "CRYPT-", "part", "VERITY-")


@dataclass(frozen=True)
class Tree:
    """A file tree that holds `sys` and `proc`: `/` on a live machine.

    A look at all drives reads thousands of files here: pathlib would take half of that time.
    """

    root: Path = Path("/")

    @property
    def live(self) -> bool:
        """True for this machine itself: device nodes may be looked at."""
        return self.root == Path("/")

    def path(self, where: str | Path) -> Path:
        """`where` (with or without a leading slash) below the root."""
        return self.root / str(where).lstrip("/")

    def _file(self, where: str | Path) -> str:
        return f"{self.root}/{where}"

    def exists(self, where: str | Path) -> bool:
        return os.path.exists(self._file(where))  # noqa: PTH110

    def data(self, where: str | Path) -> bytes | None:
        """The file's bytes, or None."""
        try:
            with open(self._file(where), "rb", buffering=0) as file:  # noqa: PTH123
                return file.read()
        except OSError:
            return None

    def text(self, where: str | Path) -> str | None:
        """The file's text without surrounding white space; None when missing or empty."""
        raw = self.data(where)
        text = "" if raw is None else raw.decode("utf-8", "replace").strip("\0 \t\n")
        return text or None

    def number(self, where: str | Path) -> int | None:
        """The file's content as an integer (decimal or 0x hex), or None."""
        text = self.text(where)
        try:
            return None if text is None else int(text, 0)
        except ValueError:
            return None

    def names(self, where: str | Path) -> list[str]:
        """The names in a folder, sorted; empty when there is no such folder."""
        try:
            return sorted(os.listdir(self._file(where)))  # noqa: PTH208
        except OSError:
            return []

    def real(self, where: str | Path) -> Path:
        """`where` with its symlinks followed, again relative to the root: `/sys/devices/...`."""
        real_path = self.path(where).resolve()
        root = self.root.resolve()
        return Path("/") / (real_path.relative_to(root) if real_path.is_relative_to(root) else "")

    def link_name(self, where: str | Path) -> str | None:
        """The last part of the symlink's target (a driver's name), or None."""
        path = self.path(where)
        return path.resolve().name if path.is_symlink() else None


def disk_names(tree: Tree) -> list[str]:
    """The kernel names of whole disks with a capacity, in the kernel's order of names."""
    names = []
    null_blk = _null_blk_major(tree)
    for name in tree.names("sys/block"):
        here = f"sys/block/{name}"
        # null_blk devices made through configfs can have any name.
        is_drive = DRIVE_NAME.fullmatch(name) or (
            null_blk is not None and (tree.text(f"{here}/dev") or "").startswith(f"{null_blk}:")
        )
        if not is_drive or tree.text(f"{here}/hidden") == "1":
            continue
        if (tree.text(f"{here}/dm/uuid") or "").startswith(_NO_DRIVE_DM):
            continue
        if (tree.number(f"{here}/size") or 0) > 0:
            names.append(name)
    return sorted(names, key=lambda name: (len(name), name))


def _null_blk_major(tree: Tree) -> str | None:
    match = re.search(r"^\s*(\d+) nullb$", tree.text("proc/devices") or "", re.MULTILINE)
    return match.group(1) if match else None


def diskseq(tree: Tree, name: str) -> int | None:
    """The kernel's running number of this disk; None before kernel 5.15 or when it is gone."""
    return tree.number(f"sys/block/{name}/diskseq")


def capacity(tree: Tree, name: str) -> int:
    """Bytes. The kernel counts in 512-byte sectors whatever the drive's own sectors are."""
    return (tree.number(f"sys/block/{name}/size") or 0) * 512


def partition_names(tree: Tree, name: str) -> list[str]:
    """The kernel's partitions of a disk: `['sda1', 'sda2']`."""
    here = f"sys/block/{name}"
    # A partition is named after its disk, in sysfs too: sda1, nvme0n1p1, mmcblk0p1.
    children = [child for child in tree.names(here) if child.startswith(name)]
    return [child for child in children if tree.exists(f"{here}/{child}/partition")]
