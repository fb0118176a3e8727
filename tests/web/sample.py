"""A bench with invented drives and runs, made through the store's own functions. Tests only."""

from __future__ import annotations

import datetime
import json
import math
import random
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchstick.drives.medium import Token
from benchstick.drives.shared_links import Link
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.engine.results import conclude
from benchstick.paths import make_run_folder
from benchstick.plan.result import Result
from benchstick.plan.states import GuardState, RunState, StepState
from benchstick.plan.steps import Copy, Fio, Idle, Plan
from benchstick.store import known_drives, live_progress
from benchstick.store.database import open_writer, transaction
from benchstick.store.locks import RunLock
from benchstick.store.run_results import Sample
from benchstick.store.run_writer import RunRecord
from benchstick.suites import registry
from tests.results import named

NOT_THERE = "behind this bridge: no ATA pass-through"


def _drive(
    name: str,
    code: str,
    identity: Identity,
    guard: Guard,
    facts: Mapping[str, Fact],
    diskseq: int,
) -> Drive:
    return Drive(
        name=name,
        path=f"/dev/{name}",
        devno="8:0",
        diskseq=diskseq,
        code=code,
        identity=identity,
        guard=guard,
        facts=facts,
        medium=Token(identity.capacity, diskseq, "5" * 32),
    )


def fast() -> Drive:
    """A portable SSD on UASP: free."""
    return _drive(
        "sdb",
        "2318E6C0A1F2",
        Identity("2318E6C0A1F2", "Crucial X9 Pro", "ASMedia ASM236X", "0000", 10**12, "2-1", 0),
        Guard(GuardState.FREE, "external, nothing on it is mounted"),
        {
            "transport": Fact("usb-uas", source="driver uas"),
            "external": Fact(True, source="on USB"),
            "driver": Fact("uas", source="sysfs driver"),
            "driver_why": Fact.unknown("the driver is the best that the interface offers"),
            "usb_id": Fact("0634:5605", source="sysfs idVendor, idProduct"),
            "usb_speed": Fact(10000, "Mb/s", "sysfs speed"),
            "usb_capable_speed": Fact(10000, "Mb/s", "BOS descriptor"),
            "usb_lanes": Fact(1, source="sysfs rx_lanes, tx_lanes"),
            "usb_hubs": Fact(0, source="port path"),
            "usb_interfaces": Fact(["BOT", "UAS"], source="interface descriptors in sysfs"),
            "queue_depth": Fact(30, source="sysfs queue_depth"),
            "ncq": Fact("supported, depth 32", source="IDENTIFY DEVICE, words 75 and 76"),
            "trim": Fact(True, source="VPD B2h: LBPU=1, LBPWS=0, LBPWS10=0"),
            "provisioning_mode": Fact("unmap", source="sysfs provisioning_mode"),
            "write_cache": Fact("enabled", source="IDENTIFY DEVICE, word 85"),
            "logical_block_size": Fact(512, "B", "sysfs"),
            "physical_block_size": Fact(4096, "B", "sysfs"),
            "rotational": Fact(False, source="IDENTIFY DEVICE, word 217"),
            "firmware": Fact("M6CR040", source="IDENTIFY DEVICE"),
            "smart": Fact("enabled", source="IDENTIFY DEVICE, word 85"),
            "apm": Fact("not supported", source="IDENTIFY DEVICE, words 86 and 91"),
            "security": Fact("disabled, not frozen", source="IDENTIFY DEVICE, word 128"),
            "opal": Fact.unknown("the drive does not report trusted computing"),
            "health": Fact("passed", source="smartctl"),
            "temperature": Fact(41, "°C", "smartctl, attribute 194"),
        },
        11,
    )


