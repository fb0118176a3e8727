"""Running recipes, without a drive: turns, stop rules, lost children, ejecting drives."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.drives import eject, guard, subprocesses
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.errors import BadInput, Cancelled, DriveLost, Refused
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.states import GuardState
from benchstick.qa import parallel_drives, recipe_library
from benchstick.qa.drive_session import DriveTestRequest
from benchstick.qa.early_stop_monitor import Watch
from benchstick.qa.exclusive_lock import turn
from benchstick.qa.parallel_drives import DriveRequest
from benchstick.recipes.parser import read
from benchstick.store import database, export, live_progress, run_writer, settings, verdicts
from tests.hardware.playback import CASES, expand
from tests.host.bench import wait_for

RECIPE = b"""
[[suite]]
name = "cdm"

[[limit]]
fact = "transport"
op = "=="
value = "usb-uas"
"""


# ---- turns


def no_wait() -> None:
    """Runs while a test waits: it never cancels."""


class Waiting:
    """A thread that waits for its turn and keeps it until `finish`."""

    def __init__(self, *, exclusive: bool = False, controller: str = "a", most: int = 2) -> None:
        self.has_it = threading.Event()
        self.end = threading.Event()
        self.wait_seconds = 0.0
        self._request = (exclusive, controller, most)
        self._thread = threading.Thread(target=self._go)
        self._thread.start()

    def _go(self) -> None:
        exclusive, controller, most = self._request
        with turn(
            exclusive=exclusive, controller=controller, most=most, wait=no_wait
        ) as self.wait_seconds:
            self.has_it.set()
            self.end.wait(30)

    def finish(self) -> None:
        self.end.set()
        self._thread.join()


def test_an_exclusive_test_waits_and_no_later_one_overtakes_it(bench_home: Path) -> None:
    first = Waiting()
    assert first.has_it.wait(5)
    alone = Waiting(exclusive=True)
    wait_for(lambda: (paths.run_folder() / "qa.gate").exists())
    assert not alone.has_it.wait(0.5)
    late = Waiting()
    assert not late.has_it.wait(0.5)
    first.finish()
    assert alone.has_it.wait(5)
    assert not late.has_it.is_set()
    assert alone.wait_seconds > 0.5
    alone.finish()
    assert late.has_it.wait(5)
    late.finish()


def test_only_so_many_drives_of_a_controller_are_tested_at_once(bench_home: Path) -> None:
    here = [Waiting(controller="xhci 0000:00:14.0 [8086:a0ed]") for _ in range(2)]
    assert all(item.has_it.wait(5) for item in here)
    third = Waiting(controller="xhci 0000:00:14.0 [8086:a0ed]")
    other = Waiting(controller="ahci")
    assert not third.has_it.wait(0.5)
    assert third.end.is_set() is False
    here[0].finish()
    assert third.has_it.wait(5)
    assert other.has_it.wait(5)
    for item in (here[1], third, other):
        item.finish()


def test_a_wait_can_be_cancelled(bench_home: Path) -> None:
    def cancelled() -> None:
        raise Cancelled("cancelled")

    first = Waiting(exclusive=True)
    assert first.has_it.wait(5)
    with pytest.raises(Cancelled), turn(exclusive=False, controller="a", most=1, wait=cancelled):
        raise AssertionError("it was not its turn")
    first.finish()
    with turn(exclusive=True, controller="a", most=1, wait=cancelled) as has_turn:
        assert has_turn < 5


# ---- stop rules


def sample(n: int, rate: float, step: int = 0) -> dict[str, Any]:
    zero = dict.fromkeys(("discard_bytes", "reads", "writes", "discards", "flushes", "inflight"), 0)
    return {**zero, "n": n, "t": n + 1.0, "dt": 1.0, "step_index": step, "read_bytes": 0,
            "write_bytes": int(rate * 1e6), "queue": 0.0}  # fmt: skip


UUID = "01234567-89ab-cdef-0123-456789abcdef"


def make_watch(rule: str, home: Path) -> Watch:
    return Watch(read(rule.encode() + RECIPE, "x.toml"), home, threading.Event(), os.getppid())


def test_a_rate_that_stays_low_over_several_looks_stops_the_run(bench_home: Path) -> None:
    paths.make_run_folder()
    rule = '[[stop]]\nrate_below = 20\nfor = "300 s"\n'
    with make_watch(rule, bench_home) as watch:
        watch.start_run(1, UUID, [{"name": "SEQ", "timed": True}])
        # The live record has the newest 180 only; the rule uses more.
        for first in (0, 100, 200):
            live_progress.publish(
                UUID, {"samples": [sample(n, 5.0) for n in range(first, first + 180)]}
            )
            if first < 200:
                time.sleep(1.2)
                assert not watch.stop.is_set()
        assert watch.stop.wait(10)
    assert watch.reason is not None and watch.reason.code == "stopped-slow"


def recorded(home: Path) -> run_writer.RunRecord:
    """A running run in the store."""
    db = database.open_writer(home)
    return run_writer.RunRecord.create(
        db, uuid=UUID, suite="cdm", practice=True, drive=drive("sda", "2-1", "S").to_json(),
        plan={"schema": "benchstick/plan/2", "steps": [], "notes": []}, pid=1, device="sda",
    )  # fmt: skip


def test_what_the_store_has_of_the_run_stops_it_too(bench_home: Path) -> None:
    run = recorded(bench_home)
    run.temperature(1.0, 0, None, None, "not told")
    run.temperature(2.0, 0, 71.0, "test", None)
    with make_watch("[[stop]]\ntemperature_above = 70\n", bench_home) as watch:
        watch.start_run(run.number, UUID, [])
        assert watch.stop.wait(10)
    assert watch.reason is not None and watch.reason.code == "stopped-hot"
    run.event(3.0, "link", "usb_speed changed from 10000 to 480")
    with make_watch("[[stop]]\nerrors = 1\n", bench_home) as watch:
        watch.start_run(run.number, UUID, [])
        assert watch.stop.wait(10)
    assert watch.reason is not None and watch.reason.text.endswith("from 10000 to 480")
    run.db.close()


def test_a_test_ends_when_its_parent_process_has_ended(bench_home: Path) -> None:
    recipe = read(RECIPE, "x.toml")
    with Watch(recipe, bench_home, threading.Event(), os.getpid()) as watch:
        assert watch.stop.wait(10)
    assert watch.reason is None


def test_a_verdict_is_found_by_the_runs_that_it_uses(bench_home: Path, stand_in: None) -> None:
    run = recorded(bench_home)
    (verdict,) = parallel_drives.carry_out(build_requests("dies"), bench_home, threading.Event())
    verdict["runs"] = [{"number": run.number}]
    number = verdicts.keep(run.db, verdict)
    assert verdicts.of_run(run.db, run.number) == [number]
    assert export.bundle(run.db, run.number)["verdicts"] == [{"number": number, **verdict}]
    run.db.close()


def test_waiting_does_not_count_as_time_of_the_test(bench_home: Path) -> None:
    with make_watch('time_limit = "1 s"\n', bench_home) as watch:
        with watch.waiting():
            time.sleep(1.8)
        assert not watch.stop.is_set()
        assert watch.stop.wait(10)
        assert 1.0 < watch.seconds < 10
    assert watch.reason is not None and watch.reason.code == "time-limit"


def test_a_cancel_by_the_user_is_no_stop_rule(bench_home: Path) -> None:
    with make_watch("", bench_home) as watch:
        watch._cancel_event.set()
        assert watch.stop.wait(10)
    assert watch.reason is None


# ---- several drives


def drive(name: str, port: str, serial: str) -> Drive:
    identity = Identity(serial, "Model", None, None, 10**12, port, 0)
    return Drive(name, f"/dev/{name}", "8:0", 5, serial, identity, Guard(GuardState.FREE, "USB"),
                 {"transport": Fact("usb-uas", source="test")})  # fmt: skip


CHILD = """
import json, os, signal, sys, time
ask = json.load(sys.stdin)
what = ask["drive"]
if what == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
if what == "refuses":
    json.dump({"error": {"code": 3, "message": "not the drive that was chosen"}}, sys.stdout)
    sys.exit(0)
