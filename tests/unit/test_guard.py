"""The guard's rules, on built trees: every sentence of docs/guard.md."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives import device_query, discover, guard_policy, in_use, os_detection
from benchstick.drives.device_query import PROBE
from benchstick.drives.partition_table import Contents, Partition
from benchstick.drives.types import Drive
from tests.hardware.documented import ahci_port, no_ata, no_unmap, xhci
from tests.hardware.playback import expand, recorded
from tests.hardware.shapes import (
    DOS,
    GPT,
    Case,
    Disk,
    contents,
    filesystem,
    scsi_disk,
    smartctl_error,
    usb_device,
)

BASIC = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"
LINUX = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
START, SIZE = 1, 900
AT = f"/dev/sda?offset={START << 20}"


def usb_case(name: str = "sda", port: str = "2-1", case: Case | None = None) -> tuple[Case, Disk]:
    """A USB disk that is free as long as nothing is put on it."""
    case = case or Case("built", "")
    interface = usb_device(
        case,
        xhci(case),
        port,
        ids="152d:0578",
        maker="Maker",
        product="Disk",
        driver="uas",
        protocols=[0x50, 0x62],
        speed=5000,
        serial=f"SERIAL-{name}",
    )
    host = 6 + ord(name[2]) - ord("a")
    disk = scsi_disk(
        case, interface, f"{host}:0:0:0", name, size=1 << 30, vendor="Maker", model="Disk"
    )
    smartctl_error(case, name, f"/dev/{name}: Unknown USB bridge [0x152d:0x0578]")
    no_ata(case, name)
    no_unmap(case, name)
    return case, disk


def look(case: Case, tmp_path: Path, **arguments: Any) -> list[Drive]:
    case.write(tmp_path / "cases")
    expand(case.tree, tmp_path / "root")
    tools = tmp_path / "cases" / case.name / "tools"
    return discover.scan(root=tmp_path / "root", query=recorded(tools), **arguments)


def guard_of(case: Case, tmp_path: Path, **arguments: Any) -> tuple[str, str]:
    drive = look(case, tmp_path, **arguments)[0]
    return drive.guard.state, drive.guard.reason


def part(kind: str, blkid: str = "", **more: Any) -> dict[str, Any]:
    return {"start": START, "size": SIZE, "type": kind, "blkid": blkid, **more}


def test_a_blank_usb_drive_is_free(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk)
    assert guard_of(case, tmp_path)[0] == "free"


# --- protected ---------------------------------------------------------------------------------


def mount_line(devno: str, point: str, fs: str = "ext4", source: str = "/dev/sda1") -> str:
    return f"36 27 {devno} / {point} rw,relatime shared:1 - {fs} {source} rw\n"


def formatted() -> Case:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(BASIC, filesystem("exfat"))])
    return case


def test_a_mounted_partition_protects_and_the_sentence_names_the_mount_point(
    tmp_path: Path,
) -> None:
    case = formatted()
    case.tree["proc/self/mountinfo"] = mount_line("8:1", "/media/a\\040b")
    state, reason = guard_of(case, tmp_path)
    assert state == "protected"
    assert "/media/a b" in reason


def test_a_mount_of_another_namespace_protects(tmp_path: Path) -> None:
    case = formatted()
    case.tree["proc/1/mountinfo"] = mount_line("8:1", "/elsewhere")
    assert guard_of(case, tmp_path)[0] == "protected"


def test_a_mount_of_the_bench_itself_does_not_protect(
    tmp_path: Path, bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(BASIC, filesystem("exfat"))], exclusive="busy")
    case.tree["proc/self/mountinfo"] = mount_line("8:1", f"{tmp_path}/run/mnt/some-run")
    assert guard_of(case, tmp_path)[0] == "free"
    monkeypatch.setenv("BENCHSTICK_RUN", "/run/other")
    discover._memory.clear()
    (tmp_path / "again").mkdir()
    assert guard_of(case, tmp_path / "again")[0] == "protected"


def test_swap_in_use_protects(tmp_path: Path) -> None:
    case = formatted()
    case.tree["proc/swaps"] = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda1 partition 9 0 -2\n"
    state, reason = guard_of(case, tmp_path)
    assert (state, "swap" in reason) == ("protected", True)


@pytest.mark.parametrize(
    ("holder", "files", "words"),
    [
        ("dm-0", {"dm/name": "pc-root", "dm/uuid": "LVM-abc"}, "LVM volume pc-root"),
        ("dm-0", {"dm/name": "secret", "dm/uuid": "CRYPT-LUKS2-x"}, "encrypted volume secret"),
        ("dm-0", {"dm/name": "delayed"}, "device-mapper device delayed"),
        ("md127", {"md/level": "raid1"}, "RAID md127"),
        ("bcache0", {}, "bcache0"),
    ],
)
def test_active_holders_protect(
    tmp_path: Path, holder: str, files: dict[str, str], words: str
) -> None:
    case = formatted()
    stacked(case, holder, "sda1", files)
    state, reason = guard_of(case, tmp_path)
    assert (state, words in reason) == ("protected", True), reason


def stacked(case: Case, holder: str, below: str, files: dict[str, str] | None = None) -> None:
    """`holder` is stacked on `below`, as sysfs shows it on both sides."""
    folder = f"sys/devices/virtual/block/{holder}"
    number = sum(ord(c) for c in holder)
    case.put(folder, dev=f"253:{number}", size=1000)
    case.link(f"sys/block/{holder}", f"../../{folder}")
    case.link(f"sys/class/block/{holder}", f"../../../{folder}")
    for name, text in (files or {}).items():
        case.tree[f"{folder}/{name}"] = text + "\n"
    case.tree[f"{folder}/slaves/{below}"] = None
    place = str(case.tree[f"sys/class/block/{below}"]).split("../../../")[1].rstrip("'}")
    case.tree[f"{place}/holders/{holder}"] = None


def test_every_disk_under_a_mounted_stack_is_protected(tmp_path: Path) -> None:
    """A mount over dm over RAID over partitions of two disks."""
    case = formatted()
    _, other = usb_case("sdb", "2-2", case)
    contents(case, other, GPT, [part(BASIC)])
    stacked(case, "md0", "sda1", {"md/level": "raid1"})
    case.tree["sys/devices/virtual/block/md0/slaves/sdb1"] = None
    stacked(case, "dm-3", "md0", {"dm/name": "top"})
    number = sum(ord(c) for c in "dm-3")
    case.tree["proc/self/mountinfo"] = mount_line(f"253:{number}", "/srv", source="/dev/dm-3")
    drives = {drive.name: drive for drive in look(case, tmp_path)}
    for name in ("sda", "sdb"):
        assert drives[name].guard.state == "protected"
        assert "mounted at /srv" in drives[name].guard.reason


def test_all_members_of_a_mounted_btrfs_are_protected(tmp_path: Path) -> None:
    case = formatted()
    case.tree["sys/fs/btrfs/0e7b/devices/sda1"] = None
    state, reason = guard_of(case, tmp_path)
    assert (state, "btrfs" in reason) == ("protected", True)


def test_the_mount_source_identifies_the_drive_where_the_device_number_does_not(
    tmp_path: Path,
) -> None:
    """btrfs mounts have a number of their own."""
    case = formatted()
    case.tree["proc/self/mountinfo"] = mount_line("0:45", "/", "btrfs", "/dev/sda1")
    state, reason = guard_of(case, tmp_path)
    assert (state, "the system runs from it" in reason) == ("protected", True)


def test_a_loop_device_set_up_on_a_partition_protects(tmp_path: Path) -> None:
    case = formatted()
    stacked(case, "loop7", "sda1")
    case.tree["sys/devices/virtual/block/loop7/loop/backing_file"] = "/dev/sda1\n"
    del case.tree["sys/devices/virtual/block/loop7/slaves/sda1"]
    holders = next(path for path in case.tree if path.endswith("holders/loop7"))
    del case.tree[holders]
    state, reason = guard_of(case, tmp_path)
    assert (state, "loop7 is set up on sda1" in reason) == ("protected", True)


@pytest.mark.parametrize(
    "cmdline",
    ["root=/dev/sda1 ro", "quiet root=PARTUUID=5A5A1234-01 ro", "root=UUID=1a2b-3c4d"],
)
def test_the_boot_drive_of_the_kernels_command_line_is_protected(
    tmp_path: Path, cmdline: str
) -> None:
    case, disk = usb_case()
    contents(case, disk, DOS, [part("7", filesystem("exfat"))])
    case.tree["proc/cmdline"] = cmdline + "\n"
    state, reason = guard_of(case, tmp_path)
    assert (state, "booted" in reason) == ("protected", True), reason


def test_the_partition_of_the_boot_loader_is_protected(tmp_path: Path) -> None:
    case, disk = usb_case()
    uuid = "0f0f0f0f-1111-2222-3333-444444444444"
    contents(case, disk, GPT, [part(BASIC, row={"uuid": uuid.upper()})])
    raw = b"\x06\0\0\0" + uuid.upper().encode("utf-16-le") + b"\0\0"
    case.tree[f"sys/firmware/efi/efivars/{in_use._LOADER_VARIABLE}"] = {"hex": raw.hex()}
    assert guard_of(case, tmp_path)[0] == "protected"


@pytest.mark.parametrize("uuid", sorted(u for u in in_use.STICK_PARTUUIDS if len(u) > 20))
def test_the_sticks_own_partitions_are_protected(tmp_path: Path, uuid: str) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(BASIC, row={"uuid": uuid.upper()})])
    state, reason = guard_of(case, tmp_path)
    assert (state, "stick's own" in reason) == ("protected", True)


def test_the_sticks_mbr_id_is_protected(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk, DOS, [part("c")])
    out, code, err = case.answers[device_query.file_name(("sfdisk", "-J", "/dev/sda"))]
    stick = out.replace(b"0x5a5a1234", b"0xb5e0c057")
    case.answers[device_query.file_name(("sfdisk", "-J", "/dev/sda"))] = (stick, code, err)
    assert guard_of(case, tmp_path)[0] == "protected"


def test_for_the_program_that_writes_sticks_only_the_stick_itself_is_left_out() -> None:
    """Whatever else protects it still does: mounts, the kernel's own use, the boot."""
    stick = Partition(1, 1 << 20, 8 << 20, partuuid=in_use.STICK_FAT)
    idle = Contents("dos", partitions=(stick,))
    no_claims = in_use.Claims()
    no_claims.reasons["sda"].append("sda1 is in use: mounted at /mnt")
    for inside, claims, reasons in (
        (idle, in_use.Claims(), 0),
        (idle, no_claims, 1),
        (replace(idle, exclusive="busy"), in_use.Claims(), 1),
        (idle, in_use.Claims(boot_ids=frozenset({in_use.STICK_FAT})), 1),
    ):
        assert guard_policy.protections("sda", inside, claims)
        assert len(guard_policy.protections("sda", inside, claims, but_stick=True)) == reasons
    assert guard_policy.is_stick(idle)
    assert not guard_policy.is_stick(Contents("dos", partitions=(replace(stick, partuuid="1-01"),)))


