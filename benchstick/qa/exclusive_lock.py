"""Turns of tests: suites that must run alone wait for the others, and others for them; the number
of drives that are tested at once on one controller is limited.

These are file locks, so that the tests of all processes of a bench exclude each other, and the
kernel releases the locks of a process that dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchstick import paths

_EVERY = 0.2


@contextlib.contextmanager
def turn(
    *, exclusive: bool, controller: str, most: int, wait: Callable[[], None]
) -> Iterator[float]:
    """Wait for a turn, which lasts as long as the context; yields the seconds waited.

    `controller` is the drive's controller, `most` the number of its drives that are tested at once.
    `wait` is called repeatedly while waiting; its exception ends the wait.
    """
    folder = paths.make_run_folder()
    started_at = time.monotonic()
    with contextlib.ExitStack() as stack:
        # A test that waits to run alone holds the gate, so that no other one starts before it.
        with _hold_one([folder / "qa.gate"], fcntl.LOCK_EX, wait):
            kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
            stack.enter_context(_hold_one([folder / "qa.turn"], kind, wait))
        name = re.sub(r"[^0-9a-zA-Z.]", "-", controller)[:80]
        slots = [folder / f"qa.{name}.{at}" for at in range(most)]
        stack.enter_context(_hold_one(slots, fcntl.LOCK_EX, wait))
        yield time.monotonic() - started_at


@contextlib.contextmanager
def _hold_one(paths: list[Path], kind: int, wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of the first of these files that is free."""
    fds = [os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
           for path in paths]  # fmt: skip
    try:
        while not any(_try(fd, kind) for fd in fds):
            wait()
            time.sleep(_EVERY)
        yield
    finally:
        for fd in fds:
            os.close(fd)


def _try(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
