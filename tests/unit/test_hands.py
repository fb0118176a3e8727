"""Unattended tests: which drive is tested, when, and what prevents a test."""

from __future__ import annotations

import contextlib
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive, Guard, Identity
from benchstick.errors import BadInput, Refused
from benchstick.plan.labels import Ticket
from benchstick.plan.states import GuardState
from benchstick.qa import autostart_rules, parallel_drives
from benchstick.qa.autostart import NOT_SEEN, PULLED, RESET_SECONDS, SEVERAL, Begin, BenchSlots
from benchstick.recipes import shelf
from benchstick.recipes.limits import Evidence
from benchstick.recipes.parser import read
from benchstick.recipes.verdict import Attempt, judge
from benchstick.store import barcode_scans, bays, database, recipes, settings


def build_verdict(number: int, word: str, reason: str | None) -> dict[str, Any]:
    """A verdict on the drive of these tests."""
    evidence = Evidence(drive={**drive().to_json(), "transport": {"value": "usb-uas"}})
    stamp = "2026-01-31T12:00:00.000Z"
    recipe = read(b'[[suite]]\nname = "cdm"\n[[limit]]\nfact = "trim"\nop = "=="\nvalue = true\n',
                  "r.toml")  # fmt: skip
    attempt = Attempt(evidence=evidence, seconds=1.0, started_utc=stamp, ended_utc=stamp)
    exits = {"pass": 0, "fail": 1, "inconclusive": 5}
    return {**judge(recipe, attempt), "number": number, "verdict": word, "reason": reason,
            "exit_code": exits[word]}  # fmt: skip


class Test:
    """A test of a drive that ends on request."""

    __test__ = False

    def __init__(self, drive: Drive, slot: str, ticket: Ticket) -> None:
        self.drive, self.slot, self.ticket = drive, slot, ticket
        self.document: dict[str, Any] | None = None

    def is_alive(self) -> bool:
        return self.document is None

    def end(self) -> None:
        self.document = build_verdict(9, "inconclusive", "cancelled")

    def verdict(self) -> Mapping[str, Any]:
        assert self.document is not None
        return self.document


class Bench:
    """Two slots, a countdown of 10 s, and a clock that the tests set."""

    def __init__(self, db: sqlite3.Connection, root: Path, *, recipe: bool = True) -> None:
        self.db = db
        self.clock = 1000.0
        self.tests: list[Test] = []
        self.drives: list[Drive] = []
        self.lines: list[str] = []
        self.slots = BenchSlots(
            {"slot 1": ("2-1",), "slot 2": ("2-2",)},
            10.0,
            self.begin if recipe else None,
            Tree(root),
            lambda: self.clock,
            self.lines.append,
        )

    def take_events(self) -> list[dict[str, str]]:
        """The events since the last call, without their times."""
        events = [dict(word.split("=", 1) for word in shlex.split(line)) for line in self.lines]
        self.lines.clear()
        assert all(words.pop("time").endswith("Z") for words in events)
        return events

    def begin(self, drive: Drive, slot: str, ticket: Ticket) -> Test:
        self.tests.append(Test(drive, slot, ticket))
        return self.tests[-1]

    def go(self, seconds: float = 0, hotplugs: tuple[int, ...] = (5, 6, 7, 8)) -> dict[str, Any]:
        """Time passes, the agent looks; slot 1 as the page has it."""
        self.clock += seconds
        self.slots.look(self.drives, hotplugs)
        self.slots.tick(self.db, self.drives)
        return bays.list_slots(self.db)[0]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        yield Bench(db, tmp_path)


def drive(diskseq: int | None = 5, port: str = "2-1", serial: str = "S1") -> Drive:
    return Drive(
        name="sda", path="/dev/sda", devno="8:0", diskseq=diskseq, code=serial,
        identity=Identity(serial, "Model", None, None, 10**9, port, 0),
        guard=Guard(GuardState.FREE, ""),
    )  # fmt: skip


