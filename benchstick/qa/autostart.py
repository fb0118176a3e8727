"""Hands-free: a drive that is plugged into one of the bench's ports is tested by itself.

Only one that the agent saw being plugged in, after a countdown that can be stopped. What the recipe
may do to it is not decided here: the process that carries it out looks for the drive anew and keeps
the rules for erasing. A test that somebody asked for, by a recipe of their choice on any drive,
begins at once and is told in the same way.
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
from benchstick.recipes.event_lines import begun_line, drive_words, event_lines, line_of
from benchstick.store import barcode_scans, bays
from benchstick.store.bays import COUNTDOWN, DONE, HERE, STOPPED, TESTING, Slot
from benchstick.store.database import utc_now

NOT_SEEN = "it was plugged in before the bench watched; plug it in again to have it tested"
SEVERAL = "several drives answer in this slot; none is tested by itself"
PULLED = "pulled out before its test began"


class Test(Protocol):
    """A test of one drive that is on, in a process of its own."""

    def is_alive(self) -> bool:
        """Whether it is still on."""

    def end(self) -> None:
        """Ask it to end; it still gives a verdict."""

    def verdict(self) -> Mapping[str, Any]:
        """What it found: the verdict document with its number, or an `error`."""


# Begins a test: the drive, its slot's name, its ticket.
Begin = Callable[[Drive, str, Ticket], Test]
# What a request asks for on this drive, to be begun: BadInput or Refused for what cannot be.
Wanted = Callable[[Mapping[str, Any], Drive], Begin]


# A bridge that resets drops its drive for some seconds: that is not another one plugged in.
RESET_SECONDS = 10.0
# Of the tests beside the slots that have ended the last ones are shown, until some time after their
# drive was pulled.
SHOWN_BESIDE = 4
SHOWN_SECONDS = 60.0


def _silent(line: str) -> None:
    """Tell nobody."""


@dataclass
class _Place:
    slot: Slot
    # The drive that was told to be there, by its words.
    told: Mapping[str, Any] | None = None
    # The kernel's count of the disk that was dealt with: one plugged in again has another.
    diskseq: int | None = None
    test: Test | None = None
    # By a clock that nobody sets.
    deadline: float = 0.0
    gone: float | None = None
    # Of a test beside the slots: nothing starts here by itself.
    beside: bool = False


class Hands:
    """The slots of a bench. `ports` are the setting `bench_ports`, `seconds` the countdown's;
    `begin` begins a test, None when no recipe is set to start by itself; `tell` takes a line of
    `key=value` for each event, and may not wait; `wanted` reads a request for a test, None where
    none is taken; `why_not` is why the recipe of the settings starts no test."""

    def __init__(
        self,
        ports: Mapping[str, Sequence[str]],
        seconds: float,
        begin: Begin | None,
        tree: Tree | None = None,
        now: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] = _silent,
        request_reader: Wanted | None = None,
        why_not: str | None = None,
    ) -> None:
        self._ports, self._seconds, self._begin = ports, seconds, begin
        self._tell = tell
        self._tree = tree or Tree()
        self._now = now
        self._why_not = why_not
        self._places = {name: _Place(self._empty(name)) for name in ports}
        self._kept: list[Slot] | None = None
        self._wanted = request_reader
        self._drives: Sequence[Drive] = ()
        # Asked for and not begun yet; and the tests beside the slots, by their place's name.
        self._wishes: list[tuple[Drive, Begin]] = []
        self._beside: dict[str, _Place] = {}

    def look(self, drives: Sequence[Drive], hotplugs: Collection[int]) -> None:
        """Take in which drives are there; `seen` are those that were plugged in while the agent
        watched, by diskseq."""
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
                place.gone = None
            elif place.gone is None:
                place.gone = self._now()
            elif self._now() - place.gone > SHOWN_SECONDS:
                del self._beside[name]

    def _empty(self, name: str) -> Slot:
        return Slot(name=name, said=self._why_not)

    def _look_at(self, place: _Place, there: Sequence[Drive], hotplugs: Collection[int]) -> None:
        if place.test is not None:
            # Its own process notices when the drive is gone.
            return
        if not there:
            if place.slot.state != DONE:
                place.slot = self._empty(place.slot.name)
            if place.diskseq is not None:
                place.diskseq, place.gone = None, self._now()
            if place.told is not None:
                self._event("pulled", place, **place.told)
                place.told = None
            return
        if len(there) > 1:
            if place.slot.said != SEVERAL:
                place.told = {"drive": ",".join(drive.code for drive in there)}
                self._event("plugged", place, **place.told, said=SEVERAL)
            place.slot = Slot(name=place.slot.name, state=HERE, said=SEVERAL)
            place.diskseq = None
            return
        drive = there[0]
        if drive.diskseq is not None and drive.diskseq == place.diskseq:
            return
        back = place.gone is None or self._now() - place.gone < RESET_SECONDS
        again = drive.diskseq is None and place.told == drive_words(drive)
        place.diskseq, place.gone = drive.diskseq, None
        place.told = drive_words(drive)
        if place.slot.state == DONE and place.slot.drive_key == drive.identity.key() and back:
            self._event("plugged", place, **place.told)
            return
        place.slot = self._new(place, drive, hotplugs)
        if not again:
            # One whose kernel does not count its disks is looked at anew each time.
            reason = None if place.slot.state == COUNTDOWN else place.slot.said
            self._event("plugged", place, **place.told, said=reason)
        if place.slot.state == COUNTDOWN:
            self._count(place)

    def _count(self, place: _Place) -> None:
        self._event(
            "countdown", place, **(place.told or {}), seconds=self._seconds, said=place.slot.said
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
            return replace(slot, said=self._why_not)
        if drive.diskseq is None or drive.diskseq not in hotplugs:
            return replace(slot, said=NOT_SEEN)
        return self._counting(place, slot, drive)

    def _counting(self, place: _Place, slot: Slot, drive: Drive) -> Slot:
        place.deadline = self._now() + self._seconds
        return replace(
            slot, state=COUNTDOWN, until=time.time() + self._seconds, verdict=None, word=None,
            said=self._shared(drive),
        )  # fmt: skip

    def _shared(self, drive: Drive) -> str | None:
        """The narrowest link that the drive has in common with others that are being tested, or
        will be in a moment, and what is left for each. None without any."""
        on = {place.slot.drive_key for place in self._all()
              if place.slot.state in (COUNTDOWN, TESTING)}  # fmt: skip
        others = [one for one in self._drives
                  if one.identity.key() in on and one.name != drive.name]  # fmt: skip
        codes = {one.name: one.code for one in (*others, drive)}
        for link in shared_links.shared(self._tree, list(codes)):
            if drive.name in link.drives:
                return link.describe([codes[name] for name in link.drives])
        return None

    def tick(self, db: sqlite3.Connection, drives: Sequence[Drive]) -> bool:
        """Begin the tests whose countdown has ended, take in those that have ended, and tell;
        whether one has ended."""
        has_ended = False
        while self._wishes:
            self._start_wanted(db, *self._wishes.pop(0))
        for place in self._all():
            if place.test is not None and not place.test.is_alive():
                place.slot = self._ended(place, place.test)
                place.test = None
                has_ended = True
            elif place.slot.state == COUNTDOWN and place.deadline <= self._now():
                self._start(db, place, drives)
        slots = [place.slot for place in self._all()]
        if slots != self._kept:
            bays.keep(db, slots)
            self._kept = slots
        return has_ended

    def _all(self) -> list[_Place]:
        """The slots, then the tests beside them."""
        return [*self._places.values(), *self._beside.values()]

    def _tell_of(self, verdict: Mapping[str, Any]) -> None:
        for line in event_lines(verdict):
            self._tell(line)

    def _start_wanted(self, db: sqlite3.Connection, drive: Drive, begin: Begin) -> None:
        key = drive.identity.key()
        place = self._places.get(slot_of(self._tree, drive.identity.port, self._ports) or "")
        if place is not None and (place.diskseq != drive.diskseq or place.test is not None):
            # Several drives answer there: the slot can tell of none of them.
            place = None
        ticket = barcode_scans.take(db, key)
        try:
            test = begin(drive, "" if place is None else place.slot.name, ticket)
        except OSError as error:
            print(f"benchstick agent: {drive.code}: its test could not be started: "
                  f"{error.strerror}", file=sys.stderr)  # fmt: skip
            return
        self._tell_begun(drive, None if place is None else place.slot.name, ticket)
        if place is None:
            place = self._place_beside(drive)
        place.test = test
        place.slot = Slot(
            name=place.slot.name, state=TESTING, drive_key=key, code=drive.code,
            model=drive.identity.model,
        )  # fmt: skip

    def _place_beside(self, drive: Drive) -> _Place:
        """A place for a test of this drive, which is in no slot or shares one. Those of tests that
        have ended go, the oldest first."""
        identity = drive.identity
        name = f"port {identity.port}" + (f":{identity.lun}" if identity.lun else "")
        there = self._beside.get(name)
        if name in self._places or (there is not None and there.test is not None):
            name = f"{name} ({drive.code})"
        self._beside.pop(name, None)
        over = [at for at, place in self._beside.items() if place.test is None]
        for at in over[: max(0, len(over) - SHOWN_BESIDE + 1)]:
            del self._beside[at]
        new_place = _Place(Slot(name=name), told=drive_words(drive), beside=True)
        self._beside[name] = new_place
        return new_place

    def _start(self, db: sqlite3.Connection, place: _Place, drives: Sequence[Drive]) -> None:
        drive = next((one for one in drives if one.diskseq == place.diskseq), None)
        if drive is None or self._begin is None:
            place.slot = Slot(name=place.slot.name, said=PULLED)
            self._event("pulled", place, **(place.told or {}), said=PULLED)
            place.told = None
            return
        ticket = barcode_scans.take(db, drive.identity.key())
        try:
            place.test = self._begin(drive, place.slot.name, ticket)
        except OSError as error:
            message = f"its test could not be started: {error.strerror}"
            place.slot = replace(place.slot, state=HERE, until=None, said=message)
            self._event("failed", place, **drive_words(drive), said=message)
            return
        place.slot = replace(place.slot, state=TESTING, until=None, said=None)
        self._tell_begun(drive, place.slot.name, ticket)

    def _tell_begun(self, drive: Drive, slot: str | None, ticket: Ticket) -> None:
        self._tell(
            begun_line(drive, time=utc_now(), slot=slot, labels=ticket.to_json(),
                       scanned=ticket.serial)
        )  # fmt: skip

    def _ended(self, place: _Place, test: Test) -> Slot:
        slot, verdict = place.slot, test.verdict()
        if "error" in verdict:
            message = verdict["error"]["message"]
            self._event(
                "verdict", place, drive=slot.code, model=slot.model, verdict="inconclusive",
                exit_code=verdict["error"]["code"], why=message,
            )  # fmt: skip
            return replace(slot, state=DONE, word="inconclusive", said=message)
        self._tell_of(verdict)
        return replace(
            slot,
            state=DONE,
            verdict=verdict.get("number"),
            word=verdict["verdict"],
            said=verdict["why"],
        )

    def handle_request(self, body: Mapping[str, Any]) -> None:
        """Carry out a request: `{"slot": NAME, "do": "stop"}` ends a countdown or a test (beside
        the slots by its place's name), "again" begins a new countdown for the drive that is
        there; `{"recipe": NAME, "drive": CODE, "identity_key": KEY, "diskseq": N, "erase": CODE or
        None}` tests that drive. BadInput, Refused."""
        if "recipe" in body:
            self._want(body)
            return
        name, action = body.get("slot"), body.get("do")
        place = next((one for one in self._all() if one.slot.name == name), None)
        if place is None:
            there = ", ".join(one.slot.name for one in self._all()) or "none"
            raise BadInput(f"slot: there is no such slot; there are: {there}", field="slot")
        state = place.slot.state
        if action == "stop" and state == COUNTDOWN:
            place.slot = replace(place.slot, state=STOPPED, until=None)
            self._event("stopped", place, **(place.told or {}), what=COUNTDOWN)
        elif action == "stop" and place.test is not None:
            place.test.end()
            self._event("stopped", place, **(place.told or {}), what="test")
        elif action == "again" and (self._begin is None or place.beside):
            message = self._why_not or "no recipe starts by itself here (autostart)"
            raise BadInput(f"do: {message}", field="do")
        elif action == "again" and state in (STOPPED, DONE) and place.diskseq is not None:
            # Said of the slot as it was: the drive that is there now was seen being plugged in.
            drive = next((one for one in self._drives if one.diskseq == place.diskseq), None)
            if drive is None:
                raise BadInput("do: the drive was pulled out just now", field="do")
            place.slot = self._counting(place, place.slot, drive)
            self._count(place)
        else:
            raise BadInput(f"do: {action!r} is not to be had of a slot that is {state}", field="do")

    def _want(self, body: Mapping[str, Any]) -> None:
        if self._wanted is None:
            raise BadInput("recipe: no test can be asked for here", field="recipe")
        identifiers = [body.get(name) for name in ("drive", "identity_key", "diskseq")]
        drive = next(
            (one for one in self._drives
             if [one.code, one.identity.key(), one.diskseq] == identifiers), None
        )  # fmt: skip
        if drive is None:
            raise BadInput(
                "drive: it was unplugged or replaced since it was chosen; look again", field="drive"
            )
        key = drive.identity.key()
        testing = {place.slot.drive_key for place in self._all() if place.test is not None}
        waiting = {one.identity.key() for one, _ in self._wishes}
        if key in testing | waiting:
            raise Refused(f"drive: {drive.code} is being tested", field="drive")
        self._wishes.append((drive, self._wanted(body, drive)))

    def close(self) -> None:
        """End the tests that are on and wait for their verdicts: the agent ends."""
        on = [(place, place.test) for place in self._all() if place.test is not None]
        for _, test in on:
            test.end()
        for place, test in on:
            with contextlib.suppress(Exception):
                self._ended(place, test)
