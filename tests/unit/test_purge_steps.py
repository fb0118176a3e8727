"""How each erase method is run and recorded. The drives are simulated by the rules of ACS-4 and the
NVM Express specification: no real drive with these features was available."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchstick import paths
from benchstick.analysis.sanitize_sampling import Marks
from benchstick.drives import subprocesses
from benchstick.drives.guard import Hold
from benchstick.drives.sanitize_methods import find
from benchstick.drives.subprocesses import Finished
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.engine import interrupted_sanitize
from benchstick.engine.measure.sampler import Counters, Sampler
from benchstick.engine.run_context import FileSets, Target, Work
from benchstick.engine.steps import sanitize
from benchstick.engine.steps.sanitize import do_purge
from benchstick.errors import BadInput, BenchError, Cancelled, DriveLost, Inconclusive
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.states import GuardState
from benchstick.plan.steps import Plan, Purge
from benchstick.store import database, locks, run_writer
from tests.unit.test_purge import recorded

UUID = "12345678-1234-1234-1234-{:012d}"
CAPACITY = 1 << 30


class PowerCut(BaseException):
    """The bench is killed here and writes nothing more."""


class AtaDrive:
    """A drive's security by ACS-4: states SEC1 (no password), SEC5 (unlocked), SEC4 (locked)."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.password: str | None = None
        self.locked = self.frozen = False
        self.erased = self.refused = 0
        self.dies_at = ""
        self.aborts = ""
        self.in_store: list[str | None] = []
        self.before: Callable[[str], None] = lambda act: None

    def power_cycle(self) -> None:
        self.locked, self.frozen = self.password is not None, False

    def __call__(self, argv: Sequence[str], **_: Any) -> Finished:
        if argv[0] != "hdparm" or argv[1] == "-V":
            return reply(argv, f"{argv[0]} v9.65\n")
        if argv[1] == "-I":
            return reply(argv, recorded(f"hdparm-I-{self.state()}.txt"))
        act, password = argv[3].removeprefix("--security-"), argv[4]
        assert argv[1:3] == ["--user-master", "u"]
        self.before(act)
        if act == self.dies_at:
            raise PowerCut
        ok = act != self.aborts and not self.frozen and self.takes(act, password)
        return reply(argv, code=0 if ok else 5, err="" if ok else "SECURITY: Input/output error")

    def state(self) -> str:
        if self.locked:
            return "locked-and-frozen" if self.frozen else "locked"
        if self.password is not None:
            return "password"
        return "frozen" if self.frozen else "ready"

    def takes(self, act: str, password: str) -> bool:
        if act == "set-pass":
            # The record that a bench killed here would read at its next start.
            with contextlib.closing(database.open_reader(self.home)) as db:
                self.in_store = [row["password"] for row in db.execute("SELECT * FROM purges")]
            self.password = password
            return True
        if password != self.password:
            self.refused += 1
            return False
        if act == "unlock":
            self.locked = False
        elif act == "disable":
            self.password = None
        else:
            self.erased += 1
            self.password, self.locked = None, False
        return True


class NvmeDrive:
    """A controller with Sanitize and Format; the log as nvme-cli 2.3 prints it."""

    def __init__(self) -> None:
        self.log = "nvme-2.3-sanitize-log-never.json"
        self.after: list[str] = []
        self.commands: list[list[str]] = []
        self.namespaces = [1]
        self.format_gives = "2.3-id-ns-4k"
        self.lba = "2.3-id-ns-4k"
        self.polls = 0
        self.when_polled: Callable[[int], None] = lambda number: None

    def __call__(self, argv: Sequence[str], **_: Any) -> Finished:
        act = argv[1] if argv[0] == "nvme" else ""
        if act == "id-ctrl":
            return reply(argv, json.dumps({"oacs": 0xA, "fna": 4, "sanicap": 3}))
        if act == "list-ns":
            return reply(argv, json.dumps({"nsid_list": [{"nsid": n} for n in self.namespaces]}))
        if act == "sanitize-log":
            self.polls += 1
            self.when_polled(self.polls)
            text = recorded(self.log)
            if self.after:
                self.log = self.after.pop(0)
            return reply(argv, text)
        if act == "id-ns":
            return reply(argv, recorded(f"nvme-{self.lba}.json"))
        if act in ("sanitize", "format"):
            self.commands.append(list(argv))
        if act == "sanitize":
            self.log = "nvme-2.3-sanitize-log-progress.json"
            self.after = [*self.after, "nvme-2.3-sanitize-log-progress.json",
                          "nvme-2.3-sanitize-log-done.json"]  # fmt: skip
        if act == "format":
            self.lba = self.format_gives
            return reply(argv, recorded("nvme-2.3-format.txt"))
        return reply(argv, "nvme version 2.3 (git 2.3)\n")


