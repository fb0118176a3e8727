"""The guard on real drivers: the PC's own disks stay as they are, whatever is asked."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.drives import discover, hotplug, prepare
from benchstick.drives.guard import hold
from benchstick.errors import DriveLost, Refused
from tests.vm.guest.drive_help import (
    by_serial,
    call,
    checksum,
    drive,
    names_by_serial,
    plug,
    scsi_debug,
    unplug,
    wait_for,
)

OPENED = """
import os, sys, time
fd = os.open(sys.argv[2], os.O_RDONLY if sys.argv[1] == "reads" else os.O_RDWR)
print("ready", flush=True)
time.sleep(600)
"""
RUN = "0c52ae10-0000-4000-8000-000000000002"
GUARDED = ("BSPCEXT4", "BSPCWIN", "BSSATA0001")


@pytest.fixture(autouse=True)
def usb_drives_blank() -> Iterator[None]:
    """The USB drives are blank before and after each test."""
    _wipe()
    yield
    _wipe()


def _wipe() -> None:
    names = names_by_serial()
    for serial in ("BSUAS0001", "BSBOT0001"):
        node = f"/dev/{names[serial]}"
        subprocess.run(["partx", "-d", node], capture_output=True)
        call("wipefs", "--all", "--quiet", node)
    call("udevadm", "settle")


def test_the_state_of_each_drive_and_why() -> None:
    drives = by_serial()
    states = {serial: one.guard.state for serial, one in drives.items()}
    assert states == {
        "BSPCEXT4": "protected",
        "BSPCWIN": "locked",
        "BSSATA0001": "locked",
        "BSNVME0001": "locked",
        "BSUAS0001": "free",
        "BSBOT0001": "free",
    }
    assert "mounted at /mnt/pc" in drives["BSPCEXT4"].guard.reason
    windows = drives["BSPCWIN"].guard.reason
    assert "partition 1 holds LVM" in windows
    assert "partition 2 is a Windows root (windows)" in windows
    assert drives["BSSATA0001"].guard.reason.startswith("internal")


def test_an_internal_drive_that_the_agent_saw_coming_is_free_but_a_system_stays_locked() -> None:
    diskseqs = [seq for seq in hotplug.present().values() if seq is not None]
    states = {d.code: d.guard.state for d in discover.scan(hotplugs=diskseqs)}
    assert states["BSSATA0001"] == states["BSNVME0001"] == "free"
    assert states["BSPCWIN"] == "locked"
    assert states["BSPCEXT4"] == "protected"


def test_active_lvm_protects() -> None:
    options = ("--config", "devices{use_devicesfile=0}", "-qq")
    call("vgchange", *options, "-ay", "-K", "pc")
    try:
        disk = drive("BSPCWIN")
        assert disk.guard.state == "protected"
        assert "LVM volume pc-root is active" in disk.guard.reason
        with pytest.raises(Refused, match="protected"):
            hold(disk, erase=disk.code, unlock=disk.code, destructive=True)
    finally:
        call("vgchange", *options, "-an", "pc")
    assert drive("BSPCWIN").guard.state == "locked"


def test_wrong_codes_and_guarded_drives_write_nothing_and_the_right_code_does() -> None:
    """The scan in the middle is part of it: looking must not touch LVM or NTFS either."""
    nodes = {serial: f"/dev/{name}" for serial, name in names_by_serial().items()}
    before = {serial: checksum(nodes[serial]) for serial in GUARDED}
    usb = checksum(nodes["BSUAS0001"], 64 << 20)
    drives = by_serial()
    with pytest.raises(Refused, match="the code of"):
        hold(drives["BSUAS0001"], erase="BSUAS0002", destructive=True)
    for serial in GUARDED:
        with pytest.raises(Refused):
            hold(drives[serial], erase=serial, destructive=True)
        with pytest.raises(Refused):
            hold(drives[serial], erase=serial, unlock="BSUAS0001", destructive=True)
    with pytest.raises(Refused, match="protected"):
        hold(drives["BSPCEXT4"], erase="BSPCEXT4", unlock="BSPCEXT4", destructive=True)
    assert checksum(nodes["BSUAS0001"], 64 << 20) == usb
    with hold(drives["BSUAS0001"], erase="BSUAS0001", destructive=True) as drive_hold:
        prepare.make_filesystem(drive_hold, "exfat")
    assert checksum(nodes["BSUAS0001"], 64 << 20) != usb
    assert {serial: checksum(nodes[serial]) for serial in GUARDED} == before


@pytest.mark.parametrize("serial", ["BSSATA0001", "BSNVME0001"])
def test_a_locked_drive_is_taken_with_its_unlock_code(serial: str) -> None:
    disk = drive(serial)
    with hold(disk, unlock=serial, erase=serial, destructive=True) as drive_hold:
        drive_hold.check_before_write()
        with drive_hold.exclusive():
            drive_hold.check_before_write()


@pytest.mark.parametrize(
    ("serial", "fs"),
    [("BSUAS0001", "exfat"), ("BSUAS0001", "ntfs"), ("BSUAS0001", "ext4"), ("BSBOT0001", "auto")],
)
def test_every_filesystem_is_made_and_mounted_by_the_kernel(serial: str, fs: str) -> None:
    drivers = {"exfat": "exfat", "ntfs": "ntfs3", "ext4": "ext4", "auto": "exfat"}
    name = "Umlaut ä, 空白 and\u00a0blanks.txt"
    with hold(drive(serial), erase=serial, destructive=True) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, fs)
        assert filesystem.start == 1 << 20
        mount_point = prepare.mount(filesystem.path, filesystem.fs, RUN)
        try:
            rows = Path("/proc/self/mountinfo").read_text().splitlines()
            row = next(row for row in rows if RUN in row)
            assert row.split(" - ")[1].split()[0] == drivers[fs]
            drive_hold.check_before_write(mounted_by_bench=True)
            folder = prepare.new_folder(mount_point, 1, RUN)
            (folder / name).write_bytes(b"x" * 5000)
        finally:
            assert prepare.unmount(mount_point) is None
        mount_point = prepare.mount(filesystem.path, filesystem.fs, RUN)
        try:
            assert [path.name for path in (mount_point / "benchstick-1").iterdir()] == [name]
        finally:
            prepare.unmount(mount_point)
        assert prepare.find_filesystem(drive_hold.drive).fs == filesystem.fs


def test_keep_leaves_a_users_files_alone() -> None:
    with hold(drive("BSUAS0001"), erase="BSUAS0001", destructive=True) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "exfat")
    mount_point = prepare.mount(filesystem.path, filesystem.fs, RUN)
    for number in range(20):
        (mount_point / f"photo {number}.jpg").write_bytes(bytes([number]) * 100_000)
    prepare.unmount(mount_point)
    with hold(drive("BSUAS0001"), destructive=False) as drive_hold:
        existing_fs = prepare.find_filesystem(drive_hold.drive)
        mount_point = prepare.mount(existing_fs.path, existing_fs.fs, RUN)
        before = _files(mount_point)
        folder = prepare.new_folder(mount_point, 5, RUN)
        (folder / "test").write_bytes(b"y" * 1_000_000)
        with pytest.raises(Refused, match="benchstick-5 exists"):
            prepare.new_folder(mount_point, 5, RUN)
        (folder / "test").unlink()
        folder.rmdir()
        prepare.unmount(mount_point)
        mount_point = prepare.mount(existing_fs.path, existing_fs.fs, RUN)
        assert _files(mount_point) == before
        prepare.unmount(mount_point)


def _files(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


def test_a_drive_that_was_mounted_since_is_refused() -> None:
    with hold(drive("BSBOT0001"), erase="BSBOT0001", destructive=True) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
        point = Path("/run/somebody")
        point.mkdir(exist_ok=True)
        call("mount", filesystem.path, point)
        try:
            with pytest.raises(Refused, match="/run/somebody"):
                drive_hold.check_before_write()
            with pytest.raises(Refused, match="/run/somebody"):
                prepare.find_filesystem(drive_hold.drive)
            with pytest.raises(Refused):
                prepare.make_filesystem(drive_hold, "exfat")
        finally:
            call("umount", point)


def test_a_drive_swapped_between_choice_and_run_is_refused() -> None:
    """Replugged: the same name, perhaps, but the kernel counts another disk."""
    disk = drive("BSUAS0001")
    unplug(disk)
    plug(disk)
    node = f"/dev/{names_by_serial()['BSUAS0001']}"
    before = checksum(node, 64 << 20)
    with pytest.raises((Refused, DriveLost)):
        hold(disk, erase=disk.code, destructive=True)
    assert checksum(node, 64 << 20) == before


def test_a_drive_swapped_during_a_run_is_not_written() -> None:
    disk = drive("BSUAS0001")
    with hold(disk, erase=disk.code, destructive=True) as drive_hold:
        drive_hold.check_before_write()
        unplug(disk)
        assert not drive_hold.alive()
        with pytest.raises(DriveLost, match="nothing was written"):
            drive_hold.check_before_write()
        plug(disk)
        name = names_by_serial()["BSUAS0001"]
        before = checksum(f"/dev/{name}", 64 << 20)
        # The held descriptor keeps the old name from being given to the new disk.
        assert name != disk.name
        assert not drive_hold.alive()
        with pytest.raises(DriveLost):
            drive_hold.check_before_write()
        with pytest.raises(DriveLost):
            prepare.make_filesystem(drive_hold, "ext4")
        assert checksum(f"/dev/{name}", 64 << 20) == before


def test_another_drive_of_the_same_model_in_its_place_is_refused() -> None:
    """scsi_debug's disk removed and found again: same model, same place, another disk."""
    with scsi_debug("dev_size_mb=64") as names:
        disk = next(d for d in discover.scan() if d.name == names[0])
        host = Path(f"/sys/block/{disk.name}/device").resolve().parents[1].name
        Path(f"/sys/block/{disk.name}/device/delete").write_text("1")
        Path(f"/sys/class/scsi_host/{host}/scan").write_text("- - -")
        call("udevadm", "settle")
        again = next(d for d in discover.scan() if d.code == disk.code)
        assert again.diskseq != disk.diskseq
        with pytest.raises((Refused, DriveLost)):
            hold(disk, erase=disk.code, unlock=disk.code, destructive=True)
        with hold(again, erase=again.code, unlock=again.code, destructive=True) as drive_hold:
            drive_hold.check_before_write()


