"""Facts, codes, selectors, sentences, temperature, plug events: the parts without a device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.drives import (
    ata,
    block_queue,
    bottlenecks,
    device_query,
    discover,
    hotplug,
    locks,
    os_detection,
    partition_table,
    practice,
    prepare,
    summary,
    sysfs,
    temperature,
    topology,  # fmt: skip
    usb,
)
from benchstick.drives.subprocesses import Finished
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.errors import BadInput
from benchstick.plan.states import GuardState
from tests.hardware import playback
from tests.hardware.documented import nvme_ssd
from tests.hardware.shapes import ata_words, bos, descriptors


def drive(
    name: str = "sda",
    serial: str | None = "SER1",
    port: str = "2-1",
    label: str | None = None,
    **facts: object,
) -> Drive:
    """A made-up drive; keywords are facts."""
    identity = Identity(serial, "Model", None, None, 10**12, port, 0)
    values = {"transport": "usb-uas", "external": True, **facts}
    return Drive(
        name,
        f"/dev/{name}",
        "8:0",
        5,
        "",
        identity,
        Guard(GuardState.FREE, "test"),
        {key: Fact(value, source="test") for key, value in values.items()},
        label,
    )


# --- codes and selectors -----------------------------------------------------------------------


def test_the_code_is_the_serial_where_it_is_the_only_one() -> None:
    coded_drives = discover._with_codes(
        [
            drive("sda", "A", "2-1"),
            drive("sdb", "A", "2-2.1"),
            drive("sdc", "B", "2-3"),
            drive("sdd", None, "2-4"),
            drive("sde", "practice", "2-5"),
            drive("sdf", "port:2-1:0", "2-6"),
        ],
        {},
    )
    assert [d.code for d in coded_drives] == [
        "port:2-1:0", "port:2-2.1:0", "B", "port:2-4:0", "port:2-5:0@8:0", "port:2-6:0",
    ]  # fmt: skip
    assert len({d.code for d in coded_drives}) == len(coded_drives)


def test_two_drives_that_the_kernel_puts_in_one_place_still_have_two_codes() -> None:
    first, second = drive("sda", None), drive("sdb", None)
    coded_drives = discover._with_codes([first, second], {})
    assert len({d.code for d in coded_drives}) == 2


def some_drives() -> list[Drive]:
    return discover._with_codes(
        [drive("sda", "A", "2-1"), drive("sdb", "A", "2-2.1"), drive("sdc", "B", "2-3")],
        {drive("sdc", "B", "2-3").identity.key(): "shelf 4"},
    )


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("/dev/sdb", "sdb"),
        ("B", "sdc"),
        (" B ", "sdc"),
        ("port:2-2.1:0", "sdb"),
        ("2-2.1", "sdb"),
        ("port:2-3:0", "sdc"),
        ("shelf 4", "sdc"),
    ],
)
def test_a_selector_finds_its_drive(selector: str, name: str) -> None:
    assert discover.resolve(selector, some_drives()).name == name


def test_an_ambiguous_selector_names_the_candidates() -> None:
    with pytest.raises(BadInput, match=r"names 2 drives.*port:2-1:0.*port:2-2\.1:0") as caught:
        discover.resolve("A", some_drives())
    assert caught.value.field == "drive"


def test_a_label_that_is_another_drives_code_is_ambiguous() -> None:
    drives = [drive("sda", "A", "2-1"), drive("sdb", "B", "2-2")]
    coded_drives = discover._with_codes(drives, {drives[0].identity.key(): "B"})
    with pytest.raises(BadInput, match="names 2 drives"):
        discover.resolve("B", coded_drives)


@pytest.mark.parametrize("selector", ["nothing", "/dev/sdz", "sda", ""])
def test_an_unknown_selector_lists_the_drives_there_are(selector: str) -> None:
    with pytest.raises(BadInput, match=r"B \(/dev/sdc\)"):
        discover.resolve(selector, some_drives())


def test_without_drives_the_message_is_that_there_are_none() -> None:
    with pytest.raises(BadInput, match="no drives are plugged in"):
        discover.resolve("X", [])


def test_labels_given_to_resolve_count() -> None:
    drives = discover._with_codes([drive("sda", "A")], {})
    assert discover.resolve("desk", drives, {drives[0].identity.key(): "desk"}).name == "sda"


# --- USB ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gigabits", "lanes", "megabits"), [(5, 1, 5000), (10, 1, 10000), (20, 2, 20000)]
)
def test_the_bos_descriptor_has_the_maximum_speed(gigabits: int, lanes: int, megabits: int) -> None:
    assert usb.bos_speed(bos(gigabits=gigabits, lanes=lanes)) == megabits


@pytest.mark.parametrize("raw", [b"", b"\5", bytes(64), bos(gigabits=10)[:9], b"\xff" * 40])
def test_a_broken_bos_descriptor_gives_none(raw: bytes) -> None:
    assert usb.bos_speed(raw) in (None, 5000)


def test_every_alternate_setting_counts(tmp_path: Path) -> None:
    folder = tmp_path / "dev"
    folder.mkdir()
    for protocols, expected in (
        ([0x50], ["BOT"]), ([0x50, 0x62], ["BOT", "UAS"]), ([0x62], ["UAS"]),
        ([0x01], ["protocol 0x01"]),
    ):  # fmt: skip
        (folder / "descriptors").write_bytes(descriptors("1234:5678", protocols))
        assert usb.offered(sysfs.Tree(tmp_path), Path("dev"))[0] == expected


def test_lsusb_is_understood() -> None:
    output = """
  SuperSpeed USB Device Capability:
      Device can operate at SuperSpeed (5Gbps)
  SuperSpeedPlus USB Device Capability:
      Speed Attribute ID: 0 5Gb/s Symmetric RX SuperSpeed
      Speed Attribute ID: 1 10Gb/s Symmetric RX SuperSpeedPlus
