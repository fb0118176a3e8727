"""Answers the page's messages in its own process: the one place where the page meets the store.

A `LocalBench` serves one request of a browser. It opens the store when it is first asked, with a
connection to read and, where the page writes, a second one that may write
`store.database.WEB_TABLES` alone.
"""

from __future__ import annotations

import functools
import io
import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from benchstick.analysis.run_timeline import Session as SpeedBySecond
from benchstick.drives import bottlenecks
from benchstick.errors import BadInput, StoreFailed
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.states import RunState, SlotState
from benchstick.protocol.bench import Bench
from benchstick.protocol.messages import (
    Document,
    DriveHistory,
    DriveRecord,
    NameTaken,
    NewSession,
    OtherRun,
    RunBundle,
    RunEntry,
    RunningRun,
    Scan,
    Session,
    Status,
    StoredRun,
    Token,
    WaitingRequest,
)
from benchstick.protocol.settings import Settings
from benchstick.qa import autostart_rules, recipe_library
from benchstick.recipes.shelf import Shelved
from benchstick.reports import bundle as bundles
from benchstick.store import (
    agent_requests,
    auth,
    bays,
    comparisons,
    export,
    imported_runs,
    known_drives,
    live_progress,
    qa_station,
    queues,
    recipes,
    reference_results,
    run_queries,
    run_reader,
    spec_sheets,
    verdicts,
)
from benchstick.store.database import open_for_web, open_reader, utc_now
from benchstick.suites.reference_results import Reference
from benchstick.suites.spec_sheets import Sheet

log = logging.getLogger("benchstick.protocol")

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")

_IN_USE = (SlotState.COUNTDOWN, SlotState.TESTING)
_STEP_FIELDS = ("step_index", "name", "kind", "state", "reason", "t_start", "t_end")


def _with_store_errors(method: Callable[P, T]) -> Callable[P, T]:
    """The method with SQLite's errors as StoreFailed."""

    @functools.wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except sqlite3.Error as error:
            log.error("store: %s", error)
            raise StoreFailed(f"the store failed: {error}; see the agent's log") from error

    return wrapped


def _reports_store_errors(cls: type[C]) -> type[C]:
    """The class, no method of which lets an error of SQLite through."""
    for name, item in list(vars(cls).items()):
        if not name.startswith("_") and callable(item):
            setattr(cls, name, _with_store_errors(item))
    return cls


