"""Which internal drives count as plugged in while the agent was running: few, none wrongly."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchstick import paths
from benchstick.agent import hotplugged
from benchstick.agent.agent import Agent
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.plan.states import GuardState, RequestState
from benchstick.store import agent_requests, auth, database, locks


def drive(serial: str, diskseq: int, transport: str = "sata") -> Drive:
    return Drive(
        name="sdx",
        path="/dev/sdx",
        devno="8:0",
        diskseq=diskseq,
        code=serial,
        identity=Identity(serial, "M", None, None, 10**9, "ata1", 0),
        guard=Guard(GuardState.LOCKED, "internal"),
        facts={"transport": Fact(transport, source="test")},
    )


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """An agent after its first scan, on a machine that has been up for long."""
    new_agent = Agent(tmp_path, threading.Event())
    monkeypatch.setattr(new_agent, "_settled", lambda: True)
    new_agent._note_plugged([drive("HERE", 1)])
    return new_agent


def test_a_drive_that_comes_later_was_plugged_in(agent: Agent) -> None:
    agent._note_plugged([drive("HERE", 1), drive("NEW", 2)])
    assert agent.hotplugs == {2}


def test_a_drive_that_was_here_and_was_reset_was_not(agent: Agent) -> None:
    agent._note_plugged([drive("HERE", 3)])
    assert agent.hotplugs == set()


@pytest.mark.parametrize("transport", ["other", "virtio", "scsi"])
def test_a_drive_that_is_created_and_not_plugged_in_does_not_count(
    agent: Agent, transport: str
) -> None:
    agent._note_plugged([drive("HERE", 1), drive("NEW", 2, transport)])
    assert agent.hotplugs == set()


def test_a_drive_that_appears_during_the_boot_does_not_count(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "_settled", lambda: False)
    agent._note_plugged([drive("LATE", 2)])
    monkeypatch.setattr(agent, "_settled", lambda: True)
    agent._note_plugged([drive("LATE", 4)])
    assert agent.hotplugs == set()


def test_the_commands_trust_only_the_running_agent(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.make_run_folder()
    hotplugged.publish({7, 9})
    # Left over from an agent that has ended.
    assert hotplugged.believed() == ()
    lock = locks.RunLock("agent")
    try:
        assert hotplugged.believed() == (7, 9)
        path = paths.run_folder() / "seen.json"
        path.write_text('{"seen": "all"}')
        assert hotplugged.believed() == ()
        path.unlink()
        path.symlink_to("/etc/hostname")
        assert hotplugged.believed() == ()
        path.unlink()
        hotplugged.publish({7})
        # A file of another user is not trusted.
        with monkeypatch.context() as patch:
            patch.setattr(os, "fstat", lambda _fd: SimpleNamespace(st_uid=os.geteuid() + 4711))
            assert hotplugged.believed() == ()
    finally:
        lock.release()


def test_a_request_to_set_the_clock_is_run_and_signs_nobody_out(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    year = 365 * 86400.0
    bodies: list[object] = []

    def carry_out(body: object) -> float:
        bodies.append(body)
        return year

    monkeypatch.setattr("benchstick.appliance.clock.carry_out", carry_out)
    agent = Agent(bench_home, threading.Event())
    with contextlib.closing(database.open_writer(bench_home)) as db:
        auth.open_session(db)
        (expires,) = db.execute("SELECT expires FROM sessions").fetchone()
        number = agent_requests.add_request(db, "clock", {"time": 1.0})
        agent._answer(db, agent_requests.open_requests(db)[0])
        assert bodies == [{"time": 1.0}]
        (later,) = db.execute("SELECT expires FROM sessions").fetchone()
        assert later == expires + year
        answer = db.execute("SELECT state FROM answers WHERE request = ?", (number,)).fetchone()
        assert answer["state"] == RequestState.COMPLETE


def test_a_drive_that_appears_during_the_full_scan_is_new_in_the_next(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the slots would treat it as connected before the agent started."""
    scan_calls: list[tuple[list[str], set[int]]] = []

    class Slots:
        def look(self, drives: list[Drive], hotplugs: set[int]) -> None:
            scan_calls.append(([one.code for one in drives], set(hotplugs)))

    there = [drive("HERE", 1, "usb-uas")]

    def scan(*, deep: bool = True, **_: object) -> list[Drive]:
        if deep and len(scan_calls) == 1:
            there.append(drive("NEW", 3, "usb-uas"))
        return list(there)

    monkeypatch.setattr("benchstick.agent.agent.discover.scan", scan)
    paths.make_run_folder()
    agent = Agent(bench_home, threading.Event(), slots=Slots())  # type: ignore[arg-type]
    monkeypatch.setattr(agent, "_settled", lambda: True)
    with contextlib.closing(database.open_writer(bench_home)) as db:
        agent.scan(db)
        there.append(drive("FIRST", 2, "usb-uas"))
        agent.scan(db)
        agent.scan(db)
    assert scan_calls == [
        (["HERE"], set()),
        (["HERE", "FIRST"], {2}),
        (["HERE", "FIRST", "NEW"], {2, 3}),
    ]
