"""The copier on the kernel's own exFAT and NTFS drivers, and ext4, on emulated drives.

Runs inside the VM as root (tests/vm/conftest.py).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.engine.copier.copy import TargetFull, copy_tree, empty_folder, read_back
from benchstick.engine.copier.direct_io import filesystem_of
from benchstick.engine.fileset_source.ram_disk import GeneratedSource, RamSource
from benchstick.engine.measure.page_cache import drop_caches
from benchstick.plan.fileset import FileSet, builtin, manifest
from tests.host.copier_drives import call, count_written_bytes, odd_tree, snapshot

MIB = 1 << 20
# Which filesystem is tried on which drive: exFAT as on a stick, NTFS as on a hard disk.
DRIVES = {"exfat": "BSUAS0001", "ntfs3": "BSSATA0001", "ext4": "BSNVME0001"}
MAKE = {
    "exfat": ("mkfs.exfat",),
    "ntfs3": ("mkntfs", "--quick", "--force"),
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
}


def device_with(serial: str) -> str:
    for line in call("lsblk", "-dn", "-o", "PATH,SERIAL").splitlines():
        path, _blank, device_serial = line.partition(" ")
        if device_serial.strip() == serial:
            return path
    raise AssertionError(f"no drive with serial {serial}")


@pytest.fixture(scope="module", params=list(DRIVES))
def drive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Path]]:
    kind = str(request.param)
    device = device_with(DRIVES[kind])
    point = tmp_path_factory.mktemp(kind)
    call(*MAKE[kind], device)
    call("mount", "-t", kind, device, str(point))
    try:
        yield kind, device, point
    finally:
        call("umount", str(point))
        # The next test module finds the drive as it was: without a filesystem.
        call("wipefs", "-a", "-q", device)


@pytest.fixture
def target(drive: tuple[str, str, Path]) -> Iterator[Path]:
    folder = drive[2] / "target"
    folder.mkdir()
    yield folder
    empty_folder(folder)
    folder.rmdir()


@pytest.fixture(scope="module")
def small() -> FileSet:
    return builtin("Home", 0.003)


def remount(drive: tuple[str, str, Path]) -> None:
    """Nothing of what is read next can come from the page cache."""
    kind, device, point = drive
    call("umount", str(point))
    call("mount", "-t", kind, device, str(point))


def test_kernel_driver_is_used(drive: tuple[str, str, Path]) -> None:
    kind, _device, point = drive
    fd = os.open(point, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert filesystem_of(fd) == kind
    finally:
        os.close(fd)
    assert call("findmnt", "-n", "-o", "FSTYPE", str(point)) == kind


def test_odd_names_and_sizes(drive: tuple[str, str, Path], target: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    # 255 characters of more than one byte each: only filesystems that count characters take them.
    wide = "日" * 255
    if drive[0] != "ext4":
        fileset = manifest(f"70000\t{wide}\n")
        assert copy_tree(GeneratedSource(fileset), target).errors == {}
        remount(drive)
        assert GeneratedSource(fileset).verify(target) == []
        empty_folder(target)
    report = copy_tree(source, target)
    assert report.errors == {}
    assert (report.files.copied, report.dirs.copied) == (52, 41)
    remount(drive)
    assert snapshot(target) == snapshot(source)
    assert not (target / "read only").stat().st_mode & 0o222
    assert (target / "plain.bin").stat().st_mode & 0o200
    again = copy_tree(source, target)
    assert (again.files.copied, again.files.skipped) == (0, 52), again.errors
    for path in source.rglob("*"):
        if path.is_dir():
            apart = abs(path.stat().st_mtime - (target / path.relative_to(source)).stat().st_mtime)
            assert apart <= 2, path


def test_mirror_rules(drive: tuple[str, str, Path], target: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    copy_tree(source, target)
    (target / "extra").write_bytes(b"x" * 100)
    (target / "extra").chmod(0o444)
    (target / "extra folder").mkdir()
    (target / "extra folder/file").write_bytes(b"y")
    (source / "read only").chmod(0o644)
    (source / "read only").write_bytes(os.urandom(9000))
    (source / "read only").chmod(0o444)
    (source / "one byte").write_bytes(b"?")
    later = (source / "one byte").stat().st_mtime_ns + 5 * 10**9
    os.utime(source / "one byte", ns=(later, later))
    moment = (source / "empty").stat().st_mtime_ns + 1_500_000_000
    os.utime(source / "empty", ns=(moment, moment))
    report = copy_tree(source, target)
    assert report.errors == {}
    # Within two seconds is the same time on exFAT, and another one elsewhere.
    assert report.files.copied == (2 if drive[0] == "exfat" else 3)
    assert (report.files.extras, report.dirs.extras) == (2, 1)
    hashes = {path: digest for path, (digest, _time) in snapshot(source).items()}
    assert {path: digest for path, (digest, _time) in snapshot(target).items()} == hashes


def test_names_that_only_differ_in_case(drive: tuple[str, str, Path], target: Path) -> None:
    source = target.parent / "case source"
    with RamSource(Path("/run/test-case"), manifest("10\tplain\n")) as ram:
        (ram.tree / "Readme").write_bytes(b"first")
        (ram.tree / "README").write_bytes(b"second")
        report = copy_tree(ram, target)
    assert not source.exists()
    names = sorted(path.name for path in target.iterdir())
    if drive[0] == "exfat":
        # Threads copy both at once: either can be the first.
        assert names in (["README"], ["Readme"]) and report.files.failed == 1
        assert "may ignore case" in next(iter(report.errors.values()))
    else:
        assert names == ["README", "Readme"] and report.errors == {}


def test_ram_cycle_is_direct(drive: tuple[str, str, Path], target: Path, small: FileSet) -> None:
    with RamSource(Path("/run/test-ram"), small) as ram:
        ram.build()
        before = count_written_bytes(drive[2])
        report = copy_tree(ram, target)
        byte_count = count_written_bytes(drive[2]) - before
        assert report.errors == {} and report.bytes == small.bytes
        assert report.filesystem == drive[0]
        assert report.fallback_bytes == 0
        assert report.buffered_bytes() <= 0.01 * report.bytes
        assert report.tail_bytes <= 4095 * small.count
        # Every byte once, and no more than the filesystem's own on top.
        assert report.bytes <= byte_count <= 1.03 * report.bytes + 65536 * small.count
        remount(drive)
        ram.delete_tree()
        back = copy_tree(target, ram.tree)
        assert back.errors == {} and back.fallback_bytes == 0
        assert ram.check() == []


def test_generated_is_verified_on_the_drive(
    drive: tuple[str, str, Path], target: Path, small: FileSet
) -> None:
    source = GeneratedSource(small)
    assert copy_tree(source, target).errors == {}
    remount(drive)
    assert read_back(target).bytes == small.bytes
    assert source.verify(target) == []
    victim = max(small.files, key=lambda entry: entry.size).path
    with (target / victim).open("r+b") as file:
        file.seek(100_000)
        file.write(b"\0" * 10)
    drop_caches()
    differences = source.verify(target)
    assert [d.path for d in differences] == [victim]
    assert differences[0].offset is not None and 100_000 <= differences[0].offset < 100_010


def test_full(drive: tuple[str, str, Path], target: Path) -> None:
    status = os.statvfs(target)
    free = status.f_bavail * status.f_frsize
    too_much = manifest("".join(f"{free // 4 + MIB}\tfile {i}\n" for i in range(4)))
    with pytest.raises(TargetFull, match=rf"{drive[0]} at .* have no room in \d+ free bytes"):
        copy_tree(GeneratedSource(too_much), target)


def test_nothing_mounted_is_left() -> None:
    mounts = subprocess.run(["mount"], capture_output=True, text=True, check=True).stdout
    assert "/run/test-ram" not in mounts and "benchstick-ram" not in mounts
