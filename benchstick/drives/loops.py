"""Loop devices: what backs them, and which one is the practice drive.

The practice drive is only the loop device whose file lies in the bench's own folder.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from benchstick import paths
from benchstick.drives import nodes
from benchstick.drives.sysfs import Tree

FILE_NAME = "practice.img"
# linux/loop.h: LOOP_GET_STATUS64, and the size of struct loop_info64.
_GET_STATUS64 = 0x4C05
_INFO_BYTES = 232


@dataclass(frozen=True)
class Backing:
    """What backs a loop device, by number: the file, or the block device whose node it is."""

    device: int
    inode: int
    block: int


def backing(tree: Tree, name: str) -> Backing | None:
    """Ask the kernel, as the path in sysfs may be another file's. None when it does not answer."""
    if not tree.live or not re.fullmatch(r"loop\d+", name):
        return None
    try:
        fd = os.open(f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            answer = fcntl.ioctl(fd, _GET_STATUS64, bytes(_INFO_BYTES))
        finally:
            os.close(fd)
    except OSError:
        return None
    device, inode, block = struct.unpack_from("QQQ", answer)
    return Backing(device, inode, block)


def backing_block(tree: Tree, name: str) -> str | None:
    """The block device that backs the loop device, by number. None for a loop device over a
    file, and where the kernel does not answer."""
    info = backing(tree, name)
    return None if info is None else nodes.block_name(tree, info.block)


def practice_file(home: Path | None = None) -> Path:
    """The practice drive's backing file, symlinks resolved as the kernel shows it."""
    return (home or paths.data_folder()).resolve() / "practice" / FILE_NAME


def is_practice(tree: Tree, name: str, home: Path | None = None) -> bool:
    """True for the loop device over the bench's own practice file, and for no other."""
    if not re.fullmatch(r"loop\d+", name):
        return False
    file = practice_file(home)
    if tree.text(f"sys/block/{name}/loop/backing_file") != str(file):
        return False
    # A file of another mount namespace may have the same path.
    info = backing(tree, name)
    if info is None:
        return True
    try:
        status = file.stat()
    except OSError:
        return False
    return (info.device, info.inode, info.block) == (status.st_dev, status.st_ino, 0)