def test_a_drive_is_tested_after_the_countdown_once(bench: Bench) -> None:
    assert bench.go()["state"] == "empty"
    barcode_scans.keep(bench.db, "scanner", "A-1", "asset", "A-1")
    bench.drives = [drive()]
    slot = bench.go()
    assert (slot["state"], slot["code"], slot["model"]) == ("countdown", "S1", "Model")
    assert bench.go(9.9)["state"] == "countdown"
    assert bench.tests == []
    assert bench.go(0.1)["state"] == "testing"
    (test,) = bench.tests
    assert (test.slot, test.drive.code, test.ticket) == ("slot 1", "S1", Ticket(asset="A-1"))
    assert bench.go(100)["state"] == "testing"
    test.document = build_verdict(3, "fail", "too slow")
    slot = bench.go(1)
    assert [slot[name] for name in ("state", "verdict_number", "verdict", "message")] == [
        "done", 3, "fail", "too slow",
    ]  # fmt: skip
    assert bench.go(1000)["state"] == "done"
    assert len(bench.tests) == 1
    # The verdict stays after the drive is pulled, until another drive comes.
    bench.drives = []
    assert bench.go(1000)["verdict"] == "fail"
    bench.drives = [drive(6, serial="S2")]
    slot = bench.go()
    assert (slot["state"], slot["verdict"], slot["code"]) == ("countdown", None, "S2")


def test_a_shared_link_is_reported_before_the_drives_test(bench: Bench, tmp_path: Path) -> None:
    root = tmp_path / "sys/devices/pci0000:00/0000:00:14.0/usb2"
    for name, port in (("sda", "2-1/2-1.1"), ("sdb", "2-1/2-1.2")):
        (root / port / "block" / name).mkdir(parents=True)
        (tmp_path / "sys/block").mkdir(exist_ok=True)
        (tmp_path / "sys/block" / name).symlink_to(root / port / "block" / name)
    for port in ("2-1", "2-1/2-1.1", "2-1/2-1.2"):
        (root / port / "idVendor").write_text("0bda\n", encoding="ascii")
        (root / port / "speed").write_text("5000\n", encoding="ascii")
    bench.drives = [drive()]
    assert bench.go()["message"] is None
    bench.go(10)
    bench.drives.append(replace(drive(6, "2-2", "S2"), name="sdb"))
    bench.take_events()
    bench.go()
    message = "USB hub 2-1 is shared by S1, S2: 500 MB/s at most, 250 each"
    one, two = bays.list_slots(bench.db)
    assert (one["state"], two["state"], two["message"]) == ("testing", "countdown", message)
    assert [(words["event"], words.get("message")) for words in bench.take_events()] == [
        ("plugged", None), ("countdown", message),
    ]  # fmt: skip


def test_only_a_drive_plugged_in_while_the_agent_runs_is_tested(bench: Bench) -> None:
    bench.drives = [drive()]
    slot = bench.go(hotplugs=())
    assert (slot["state"], slot["message"]) == ("here", NOT_SEEN)
    assert bench.go(1000)["state"] == "here", "an agent that sees it later has not seen it come"
    bench.drives = [drive(None)]
    assert bench.go()["state"] == "here"
    assert bench.tests == []


def test_drives_on_other_ports_are_not_tested(bench: Bench) -> None:
    bench.drives = [drive(port="2-3"), drive(port="ata1")]
    assert bench.go(1000)["state"] == "empty"
    assert bench.tests == []


def test_two_drives_in_one_slot_are_not_tested(bench: Bench) -> None:
    bench.drives = [drive(5), drive(6, serial="S2")]
    slot = bench.go(1000)
    assert (slot["state"], slot["message"]) == ("here", SEVERAL)
    bench.drives = [drive(5)]
    assert bench.go()["state"] == "countdown"


def test_a_stopped_countdown_stays_stopped(bench: Bench) -> None:
    bench.drives = [drive()]
    bench.go()
    bench.slots.handle_request({"slot": "slot 1", "do": "stop"})
    assert bench.go(1000)["state"] == "stopped"
    assert bench.tests == []
    bench.slots.handle_request({"slot": "slot 1", "do": "again"})
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
    # Gone between two scans.
    bench.clock += 1
    bench.slots.tick(bench.db, [])
    assert bays.list_slots(bench.db)[0]["message"] == PULLED
    assert bench.tests == []