def test_busy_means_protected_whatever_mountinfo_says(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk, exclusive="busy")
    state, reason = guard_of(case, tmp_path)
    assert (state, "exclusive" in reason) == ("protected", True)


# --- locked ------------------------------------------------------------------------------------


def internal(case: Case) -> Disk:
    port = ahci_port(case, 1, command="0044c017")
    return scsi_disk(
        case, port, "0:0:0:0", "sda", size=1 << 30, vendor="ATA", model="DISK", removable=1, seq=77
    )


def test_an_internal_drive_is_locked_unless_the_agent_saw_it_plugged_in(tmp_path: Path) -> None:
    case = Case("built", "")
    contents(case, internal(case))
    state, reason = guard_of(case, tmp_path)
    assert (state, reason.startswith("internal")) == ("locked", True)
    assert guard_of_again(tmp_path, hotplugs=[76])[0] == "locked"
    assert guard_of_again(tmp_path, hotplugs=[77])[0] == "free"


def guard_of_again(tmp_path: Path, **arguments: Any) -> tuple[str, str]:
    tools = tmp_path / "cases/built/tools"
    drives = discover.scan(root=tmp_path / "root", query=recorded(tools), **arguments)
    return drives[0].guard.state, drives[0].guard.reason


def test_a_system_on_a_drive_that_was_plugged_in_still_locks(tmp_path: Path) -> None:
    case = Case("built", "")
    contents(case, internal(case), DOS, [part("ef")])
    state, reason = guard_of(case, tmp_path, hotplugs=[77])
    assert state == "locked"
    assert reason == "partition 1 is an EFI system partition by its type"