def slow() -> Drive:
    """The same kind of drive on a USB 2 port, by BOT, without a serial: free."""
    return _drive(
        "sdc",
        "port:1-4:0",
        Identity(None, "SanDisk Extreme Portable SSD 500GB with a rather long name that wraps",
                 "SanDisk 55AE", None, 500 * 10**9, "1-4", 0),
        Guard(GuardState.FREE, "external, nothing on it is mounted"),
        {
            "transport": Fact("usb-bot", source="driver usb-storage"),
            "external": Fact(True, source="on USB"),
            "driver": Fact("usb-storage", source="sysfs driver"),
            "driver_why": Fact("offers UAS, but the USB controller has no streams, which UAS needs",
                               source="descriptors against the bound driver"),
            "usb_speed": Fact(480, "Mb/s", "sysfs speed"),
            "usb_capable_speed": Fact(10000, "Mb/s", "BOS descriptor"),
            "queue_depth": Fact(1, source="sysfs queue_depth"),
            "trim": Fact(False, source="no VPD B2h; LBPME=0"),
            "temperature": Fact.unknown(NOT_THERE),
            "smart": Fact.unknown(NOT_THERE),
        },
        12,
    )  # fmt: skip


def internal() -> Drive:
    """Somebody's internal SSD: locked."""
    return _drive(
        "sda",
        "S6PUNX0T312345A",
        Identity(
            "S6PUNX0T312345A", "Samsung SSD 870 EVO 500GB", None, None, 500107862016, "ata1", 0
        ),
        Guard(
            GuardState.LOCKED,
            "internal, was here at start; holds an EFI system partition and BitLocker",
        ),
        {
            "transport": Fact("sata", source="sysfs"),
            "external": Fact(False, source="on an internal SATA port"),
            "driver": Fact("ahci", source="sysfs driver"),
            "sata_speed": Fact(6000, "Mb/s", "IDENTIFY DEVICE, word 77"),
            "sata_capable_speed": Fact(6000, "Mb/s", "IDENTIFY DEVICE, word 76"),
            "queue_depth": Fact(32, source="sysfs queue_depth"),
            "trim": Fact(True, source="IDENTIFY DEVICE, word 169"),
            "security": Fact("disabled, frozen", source="IDENTIFY DEVICE, word 128"),
            "temperature": Fact(33, "°C", "hwmon drivetemp"),
        },
        3,
    )


def system() -> Drive:
    """The drive that the system runs from: protected."""
    return _drive(
        "nvme0n1",
        "S4EWNX0R654321B",
        Identity(
            "S4EWNX0R654321B", "WD_BLACK SN850X 1000GB", None, None, 10**12, "0000:01:00.0", 0
        ),
        Guard(GuardState.PROTECTED, "/dev/nvme0n1p2 is mounted on /"),
        {
            "transport": Fact("nvme", source="sysfs"),
            "external": Fact(False, source="PCIe, not Thunderbolt"),
            "queue_depth": Fact(1023, source="sysfs nr_requests"),
            "trim": Fact(True, source="sysfs discard_max_bytes"),
            "temperature": Fact(48, "°C", "hwmon nvme"),
        },
        1,
    )


def practice() -> Drive:
    """The practice drive."""
    return _drive(
        "loop0",
        "practice",
        Identity("practice", "Practice drive", None, None, 8 << 30, "practice", 0),
        Guard(GuardState.FREE, "the bench's own practice file"),
        {
            "transport": Fact("virtual", source="a loop device on the bench's own file"),
            "external": Fact(False, source="virtual"),
            "temperature": Fact.unknown("a loop device has no sensor"),
        },
        20,
    )


ALL = (fast, slow, internal, system, practice)


def keep_drives(db: sqlite3.Connection) -> None:
    """As the agent does after a scan."""
    link = Link("USB hub", "1-4", 500.0, (fast().name, slow().name))
    document = {
        "schema": "benchstick/drives/2", "drives": [make().to_json() for make in ALL],
        "shared": [link.to_json()],
    }  # fmt: skip
    known_drives.keep_drives_seen(db, document)


HOST = {
    "kernel": "6.12.48", "cpu": "12th Gen Intel(R) Core(TM) i7-12700", "cpus": 20,
    "ram": 33_500_000_000, "governor": "performance", "load": 0.12, "python": "3.11.2",
    "benchstick": "0.1.0", "fio": "fio-3.39",
}  # fmt: skip

