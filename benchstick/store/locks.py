"""Locks that end with their process: they show which run is still running without disturbing it.

POSIX record locks: `F_GETLK` reports the holder's pid to a process that could not (and must not)
take the lock itself. The page queries it; only the runner and recovery ever hold a lock.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from benchstick import paths

# struct flock of 64-bit Linux: type, whence, start, length, pid.
_FLOCK = "hhqqi"

# Closing any descriptor of a file drops the process's record locks on it, so a process never
# opens the lock files that it holds itself.
_own_locks: set[str] = set()


class RunLock:
    """The lock on one run, held by its runner from start to end. OSError when it is locked."""

    def __init__(self, uuid: str) -> None:
        self.path = lock_path(uuid)
        self._uuid = uuid
        self._fd = self._take()
        _own_locks.add(uuid)

    def _take(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            fd = os.open(self.path, flags, 0o640)
            try:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(fd), self.path.lstat()):
                    return fd
            except FileNotFoundError:
                # The previous holder deleted the file after it was opened here.
                pass
            except OSError:
                os.close(fd)
                raise
            os.close(fd)

    def release(self) -> None:
        """Delete the lock file and release the lock."""
        self.path.unlink(missing_ok=True)
        os.close(self._fd)
        _own_locks.discard(self._uuid)


def lock_path(uuid: str) -> Path:
    return paths.run_folder() / "runs" / f"{uuid}.lock"


def holder(uuid: str) -> int | None:
    """The pid of the runner that holds the lock of run `uuid`; None when it is free."""
    if uuid in _own_locks:
        return os.getpid()
    try:
        fd = os.open(lock_path(uuid), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        query = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
        answer = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_GETLK, query))
    finally:
        os.close(fd)
    return None if answer[0] == fcntl.F_UNLCK else int(answer[4])


def is_alive(uuid: str) -> bool:
    """Whether a runner holds the lock of run `uuid`.

    Where the locks cannot be looked at, True: then the store's word stands.
    """
    folder = lock_path(uuid).parent
    if not os.access(folder, os.R_OK | os.X_OK):
        return True
    return holder(uuid) is not None
