"""Opens, empties and checks the target folder of a copy, without following links."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from benchstick.engine.copier.direct_io import syncfs
from benchstick.engine.copier.errors import DRIVE_LOST, FULL
from benchstick.engine.copier.report import CopyDriveLost, CopyReport, TargetFull, TargetReadOnly
from benchstick.engine.copier.source import OpenSource
from benchstick.engine.copier.tree import Removed, remove
from benchstick.errors import BadInput, Refused


def open_target(target: Path) -> int:
    """Open the target folder; create it if it is missing. Refused when it is a link."""
    with contextlib.suppress(FileExistsError):
        try:
            target.mkdir()
        except FileNotFoundError:
            raise BadInput(f"target {target}: its parent folder does not exist") from None
        except OSError as error:
            if isinstance(error, FileExistsError):
                raise
            if error.errno in DRIVE_LOST:
                raise CopyDriveLost(
                    f"target {target}: {error.strerror}: the drive is gone or failing", CopyReport()
                ) from None
            if error.errno == errno.EROFS:
                message = f"target {target} is mounted read-only: mount it writable"
                raise TargetReadOnly(message, CopyReport()) from None
            if error.errno in FULL:
                raise TargetFull(f"target {target}: {error.strerror}", CopyReport()) from None
            raise BadInput(f"target {target}: {error.strerror}") from None
    try:
        return os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if target.is_symlink():
            raise Refused(f"target {target} is a symbolic link: give the folder itself") from None
        if error.errno in DRIVE_LOST:
            raise CopyDriveLost(
                f"target {target}: {error.strerror}: the drive is gone or failing", CopyReport()
            ) from None
        raise BadInput(f"target {target}: {error.strerror}") from None


def refuse_nesting(root: int, open_source: OpenSource, target: Path) -> None:
    """BadInput when target or source is inside of the other: the copy would delete its source."""
    if open_source.fd is None:
        return
    source, top = os.fstat(open_source.fd), os.fstat(root)
    if (source.st_dev, source.st_ino) in _upwards(root):
        raise BadInput(f"target {target} is its own source or lies inside of it")
    if (top.st_dev, top.st_ino) in _upwards(open_source.fd):
        raise BadInput(f"the source lies inside of the target {target}, which the copy would clear")


def _upwards(start: int) -> list[tuple[int, int]]:
    """Device and inode of an open folder and of all its parents."""
    chain: list[tuple[int, int]] = []
    fd = os.dup(start)
    try:
        while True:
            status = os.fstat(fd)
            here = (status.st_dev, status.st_ino)
            if chain and chain[-1] == here:
                return chain
            chain.append(here)
            above = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
            os.close(fd)
            fd = above
    finally:
        os.close(fd)


def empty_folder(folder: Path) -> Removed:
    """Remove everything in `folder`, the target, before a pass. Not part of the measured time.

    Links are removed, never followed. A mount inside, also a bind mount, stays and is an error.
    """
    if folder.is_symlink():
        raise Refused(f"{folder} is a symbolic link: give the folder itself")
    removals = Removed()
    fd = -1
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        device = os.fstat(fd).st_dev
        with os.scandir(fd) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            remove(fd, name, device, removals)
        syncfs(fd)
    except OSError as error:
        if error.errno in DRIVE_LOST:
            raise CopyDriveLost(
                f"emptying {folder}: {error.strerror}: the drive is gone or failing", CopyReport()
            ) from None
        raise BadInput(f"{folder}: {error.strerror}") from None
    finally:
        if fd >= 0:
            os.close(fd)
    return removals