def test_a_bridge_that_resets_is_not_tested_again(bench: Bench) -> None:
    bench.drives = [drive(5)]
    bench.go()
    bench.go(10)
    # It came back as another disk while it was tested, and once more after.
    bench.drives = [drive(6)]
    bench.go(1)
    bench.tests[0].document = build_verdict(1, "pass", None)
    bench.go(1)
    assert bench.go(1)["verdict"] == "pass"
    bench.drives = []
    bench.go(1)
    bench.drives = [drive(7)]
    assert bench.go(RESET_SECONDS - 2)["verdict"] == "pass"
    # A drive that is removed and plugged in again is tested again.
    bench.drives = []
    bench.go(1)
    bench.drives = [drive(8)]
    assert bench.go(RESET_SECONDS)["state"] == "countdown"
    assert len(bench.tests) == 1


def test_a_test_is_ended_and_gives_its_verdict(bench: Bench) -> None:
    bench.drives = [drive()]
    bench.go()
    bench.go(10)
    bench.slots.handle_request({"slot": "slot 1", "do": "stop"})
    slot = bench.go()
    assert (slot["state"], slot["verdict"], slot["message"]) == (
        "done",
        "inconclusive",
        "cancelled",
    )
    bench.slots.handle_request({"slot": "slot 1", "do": "again"})
    bench.go(10)
    assert len(bench.tests) == 2
    bench.slots.close()
    assert bench.tests[1].document is not None


def test_a_test_without_a_verdict(bench: Bench) -> None:
    bench.drives = [drive()]
    bench.go()
    bench.go(10)
    bench.tests[0].document = {"error": {"code": 6, "message": "the store failed"}}
    slot = bench.go()
    assert (slot["verdict"], slot["message"]) == ("inconclusive", "the store failed")


OF = {"slot": "slot 1", "drive": "S1", "model": "Model", "serial": "S1", "port": "2-1"}


def test_each_event_is_reported_as_it_happens(bench: Bench) -> None:
    bench.go()
    assert bench.take_events() == []
    bench.drives = [drive()]
    bench.go()
    assert bench.take_events() == [
        {"event": "plugged", **OF}, {"event": "countdown", **OF, "seconds": "10"},
    ]  # fmt: skip
    bench.go(5)
    assert bench.take_events() == []
    bench.slots.handle_request({"slot": "slot 1", "do": "stop"})
    assert bench.take_events() == [{"event": "stopped", **OF, "phase": "countdown"}]
    bench.slots.handle_request({"slot": "slot 1", "do": "again"})
    assert bench.take_events() == [{"event": "countdown", **OF, "seconds": "10"}]
    barcode_scans.keep(bench.db, "scanner", "A-1", "asset", "A-1")
    bench.go(10)
    assert bench.take_events() == [{"event": "started", **OF, "asset": "A-1"}]
    bench.slots.handle_request({"slot": "slot 1", "do": "stop"})
    assert bench.take_events() == [{"event": "stopped", **OF, "phase": "test"}]
    bench.go()
    *_, last = bench.take_events()
    assert (last["event"], last["verdict"], last["reason"]) == (
        "verdict",
        "inconclusive",
        "cancelled",
    )
    bench.go(10)
    assert bench.take_events() == []
    bench.drives = []
    bench.go()
    bench.go(3)
    assert bench.take_events() == [{"event": "pulled", **OF}]


def test_a_drive_that_is_not_tested_is_reported_once_with_the_reason(bench: Bench) -> None:
    bench.drives = [drive(), drive(6, port="2-2", serial="S2")]
    bench.go(hotplugs=(6,))
    bench.go(3, hotplugs=(6,))
    events = bench.take_events()
    assert [(words["event"], words["slot"]) for words in events] == [
        ("plugged", "slot 1"), ("plugged", "slot 2"), ("countdown", "slot 2"),
    ]  # fmt: skip
    assert events[0]["message"] == NOT_SEEN and "message" not in events[1]
    bench.drives = [drive(), drive(7, serial="S3")]
    bench.go()
    bench.go(3)
    events = bench.take_events()
    assert [words["event"] for words in events] == ["plugged", "pulled"]
    assert (events[0]["drive"], events[0]["message"]) == ("S1,S3", SEVERAL)
    # A kernel that does not count its disks.
    bench.drives = [drive(None)]
    bench.go()
    bench.go(3)
    assert [words["event"] for words in bench.take_events()] == ["plugged"]