@_reports_store_errors
class LocalBench(Bench):
    """The bench whose data folder is `home`, for one request."""

    def __init__(self, home: Path, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._open: dict[str, sqlite3.Connection] = {}

    def close(self) -> None:
        """Close the connections."""
        while self._open:
            self._open.popitem()[1].close()

    def _connection(
        self, name: str, opener: Callable[[Path], sqlite3.Connection]
    ) -> sqlite3.Connection:
        if name not in self._open:
            self._open[name] = opener(self._home)
        return self._open[name]

    @property
    def _reader(self) -> sqlite3.Connection:
        return self._connection("reader", open_reader)

    @property
    def _writer(self) -> sqlite3.Connection:
        return self._connection("writer", open_for_web)

    # ---- the bench

    def status(self) -> Status:
        scan = known_drives.drive_scans(self._reader)
        return Status(
            bench=self.bench_id(),
            running=[run.number for run in self.running()],
            scanned_utc=None if scan is None else scan[0],
            agent=self.agent_runs(),
        )

    def bench_id(self) -> str:
        return run_queries.bench_id(self._reader)

    def agent_runs(self) -> bool:
        return run_queries.agent_runs()

    def time_utc(self) -> str:
        return utc_now()

    # ---- runs

    def running(self) -> Sequence[RunningRun]:
        return [
            RunningRun(row["number"], row["suite"], row["drive_key"], row["drive_model"])
            for row in run_queries.running(self._reader)
        ]

    def runs(
        self,
        *,
        practice: bool | None = None,
        drive: str | None = None,
        suite: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[RunEntry]:
        keys = None if drive is None else run_queries.keys_of(self._reader, drive)
        rows = run_queries.runs_before(
            self._reader, practice=practice, drive_keys=keys, suite=suite, before=before,
            limit=limit,
        )  # fmt: skip
        return self._entries(rows)

    def _entries(self, rows: Sequence[sqlite3.Row]) -> list[RunEntry]:
        """Rows of `run_queries.runs_before` as entries of a list."""
        from_others = imported_runs.imported(self._reader, [row["number"] for row in rows])
        labels = known_drives.labels(self._reader)
        return [
            RunEntry(
                number=row["number"],
                uuid=row["uuid"],
                suite=row["suite"],
                practice=bool(row["practice"]),
                drive_key=row["drive_key"],
                drive_code=row["drive_code"],
                drive_model=row["drive_model"],
                state=run_reader.shown_state(self._reader, row),
                exit_code=row["exit_code"],
                reason=row["reason"],
                created_utc=row["created_utc"],
                ended_utc=row["ended_utc"],
                seconds=row["seconds"],
                headline=list(run_queries.headline(row)),
                label=labels.get(row["drive_key"]),
                imported=row["number"] in from_others,
            )
            for row in rows
        ]

    def newest_suite(self, *, practice: bool) -> str | None:
        rows = run_queries.runs_before(self._reader, practice=practice, limit=1)
        return str(rows[0]["suite"]) if rows else None

    def _row(self, number: int) -> sqlite3.Row | None:
        return run_reader.state_row(self._reader, number)

    def run_state(self, number: int) -> RunState | None:
        row = self._row(number)
        return None if row is None else run_reader.shown_state(self._reader, row)

    def run(self, number: int) -> StoredRun | None:
        if self._row(number) is None:
            return None
        results = run_reader.results_of(self._reader, number)
        document = run_reader.run_json(self._reader, number, results)
        bottlenecks.put_into(document["drive"])
        return StoredRun(document, results)

    def live(self, number: int) -> Document | None:
        row = self._row(number)
        return None if row is None else live_progress.read(row["uuid"])

    def samples(
        self, number: int, *, after: int, every: int, most: int, first_step: int
    ) -> Document | None:
        db, row = self._reader, self._row(number)
        if row is None:
            return None
        # The live record first: what leaves it in between is in the store by then.
        now = live_progress.read(row["uuid"]) if row["state"] == RunState.RUNNING else None
        if every == 1:
            batch = run_queries.samples_page(db, number, after, most)
            last = batch[-1].n if batch else after
        else:
            batch, last = run_queries.samples_reduced(db, number, after, every, most)
        samples = [sample.to_json() for sample in batch]
        more = last + 1 < run_queries.samples_count(db, number)
        if now is not None and not more:
            samples += [item for item in _live_samples(now) if item["n"] > last]
            last = max(last, samples[-1]["n"]) if samples else last
        # The state is read last: if the run ended during this call, the page asks once more for
        # the last samples.
        steps = [
            {key: step[key] for key in _STEP_FIELDS}
            for step in run_queries.steps_of(db, number, first_step)
        ]
        return {
            "schema": "benchstick/samples/2",
            "run": number,
            "state": run_reader.shown_state(db, row),
            "after": after,
            "every": every,
            "next": last,
            "more": more,
            "samples": samples,
            "live": {key: value for key, value in now.items() if key != "samples"} if now else None,
            "steps": steps,
            "temperatures": run_reader.temperatures_of(db, number),
            "events": run_queries.events_of(db, number),
        }

    def samples_count(self, number: int) -> int:
        return run_queries.samples_count(self._reader, number)

    def has_traffic(self, number: int) -> bool:
        return run_queries.has_traffic(self._reader, number)

    def all_samples(self, number: int) -> Sequence[Document]:
        return [sample.to_json() for sample in run_reader.samples_of(self._reader, number)]

    def samples_csv(self, number: int) -> str:
        return export.samples_csv(run_reader.samples_of(self._reader, number))

    def results_csv(self, number: int) -> str | None:
        run = self.run(number)
        return None if run is None else export.results_csv(run.document, run.results)

    def speed_by_second(self, number: int, timed: Set[int]) -> SpeedBySecond:
        return run_queries.session(self._reader, number, timed)

    def step_folder(self, number: int, index: int) -> str | None:
        row = self._row(number)
        if row is None:
            return None
        for step in run_queries.steps_of(self._reader, number):
            if step["step_index"] == index and step["artifacts"]:
                parts = Path(step["artifacts"]).parts
                if parts[:2] == ("runs", row["uuid"]) and ".." not in parts:
                    return str(step["artifacts"])
        return None

    def bundle(self, number: int) -> RunBundle | None:
        row = self._row(number)
        if row is None:
            return None
        file = io.BytesIO()
        bundles.write(self._reader, number, file)
        return RunBundle(row["uuid"], file.getvalue())

    def run_of_bundle(self, bundle: bytes) -> int | None:
        contents = bundles.read(io.BytesIO(bundle))
        return bundles.find(self._reader, contents)

    def upload(self, number: int) -> Document | None:
        return imported_runs.upload_json(self._reader, number)

    # ---- comparisons, reference results, spec sheets

    def comparison(
        self, numbers: Sequence[int], *, mark: int | None, with_references: bool
    ) -> Document:
        return comparisons.comparison(
            self._reader, numbers, mark=mark, with_references=with_references
        )

    def others_of_suite(
        self, suite: str, *, practice: bool, leave_out: Sequence[int]
    ) -> Sequence[OtherRun]:
        rows = comparisons.others_of_suite(
            self._reader, suite, practice=practice, leave_out=leave_out
        )
        return [
            OtherRun(
                number=row["number"],
                drive_model=row["drive_model"],
                drive_code=row["drive_code"],
                state=row["state"],
                created_utc=row["created_utc"],
            )
            for row in rows
        ]

    def references(self, suite: str | None = None) -> Sequence[Document]:
        return reference_results.list_references(self._reader, suite)

    def add_references(self, references: Sequence[Reference]) -> int:
        return reference_results.add(self._writer, references)

    def remove_references(self, numbers: Sequence[int]) -> None:
        reference_results.remove(self._writer, numbers)

    def sheets(self) -> Sequence[tuple[int, Sheet]]:
        return spec_sheets.list_sheets(self._reader)

    def save_sheet(self, sheet: Sheet, *, replaces: int | None = None) -> int:
        return spec_sheets.save(self._writer, sheet, replaces=replaces)

    def remove_sheet(self, number: int) -> None:
        spec_sheets.remove(self._writer, number)

    # ---- drives

    def scan(self) -> Scan:
        scan = known_drives.drive_scans(self._reader)
        if scan is None:
            return Scan(None, [], [])
        utc, document = scan
        labels = self.labels()
        drives: list[Document] = document.get("drives", [])
        for drive in drives:
            drive["label"] = labels.get(drive["identity"]["drive_key"], drive.get("label"))
            # Older agents did not record them.
            bottlenecks.put_into(drive)
        return Scan(utc, drives, document.get("shared", []))

    def drive_histories(self, drive_keys: Collection[DriveKey]) -> Mapping[DriveKey, DriveHistory]:
        histories = run_queries.history(self._reader, drive_keys)
        entries = self._entries([history["last"] for history in histories.values()])
        return {
            key: DriveHistory(history["runs"], entry)
            for (key, history), entry in zip(histories.items(), entries, strict=True)
        }

    def drive_record(self, drive: Mapping[str, Any], limit: int) -> DriveRecord:
        keys = run_queries.same_drive(self._reader, drive["identity"]["drive_key"])
        reading = run_queries.last_temperature(self._reader, keys)
        return DriveRecord(
            spec_sheet=spec_sheets.beside_drive(self._reader, drive),
            identities=keys,
            runs=run_queries.count_of(self._reader, keys),
            history=self._entries(
                run_queries.runs_before(self._reader, drive_keys=keys, limit=limit)
            ),
            last_temperature=None if reading is None else {
                "celsius": reading["celsius"], "source": reading["source"],
                "run": reading["number"], "t": reading["t"], "created_utc": reading["created_utc"],
            },
        )  # fmt: skip

    def is_known_drive(self, name: str) -> bool:
        return bool(run_queries.keys_of(self._reader, name))

    def drives_in_use(self) -> frozenset[str]:
        slots = bays.list_slots(self._reader)
        return frozenset(run.drive_key for run in self.running()) | {
            slot["drive_key"] for slot in slots if slot["state"] in _IN_USE
        }

    def labels(self) -> Mapping[str, str]:
        return known_drives.labels(self._reader)

    def set_label(self, drive_key: str, label: str, others: Collection[str]) -> None:
        run_queries.set_label(self._writer, drive_key, label, others)

    # ---- requests and queues

    def request(self, number: int) -> Document | None:
        return run_queries.request_json(self._reader, number)

    def waiting_requests(self) -> Sequence[WaitingRequest]:
        rows = run_queries.waiting_requests(self._reader)
        return [WaitingRequest(row["id"], row["created_utc"]) for row in rows]

    def add_request(self, kind: str, body: Mapping[str, Any]) -> int:
        return agent_requests.add_request(self._writer, kind, body)

    def add_upload(self, bundle: bytes) -> Document:
        number = imported_runs.add_upload(self._writer, bundle)
        record = imported_runs.upload_json(self._reader, number)
        assert record is not None
        return record

    def queue(self, number: int) -> Document | None:
        return queues.document(self._reader, number)

    def newest_queues(self, limit: int) -> Sequence[int]:
        return queues.newest(self._reader, limit)

    def open_queues(self) -> Sequence[int]:
        rows = queues.open_queues(self._reader)
        return [int(row["number"]) for row in rows if queues.is_carried_out(row)]

    def queue_of_run(self, run: int) -> int | None:
        return queues.of_run(self._reader, run)

    def queue_of_drive(self, drive_key: str) -> int | None:
        return queues.open_of_drive(self._reader, drive_key)

    # ---- verdicts

    def verdict(self, number: int) -> Document | None:
        try:
            return verdicts.find(self._reader, number)
        except BadInput:
            return None

    def verdicts_of_run(self, run: int) -> list[Document]:
        return verdicts.all_of_run(self._reader, run)

    def verdicts(self, *, limit: int, word: str | None, before: int) -> Sequence[Document]:
        return verdicts.list_verdicts(self._reader, limit, word=word, before=before)

    def verdict_documents(self, *, limit: int, word: str | None, before: int) -> list[Document]:
        return verdicts.documents(self._reader, limit, word=word, before=before)

    # ---- the desk and recipes

    def desk(self) -> Document:
        return qa_station.document(self._reader, self._settings)

    def slots(self) -> list[Document]:
        return qa_station.slots_of(self._reader, self._settings)

    def shelved_recipes(self) -> Sequence[Shelved]:
        return recipe_library.shelved(self._home)

    def uploaded_recipes(self) -> Mapping[str, str]:
        return {row["name"]: row["created_utc"] for row in recipes.list_recipes(self._reader)}

    def autostart_problem(self) -> str | None:
        return autostart_rules.problem(self._settings, self._home)

    def save_recipe(self, name: str, text: str) -> None:
        recipes.save(self._writer, name, text)

    def remove_recipe(self, name: str) -> bool:
        return recipes.remove(self._writer, name)

    # ---- sign-in

    def find_session(self, secret: str) -> Session | None:
        session = auth.find_session(self._reader, secret)
        return None if session is None else Session(session.hash, session.csrf)

    def open_session(self) -> NewSession:
        secret = auth.open_session(self._writer)
        session = auth.find_session(self._writer, secret)
        csrf = session.csrf if session else ""
        return NewSession(secret, csrf, auth.SESSION_SECONDS)

    def close_session(self, session: Session) -> None:
        auth.close_session(self._writer, auth.Session(session.hash, session.csrf))

    def find_token(self, secret: str) -> Token | None:
        token = auth.find_token(self._reader, secret)
        return None if token is None else _token(token)

    def tokens(self) -> Sequence[Token]:
        return [_token(token) for token in auth.tokens(self._reader)]

    def add_token(self, name: str) -> str:
        try:
            return auth.new_token(self._writer, name, replace=False, field="name")
        except auth.NameTaken as error:
            raise NameTaken(error.message, field=error.field) from None

    def note_token_use(self, name: str) -> None:
        auth.note_use(self._writer, name)

    def revoke_token(self, name: str) -> bool:
        return auth.revoke_token(self._writer, name)


def _token(token: auth.Token) -> Token:
    return Token(token.name, token.created_utc, token.used_utc, auth.is_noted(token))


def _live_samples(now: Mapping[str, Any]) -> list[Document]:
    samples = now.get("samples")
    if not isinstance(samples, list):
        return []
    good = [item for item in samples if isinstance(item, dict) and isinstance(item.get("n"), int)]
    return sorted(good, key=lambda item: int(item["n"]))