def reply(argv: Sequence[str], out: str = "", code: int = 0, err: str = "") -> Finished:
    return Finished(tuple(argv), code, out.encode(), err.encode(), 0.0)


class FakeHold:
    """A stand-in for the guard's hold, which is tested elsewhere. It counts the checks."""

    def __init__(self) -> None:
        self.checked = 0
        self.is_gone = False
        self.is_exclusive = False
        self.medium_changed: str | None = None

    def check_before_write(self, **_: Any) -> None:
        self.checked += 1

    def check_same(self, **_: Any) -> None:
        self.checked += 1
        if self.is_gone:
            raise DriveLost("gone")

    def alive(self) -> bool:
        return not self.is_gone

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        self.is_exclusive = True
        yield
        self.is_exclusive = False


@pytest.fixture(autouse=True)
def no_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed or loses power does not record its end."""
    plain = sanitize._ended_badly

    def ended_badly(work: Work, step: int, reason: str) -> None:
        if not reason.startswith("PowerCut"):
            plain(work, step, reason)

    monkeypatch.setattr(sanitize, "_ended_badly", ended_badly)


@pytest.fixture
def db(bench_home: Path) -> Iterator[Any]:
    paths.make_run_folder()
    with contextlib.closing(database.open_writer(bench_home)) as opened:
        yield opened


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitize, "_POLL_SECONDS", 0.01)


def a_drive(transport: str, **more: object) -> Drive:
    identity = Identity("S1", "Model X", None, None, CAPACITY, "ata3", 0)
    facts = {
        name: Fact(value, source="test") for name, value in {"transport": transport, **more}.items()
    }
    return Drive(
        "nosuch", "/dev/nosuch", "8:0", 1, "S1", identity, Guard(GuardState.FREE, ""), facts
    )


def start(db: Any, number: int, transport: str = "sata") -> Work:
    """A run that is about to purge, with its marks on the drive."""
    drive = a_drive(transport)
    plan = {"schema": "benchstick/plan/2", "steps": [], "notes": []}
    record = run_writer.RunRecord.create(
        db, uuid=UUID.format(number), suite="erase", practice=False, drive=drive.to_json(),
        plan=plan, pid=1, device="nosuch",
    )  # fmt: skip
    still = Counters(0.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    sampler = SimpleNamespace(
        drive_lost=threading.Event(), start_time=0.0, counters=lambda: still, pending=list
    )
    work = Work(
        uuid=UUID.format(number), drive=drive,
        plan=Plan(suite="erase", params={}, target="block", fs="keep", drive_code="S1", steps=()),
        hold=cast(Hold, FakeHold()), record=record, sampler=cast(Sampler, sampler),
        cancel=threading.Event(), cleanup=contextlib.ExitStack(), cgroup=None,
        filesets=FileSets({}), target=Target("block"),
    )  # fmt: skip
    work.conditions.marks = Marks(work.uuid, CAPACITY, 4096, 64)
    return work


def step(rung: str, resumes: int | None = None) -> Purge:
    return Purge(name="purge", rung=rung, user_rung=rung, resumes=resumes, destroys=True)


def rows(db: Any) -> list[tuple[str, str, str | None]]:
    cursor = db.execute("SELECT state, phase, password FROM purges ORDER BY run")
    return [(row["state"], row["phase"], row["password"]) for row in cursor]


def events(db: Any) -> str:
    return "\n".join(row["text"] for row in db.execute("SELECT text FROM events ORDER BY id"))


# ---- ATA


@pytest.fixture
def ata(bench_home: Path, monkeypatch: pytest.MonkeyPatch) -> AtaDrive:
    ata_drive = AtaDrive(bench_home)
    monkeypatch.setattr(subprocesses, "run", ata_drive)
    return ata_drive


@pytest.mark.parametrize("rung", ["security-erase", "security-erase-enhanced"])
def test_the_password_is_in_the_store_before_it_is_on_the_drive(
    db: Any, ata: AtaDrive, rung: str
) -> None:
    work = start(db, 1)
    outcome = do_purge(work, step(rung))
    assert ata.in_store == ["benchstick"]
    assert (ata.erased, ata.password) == (1, None)
    assert rows(db) == [("done", "erasing", "benchstick")]
    assert interrupted_sanitize.unfinished(db) == []
    assert work.conditions.state is not None
    assert work.conditions.state.startswith("purged by ATA security erase")
    assert [result.name for result in outcome.results] == ["purge time"]
    assert outcome.detail["tool_output"] == "hdparm -I after it: not enabled, not frozen"
    assert "the drive's ATA password is benchstick until" in events(db)
    assert cast(FakeHold, work.hold).checked >= 1


def test_frozen_is_refused_before_anything_is_set(db: Any, ata: AtaDrive) -> None:
    ata.frozen = True
    with pytest.raises(BadInput, match="suspend the machine"):
        do_purge(start(db, 1), step("security-erase"))
    assert (ata.password, ata.in_store) == (None, [])
    assert rows(db) == [("closed", "begun", None)]
    assert interrupted_sanitize.unfinished(db) == []


def test_a_password_that_is_not_ours_is_left_alone(db: Any, ata: AtaDrive) -> None:
    ata.password = "somebody"
    with pytest.raises(BadInput, match="protected by an ATA password"):
        do_purge(start(db, 1), step("security-erase"))
    assert (ata.password, ata.erased) == ("somebody", 0)


@pytest.mark.parametrize("dies_at", ["set-pass", "erase"])
@pytest.mark.parametrize("cycled", [False, True])
def test_an_interrupted_erase_is_reported_and_resumed(
    db: Any, ata: AtaDrive, dies_at: str, cycled: bool
) -> None:
    ata.dies_at = dies_at
    with pytest.raises(PowerCut):
        do_purge(start(db, 1), step("security-erase"))
    if cycled:
        ata.power_cycle()
    (purge,) = interrupted_sanitize.unfinished(db)
    assert purge.password == "benchstick"
    assert "locked with the ATA password benchstick" in purge.describe()
    assert "--param rung=resume" in purge.describe()
    assert "purges --undo S1" in purge.describe()
    ata.dies_at = ""
    work = start(db, 2)
    work.conditions.marks = None
    do_purge(work, step("security-erase", resumes=1))
    assert (ata.erased, ata.password, ata.locked) == (1, None, False)
    # The marks that prove it are those of the first run.
    assert work.conditions.marks == Marks(UUID.format(1), CAPACITY, 4096, 64)
    assert [state for state, _, _ in rows(db)] == ["closed", "done"]
    assert interrupted_sanitize.unfinished(db) == []


@pytest.mark.parametrize("cycled", [False, True])
def test_an_interrupted_erase_is_undone_with_its_password(
    db: Any, ata: AtaDrive, cycled: bool
) -> None:
    ata.dies_at = "erase"
    with pytest.raises(PowerCut):
        do_purge(start(db, 1), step("security-erase"))
    if cycled:
        ata.power_cycle()
        assert ata.state() == "locked"
    (purge,) = interrupted_sanitize.unfinished(db)
    drive_hold = cast(Hold, SimpleNamespace(drive=a_drive("sata"), check_same=lambda **_: None))
    text = interrupted_sanitize._take_back(purge, drive_hold)
    assert text.startswith("the ATA password is removed: the drive is not enabled, not frozen")
    assert (ata.password, ata.locked, ata.erased) == (None, False, 0)


def test_a_locked_drive_that_the_firmware_froze_keeps_its_password_with_the_reason(
    db: Any, ata: AtaDrive
) -> None:
    ata.password, ata.locked, ata.frozen = "benchstick", True, True
    with pytest.raises(BadInput, match="suspend the machine"):
        interrupted_sanitize.Ask("/dev/nosuch").take_password_off("benchstick")
    assert ata.password == "benchstick"


def test_a_wrong_password_is_reported_and_changes_nothing(db: Any, ata: AtaDrive) -> None:
    ata.password, ata.locked = "somebody", True
    with pytest.raises(Inconclusive, match="did not remove the password"):
        interrupted_sanitize.Ask("/dev/nosuch").take_password_off("benchstick")
    assert (ata.password, ata.locked) == ("somebody", True)
    # It counts against the drive's five tries.
    assert ata.refused == 1


def test_an_erase_that_the_drive_aborts_leaves_no_password(db: Any, ata: AtaDrive) -> None:
    ata.aborts = "erase"
    with pytest.raises(BenchError, match="its password is off again"):
        do_purge(start(db, 1), step("security-erase"))
    assert (ata.password, ata.erased) == (None, 0)
    assert rows(db) == [("interrupted", "erasing", None)]


def test_a_cancel_waits_for_the_drive_and_reports_it(db: Any, ata: AtaDrive) -> None:
    work = start(db, 1)
    plain = ata.takes

    def slow(act: str, password: str) -> bool:
        if act == "erase":
            work.cancel.set()
            threading.Event().wait(0.6)
        return plain(act, password)

    ata.takes = slow  # type: ignore[method-assign]
    with pytest.raises(Cancelled, match="completed first"):
        do_purge(work, step("security-erase"))
    assert (ata.erased, ata.password) == (1, None)
    assert "cannot be stopped" in events(db)
    # The drive's state was read all the same: the purge is not listed as interrupted.
    assert rows(db) == [("done", "erasing", "benchstick")]
    assert interrupted_sanitize.unfinished(db) == []
    assert work.current.partial is not None
    assert (
        work.current.partial.detail["tool_output"] == "hdparm -I after it: not enabled, not frozen"
    )


@pytest.mark.parametrize("when", ["set-pass", "after"])
def test_a_cancel_before_the_erase_leaves_no_password(
    db: Any, ata: AtaDrive, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = start(db, 1)
    if when == "set-pass":
        ata.before = lambda act: work.cancel.set() if act == "set-pass" else None
    else:
        monkeypatch.setattr(AtaDrive, "state", cancels_when_set(work, AtaDrive.state))
    with pytest.raises(Cancelled, match="its password is off again"):
        do_purge(work, step("security-erase"))
    assert ata.in_store == ["benchstick"]
    assert (ata.erased, ata.password) == (0, None)
    assert rows(db) == [("closed", "begun", None)]


def cancels_when_set(work: Work, plain: Callable[[AtaDrive], str]) -> Callable[[AtaDrive], str]:
    def state(self: AtaDrive) -> str:
        if self.password is not None:
            work.cancel.set()
        return plain(self)

    return state


def test_a_cancel_before_anything_was_sent_sends_nothing(db: Any, ata: AtaDrive) -> None:
    work = start(db, 1)
    work.cancel.set()
    with pytest.raises(Cancelled):
        do_purge(work, step("security-erase"))
    assert (ata.in_store, ata.password, ata.erased) == ([], None, 0)
    assert rows(db) == [("closed", "begun", None)]


def test_an_aborted_erase_leaves_no_password_when_it_was_cancelled_too(
    db: Any, ata: AtaDrive
) -> None:
    work = start(db, 1)
    ata.aborts = "erase"
    ata.before = lambda act: work.cancel.set() if act == "erase" else None
    with pytest.raises(BenchError, match="its password is off again"):
        do_purge(work, step("security-erase"))
    assert (ata.password, ata.erased) == (None, 0)
    assert rows(db) == [("interrupted", "erasing", None)]


def test_a_drive_unplugged_in_the_erase_is_lost_and_its_password_reported(
    db: Any, ata: AtaDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = start(db, 1)

    def unplugged(argv: Sequence[str], **more: Any) -> Finished:
        if "--security-erase" in argv:
            cast(FakeHold, work.hold).is_gone = True
        if cast(FakeHold, work.hold).is_gone:
            return reply(argv, code=19, err="/dev/nosuch: No such device")
        return ata(argv, **more)

    monkeypatch.setattr(subprocesses, "run", unplugged)
    with pytest.raises(DriveLost, match="went away"):
        do_purge(work, step("security-erase"))
    assert rows(db) == [("interrupted", "erasing", "benchstick")]
    assert "--unlock S1; or remove the password" in events(db)


def test_a_drive_that_was_replaced_gets_no_command(db: Any, ata: AtaDrive) -> None:
    work = start(db, 1)
    drive_hold = cast(FakeHold, work.hold)
    drive_hold.check_before_write = lambda **_: setattr(drive_hold, "is_gone", True)  # type: ignore[method-assign]
    with pytest.raises(DriveLost):
        do_purge(work, step("security-erase"))
    assert (ata.password, ata.in_store) == (None, [])


def test_an_erase_does_not_resume_behind_a_bridge(db: Any, ata: AtaDrive) -> None:
    """The drive's key is the same there: serial, model and capacity are those inside."""
    ata.dies_at = "erase"
    with pytest.raises(PowerCut):
        do_purge(start(db, 1), step("security-erase"))
    ata.dies_at = ""
    ata.power_cycle()
    with pytest.raises(BadInput, match="USB bridge"):
        do_purge(start(db, 2, "usb-uas"), step("security-erase", resumes=1))
    assert (ata.erased, ata.password) == (0, "benchstick")
    (purge,) = interrupted_sanitize.unfinished(db)
    assert (purge.run, purge.password) == (2, "benchstick")