@pytest.mark.parametrize(("kind", "words"), sorted(os_detection.GPT_TYPES.items()))
def test_gpt_types_that_lock(tmp_path: Path, kind: str, words: str) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(kind)])
    state, reason = guard_of(case, tmp_path)
    assert (state, words in reason) == ("locked", True)


@pytest.mark.parametrize(("kind", "words"), sorted(os_detection.MBR_TYPES.items()))
def test_mbr_types_that_lock(tmp_path: Path, kind: str, words: str) -> None:
    case, disk = usb_case()
    contents(case, disk, DOS, [part(kind)])
    state, reason = guard_of(case, tmp_path)
    assert (state, words in reason) == ("locked", True)


SIGNATURES = [
    ("BitLocker", "crypto", "BitLocker"),
    ("crypto_LUKS", "crypto", "LUKS"),
    ("LVM2_member", "raid", "LVM"),
    ("linux_raid_member", "raid", "RAID"),
    ("isw_raid_member", "raid", "RAID"),
    ("ddf_raid_member", "raid", "RAID"),
    ("zfs_member", "filesystem", "ZFS"),
    ("btrfs", "filesystem", "btrfs"),
    ("bcache", "other", "bcache"),
    ("swap", "other", "swap"),
    ("xfs", "filesystem", "xfs, which the bench cannot look into"),
    ("apfs", "filesystem", "apfs, which the bench cannot look into"),
]


