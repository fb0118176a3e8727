"""Hands-free: a drive that is plugged into one of the bench's ports is tested by itself.

Only one that the agent saw being plugged in, after a countdown that can be stopped. What the recipe
may do to it is not decided here: the process that carries it out looks for the drive anew and keeps
the rules for erasing.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from benchstick.drives.model import Drive
from benchstick.drives.slots import slot_of
from benchstick.drives.tree import Tree
from benchstick.plan.errors import BadInput
from benchstick.plan.ticket import Ticket
from benchstick.store import scans, slots
from benchstick.store.slots import COUNTDOWN, DONE, HERE, STOPPED, TESTING, Slot

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


# A bridge that resets drops its drive for some seconds: that is not another one plugged in.
RESET_SECONDS = 10.0


@dataclass
class _Place:
    slot: Slot
    # The kernel's count of the disk that was dealt with: one plugged in again has another.
    diskseq: int | None = None
    test: Test | None = None
    # By a clock that nobody sets.
    deadline: float = 0.0
    gone: float | None = None


class Hands:
    """The slots of a bench. `ports` are the setting `bench_ports`, `seconds` the countdown's;
    `begin` begins a test, None when no recipe is set to start by itself."""

    def __init__(
        self,
        ports: Mapping[str, Sequence[str]],
        seconds: float,
        begin: Begin | None,
        tree: Tree | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ports, self._seconds, self._begin = ports, seconds, begin
        self._tree = tree or Tree()
        self._now = now
        self._places = {name: _Place(Slot(name=name)) for name in ports}
        self._kept: list[Slot] | None = None

    def look(self, drives: Sequence[Drive], seen: Collection[int]) -> None:
        """Take in which drives are there; `seen` are those that were plugged in while the agent
        watched, by diskseq."""
        for name, place in self._places.items():
            there = [
                drive for drive in drives
                if slot_of(self._tree, drive.identity.port, self._ports) == name
            ]  # fmt: skip
            self._look_at(place, there, seen)

    def _look_at(self, place: _Place, there: Sequence[Drive], seen: Collection[int]) -> None:
        if place.test is not None:
            # Its own process notices when the drive is gone.
            return
        if not there:
            if place.slot.state != DONE:
                place.slot = Slot(name=place.slot.name)
            if place.diskseq is not None:
                place.diskseq, place.gone = None, self._now()
            return
        if len(there) > 1:
            place.slot = Slot(name=place.slot.name, state=HERE, said=SEVERAL)
            place.diskseq = None
            return
        drive = there[0]
        if drive.diskseq is not None and drive.diskseq == place.diskseq:
            return
        back = place.gone is None or self._now() - place.gone < RESET_SECONDS
        place.diskseq, place.gone = drive.diskseq, None
        if place.slot.state == DONE and place.slot.drive_key == drive.identity.key() and back:
            return
        place.slot = self._new(place, drive, seen)

    def _new(self, place: _Place, drive: Drive, seen: Collection[int]) -> Slot:
        slot = Slot(
            name=place.slot.name, state=HERE, drive_key=drive.identity.key(), code=drive.code,
            model=drive.identity.model,
        )  # fmt: skip
        if self._begin is None:
            return slot
        if drive.diskseq is None or drive.diskseq not in seen:
            return replace(slot, said=NOT_SEEN)
        return self._counting(place, slot)

    def _counting(self, place: _Place, slot: Slot) -> Slot:
        place.deadline = self._now() + self._seconds
        return replace(
            slot, state=COUNTDOWN, until=time.time() + self._seconds, verdict=None, word=None,
            said=None,
        )  # fmt: skip

    def tick(self, db: sqlite3.Connection, drives: Sequence[Drive]) -> bool:
        """Begin the tests whose countdown has ended, take in those that have ended, and tell;
        whether one has ended."""
        ended = False
        for place in self._places.values():
            if place.test is not None and not place.test.is_alive():
                place.slot = self._ended(place.slot, place.test)
                place.test = None
                ended = True
            elif place.slot.state == COUNTDOWN and place.deadline <= self._now():
                self._start(db, place, drives)
        found = [place.slot for place in self._places.values()]
        if found != self._kept:
            slots.keep(db, found)
            self._kept = found
        return ended

    def _start(self, db: sqlite3.Connection, place: _Place, drives: Sequence[Drive]) -> None:
        drive = next((one for one in drives if one.diskseq == place.diskseq), None)
        if drive is None or self._begin is None:
            place.slot = Slot(name=place.slot.name, said=PULLED)
            return
        ticket = scans.take(db, drive.identity.key())
        try:
            place.test = self._begin(drive, place.slot.name, ticket)
        except OSError as error:
            said = f"its test could not be started: {error.strerror}"
            place.slot = replace(place.slot, state=HERE, until=None, said=said)
            return
        place.slot = replace(place.slot, state=TESTING, until=None, said=None)

    @staticmethod
    def _ended(slot: Slot, test: Test) -> Slot:
        found = test.verdict()
        if "error" in found:
            return replace(slot, state=DONE, word="inconclusive", said=found["error"]["message"])
        return replace(
            slot, state=DONE, verdict=found.get("number"), word=found["verdict"], said=found["why"]
        )

    def asked(self, body: Mapping[str, Any]) -> None:
        """Carry out a request: `{"slot": NAME, "do": "stop"}` ends a countdown or a test, "again"
        begins a new countdown for the drive that is there. BadInput."""
        name, wanted = body.get("slot"), body.get("do")
        place = self._places.get(name) if isinstance(name, str) else None
        if place is None:
            there = ", ".join(self._places) or "none"
            raise BadInput(f"slot: there is no such slot; there are: {there}", field="slot")
        state = place.slot.state
        if wanted == "stop" and state == COUNTDOWN:
            place.slot = replace(place.slot, state=STOPPED, until=None)
        elif wanted == "stop" and place.test is not None:
            place.test.end()
        elif wanted == "again" and state in (STOPPED, DONE) and place.diskseq is not None:
            # Said of the slot as it was: the drive that is there now was seen being plugged in.
            place.slot = self._counting(place, place.slot)
        else:
            raise BadInput(f"do: {wanted!r} is not to be had of a slot that is {state}", field="do")

    def close(self) -> None:
        """End the tests that are on and wait for their verdicts: the agent ends."""
        tests = [place.test for place in self._places.values() if place.test is not None]
        for test in tests:
            test.end()
        for test in tests:
            with contextlib.suppress(Exception):
                test.verdict()