"""
    assert usb.lsusb_speed(output) == 10000
    assert usb.lsusb_speed("nothing") is None


def test_the_quirk_parameter_is_read_by_id() -> None:
    assert usb.quirk_for("152d:0578:u,0BC2:2321:tu", "0bc2:2321") == "tu"
    assert usb.quirk_for("152d:0578:u", "152d:0579") is None
    assert usb.quirk_for("", "152d:0579") is None


# --- ATA ---------------------------------------------------------------------------------------


def test_identify_words_are_read_from_hdparm_and_from_the_vpd_page() -> None:
    text = ata_words(serial="SN42", model="Model 7", firmware="FW1")
    words = ata.parse_hdparm(text)
    page = bytes(60) + b"".join(word.to_bytes(2, "little") for word in words)
    assert ata.parse_page_89(page) == words
    identity = ata.Words(words, "test")
    assert (identity.serial, identity.model, identity.firmware) == ("SN42", "Model 7", "FW1")


@pytest.mark.parametrize("text", ["", "0000 " * 256, "/dev/sda: 0040", "8000 " * 256, "zz"])
def test_what_is_no_ata_drive_is_not_taken_for_one(text: str) -> None:
    assert not ata.plausible(ata.parse_hdparm(text))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0x00, "not supported"),
        (0x21, "disabled, not frozen"),
        (0x29, "disabled, frozen"),
        (0x2F, "enabled, locked, frozen"),
        (0x33, "enabled, count expired, not frozen"),
    ],
)
def test_the_security_word(word: int, text: str) -> None:
    assert ata.security(word) == text


# --- other facts -------------------------------------------------------------------------------


def test_what_is_no_drive_is_left_out(tmp_path: Path) -> None:
    names = (
        "sda", "sdaa", "nvme0n1", "nvme0c0n1", "mmcblk0", "mmcblk0boot0", "mmcblk0rpmb", "vda",
        "xvda", "nbd0", "nullb0", "dm-0", "loop0", "sr0", "fd0", "zram0", "ram0", "md0", "sdb",
        "nvme1n1", "dm-1",
    )  # fmt: skip
    for name in names:
        folder = tmp_path / "sys/block" / name
        folder.mkdir(parents=True)
        (folder / "size").write_text("0\n" if name == "sdb" else "2048\n")
    (tmp_path / "sys/block/nvme1n1/hidden").write_text("1\n")
    (tmp_path / "sys/block/dm-1/dm").mkdir()
    (tmp_path / "sys/block/dm-1/dm/uuid").write_text("LVM-abc\n")
    assert set(sysfs.disk_names(sysfs.Tree(tmp_path))) == {
        "sda", "sdaa", "nvme0n1", "mmcblk0", "vda", "xvda", "nbd0", "nullb0", "dm-0", "loop0",
    }  # fmt: skip


def test_blkids_escapes_are_undone() -> None:
    probe = partition_table.parse_blkid("LABEL=My\\ Disk\\'s\nTYPE=exfat\nUSAGE=filesystem\n")
    assert (probe.label, probe.type, probe.usage) == ("My Disk's", "exfat", "filesystem")


def test_a_mountpoint_with_blanks_and_the_right_columns() -> None:
    from benchstick.drives import in_use

    line = "36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 - ext3 /dev/my\\134root rw,errors=x"
    assert in_use.parse_mountinfo(line) == [("98:0", "/mnt/a b", "ext3", "/dev/my\\root")]


def test_every_gpt_type_is_written_as_sfdisk_writes_it() -> None:
    for kind in os_detection.GPT_TYPES:
        assert kind == kind.upper()
        assert len(kind) == 36


@pytest.mark.parametrize(
    ("fs", "size", "cluster"),
    [
        ("exfat", 200 << 20, 4096),
        ("exfat", 32 << 30, 32768),
        ("exfat", 64 << 30, 131072),
        ("ntfs", 4 * 10**12, 4096),
        ("ntfs", 20 << 40, 8192),
        ("ext4", 4 * 10**12, 4096),
    ],
)
def test_clusters_are_those_that_windows_takes(fs: str, size: int, cluster: int) -> None:
    assert prepare.cluster_size(fs, size) == cluster


def test_the_practice_drive_takes_at_most_a_quarter() -> None:
    gib = 1 << 30
    assert practice.size_for(16 * gib) == 4 * gib
    assert practice.size_for(20 * gib) == 5 * gib
    assert practice.size_for(1000 * gib) == 8 * gib
    assert practice.size_for(12 * gib, allocated_bytes=4 * gib) == 4 * gib
    with pytest.raises(BadInput, match=r"17\.2 GB.*BENCHSTICK_HOME"):
        practice.size_for(16 * gib - 1)


# --- sentences ---------------------------------------------------------------------------------


def test_the_summary_and_a_port_that_limits_the_link(tmp_path: Path) -> None:
    uas_drive = playback.play(playback.CASES / "uas-on-usb2", tmp_path)[0]
    assert summary.summary_line(uas_drive) == "USB 480 Mb/s · UASP · queue 30 · TRIM no"
    assert list_problems(uas_drive) == ["the drive can do 10 Gb/s, the link runs at 480 Mb/s"]


def list_problems(drive: Drive) -> list[str]:
    return [item.text for item in bottlenecks.find_worse(drive.value)]


def test_trim_that_the_kernel_does_not_use_is_reported(tmp_path: Path) -> None:
    uas_drive = playback.play(playback.CASES / "uas-bridge-sat", tmp_path)[0]
    assert summary.summary_line(uas_drive).endswith("TRIM offered, not used by the kernel")
    assert any("provisioning mode full" in text for text in list_problems(uas_drive))


def test_a_slow_slot_and_a_slow_link_are_reported(tmp_path: Path) -> None:
    nvme = playback.play(playback.CASES / "nvme-ssd", tmp_path / "a")[0]
    assert summary.summary_line(nvme) == "NVMe PCIe 8 GT/s x4 · queue 1023 · TRIM yes"
    assert list_problems(nvme) == ["the drive can do PCIe 16 GT/s x4, the link runs at 8 GT/s x4"]
    sata = playback.play(playback.CASES / "sata-frozen", tmp_path / "b")[0]
    assert list_problems(sata) == ["the drive can do SATA 6 Gb/s, the link runs at 1.5 Gb/s"]


def with_facts(**facts: Any) -> dict[str, Any]:
    return {name: {"value": value, "unit": None, "source": ""} for name, value in facts.items()}


WORSE: list[tuple[dict[str, Any], str, str]] = [
    ({"usb_speed": 480, "usb_capable_speed": 5000}, "usb_link",
     "the drive can do 5 Gb/s, the link runs at 480 Mb/s"),
    ({"driver": "usb-storage", "driver_why": "offers UAS, but 100 % of it is off"}, "usb_driver",
     "no UASP: offers UAS, but 100 % of it is off"),
    ({"sata_speed": 3000, "sata_capable_speed": 6000, "sata_port_limit": 3000}, "sata_link",
     "the drive can do SATA 6 Gb/s, the link runs at 3 Gb/s (the port's limit is 3 Gb/s)"),
    ({"pcie_speed": 16, "pcie_width": 2, "pcie_capable_speed": 16, "pcie_capable_width": 4},
     "pcie_link", "the drive can do PCIe 16 GT/s x4, the link runs at 16 GT/s x2"),
    ({"trim": True, "trim_kernel": 0}, "trim",
     "the drive supports TRIM, but the kernel does not use it"),
    ({"trim": True, "trim_kernel": 0, "provisioning_mode": "full"}, "trim",
     "the drive supports TRIM, but the kernel does not use it (provisioning mode full)"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "code", "text"), WORSE)
def test_each_bottleneck_is_reported_with_the_facts_that_show_it(
    facts: dict[str, Any], code: str, text: str
) -> None:
    assert [item.to_json() for item in bottlenecks.of_json(with_facts(**facts))] == [
        {"code": code, "text": text, "values": facts}
    ]


def test_each_code_of_a_bottleneck_is_reported_for_some_drive() -> None:
    problems = [item for facts, _, _ in WORSE for item in bottlenecks.of_json(with_facts(**facts))]
    assert {item.code for item in problems} == set(bottlenecks.CODES)


@pytest.mark.parametrize(
    "facts",
    [{}, {"usb_speed": 5000, "usb_capable_speed": 5000}, {"usb_speed": 480},
     {"sata_speed": "3000", "sata_capable_speed": [6000]}, {"trim": True}, {"trim_kernel": 0},
     {"trim": True, "trim_kernel": 4096}, {"usb_speed": float("nan"), "usb_capable_speed": 10**400},
     {"pcie_speed": 16, "pcie_width": 4, "pcie_capable_speed": 8, "pcie_capable_width": 4}],
)  # fmt: skip
def test_a_value_that_is_unknown_or_no_number_is_no_bottleneck(facts: dict[str, Any]) -> None:
    assert bottlenecks.of_json(with_facts(**facts)) == []
    assert (
        bottlenecks.of_json({"bottlenecks": "a lie", "usb_speed": 480, **with_facts(**facts)}) == []
    )


def test_a_drives_json_has_the_limits_of_its_connection(tmp_path: Path) -> None:
    slow = playback.play(playback.CASES / "uas-on-usb2", tmp_path)[0]
    (problem,) = slow.to_json()["bottlenecks"]
    assert problem["code"] == "usb_link"
    assert problem["values"] == {"usb_speed": 480, "usb_capable_speed": 10000}
    assert bottlenecks.of_json(slow.to_json()) == bottlenecks.find_worse(slow.value)


# --- quick scans, queries ----------------------------------------------------------------------


def test_a_quick_scan_sends_no_smart_and_asks_again_only_after_writes(tmp_path: Path) -> None:
    case = nvme_ssd()
    case.write(tmp_path)
    root = tmp_path / "root"
    playback.expand(case.tree, root)
    answers = playback.recorded(tmp_path / case.name / "tools")
    calls: list[str] = []

    def ask(argv: Sequence[str]) -> Finished:
        calls.append(argv[0])
        return answers(argv)

    first = discover.scan(root=root, query=ask, deep=False)[0]
    assert {"smartctl", "nvme", "hdparm"}.isdisjoint(calls)
    assert "blkid" in calls
    assert first.facts["health"].reason == "not asked: quick look"
    assert first.guard.state == "locked"
    calls.clear()
    assert discover.scan(root=root, query=ask, deep=False)[0].guard == first.guard
    assert calls == []
    stat = root / "sys/block/nvme0n1/stat"
    stat.write_text("0 0 0 0 1 0 8 0 0 0 0 0 0 0 0 0 0\n")
    discover.scan(root=root, query=ask, deep=False)
    assert "blkid" in calls


def test_a_drive_under_test_is_not_queried(tmp_path: Path) -> None:
    case = nvme_ssd()
    case.write(tmp_path)
    playback.expand(case.tree, tmp_path / "root")

    def ask(argv: Sequence[str]) -> Finished:
        raise AssertionError(f"asked {argv}")

    disk = discover.scan(root=tmp_path / "root", query=ask, skip_queries=["nvme0n1"])[0]
    assert (disk.guard.state, disk.guard.reason) == ("locked", "not asked while a test runs")
    assert disk.facts["health"].reason == "not asked while a test runs"
    assert disk.value("pcie_speed") == 8


def test_a_missing_tool_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = device_query.ask_live(["no-such-tool-here", "-x"])
    assert answer.exit_code == device_query.NOT_INSTALLED
    assert "no-such-tool-here is not installed" in answer.error_line


def test_a_tool_that_hangs_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_query, "TIMEOUT_SECONDS", 0.2)
    asker = device_query.Asker(device_query.ask_live)
    assert asker("sleep", "20").timed_out
    assert asker.silent_why is not None
    assert "did not answer sleep" in asker.silent_why
    assert asker("true").exit_code == device_query.NOT_INSTALLED


# --- temperature -------------------------------------------------------------------------------


def test_temperature_is_read_from_hwmon_first(tmp_path: Path) -> None:
    case = nvme_ssd()
    case.write(tmp_path)
    playback.expand(case.tree, tmp_path / "root")
    nvme_drive = drive("nvme0n1", transport="nvme")
    answers = playback.recorded(tmp_path / case.name / "tools")
    fact = temperature.read(nvme_drive, answers, tree=sysfs.Tree(tmp_path / "root"))
    assert (fact.value, fact.unit, fact.source) == (43.85, "°C", "hwmon nvme")


def test_temperature_gives_up_after_two_failures(tmp_path: Path) -> None:
    case = playback.CASES / "uas-bridge-sat"
    playback.play(case, tmp_path)
    calls = []

    def fails(argv: Sequence[str]) -> Finished:
        calls.append(argv)
        return Finished(tuple(argv), 1, b"", b"no answer", 0.0)

    usb_drive = drive("sda", "give-up")
    where = sysfs.Tree(tmp_path)
    temperature._failures.clear()
    for _ in range(temperature.GIVE_UP_AFTER):
        assert temperature.read(usb_drive, fails, tree=where).value is None
    count = len(calls)
    fact = temperature.read(usb_drive, fails, tree=where)
    assert fact.reason == "given up after 2 failed readings"
    assert len(calls) == count > 0
    temperature._failures.clear()


def test_a_drive_without_sensor_has_the_reason(tmp_path: Path) -> None:
    temperature._failures.clear()
    fact = temperature.read(drive("loop99", transport="virtual"), tree=sysfs.Tree(tmp_path))
    assert fact.reason == "a virtual drive has no sensor"


# --- plug events, locks ------------------------------------------------------------------------


def test_changes_are_plugs_unplugs_and_another_disk_of_the_same_name() -> None:
    assert hotplug.changes({"sda": 1}, {"sda": 1}) == []
    assert hotplug.changes({}, {"sda": 1}) == [hotplug.Event("plug", "sda", 1)]
    assert hotplug.changes({"sda": 1}, {}) == [hotplug.Event("unplug", "sda", 1)]
    assert hotplug.changes({"sda": 1}, {"sda": 2}) == [
        hotplug.Event("unplug", "sda", 1),
        hotplug.Event("plug", "sda", 2),
    ]


def test_a_drive_lock_is_seen_without_being_taken(bench_home: Path) -> None:
    path = locks.lock_path(drive().identity)
    assert locks.running() == []
    fd = locks.take(path)
    assert fd is not None
    locks.write(fd, {"name": "sda", "diskseq": 5})
    assert locks.is_locked("sda")
    assert not locks.is_locked("sdb")
    assert locks.take(path) is None
    assert locks.is_locked("sda"), "looking and trying must not free the lock"
    locks.release(fd)
    assert not locks.is_locked("sda")
    again = locks.take(path)
    assert again is not None
    locks.release(again)


def test_lock_names_are_safe_and_distinct() -> None:
    odd = locks.lock_path(drive(serial="../../etc/pass wd").identity)
    assert "/" not in odd.name
    assert odd.parent == paths.locks()
    assert locks.lock_path(drive(port="2-1").identity) != locks.lock_path(
        drive(port="2-2").identity
    )


@pytest.mark.parametrize(
    ("size", "scheduler", "depth", "source"),
    [
        ("1023", "[none] mq-deadline", 1023, "sysfs sqsize, each submission queue"),
        # With one processor the kernel gives the drive a scheduler, which has a queue of its own.
        ("1023", "none [mq-deadline]", 1023, "sysfs sqsize, each submission queue"),
        (None, "[none] mq-deadline", 256, "sysfs nr_requests, each hardware queue"),
        (None, "none [mq-deadline]", None, ""),
    ],
)
def test_a_scheduler_is_not_taken_for_the_queue_of_an_nvme_drive(
    tmp_path: Path, size: str | None, scheduler: str, depth: int | None, source: str
) -> None:
    case = nvme_ssd()
    controller = "sys/devices/pci0000:00/0000:00:1b.0/0000:03:00.0/nvme/nvme0"
    case.put(f"{controller}/nvme0n1/queue", nr_requests="256", scheduler=scheduler)
    if size is not None:
        case.put(controller, sqsize=size)
    playback.expand(case.tree, tmp_path / "root")
    where = topology.locate(sysfs.Tree(tmp_path / "root"), "nvme0n1", practice=False)
    fact = block_queue.facts(sysfs.Tree(tmp_path / "root"), where)["queue_depth"]
    assert (fact.value, fact.source) == (depth, source)
    if depth is None:
        assert fact.reason == "hidden by the I/O scheduler mq-deadline"