if what == "waits":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(json.dump(json.loads(VERDICT), sys.stdout)))
    open(os.environ["WAITS"] + str(os.getpid()), "w").close()
    time.sleep(60)
json.dump(json.loads(VERDICT), sys.stdout)
"""
VERDICT = {"verdict": "pass", "exit_code": 0, "reason": None, "retries": 0}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Children that answer by the drive's name."""
    text = f"VERDICT = {json.dumps(VERDICT)!r}\n{CHILD}"
    monkeypatch.setattr(parallel_drives, "COMMAND", (sys.executable, "-c", text))
    monkeypatch.setenv("WAITS", str(tmp_path / "waits"))


def build_requests(*names: str) -> list[DriveRequest]:
    requests = []
    for at, name in enumerate(names):
        disk = drive(f"sd{chr(97 + at)}", f"2-1.{at}", name)
        test_request = DriveTestRequest(recipe=read(RECIPE, "my.toml"), drive=name,
                  expected=(disk.identity.key(), 5), bench_ports={"2-1.0": "slot 1"})  # fmt: skip
        requests.append(DriveRequest(disk, test_request))
    return requests


def test_every_drive_has_a_verdict_whatever_its_process_does(
    bench_home: Path, stand_in: None
) -> None:
    reports: list[Any] = []
    results = parallel_drives.carry_out(
        build_requests("dies", "good", "refuses"), bench_home, threading.Event(), reports.append
    )
    assert sorted(map(id, reports)) == sorted(map(id, results)), "each is told once"
    assert [item["exit_code"] for item in results] == [70, 0, 3]
    assert results[0]["reason"] == "its process ended with -9"
    assert results[0]["drive"]["slot"] == "slot 1"
    assert results[2]["inconclusive"] == [
        {"code": "refused", "text": "not the drive that was chosen", "limit": None}
    ]
    with contextlib.closing(database.open_reader(bench_home)) as db:
        # A child that gives a verdict keeps it itself.
        assert sorted(item["exit_code"] for item in verdicts.list_verdicts(db)) == [3, 70]
        assert verdicts.find(db, results[0]["number"]) == results[0]
        with pytest.raises(BadInput):
            verdicts.find(db, 3)


