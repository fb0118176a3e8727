"""The copier on real filesystems: same bytes, same times, mirror rules, and nothing outside."""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.engine.copier.copy import (
    CopyCancelled,
    CopyDriveLost,
    TargetFull,
    TargetReadOnly,
    copy_tree,
    empty_folder,
    read_back,
)
from benchstick.engine.copier.files import Strategy
from benchstick.engine.measure import page_cache as pagecache
from benchstick.errors import BadInput, Refused
from tests.host.copier_drives import (
    call,
    count_written_bytes,
    loop_device,
    loop_drive,
    odd_tree,
    require,
    snapshot,
)

MIB = 1 << 20


@pytest.fixture(scope="module", params=["ext4", "xfs", "btrfs"])
def drive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    filesystem = str(request.param)
    require(filesystem)
    with loop_drive(tmp_path_factory.mktemp(filesystem), filesystem, 400 * MIB) as point:
        yield point


@pytest.fixture(scope="module")
def ext4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require("ext4")
    with loop_drive(tmp_path_factory.mktemp("plain"), "ext4", 300 * MIB) as point:
        yield point


@pytest.fixture
def target(drive: Path) -> Iterator[Path]:
    folder = drive / "target"
    yield folder
    if folder.is_dir() and not folder.is_symlink():
        empty_folder(folder)
        folder.rmdir()


@pytest.fixture
def on_ext4(ext4: Path) -> Iterator[Path]:
    folder = ext4 / "target"
    yield folder
    if folder.is_dir() and not folder.is_symlink():
        empty_folder(folder)
        folder.rmdir()