def test_a_resumed_purge_keeps_the_password_of_another(db: Any, nvme: NvmeDrive) -> None:
    key = a_drive("nvme").identity.key()
    for number, rung, password in ((1, "security-erase", "benchstick"), (2, "format", None)):
        record = start(db, number).record
        record.purge_begins(
            0, key, rung, marks=UUID.format(number), samples=64, size=4096, phase="erasing",
            password=password,
        )  # fmt: skip
    # What is locked must be unlocked before anything else.
    first = interrupted_sanitize.of_drive(db, a_drive("nvme"))
    assert first is not None
    assert first.run == 1
    db.execute("UPDATE purges SET state = 'closed' WHERE run = 1")
    purge = interrupted_sanitize.of_drive(db, a_drive("nvme"))
    db.execute("UPDATE purges SET state = 'interrupted' WHERE run = 1")
    with sanitize._recorded(start(db, 3, "nvme"), find("format"), purge):
        pass
    assert [item.run for item in interrupted_sanitize.unfinished(db)] == [1]


# ---- NVMe


@pytest.fixture
def nvme(quick: None, monkeypatch: pytest.MonkeyPatch) -> NvmeDrive:
    nvme_drive = NvmeDrive()
    monkeypatch.setattr(subprocesses, "run", nvme_drive)
    return nvme_drive


