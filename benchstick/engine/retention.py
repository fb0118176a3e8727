"""Keeps the runs' raw output (artefacts) within a bound; the oldest goes first.

Figures, samples, temperatures and events are in the store and stay. What goes is what tools said:
their commands, outputs and own records.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchstick.errors import StoreFailed
from benchstick.store import locks
from benchstick.store.records import RunRecord

# Below this much free space nothing new is begun (artefacts.check_room).
FLOOR = 256 << 20
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Kept:
    """The artefacts of one run: `number` is None when the store does not know the run."""

    uuid: str
    number: int | None
    size: int
    changed: float


def prune(db: sqlite3.Connection, home: Path, limit: int, *, floor: int = FLOOR) -> list[str]:
    """Remove the oldest runs' artefacts until all are within `limit` bytes and `floor` is free.

    A run that is going on keeps its own. Each run that loses its artefacts gets an event that
    tells it. Returns the UUIDs. StoreFailed when the folder is not ours.
    """
    with contextlib.suppress(FileNotFoundError), _opened(home / "runs") as runs:
        folders = sorted(_list_folders(db, runs), key=lambda item: (item.number or 0, item.changed))
        total = sum(item.size for item in folders)
        removed = []
        for item in folders:
            if total <= limit and _free(runs) >= floor:
                break
            if locks.is_alive(item.uuid):
                continue
            shutil.rmtree(item.uuid, dir_fd=runs, ignore_errors=True)
            total -= item.size
            removed.append(item.uuid)
            if item.number is not None:
                RunRecord(db, item.number).event(
                    None,
                    "artefacts",
                    f"the tools' raw output was removed to make room ({item.size >> 20} MiB; "
                    f"setting output_mib: {limit >> 20}); the figures stay",
                )
        return removed
    return []


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor of a folder of our own. The page's user could lay a link in its place."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreFailed(f"{path}: {error.strerror}; move it away") from None
    try:
        if os.fstat(fd).st_uid not in (0, os.geteuid()):
            raise StoreFailed(f"{path}: not a folder of the bench's own user; move it away")
        yield fd
    finally:
        os.close(fd)


def _list_folders(db: sqlite3.Connection, runs: int) -> Iterator[Kept]:
    rows = db.execute("SELECT uuid, number FROM runs")
    numbers = {str(row["uuid"]): int(row["number"]) for row in rows}
    for name in os.listdir(runs):
        if not UUID.fullmatch(name):
            continue
        status = os.stat(name, dir_fd=runs, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            yield Kept(name, numbers.get(name), _size(name, runs), status.st_mtime)


def _size(name: str, runs: int) -> int:
    """What the files of one run take on the disk, in bytes."""
    return sum(
        os.stat(file, dir_fd=fd, follow_symlinks=False).st_blocks * 512
        for _, _, files, fd in os.fwalk(name, dir_fd=runs)
        for file in files
    )


def _free(runs: int) -> int:
    stats = os.fstatvfs(runs)
    return stats.f_bavail * stats.f_frsize
