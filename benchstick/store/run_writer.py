"""Writes a run to the store. Each method is one transaction."""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from benchstick.errors import StoreFailed
from benchstick.plan import corrupt
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.plain import storable
from benchstick.plan.result import Result
from benchstick.plan.states import RunState, StepState, Validity
from benchstick.store.database import transaction, utc_now
from benchstick.store.run_reader import find_run, findings_of, results_of
from benchstick.store.run_results import Sample

_P = ParamSpec("_P")


_T = TypeVar("_T")


# Another store and why it is needed, or None when there is no reason to leave the one in use.
Elsewhere = Callable[[], "tuple[sqlite3.Connection, str] | None"]


def _remember(
    method: Callable[Concatenate[RunRecord, _P], _T],
) -> Callable[Concatenate[RunRecord, _P], _T]:
    """Remember the call, so that it can be repeated in another store."""

    @functools.wraps(method)
    def call(self: RunRecord, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._lock:
            try:
                answer = method(self, *args, **kwargs)
            except StoreFailed:
                if not self.move():
                    raise
                answer = method(self, *args, **kwargs)
            if self._elsewhere is not None:
                self._memory.append(functools.partial(method, self, *args, **kwargs))
            return answer

    return call


class RunRecord:
    """The writing side of one run. Every method is one transaction: killing the process loses at
    most the call in flight. StoreFailed when the store cannot take it."""

    def __init__(self, db: sqlite3.Connection, number: int) -> None:
        self.db = db
        self.number = number
        # The sampler's thread commits samples of long steps while the runner waits for a tool.
        self._lock = threading.RLock()
        self._elsewhere: Elsewhere | None = None
        self._run_values: Mapping[str, Any] = {}
        self._memory: list[Callable[[], Any]] = []
        # The results of a run that this object created; None: they are in the store only.
        self._results: list[Result] | None = None

    def follow(self, elsewhere: Elsewhere) -> None:
        """Be ready to continue in another store, with everything written so far.

        `elsewhere` is called when the store fails, and by `move`. Call it right after `create`:
        earlier writes are not remembered.
        """
        self._elsewhere = elsewhere

    def move(self) -> bool:
        """Continue in another store if there is one and a reason to. True when that was done.

        The run keeps its number where that is free. Once only.
        """
        with self._lock:
            new_store = None if self._elsewhere is None else self._elsewhere()
            if new_store is None:
                return False
            self.db, reason = new_store
            memory, self._memory, self._elsewhere = self._memory, [], None
            self.number = _add_run(self.db, self._run_values, self.number)
            self._results = []
            for repeat in memory:
                repeat()
            self.event(None, "store", reason)
            return True

    def read(self, look: Callable[[sqlite3.Connection], _T]) -> _T:
        """What `look` finds in the store. StoreFailed when the store cannot be read."""
        with self._lock:
            try:
                return look(self.db)
            except sqlite3.Error as error:
                if not self.move():
                    raise StoreFailed(f"the store failed: {error}") from error
                return look(self.db)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, transaction(self.db):
            yield

    @staticmethod
    def create(
        db: sqlite3.Connection,
        *,
        uuid: str,
        suite: str,
        practice: bool,
        drive: Mapping[str, Any],
        plan: Mapping[str, Any],
        pid: int,
        device: str,
        request: int | None = None,
    ) -> RunRecord:
        """Add a run in state `running` and what recovery must know of it."""
        identity = drive["identity"]
        run_values = {
            "uuid": uuid, "suite": suite, "practice": int(practice), "key": identity["drive_key"],
            "code": drive["code"], "model": identity["model"], "drive": json.dumps(drive),
            "plan": json.dumps(plan), "request": request, "created": utc_now(), "pid": pid,
            "device": device,
        }  # fmt: skip
        record = RunRecord(db, _add_run(db, run_values))
        record._run_values = run_values
        record._results = []
        return record

    @_remember
    def conditions(self, conditions: Mapping[str, Any]) -> None:
        """Store the conditions that apply to every result of the run."""
        with self._transaction():
            self.db.execute(
                "UPDATE runs SET conditions_json = ? WHERE number = ?",
                (json.dumps(conditions), self.number),
            )

    @_remember
    def step_begins(self, step_index: int, name: str, kind: str, t: float, artifacts: str) -> None:
        """Add step `step_index` in state `running`."""
        with self._transaction():
            self.db.execute(
                "INSERT INTO steps (run, step_index, name, kind, state, t_start, artifacts)"
                " VALUES (?, ?, ?, ?, 'running', ?, ?)",
                (self.number, step_index, name, kind, t, artifacts),
            )

    @_remember
    def steps_skipped(self, steps: Sequence[tuple[int, str, str]], t: float, reason: str) -> None:
        """Add steps (index, name, kind) that are not started at all, for the reason `reason`."""
        with self._transaction():
            self.db.executemany(
                "INSERT INTO steps (run, step_index, name, kind, state, reason, t_start, t_end)"
                " VALUES (?, ?, ?, ?, 'skipped', ?, ?, ?)",
                [
                    (self.number, step_index, name, kind, storable(reason), t, t)
                    for step_index, name, kind in steps
                ],
            )

    @_remember
    def step_ends(
        self,
        step_index: int,
        state: StepState,
        t: float,
        *,
        reason: str | None = None,
        detail: Mapping[str, Any] | None = None,
        results: Sequence[Result] = (),
        samples: Sequence[Sample] = (),
    ) -> None:
        """Close step `step_index` with its results and samples, all in one transaction."""
        with self._transaction():
            self.db.execute(
                "UPDATE steps SET state = ?, reason = ?, t_end = ?, detail_json = ?"
                " WHERE run = ? AND step_index = ?",
                (state, storable(reason), t, json.dumps(detail or {}), self.number, step_index),
            )
            self._insert_results(results)
            self._samples(samples)
        self._remember_results(results)

    @_remember
    def results(self, results: Sequence[Result]) -> None:
        """Add results that belong to no single step."""
        with self._transaction():
            self._insert_results(results)
        self._remember_results(results)

    def _remember_results(self, results: Sequence[Result]) -> None:
        # After the transaction: a call that fails is repeated.
        if self._results is not None:
            self._results += [replace(item, reason=storable(item.reason)) for item in results]

    def samples(self, samples: Sequence[Sample]) -> None:
        """Add samples in the middle of a long step; its end gives all of them again."""
        with self._transaction():
            self._samples(samples)

    @_remember
    def invalidate_pass(self, test: str, pass_no: int, reason: str) -> None:
        """Mark all results of `test` in pass `pass_no` as invalid."""
        with self._transaction():
            self._invalidate(test, pass_no, reason)
        self._invalidate_remembered(test, pass_no, reason)

    @_remember
    def data_differs(self, t: float, finding: Mapping[str, Any], tests: Sequence[str] = ()) -> None:
        """Keep that read-back data differs (`plan.corrupt`): with the run's findings, as an event,
        and as the reason that makes the results of `tests` in that pass invalid. All or nothing."""
        text = str(finding["text"])
        with self._transaction():
            findings = [*findings_of(find_run(self.db, self.number)), finding]
            self.db.execute(
                "UPDATE runs SET corrupt_json = ? WHERE number = ?",
                (json.dumps(findings), self.number),
            )
            for test in tests:
                self._invalidate(test, finding["pass"], text)
            self.db.execute(
                "INSERT INTO events (run, t, utc, kind, text) VALUES (?, ?, ?, ?, ?)",
                (self.number, t, utc_now(), corrupt.EVENT, storable(text)),
            )
        for test in tests:
            self._invalidate_remembered(test, finding["pass"], text)

    def _invalidate(self, test: str, pass_no: int, reason: str) -> None:
        self.db.execute(
            "UPDATE results SET state = 'invalid', reason = ? WHERE run = ? AND pass = ? AND"
            " test = ?",
            (storable(reason), self.number, pass_no, test),
        )

    def _invalidate_remembered(self, test: str, pass_no: int, reason: str) -> None:
        if self._results is not None:
            self._results = [
                replace(item, state=Validity.INVALID, reason=storable(reason))
                if (item.test, item.pass_no) == (test, pass_no)
                else item
                for item in self._results
            ]

    def _insert_results(self, results: Sequence[Result]) -> None:
        self.db.executemany(
            "INSERT INTO results (run, step, name, value, unit, pass, target, state, reason,"
            " detail_json, test, direction, metric, statistic, percentile, part)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    self.number, item.step, item.name, item.value, item.unit, item.pass_no,
                    item.target, item.state, storable(item.reason), json.dumps(item.detail),
                    item.test, item.direction, *item.quantity.to_json().values(),
                )
                for item in results
            ],
        )  # fmt: skip

    def _samples(self, samples: Sequence[Sample]) -> None:
        self.db.executemany(
            "INSERT OR IGNORE INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    self.number, s.n, s.t, s.dt, s.step_index, s.read_bytes, s.write_bytes,
                    s.discard_bytes, s.reads, s.writes, s.discards, s.flushes, s.inflight, s.queue,
                )
                for s in samples
            ],
        )  # fmt: skip

    @_remember
    def temperature(
        self, t: float, step: int, celsius: float | None, source: str | None, reason: str | None
    ) -> None:
        """Keep one reading, or why there was none."""
        with self._transaction():
            self.db.execute(
                "INSERT INTO temperatures (run, t, step_index, celsius, source, reason)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (self.number, t, step, celsius, source, reason),
            )

    @_remember
    def event(self, t: float | None, kind: str, text: str) -> None:
        """Keep something that happened: `link`, `drive-lost`, `contradiction`, ..."""
        with self._transaction():
            self.db.execute(
                "INSERT INTO events (run, t, utc, kind, text) VALUES (?, ?, ?, ?, ?)",
                (self.number, t, utc_now(), kind, storable(text)),
            )

    @_remember
    def setting_changed(self, path: str, old: str, new: str) -> None:
        """Note a host setting's old value, before it is changed; once a run for each `path`."""
        with self._transaction():
            self.db.execute(
                "INSERT INTO host_settings (run, path, old, new) VALUES (?, ?, ?, ?)",
                (self.number, path, old, new),
            )

    @_remember
    def setting_restored(self, path: str) -> None:
        """Note that the setting is as it was."""
        with self._transaction():
            self.db.execute(
                "UPDATE host_settings SET restored = 1 WHERE run = ? AND path = ?",
                (self.number, path),
            )

    def settings_to_restore(self) -> list[sqlite3.Row]:
        """Settings not yet put back, the last changed first."""
        return self.read(
            lambda db: db.execute(
                "SELECT * FROM host_settings WHERE run = ? AND restored = 0 ORDER BY id DESC",
                (self.number,),
            ).fetchall()
        )

    @_remember
    def purge_begins(
        self,
        step: int,
        drive_key: DriveKey,
        rung: str,
        *,
        marks: str,
        samples: int,
        size: int,
        phase: str = "begun",
        password: str | None = None,
        bytes_written: int = 0,
    ) -> None:
        """Note a purge before its first command. `marks` is the UUID of the run that wrote the
        marks, `samples` how many there are, `size` their bytes; the rest as in `purge_goes_on`."""
        with self._transaction():
            self.db.execute(
                "INSERT INTO purges (run, step_index, drive_key, rung, state, phase, password,"
                " written,"
                " marks, samples, mark_size, started_utc, changed_utc)"
                " VALUES (?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self.number, step, drive_key, rung, phase, password, bytes_written, marks,
                    samples, size, utc_now(), utc_now(),
                ),
            )  # fmt: skip

    @_remember
    def purge_goes_on(
        self, step: int, phase: str, *, password: str | None = None, bytes_written: int = 0
    ) -> None:
        """Store the purge's `phase` (`begun`, `password`, `erasing`) before its commands go to the
        drive, and how many bytes from the start are overwritten."""
        with self._transaction():
            self.db.execute(
                "UPDATE purges SET phase = ?, password = coalesce(?, password), written = ?,"
                " changed_utc = ? WHERE run = ? AND step_index = ?",
                (phase, password, bytes_written, utc_now(), self.number, step),
            )

    @_remember
    def purge_password_off(self, step: int, phase: str) -> None:
        """Note that the drive has no password of this purge any more."""
        with self._transaction():
            self.db.execute(
                "UPDATE purges SET password = NULL, phase = ?, changed_utc = ?"
                " WHERE run = ? AND step_index = ?",
                (phase, utc_now(), self.number, step),
            )

    @_remember
    def purge_ends(self, step: int, state: str, reason: str | None = None) -> None:
        """Note how a purge ended: `done`, `interrupted` (to be gone on with or taken back), or
        `closed` when the drive is as it was."""
        with self._transaction():
            self.db.execute(
                "UPDATE purges SET state = ?, reason = ?, changed_utc = ? WHERE run = ? AND"
                " step_index = ?",
                (state, storable(reason), utc_now(), self.number, step),
            )

    @_remember
    def close_purges(self, drive_key: DriveKey, reason: str, *, with_password: bool) -> None:
        """Close what other runs left unfinished on the drive; those that may have left a password
        on it only `with_password`."""
        with self._transaction():
            self.db.execute(
                "UPDATE purges SET state = 'closed', reason = ?, changed_utc = ?"
                " WHERE drive_key = ? AND run <> ? AND state IN ('running', 'interrupted')"
                " AND (password IS NULL OR ?)",
                (storable(reason), utc_now(), drive_key, self.number, int(with_password)),
            )

    def all_results(self) -> list[Result]:
        """The run's results so far, in the order measured."""
        with self._lock:
            if self._results is not None:
                return list(self._results)
        return self.read(lambda db: results_of(db, self.number))

    @_remember
    def finish(
        self,
        state: RunState,
        exit_code: int,
        *,
        seconds: float | None,
        reason: str | None = None,
        result: Mapping[str, Any] | None = None,
        open_steps: StepState = StepState.INTERRUPTED,
    ) -> tuple[RunState, int, str | None]:
        """Close the run; steps still running become `open_steps`. (state, exit code, why) as they
        are kept: a run whose data is corrupt is `corrupt`, however it ended."""
        with self._transaction():
            findings = findings_of(find_run(self.db, self.number))
            state, exit_code, reason = corrupt.end_of(state, exit_code, reason, findings)
            self.db.execute(
                "UPDATE steps SET state = ?, reason = coalesce(reason, ?)"
                " WHERE run = ? AND state = 'running'",
                (open_steps, storable(reason), self.number),
            )
            self.db.execute(
                "UPDATE runs SET state = ?, exit_code = ?, reason = ?, seconds = ?, ended_utc = ?,"
                " result_json = coalesce(?, result_json) WHERE number = ?",
                (
                    state, exit_code, storable(reason), seconds, utc_now(),
                    None if result is None else json.dumps(result), self.number,
                ),
            )  # fmt: skip
            self.db.execute("DELETE FROM running WHERE run = ?", (self.number,))
        return state, exit_code, reason


def _add_run(db: sqlite3.Connection, run_values: Mapping[str, Any], wish: int | None = None) -> int:
    """Add the run; its number, which is `wish` where no other run has that."""
    with transaction(db):
        other_run = db.execute("SELECT 1 FROM runs WHERE number = ?", (wish,)).fetchone()
        cursor = db.execute(
            "INSERT INTO runs (number, uuid, suite, practice, drive_key, drive_code, drive_model,"
            " drive_json, plan_json, state, request, created_utc) VALUES (:number, :uuid, :suite,"
            " :practice, :key, :code, :model, :drive, :plan, 'running', :request, :created)",
            {**run_values, "number": None if other_run else wish},
        )
        number = int(cursor.lastrowid or 0)
        db.execute(
            "INSERT INTO running (run, pid, device) VALUES (?, ?, ?)",
            (number, run_values["pid"], run_values["device"]),
        )
    return number