def test_a_sanitize_is_followed_to_its_end(db: Any, nvme: NvmeDrive) -> None:
    work = start(db, 1, "nvme")
    outcome = do_purge(work, step("sanitize-block"))
    assert nvme.commands == [["nvme", "sanitize", "/dev/nosuch", "-a", "2", "--ause"]]
    assert nvme.polls == 4
    assert outcome.detail["tool_output"] == "sanitize-log: completed, action 2"
    assert rows(db) == [("done", "erasing", None)]


def test_a_sanitize_continues_in_the_drive_after_a_kill_and_is_not_sent_again(
    db: Any, nvme: NvmeDrive
) -> None:
    def dies(number: int) -> None:
        if number == 2:
            raise PowerCut

    nvme.when_polled = dies
    with pytest.raises(PowerCut):
        do_purge(start(db, 1, "nvme"), step("sanitize-block"))
    (purge,) = interrupted_sanitize.unfinished(db)
    assert "continues the sanitize on its own" in purge.describe()
    nvme.when_polled = lambda number: None
    do_purge(start(db, 2, "nvme"), step("sanitize-block", resumes=1))
    assert len(nvme.commands) == 1
    assert interrupted_sanitize.unfinished(db) == []


def test_a_sanitize_that_ended_between_the_runs_is_not_sent_again(db: Any, nvme: NvmeDrive) -> None:
    nvme.when_polled = power_cut_at(2)
    with pytest.raises(PowerCut):
        do_purge(start(db, 1, "nvme"), step("sanitize-block"))
    nvme.when_polled = lambda number: None
    nvme.log, nvme.after = "nvme-2.3-sanitize-log-done.json", []
    outcome = do_purge(start(db, 2, "nvme"), step("sanitize-block", resumes=1))
    assert len(nvme.commands) == 1
    assert outcome.detail["tool_output"].endswith("; the command was sent in run 1")
    assert outcome.detail["resumes"] == 1