@pytest.mark.parametrize(("kind", "usage", "words"), SIGNATURES)
@pytest.mark.parametrize("where", ["shown", "hidden", "whole"])
def test_signatures_that_lock_wherever_they_are(
    tmp_path: Path, kind: str, usage: str, words: str, where: str
) -> None:
    """In a partition, in one that the kernel does not show, and on the whole drive."""
    case, disk = usb_case()
    signature = filesystem(kind, usage=usage)
    if where == "whole":
        contents(case, disk, whole=signature)
    else:
        contents(case, disk, GPT, [part(BASIC, signature, hidden=where == "hidden")])
    state, reason = guard_of(case, tmp_path)
    assert (state, words in reason) == ("locked", True), reason


@pytest.mark.parametrize("kind", ["exfat", "vfat", "iso9660", "udf"])
def test_data_filesystems_leave_the_drive_free(tmp_path: Path, kind: str) -> None:
    case, disk = usb_case()
    contents(case, disk, DOS, [part("7", filesystem(kind))])
    assert guard_of(case, tmp_path)[0] == "free"


def debugfs(case: Case, node: str, folder: str, names: list[str]) -> None:
    rows = [f"/{12 + i}/040755/0/0/{name}//" for i, name in enumerate([".", "..", *names])]
    case.answer(("debugfs", "-c", "-R", f"ls -p {folder}", node), "\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("root", "etc", "state", "words"),
    [
        (["lost+found", "Movies"], None, "free", "no system found"),
        (["etc", "home"], ["fstab", "os-release"], "locked", "Linux root (/etc/fstab)"),
        (["etc", "letters"], ["a.txt"], "free", "no system found"),
        (["bin", "usr", "var"], None, "locked", "Linux root"),
        (["vmlinuz-6.12", "grub"], None, "locked", "Linux boot partition"),
        (["lib", "log", "cache"], None, "locked", "part of a Linux system"),
    ],
)
def test_a_linux_root_is_detected_by_its_file_names(
    tmp_path: Path, root: list[str], etc: list[str] | None, state: str, words: str
) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(LINUX, filesystem("ext4"), hidden=True)])
    debugfs(case, AT, "/", root)
    if etc is not None:
        debugfs(case, AT, "/etc", etc)
    guard_state, reason = guard_of(case, tmp_path)
    assert (guard_state, words in reason) == (state, True), reason


@pytest.mark.parametrize(
    ("names", "state"),
    [
        ("$MFT\nBackups\n", "free"),
        ("$MFT\nWindows\nUsers\n", "locked"),
        ("$MFT\nhiberfil.sys\n", "locked"),
        ("", "locked"),
        ("Windows could not be read", "locked"),
    ],
)
def test_a_windows_root_is_detected_by_its_file_names(
    tmp_path: Path, names: str, state: str
) -> None:
    case, disk = usb_case()
    contents(case, disk, DOS, [part("7", filesystem("ntfs"))])
    case.answer(("ntfsls", "-f", "-a", "-s", "-p", "/", "/dev/sda1"), names)
    assert guard_of(case, tmp_path)[0] == state


def test_ntfs_that_the_kernel_does_not_show_locks(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk, DOS, [part("7", filesystem("ntfs"), hidden=True)])
    state, reason = guard_of(case, tmp_path)
    assert (state, "was not looked into" in reason) == ("locked", True)


