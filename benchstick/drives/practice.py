"""The practice drive: a sparse file in the bench's own folder, on a loop device."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from benchstick import paths
from benchstick.drives import loops, subprocesses
from benchstick.drives.discover import scan
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive
from benchstick.errors import BadInput

LEAST_BYTES = 4 << 30
USUAL_BYTES = 8 << 30
_MIB = 1 << 20


def ensure(home: Path | None = None, *, run: Callable[..., Finished] = subprocesses.run) -> Drive:
    """The practice drive, made and attached where needed.

    At least 4 GiB and at most a quarter of the space free for it; BadInput with the numbers when
    there is less, or when no loop device is available.
    """
    image = loops.practice_file(home)
    _folder(image.parent)
    if find(home) is None:
        _file(image)
        _attach(image, run)
    name = find(home)
    if name is None:
        raise BadInput(f"the practice drive {image} was attached, but no loop device shows it")
    for drive in scan(home=home or paths.data_folder()):
        if drive.name == name:
            return drive
    raise BadInput(f"the practice drive {image} on /dev/{name} has no capacity: remove the file")


def find(home: Path | None = None) -> str | None:
    """The kernel name of the loop device that carries the practice file, if it is attached."""
    tree = Tree()
    for name in tree.names("sys/block"):
        if loops.is_practice(tree, name, home):
            return name
    return None


def detach(
    home: Path | None = None,
    *,
    remove: bool = False,
    run: Callable[..., Finished] = subprocesses.run,
) -> None:
    """Take the practice drive off its loop device; the file stays unless `remove`."""
    name = find(home)
    if name is not None:
        answer = run(["losetup", "--detach", f"/dev/{name}"], timeout=30)
        if answer.exit_code != 0:
            raise BadInput(f"/dev/{name} could not be detached: {answer.error_line}")
    if remove:
        file = loops.practice_file(home)
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            message = f"{file}: {error.strerror}; choose another BENCHSTICK_HOME or delete it"
            raise BadInput(message) from None


def _folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}: the practice drive lies there") from error
    if folder.is_symlink():
        raise BadInput(f"{folder} is a symlink: the practice drive must lie in the bench's folder")


def size_for(free: int, allocated_bytes: int = 0) -> int:
    """Bytes for a practice file, of `free` bytes and those that it occupies already.

    BadInput when 4 GiB is more than a quarter.
    """
    most = (free + allocated_bytes) // 4 // _MIB * _MIB
    if most < LEAST_BYTES:
        raise BadInput(
            f"the practice drive needs {LEAST_BYTES / 1e9:.1f} GB, at most a quarter of the free "
            f"space, and {(free + allocated_bytes) / 1e9:.1f} GB are free: make room for "
            f"{4 * LEAST_BYTES / 1e9:.1f} GB, or move BENCHSTICK_HOME"
        )
    return min(most, USUAL_BYTES)


def _file(image: Path) -> None:
    """Make the sparse file; keep one that is there and fits."""
    try:
        fd = os.open(image, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BadInput(f"{image}: {error.strerror}: remove it to have it created again") from error
    try:
        os.fchmod(fd, 0o600)
        status = os.fstat(fd)
        free = shutil.disk_usage(image.parent).free
        most = size_for(free, status.st_blocks * 512)
        if not LEAST_BYTES <= status.st_size <= max(most, LEAST_BYTES):
            os.ftruncate(fd, 0)
            os.ftruncate(fd, most)
    except OSError as error:
        raise BadInput(f"{image}: {error.strerror}") from error
    finally:
        os.close(fd)


def _attach(image: Path, run: Callable[..., Finished]) -> None:
    argv = ["losetup", "--find", "--show", "--partscan", str(image)]
    answer = run(argv, timeout=30)
    if answer.exit_code != 0:
        raise BadInput(
            f"no loop device for the practice drive: {answer.error_line}; "
            "the kernel needs the loop driver (modprobe loop) and the caller must be root"
        )
    node = answer.text.strip()
    # Filesystems without direct I/O (tmpfs on older kernels) refuse it: the page cache is then in
    # use. Results of the practice drive are for practice anyway.
    run(["losetup", "--direct-io=on", node], timeout=30)