def test_an_older_sanitize_is_not_taken_for_one_that_was_never_sent(
    db: Any, nvme: NvmeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the store and the command: the drive's log reports an older sanitize."""
    nvme.log = "nvme-2.3-sanitize-log-done.json"

    def dies(argv: Sequence[str], **more: Any) -> Finished:
        if argv[:2] == ["nvme", "sanitize"]:
            raise PowerCut
        return nvme(argv, **more)

    with monkeypatch.context() as patch:
        patch.setattr(subprocesses, "run", dies)
        with pytest.raises(PowerCut):
            do_purge(start(db, 1, "nvme"), step("sanitize-block"))
    assert rows(db) == [("running", "erasing", None)]
    assert nvme.commands == []
    do_purge(start(db, 2, "nvme"), step("sanitize-block", resumes=1))
    assert len(nvme.commands) == 1


@pytest.mark.parametrize("rung", ["sanitize-block", "format", "security-erase", "discard"])
def test_a_purge_that_only_started_is_reported_as_such(db: Any, rung: str) -> None:
    work = start(db, 1)
    work.record.purge_begins(0, DriveKey("key"), rung, marks=work.uuid, samples=64, size=4096)
    (purge,) = interrupted_sanitize.unfinished(db)
    assert "nothing was erased yet" in purge.describe()


@pytest.mark.parametrize("rung", ["sanitize-block", "sanitize-crypto"])
def test_a_namespace_added_after_the_plan_is_not_erased_as_well(
    db: Any, nvme: NvmeDrive, rung: str
) -> None:
    nvme.namespaces = [1, 2]
    with pytest.raises(BadInput, match="all 2 namespaces"):
        do_purge(start(db, 1, "nvme"), step(rung))
    assert nvme.commands == []
    assert rows(db) == [("closed", "begun", None)]
    do_purge(start(db, 2, "nvme"), step("format"))
    assert len(nvme.commands) == 1


def test_a_cancelled_format_waits_and_its_end_is_known(db: Any, nvme: NvmeDrive) -> None:
    work = start(db, 1, "nvme")

    def cancelled(argv: Sequence[str], **more: Any) -> Finished:
        if argv[:2] == ["nvme", "format"]:
            work.cancel.set()
        return nvme(argv, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocesses, "run", cancelled)
        with pytest.raises(Cancelled, match="completed first"):
            do_purge(work, step("format"))
    assert rows(db) == [("done", "erasing", None)]


def test_a_sanitize_that_failed_between_the_runs_is_sent_again(db: Any, nvme: NvmeDrive) -> None:
    with pytest.raises(PowerCut):
        nvme.when_polled = power_cut_at(2)
        do_purge(start(db, 1, "nvme"), step("sanitize-block"))
    nvme.when_polled = lambda number: None
    nvme.log, nvme.after = "nvme-2.3-sanitize-log-failed.json", []
    do_purge(start(db, 2, "nvme"), step("sanitize-block", resumes=1))
    assert len(nvme.commands) == 2


def power_cut_at(poll: int) -> Callable[[int], None]:
    def dies(number: int) -> None:
        if number == poll:
            raise PowerCut

    return dies


def test_a_sanitize_of_another_program_is_not_taken_for_ours(db: Any, nvme: NvmeDrive) -> None:
    nvme.log = "nvme-2.3-sanitize-log-progress.json"
    with pytest.raises(BadInput, match="sanitized already"):
        do_purge(start(db, 1, "nvme"), step("sanitize-block"))
    assert nvme.commands == []


def test_a_failed_sanitize_is_no_purge(db: Any, nvme: NvmeDrive) -> None:
    nvme.when_polled = lambda number: None
    work = start(db, 1, "nvme")
    nvme.after = ["nvme-2.3-sanitize-log-failed.json"]
    plain = NvmeDrive.__call__

    def failing(argv: Sequence[str], **more: Any) -> Finished:
        answer = plain(nvme, argv, **more)
        if argv[:2] == ["nvme", "sanitize"]:
            nvme.log, nvme.after = "nvme-2.3-sanitize-log-failed.json", []
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocesses, "run", failing)
        with pytest.raises(Inconclusive, match="the drive reports failed"):
            do_purge(work, step("sanitize-block"))
    assert rows(db) == [("interrupted", "erasing", None)]
    assert work.conditions.state is None


