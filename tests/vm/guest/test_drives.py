"""The drives of the VM, each on its real driver: facts, selectors, plug events, hanging drives."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives import discover, guard, hotplug, summary, temperature
from benchstick.drives.device_query import ask_patiently
from benchstick.drives.types import Drive
from benchstick.errors import BadInput, Refused
from tests.host.bench import Bench
from tests.vm.guest.drive_help import by_serial, call, drive, plug, scsi_debug, unplug, wait_for

EXPECTED: dict[str, dict[str, Any]] = {
    "BSUAS0001": {
        "transport": "usb-uas", "external": True, "driver": "uas", "queue_depth": 14,
        "usb_speed": 5000, "usb_interfaces": ["UAS"], "trim": True, "provisioning_mode": "unmap",
    },
    "BSBOT0001": {
        "transport": "usb-bot", "external": True, "driver": "usb-storage", "queue_depth": 1,
        "usb_interfaces": ["BOT"], "trim_kernel": 0,
    },
    "BSSATA0001": {
        "transport": "sata", "external": False, "driver": "ahci", "queue_depth": 32,
        "ncq": "supported, depth 32", "trim": True, "smart": "enabled", "health": "passed",
        "security": "not supported", "sata_speed": 1500,
    },
    "BSNVME0001": {
        "transport": "nvme", "external": False, "driver": "nvme", "trim": True,
        "rotational": False, "health": "passed", "write_cache": "enabled",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def found_once() -> dict[str, Drive]:
    """One scan for the tests that only look."""
    return by_serial()


@pytest.mark.parametrize("serial", sorted(EXPECTED))
def test_each_drive_is_what_its_driver_says(found_once: dict[str, Drive], serial: str) -> None:
    disk = found_once[serial]
    assert disk.code == serial
    for name, value in EXPECTED[serial].items():
        assert disk.value(name) == value, f"{name}: {disk.facts[name]}"
    for name, fact in disk.facts.items():
        assert fact.value is not None or fact.reason, name
        assert fact.value is None or fact.source, name


# Of each drive: transport, queue depth in use, guard state.
DRIVE_FACTS = {
    "BSUAS0001": ("usb-uas", 14, "free"),
    "BSBOT0001": ("usb-bot", 1, "free"),
    "BSSATA0001": ("sata", 32, "locked"),
    "BSNVME0001": ("nvme", 1023, "locked"),
    "BSPCEXT4": ("sata", 32, "protected"),
    "BSPCWIN": ("sata", 32, "locked"),
}


def test_drives_json_lists_transport_depth_and_guard_of_all(bench: Bench) -> None:
    drives = {drive["code"]: drive for drive in bench.json("drives")["drives"]}
    assert {
        serial: (
            drives[serial]["transport"]["value"],
            drives[serial]["queue_depth"]["value"],
            drives[serial]["guard"]["state"],
        )
        for serial in DRIVE_FACTS
    } == DRIVE_FACTS


def test_behind_the_bridges_of_qemu_there_is_no_ata(found_once: dict[str, Drive]) -> None:
    for serial in ("BSUAS0001", "BSBOT0001"):
        for name in ("ncq", "smart", "health", "security"):
            assert (
                found_once[serial].facts[name].reason == "behind this bridge: no ATA pass-through"
            )


def test_temperatures_come_from_those_that_have_a_sensor(found_once: dict[str, Drive]) -> None:
    drives = found_once
    nvme = temperature.read(drives["BSNVME0001"])
    assert nvme.source == "hwmon nvme"
    assert 20 < nvme.value < 90
    sata = temperature.read(drives["BSSATA0001"])
    assert sata.value is not None
    assert 20 < sata.value < 90
    assert temperature.read(drives["BSUAS0001"]).reason == "behind this bridge: no ATA pass-through"


def test_a_queue_depth_of_one_shows() -> None:
    disk = drive("BSSATA0001")
    setting = Path(f"/sys/block/{disk.name}/device/queue_depth")
    setting.write_text("1")
    try:
        slow = drive("BSSATA0001")
        assert slow.value("queue_depth") == 1
        assert "queue 1" in summary.summary_line(slow)
    finally:
        setting.write_text("32")


def test_selectors_by_link_port_and_partition() -> None:
    drives = discover.scan()
    uas = next(d for d in drives if d.code == "BSUAS0001")
    link = next(
        path for path in Path("/dev/disk/by-id").iterdir() if path.resolve() == Path(uas.path)
    )
    for selector in (str(link), uas.path, uas.identity.port, "port:2-1:0"):
        assert discover.resolve(selector, drives).code == "BSUAS0001", selector
    mounted_drive = next(d for d in drives if d.code == "BSPCEXT4")
    with pytest.raises(BadInput, match=f"is a partition: name its drive, {mounted_drive.path}"):
        discover.resolve(f"{mounted_drive.path}1", drives)


def test_plug_and_unplug_are_seen_as_they_happen() -> None:
    disk = drive("BSUAS0001")
    events: list[hotplug.Event] = []
    stop = threading.Event()

    def follow() -> None:
        # An interval that is too long to be what brings the events.
        for event in hotplug.watch(stop=stop, interval=600, initial=hotplug.present()):
            events.append(event)

    follower = threading.Thread(target=follow)
    follower.start()
    time.sleep(1.0)
    try:
        unplug(disk)
        wait_for(lambda: len(events) == 1)
        plug(disk)
        wait_for(lambda: len(events) == 2)
    finally:
        stop.set()
        follower.join()
    assert events[0] == hotplug.Event("unplug", disk.name, disk.diskseq)
    assert events[1].kind == "plug"
    again = drive("BSUAS0001")
    assert (events[1].name, events[1].diskseq) == (again.name, again.diskseq)
    assert again.diskseq != disk.diskseq
    assert again.identity == disk.identity


def test_luns_of_one_target_have_codes_of_their_own() -> None:
    with scsi_debug("max_luns=2", "dev_size_mb=64", "num_tgts=1") as names:
        drives = [d for d in discover.scan() if d.name in names]
        assert len(drives) == 2
        assert len({d.code for d in drives}) == 2
        assert {d.identity.lun for d in drives} == {0, 1}
        for one in drives:
            assert (one.transport, one.value("external")) == ("other", False)
            assert one.guard.state == "locked"


def test_null_blk_is_a_locked_drive_of_transport_other() -> None:
    call("modprobe", "configfs")
    call("modprobe", "null_blk", "nr_devices=0")
    device = Path("/sys/kernel/config/nullb/benchtest")
    device.mkdir()
    try:
        (device / "size").write_text("64")
        (device / "memory_backed").write_text("1")
        (device / "power").write_text("1")
        call("udevadm", "settle")
        drives = [d for d in discover.scan() if d.devno.split(":")[0] == _null_major()]
        assert [(d.transport, d.guard.state) for d in drives] == [("other", "locked")]
    finally:
        (device / "power").write_text("0")
        device.rmdir()


def _null_major() -> str:
    rows = Path("/proc/devices").read_text().splitlines()
    return next(row.split()[0] for row in rows if row.split()[-1:] == ["nullb"])


def test_a_drive_that_hangs_holds_up_nobody() -> None:
    """A suspended device-mapper device: every read waits in the kernel and cannot be killed."""
    with scsi_debug("dev_size_mb=64") as names:
        table = f"0 {64 * 2048} linear /dev/{names[0]} 0"
        call("dmsetup", "create", "hangs", "--table", table)
        try:
            call("udevadm", "settle")
            call("dmsetup", "suspend", "hangs")
            started_at = time.monotonic()
            by_port = {d.identity.port: d for d in discover.scan()}
            assert time.monotonic() - started_at < 60
            hanging = by_port["hangs"]
            assert hanging.guard.state == "locked"
            assert hanging.guard.retry
            assert hanging.guard.reason.startswith("not answering, try again: the drive did not")
            # Its code does not help, and the node is not opened, which could hang the bench.
            with pytest.raises(Refused, match="is not answering, try again: "):
                guard.hold(hanging, unlock=hanging.code, erase=hanging.code, destructive=True)
            assert {d.code for d in by_port.values()} >= set(EXPECTED)
            states = {d.code: d.guard.state for d in by_port.values()}
            assert (states["BSUAS0001"], states["BSBOT0001"]) == ("free", "free")
            # It answers again: an internal drive, which its code unlocks.
            call("dmsetup", "resume", "hangs")
            call("udevadm", "settle")
            # The scan that a run does on its own, with time enough on a busy machine.
            again = {d.identity.port: d for d in discover.scan(query=ask_patiently)}["hangs"]
            assert (again.guard.state, again.guard.retry) == ("locked", False), again.guard
            assert "internal" in again.guard.reason
        finally:
            call("dmsetup", "resume", "hangs")
            call("udevadm", "settle")
            call("dmsetup", "remove", "--retry", "hangs")