def test_a_label_like_a_systems_locks(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk, DOS, [part("7", filesystem("ntfs", "System\\ Reserved"))])
    case.answer(("ntfsls", "-f", "-a", "-s", "-p", "/", "/dev/sda1"), "$MFT\nBoot\n")
    state, reason = guard_of(case, tmp_path)
    assert (state, "labelled" in reason) == ("locked", True)


# --- unknown contents lock ---------------------------------------------------------------------

SFDISK = ("sfdisk", "-J", "/dev/sda")
BLKID = ("blkid", "-p", "-o", "export", "/dev/sda")
BLKID_PART = (
    "blkid", "-p", "-o", "export", "-O", str(START << 20), "-S", str(SIZE << 20), "/dev/sda",
)  # fmt: skip
PROBED = (PROBE, "/dev/sda")
OK = "exclusive=ok\nread=ok\nrdev=8:0\n"


@pytest.mark.parametrize(
    ("argv", "out", "code", "words"),
    [
        (SFDISK, "", "1", "partition table could not be read"),
        (SFDISK, "{}", "0", "sfdisk's answer cannot be read"),
        (SFDISK, "", "timeout", "did not answer sfdisk in 10 s"),
        (SFDISK, "", "127", "partition table could not be read"),
        (BLKID, "", "8", "the whole drive holds several signatures"),
        (BLKID, "", "4", "the whole drive could not be probed"),
        (BLKID_PART, "", "8", "partition 1 holds several signatures"),
        (BLKID_PART, "", "timeout", "did not answer blkid in 10 s"),
        (PROBED, OK.replace("read=ok", "read=1048576: Input/output error"), "0", "not be read"),
        (PROBED, OK.replace("8:0", "8:16"), "0", "is not the node of this drive"),
        (PROBED, "exclusive=ok\n", "0", "could not be opened to look"),
        (PROBED, "", "timeout", "did not answer"),
        (PROBED, "", "1", "could not be opened to look"),
    ],
)
def test_a_probe_that_fails_locks(
    tmp_path: Path, argv: tuple[str, ...], out: str, code: str, words: str
) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(BASIC, filesystem("exfat"))])
    case.answer(argv, out, code)
    drive = look(case, tmp_path)[0]
    assert (drive.guard.state, words in drive.guard.reason) == ("locked", True), drive.guard.reason
    # A code may override a tool that failed; a tool that did not answer is run again.
    late = code == "timeout"
    assert drive.guard.retry == late
    assert drive.guard.reason.startswith("not answering, try again: ") == late
    assert drive.guard.to_json().get("retry", False) == late


@pytest.mark.parametrize("tool", ["smartctl", "debugfs"])
def test_a_tool_that_times_out_before_the_guard_decides_is_run_again(
    tmp_path: Path, tool: str
) -> None:
    """On an internal drive too: without the answer it is unknown what a code would unlock."""
    case, disk = usb_case()
    contents(case, disk, GPT, [part(LINUX, filesystem("ext4"))])
    if tool == "debugfs":
        case.answer(("debugfs", "-c", "-R", "ls -p /", AT), "", "timeout")
    else:
        case.answer(("smartctl", "-j", "-i", "-H", "-A", "/dev/sda"), "", "timeout")
    guard = look(case, tmp_path)[0].guard
    assert (guard.state, guard.retry) == ("locked", True)
    assert guard.reason == f"not answering, try again: the drive did not answer {tool} in 10 s"


def test_a_drive_in_use_stays_protected_while_it_does_not_answer(tmp_path: Path) -> None:
    case = formatted()
    case.tree["proc/self/mountinfo"] = mount_line("8:1", "/media/a")
    case.answer(BLKID, "", "timeout")
    guard = look(case, tmp_path)[0].guard
    assert (guard.state, guard.retry) == ("protected", False)


@pytest.mark.parametrize("tool", ["sfdisk", "blkid", PROBE])
def test_a_missing_tool_locks(tmp_path: Path, tool: str) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(BASIC, filesystem("exfat"))])
    case.answers = {name: a for name, a in case.answers.items() if not name.startswith(tool)}
    assert guard_of(case, tmp_path)[0] == "locked"


def test_a_linux_filesystem_that_cannot_be_read_locks(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [part(LINUX, filesystem("ext4"))])
    case.answer(("debugfs", "-c", "-R", "ls -p /", AT), "", "0", "Bad magic number")
    state, reason = guard_of(case, tmp_path)
    assert (state, "could not be looked into" in reason) == ("locked", True)


def test_a_table_that_only_blkid_knows_locks(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk, whole="PTTYPE=mac\n")
    state, reason = guard_of(case, tmp_path)
    assert (state, "partition table (mac)" in reason) == ("locked", True)