QUEUE = {"scheduler": "none", "nr_requests": "60", "max_sectors_kb": "1024"}
CONTROLLER = "xhci_hcd 0000:00:14.0 [0x8086:0x7ae0]"

_READ = {"SEQ1M Q8T1": 1061.4, "SEQ1M Q1T1": 912.7, "SEQ128K Q32T1": 1059.0,
         "RND4K Q32T1": 231.9, "RND4K Q32T16": 236.5, "RND4K Q1T1": 27.9}  # fmt: skip
# MB/s that a USB 2 port carries at best.
USB_2 = 40.0


class Story:
    """A run that is recorded step by step with invented but steady numbers."""

    def __init__(self, home: Path, db: sqlite3.Connection, plan: Plan, drive: Drive) -> None:
        self.plan, self.drive = plan, drive
        self.target = "file on exfat"
        self.uuid = str(uuid.uuid4())
        self.home = home
        # Nobody needs it after a power cut, and each step is a transaction.
        db.execute("PRAGMA synchronous = OFF")
        self.record = RunRecord.create(
            db,
            uuid=self.uuid,
            suite=plan.suite,
            practice=drive.is_practice,
            drive=drive.to_json(),
            plan=plan.to_json(),
            pid=1,
            device=drive.path,
        )
        self.record.conditions(
            {
                "host": HOST,
                "filesystem": {"fs": "exfat", "device": f"{drive.path}1"},
                "queue": QUEUE,
                "drive_state": "fresh: blkdiscard, 12 % filled",
            }
        )
        self.random = random.Random(7)
        self.t = 0.0
        self.n = 0

    def tell(self, steps: int | None = None, spoil: str | None = None) -> None:
        """Record the first `steps` steps, or all. `spoil` makes that step's results invalid."""
        for index, step in enumerate(self.plan.steps[:steps]):
            folder = f"runs/{self.uuid}/{index:02d}-step"
            self.record.step_begins(index, step.name, step.kind, self.t, folder)
            started_at = self.t
            results: list[Result] = []
            if isinstance(step, Fio | Copy):
                self.artifacts(folder, step.name)
            if isinstance(step, Idle) and step.temperature:
                fact = self.drive.facts.get("temperature") or Fact.unknown("it has no sensor")
                celsius = None
                if fact.value is not None:
                    warmer = min(22.0, self.t / 60) + self.random.random()
                    celsius = round(38 + warmer, 1)
                self.record.temperature(self.t, index, celsius, fact.source or None, fact.reason)
            samples = list(self._samples(index, step))
            self.t = started_at + max(0.3, step.seconds)
            if isinstance(step, Fio) and step.recording.counted:
                results = self._fio(step, step.name == spoil)
            elif isinstance(step, Copy):
                results = self._copy(step, step.name == spoil)
            self.record.step_ends(
                index, StepState.COMPLETE, self.t, results=results, samples=samples
            )

    def artifacts(self, folder: str, name: str) -> None:
        """What a step with a tool leaves on disk."""
        path = self.home / folder
        path.mkdir(parents=True)
        (path / "command").write_text(f"fio --thread --output-format=json '--name={name}' <&>\n")
        (path / "stdout").write_text("")
        (path / "fio.json").write_text(json.dumps({"fio version": "fio-3.39"}))

    def _rate(self, step: Fio | Copy) -> tuple[float, bool]:
        """MB/s and whether it is a read."""
        if isinstance(step, Copy):
            direction = step.direction
            base = 982.0 if direction == "read" else 861.0 - 12 * step.pass_no
        else:
            test, _, direction = step.test.rpartition(" ")
            base = _READ.get(test, 500.0) * (1 if direction == "read" else 0.93)
        if self.drive.value("usb_speed") == 480:
            # The time on the wire comes on top of the drive's own.
            base = 1 / (1 / base + 1 / USB_2)
        return base, direction == "read"

    def _samples(self, index: int, step: Any) -> Iterator[Sample]:
        seconds = max(1, round(step.seconds))
        for second in range(seconds):
            rate, is_read = self._rate(step) if isinstance(step, Fio | Copy) else (0.0, True)
            wave = rate * (1 - 0.02 * self.random.random() - (0.15 if second % 17 == 16 else 0))
            moved = int(wave * 1e6)
            block = getattr(step, "block", 1 << 20)
            yield Sample(
                n=self.n,
                t=self.t + second + 1,
                dt=1.0,
                step_index=index,
                read_bytes=moved if is_read else 0,
                write_bytes=0 if is_read else moved,
                discard_bytes=0,
                reads=moved // block if is_read else 0,
                writes=0 if is_read else moved // block,
                discards=0,
                flushes=0,
                inflight=min(30, getattr(step, "depth", 8)) if moved else 0,
                queue=4.0 if moved else 0.0,
            )
            self.n += 1

    def _fio(self, step: Fio, bad: bool) -> list[Result]:
        rate, is_read = self._rate(step)
        rate *= 1 - 0.004 * self.random.random()
        state, reason = (
            ("invalid", "buffered: 37 % of the bytes went through the page cache")
            if bad
            else ("valid", None)
        )
        moved = int(rate * 5e6)
        sides = {"read_bytes": moved if is_read else 0, "write_bytes": 0 if is_read else moved}
        counters = {key: int(value * 1.0008) for key, value in sides.items()}
        latency = step.job.depth * step.job.threads * step.job.block / rate
        totals = {
            **sides,
            "ios": 1_000_000, "seconds": 5.0, "latency_us": latency, "max_us": 40 * latency,
            "percentiles_us": {"50": 0.9 * latency, "99": 2 * latency, "99.9": 4 * latency,
                               "99.99": 9 * latency, "99.999": 20 * latency},
            "histogram_us": {"read" if is_read else "write":
                             [[20, 250_000], [50, 500_000], [100, 249_999], [200, 1]]},
        }  # fmt: skip
        rest = {"counters": counters, "totals": totals}

        def one(name: str, value: float, unit: str) -> Result:
            return named(step=step.name, name=name, value=value, unit=unit, pass_no=step.pass_no,
                          target="file on exfat", state=state, reason=reason,
                          detail=rest if unit == "MB/s" else {})  # fmt: skip

        return [
            one(step.test, rate, "MB/s"),
            one(f"{step.test} IOPS", rate * 1e6 / step.job.block, "IOPS"),
            one(f"{step.test} latency", latency, "us"),
        ]

    def _copy(self, step: Copy, bad: bool) -> list[Result]:
        rate, _ = self._rate(step)
        size = next(item["bytes"] for item in self.plan.sets if item["name"] == step.set_name)
        label = f"{step.set_name} {step.direction}"
        state, reason = ("invalid", "data differ: 00012.jpg") if bad else ("valid", None)

        def one(name: str, value: float, unit: str) -> Result:
            return named(step=step.name, name=name, value=value, unit=unit, pass_no=step.pass_no,
                          target="file on exfat", state=state, reason=reason)  # fmt: skip

        return [one(label, rate, "MB/s"), one(f"{label} time", size / rate / 1e6, "s")]

    def finish(
        self, state: RunState = RunState.COMPLETE, exit_code: int = 0, reason: str | None = None
    ) -> int:
        """Close the run as the runner does, with the suite's own result; its number."""
        drive, suite = self.drive.to_json(), registry.find(self.plan.suite)
        result = conclude(self.record, suite, self.plan, drive, self.target)
        self.record.finish(
            state, exit_code, seconds=self.t, reason=reason, result=result, open_steps=
            StepState.INTERRUPTED if state == RunState.COMPLETE else StepState(state),
        )  # fmt: skip
        return self.record.number

    def publish(self, index: int, fraction: float) -> None:
        """The live record in the middle of step `index`."""
        step = self.plan.steps[index]
        pending = [sample.to_json() for sample in self._samples(index, step)]
        pending = pending[: max(1, math.ceil(len(pending) * fraction))]
        live_progress.publish(
            self.uuid,
            {
                "step_index": index,
                "name": step.name,
                "fraction": fraction,
                "text": "14.2 of 47.9 GB written in this set",
                "t": self.t,
                "seconds_left": sum(item.seconds for item in self.plan.steps[index:]),
                "samples": pending,
            },
        )


