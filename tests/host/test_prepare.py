"""Formatting, mounting, keeping: on the practice drive, with the kernel's own drivers."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick import paths
from benchstick.drives import filesystems, practice, prepare, subprocesses
from benchstick.drives.guard import DriveLease, hold
from benchstick.drives.subprocesses import Finished
from benchstick.errors import BadInput, DriveLost, Refused
from tests.host.drive_help import call, practice_home

RUN = "0c52ae10-0000-4000-8000-000000000001"


@pytest.fixture
def drive_hold(bench_home: Path, tmp_path: Path) -> Iterator[DriveLease]:
    with practice_home(tmp_path) as home:
        drive = practice.ensure(home)
        with hold(drive, erase="practice", destructive=True, home=home) as drive_hold:
            yield drive_hold


def table(node: str) -> str:
    return call("sfdisk", "-d", node)


def test_ext4_is_made_on_one_aligned_partition_and_nothing_writes_afterwards(
    drive_hold: DriveLease,
) -> None:
    filesystem = prepare.make_filesystem(drive_hold, "ext4", label="TESTLABEL")
    assert filesystem.path == f"{drive_hold.drive.path}p1"
    assert (filesystem.fs, filesystem.cluster, filesystem.start) == ("ext4", 4096, 1 << 20)
    text = table(drive_hold.drive.path)
    assert "label: dos" in text
    assert text.count("start=") == 1
    assert "start=        2048" in text
    assert "type=83" in text
    superblock = call("dumpe2fs", "-h", filesystem.path)
    assert "TESTLABEL" in superblock
    assert "journal_data" not in superblock.split("Default mount options:")[1].splitlines()[0]
    mount_point = prepare.mount(filesystem.path, filesystem.fs, RUN)
    try:
        line = next(
            row for row in Path("/proc/self/mountinfo").read_text().splitlines() if RUN in row
        )
        for option in ("nosuid", "nodev", "noexec", "noatime"):
            assert option in line
        assert mount_point == paths.mounts() / RUN
        os.sync()
        before = _count_sectors(drive_hold.drive.name)
        time.sleep(6)
        os.sync()
        # With lazy initialisation the kernel would write inode tables for minutes.
        assert _count_sectors(drive_hold.drive.name) - before < 64
    finally:
        assert prepare.unmount(mount_point) is None
    assert not mount_point.exists()


def _count_sectors(name: str) -> int:
    """Sectors written so far."""
    return int(Path(f"/sys/block/{name}/stat").read_text().split()[6])


def test_auto_takes_the_first_that_works_and_says_which(drive_hold: DriveLease) -> None:
    filesystem = prepare.make_filesystem(drive_hold, "auto")
    expected = "exfat" if filesystems.why_not_makeable("exfat") is None else "ext4"
    assert filesystem.fs == expected


def test_auto_passes_on_to_ext4_where_the_kernel_has_no_exfat() -> None:
    def no_modules(argv: list[str], **_: object) -> Finished:
        return Finished(tuple(argv), 1, b"", b"modprobe: FATAL: not found", 0.0)

    if filesystems.why_not_mountable("exfat", run=no_modules) is None:
        pytest.skip("this kernel has exFAT loaded: auto has nothing to pass over")
    assert filesystems.choose("auto", run=no_modules) == "ext4"
    with pytest.raises(BadInput, match=r"exfat: this kernel has no exfat driver.*--fs auto"):
        filesystems.choose("exfat", run=no_modules)


@pytest.mark.parametrize("fs", ["fat", "btrfs", "", "EXT4"])
def test_an_unknown_filesystem_is_bad_input(fs: str) -> None:
    with pytest.raises(BadInput, match="the bench makes exfat, ntfs, ext4"):
        filesystems.choose(fs)


def test_a_missing_mkfs_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def require(name: str) -> str:
        raise BadInput(f"{name} is not installed: apt-get install {subprocesses.PACKAGES[name]}")

    monkeypatch.setattr(subprocesses, "require", require)
    with pytest.raises(BadInput, match=r"mkfs\.ext4 is not installed: apt-get install e2fsprogs"):
        filesystems.choose("ext4")


def test_formatting_again_replaces_other_tables_and_signatures(drive_hold: DriveLease) -> None:
    """A GPT with a btrfs in the middle must leave no signature behind."""
    node = drive_hold.drive.path
    # What is written from here on counts as the run's own.
    drive_hold.check_before_write()
    script = "label: gpt\nstart=1MiB, size=600MiB\nsize=600MiB\n"
    subprocess.run(["sfdisk", "-q", node], input=script.encode(), check=True)
    subprocess.run(["partx", "-a", node], capture_output=True)
    call("mkfs.btrfs", "-q", "-f", f"{node}p1")
    filesystem = prepare.make_filesystem(drive_hold, "ext4")
    assert "label: dos" in table(node)
    partitions = sorted(
        Path(f"/sys/block/{drive_hold.drive.name}").glob(f"{drive_hold.drive.name}p*")
    )
    assert [path.name for path in partitions] == [f"{drive_hold.drive.name}p1"]
    signatures = call("wipefs", "--noheadings", "--output", "TYPE", filesystem.path).split()
    assert signatures == ["ext4"]
    assert "gpt" not in call("wipefs", "--noheadings", "--output", "TYPE", node)


def test_a_tool_that_fails_is_reported_and_a_lost_drive_is_lost(drive_hold: DriveLease) -> None:
    def failing(stderr: bytes) -> prepare.Run:
        def run(argv: list[str], *, timeout: float | None = 60) -> Finished:
            if argv[0].startswith("mkfs"):
                return Finished(tuple(argv), 1, b"", stderr, 0.0)
            return subprocesses.run(argv, timeout=timeout)

        return run

    with pytest.raises(BadInput, match=r"mkfs\.ext4 failed: strange"):
        prepare.make_filesystem(drive_hold, "ext4", run=failing(b"strange\n"))
    with pytest.raises(DriveLost, match="Input/output error"):
        prepare.make_filesystem(drive_hold, "ext4", run=failing(b"write: Input/output error\n"))


# --- keep --------------------------------------------------------------------------------------


def test_keep_takes_the_largest_filesystem_that_can_be_mounted(drive_hold: DriveLease) -> None:
    node = drive_hold.drive.path
    script = "label: gpt\nsize=200MiB\nsize=700MiB\nsize=900MiB\n"
    subprocess.run(["sfdisk", "-q", node], input=script.encode(), check=True)
    call("partx", "-u", node)
    call("mkfs.ext4", "-q", "-F", f"{node}p1")
    call("mkfs.ext4", "-q", "-F", "-L", "MINE", f"{node}p2")
    call("mkswap", f"{node}p3")
    filesystem = prepare.find_filesystem(drive_hold.drive)
    assert (filesystem.path, filesystem.fs, filesystem.label) == (f"{node}p2", "ext4", "MINE")


def test_keep_finds_a_partition_that_the_kernel_does_not_show(drive_hold: DriveLease) -> None:
    filesystem = prepare.make_filesystem(drive_hold, "ext4")
    call("partx", "-d", drive_hold.drive.path)
    assert not Path(filesystem.path).exists()
    assert prepare.find_filesystem(drive_hold.drive).path == filesystem.path


def test_keep_without_a_filesystem_names_the_remedy(drive_hold: DriveLease) -> None:
    call("wipefs", "-a", drive_hold.drive.path)
    with pytest.raises(BadInput, match="--fs auto --erase practice"):
        prepare.find_filesystem(drive_hold.drive)


def test_keep_is_refused_when_mounted_elsewhere(drive_hold: DriveLease, tmp_path: Path) -> None:
    filesystem = prepare.make_filesystem(drive_hold, "ext4")
    point = tmp_path / "elsewhere"
    point.mkdir()
    call("mount", filesystem.path, point)
    try:
        with pytest.raises(Refused, match=str(point)):
            prepare.find_filesystem(drive_hold.drive)
    finally:
        call("umount", point)


def test_the_runs_folder_is_new_and_anything_of_its_name_is_refused(drive_hold: DriveLease) -> None:
    filesystem = prepare.make_filesystem(drive_hold, "ext4")
    mount_point = prepare.mount(filesystem.path, filesystem.fs, RUN)
    try:
        folder = prepare.new_folder(mount_point, 7, RUN)
        assert folder == mount_point / "benchstick-7"
        assert folder.is_dir()
        (mount_point / "precious").mkdir()
        (mount_point / "benchstick-8").symlink_to("precious")
        (mount_point / "benchstick-9").write_text("a file")
        (mount_point / "benchstick-10").symlink_to("nowhere")
        for number in (7, 8, 9, 10):
            with pytest.raises(Refused, match=f"benchstick-{number} exists"):
                prepare.new_folder(mount_point, number, RUN)
        assert list((mount_point / "precious").iterdir()) == []
    finally:
        prepare.unmount(mount_point)


def test_a_run_id_cannot_lead_out_of_the_benchs_folder(drive_hold: DriveLease) -> None:
    for odd in ("../../etc", "a/b", "", "x"):
        with pytest.raises(BadInput, match="not a run's UUID"):
            prepare.mount(drive_hold.drive.path, "ext4", odd)
    with pytest.raises(Refused, match="not a mount of the bench"):
        prepare.unmount(Path("/"))


def test_a_busy_mount_is_detached_lazily_and_reported(drive_hold: DriveLease) -> None:
    filesystem = prepare.make_filesystem(drive_hold, "ext4")
    mount_point = prepare.mount(filesystem.path, filesystem.fs, RUN)
    with (mount_point / "open").open("w"):
        message = prepare.unmount(mount_point, tries=2)
        assert message is not None
        assert "busy" in message
    assert not mount_point.exists()


def test_mounting_what_is_no_filesystem_is_a_clear_line(drive_hold: DriveLease) -> None:
    call("wipefs", "-a", drive_hold.drive.path)
    with pytest.raises((BadInput, DriveLost), match="mount"):
        prepare.mount(drive_hold.drive.path, "ext4", RUN)
    assert not (paths.mounts() / RUN).exists()