def test_a_cancel_reaches_every_drives_test(
    bench_home: Path, stand_in: None, tmp_path: Path
) -> None:
    cancel_event = threading.Event()

    def cancel() -> None:
        wait_for(lambda: len(list(tmp_path.glob("waits*"))) == 2)
        cancel_event.set()

    helper = threading.Thread(target=cancel)
    helper.start()
    results = parallel_drives.carry_out(build_requests("waits", "waits"), bench_home, cancel_event)
    helper.join()
    assert [item["verdict"] for item in results] == ["pass", "pass"]


def test_a_request_survives_json() -> None:
    several = b"""
match = { model = ["T7*"], size = ">= 240GB" }
start = { link = 480 }
suite = [{ name = "cdm:quick" }]
limit = [{ fact = "transport", op = "==", value = ["usb-uas", "usb-bot"] }]
stop = [{ errors = 3 }]
after = { eject = true }
"""
    texts = [
        (several, "several.toml"),
        *((item.raw(), item.file) for item in recipe_library.shelved()),
    ]
    assert len(texts) > 3
    for raw, file in texts:
        recipe = read(raw, file)
        expected = (DriveKey("k"), None)
        test_request = DriveTestRequest(
            recipe=recipe, drive="d", expected=expected, labels={"asset": "é"}
        )
        assert (
            DriveTestRequest.from_json(json.loads(json.dumps(test_request.to_json())))
            == test_request
        )