def test_a_test_that_has_no_verdict_and_one_that_the_end_of_the_agent_ends(bench: Bench) -> None:
    bench.drives = [drive(), drive(6, port="2-2", serial="S2")]
    bench.go()
    bench.go(10)
    bench.tests[0].document = {"error": {"code": 6, "message": "the store failed"}}
    bench.go()
    assert bench.take_events()[-1] == {
        "event": "verdict", "slot": "slot 1", "drive": "S1", "model": "Model",
        "verdict": "inconclusive", "exit_code": "6", "reason": "the store failed",
    }  # fmt: skip
    bench.slots.close()
    last = bench.take_events()[-1]
    assert (last["event"], last["reason"]) == ("verdict", "cancelled")


def test_without_a_recipe_nothing_starts(tmp_path: Path) -> None:
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        bench = Bench(db, tmp_path, recipe=False)
        bench.drives = [drive()]
        assert bench.go(1000)["state"] == "here"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "there are: slot 1, slot 2"),
        ({"slot": "slot 3", "do": "stop"}, "no such slot"),
        ({"slot": ["slot 1"], "do": "stop"}, "no such slot"),
        ({"slot": "slot 1"}, "None is not possible for a slot that is empty"),
        ({"slot": "slot 1", "do": "again"}, "'again' is not possible"),
    ],
)
def test_odd_requests(bench: Bench, body: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadInput) as error:
        bench.slots.handle_request(body)
    assert expected in error.value.message


# ---- requested tests


class Asking(Bench):
    """A bench that accepts requests for tests. `requests` has recipe and drive of each."""

    def __init__(self, db: sqlite3.Connection, root: Path) -> None:
        super().__init__(db, root)
        self.slots = BenchSlots(
            {"slot 1": ("2-1",), "slot 2": ("2-2",)}, 10.0, self.begin, Tree(root),
            lambda: self.clock, self.lines.append, self.accept,
        )  # fmt: skip
        self.requests: list[tuple[Any, str]] = []

    def accept(self, body: Mapping[str, Any], drive: Drive) -> Begin:
        self.requests.append((body["recipe"], drive.code))
        return self.begin


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        yield Asking(db, tmp_path)


def wish(of: Drive, **more: Any) -> dict[str, Any]:
    return {"recipe": "mine", "drive": of.code, "drive_key": of.identity.key(),
            "diskseq": of.diskseq, "erase": None, **more}  # fmt: skip


def test_a_requested_test_starts_at_once_in_its_slot(asking: Asking) -> None:
    asking.drives = [drive()]
    # It was already connected when the bench started: nothing starts automatically.
    assert asking.go(hotplugs=())["state"] == "here"
    barcode_scans.keep(asking.db, "page", "A-1", "asset", "A-1")
    asking.slots.handle_request(wish(drive()))
    slot = asking.go(hotplugs=())
    assert (slot["state"], slot["code"], slot["message"]) == ("testing", "S1", None)
    assert asking.requests == [("mine", "S1")]
    assert (asking.tests[0].slot, asking.tests[0].ticket.asset) == ("slot 1", "A-1")
    with pytest.raises(Refused, match="is being tested"):
        asking.slots.handle_request(wish(drive()))
    asking.tests[0].document = build_verdict(4, "pass", None)
    assert asking.go(hotplugs=())["verdict"] == "pass"
    assert len(asking.tests) == 1
    events = asking.take_events()
    assert events[:2] == [
        {"event": "plugged", **OF, "message": NOT_SEEN}, {"event": "started", **OF, "asset": "A-1"},
    ]  # fmt: skip
    assert (events[-1]["event"], events[-1]["verdict"]) == ("verdict", "pass")


def test_it_takes_the_place_of_a_countdown(asking: Asking) -> None:
    asking.drives = [drive()]
    assert asking.go()["state"] == "countdown"
    asking.slots.handle_request(wish(drive()))
    assert asking.go(60)["state"] == "testing"
    assert len(asking.tests) == 1


