"""Lists, describes, resumes and rolls back interrupted purges."""

from __future__ import annotations

import contextlib
import re
import shlex
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchstick.drives import sanitize_commands, sanitize_methods, subprocesses
from benchstick.drives.guard import DriveLease
from benchstick.drives.guard import hold as take_hold
from benchstick.drives.sanitize_commands import AtaSecurity, SanitizeLog
from benchstick.drives.subprocesses import Finished
from benchstick.drives.types import Drive, Fact
from benchstick.engine.retention import UUID
from benchstick.errors import BadInput, BenchError, Inconclusive, StoreFailed
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.states import PurgePhase, PurgeState
from benchstick.store import database, known_drives, run_writer

_ASK_SECONDS = 60.0


@dataclass(frozen=True)
class Unfinished:
    """A purge that started and did not complete. `bytes_written` is how many bytes from the start
    an overwrite had written; `marks` the UUID of the run that wrote the marks, `samples` their
    number, `mark_size` their bytes."""

    run: int
    step: int
    drive_key: DriveKey
    code: str
    model: str
    rung: str
    phase: PurgePhase
    password: str | None
    bytes_written: int
    marks: str
    samples: int
    mark_size: int
    reason: str | None

    def fact(self) -> Fact:
        """For the drive's facts: what a plan needs to resume it, and the commands."""
        names = ("run", "rung", "phase", "samples", "mark_size")
        values = {name: getattr(self, name) for name in names}
        values["written"] = self.bytes_written
        return Fact({**values, "advice": self.advice()}, source=f"run {self.run}")

    def advice(self) -> str:
        """The state of the drive, and the commands to resume or roll back."""
        # An older bench may have stored a code that needs quotes in a shell.
        code = shlex.quote(self.code)
        resume = f"benchstick run erase --drive {code} --erase {code} --param rung=resume"
        undo = f"benchstick purges --undo {code}"
        if self.phase == PurgePhase.STARTED and self.password is None:
            return f"nothing was erased yet; start again with: {resume}; or discard it with: {undo}"
        if self.rung.startswith("sanitize"):
            return f"the drive continues the sanitize on its own; follow it with: {resume}"
        if self.password is not None:
            # A drive with a password cannot be read, so the guard locks it too.
            unlock = f" --unlock {code}"
            return (
                f"the drive may be locked with the ATA password {self.password}; continue with: "
                f"{resume}{unlock}; or remove the password with: {undo}{unlock}"
            )
        if self.rung.startswith("format"):
            return (
                "it is not known whether the drive completed the format; format it again with: "
                f"{resume}; or leave it as it is with: {undo}"
            )
        return (
            f"a part of the drive is erased; continue with: {resume}; "
            f"or leave it as it is with: {undo}"
        )

    def describe(self) -> str:
        """One line about it, for the next start of the bench."""
        title = sanitize_methods.find(self.rung).title
        return (
            f"run {self.run}: the purge of {self.model} ({self.code}) with {title} "
            f"was interrupted: {self.advice()}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run, "drive": self.code, "model": self.model, "rung": self.rung,
            "phase": self.phase, "password": self.password, "written": self.bytes_written,
            "reason": self.reason, "advice": self.advice(),
        }  # fmt: skip


def unfinished(db: sqlite3.Connection) -> list[Unfinished]:
    """All interrupted purges, the newest first. Skips rows that this program cannot have written:
    the page's user may write to the store."""
    return [
        purge for row in known_drives.unfinished_purges(db) if (purge := _read(row)) is not None
    ]


def _read(row: sqlite3.Row) -> Unfinished | None:
    password = row["password"]
    good = (
        row["rung"] in sanitize_methods.NAMES
        and row["phase"] in tuple(PurgePhase)
        and (password is None or re.fullmatch(r"[A-Za-z0-9]{1,32}", password))
        and UUID.fullmatch(row["marks"] or "")
        and row["written"] >= 0
        and row["samples"] > 0
        and row["mark_size"] in (512 << shift for shift in range(3, 9))
    )
    if not good:
        return None
    return Unfinished(
        run=row["run"], step=row["step_index"], drive_key=row["drive_key"], code=row["drive_code"],
        model=row["drive_model"], rung=row["rung"], phase=PurgePhase(row["phase"]),
        password=password, bytes_written=row["written"], marks=row["marks"], samples=row["samples"],
        mark_size=row["mark_size"], reason=row["reason"],
    )  # fmt: skip


def of_drive(db: sqlite3.Connection, drive: Drive) -> Unfinished | None:
    """The interrupted purge of this drive to handle first."""
    return _by_drive(unfinished(db)).get(drive.identity.key())


def _by_drive(purges: Sequence[Unfinished]) -> dict[str, Unfinished]:
    """The newest one of each drive, but one with a password first: a locked drive accepts nothing
    else."""
    first: dict[str, Unfinished] = {}
    for purge in sorted(purges, key=lambda purge: purge.password is None):
        first.setdefault(purge.drive_key, purge)
    return first


def at_home(home: Path) -> list[Unfinished]:
    """All interrupted purges in the store at `home`; none when the store cannot be read."""
    if not (home / database.FILE).exists():
        return []
    with (
        contextlib.suppress(StoreFailed, sqlite3.Error),
        contextlib.closing(database.open_reader(home)) as db,
    ):
        return unfinished(db)
    return []


def noted(home: Path, drives: Collection[Drive]) -> list[Drive]:
    """The drives, with the interrupted purge of each in its facts."""
    by_key = _by_drive(at_home(home))
    return [_noted(drive, by_key.get(drive.identity.key())) for drive in drives]