def test_a_cancelled_sanitize_reports_that_the_drive_continues(db: Any, nvme: NvmeDrive) -> None:
    work = start(db, 1, "nvme")

    def cancels(number: int) -> None:
        if number == 2:
            work.cancel.set()

    nvme.when_polled = cancels
    with pytest.raises(Cancelled):
        do_purge(work, step("sanitize-block"))
    assert rows(db)[0][0] == "interrupted"
    assert "continues the sanitize on its own" in events(db)


def test_the_progress_of_a_sanitize_is_the_drives_own() -> None:
    assert sanitize._share_since([0.25]) is None
    assert sanitize._share_since([0.25, 0.625]) == 0.5
    assert sanitize._share_since([0.0, 0.1, 0.9]) == 0.9


def test_a_format_keeps_its_lba_format(db: Any, nvme: NvmeDrive) -> None:
    outcome = do_purge(start(db, 1, "nvme"), step("format"))
    (argv,) = nvme.commands
    assert argv[argv.index("--lbaf") + 1] == "1"
    assert argv[argv.index("--ses") + 1] == "1"
    assert "LBA format kept (1: 4096 B + 0 B metadata)" in outcome.detail["tool_output"]


def test_a_format_that_changed_the_lba_format_is_reported_and_is_no_purge(
    db: Any, nvme: NvmeDrive
) -> None:
    nvme.format_gives = "2.3-id-ns-512"
    work = start(db, 1, "nvme")
    with pytest.raises(Inconclusive, match="changed the LBA format from 1: 4096 B"):
        do_purge(work, step("format-crypto"))
    assert work.conditions.state is None
    assert rows(db)[0][0] == "interrupted"


