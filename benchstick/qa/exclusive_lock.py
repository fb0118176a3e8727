"""Who may test now: suites that must be alone wait for the others, and others for them; of the
drives on one controller only so many are tested at once.

Locks of files, so that the tests of all processes of a bench see each other, and a process that
dies gives its turn back.
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
    """Wait for one's turn, which lasts as long as the context; how many seconds that took.

    `controller` names what the drive hangs on, `most` how many drives of it are tested at once.
    `wait` is called again and again meanwhile, and raises what is to end the waiting.
    """
    folder = paths.make_run_folder()
    started_at = time.monotonic()
    with contextlib.ExitStack() as stack:
        # Who waits to be alone holds the gate, so that no other one slips in before it.
        with _taken([folder / "qa.gate"], fcntl.LOCK_EX, wait):
            kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
            stack.enter_context(_taken([folder / "qa.turn"], kind, wait))
        name = re.sub(r"[^0-9a-zA-Z.]", "-", controller)[:80]
        slots = [folder / f"qa.{name}.{at}" for at in range(most)]
        stack.enter_context(_taken(slots, fcntl.LOCK_EX, wait))
        yield time.monotonic() - started_at


@contextlib.contextmanager
def _taken(paths: list[Path], kind: int, wait: Callable[[], None]) -> Iterator[None]:
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
