"""What the screen shows, from the store, live records and sysfs. Queries no drive."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchstick import paths
from benchstick.appliance import network, ssh_access, state, web_address
from benchstick.appliance.network import Port
from benchstick.appliance.outcome_text import NEITHER, Ending, ending
from benchstick.appliance.web_address import Page
from benchstick.errors import BenchError
from benchstick.plan.states import RunState
from benchstick.plan.units import duration_text
from benchstick.store import bays, database, known_drives, live_progress, locks, run_queries

# An open connection would not notice a replaced store.
_REOPEN_SECONDS = 60.0
_NAME_SECONDS = 20.0


@dataclass(frozen=True)
class Line:
    """A drive in a line: kernel name, model, bytes, transport, guard state, how its last run of
    this boot ended."""

    name: str
    model: str
    capacity: int
    transport: str
    guard: str
    last: str = ""


@dataclass(frozen=True)
class Running:
    """A run in progress. `fraction` of all its steps, None where that is not known yet."""

    number: int
    suite: str
    model: str
    step: str = ""
    fraction: float | None = None
    seconds_left: float | None = None
    is_upper_bound: bool = False


@dataclass(frozen=True)
class FinishedRun:
    """The last run that ended in this boot."""

    number: int
    suite: str
    model: str
    ending: Ending


@dataclass(frozen=True)
class SlotLine:
    """A slot of the bench: its word in big letters, whether that is good or bad news, its drive,
    and a message."""

    name: str
    word: str
    kind: str
    model: str
    message: str


@dataclass(frozen=True)
class View:
    """Everything on the screen."""

    version: str
    now: str
    ports: tuple[Port, ...] = ()
    page: Page | None = None
    name: str | None = None
    drives: tuple[Line, ...] | None = None
    running: tuple[Running, ...] = ()
    last_run: FinishedRun | None = None
    notices: tuple[str, ...] = ()
    ssh: str | None = None
    slots: tuple[SlotLine, ...] = ()


@dataclass
class _StoreContent:
    """What the store held at the last read, and its version then."""

    version: int = -1
    drives: list[dict[str, Any]] | None = None
    runs: list[sqlite3.Row] = field(default_factory=list)
    slots: list[dict[str, Any]] = field(default_factory=list)


class Looker:
    """Polls for the screen. Reads the store only after a write to it."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._db: sqlite3.Connection | None = None
        self._open_time = 0.0
        self._in_ram = False
        self._content = _StoreContent()
        self._last_name: tuple[float, tuple[str, ...], str | None] = (0.0, (), None)

    def look(self) -> View:
        """The current view. Never raises for a store that cannot be read: a notice reports it."""
        state.note_pulled()
        notices = state.notices()
        try:
            self._read_store()
        except (BenchError, sqlite3.Error) as error:
            self.close()
            self._content = _StoreContent()
            if (paths.data_folder() / database.FILE).exists():
                reason = error.message if isinstance(error, BenchError) else str(error)
                notices.append(f"The store cannot be read: {reason}.")
        if self._content.drives is not None and not run_queries.agent_runs():
            notices.append("The agent is not running: no run can start.")
        ports = network.ports()
        began = self._boot_utc()
        states = {row["number"]: self._state(row) for row in self._content.runs}
        past_runs = [
            row
            for row in self._content.runs
            if states[row["number"]] != RunState.RUNNING and (row["ended_utc"] or "") >= began
        ]
        return View(
            version=self.version,
            now=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            ports=tuple(ports),
            page=web_address.read(),
            name=self._name(ports),
            drives=self._drives(past_runs),
            running=tuple(
                _running(row)
                for row in self._content.runs
                if states[row["number"]] == RunState.RUNNING
            ),
            last_run=_build_finished(past_runs[0]) if past_runs else None,
            notices=tuple(notices),
            ssh=ssh_access.fingerprint(),
            slots=tuple(
                _slot(row, self._on(row, states), time.time()) for row in self._content.slots
            ),
        )

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _read_store(self) -> None:
        old = time.monotonic() - self._open_time > _REOPEN_SECONDS
        is_moved = state.moved_to_ram() != self._in_ram
        if self._db is not None and (old or is_moved):
            self.close()
        if self._db is None:
            self._db = database.open_reader(paths.data_folder())
            self._open_time = time.monotonic()
            self._in_ram = state.moved_to_ram()
            self._content.version = -1
        version = int(self._db.execute("PRAGMA data_version").fetchone()[0])
        if version == self._content.version:
            return
        scan = known_drives.drive_scans(self._db)
        drives: list[dict[str, Any]] | None = None if scan is None else scan[1].get("drives", [])
        labels = known_drives.labels(self._db)
        for drive in drives or ():
            drive["label"] = labels.get(drive["identity"]["drive_key"], drive.get("label"))
        slots = bays.list_slots(self._db)
        self._content = _StoreContent(version, drives, run_queries.last_runs(self._db), slots)

    def _on(self, slot: dict[str, Any], states: dict[int, RunState]) -> Running | None:
        """The run that is on in a slot."""
        for row in self._content.runs:
            if row["drive_key"] == slot["drive_key"] and states[row["number"]] == RunState.RUNNING:
                return _running(row)
        return None

    def _state(self, row: sqlite3.Row) -> RunState:
        """A running run whose lock is free was interrupted; the store does not show this yet."""
        state = RunState(row["state"])
        is_over = state == RunState.RUNNING and not locks.is_alive(row["uuid"])
        return RunState.INTERRUPTED if is_over else state

    def _name(self, ports: list[Port]) -> str | None:
        """Our name on the network; asked for again now and then, and with every new address."""
        addresses = tuple(address for port in ports for address in port.addresses)
        asked_at, of, name = self._last_name
        if addresses != of or time.monotonic() - asked_at > _NAME_SECONDS:
            name = network.mdns_name(addresses[0]) if addresses else None
            self._last_name = (time.monotonic(), addresses, name)
        return name

    def _boot_utc(self) -> str:
        uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - uptime))

    def _drives(self, past_runs: list[sqlite3.Row]) -> tuple[Line, ...] | None:
        if self._content.drives is None:
            return None
        last: dict[str, str] = {}
        for row in past_runs:
            last.setdefault(row["drive_key"], f"run {row['number']} {_ending(row).word}")
        lines = [_line(drive, last) for drive in self._content.drives]
        return tuple(line for line in lines if line.transport != "virtual" or line.last)