def test_a_requested_test_runs_outside_the_slots_as_well(asking: Asking) -> None:
    other = drive(9, "5-1", "S9")
    asking.drives = [other]
    asking.go()
    asking.slots.handle_request(wish(other))
    assert asking.go()["state"] == "empty"
    *_, own = bays.list_slots(asking.db)
    assert (own["name"], own["state"], own["code"]) == ("port 5-1", "testing", "S9")
    with pytest.raises(Refused, match="is being tested"):
        asking.slots.handle_request(wish(other))
    with pytest.raises(BadInput, match="no recipe starts automatically here"):
        asking.slots.handle_request({"slot": "port 5-1", "do": "again"})
    asking.slots.handle_request({"slot": "port 5-1", "do": "stop"})
    assert asking.slots.tick(asking.db, asking.drives) is True
    *_, own = bays.list_slots(asking.db)
    assert (own["state"], own["verdict"], own["verdict_number"]) == ("done", "inconclusive", 9)
    asking.slots.handle_request(wish(other))
    asking.go()
    assert [slot["state"] for slot in bays.list_slots(asking.db)] == ["empty", "empty", "testing"]
    asking.slots.close()
    assert [test.document is not None for test in asking.tests] == [True, True]
    lines = [
        words
        for words in asking.take_events()
        if words["event"] in ("started", "stopped", "verdict")
    ]
    events = [words["event"] for words in lines]
    assert events == ["started", "stopped", "verdict", "started", "verdict"]
    assert (lines[1]["drive"], lines[1]["phase"], lines[1].get("slot")) == ("S9", "test", None)
    assert (lines[0]["drive"], lines[0].get("slot")) == ("S9", None)


def test_an_ended_test_outside_the_slots_is_shown_for_a_while(asking: Asking) -> None:
    asking.drives = [drive(at, f"5-{at}", f"S{at}") for at in range(10, 16)]
    asking.go()
    for one in asking.drives:
        asking.slots.handle_request(wish(one))
        asking.go()
        asking.tests[-1].end()
        asking.go()
    names = [slot["name"] for slot in bays.list_slots(asking.db)[2:]]
    assert names == ["port 5-12", "port 5-13", "port 5-14", "port 5-15"]
    # Two LUNs behind one port, and one of them in a slot with its neighbour.
    two = [drive(20, "2-1", "S20"), drive(21, "2-1", "S21")]
    asking.drives = two
    asking.go()
    for one in two:
        asking.slots.handle_request(wish(one))
    asking.go(61)
    names = [slot["name"] for slot in bays.list_slots(asking.db)[2:]]
    assert names == ["port 2-1", "port 2-1 (S21)"]
    for test in asking.tests:
        test.end()
    asking.drives = []
    asking.go()
    asking.go(59)
    assert len(bays.list_slots(asking.db)) == 4
    asking.go(61)
    assert len(bays.list_slots(asking.db)) == 2


@pytest.mark.parametrize(
    "other", [{"drive": "S2"}, {"drive_key": "x"}, {"diskseq": 6}, {"diskseq": None}]
)
def test_another_drive_than_was_chosen_is_not_tested(asking: Asking, other: dict[str, Any]) -> None:
    asking.drives = [drive()]
    asking.go(hotplugs=())
    with pytest.raises(BadInput, match="unplugged or replaced"):
        asking.slots.handle_request(wish(drive(), **other))
    asking.go(hotplugs=())
    assert asking.tests == []


def test_a_request_of_the_page_is_checked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Any] = []
    monkeypatch.setattr(parallel_drives, "Child", lambda request, home: requests.append(request))
    monkeypatch.setattr(shelf, "folder", lambda: tmp_path / "none")
    good = "[[suite]]\nname = 'cdm'\n[[limit]]\npeak = 'temperature'\nop = '<='\nvalue = 70\n"
    with contextlib.closing(database.open_writer(tmp_path)) as db:
        recipes.save(db, "good", good)
        recipes.save(db, "bad", "speed = 1")
        station = autostart_rules.make_slots(
            settings.read("", "test"), tmp_path, tell=lambda line: None
        )
        station.look([drive()], ())
        for body, error, message in (
            ({"recipe": "bad"}, BadInput, "bad.toml:1: 'speed'"),
            ({"recipe": "none"}, BadInput, "no such file"),
            ({"recipe": 5}, BadInput, "a recipe's name"),
            ({"recipe": "good", "erase": "S2"}, Refused, "not the code of S1"),
        ):
            with pytest.raises(error, match=message):
                station.handle_request(wish(drive(), **body))
        station.handle_request(wish(drive(), recipe="good", erase="S1"))
        station.tick(db, [drive()])
    assert [
        (item.drive.code, item.test_request.erase, item.test_request.own_folders)
        for item in requests
    ] == [("S1", "S1", False)]
    assert requests[0].test_request.recipe == read(good.encode(), "good.toml")