def test_copies_bytes_times_and_odd_names(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    before = snapshot(source)
    report = copy_tree(source, target)
    assert report.errors == {} and report.complete
    assert snapshot(target) == before == snapshot(source)
    for path in source.rglob("*"):
        if path.is_dir():
            there = target / path.relative_to(source)
            assert there.stat().st_mtime_ns == path.stat().st_mtime_ns, "folders keep their times"
    assert not (target / "read only").stat().st_mode & 0o222
    assert report.files.copied == report.files.total == 52
    assert report.dirs.copied == report.dirs.total == 41
    assert report.bytes == report.sizes.copied == sum(r.bytes for r in report.records)


def test_every_strategy_writes_the_same(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    expected = snapshot(source)
    for size_first in (False, True):
        for pad_tail in (False, True):
            copy_tree(source, target, how=Strategy(size_first=size_first, pad_tail=pad_tail))
            assert snapshot(target) == expected, (size_first, pad_tail)
            empty_folder(target)


def test_other_blocks_and_threads(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    expected = snapshot(source)
    for threads, block in ((1, 4096), (3, 12288), (64, 4 * MIB)):
        assert copy_tree(source, target, threads=threads, block=block).errors == {}
        assert snapshot(target) == expected
        empty_folder(target)


def test_buffered_when_asked(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    report = copy_tree(source, on_ext4, direct=False)
    assert snapshot(on_ext4) == snapshot(source)
    assert report.direct_bytes == 0 and report.fallback_bytes == report.bytes


def test_read_back_into_memory(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    copy_tree(source, target)
    ram = tmp_path / "ram"
    ram.mkdir()
    call("mount", "-t", "tmpfs", "-o", "size=64m", "test-ram", str(ram))
    try:
        report = copy_tree(target, ram / "tree")
        assert report.errors == {}
        assert snapshot(ram / "tree") == snapshot(source)
        # And from memory to the drive again, where large files are mapped.
        empty_folder(target)
        back = copy_tree(ram / "tree", target)
        assert back.errors == {}
        assert snapshot(target) == snapshot(source)
        read_back_report = read_back(target)
        assert read_back_report.bytes == report.bytes and read_back_report.errors == {}
    finally:
        call("umount", str(ram))


def test_second_copy_skips_all(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    copy_tree(source, target)
    inodes = {path: path.stat().st_ino for path in target.rglob("*")}
    report = copy_tree(source, target)
    assert (report.files.copied, report.files.skipped) == (0, 52)
    assert (report.dirs.copied, report.dirs.skipped) == (0, 41)
    assert report.sizes.skipped == report.sizes.total
    assert inodes == {path: path.stat().st_ino for path in target.rglob("*")}


def test_mirror_rules(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    copy_tree(source, target)
    (target / "extra").write_bytes(b"x" * 100)
    (target / "extra").chmod(0o400)
    (target / "extra folder/below").mkdir(parents=True)
    (target / "extra folder/below/file").write_bytes(b"y" * 50)
    (target / "plain.bin").write_bytes(b"shorter")
    os.utime(target / "one byte", (1, 1))
    (target / "read only").chmod(0o644)
    (target / "read only").write_bytes(b"changed")
    (target / "read only").chmod(0o444)
    (target / "empty").unlink()
    (target / "empty").mkdir()
    (target / "empty folder").rmdir()
    (target / "empty folder").write_bytes(b"a file where a folder should be")
    report = copy_tree(source, target)
    assert report.errors == {}
    assert snapshot(target) == snapshot(source)
    assert report.files.copied == 4, "plain.bin, one byte, read only, empty"
    assert report.files.skipped == 48
    assert report.files.extras == 3 and report.dirs.extras == 3
    assert report.sizes.extras == 181
    assert report.files.mismatch == 1 and report.dirs.mismatch == 1


def test_without_mirror_extras_stay(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    on_ext4.mkdir()
    (on_ext4 / "extra").write_bytes(b"x")
    report = copy_tree(source, on_ext4, mirror=False)
    assert (on_ext4 / "extra").read_bytes() == b"x"
    assert report.files.extras == 0 and report.files.copied == 52


@pytest.mark.parametrize(("apart", "copied_count"), [(2.0, 0), (2.5, 1)])
def test_slack_as_on_fat(tmp_path: Path, on_ext4: Path, apart: float, copied_count: int) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_bytes(b"same size")
    copy_tree(source, on_ext4)
    moment = (source / "file").stat().st_mtime_ns
    os.utime(on_ext4 / "file", ns=(moment, moment + int(apart * 1e9)))
    assert copy_tree(source, on_ext4, mtime_slack=2.0).files.copied == copied_count


def test_times_differing_by_a_second_are_copied(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_bytes(b"same size")
    copy_tree(source, on_ext4)
    os.utime(source / "file", (5, 5))
    assert copy_tree(source, on_ext4).files.copied == 1
    assert (on_ext4 / "file").stat().st_mtime == 5


# --- direct I/O ----------------------------------------------------------------------------


@pytest.fixture(params=["cachestat", "mincore"])
def page_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the page cache is looked at: by the call of Linux 6.5, or as on kernels before."""
    if request.param == "mincore":
        monkeypatch.setattr(pagecache, "cachestat_bytes", lambda _fd: None)


@pytest.mark.usefixtures("page_cache")
def test_bytes_really_are_direct(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for i in range(8):
        (source / f"f{i}").write_bytes(os.urandom(4 * MIB + 1000))
    before = count_written_bytes(on_ext4.parent)
    report = copy_tree(source, on_ext4)
    byte_count = count_written_bytes(on_ext4.parent) - before
    assert report.tail_bytes == 8 * 1000
    assert report.direct_bytes == 32 * MIB and report.fallback_bytes == 0
    assert report.cached_bytes == 8 * 4096, "only the tails are in the page cache"
    assert report.buffered_bytes() == 0
    assert report.bytes <= byte_count <= report.bytes * 1.03 + 8 * 65536


@pytest.mark.usefixtures("page_cache")
def test_data_journal_is_found_out(tmp_path: Path) -> None:
    require("ext4")
    source = tmp_path / "source"
    source.mkdir()
    for i in range(4):
        (source / f"f{i}").write_bytes(os.urandom(8 * MIB + 5))
    with loop_drive(tmp_path, "ext4", 300 * MIB, "data=journal") as point:
        report = copy_tree(source, point / "target")
        assert report.direct_bytes == 32 * MIB, "O_DIRECT was taken without an error"
        assert report.buffered_bytes() > 0.99 * 32 * MIB, "and went through the page cache"
        pagecache.drop_caches()
        back = read_back(point / "target")
        assert back.buffered_bytes() > 0.99 * 32 * MIB, "as does the reading"


# --- nothing outside of the target ---------------------------------------------------------


def test_target_that_is_a_link_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"data")
    source = tmp_path / "source"
    source.mkdir()
    (tmp_path / "target").symlink_to(outside)
    with pytest.raises(Refused, match="symbolic link"):
        copy_tree(source, tmp_path / "target")
    with pytest.raises(Refused, match="symbolic link"):
        empty_folder(tmp_path / "target")
    assert (outside / "precious").read_bytes() == b"data"


def test_links_in_the_target_are_replaced_not_followed(tmp_path: Path, on_ext4: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"data")
    source = tmp_path / "source"
    (source / "folder").mkdir(parents=True)
    (source / "folder/precious").write_bytes(b"new")
    (source / "file").write_bytes(b"new")
    (source / "second name").write_bytes(b"new!")
    on_ext4.mkdir()
    (on_ext4 / "folder").symlink_to(outside)
    (on_ext4 / "file").symlink_to(outside / "precious")
    (on_ext4 / "extra").symlink_to(outside)
    (on_ext4.parent / "hard").write_bytes(b"hard link")
    (on_ext4 / "second name").hardlink_to(on_ext4.parent / "hard")
    report = copy_tree(source, on_ext4)
    assert report.errors == {}
    assert (outside / "precious").read_bytes() == b"data"
    assert (on_ext4.parent / "hard").read_bytes() == b"hard link"
    assert snapshot(on_ext4) == snapshot(source)
    (on_ext4.parent / "hard").unlink()


def test_a_folder_swapped_for_a_link_during_the_copy(tmp_path: Path, on_ext4: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    source = tmp_path / "source"
    for i in range(30):
        (source / f"d{i:02d}").mkdir(parents=True)
        for k in range(20):
            (source / f"d{i:02d}/f{k}").write_bytes(os.urandom(20_000))
    stop = threading.Event()

    def attack() -> None:
        while not stop.is_set():
            for i in range(30):
                folder = on_ext4 / f"d{i:02d}"
                try:
                    folder.rename(on_ext4.parent / f"moved{i}-{time.monotonic_ns()}")
                    folder.symlink_to(outside)
                except OSError:
                    continue

    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        copy_tree(source, on_ext4)
    except BadInput:
        pass
    finally:
        stop.set()
        attacker.join()
    assert list(outside.iterdir()) == []
    for leftover in on_ext4.parent.glob("moved*"):
        if leftover.is_symlink():
            leftover.unlink()
            continue
        empty_folder(leftover)
        leftover.rmdir()


def test_links_and_others_in_the_source_are_reported(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_bytes(b"data")
    (source / "link").symlink_to("/etc/passwd")
    (source / "folder link").symlink_to("/etc")
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(source / "socket"))
    report = copy_tree(source, on_ext4)
    assert set(report.left_out) == {"link", "folder link", "pipe", "socket"}
    assert report.left_out["link"] == "a symbolic link: not copied"
    assert report.left_out["pipe"] == "a named pipe: not copied"
    assert [path.name for path in on_ext4.iterdir()] == ["file"]


def test_a_bind_mount_in_the_target_is_not_emptied(on_ext4: Path) -> None:
    """It has the same device number as the target: only its mount distinguishes it."""
    target, photos = on_ext4 / "target", on_ext4 / "photos"
    point = target / "folder/point"
    point.mkdir(parents=True)
    photos.mkdir()
    (photos / "a.jpg").write_bytes(b"x")
    call("mount", "--bind", str(photos), str(point))
    try:
        for _ in range(2):
            with pytest.raises(BadInput) as refusal:
                empty_folder(target)
            assert (photos / "a.jpg").read_bytes() == b"x"
            assert "a folder is mounted here: not removed" in refusal.value.message
    finally:
        call("umount", str(point))
    empty_folder(target)
    assert list(target.iterdir()) == []
    assert (photos / "a.jpg").exists()


def test_other_filesystems_are_not_entered(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    (source / "mounted").mkdir(parents=True)
    (source / "file").write_bytes(b"data")
    call("mount", "-t", "tmpfs", "test-ram", str(source / "mounted"))
    try:
        (source / "mounted/inside").write_bytes(b"x")
        report = copy_tree(source, on_ext4)
    finally:
        call("umount", str(source / "mounted"))
    assert "another filesystem" in report.left_out["mounted"]
    # In the target, where a mirror would have to remove it.
    (on_ext4 / "extra").mkdir()
    call("mount", "-t", "tmpfs", "test-ram", str(on_ext4 / "extra"))
    try:
        (on_ext4 / "extra/precious").write_bytes(b"data")
        (source / "mounted").rmdir()
        report = copy_tree(source, on_ext4)
        assert (on_ext4 / "extra/precious").read_bytes() == b"data"
        assert "another filesystem" in report.errors["extra"]
    finally:
        call("umount", str(on_ext4 / "extra"))


@pytest.mark.parametrize("below", [True, False])
def test_source_and_target_within_each_other(tmp_path: Path, below: bool) -> None:
    (tmp_path / "outer/inner").mkdir(parents=True)
    (tmp_path / "outer/inner/file").write_bytes(b"data")
    (tmp_path / "outer/file").write_bytes(b"data")
    pair = [tmp_path / "outer", tmp_path / "outer/inner"]
    source, target = pair if below else reversed(pair)
    with pytest.raises(BadInput, match="inside of"):
        copy_tree(source, target)
    with pytest.raises(BadInput, match="own source"):
        copy_tree(source, source)
    assert (tmp_path / "outer/inner/file").read_bytes() == b"data"
    assert (tmp_path / "outer/file").read_bytes() == b"data"


def test_source_is_not_changed(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    for path in source.rglob("*"):
        os.utime(path, (1_000_000, path.stat().st_mtime))
    before = {path: path.stat() for path in source.rglob("*")}
    copy_tree(source, on_ext4)
    after = {path: path.stat() for path in source.rglob("*")}
    for path, status in before.items():
        for name in ("st_mtime_ns", "st_ctime_ns", "st_atime_ns", "st_mode", "st_size"):
            assert getattr(after[path], name) == getattr(status, name), (path, name)


# --- errors --------------------------------------------------------------------------------


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    # A file that cannot be made on the target: its name is longer in bytes than ext4 takes; made
    # possible by a tree that does not exist as files.
    from benchstick.engine.fileset_source.ram_disk import GeneratedSource
    from benchstick.plan.fileset import manifest

    fileset = manifest("5000\t" + "ü" * 200 + "\n7000\tgood\n9000\t" + "ä" * 200 + "/in it\n")
    report = copy_tree(GeneratedSource(fileset), on_ext4)
    assert report.files.failed == 2 and report.dirs.failed == 1
    assert report.sizes.failed == 14_000
    assert report.files.copied == 1 and (on_ext4 / "good").stat().st_size == 7000
    assert "does not accept this name" in report.errors["ü" * 200]


def test_full_before_the_first_byte(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with (source / "big").open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(TargetFull, match=r"ext4 at .*2147483648 bytes have no room in \d+ free"):
        copy_tree(source, on_ext4)
    assert list(on_ext4.iterdir()) == []


def test_full_in_the_middle(tmp_path: Path, on_ext4: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for i in range(100):
        (source / f"f{i:03d}").write_bytes(os.urandom(4 * MIB))
    from benchstick.engine.copier import copy

    monkeypatch.setattr(copy._Copy, "_room", lambda self, byte_count: None)
    with pytest.raises(TargetFull, match=r"ext4 at .* is full after \d+ of 419430400") as caught:
        copy_tree(source, on_ext4)
    report = caught.value.report
    assert caught.value.exit_code == 2
    assert 0 < report.bytes < 400 * MIB and not report.complete
    # No half file stays behind.
    assert {path.stat().st_size for path in on_ext4.iterdir()} == {4 * MIB}


def test_read_only_filesystem(tmp_path: Path, ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    target = ext4 / "ro target"
    target.mkdir()
    call("mount", "-o", "remount,ro", str(ext4))
    try:
        with pytest.raises(TargetReadOnly, match="mounted read-only") as caught:
            copy_tree(source, target)
        assert caught.value.exit_code == 2
        with pytest.raises(TargetReadOnly, match="mounted read-only"):
            copy_tree(source, ext4 / "another")
    finally:
        call("mount", "-o", "remount,rw", str(ext4))


def test_drive_that_fails_in_the_middle(tmp_path: Path) -> None:
    """The loop device's backing file is cut: what lies beyond answers with EIO."""
    require("ext4")
    source = tmp_path / "source"
    source.mkdir()
    for i in range(60):
        (source / f"f{i:03d}").write_bytes(os.urandom(4 * MIB))
    point = tmp_path / "mnt"
    point.mkdir()
    image = tmp_path / "image"
    with loop_device(image, 300 * MIB) as device:
        call("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", device)
        call("mount", device, str(point))
        try:
            copy_tree(source, point / "target")
            # Reads beyond the end of the backing file fail.
            os.sync()
            os.truncate(image, 100 * MIB)
            call("sync")
            with pytest.raises(CopyDriveLost, match="the drive is gone or failing") as caught:
                read_back(point / "target")
            assert caught.value.exit_code == 4
            assert not caught.value.report.complete
        finally:
            call("umount", str(point))


def test_missing_source_and_target(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"source folder .*nothing: No such file"):
        copy_tree(tmp_path / "nothing", tmp_path / "target")
    (tmp_path / "source").mkdir()
    with pytest.raises(BadInput, match="parent folder does not exist"):
        copy_tree(tmp_path / "source", tmp_path / "a/b/c")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(BadInput, match="Not a directory"):
        copy_tree(tmp_path / "source", tmp_path / "file")


@pytest.mark.parametrize("threads", [0, -1, 1000])
def test_bad_threads(tmp_path: Path, threads: int) -> None:
    with pytest.raises(BadInput, match="threads: "):
        copy_tree(tmp_path, tmp_path / "t", threads=threads)


@pytest.mark.parametrize("block", [0, 1000, 1 << 30])
def test_bad_block(tmp_path: Path, block: int) -> None:
    with pytest.raises(BadInput, match="block: "):
        copy_tree(tmp_path, tmp_path / "t", block=block)


# --- cancel, progress, report --------------------------------------------------------------


def test_cancel(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for i in range(50):
        (source / f"f{i:03d}").write_bytes(os.urandom(4 * MIB))
    cancel = threading.Event()
    stamps: list[float] = []

    def progress(copied_bytes: int) -> None:
        if copied_bytes and not cancel.is_set():
            stamps.append(time.monotonic())
            cancel.set()

    # Small blocks and one thread, so that there is a middle to cancel in.
    with pytest.raises(CopyCancelled) as caught:
        copy_tree(source, on_ext4, threads=1, block=4096, cancel=cancel, progress=progress)
    assert time.monotonic() - stamps[0] < 1.0
    assert caught.value.exit_code == 130
    report = caught.value.report
    assert 0 < report.bytes < 200 * MIB or report.files.copied == 0
    assert {path.stat().st_size for path in on_ext4.iterdir()} <= {4 * MIB}
    assert len(list(on_ext4.iterdir())) == report.files.copied


def test_cancel_beforehand(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CopyCancelled):
        copy_tree(source, on_ext4, cancel=cancel)


def test_no_descriptor_and_thread_left(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    copy_tree(source, on_ext4)
    before = len(list(Path("/proc/self/fd").iterdir()))
    threads = threading.active_count()
    for _ in range(3):
        empty_folder(on_ext4)
        copy_tree(source, on_ext4)
        read_back(on_ext4)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert threading.active_count() == threads


def test_report(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    byte_counts: list[int] = []
    report = copy_tree(source, on_ext4, progress=byte_counts.append)
    assert byte_counts[-1] == report.bytes and byte_counts == sorted(byte_counts)
    assert 0 < report.seconds_without_flush <= report.seconds
    assert report.filesystem == "ext4"
    for record in report.records:
        assert 0 <= record.start <= record.end <= report.seconds_without_flush
    assert [r.start for r in report.records] == sorted(r.start for r in report.records)
    document = report.to_json(most_records=10)
    assert len(document["files"]) == 10 and document["files_not_listed"] == 42
    assert document["rows"]["files"]["total"] == 52
    assert document["complete"] is True
    lines = report.summary().splitlines()
    assert lines[0].split() == ["Total", "Copied", "Skipped", "Mismatch", "FAILED", "Extras"]
    assert [line.split()[0] for line in lines[1:]] == ["Dirs", "Files", "Bytes", "Times", "Speed"]
    assert lines[2].split() == ["Files", ":", "52", "52", "0", "0", "0", "0"]


def test_one_file_a_thread_and_not_more_threads(tmp_path: Path, on_ext4: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for i in range(40):
        (source / f"f{i:03d}").write_bytes(os.urandom(MIB))
    records = copy_tree(source, on_ext4, threads=4, block=65536).records
    moments = sorted(
        [(r.start, 1) for r in records] + [(r.end, -1) for r in records], key=lambda m: m
    )
    level = most = 0
    for _at, step in moments:
        level += step
        most = max(most, level)
    assert 2 <= most <= 4
    starts = [r.path for r in records]
    assert starts == sorted(starts), "taken in directory order"


def test_mount_point_as_target(ext4: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    odd_tree(source)
    assert copy_tree(source, ext4, mirror=False).errors == {}
    assert stat.S_ISDIR((ext4 / "lost+found").stat().st_mode)
    empty_folder(ext4)
