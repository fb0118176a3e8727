"""Loop drives for the copier's tests: made, formatted, mounted, and always detached."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

# Lazy initialisation writes in the background, among the bytes that a test counts.
LAZY = "lazy_itable_init=0,lazy_journal_init=0"
MAKE = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-m", "0", "-b", "4096", "-E", LAZY),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
}
PACKAGES = {"ext4": "e2fsprogs", "xfs": "xfsprogs", "btrfs": "btrfs-progs"}


def missing(filesystem: str) -> str | None:
    """Why this filesystem cannot be tried here, or None."""
    if os.geteuid() != 0:
        return "loop drives need root"
    if shutil.which(MAKE[filesystem][0], path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
        return f"{MAKE[filesystem][0]} is not installed: apt-get install {PACKAGES[filesystem]}"
    if filesystem not in filesystems():
        subprocess.run(["modprobe", "-q", filesystem], check=False)
    return None if filesystem in filesystems() else f"the kernel has no {filesystem}"


def filesystems() -> list[str]:
    return Path("/proc/filesystems").read_text(encoding="ascii").split()


def require(filesystem: str) -> None:
    """Skip where this filesystem cannot be tried; a failure on Debian as root, where it can."""
    reason = missing(filesystem)
    if reason is None:
        return
    debian = "ID=debian" in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    if debian and os.geteuid() == 0:
        pytest.fail(reason)
    pytest.skip(reason)


def call(*argv: str) -> str:
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{argv}: {result.stderr.strip()}"
    return result.stdout.strip()


@contextlib.contextmanager
def loop_device(image: Path, size: int) -> Iterator[str]:
    """A loop device on a sparse file, direct where the file's filesystem allows it."""
    with image.open("wb") as file:
        file.truncate(size)
    try:
        device = call("losetup", "-f", "--show", "--direct-io=on", str(image))
    except AssertionError:
        device = call("losetup", "-f", "--show", str(image))
    try:
        yield device
    finally:
        call("losetup", "-d", device)
        image.unlink()


@contextlib.contextmanager
def loop_drive(folder: Path, filesystem: str, size: int, options: str = "") -> Iterator[Path]:
    """A mounted loop drive; the path is its mount point."""
    point = folder / "mnt"
    point.mkdir()
    with loop_device(folder / "image", size) as device:
        call(*MAKE[filesystem], device)
        argv = ["mount", *(["-o", options] if options else []), device, str(point)]
        call(*argv)
        try:
            yield point
        finally:
            call("umount", str(point))
            point.rmdir()


def count_written_bytes(device_of: Path) -> int:
    """Bytes written at the block device below a mount point, by the kernel's own count."""
    number = device_of.stat().st_dev
    stat = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
    return int(stat.read_text(encoding="ascii").split()[6]) * 512


def snapshot(root: Path) -> dict[str, tuple[str, int]]:
    """Each file's hash and time, each folder's and link's kind: what two trees are compared by."""
    entries: dict[str, tuple[str, int]] = {}
    for base, folders, files in os.walk(root):
        for name in folders:
            path = Path(base, name)
            kind = "link" if path.is_symlink() else "folder"
            entries[str(path.relative_to(root))] = (kind, 0)
        for name in files:
            path = Path(base, name)
            if path.is_symlink():
                entries[str(path.relative_to(root))] = (f"link {path.readlink()}", 0)
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            entries[str(path.relative_to(root))] = (digest, path.stat().st_mtime_ns)
    return entries


def odd_tree(root: Path) -> None:
    """A tree with what is odd about names and sizes, on any POSIX filesystem."""
    root.mkdir(exist_ok=True)
    names = {
        "plain.bin": 3 * (1 << 20) + 17,
        "name with  blanks and 'quotes'.txt": 5000,
        "ümlaut 日本語 😀.dat": 4096,
        "e" * 251 + ".bin": 12345,
        "empty": 0,
        "one byte": 1,
        "just under a block": 4095,
        "just over a block": 4097,
        "a whole MiB": 1 << 20,
        "a MiB and a byte": (1 << 20) + 1,
        "-rf": 10,
    }
    for name, size in names.items():
        (root / name).write_bytes(os.urandom(size))
    (root / "read only").write_bytes(os.urandom(70_000))
    (root / "read only").chmod(0o444)
    (root / "empty folder").mkdir()
    deep = root
    for i in range(40):
        deep = deep / f"level {i} of a deep path"
        deep.mkdir()
        (deep / "file").write_bytes(os.urandom(100 + i))
    for i, path in enumerate(sorted(root.rglob("*"), key=lambda p: -len(p.parts))):
        # Even seconds and tenths: what FAT, NTFS and POSIX filesystems can all keep.
        moment = (1_400_000_000 + 2 * i) * 10**9
        os.utime(path, ns=(moment, moment))