def start(home: Path, db: sqlite3.Connection, suite: str, drive: Drive, **wishes: Any) -> Story:
    """A run that has started. `params`, `fs`, `scale`, `target` as `make_plan` takes them."""
    params = wishes.pop("params", {})
    plan = registry.make_plan(suite, drive.to_json(), params, ram=32 << 30, **wishes)
    return Story(home, db, plan, drive)


def give_times(db: sqlite3.Connection, running: float) -> None:
    """Give the runs times that agree with how long they took: the finished ones one after another,
    the last of them ended two minutes ago; the running one started `running` seconds ago."""
    now = datetime.datetime.now(datetime.UTC)

    def utc(ago: float) -> str:
        stamp = now - datetime.timedelta(seconds=ago)
        return stamp.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"

    ago = 120.0
    with transaction(db):
        for row in db.execute(
            "SELECT number, state, seconds FROM runs ORDER BY number DESC"
        ).fetchall():
            seconds = row["seconds"] or 0.0
            end_utc: str | None = utc(ago)
            ago += seconds
            age = ago
            if row["state"] == "running":
                age, end_utc = running, None
            db.execute(
                "UPDATE runs SET created_utc = ?, ended_utc = ? WHERE number = ?",
                (utc(age), end_utc, row["number"]),
            )
            for event in db.execute(
                "SELECT id, t FROM events WHERE run = ?", (row["number"],)
            ).fetchall():
                t = seconds if event["t"] is None else event["t"]
                db.execute("UPDATE events SET utc = ? WHERE id = ?", (utc(age - t), event["id"]))
            # The user selects the next one in this time.
            ago += 180


