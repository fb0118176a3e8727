"""Hands-free: which drive is tested by itself, when, and what keeps it from being tested."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives.model import Drive, Guard, Identity
from benchstick.drives.tree import Tree
from benchstick.plan.errors import BadInput
from benchstick.plan.ticket import Ticket
from benchstick.recipes.hands import NOT_SEEN, PULLED, RESET_SECONDS, SEVERAL, Hands
from benchstick.store import database, scans, slots


class Test:
    """A test of a drive that ends when it is told to."""

    __test__ = False

    def __init__(self, drive: Drive, slot: str, ticket: Ticket) -> None:
        self.drive, self.slot, self.ticket = drive, slot, ticket
        self.found: dict[str, Any] | None = None

    def is_alive(self) -> bool:
        return self.found is None

    def end(self) -> None:
        self.found = {"number": 9, "verdict": "inconclusive", "why": "cancelled"}

    def verdict(self) -> Mapping[str, Any]:
        assert self.found is not None
        return self.found


class Bench:
    """Two slots, a countdown of 10 s, and a clock that is turned by hand."""

    def __init__(self, db: sqlite3.Connection, root: Path, *, recipe: bool = True) -> None:
        self.db = db
        self.clock = 1000.0
        self.tests: list[Test] = []
        self.drives: list[Drive] = []
        self.hands = Hands(
            {"slot 1": ("2-1",), "slot 2": ("2-2",)},
            10.0,
            self.begin if recipe else None,
            Tree(root),
            lambda: self.clock,
        )

    def begin(self, drive: Drive, slot: str, ticket: Ticket) -> Test:
        self.tests.append(Test(drive, slot, ticket))
        return self.tests[-1]

    def go(self, seconds: float = 0, seen: tuple[int, ...] = (5, 6, 7, 8)) -> dict[str, Any]:
        """Time passes, the agent looks; slot 1 as the page has it."""
        self.clock += seconds
        self.hands.look(self.drives, seen)
        self.hands.tick(self.db, self.drives)
        return slots.listed(self.db)[0]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        yield Bench(db, tmp_path)


def drive(diskseq: int | None = 5, port: str = "2-1", serial: str = "S1") -> Drive:
    return Drive(
        name="sda", path="/dev/sda", devno="8:0", diskseq=diskseq, code=serial,
        identity=Identity(serial, "Model", None, None, 10**9, port, 0), guard=Guard("free", ""),
    )  # fmt: skip


def test_a_drive_is_tested_after_the_countdown_once(bench: Bench) -> None:
    assert bench.go()["state"] == "empty"
    scans.keep(bench.db, "scanner", "A-1", "asset", "A-1")
    bench.drives = [drive()]
    slot = bench.go()
    assert (slot["state"], slot["code"], slot["model"]) == ("countdown", "S1", "Model")
    assert bench.go(9.9)["state"] == "countdown"
    assert bench.tests == []
    assert bench.go(0.1)["state"] == "testing"
    (test,) = bench.tests
    assert (test.slot, test.drive.code, test.ticket) == ("slot 1", "S1", Ticket(asset="A-1"))
    assert bench.go(100)["state"] == "testing"
    test.found = {"number": 3, "verdict": "fail", "why": "too slow"}
    slot = bench.go(1)
    assert [slot[name] for name in ("state", "verdict", "word", "said")] == [
        "done", 3, "fail", "too slow",
    ]  # fmt: skip
    assert bench.go(1000)["state"] == "done"
    assert len(bench.tests) == 1
    # The verdict stays to be read when the drive is pulled, until another one comes.
    bench.drives = []
    assert bench.go(1000)["word"] == "fail"
    bench.drives = [drive(6, serial="S2")]
    slot = bench.go()
    assert (slot["state"], slot["word"], slot["code"]) == ("countdown", None, "S2")


def test_only_what_was_seen_being_plugged_in(bench: Bench) -> None:
    bench.drives = [drive()]
    slot = bench.go(seen=())
    assert (slot["state"], slot["said"]) == ("here", NOT_SEEN)
    assert bench.go(1000)["state"] == "here", "an agent that sees it later has not seen it come"
    bench.drives = [drive(None)]
    assert bench.go()["state"] == "here"
    assert bench.tests == []


def test_other_ports_are_nobodys(bench: Bench) -> None:
    bench.drives = [drive(port="2-3"), drive(port="ata1")]
    assert bench.go(1000)["state"] == "empty"
    assert bench.tests == []


def test_two_drives_in_one_slot_are_not_tested(bench: Bench) -> None:
    bench.drives = [drive(5), drive(6, serial="S2")]
    slot = bench.go(1000)
    assert (slot["state"], slot["said"]) == ("here", SEVERAL)
    bench.drives = [drive(5)]
    assert bench.go()["state"] == "countdown"


def test_a_countdown_that_is_stopped_stays_so(bench: Bench) -> None:
    bench.drives = [drive()]
    bench.go()
    bench.hands.asked({"slot": "slot 1", "do": "stop"})
    assert bench.go(1000)["state"] == "stopped"
    assert bench.tests == []
    bench.hands.asked({"slot": "slot 1", "do": "again"})
    assert bench.go(9)["state"] == "countdown"
    assert bench.go(1)["state"] == "testing"


def test_a_drive_that_is_pulled_in_its_countdown(bench: Bench) -> None:
    bench.drives = [drive()]
    bench.go()
    bench.drives = []
    assert bench.go(1)["state"] == "empty"
    bench.drives = [drive(6)]
    assert bench.go(9.5)["state"] == "countdown"
    assert bench.go(9.5)["state"] == "countdown", "a new one, from its start"
    # Gone between two looks.
    bench.clock += 1
    bench.hands.tick(bench.db, [])
    assert slots.listed(bench.db)[0]["said"] == PULLED
    assert bench.tests == []


def test_a_bridge_that_resets_is_not_tested_again(bench: Bench) -> None:
    bench.drives = [drive(5)]
    bench.go()
    bench.go(10)
    # It came back as another disk while it was tested, and once more after.
    bench.drives = [drive(6)]
    bench.go(1)
    bench.tests[0].found = {"number": 1, "verdict": "pass", "why": None}
    bench.go(1)
    assert bench.go(1)["word"] == "pass"
    bench.drives = []
    bench.go(1)
    bench.drives = [drive(7)]
    assert bench.go(RESET_SECONDS - 2)["word"] == "pass"
    # Somebody who takes it out and brings it back wants it tested.
    bench.drives = []
    bench.go(1)
    bench.drives = [drive(8)]
    assert bench.go(RESET_SECONDS)["state"] == "countdown"
    assert len(bench.tests) == 1


def test_a_test_is_ended_and_gives_its_verdict(bench: Bench) -> None:
    bench.drives = [drive()]
    bench.go()
    bench.go(10)
    bench.hands.asked({"slot": "slot 1", "do": "stop"})
    slot = bench.go()
    assert (slot["state"], slot["word"], slot["said"]) == ("done", "inconclusive", "cancelled")
    bench.hands.asked({"slot": "slot 1", "do": "again"})
    bench.go(10)
    assert len(bench.tests) == 2
    bench.hands.close()
    assert bench.tests[1].found is not None


def test_a_test_without_a_verdict(bench: Bench) -> None:
    bench.drives = [drive()]
    bench.go()
    bench.go(10)
    bench.tests[0].found = {"error": {"code": 6, "message": "the store failed"}}
    slot = bench.go()
    assert (slot["word"], slot["said"]) == ("inconclusive", "the store failed")


def test_without_a_recipe_nothing_starts(tmp_path: Path) -> None:
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        bench = Bench(db, tmp_path, recipe=False)
        bench.drives = [drive()]
        assert bench.go(1000)["state"] == "here"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "there are: slot 1, slot 2"),
        ({"slot": "slot 3", "do": "stop"}, "no such slot"),
        ({"slot": ["slot 1"], "do": "stop"}, "no such slot"),
        ({"slot": "slot 1"}, "None is not to be had of a slot that is empty"),
        ({"slot": "slot 1", "do": "again"}, "'again' is not to be had"),
    ],
)
def test_odd_requests(bench: Bench, body: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as told:
        bench.hands.asked(body)
    assert said in told.value.message
