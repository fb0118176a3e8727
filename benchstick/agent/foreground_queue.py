"""Records a queue that a command runs itself in the store, so that the page shows it.

The agent ignores it: its request has an answer in the store from the start. It exists as long as
its command, which holds a lock for it. These records are not worth a run: when the store fails here
the runs continue.
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
from benchstick.plan.states import QueueState
from benchstick.store import database, locks, queues


class Foreground:
    """The queue of these runs. Call `end` to close it."""

    def __init__(self, home: Path, readies: Sequence[Ready]) -> None:
        self._db: sqlite3.Connection | None = None
        owner = f"queue-{uuid.uuid4()}"
        make_run_folder()
        self._lock = locks.RunLock(owner)
        drive = readies[0].drive
        body = {
            "drive": drive.code,
            "drive_key": drive.identity.key(),
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
        with self._ignore_store_errors():
            self._db = database.open_writer(home)
            self.number = queues.begin_own(self._db, body, owner)

    @contextlib.contextmanager
    def _ignore_store_errors(self) -> Iterator[None]:
        with contextlib.suppress(StoreFailed, sqlite3.Error, OSError):
            yield

    def starts(self, place: int) -> bool:
        """Record that the run at `place` is about to start. False when it was removed."""
        db = self._db
        if db is None:
            return True
        with self._ignore_store_errors():
            if place not in queues.waits(db, self.number):
                return False
            queues.entry_starts(db, self.number, place)
        return True

    def record_run(self, place: int, run: int) -> None:
        """Record the number of the run that started at `place`."""
        if self._db is not None:
            with self._ignore_store_errors():
                queues.entry_runs(self._db, self.number, place, run)

    def refused(self, place: int, error: BenchError) -> None:
        """Record that the run at `place` does not start."""
        if self._db is not None:
            with self._ignore_store_errors():
                queues.entry_refused(self._db, self.number, place, error.message)

    def end(self, codes: Sequence[int], reason: str | None) -> None:
        """Record the end of the command. `codes` are the exit codes of its runs."""
        db = self._db
        if db is not None:
            with self._ignore_store_errors():
                is_cancelled = codes[-1:] == [EXIT_CANCELLED]
                is_complete = bool(codes) and all(goes_on(code) for code in codes)
                state = QueueState.CANCELLED if is_cancelled else QueueState.STOPPED
                state = QueueState.COMPLETE if is_complete else state
                queues.end(db, self.number, state, None if is_complete else reason)
            db.close()
        self._lock.release()
