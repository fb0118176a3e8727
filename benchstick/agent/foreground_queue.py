"""A queue that a command carries out itself, told to the store, so that the page shows it.

The agent leaves it alone: the request is in the store with its answer from the beginning. It lives
as long as its command, whose lock says so. What the page is told is worth no run: where the store
fails here, the runs go on.
"""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchstick.engine.run_request import Ready
from benchstick.errors import EXIT_CANCELLED, BenchError, StoreFailed
from benchstick.paths import make_run_folder
from benchstick.plan.run_queue import goes_on
from benchstick.store import database, locks, queues


class Foreground:
    """The queue of these runs. To be closed by `end`."""

    def __init__(self, home: Path, readies: Sequence[Ready]) -> None:
        self._db: sqlite3.Connection | None = None
        owner = f"queue-{uuid.uuid4()}"
        make_run_folder()
        self._lock = locks.RunLock(owner)
        drive = readies[0].drive
        body = {
            "drive": drive.code,
            "identity_key": drive.identity.key(),
            "diskseq": drive.diskseq,
            "runs": [
                {
                    "suite": ready.plan.suite,
                    "params": {name: str(value) for name, value in ready.request.params.items()},
                    "target": ready.plan.target,
                    "fs": ready.plan.fs,
                    "scale": ready.request.scale,
                }
                for ready in readies
            ],
        }
        with self._told():
            self._db = database.open_writer(home)
            self.number = queues.begin_own(self._db, body, owner)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        with contextlib.suppress(StoreFailed, sqlite3.Error, OSError):
            yield

    def starts(self, place: int) -> bool:
        """The run at `place` is to begin; False when it was taken out meanwhile."""
        db = self._db
        if db is None:
            return True
        with self._told():
            if place not in queues.waits(db, self.number):
                return False
            queues.entry_starts(db, self.number, place)
        return True

    def begun(self, place: int, run: int) -> None:
        """Its run has begun."""
        if self._db is not None:
            with self._told():
                queues.entry_runs(self._db, self.number, place, run)

    def refused(self, place: int, error: BenchError) -> None:
        """No run of it will begin."""
        if self._db is not None:
            with self._told():
                queues.entry_refused(self._db, self.number, place, error.message)

    def end(self, codes: Sequence[int], why: str | None) -> None:
        """The command has ended with these exit codes of its runs."""
        db = self._db
        if db is not None:
            with self._told():
                cancelled = codes[-1:] == [EXIT_CANCELLED]
                is_complete = bool(codes) and all(goes_on(code) for code in codes)
                state = "done" if is_complete else "cancelled" if cancelled else "stopped"
                queues.end(db, self.number, state, None if is_complete else why)
            db.close()
        self._lock.release()
