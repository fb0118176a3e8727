"""A cgroup for each run, where cgroups are writable: all its processes can be killed at once."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def cgroup2_mount(mountinfo: Path = Path("/proc/self/mountinfo")) -> Path | None:
    """Where cgroup v2 is mounted, None when it is not."""
    try:
        lines = mountinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        head, _, tail = line.partition(" - ")
        if tail.startswith("cgroup2 "):
            return Path(head.split()[4])
    return None


def create(uuid: str) -> Path | None:
    """Create the run's cgroup; None when cgroups cannot be written."""
    base = cgroup2_mount()
    if base is None:
        return None
    path = base / "benchstick" / uuid
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path / "cgroup.procs", os.W_OK):
            return None
    except OSError:
        return None
    return path


def find(uuid: str) -> Path | None:
    """The cgroup of the run, None when there is none."""
    base = cgroup2_mount()
    path = None if base is None else base / "benchstick" / uuid
    return path if path is not None and path.is_dir() else None


def members(path: Path) -> list[int]:
    """The pids in it."""
    try:
        return [int(pid) for pid in (path / "cgroup.procs").read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []


def end(path: Path, wait: float = 5.0) -> bool:
    """Kill all its processes and remove it. True when it is gone."""
    deadline = time.monotonic() + wait
    while path.exists():
        for pid in members(path):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            path.rmdir()
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
