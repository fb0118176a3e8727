"""Runs a recipe on one drive, in a process of its own, and stores the verdict.

Started as `python -m benchstick.qa.drive_session` with the request as JSON on stdin; the verdict is
the one document on stdout, progress goes to stderr. The process ends when the one that started it
does. The request is not trusted: the process scans for the drive and checks the guard again.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from benchstick.agent import hotplugged
from benchstick.drives import blank, discover, eject
from benchstick.drives.medium import to_token
from benchstick.drives.types import Drive
from benchstick.engine import host_settings
from benchstick.engine.run_request import Ready, check_queue, execute, find_drive, make_ready
from benchstick.engine.runner import Outcome, Progress
from benchstick.engine.signals import cancel_on_signals
from benchstick.errors import (
    EXIT_CANCELLED,
    EXIT_DRIVE_LOST,
    EXIT_INTERNAL,
    BadInput,
    BenchError,
    Cancelled,
    DriveLost,
    Refused,
)
from benchstick.paths import data_folder, settings_file
from benchstick.plan import run_queue
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.plain import plain_output
from benchstick.plan.request import RunRequest
from benchstick.plan.states import RunState
from benchstick.qa.early_stop_monitor import Watch
from benchstick.qa.exclusive_lock import turn
from benchstick.recipes import limits, preconditions, verdict
from benchstick.recipes.codes import Reason
from benchstick.recipes.limits import Evidence
from benchstick.recipes.model import Recipe
from benchstick.recipes.verdict import Attempt
from benchstick.store import database, run_reader, settings, spec_sheets, verdicts
from benchstick.store.database import utc_now

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class DriveTestRequest:
    """The request for a whole recipe on one drive, for the process that tests it. A `RunRequest` is
    for one run; this process makes one for each suite, after it has looked at the drive itself.

    It has the parsed recipe, the drive by its code, and its identity when it was chosen (identity
    key, diskseq, the medium's token). `bench_ports` has the names of
    the bench's ports by port; `erase` is the code that a user typed; `per_controller` how many
    drives of one controller are tested at once; `own_folders` whether the recipe may name folders
    of this machine: only in requests of the command line."""

    recipe: Recipe
    drive: str
    expected: tuple[DriveKey, int | None]
    medium: str | None = None
    bench_ports: Mapping[str, str] = field(default_factory=dict)
    erase: str | None = None
    per_controller: int = 4
    own_folders: bool = False
    scanned_serial: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {**values, "recipe": self.recipe.to_json()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> DriveTestRequest:
        key, diskseq = data["expected"]
        recipe = Recipe.from_json(data["recipe"])
        return DriveTestRequest(**{**data, "recipe": recipe, "expected": (key, diskseq)})


def posts() -> bool:
    """Whether the settings have a webhook for the verdict."""
    return bool(settings.load(settings_file()).webhook)


class DriveTest:
    """A recipe on one drive, with the retries that it allows. `cancelled` ends it, and the end of
    the process `parent`, which started this one."""

    def __init__(
        self,
        test_request: DriveTestRequest,
        home: Path,
        cancel_event: threading.Event,
        tell: Tell,
        parent: int,
    ) -> None:
        self.test_request = test_request
        self.recipe = test_request.recipe
        self.home = home
        self.cancel_event = cancel_event
        self.tell = tell
        self.parent = parent
        self._hotplugs = hotplugged.believed()
        # From then on the drive's content is the bench's own.
        self._has_destroyed = False
        self._has_run = False

    def carry_out(self) -> dict[str, Any]:
        """The last verdict; each is stored at once. BenchError where there is no drive
        to give one on, or the store fails."""
        drive = self._find()
        earlier: list[dict[str, Any]] = []
        while True:
            document = self._once(drive, earlier)
            last = self.cancel_event.is_set() or not verdict.again(self.recipe, document)
            if last:
                document["post_action"] = self._let_go()
            with contextlib.closing(database.open_writer(self.home)) as db:
                number = verdicts.keep(db, document, post=last and posts())
            document = {"number": number, **document}
            if last:
                return document
            self.tell(f"{document['verdict']}: {document['reason']}; tested again")
            earlier.append(document)
            with contextlib.suppress(BenchError):
                # With its current facts; where it is gone its first run reports that.
                drive = self._find()

    def _find(self) -> Drive:
        """The drive that was chosen, and no other."""
        drive = find_drive(self.test_request.drive, self.home, self._hotplugs)
        if (drive.identity.key(), drive.diskseq) != self.test_request.expected:
            raise Refused(f"{drive.code}: not the drive that was chosen (replugged or replaced)")
        token = to_token(self.test_request.medium)
        # Runs of this test change the content.
        reason = token.difference(drive.medium, content=not self._has_run) if token else None
        if reason is not None:
            raise Refused(f"{drive.code}: {reason} since it was chosen")
        return drive

    def _once(self, drive: Drive, earlier: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        started_at = utc_now()
        ending: tuple[int, str] | None = None
        refusals: list[Reason] = preconditions.reasons(self.recipe, drive.to_json())
        another = (
            verdict.serial_mismatch(self.test_request.scanned_serial, drive.to_json()) is not None
        )
        numbers: list[int] = []
        with Watch(self.recipe, self.home, self.cancel_event, self.parent) as watch:
            if not (refusals or another):
                try:
                    readies = self._ready(drive)
                    refusals = self._erasing(drive, readies, sample=False)
                    if not refusals:
                        refusals = self._runs(readies, watch, numbers, again=bool(earlier))
                except Cancelled:
                    # By a rule, which has a reason of its own, or by a user.
                    ending = None if watch.reason else (EXIT_CANCELLED, "cancelled")
                except BenchError as error:
                    ending = (error.exit_code, error.message)
            seconds, reason = watch.seconds, watch.reason
        evidence = self._evidence(drive, numbers)
        if ending is None and reason is None:
            ending = _went_away(evidence)
        attempt = Attempt(
            evidence=evidence, seconds=seconds, started_utc=started_at, ended_utc=utc_now(),
            stopped=reason, end=ending, refused=refusals, scanned=self.test_request.scanned_serial,
            labels=self.test_request.labels,
            slot=self.test_request.bench_ports.get(drive.identity.port) or None,
            earlier=earlier,
        )  # fmt: skip
        return verdict.judge(self.recipe, attempt)

    def _let_go(self) -> dict[str, Any] | None:
        """Eject or power off the drive as the recipe requires; None where it requires nothing. The
        drive stays connected after a cancelled test."""
        after = self.recipe.after
        if not (after.eject or after.power_off):
            return None
        action = "power_off" if after.power_off else "eject"
        try:
            if self.cancel_event.is_set():
                raise Cancelled("the test was cancelled")
            eject.let_go(
                self._find(), power_off=after.power_off, hotplugs=self._hotplugs, home=self.home
            )
        except BenchError as error:
            return {"action": action, "is_done": False, "reason": error.message}
        return {"action": action, "is_done": True, "reason": None}

    # -- before

    def _requests(self, drive: Drive) -> list[RunRequest]:
        return [
            entry.request(
                self.test_request.drive, drive_key=drive.identity.key(), diskseq=drive.diskseq,
                medium=drive.medium.text if drive.medium else None,
                own_folders=self.test_request.own_folders,
            )
            for entry in self.recipe.entries
        ]  # fmt: skip

    def _ready(self, drive: Drive) -> list[Ready]:
        """The runs with their plans, before anything of them is allowed."""
        readies = []
        for request in self._requests(drive):
            readies.append(make_ready(request, self.home, self._hotplugs, drive=drive))
        run_queue.check([ready.plan for ready in readies])
        return readies

    def _erasing(self, drive: Drive, readies: Sequence[Ready], *, sample: bool) -> list[Reason]:
        """Why runs that destroy data may not start; empty where none does, or they may. A `sample`
        reads from the drive, so it waits for the drive's turn."""
        if self.test_request.erase is not None or self._has_destroyed:
            return []
        if not any(ready.plan.destroys for ready in readies):
            return []
        reason = preconditions.why_not_erased(
            self.recipe,
            drive.to_json(),
            bench_ports=self.test_request.bench_ports,
            is_hotplugged=drive.diskseq is not None and drive.diskseq in self._hotplugs,
            sample=lambda: blank.why_not_blank(drive.name) if sample else None,
        )
        return [] if reason is None else [reason]

    # -- the runs

    def _runs(
        self, readies: Sequence[Ready], watch: Watch, numbers: list[int], *, again: bool
    ) -> list[Reason]:
        """Run them in order, adding their `numbers`, up to one that did not complete. A drive that
        was tested before (`again`) and is not there was lost. Returns reasons where one may not run
        any more."""
        drive = readies[0].drive
        # Typed by a user, or allowed by the rule: the guard requires it in either case.
        code = self.test_request.erase or drive.code
        requests = [
            replace(ready.request, erase=code if ready.plan.destroys else None) for ready in readies
        ]
        # Check all of them first: an error in the last one would show hours later.
        if len(requests) > 1:
            check_queue(requests, self.home, self._hotplugs)
        for index, (request, entry) in enumerate(zip(requests, self.recipe.entries, strict=True)):
            with self._turn(drive, entry.exclusive, watch):
                # As the drive is now: the run before may have changed what is on it.
                ready = make_ready(
                    replace(request, follows=again or index > 0), self.home, self._hotplugs
                )
                # It may have waited long, and the drive may have been used since then. The check
                # that it is blank is before the first run, whichever run erases it.
                erasing = [*readies[1:], ready] if index == 0 else [ready]
                refusals = self._erasing(ready.drive, erasing, sample=True)
                if refusals:
                    return refusals
                self._has_destroyed = self._has_destroyed or ready.plan.destroys
                self._has_run = True
                outcome = self._run(ready, watch, numbers)
            if watch.stop.is_set() or not run_queue.goes_on(outcome.exit_code):
                break
        return []

    @contextlib.contextmanager
    def _turn(self, drive: Drive, exclusive: bool, watch: Watch) -> Any:
        def wait() -> None:
            if watch.stop.is_set():
                raise Cancelled("cancelled while it waited for its turn")

        with contextlib.ExitStack() as stack:
            with watch.waiting():
                stack.enter_context(
                    turn(exclusive=exclusive, controller=host_settings.controller(drive.name),
                         most=self.test_request.per_controller, wait=wait)
                )  # fmt: skip
            yield

    def _run(self, ready: Ready, watch: Watch, numbers: list[int]) -> Outcome:
        last = -1

        def on_begin(number: int) -> None:
            numbers.append(number)
            with contextlib.closing(database.open_reader(self.home)) as db:
                uuid = str(run_reader.find_run(db, number)["uuid"])
            watch.start_run(number, uuid, [step.to_json() for step in ready.plan.steps])

        def show(at: Progress) -> None:
            nonlocal last
            if at.index != last:
                last = at.index
                self.tell(f"run {at.number}: {at.index + 1}/{at.total} {at.name}, {at.time_left}")

        try:
            return execute(ready, self.home, cancel=watch.stop, progress=show, on_begin=on_begin)
        finally:
            watch.end_run()

    # -- the evidence for the verdict

    def _evidence(self, drive: Drive, numbers: Sequence[int]) -> Evidence:
        after, reason = self._after(drive) if numbers else (None, "no run was started")
        references = {}
        with contextlib.closing(database.open_writer(self.home)) as db:
            runs = [run_reader.run_json(db, number) for number in numbers]
            sheet = spec_sheets.sheet_of(db, drive.to_json())
            for name in limits.references(self.recipe.limits):
                row = _referenced(db, name)
                if row is not None:
                    references[name] = run_reader.run_json(db, row)
        return Evidence(
            drive=drive.to_json(), after=after, after_why=reason, runs=runs, sheet=sheet,
            referenced=references,
        )  # fmt: skip

    def _after(self, drive: Drive) -> tuple[dict[str, Any] | None, str]:
        """The drive's facts after its runs, SMART among them; else why there are none."""
        try:
            current_drive = find_drive(
                self.test_request.drive, self.home, self._hotplugs, makes=False
            )
        except (BadInput, DriveLost, Refused) as error:
            # Its code may be another one since a drive with the same serial was plugged in.
            there = discover.scan(hotplugs=self._hotplugs, home=self.home)
            same = [item for item in there if item.identity == drive.identity]
            if len(same) != 1:
                return None, error.message
            (current_drive,) = same
        return current_drive.to_json(), ""


def _went_away(evidence: Evidence) -> tuple[int, str] | None:
    """Drive lost after complete runs: it may have been replaced during them. Other ends have a
    reason of their own."""
    runs = evidence.runs
    if not runs or evidence.after is not None:
        return None
    if not all(
        run["state"] == RunState.COMPLETE and run_queue.goes_on(int(run["exit_code"]))
        for run in runs
    ):
        return None
    return EXIT_DRIVE_LOST, f"after the test: {evidence.after_why}"


def _referenced(db: Any, name: str) -> int | None:
    """The number of the run that a limit names by number or UUID; None where there is none."""
    row = db.execute(
        "SELECT number FROM runs WHERE number = ? OR uuid = ?",
        (limits.run_named(name), str(limits.run_named(name))),
    ).fetchone()
    return None if row is None else int(row["number"])


def main() -> int:
    """The process of one drive: 0 when there is a verdict on stdout, else the error's exit code."""
    # Before anything slow.
    parent = os.getppid()
    test_request = DriveTestRequest.from_json(json.loads(sys.stdin.read()))
    # What it writes to stdout is one document: whatever else writes there goes to stderr.
    out = os.dup(1)
    os.dup2(2, 1)

    def tell(text: str) -> None:
        print(f"{test_request.drive}: {text}", file=sys.stderr, flush=True)

    with plain_output(), cancel_on_signals() as cancel_event:
        try:
            document = DriveTest(
                test_request, data_folder(), cancel_event, tell, parent
            ).carry_out()
        except BenchError as error:
            document = {"error": {"code": error.exit_code, "message": error.message}}
        except Exception as error:  # noqa: BLE001 - every error is reported to the caller
            traceback.print_exc()
            document = {"error": {"code": EXIT_INTERNAL, "message": f"internal error: {error!r}"}}
        with os.fdopen(out, "w", encoding="utf-8") as file:
            json.dump(document, file)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