def test_device_mapper_over_a_drive_protects_it() -> None:
    with scsi_debug("dev_size_mb=64") as names:
        table = f"0 {64 * 2048} linear /dev/{names[0]} 0"
        call("dmsetup", "create", "overit", "--table", table)
        try:
            call("udevadm", "settle")
            below = next(d for d in discover.scan() if d.name == names[0])
            assert below.guard.state == "protected"
            assert "device-mapper device overit is active" in below.guard.reason
        finally:
            call("dmsetup", "remove", "--retry", "overit")


def test_an_exclusive_opener_unknown_to_mountinfo_protects() -> None:
    disk = drive("BSBOT0001")
    script = (
        "import os, sys, time; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL); "
        "print('x', flush=True); time.sleep(99)"
    )
    argv = ["python3", "-c", script, disk.path]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            now = drive("BSBOT0001")
            assert now.guard.state == "protected"
            assert "exclusive" in now.guard.reason
        finally:
            other.kill()
    assert drive("BSBOT0001").guard.state == "free"


@contextlib.contextmanager
def program(how: str, node: str | Path) -> Iterator[int]:
    """Another program that has a node open to the end of the block; its pid."""
    argv = [sys.executable, "-c", OPENED, how, str(node)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == b"ready\n"
            yield other.pid
        finally:
            other.kill()


def character_node(name: str) -> str:
    """The sg node of a SCSI disk."""
    return f"/dev/{next(Path(f'/sys/block/{name}/device/scsi_generic').iterdir()).name}"


def test_a_program_that_writes_by_any_node_protects() -> None:
    disk = drive("BSBOT0001")
    before = checksum(disk.path, 64 << 20)
    call("modprobe", "sg")
    call("udevadm", "settle")
    other = Path("/run/harmless")
    os.mknod(other, 0o600 | stat.S_IFBLK, Path(disk.path).stat().st_rdev)
    try:
        for node in (disk.path, character_node(disk.name), other):
            with program("writes", node) as pid:
                now = drive("BSBOT0001")
                assert now.guard.state == "protected", (node, now.guard)
                assert f"process {pid} (" in now.guard.reason
                with pytest.raises(Refused, match="open for writing"):
                    hold(disk, erase=disk.code, unlock=disk.code, destructive=True)
    finally:
        other.unlink()
    assert drive("BSBOT0001").guard.state == "free"
    assert checksum(disk.path, 64 << 20) == before


def test_a_program_that_keeps_reading_locks() -> None:
    """A drive that is being copied, or that a VM reads."""
    disk = drive("BSBOT0001")
    with program("reads", disk.path) as pid:
        assert drive("BSBOT0001").guard.state == "free"
        wait_for(lambda: drive("BSBOT0001").guard.state == "locked")
        assert f"process {pid} (" in drive("BSBOT0001").guard.reason
        with pytest.raises(Refused, match=r"keeps .* open for reading"):
            hold(disk, erase=disk.code, destructive=True)
    assert drive("BSBOT0001").guard.state == "free"


def test_a_filesystem_in_user_space_protects() -> None:
    disk = drive("BSBOT0001")
    with hold(disk, erase=disk.code, destructive=True) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ntfs")
    point = Path("/run/fuse")
    point.mkdir(exist_ok=True)
    call("modprobe", "fuse")
    call("ntfs-3g", filesystem.path, point)
    try:
        assert drive("BSBOT0001").guard.state == "protected"
    finally:
        call("umount", point)


@pytest.mark.parametrize("kind", ["fileio", "nvmet"])
def test_a_kernel_target_protects(kind: str) -> None:
    """The kernel has the drive open, no process has, and an exclusive open succeeds."""
    disk = drive("BSBOT0001")
    call("modprobe", "configfs")
    if not Path("/sys/kernel/config").is_mount():
        call("mount", "-t", "configfs", "none", "/sys/kernel/config")
    if kind == "fileio":
        call("modprobe", "target_core_file")
        here = Path("/sys/kernel/config/target/core/fileio_7/given")
        here.mkdir(parents=True)
        size = int(Path(f"/sys/block/{disk.name}/size").read_text()) * 512
        (here / "control").write_text(f"fd_dev_name={disk.path},fd_dev_size={size}")
    else:
        call("modprobe", "nvmet")
        top = Path("/sys/kernel/config/nvmet/subsystems/given")
        top.mkdir()
        here = top / "namespaces/1"
        here.mkdir()
        (here / "device_path").write_text(disk.path)
    try:
        assert drive("BSBOT0001").guard.state == "free"
        (here / "enable").write_text("1")
        now = drive("BSBOT0001").guard
        assert (now.state, "is given to others by" in now.reason) == ("protected", True), now
    finally:
        if kind == "nvmet":
            (here / "enable").write_text("0")
        here.rmdir()
        here.parent.rmdir() if kind == "fileio" else here.parents[1].rmdir()
    assert drive("BSBOT0001").guard.state == "free"


def test_a_second_path_to_a_mounted_disk_is_protected() -> None:
    options = ("dev_size_mb=64", "add_host=2", "vpd_use_hostno=0")
    with scsi_debug(*options, disks=2) as (one, other):
        diskseqs = [seq for seq in hotplug.present().values() if seq is not None]

        def guards() -> dict[str, tuple[str, str]]:
            drives = discover.scan(hotplugs=diskseqs)
            return {d.name: (d.guard.state, d.guard.reason) for d in drives}

        call("mkfs.ext4", "-q", f"/dev/{one}")
        point = Path("/run/somebody")
        point.mkdir(exist_ok=True)
        call("mount", f"/dev/{one}", point)
        try:
            now = guards()
            assert now[one][0] == "protected"
            assert now[other][0] == "protected", now[other]
            assert f"second path to {one}" in now[other][1]
        finally:
            call("umount", point)
        assert guards()[other][0] == "free"