def _noted(drive: Drive, purge: Unfinished | None) -> Drive:
    if purge is None:
        return drive
    return replace(drive, facts={**drive.facts, sanitize_methods.UNFINISHED: purge.fact()})


# ---- queries of a drive, also for the purge itself


class DriveQueries:
    """Queries a drive with `run`, which is `subprocesses.run` or that of a run."""

    def __init__(self, path: str, run: Any = None) -> None:
        self.path = path
        self._run = run or subprocesses.run

    def __call__(self, argv: Sequence[str]) -> Finished:
        result: Finished = self._run(argv, timeout=_ASK_SECONDS)
        return result

    def security(self) -> AtaSecurity:
        """The current ATA security state. Inconclusive when the drive does not report it."""
        result = self(["hdparm", "-I", self.path])
        try:
            return sanitize_commands.parse_ata_security(result.text)
        except ValueError as error:
            raise Inconclusive(f"hdparm -I: {error}: {result.error_line}") from None

    def sanitize(self) -> SanitizeLog:
        """The current sanitize log. Inconclusive when the drive does not report it."""
        result = self(["nvme", "sanitize-log", self.path, "-o", "json"])
        try:
            return sanitize_commands.parse_sanitize_log(result.text)
        except ValueError as error:
            raise Inconclusive(f"nvme sanitize-log: {error}: {result.error_line}") from None

    def take_password_off(self, password: str) -> AtaSecurity:
        """Unlock the drive and remove the password. Returns the state after it. BadInput when the
        drive is frozen, Inconclusive when it does not accept the password."""
        now = self.security()
        if not now.is_enabled:
            return now
        if now.is_frozen:
            raise BadInput(f"the password cannot be removed now: {sanitize_methods.FROZEN}")
        if now.is_expired:
            raise BadInput(
                "the drive has refused too many passwords: switch its power off and on, then try "
                "again"
            )
        result = None
        # hdparm's disable starts with an unlock, which an unlocked drive accepts as well.
        for act in ("unlock",) * now.is_locked + ("disable",):
            result = self(sanitize_commands.ata(self.path, act, password))
            if result.exit_code != 0:
                # The drive counts refused passwords, and accepts none after five.
                break
        after = self.security()
        if after.is_enabled or result is None or result.exit_code != 0:
            reason = result.error_line if result is not None else "nothing was sent"
            raise Inconclusive(
                f"the drive did not remove the password {password} ({reason}; it is {after.word})"
            )
        return after


def undo(
    db: sqlite3.Connection,
    home: Path,
    drive: Drive,
    *,
    unlock: str | None,
    hotplugs: Collection[int] = (),
) -> str:
    """Roll back what an interrupted purge left on `drive`. Returns a sentence about it.

    BadInput when there is no interrupted purge, or it cannot be rolled back; Refused by the guard.
    """
    purge = of_drive(db, drive)
    # A failed sanitize can be left even without its record: the store may be lost.
    if purge is None and not sanitize_methods.sanitize_failed(drive.to_json()):
        raise BadInput(f"{drive.code}: no purge of this drive was interrupted", field="undo")
    subprocesses.require(sanitize_methods.find(purge.rung).tool if purge is not None else "nvme")
    with take_hold(drive, unlock=unlock, destructive=False, hotplugs=hotplugs, home=home) as hold:
        text = _take_back(purge, hold)
    if purge is None:
        return text
    record = run_writer.RunRecord(db, purge.run)
    record.event(None, "purge", f"rolled back: {text}")
    record.purge_ends(purge.step, PurgeState.CLOSED, text)
    return text


def _take_back(purge: Unfinished | None, hold: DriveLease) -> str:
    hold.check_same()
    queries = DriveQueries(hold.drive.path)
    if purge is None:
        return _leave_sanitize(queries)
    if purge.password is not None:
        after = queries.take_password_off(purge.password)
        return f"the ATA password is removed: the drive is {after.word}; its data may be gone"
    if purge.rung.startswith("sanitize") and purge.phase == PurgePhase.ERASING:
        return _leave_sanitize(queries)
    if purge.phase == PurgePhase.STARTED:
        return "nothing was erased"
    return "nothing can be restored: what was erased is gone, the rest is unchanged"


def _leave_sanitize(queries: DriveQueries) -> str:
    log = queries.sanitize()
    if log.status == sanitize_commands.IN_PROGRESS:
        raise BadInput(
            f"the drive is at {100 * log.progress:.0f} % of its sanitize, which cannot be stopped; "
            "wait until it ends"
        )
    if log.status != sanitize_commands.FAILED:
        return f"the drive reports for its sanitize: {log.word}; its data is gone"
    # The log still reports after this that the last sanitize failed.
    result = queries(sanitize_commands.leave_failed_sanitize(queries.path))
    if result.exit_code != 0:
        raise Inconclusive(f"the drive did not leave its failed sanitize: {result.error_line}")
    return "the drive left the failed sanitize and accepts reads and writes; it is not erased"


def interrupt(record: run_writer.RunRecord, db: sqlite3.Connection) -> None:
    """Mark the purge of a run whose runner was killed, and record what to do."""
    rows = db.execute(
        "SELECT step_index FROM purges WHERE run = ? AND state = ?",
        (record.number, PurgeState.RUNNING),
    ).fetchall()
    for row in rows:
        record.purge_ends(
            int(row["step_index"]), PurgeState.INTERRUPTED, "the bench was killed or lost power"
        )
    if not rows:
        return
    for purge in unfinished(db):
        if purge.run == record.number:
            with contextlib.suppress(BenchError):
                record.event(None, "purge", purge.describe())
