"""A practice drive of a test's own, and small helpers for the tests of the guard and of prepare."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchstick.drives import practice


def call(*argv: str | Path) -> str:
    """Run a tool that must succeed; its output."""
    result = subprocess.run([str(word) for word in argv], capture_output=True, text=True)
    assert result.returncode == 0, f"{argv}: {result.stdout}{result.stderr}"
    return result.stdout.strip()


@contextlib.contextmanager
def practice_home(folder: Path) -> Iterator[Path]:
    """A home whose practice drive is taken away at the end, with what a test left mounted on it."""
    home = folder / "home"
    try:
        yield home
    finally:
        name = practice.find(home)
        if name is not None:
            subprocess.run(["umount", "-A", f"/dev/{name}p1"], capture_output=True)
            subprocess.run(["swapoff", f"/dev/{name}p1"], capture_output=True)
            subprocess.run(["partx", "-d", f"/dev/{name}"], capture_output=True)
            practice.detach(home, remove=True)


@contextlib.contextmanager
def loop(image: Path, size: int, *options: str) -> Iterator[str]:
    """Another loop device: somebody else's, never a drive of the bench. Its node."""
    with image.open("ab") as file:
        file.truncate(size)
    node = call("losetup", "--find", "--show", *options, image)
    try:
        yield node
    finally:
        subprocess.run(["partx", "-d", node], capture_output=True)
        call("losetup", "--detach", node)


def checksum(node: str, size: int = 64 << 20) -> str:
    """Of the first bytes of a device, from the device and not from the page cache."""
    fd = os.open(node, os.O_RDONLY)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        digest = hashlib.sha256()
        at = 0
        while at < size and (data := os.pread(fd, 1 << 20, at)):
            digest.update(data)
            at += len(data)
        return digest.hexdigest()
    finally:
        os.close(fd)