def test_a_failed_sanitize_is_left_without_a_record_of_it(
    bench_home: Path, db: Any, nvme: NvmeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store that knew of it may be lost, and without this the drive stays unusable."""
    drive_hold = SimpleNamespace(drive=a_drive("nvme"), check_same=lambda **_: None)
    monkeypatch.setattr(
        interrupted_sanitize, "take_hold", lambda *_, **__: contextlib.nullcontext(drive_hold)
    )
    nvme.log = "nvme-2.3-sanitize-log-failed.json"
    well, failed = a_drive("nvme"), a_drive("nvme", sanitize_state="failed")
    with pytest.raises(BadInput, match="no purge of this drive was interrupted"):
        interrupted_sanitize.undo(db, bench_home, well, unlock=None)
    assert nvme.commands == []
    assert "left the failed sanitize" in interrupted_sanitize.undo(
        db, bench_home, failed, unlock=None
    )
    assert nvme.commands == [["nvme", "sanitize", "/dev/nosuch", "-a", "1"]]


@pytest.mark.parametrize(
    ("log", "part", "count"),
    [
        ("2.3-sanitize-log-failed", "the drive left the failed sanitize", 1),
        ("2.3-sanitize-log-done", "the drive reports for its sanitize: completed", 0),
    ],
)
def test_a_failed_sanitize_is_left_again(
    db: Any, nvme: NvmeDrive, log: str, part: str, count: int
) -> None:
    purge, drive_hold = cut_off_sanitize(db, nvme)
    nvme.commands.clear()
    nvme.log, nvme.after = f"nvme-{log}.json", []
    assert part in interrupted_sanitize._take_back(purge, drive_hold)
    assert nvme.commands == [["nvme", "sanitize", "/dev/nosuch", "-a", "1"]][:count]


def test_a_running_sanitize_cannot_be_undone(db: Any, nvme: NvmeDrive) -> None:
    purge, drive_hold = cut_off_sanitize(db, nvme)
    nvme.log, nvme.after = "nvme-2.3-sanitize-log-progress.json", []
    with pytest.raises(BadInput, match="25 % of its sanitize, which cannot be stopped"):
        interrupted_sanitize._take_back(purge, drive_hold)


def cut_off_sanitize(db: Any, nvme: NvmeDrive) -> tuple[interrupted_sanitize.Unfinished, Hold]:
    nvme.when_polled = power_cut_at(2)
    with pytest.raises(PowerCut):
        do_purge(start(db, 1, "nvme"), step("sanitize-block"))
    nvme.when_polled = lambda number: None
    (purge,) = interrupted_sanitize.unfinished(db)
    return purge, cast(Hold, SimpleNamespace(drive=a_drive("nvme"), check_same=lambda **_: None))


# ---- the record


def test_none_is_recorded_and_sends_nothing(db: Any, nvme: NvmeDrive) -> None:
    work = start(db, 1)
    do_purge(work, step("none"))
    assert work.conditions.state == "as found, not purged"
    assert nvme.commands == []
    assert rows(db) == []


def test_the_purge_of_a_running_run_is_not_unfinished(db: Any, ata: AtaDrive) -> None:
    lock = locks.RunLock(UUID.format(1))
    try:
        work = start(db, 1)
        work.record.purge_begins(
            0, DriveKey("key"), "discard", marks=work.uuid, samples=64, size=4096
        )
        assert interrupted_sanitize.unfinished(db) == []
    finally:
        lock.release()
    assert [purge.rung for purge in interrupted_sanitize.unfinished(db)] == ["discard"]


def test_another_purge_closes_what_was_left_but_not_a_password(db: Any, nvme: NvmeDrive) -> None:
    key = a_drive("nvme").identity.key()
    for number, password in ((1, None), (2, "benchstick")):
        record = start(db, number).record
        record.purge_begins(
            0, key, "security-erase", marks=UUID.format(number), samples=64, size=4096,
            password=password,
        )  # fmt: skip
    do_purge(start(db, 3, "nvme"), step("format"))
    assert [purge.run for purge in interrupted_sanitize.unfinished(db)] == [2]


@pytest.mark.parametrize(
    "change",
    ["password = '--yes'", "rung = 'rm'", "marks = '../x'", "written = -1", "mark_size = 1"],
)
def test_a_row_that_this_program_could_not_have_written_is_left_out(
    db: Any, nvme: NvmeDrive, change: str
) -> None:
    work = start(db, 1)
    work.record.purge_begins(0, DriveKey("key"), "discard", marks=work.uuid, samples=64, size=4096)
    assert len(interrupted_sanitize.unfinished(db)) == 1
    db.execute(f"UPDATE purges SET {change}")
    assert interrupted_sanitize.unfinished(db) == []


def test_what_is_unfinished_is_a_fact_of_the_drive(
    bench_home: Path, db: Any, nvme: NvmeDrive
) -> None:
    drive = a_drive("nvme")
    work = start(db, 1, "nvme")
    work.record.purge_begins(
        0, drive.identity.key(), "overwrite", marks=work.uuid, samples=64, size=4096,
        phase="erasing", bytes_written=1 << 28,
    )  # fmt: skip
    (noted,) = interrupted_sanitize.noted(bench_home, [drive])
    fact = noted.to_json()["unfinished_purge"]
    assert fact["value"]["written"] == 1 << 28
    assert "--param rung=resume" in fact["value"]["advice"]
    assert fact["source"] == "run 1"
    json.dumps(fact)
    other = Drive(**{**drive.__dict__, "identity": Identity("S2", "Y", None, None, 1, "x", 0)})
    assert "unfinished_purge" not in interrupted_sanitize.noted(bench_home, [other])[0].to_json()


# ---- the block layer


@pytest.mark.parametrize("end", [4096, 1 << 30, 500_107_862_016, 1_000_204_886_016, 20 * 10**12])
def test_the_pieces_of_a_discard_start_on_block_boundaries_of_any_drive(end: int) -> None:
    pieces = list(sanitize._chunks(0, end))
    assert all(offset % (256 << 20) == 0 for offset, _ in pieces)
    assert [0, *(offset + length for offset, length in pieces)] == [
        *(offset for offset, _ in pieces), end
    ]  # fmt: skip
    # The end of the drive is no piece of its own.
    assert len(pieces) == 1 or pieces[-1][1] > 1 << 20 or end % (256 << 20) == 0
    assert max(length for _, length in pieces) <= 32 << 30


class Moving:
    """A drive whose counters move by what each tool is to write and read. `shares` has the share
    done at the end of each tool."""

    def __init__(self, work: Work, offset: int = 0) -> None:
        self.work = work
        self.reads = self.writes = self.seconds = 0
        self.shares: list[float | None] = []
        cast(Any, work.sampler).counters = self.counters

    def counters(self) -> Counters:
        return Counters(float(self.seconds), 0, self.reads, 0, 0, self.writes, 0, 0, 0, 0, 0)

    def share(self) -> float | None:
        assert self.work.current.share is not None
        return self.work.current.share()

    def __call__(self, argv: Sequence[str], **_: Any) -> Finished:
        self.seconds += 1
        words = dict(word.split("=", 1) for word in argv if "=" in word)
        if argv[0] == "fio":
            length = int(words["--size"])
            self.reads += length if words["--rw"] == "read" else 0
            self.writes += length if words["--rw"] == "write" else 0
        self.shares.append(self.share())
        return reply(argv)


def test_a_discard_reports_its_progress(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    work = start(db, 1)
    drive = Moving(work)
    monkeypatch.setattr(subprocesses, "run", drive)
    sanitize._by_blkdiscard(work, find("discard"), None)
    # Four pieces: during each only those before it are done.
    assert drive.shares == [0.0, 0.25, 0.5, 0.75]
    assert drive.share() == 1.0


@pytest.mark.parametrize("offset", [0, CAPACITY // 2])
def test_an_overwrite_reports_the_progress_of_writing_and_reading(
    db: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, offset: int
) -> None:
    work = start(db, 1)

    def ignored(*_: object) -> None:
        """No artefacts are needed here."""

    artifact = SimpleNamespace(path=tmp_path, command=ignored, output=ignored)
    work.current.artifacts = cast(Any, artifact)
    drive = Moving(work)
    monkeypatch.setattr(subprocesses, "run", drive)
    purge = None
    if offset:
        work.record.purge_begins(
            0, DriveKey("key"), "overwrite", marks=work.uuid, samples=64, size=4096,
            phase="erasing", bytes_written=offset,
        )  # fmt: skip
        (purge,) = interrupted_sanitize.unfinished(db)
    sanitize._by_fio(work, find("overwrite"), purge)
    # Pieces of a quarter: those left to write, then all to read back.
    pieces = (CAPACITY - offset) // (CAPACITY // 4) + 4
    assert drive.shares == pytest.approx([(at + 1) / pieces for at in range(pieces)])
