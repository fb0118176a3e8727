"""Limits the size of the runs' raw output (artefacts); the oldest is removed first.

Results, samples, temperatures and events are in the store and stay. The commands, outputs and
records of tools are removed.
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
from benchstick.store.run_writer import RunRecord

# No new run starts with less free space (step_artifacts.check_room).
FLOOR = 256 << 20
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class RunArtefacts:
    """The artefacts of one run: `number` is None when the store does not know the run."""

    uuid: str
    number: int | None
    size: int
    changed: float


def prune(db: sqlite3.Connection, home: Path, limit: int, *, floor: int = FLOOR) -> list[str]:
    """Remove the artefacts of the oldest runs until `limit` bytes remain and `floor` is free.

    Those of a running run stay. Each run without its artefacts gets an event about it. Returns the
    UUIDs. StoreFailed when the folder is not the bench's.
    """
    with contextlib.suppress(FileNotFoundError), _opened(home / "runs") as runs:
        folders = sorted(_list_folders(db, runs), key=lambda item: (item.number or 0, item.changed))
        total = sum(item.size for item in folders)
        removals = []
        for item in folders:
            if total <= limit and _free(runs) >= floor:
                break
            if locks.is_alive(item.uuid):
                continue
            shutil.rmtree(item.uuid, dir_fd=runs, ignore_errors=True)
            total -= item.size
            removals.append(item.uuid)
            if item.number is not None:
                RunRecord(db, item.number).event(
                    None,
                    "artifacts",
                    f"the tools' raw output was removed to free space ({item.size >> 20} MiB; "
                    f"setting output_mib: {limit >> 20}); the results stay",
                )
        return removals
    return []


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor of a folder of the bench. The page's user could replace it with a link."""
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


def _list_folders(db: sqlite3.Connection, runs: int) -> Iterator[RunArtefacts]:
    rows = db.execute("SELECT uuid, number FROM runs")
    numbers = {str(row["uuid"]): int(row["number"]) for row in rows}
    for name in os.listdir(runs):
        if not UUID.fullmatch(name):
            continue
        status = os.stat(name, dir_fd=runs, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            yield RunArtefacts(name, numbers.get(name), _size(name, runs), status.st_mtime)


def _size(name: str, runs: int) -> int:
    """The disk space of a run's files, in bytes."""
    return sum(
        os.stat(file, dir_fd=fd, follow_symlinks=False).st_blocks * 512
        for _, _, files, fd in os.fwalk(name, dir_fd=runs)
        for file in files
    )


def _free(runs: int) -> int:
    stats = os.fstatvfs(runs)
    return stats.f_bavail * stats.f_frsize
