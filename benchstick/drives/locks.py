"""The lock that a run holds on its drive, as a file under `/run/benchstick/drives/`.

Open-file-description locks (fcntl): testing for one (`F_OFD_GETLK`) does not take it, so a scan
can test at any time without disturbing a runner. The kernel releases them however the runner ends.
The file's text has the identity, guard state and facts of the drive at the start of the run, for
other processes, which must not query the drive.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick import paths
from benchstick.drives.types import Identity

# struct flock: type, whence, start, length, pid.
_FLOCK = "hhqqi4x"


def lock_path(identity: Identity) -> Path:
    """One file for each drive in its place; names made safe and unique by a digest."""
    text = json.dumps(identity.to_json(), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", identity.serial or f"port-{identity.port}")[:64]
    return paths.locks() / f"{safe}-{digest}.lock"


def take(path: Path) -> int | None:
    """Take the lock. A file descriptor to keep open, or None when another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o644)
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _request(fcntl.F_WRLCK))
    except (BlockingIOError, PermissionError):
        os.close(fd)
        return None
    except OSError:
        os.close(fd)
        raise
    return fd


def write(fd: int, content: dict[str, Any]) -> None:
    """Replace the lock file's text."""
    data = json.dumps(content).encode()
    os.ftruncate(fd, 0)
    os.pwrite(fd, data, 0)


def release(fd: int) -> None:
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
    os.close(fd)


def _request(kind: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, 0, 0, 0)


@dataclass(frozen=True)
class Running:
    """A run in progress: the drive's kernel name, its number, and what was known at its start."""

    name: str
    diskseq: int | None
    content: dict[str, Any]


def running() -> list[Running]:
    """All drives on which a run holds its lock now."""
    runs = []
    folder = paths.locks()
    try:
        files = sorted(folder.glob("*.lock"))
    except OSError:
        return []
    for path in files:
        content = _read_holder(path)
        if content is not None:
            seq = content.get("diskseq")
            number = seq if isinstance(seq, int) else None
            runs.append(Running(str(content.get("name", "")), number, content))
    return runs


def _read_holder(path: Path) -> dict[str, Any] | None:
    """The text of a lock file whose lock is held, else None."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK))
        if struct.unpack(_FLOCK, answer)[0] == fcntl.F_UNLCK:
            return None
        content = json.loads(os.pread(fd, 1 << 20, 0) or b"{}")
    except (OSError, ValueError):
        return {}
    finally:
        os.close(fd)
    return content if isinstance(content, dict) else {}


def is_locked(name: str) -> bool:
    """True while a run holds the drive that has the kernel name `name`."""
    return any(run.name == name for run in running())
