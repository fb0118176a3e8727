"""Unattended tests: a drive that is plugged into one of the bench's ports is tested automatically.

This applies only to drives that were plugged in while the agent was running. A countdown, which can
be stopped, precedes each test. What the recipe may do to the drive is not decided here: the process
that runs it scans for the drive again and applies the rules for erasing. A test that a user
requests, with any recipe on any drive, starts at once and is reported in the same way.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from benchstick.drives import shared_links
from benchstick.drives.bays import slot_of
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive
from benchstick.errors import BadInput, Refused
from benchstick.plan.labels import Ticket
from benchstick.plan.states import Verdict
from benchstick.recipes.event_lines import drive_words, event_lines, line_of, started_line
from benchstick.store import barcode_scans, bays
from benchstick.store.bays import COUNTDOWN, FINISHED, HERE, STOPPED, TESTING, Slot
from benchstick.store.database import utc_now
from benchstick.store.qa_station import AGAIN, STOP

NOT_SEEN = "already connected when the bench started; unplug and reconnect it to test it"
SEVERAL = "several drives answer in this slot; none is tested automatically"
PULLED = "pulled out before its test started"


class Test(Protocol):
    """A running test of one drive, in a process of its own."""

    def is_alive(self) -> bool:
        """Whether it is still running."""

    def end(self) -> None:
        """Ask it to end; it still gives a verdict."""

    def verdict(self) -> Mapping[str, Any]:
        """Its outcome: the verdict document with its number, or an `error`."""


# Starts a test: the drive, its slot's name, its ticket.
Begin = Callable[[Drive, str, Ticket], Test]
# Reads a request for this drive: the test to start. BadInput or Refused for one that is invalid.
RequestReader = Callable[[Mapping[str, Any], Drive], Begin]


# A bridge that resets drops its drive for some seconds: that is no new drive.
RESET_SECONDS = 10.0
# So many finished tests outside the slots are shown, the last ones, until some time after their
# drive was pulled.
SHOWN_BESIDE = 4
SHOWN_SECONDS = 60.0


def _silent(line: str) -> None:
    """Drop the line."""


@dataclass
class _Place:
    slot: Slot
    # The drive of the last event, by its fields in event lines.
    drive_fields: Mapping[str, Any] | None = None
    # The kernel's number of the disk that was handled: one plugged in again has another.
    diskseq: int | None = None
    test: Test | None = None
    # By the monotonic clock.
    deadline: float = 0.0
    gone_since: float | None = None
    # A test outside the slots: nothing starts here automatically.
    beside: bool = False


class BenchSlots:
    """The slots of a bench. `ports` are the setting `bench_ports`, `seconds` the countdown's;
    `begin` starts a test, None when no recipe is set to start automatically; `tell` takes a line of
    `key=value` for each event and must not block; `request_reader` reads a request for a test, None
    where none is accepted; `why_not` is why the recipe of the settings starts no test."""

    def __init__(
        self,
        ports: Mapping[str, Sequence[str]],
        seconds: float,
        begin: Begin | None,
        tree: Tree | None = None,
        now: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] = _silent,
        request_reader: RequestReader | None = None,
        why_not: str | None = None,
    ) -> None:
        self._ports, self._seconds, self._begin = ports, seconds, begin
        self._tell = tell
        self._tree = tree or Tree()
        self._now = now
        self._why_not = why_not
        self._places = {name: _Place(self._empty(name)) for name in ports}
        self._saved_slots: list[Slot] | None = None
        self._read_request = request_reader
        self._drives: Sequence[Drive] = ()
        # Requested and not started yet; and the tests outside the slots, by their place's name.
        self._requests: list[tuple[Drive, Begin]] = []
        self._beside: dict[str, _Place] = {}

    def look(self, drives: Sequence[Drive], hotplugs: Collection[int]) -> None:
        """Take note of the drives that are present; `hotplugs` are the diskseqs of those that were
        plugged in while the agent was running."""
        self._drives = drives
        for name, place in self._places.items():
            there = [
                drive for drive in drives
                if slot_of(self._tree, drive.identity.port, self._ports) == name
            ]  # fmt: skip
            self._look_at(place, there, hotplugs)
        keys = {drive.identity.key() for drive in drives}
        for name, place in list(self._beside.items()):
            if place.test is not None or place.slot.drive_key in keys:
                place.gone_since = None
            elif place.gone_since is None:
                place.gone_since = self._now()
            elif self._now() - place.gone_since > SHOWN_SECONDS:
                del self._beside[name]

    def _empty(self, name: str) -> Slot:
        return Slot(name=name, message=self._why_not)

    def _look_at(self, place: _Place, there: Sequence[Drive], hotplugs: Collection[int]) -> None:
        if place.test is not None:
            # Its own process notices when the drive is gone.
            return
        if not there:
            if place.slot.state != FINISHED:
                place.slot = self._empty(place.slot.name)
            if place.diskseq is not None:
                place.diskseq, place.gone_since = None, self._now()
            if place.drive_fields is not None:
                self._event("pulled", place, **place.drive_fields)
                place.drive_fields = None
            return
        if len(there) > 1:
            if place.slot.message != SEVERAL:
                place.drive_fields = {"drive": ",".join(drive.code for drive in there)}
                self._event("plugged", place, **place.drive_fields, message=SEVERAL)
            place.slot = Slot(name=place.slot.name, state=HERE, message=SEVERAL)
            place.diskseq = None
            return
        drive = there[0]
        if drive.diskseq is not None and drive.diskseq == place.diskseq:
            return
        back = place.gone_since is None or self._now() - place.gone_since < RESET_SECONDS
        again = drive.diskseq is None and place.drive_fields == drive_words(drive)
        place.diskseq, place.gone_since = drive.diskseq, None
        place.drive_fields = drive_words(drive)
        if place.slot.state == FINISHED and place.slot.drive_key == drive.identity.key() and back:
            self._event("plugged", place, **place.drive_fields)
            return
        place.slot = self._new(place, drive, hotplugs)
        if not again:
            # Without a diskseq from the kernel, the drive is examined again each time.
            reason = None if place.slot.state == COUNTDOWN else place.slot.message
            self._event("plugged", place, **place.drive_fields, message=reason)
        if place.slot.state == COUNTDOWN:
            self._count(place)

    def _count(self, place: _Place) -> None:
        self._event(
            "countdown", place, **(place.drive_fields or {}), seconds=self._seconds,
            message=place.slot.message,
        )  # fmt: skip

    def _event(self, event: str, place: _Place, **words: Any) -> None:
        slot = None if place.beside else place.slot.name
        at = {"time": utc_now(), "event": event, "slot": slot}
        self._tell(line_of({**at, **words}))

    def _new(self, place: _Place, drive: Drive, hotplugs: Collection[int]) -> Slot:
        slot = Slot(
            name=place.slot.name, state=HERE, drive_key=drive.identity.key(), code=drive.code,
            model=drive.identity.model,
        )  # fmt: skip
        if self._begin is None:
            return replace(slot, message=self._why_not)
        if drive.diskseq is None or drive.diskseq not in hotplugs:
            return replace(slot, message=NOT_SEEN)
        return self._counting(place, slot, drive)

    def _counting(self, place: _Place, slot: Slot, drive: Drive) -> Slot:
        place.deadline = self._now() + self._seconds
        return replace(
            slot, state=COUNTDOWN, until=time.time() + self._seconds, verdict_number=None,
            verdict=None,
            message=self._shared(drive),
        )  # fmt: skip

    def _shared(self, drive: Drive) -> str | None:
        """The narrowest link that the drive shares with others in a test or a countdown, and the
        bandwidth for each. None without any."""
        on = {place.slot.drive_key for place in self._all()
              if place.slot.state in (COUNTDOWN, TESTING)}  # fmt: skip
        others = [other for other in self._drives
                  if other.identity.key() in on and other.name != drive.name]  # fmt: skip
        codes = {other.name: other.code for other in (*others, drive)}
        for link in shared_links.shared(self._tree, list(codes)):
            if drive.name in link.drives:
                return link.describe([codes[name] for name in link.drives])
        return None

    def tick(self, db: sqlite3.Connection, drives: Sequence[Drive]) -> bool:
        """Start the tests whose countdown has ended, and report those that have ended; whether one
        has ended."""
        has_ended = False
        while self._requests:
            self._start_requested(db, *self._requests.pop(0))
        for place in self._all():
            if place.test is not None and not place.test.is_alive():
                place.slot = self._finish(place, place.test)
                place.test = None
                has_ended = True
            elif place.slot.state == COUNTDOWN and place.deadline <= self._now():
                self._start(db, place, drives)
        slots = [place.slot for place in self._all()]
        if slots != self._saved_slots:
            bays.keep(db, slots)
            self._saved_slots = slots
        return has_ended

    def _all(self) -> list[_Place]:
        """The slots, then the tests outside them."""
        return [*self._places.values(), *self._beside.values()]

    def _tell_of(self, verdict: Mapping[str, Any]) -> None:
        for line in event_lines(verdict):
            self._tell(line)

    def _start_requested(self, db: sqlite3.Connection, drive: Drive, begin: Begin) -> None:
        key = drive.identity.key()
        place = self._places.get(slot_of(self._tree, drive.identity.port, self._ports) or "")
        if place is not None and (place.diskseq != drive.diskseq or place.test is not None):
            # Several drives answer there: the slot can show none of them.
            place = None
        ticket = barcode_scans.take(db, key)
        try:
            test = begin(drive, "" if place is None else place.slot.name, ticket)
        except OSError as error:
            print(f"benchstick agent: {drive.code}: its test could not be started: "
                  f"{error.strerror}", file=sys.stderr)  # fmt: skip
            return
        self._tell_start(drive, None if place is None else place.slot.name, ticket)
        if place is None:
            place = self._place_beside(drive)
        place.test = test
        place.slot = Slot(
            name=place.slot.name, state=TESTING, drive_key=key, code=drive.code,
            model=drive.identity.model,
        )  # fmt: skip

    def _place_beside(self, drive: Drive) -> _Place:
        """A place for a test of this drive, which is in no slot or shares one. Places of finished
        tests are removed, the oldest first."""
        identity = drive.identity
        name = f"port {identity.port}" + (f":{identity.lun}" if identity.lun else "")
        there = self._beside.get(name)
        if name in self._places or (there is not None and there.test is not None):
            name = f"{name} ({drive.code})"
        self._beside.pop(name, None)
        over = [at for at, place in self._beside.items() if place.test is None]
        for at in over[: max(0, len(over) - SHOWN_BESIDE + 1)]:
            del self._beside[at]
        new_place = _Place(Slot(name=name), drive_fields=drive_words(drive), beside=True)
        self._beside[name] = new_place
        return new_place

    def _start(self, db: sqlite3.Connection, place: _Place, drives: Sequence[Drive]) -> None:
        drive = next((other for other in drives if other.diskseq == place.diskseq), None)
        if drive is None or self._begin is None:
            place.slot = Slot(name=place.slot.name, message=PULLED)
            self._event("pulled", place, **(place.drive_fields or {}), message=PULLED)
            place.drive_fields = None
            return
        ticket = barcode_scans.take(db, drive.identity.key())
        try:
            place.test = self._begin(drive, place.slot.name, ticket)
        except OSError as error:
            message = f"its test could not be started: {error.strerror}"
            place.slot = replace(place.slot, state=HERE, until=None, message=message)
            self._event("failed", place, **drive_words(drive), message=message)
            return
        place.slot = replace(place.slot, state=TESTING, until=None, message=None)
        self._tell_start(drive, place.slot.name, ticket)

    def _tell_start(self, drive: Drive, slot: str | None, ticket: Ticket) -> None:
        self._tell(
            started_line(drive, time=utc_now(), slot=slot, labels=ticket.to_json(),
                       scanned_serial=ticket.serial)
        )  # fmt: skip

    def _finish(self, place: _Place, test: Test) -> Slot:
        slot, verdict = place.slot, test.verdict()
        if "error" in verdict:
            message = verdict["error"]["message"]
            self._event(
                "verdict", place, drive=slot.code, model=slot.model, verdict=Verdict.INCONCLUSIVE,
                exit_code=verdict["error"]["code"], reason=message,
            )  # fmt: skip
            return replace(slot, state=FINISHED, verdict=Verdict.INCONCLUSIVE, message=message)
        self._tell_of(verdict)
        return replace(
            slot,
            state=FINISHED,
            verdict_number=verdict.get("number"),
            verdict=verdict["verdict"],
            message=verdict["reason"],
        )

    def handle_request(self, body: Mapping[str, Any]) -> None:
        """Handle a request: `{"slot": NAME, "do": "stop"}` ends a countdown or a test (outside the
        slots by its place's name), "again" starts a new countdown for the drive in the slot;
        `{"recipe": NAME, "drive": CODE, "drive_key": KEY, "diskseq": N, "erase": CODE or None}`
        tests that drive. BadInput, Refused."""
        if "recipe" in body:
            self._add_request(body)
            return
        name, action = body.get("slot"), body.get("do")
        place = next((item for item in self._all() if item.slot.name == name), None)
        if place is None:
            there = ", ".join(item.slot.name for item in self._all()) or "none"
            raise BadInput(f"slot: there is no such slot; there are: {there}", field="slot")
        state = place.slot.state
        if action == STOP and state == COUNTDOWN:
            place.slot = replace(place.slot, state=STOPPED, until=None)
            self._event("stopped", place, **(place.drive_fields or {}), phase=COUNTDOWN)
        elif action == STOP and place.test is not None:
            place.test.end()
            self._event("stopped", place, **(place.drive_fields or {}), phase="test")
        elif action == AGAIN and (self._begin is None or place.beside):
            message = self._why_not or "no recipe starts automatically here (autostart)"
            raise BadInput(f"do: {message}", field="do")
        elif action == AGAIN and state in (STOPPED, FINISHED) and place.diskseq is not None:
            # The slot may have changed since the request: this drive was seen being plugged in.
            drive = next((other for other in self._drives if other.diskseq == place.diskseq), None)
            if drive is None:
                raise BadInput("do: the drive was pulled out just now", field="do")
            place.slot = self._counting(place, place.slot, drive)
            self._count(place)
        else:
            raise BadInput(f"do: {action!r} is not possible for a slot that is {state}", field="do")

    def _add_request(self, body: Mapping[str, Any]) -> None:
        if self._read_request is None:
            raise BadInput("recipe: this bench takes no requests for tests", field="recipe")
        identifiers = [body.get(name) for name in ("drive", "drive_key", "diskseq")]
        drive = next(
            (other for other in self._drives
             if [other.code, other.identity.key(), other.diskseq] == identifiers), None
        )  # fmt: skip
        if drive is None:
            raise BadInput(
                "drive: it was unplugged or replaced since it was chosen; choose it again",
                field="drive",
            )
        key = drive.identity.key()
        testing = {place.slot.drive_key for place in self._all() if place.test is not None}
        waiting = {other.identity.key() for other, _ in self._requests}
        if key in testing | waiting:
            raise Refused(f"drive: {drive.code} is being tested", field="drive")
        self._requests.append((drive, self._read_request(body, drive)))

    def close(self) -> None:
        """End the running tests and wait for their verdicts: the agent ends."""
        on = [(place, place.test) for place in self._all() if place.test is not None]
        for _, test in on:
            test.end()
        for place, test in on:
            with contextlib.suppress(Exception):
                self._finish(place, test)