def test_a_partition_beyond_the_end_locks(tmp_path: Path) -> None:
    case, disk = usb_case()
    contents(case, disk, GPT, [{"start": 1, "size": 5000, "type": BASIC, "blkid": ""}])
    state, reason = guard_of(case, tmp_path)
    assert (state, "beyond the end" in reason) == ("locked", True)


def test_a_partition_that_only_the_kernel_shows_is_probed(tmp_path: Path) -> None:
    """The kernel shows it and the table does not: it may still hold data."""
    case, disk = usb_case()
    contents(case, disk, GPT, [part(BASIC, filesystem("crypto_LUKS", usage="crypto"))])
    out, code, err = case.answers[device_query.file_name(SFDISK)]
    document = json.loads(out)
    document["partitiontable"]["partitions"] = []
    case.answers[device_query.file_name(SFDISK)] = (json.dumps(document).encode(), code, err)
    state, reason = guard_of(case, tmp_path)
    assert (state, "LUKS" in reason) == ("locked", True)


# --- loop devices, kernel test devices ---------------------------------------------------------


def loop(case: Case, name: str, backing: str) -> None:
    folder = f"sys/devices/virtual/block/{name}"
    case.put(folder, dev="7:3", size=8 << 21, diskseq=4, ro=0)
    case.put(f"{folder}/loop", backing_file=backing)
    case.link(f"sys/block/{name}", f"../../{folder}")
    case.link(f"sys/class/block/{name}", f"../../../{folder}")
    disk = Disk(name, folder, folder, "7:3", 8 << 30)
    contents(case, disk)


def test_only_the_benchs_own_loop_device_is_a_drive(tmp_path: Path, bench_home: Path) -> None:
    case = Case("built", "")
    loop(case, "loop3", f"{bench_home}/practice/practice.img")
    loop(case, "loop4", f"{bench_home}/practice/other.img")
    loop(case, "loop5", "/root/practice/practice.img")
    loop(case, "loop6", f"{bench_home}/practice/practice.img (deleted)")
    drives = look(case, tmp_path, home=bench_home)
    assert [(d.name, d.code, d.guard.state, d.transport) for d in drives] == [
        ("loop3", "practice", "free", "virtual")
    ]


def test_a_mounted_practice_drive_is_protected(tmp_path: Path, bench_home: Path) -> None:
    case = Case("built", "")
    loop(case, "loop3", f"{bench_home}/practice/practice.img")
    case.tree["proc/self/mountinfo"] = mount_line("7:3", "/mnt", source="/dev/loop3")
    assert look(case, tmp_path, home=bench_home)[0].guard.state == "protected"


def test_kernel_test_devices_are_other_internal_and_locked(tmp_path: Path) -> None:
    case = Case("built", "")
    case.tree["proc/devices"] = "Character devices:\n  1 mem\n\nBlock devices:\n252 nullb\n"
    folder = "sys/devices/virtual/block/lat"
    case.put(folder, dev="252:0", size=1 << 20, diskseq=3, ro=0)
    case.link("sys/block/lat", f"../../{folder}")
    case.link("sys/class/block/lat", f"../../../{folder}")
    contents(case, Disk("lat", folder, folder, "252:0", 1 << 29))
    debug = "sys/devices/pseudo_0/adapter0"
    disk = scsi_disk(
        case, debug, "9:0:0:2", "sdb", size=1 << 26, vendor="Linux", model="scsi_debug"
    )
    contents(case, disk)
    stacked_dm = "sys/devices/virtual/block/dm-1"
    case.put(stacked_dm, dev="253:1", size=1 << 20, diskseq=8, ro=0)
    case.put(f"{stacked_dm}/dm", name="slow", uuid="")
    case.link("sys/block/dm-1", f"../../{stacked_dm}")
    case.link("sys/class/block/dm-1", f"../../../{stacked_dm}")
    contents(case, Disk("dm-1", stacked_dm, stacked_dm, "253:1", 1 << 29))
    drives = {drive.name: drive for drive in look(case, tmp_path)}
    assert set(drives) == {"lat", "sdb", "dm-1"}
    for drive in drives.values():
        assert (drive.transport, drive.value("external")) == ("other", False)
        assert drive.guard.state == "locked"
    assert drives["dm-1"].code == "port:slow:0"
    assert drives["sdb"].code == "port:adapter0-0.0:2"