def test_links_that_drives_share_are_reported(tmp_path: Path) -> None:
    root = tmp_path / "sys/devices/pci0000:00/0000:00:14.0/usb2"
    for name, port in (("sda", "2-1/2-1.1"), ("sdb", "2-1/2-1.2"), ("sdc", "2-2")):
        (root / port / "block" / name).mkdir(parents=True)
        (tmp_path / "sys/block").mkdir(exist_ok=True)
        (tmp_path / "sys/block" / name).symlink_to(root / port / "block" / name)
    for port in ("2-1", "2-1/2-1.1", "2-1/2-1.2", "2-2"):
        (root / port / "idVendor").write_text("0bda\n", encoding="ascii")
        (root / port / "speed").write_text("5000\n", encoding="ascii")
    drives = [drive("sda", "2-1.1", "A"), drive("sdb", "2-1.2", "B"), drive("sdc", "2-2", "C")]
    tree = Tree(tmp_path)
    assert parallel_drives.shared(drives, tree) == [
        "USB hub 2-1 is shared by A, B: 500 MB/s at most, 250 each. Their results may be lower than"
        " alone",
        "controller 0000:00:14.0 is shared by A, B, C: a limit that is not known. Their results may"
        " be lower than alone",
    ]
    assert parallel_drives.shared(drives[:1], tree) == []


def test_how_many_of_a_controller_is_a_setting() -> None:
    assert settings.read("", "x").per_controller == 4
    with pytest.raises(BadInput, match="a whole number from 1 to 64"):
        settings.read("\nper_controller = 0", "x.toml")


# ---- ejecting drives


Play = Callable[..., Tree]


@pytest.fixture
def playback_of_case(tmp_path: Path) -> Play:
    """A recorded case as a tree, with further files in it."""

    def make(case: str, *files: str) -> Tree:
        expand(json.loads((CASES / case / "tree.json").read_text(encoding="utf-8")), tmp_path)
        for name in files:
            (tmp_path / name).write_text("", encoding="ascii")
        return Tree(tmp_path)

    return make


def test_a_usb_drive_is_ejected_or_its_port_switched_off(
    playback_of_case: Play, tmp_path: Path
) -> None:
    usb = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-3"
    tree = playback_of_case("bot-stick", "sys/block/sdb/device/delete", f"{usb}/remove")
    ejects = eject.switch(tree, "sdb", power_off=False)
    assert ejects.resolve().parent.name == "7:0:0:0"
    assert eject.switch(tree, "sdb", power_off=True) == tmp_path / usb / "remove"


def test_no_other_drive_is_ejected_as_well(playback_of_case: Play) -> None:
    usb = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-2"
    tree = playback_of_case("enclosure-two-luns", "sys/block/sda/device/delete", f"{usb}/remove")
    with pytest.raises(BadInput, match="sdb is on the same device and would be removed too"):
        eject.switch(tree, "sda", power_off=True)
    assert eject.switch(tree, "sda", power_off=False).name == "delete"


def test_no_cd_and_no_interface_in_use_is_ejected_as_well(
    playback_of_case: Play, tmp_path: Path
) -> None:
    usb = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-3"
    tree = playback_of_case("bot-stick", "sys/block/sdb/device/delete", f"{usb}/remove")
    other = tmp_path / usb / "1-3:1.1"
    other.mkdir()
    (other / "bInterfaceClass").write_text("03\n", encoding="ascii")
    # Not used by anything: nothing is lost.
    assert eject.switch(tree, "sdb", power_off=True).name == "remove"
    driver = tmp_path / "sys/bus/usb/drivers/usbhid"
    driver.mkdir(parents=True)
    (other / "driver").symlink_to(driver)
    with pytest.raises(BadInput, match="in use by usbhid, which would stop"):
        eject.switch(tree, "sdb", power_off=True)
    shutil.rmtree(other)
    disc = tmp_path / usb / "1-3:1.0/host7/target7:0:0/7:0:0:1/block/sr0"
    disc.mkdir(parents=True)
    (tmp_path / "sys/block/sr0").symlink_to(disc)
    with pytest.raises(BadInput, match="sr0 is on the same device and would be removed too"):
        eject.switch(tree, "sdb", power_off=True)
    assert eject.switch(tree, "sdb", power_off=False).name == "delete"


