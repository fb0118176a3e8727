"""Monitors a test of a drive: the recipe's stop rules, its time limit, and cancellation."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchstick.errors import StoreFailed
from benchstick.recipes import codes, early_stop
from benchstick.recipes.codes import Reason
from benchstick.recipes.model import RATE, Recipe
from benchstick.store import database, live_progress, run_reader
from benchstick.store.run_results import Sample

EVERY = 0.5
# The interval between reads of the store: temperatures are read between steps only.
STORE_EVERY = 5.0


class Watch:
    """A thread that monitors the runs of one test. They poll `stop`, which is set when a user
    cancels, when the process that started this one (`parent`) has died, or when a rule is met;
    `reason` is then the rule's."""

    def __init__(
        self, recipe: Recipe, home: Path, cancel_event: threading.Event, parent: int
    ) -> None:
        self.stop = threading.Event()
        self.reason: Reason | None = None
        self._recipe = recipe
        self._home = home
        self._cancel_event = cancel_event
        self._parent = parent
        self._start_time = time.monotonic()
        self._wait_seconds = 0.0
        self._waiting_since: float | None = None
        self._run: tuple[str, Sequence[Mapping[str, Any]], int] | None = None
        self._samples: deque[Sample] = deque()
        self._stored_values: tuple[float, list[float], list[tuple[str, str]]] = (
            -STORE_EVERY,
            [],
            [],
        )
        self._over = threading.Event()
        # Far more than the interval between samples, whatever the rules say.
        rates = [rule.seconds for rule in recipe.stops if rule.kind == RATE]
        self._keep = max(rates, default=0.0) + 10
        self._thread = threading.Thread(target=self._watch, name="recipe-watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """How long the test has taken, without the time that it waited for its turn."""
        since = self._waiting_since
        now = time.monotonic()
        return (
            now
            - self._start_time
            - self._wait_seconds
            - (now - since if since is not None else 0.0)
        )

    @contextlib.contextmanager
    def waiting(self) -> Any:
        """Count the time in this context as waiting for other tests."""
        self._waiting_since = time.monotonic()
        try:
            yield
        finally:
            self._wait_seconds += time.monotonic() - self._waiting_since
            self._waiting_since = None

    def start_run(self, number: int, uuid: str, steps: Sequence[Mapping[str, Any]]) -> None:
        """A run of the test has started."""
        self._samples.clear()
        self._stored_values = (-STORE_EVERY, [], [])
        self._run = (uuid, steps, number)

    def end_run(self) -> None:
        """The run has ended."""
        self._run = None

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            if self._cancel_event.is_set() or os.getppid() != self._parent:
                self.stop.set()
                return
            self.reason = self._due()
            if self.reason is not None:
                self.stop.set()
                return

    def _due(self) -> Reason | None:
        limit = self._recipe.time_limit
        if limit is not None and self.seconds > limit:
            return Reason(
                codes.TIME_LIMIT,
                f"the test was ended after {self.seconds:.0f} s, required <= {limit:.0f} s",
            )
        run = self._run
        if run is None or not self._recipe.stops:
            return None
        uuid, steps, number = run
        if any(rule.kind == RATE for rule in self._recipe.stops):
            self._take_samples(uuid)
        if time.monotonic() - self._stored_values[0] >= STORE_EVERY:
            self._stored_values = (time.monotonic(), *self._read_store(number))
        record = early_stop.Record(
            steps=steps, samples=tuple(self._samples), temperatures=self._stored_values[1],
            events=self._stored_values[2],
        )  # fmt: skip
        return early_stop.due(self._recipe.stops, record)

    def _take_samples(self, uuid: str) -> None:
        """Add the new samples of the live record, which has the last ones only."""
        live_samples = (live_progress.read(uuid) or {}).get("samples") or ()
        last = self._samples[-1].n if self._samples else -1
        self._samples.extend(Sample(**item) for item in live_samples if item["n"] > last)
        while self._samples and self._samples[0].t < self._samples[-1].t - self._keep:
            self._samples.popleft()

    def _read_store(self, number: int) -> tuple[list[float], list[tuple[str, str]]]:
        """Temperatures and events of the run so far, from the store."""
        with (
            contextlib.suppress(StoreFailed, sqlite3.Error),
            contextlib.closing(database.open_reader(self._home)) as db,
        ):
            readings = [item["celsius"] for item in run_reader.temperatures_of(db, number)]
            rows = db.execute("SELECT kind, text FROM events WHERE run = ?", (number,)).fetchall()
            return ([value for value in readings if value is not None],
                    [(row["kind"], row["text"]) for row in rows])  # fmt: skip
        return [], []
