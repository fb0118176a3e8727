"""Who uses a drive: recorded trees of processes, kernel targets and second paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.drives import holders, in_use, own, twins
from benchstick.drives.device_query import SAME
from benchstick.drives.sysfs import Tree
from tests.hardware.playback import expand
from tests.hardware.shapes import Case, Disk, contents
from tests.unit.test_guard import formatted, guard_of, look, mount_line, usb_case

RW, RO, PATH_ONLY = "0100002", "0100000", "012000002"


def process(
    case: Case,
    pid: int,
    *,
    name: str = "dd",
    start_ticks: int = 100,
    files: dict[str, tuple[str, str]] | None = None,
    maps: str = "",
    space: str = "mnt:[1]",
    mountinfo: str = "",
    environ: bytes = b"",
) -> None:
    """A process of a recorded tree; `files`: descriptor to the node it leads to and its flags."""
    here = f"proc/{pid}"
    case.tree[f"{here}/fd"] = None
    case.link(f"{here}/ns/mnt", space)
    case.link(f"{here}/root", "/")
    fields = " ".join(["S", *("0" for _ in range(18)), str(start_ticks), "0"])
    case.put(here, stat=f"{pid} ({name}) {fields}", maps=maps, environ=environ)
    case.tree[f"{here}/mountinfo"] = mountinfo
    case.put("proc", uptime="1000.00 900.00")
    for number, (target, flags) in (files or {}).items():
        case.link(f"{here}/fd/{number}", target)
        case.put(f"{here}/fdinfo", **{number: f"pos:\t0\nflags:\t{flags}\nmnt_id:\t25"})


def state(case: Case, tmp_path: Path, **arguments: Any) -> tuple[str, str]:
    return guard_of(case, tmp_path, **arguments)


@pytest.mark.parametrize(
    ("target", "flags", "expected"),
    [
        ("/dev/sda", RW, "protected"),
        ("/dev/sda", "0100001", "protected"),
        ("/dev/sda1", RW, "protected"),
        ("/somewhere/sda1", RW, "protected"),
        ("/dev/sg3", RW, "protected"),
        ("/dev/6:0:0:0", RW, "protected"),
        ("/dev/sda", RO, "locked"),
        ("/dev/sda", PATH_ONLY, "free"),
        ("/dev/sdb", RW, "free"),
        ("socket:[77]", RW, "free"),
        ("anon_inode:[eventpoll]", RW, "free"),
    ],
)
def test_what_a_descriptor_of_another_program_means(
    tmp_path: Path, target: str, flags: str, expected: str
) -> None:
    case = formatted()
    device = next(p for p in case.tree if p.endswith("/scsi_disk/6:0:0:0/provisioning_mode"))
    above = device.split("/scsi_disk/")[0]
    case.put(f"{above}/scsi_generic/sg3", dev="21:3")
    case.put(f"{above}/bsg/6:0:0:0", dev="244:0")
    process(case, 77, files={"5": (target, flags)})
    guard_state, reason = state(case, tmp_path)
    assert guard_state == expected, reason
    if expected != "free":
        assert "process 77 (dd)" in reason


@pytest.mark.parametrize(
    ("name", "start_ticks", "expected"),
    [("dd", 100, "locked"), ("blkid", 99_500, "free"), ("(udev-worker)", 100, "free")],
)
def test_only_programs_that_keep_on_reading_lock(
    tmp_path: Path, name: str, start_ticks: int, expected: str
) -> None:
    """The machine runs for 1000 s; the programs started 999 s and 5 s ago."""
    case = formatted()
    process(case, 77, name=name, start_ticks=start_ticks, files={"3": ("/dev/sda", RO)})
    guard_state, reason = state(case, tmp_path)
    assert guard_state == expected, reason


def test_a_programs_name_cannot_reach_the_terminal_or_break_the_line(tmp_path: Path) -> None:
    case = formatted()
    process(case, 77, name="a) S 1 \x1b[2J(b", files={"3": ("/dev/sda", RW)})
    guard_state, reason = state(case, tmp_path)
    assert guard_state == "protected"
    assert "process 77 (a) S 1 ?[2J(b) has sda open for writing" in reason


def test_a_marked_tool_of_the_bench_does_not_count(tmp_path: Path, bench_home: Path) -> None:
    mark = "=".join(*own.environment().items()).encode()
    for environ, expected in ((b"A=b\0" + mark + b"\0", "free"), (mark[:-1] + b"\0", "protected")):
        case = formatted()
        process(case, 77, environ=environ, files={"3": ("/dev/sda", RW)})
        folder = tmp_path / expected
        folder.mkdir()
        assert state(case, folder)[0] == expected


def test_all_processes_have_one_token_and_a_foreign_file_is_not_trusted(
    bench_home: Path,
) -> None:
    first = own.environment()
    assert own.environment() == first
    token = paths.run_folder() / "tool-token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text() in first.values()
    token.chmod(0o644)
    assert own.environment() != first


MAPS = """\
00400000-0048a000 rw-s 00000000 00:05 332                    /dev/sda
7f0000000000-7f0000001000 rw-s 00000000 00:05 332            /tmp/a node (deleted)
7f0000002000-7f0000003000 r--s 00000000 00:05 332            /dev/sda
7f0000004000-7f0000005000 rw-p 00000000 00:05 332            /dev/sda
7f0000006000-7f0000007000 rw-s 00000000 00:01 9              /memfd:x (deleted)
7f0000008000-7f0000009000 rw-s 00000000 00:01 9              /dev/shm/x
7f000000a000-7f000000b000 rw-p 00000000 00:00 0
7f000000c000-7f000000d000 rw-s 00000000 00:0d 9              anon_inode:[io_uring]
"""


def test_only_shared_writable_mappings_of_files_are_looked_at() -> None:
    assert holders.shared_writable(MAPS) == ["400000-48a000", "7f0000000000-7f0000001000"]


def test_a_mapping_without_a_descriptor_protects(tmp_path: Path) -> None:
    case = formatted()
    process(case, 77, maps=MAPS)
    case.link("proc/77/map_files/400000-48a000", "/dev/sda")
    guard_state, reason = state(case, tmp_path)
    assert (guard_state, "sda mapped for writing" in reason) == ("protected", True), reason


def test_a_descriptor_of_a_process_whose_first_thread_has_ended_counts(tmp_path: Path) -> None:
    case = formatted()
    process(case, 77)
    case.tree["proc/77/task/77/fd"] = None
    case.link("proc/77/task/78/fd/3", "/dev/sda")
    case.put("proc/77/task/78/fdinfo", **{"3": f"flags:\t{RW}"})
    assert state(case, tmp_path)[0] == "protected"


def test_a_controller_node_and_a_generic_node_lead_to_nvme_disks(tmp_path: Path) -> None:
    for node, dev, place in (
        ("nvme0", "239:0", "sys/class/nvme/nvme0"),
        ("ng0n1", "238:0", "sys/class/nvme-generic/ng0n1"),
    ):
        case = Case("built", "")
        case.put("sys/class/block/nvme0n1", dev="259:0")
        case.put("sys/block/nvme0n1", dev="259:0")
        case.put("sys/class/nvme/nvme0/nvme0c0n1", hidden="1")
        case.put(place, dev=dev)
        process(case, 77, files={"3": (f"/dev/{node}", RW)})
        case.write(tmp_path / node)
        expand(case.tree, tmp_path / node / "root")
        reasons = in_use.read(Tree(tmp_path / node / "root")).reasons
        assert reasons["nvme0n1"] == [f"process 77 (dd) has {node} open for writing"]


# --- other namespaces --------------------------------------------------------------------------


def elsewhere(point: str, *groups: str, root: str = "/") -> str:
    words = " ".join(["rw,relatime", *groups])
    return f"99 27 8:1 {root} {point} {words} - exfat /dev/sda1 rw\n"


def test_a_mount_that_only_another_namespace_has_protects(tmp_path: Path) -> None:
    case = formatted()
    process(case, 77, name="sleep", space="mnt:[2]", mountinfo=elsewhere("/x"))
    guard_state, reason = state(case, tmp_path)
    assert guard_state == "protected"
    assert "sda1 is in use: mounted at /x in the mount namespace of process 77 (sleep)" in reason


def test_copies_of_the_benchs_own_mount_do_not_protect_and_what_is_left_of_one_does(
    tmp_path: Path, bench_home: Path
) -> None:
    point = f"{paths.mounts()}/some-run"
    own_mount = elsewhere(point, "shared:7")
    for name, here, there, expected in (
        ("same", own_mount, elsewhere(point), "free"),
        ("moved", own_mount, elsewhere("/host" + point, "master:7"), "free"),
        ("other", own_mount, elsewhere("/host/x", "shared:8"), "protected"),
        ("left", "", elsewhere(point), "protected"),
    ):
        case = formatted()
        case.tree["proc/self/mountinfo"] = here
        process(case, 77, space="mnt:[2]", mountinfo=there)
        (tmp_path / name).mkdir()
        guard_state, reason = state(case, tmp_path / name)
        assert guard_state == expected, (name, reason)


def test_a_process_below_another_root_shows_mounts_of_its_own(tmp_path: Path) -> None:
    case = formatted()
    process(case, 76)
    process(case, 77, mountinfo=elsewhere("/x"))
    case.link("proc/77/root", "/jail")
    assert state(case, tmp_path)[0] == "protected"


# --- kernel targets ----------------------------------------------------------------------------

CORE = "sys/kernel/config/target/core"
NVMET = "sys/kernel/config/nvmet/subsystems/given/namespaces/1"
GADGET = "sys/kernel/config/usb_gadget/g/functions/mass_storage.0/lun.0"


@pytest.mark.parametrize(
    ("folder", "files", "words"),
    [
        (
            f"{CORE}/iblock_0/a",
            {"enable": 1, "udev_path": "/dev/other", "info": "iBlock:\n Major: 8 Minor: 1 CLAIMED"},
            "SCSI target iblock_0/a",
        ),
        (
            f"{CORE}/fileio_0/b",
            {"enable": 1, "info": "TCM FILEIO ID: 0   File: /dev/sda  Size: 9 Mode: O_DSYNC"},
            "SCSI target fileio_0/b",
        ),
        (f"{CORE}/pscsi_0/c", {"enable": 1, "udev_path": "/dev/sda"}, "SCSI target pscsi_0/c"),
        (NVMET, {"enable": 1, "device_path": "/dev/sda1"}, "NVMe target given, namespace 1"),
        (GADGET, {"file": "/dev/sda1"}, "USB gadget g, mass_storage.0"),
        (NVMET, {"enable": 0, "device_path": "/dev/sda1"}, ""),
        (f"{CORE}/pscsi_0/c", {"enable": 0, "udev_path": "/dev/sda"}, ""),
        (f"{CORE}/fileio_0/b", {"enable": 1, "info": "File: /srv/disk.img  Size: 9"}, ""),
    ],
)
def test_kernel_targets(
    tmp_path: Path, folder: str, files: dict[str, str | int], words: str
) -> None:
    case = formatted()
    case.put(folder, **files)
    guard_state, reason = state(case, tmp_path)
    assert guard_state == ("protected" if words else "free"), reason
    assert words in reason


# --- second paths ------------------------------------------------------------------------------


def two(serials: tuple[str, str], *, port: str = "2-2") -> tuple[Case, Disk, Disk]:
    """Two USB disks of one size; sdb1 is mounted by somebody."""
    case, one = usb_case()
    case, other = usb_case("sdb", port, case)
    for disk, serial in ((one, serials[0]), (other, serials[1])):
        contents(case, disk)
        interface = disk.device.split("/host")[0]
        case.put(interface.rsplit("/", 1)[0], serial=serial)
    case.tree["proc/self/mountinfo"] = mount_line("8:16", "/media/x", source="/dev/sdb")
    return case, one, other


def guard_of_first(case: Case, tmp_path: Path) -> tuple[str, str]:
    guards = {drive.name: drive.guard for drive in look(case, tmp_path)}
    assert guards["sdb"].state == "protected"
    return guards["sda"].state, guards["sda"].reason


@pytest.mark.parametrize(
    ("serials", "answer", "expected"),
    [
        (("SAME1", "SAME1"), "same=yes\n", "protected"),
        (("SAME1", "SAME1"), "same=unknown\n", "protected"),
        (("SAME1", "SAME1"), None, "protected"),
        (("SAME1", "SAME1"), "same=no\n", "free"),
        (("SAME1", "OTHER1"), "same=yes\n", "free"),
        (("0000", "0000"), "same=yes\n", "free"),
    ],
)
def test_equal_serials_and_sizes_count_as_one_drive_unless_the_contents_differ(
    tmp_path: Path, serials: tuple[str, str], answer: str | None, expected: str
) -> None:
    case, _, _ = two(serials)
    if answer is not None:
        case.answer((SAME, "/dev/sda", "/dev/sdb"), answer)
    state, reason = guard_of_first(case, tmp_path)
    assert state == expected, reason
    if expected == "protected":
        assert "may be a second path to sdb (same serial SAME1" in reason
        assert "mounted at /media/x" in reason


def test_world_wide_names_that_differ_are_two_drives_whatever_their_serials(
    tmp_path: Path,
) -> None:
    case, one, other = two(("SAME1", "SAME1"))
    case.answer((SAME, "/dev/sda", "/dev/sdb"), "same=yes\n")
    case.put(one.device, wwid="naa.5000000000000001")
    case.put(other.device, wwid="naa.5000000000000002")
    assert guard_of_first(case, tmp_path)[0] == "free"


def signs(name: str, wwn: str | None, *serials: str, usb: str | None = None) -> twins._Signs:
    return twins._Signs(name, 1 << 30, wwn, frozenset(serials), usb)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("naa.5", None), ("naa.5", None), True),
        (("eui.5", None), ("eui.5", None), True),
        (("t10.ATA DISK", None), ("t10.ATA DISK", None), False),
        (("naa.5", "usb1/1-1"), ("naa.5", "usb1/1-2"), False),
        (("naa.5", "usb1/1-1"), ("naa.5", "usb1/1-1"), None),
        (("naa.5", None), ("naa.6", None), None),
    ],
)
def test_which_equal_names_are_certain(
    one: tuple[str, str | None], other: tuple[str, str | None], expected: bool | None
) -> None:
    twin = twins._twin(signs("sda", one[0], usb=one[1]), signs("sdb", other[0], usb=other[1]))
    assert (None if twin is None else twin.is_certain) is expected


def test_namespaces_of_one_nvme_controller_are_not_one_drive(tmp_path: Path) -> None:
    root = tmp_path / "sys/block"
    for name, number in (("nvme0n1", "1"), ("nvme0n2", "2"), ("nvme1n1", "1")):
        (root / name / "device").mkdir(parents=True)
        (root / name / "size").write_text("1000\n")
        (root / name / "nsid").write_text(number)
        (root / name / "device/serial").write_text("S1  \n")
    twin_map = twins.find(Tree(tmp_path), ["nvme0n1", "nvme0n2", "nvme1n1"])
    assert {name: [twin.name for twin in them] for name, them in twin_map.items()} == {
        "nvme0n1": ["nvme1n1"],
        "nvme1n1": ["nvme0n1"],
    }


def test_threads_of_the_kernel_are_not_looked_into(tmp_path: Path) -> None:
    for pid, flags in ((2, 0x208040), (300, 0x400100)):
        (tmp_path / f"proc/{pid}").mkdir(parents=True)
        rest = " ".join(["S", "0", "0", "0", "0", "-1", str(flags), *["0"] * 40])
        (tmp_path / f"proc/{pid}/stat").write_text(f"{pid} (odd ) name) {rest}\n")
    tree = Tree(tmp_path)
    assert holders._is_kernel_thread(tree, 2)
    assert not holders._is_kernel_thread(tree, 300)
    assert not holders._is_kernel_thread(tree, 4)


@pytest.mark.parametrize(
    ("serials", "name", "looked_at"),
    [
        (("ONE1", "OTHER1"), "sda", []),
        (("ONE1", "OTHER1"), "sdb", ["sdb"]),
        (("ONE1", "OTHER1"), None, ["sdb"]),
        (("SAME1", "SAME1"), "sda", ["sdb"]),
    ],
)
def test_a_question_about_one_drive_waits_for_the_users_of_it_and_its_second_paths_only(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    serials: tuple[str, str],
    name: str | None,
    looked_at: list[str],
) -> None:
    case, _, _ = two(serials)
    process(case, 77, files={"3": ("/dev/sdb", RW)})
    candidates: list[str] = []

    def lasting(tree: Tree, open_files: list[holders.Opened]) -> list[holders.Opened]:
        candidates.extend(one.node.name for one in open_files)
        return open_files

    monkeypatch.setattr(holders, "lasting", lasting)
    expand(case.tree, tmp_path / "root")
    claims = in_use.read(Tree(tmp_path / "root"), None if name is None else {name})
    assert candidates == looked_at
    is_noted = any("open for writing" in reason for reason in claims.reasons["sdb"])
    assert is_noted == bool(looked_at)