def full_bench(home: Path) -> dict[str, Any]:
    """Drives of every kind, finished, failed, cancelled, practice runs and one that is running.

    Returns their numbers, and the lock that keeps the running one alive.
    """
    make_run_folder()
    db = open_writer(home)
    keep_drives(db)
    numbers: dict[str, Any] = {}
    story = start(home, db, "cdm", practice(), params={"time": "1", "passes": "1", "size": "64MiB"})
    story.tell()
    numbers["practice"] = story.finish()
    story = start(home, db, "das", fast(), fs="exfat", scale=0.05)
    story.tell(spoil="BR, pass 2, read")
    numbers["das"] = story.finish()
    story = start(home, db, "cdm", fast(), params={"preset": "nvme"}, fs="exfat")
    story.tell()
    numbers["cdm"] = story.finish()
    story = start(home, db, "cdm", slow(), fs="exfat", params={"mix": "70"})
    story.tell(spoil="RND4K Q1T1 read, pass 1")
    story.record.event(story.t, "link", "the drive was reset by its host")
    numbers["slow"] = story.finish()
    story = start(home, db, "das", slow(), fs="exfat", scale=0.02)
    story.tell(9)
    story.record.event(story.t, "drive-lost", "went away in the middle of the test")
    numbers["lost"] = story.finish(
        RunState.FAILED, 4, "SanDisk Extreme (port:1-4:0): the drive went away"
    )
    story = start(home, db, "das", fast(), fs="exfat", scale=0.1)
    lock = RunLock(story.uuid)
    story.tell(12)
    step = story.plan.steps[12]
    story.record.step_begins(12, step.name, step.kind, story.t, f"runs/{story.uuid}/12-step")
    story.publish(12, 0.62)
    numbers["running"] = story.record.number
    numbers["lock"] = lock
    numbers["story"] = story
    db.close()
    return numbers