class Kernel:
    """The kernel and the tools as far as `eject` uses them: `/sys` and `/dev` are below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ran: list[str] = []
        self.hangs: str | None = None
        self.stays = False
        self.code = 0
        self.here = root / "sys/block/sda"
        self.here.mkdir(parents=True)
        (self.here / "diskseq").write_text("5\n", encoding="ascii")
        self.switch = self.here / "delete"
        self.switch.touch()

    def hold(self, drive: Drive, **options: Any) -> Any:
        assert options["destructive"] is False
        return self

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.ran.append("released")

    def check_before_write(self) -> None:
        self.ran.append("checked")

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        self.ran.append("alone")
        yield

    def run(self, argv: tuple[str, ...], *, timeout: float) -> subprocesses.Finished:
        name = "remove" if argv[0] == sys.executable else argv[0]
        self.ran.append(name)
        if name == "remove":
            assert argv[-2:] == ("/dev/sda", str(self.switch))
            if self.code == 0 and not self.stays:
                shutil.rmtree(self.here)
        code = self.code if name == "remove" else 5
        return subprocesses.Finished(
            argv, code, b"", b"I/O error", 0.0, timed_out=name == self.hangs
        )


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    new_kernel = Kernel(tmp_path)
    monkeypatch.setattr(eject, "Tree", lambda: Tree(tmp_path))
    monkeypatch.setattr(eject, "switch", lambda tree, name, power_off: new_kernel.switch)
    monkeypatch.setattr(guard, "hold", new_kernel.hold)
    monkeypatch.setattr(subprocesses, "run", new_kernel.run)
    monkeypatch.setattr(eject, "GONE_SECONDS", 0.2)
    return new_kernel


def test_a_drive_is_stopped_before_it_is_taken_away(kernel: Kernel) -> None:
    # Both commands are refused by this one, as by many bridges.
    eject.let_go(replace(drive("sda", "2-1", "A"), diskseq=5), power_off=False)
    assert kernel.ran == ["checked", "alone", "sg_sync", "sg_start", "remove", "released"]


@pytest.mark.parametrize("name", ["sg_sync", "sg_start", "remove"])
def test_a_drive_that_hangs_is_not_waited_for(kernel: Kernel, name: str) -> None:
    kernel.hangs = name
    with pytest.raises(DriveLost, match="within 60 s"):
        eject.let_go(drive("sda", "2-1", "A"), power_off=False)
    assert kernel.ran[-2:] == [name, "released"]


def test_a_drive_that_stays_is_reported(kernel: Kernel) -> None:
    kernel.stays = True
    with pytest.raises(Refused, match="is still there; do not pull it yet"):
        eject.let_go(replace(drive("sda", "2-1", "A"), diskseq=5), power_off=False)
    # Another disk with its name is another disk.
    eject.let_go(replace(drive("sda", "2-1", "A"), diskseq=4), power_off=False)


def test_an_error_of_the_kernel_is_reported(kernel: Kernel) -> None:
    kernel.code = 1
    with pytest.raises(Refused, match="delete: I/O error"):
        eject.let_go(drive("sda", "2-1", "A"), power_off=False)
    kernel.switch.unlink()
    with pytest.raises(DriveLost, match="went away"):
        eject.let_go(drive("sda", "2-1", "A"), power_off=False)


def test_an_nvme_drive_is_ejected_by_its_controller(playback_of_case: Play, tmp_path: Path) -> None:
    folder = "sys/devices/pci0000:00/0000:00:1b.0/0000:03:00.0"
    tree = playback_of_case("nvme-ssd", f"{folder}/remove")
    assert eject.switch(tree, "nvme0n1", power_off=False) == tmp_path / folder / "remove"
    with pytest.raises(BadInput, match="only USB drives can be powered off"):
        eject.switch(tree, "nvme0n1", power_off=True)


@pytest.mark.parametrize("case", ["emmc", "bot-stick"])
def test_a_drive_without_a_switch_is_to_be_pulled(playback_of_case: Play, case: str) -> None:
    name = {"emmc": "mmcblk0", "bot-stick": "sdb"}[case]
    with pytest.raises(BadInput, match="cannot be ejected by software; pull it"):
        eject.switch(playback_of_case(case), name, power_off=False)