def _line(drive: dict[str, Any], last: dict[str, str]) -> Line:
    identity = drive["identity"]
    return Line(
        name=str(drive["name"]),
        model=str(drive.get("label") or identity["model"]),
        capacity=int(identity["capacity"]),
        transport=str(drive["transport"]["value"]),
        guard=str(drive["guard"]["state"]),
        last=last.get(identity["drive_key"], ""),
    )


def _slot(row: dict[str, Any], run: Running | None, now: float) -> SlotLine:
    word, kind = {
        bays.EMPTY: ("EMPTY", NEITHER),
        bays.HERE: ("NOT TESTED", NEITHER),
        bays.STOPPED: ("STOPPED", NEITHER),
        bays.TESTING: ("TESTING", NEITHER),
    }.get(row["state"], ("", NEITHER))
    text = row["message"] or ""
    if row["state"] == bays.COUNTDOWN:
        word = str(max(0, round((row["until"] or now) - now)))
        text = "seconds until its test starts; the page can stop it"
    elif row["state"] == bays.TESTING and run is not None:
        rest = "" if run.seconds_left is None else f", {duration_text(run.seconds_left)} left"
        text = f"{run.suite}: {run.step}{rest}"
    elif row["state"] == bays.FINISHED:
        outcome = ending(RunState.COMPLETE, None, row["verdict"], row["message"])
        word, kind = outcome.word, outcome.kind
    model = " ".join(part for part in (row["code"], row["model"]) if part)
    return SlotLine(row["name"], word, kind, model, text)


def _running(row: sqlite3.Row) -> Running:
    record = live_progress.read(row["uuid"]) or {}
    steps, fraction = row["steps"] or 0, None
    if record and steps:
        fraction = min(
            1.0, (int(record["step_index"]) + float(record.get("fraction") or 0.0)) / steps
        )
    return Running(
        number=row["number"],
        suite=row["suite"],
        model=row["drive_model"],
        step=str(record.get("name", "")),
        fraction=fraction,
        seconds_left=record.get("seconds_left"),
        is_upper_bound=bool(record.get("is_upper_bound")),
    )


def _ending(row: sqlite3.Row) -> Ending:
    state = RunState(row["state"])
    state = RunState.INTERRUPTED if state == RunState.RUNNING else state
    return ending(state, row["exit_code"], row["verdict"], row["reason"])


def _build_finished(row: sqlite3.Row) -> FinishedRun:
    return FinishedRun(row["number"], row["suite"], row["drive_model"], _ending(row))
