"""Sources: deterministic contents, the RAM cycle, generated sets, a user's tree left untouched."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.engine.copier.copy import copy_tree, empty_folder, read_back
from benchstick.engine.copier.direct_io import Buffer
from benchstick.engine.fileset_source import free_ram
from benchstick.engine.fileset_source.content import CHUNK, Content, Difference
from benchstick.engine.fileset_source.ram_disk import (
    GeneratedSource,
    RamSource,
    ram_free,
    read_tree,
)
from benchstick.engine.measure.page_cache import (
    cachestat_bytes,
    drop_caches,
    mincore_bytes,
    resident_bytes,
)
from benchstick.errors import BadInput, Cancelled
from benchstick.plan.fileset import FileEntry, FileSet, builtin, manifest
from tests.host.copier_drives import call, loop_drive, odd_tree, require, snapshot

MIB = 1 << 20

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a tmpfs needs root")


@pytest.fixture(scope="module")
def small() -> FileSet:
    """Home at 1/400: 47 MB in 19 files, with text among them."""
    return builtin("Home", 0.0025)


@pytest.fixture
def ram(tmp_path: Path, small: FileSet) -> Iterator[RamSource]:
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    with RamSource(tmp_path / "ram", small) as source:
        source.build()
        yield source


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require("ext4")
    with loop_drive(tmp_path_factory.mktemp("drive"), "ext4", 400 * MIB) as point:
        yield point


@pytest.fixture
def target(drive: Path) -> Iterator[Path]:
    folder = drive / "target"
    folder.mkdir()
    yield folder
    empty_folder(folder)
    folder.rmdir()


# --- contents ------------------------------------------------------------------------------


def make_bytes(entry: FileEntry, seed: str = "seed") -> bytes:
    content, buffer = Content(seed), Buffer(CHUNK)
    key = content.key(entry)
    parts = []
    for offset in range(0, entry.size, CHUNK):
        length = min(CHUNK, entry.size - offset)
        content.fill(buffer, key, offset, length)
        parts.append(bytes(buffer.view[:length]))
    return b"".join(parts)


def test_contents_are_the_same_everywhere() -> None:
    """Recorded once: another machine or Python must make the same bytes."""
    digests = {
        fill: hashlib.sha256(make_bytes(FileEntry("a/b.bin", 3 * MIB + 77, fill))).hexdigest()[:16]
        for fill in ("random", "text")
    }
    assert digests == {"random": "9d50c4df227a032a", "text": "987152d2e419d3b9"}


def test_every_block_is_unique() -> None:
    data = make_bytes(FileEntry("one", 40 * MIB)) + make_bytes(FileEntry("two", 40 * MIB))
    blocks = {data[i : i + 4096] for i in range(0, len(data), 4096)}
    assert len(blocks) == len(data) // 4096
    text = make_bytes(FileEntry("one", 20 * MIB, "text"))
    assert len({text[i : i + 4096] for i in range(0, len(text), 4096)}) == len(text) // 4096


def test_compressibility() -> None:
    random = make_bytes(FileEntry("a", 4 * MIB))
    assert len(gzip.compress(random)) / len(random) > 0.98
    text = make_bytes(FileEntry("a", 4 * MIB, "text"))
    assert 1 / 3 < len(gzip.compress(text)) / len(text) < 1 / 2


def test_contents_depend_on_seed_and_path() -> None:
    assert make_bytes(FileEntry("a", 5000)) != make_bytes(FileEntry("b", 5000))
    assert make_bytes(FileEntry("a", 5000)) != make_bytes(FileEntry("a", 5000), seed="other")
    assert make_bytes(FileEntry("a", 5000)) == make_bytes(FileEntry("a", 5000))
    assert make_bytes(FileEntry("a", 5000)) == make_bytes(FileEntry("a", 9000))[:5000]


@pytest.mark.parametrize("length", [1, 7, 8, 9, 4095, 4096, 4103, 4104, 70_000, CHUNK])
def test_any_changed_byte_is_found(length: int) -> None:
    content, buffer, scratch = Content("seed"), Buffer(CHUNK), Buffer(CHUNK)
    key = content.key(FileEntry("a", CHUNK))
    for place in {0, length // 3, length - 1}:
        content.fill(buffer, key, 8 * CHUNK, length)
        assert content.compare(buffer, scratch, key, 8 * CHUNK, length) is None
        buffer.view[place] ^= 0x10
        assert content.compare(buffer, scratch, key, 8 * CHUNK, length) == 8 * CHUNK + place


def test_a_block_in_the_wrong_place_is_found() -> None:
    content, buffer, scratch = Content("seed"), Buffer(CHUNK), Buffer(CHUNK)
    key = content.key(FileEntry("a", 8 * CHUNK))
    content.fill(buffer, key, 0, CHUNK)
    buffer.view[4096:8192] = bytes(buffer.view[8192:12288])
    assert content.compare(buffer, scratch, key, 0, CHUNK) == 4096


# --- RAM -----------------------------------------------------------------------------------


def test_ram_cycle(ram: RamSource, target: Path, small: FileSet) -> None:
    assert ram.check() == []
    before = snapshot(ram.tree)
    for _ in range(2):
        empty_folder(target)
        report = copy_tree(ram, target)
        assert report.errors == {} and report.bytes == small.bytes
        assert (report.files.copied, report.dirs.copied) == (small.count, len(small.folders))
        ram.delete_tree()
        assert list(ram.tree.iterdir()) == []
        copy_tree(target, ram.tree)
        assert ram.check() == []
        assert snapshot(ram.tree) == before


def test_ram_check_names_file_and_place(ram: RamSource, small: FileSet) -> None:
    by_size = sorted(small.files, key=lambda entry: entry.size)
    changed_path, short_path, missing_path = by_size[-1].path, by_size[-2].path, by_size[-3].path
    with (ram.tree / changed_path).open("r+b") as file:
        file.seek(1_234_567)
        byte = file.read(1)
        file.seek(1_234_567)
        file.write(bytes([byte[0] ^ 1]))
    os.truncate(ram.tree / short_path, 1000)
    (ram.tree / missing_path).unlink()
    (ram.tree / "more").write_bytes(b"x")
    differences = {difference.path: difference for difference in ram.check()}
    assert differences[changed_path] == Difference(changed_path, 1_234_567, "differs from there")
    assert (
        differences[short_path].offset == 1000
        and "has 1000 of" in differences[short_path].description
    )
    assert differences[missing_path].description == "is missing"
    assert differences["more"].description == "is not in the set"
    assert len(differences) == 4
    assert str(differences[changed_path]) == f"{changed_path} at byte 1234567: differs from there"
    ram.rebuild()
    assert ram.check() == []


def test_same_set_same_bytes(tmp_path: Path, ram: RamSource, small: FileSet) -> None:
    with RamSource(tmp_path / "second", small) as second:
        second.build()
        assert snapshot(second.tree) == snapshot(ram.tree)


def test_ram_is_kept_out_of_swap_and_given_back(tmp_path: Path, ram: RamSource) -> None:
    options = call("findmnt", "-n", "-o", "FSTYPE,OPTIONS", str(ram.mount_at))
    assert options.startswith("tmpfs") and "size=" in options
    assert "noswap" in options or not free_ram.swap_active() or ram.swappable
    ram.close()
    assert not ram.mount_at.exists()
    ram.close()


def test_what_a_killed_runner_left_is_unmounted(tmp_path: Path, ram: RamSource) -> None:
    # A new process knows only the folder.
    free_ram.unmount(ram.mount_at)
    assert not ram.mount_at.exists()
    call("mount", "-t", "tmpfs", "somebody-elses", str(tmp_path))
    try:
        free_ram.unmount(tmp_path)
        assert tmp_path.is_mount(), "a tmpfs that is not the bench's stays"
    finally:
        call("umount", str(tmp_path))


def test_too_large_for_ram(tmp_path: Path) -> None:
    big = manifest(f"{ram_free() * 2}\tbig\n")
    with pytest.raises(BadInput, match=r"needs [\d.]+ GB of RAM and .* --scale 0\.[0-9]+ or") as e:
        RamSource(tmp_path / "ram", big)
    assert e.value.field == "source"
    assert not (tmp_path / "ram").exists()
    assert big.ram_needed >= big.bytes


@needs_root
def test_proposed_scale_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_ram, "ram_free", lambda: 3 * 10**9)
    with pytest.raises(BadInput) as caught:
        RamSource(tmp_path / "ram", builtin("Home"))
    scale = float(caught.value.message.split("--scale ")[1].split(" ")[0])
    assert builtin("Home", scale).ram_needed <= 3 * 10**9


@needs_root
def test_build_is_cancelled(tmp_path: Path, small: FileSet) -> None:
    cancel = threading.Event()
    cancel.set()
    with RamSource(tmp_path / "ram", small) as source, pytest.raises(Cancelled):
        source.build(cancel=cancel)


# --- generated -----------------------------------------------------------------------------


def test_generated(target: Path, ram: RamSource, small: FileSet) -> None:
    source = GeneratedSource(small)
    report = copy_tree(source, target)
    assert report.errors == {} and report.bytes == small.bytes
    assert snapshot(target) == snapshot(ram.tree), "the same set as from RAM"
    assert read_back(target).bytes == small.bytes
    assert source.verify(target) == []
    victim = max(small.files, key=lambda entry: entry.size).path
    with (target / victim).open("r+b") as file:
        file.seek(2 * MIB + 5)
        byte = file.read(1)
        file.seek(2 * MIB + 5)
        file.write(bytes([byte[0] ^ 1]))
    assert source.verify(target) == [Difference(victim, 2 * MIB + 5, "differs from there")]


def test_the_rate_of_the_generator_is_its_bytes_by_its_seconds(
    small: FileSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(0, 0.25)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    # The clock is read at 0 s, before each chunk, and at the end: at 1 s no chunk more is made.
    assert GeneratedSource(small).measure_rate(1.0) == 3 * CHUNK / 1.25


def test_generated_from_a_manifest(target: Path) -> None:
    fileset = manifest("0\tempty\n1\tone\n4096\tblock\n1048583\tmore/than a MiB.txt\n0\tnothing/\n")
    source = GeneratedSource(fileset)
    report = copy_tree(source, target)
    assert report.files.copied == 4 and report.dirs.copied == 2
    assert (target / "nothing").is_dir()
    assert source.verify(target) == []


# --- a user's tree -------------------------------------------------------------------------


def test_users_tree_through_ram(tmp_path: Path, target: Path) -> None:
    tree = tmp_path / "user"
    odd_tree(tree)
    (tree / "link").symlink_to("/etc/passwd")
    before = snapshot(tree)
    states = {path: path.lstat() for path in tree.rglob("*")}
    user = read_tree(tree, hashes=False)
    assert user.fileset.count == 52 and len(user.fileset.folders) == 41
    assert user.left_out == {"link": "a symbolic link: not copied"}
    with RamSource(tmp_path / "ram", user.fileset, origin=user) as ram:
        ram.build()
        assert set(user.hashes) == {entry.path for entry in user.fileset.files}
        copy_tree(ram, target)
        ram.delete_tree()
        copy_tree(target, ram.tree)
        assert ram.check() == []
        victim = ram.tree / "plain.bin"
        with victim.open("r+b") as file:
            file.seek(MIB + 9)
            byte = file.read(1)
            file.seek(MIB + 9)
            file.write(bytes([byte[0] ^ 1]))
        assert ram.check() == [Difference("plain.bin", MIB, "differs in the MiB from there")]
        ram.rebuild()
        assert ram.check() == []
        # The user's tree must be what it was when the hashes were taken.
        (tree / "one byte").write_bytes(b"Z")
        os.utime(tree / "one byte", (1, 1))
        with pytest.raises(BadInput, match="changed since it was first read: one byte"):
            ram.rebuild()
    (tree / "one byte").unlink()
    after = snapshot(tree)
    before.pop("one byte")
    assert after == before
    for path, status in states.items():
        if path.name in ("one byte", tree.name) or path.is_symlink():
            continue
        assert path.lstat().st_atime_ns == status.st_atime_ns, path


def test_users_tree_directly(tmp_path: Path, target: Path) -> None:
    tree = tmp_path / "user"
    odd_tree(tree)
    user = read_tree(tree)
    assert copy_tree(user, target).errors == {}
    assert user.verify(target) == []
    (target / "plain.bin").unlink()
    assert [str(d) for d in user.verify(target)] == ["plain.bin: is missing"]


def test_users_tree_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a folder"):
        read_tree(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="holds no file"):
        read_tree(tmp_path / "empty")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    with pytest.raises(BadInput, match="is a symbolic link"):
        read_tree(tmp_path / "link")


# --- page cache ----------------------------------------------------------------------------


def test_residency_is_counted(drive: Path) -> None:
    path = drive / "cached"
    path.write_bytes(os.urandom(3 * MIB + 1))
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
        assert mincore_bytes(fd) == 3 * MIB + 4096
        # None only where the kernel is older than 6.5.
        assert cachestat_bytes(fd) in (None, 3 * MIB + 4096)
        assert resident_bytes(fd) == resident_bytes(path) == 3 * MIB + 4096
        assert resident_bytes([path, path]) == 2 * (3 * MIB + 4096)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        assert resident_bytes(fd) == mincore_bytes(fd) == 0
    finally:
        os.close(fd)
    path.read_bytes()
    assert resident_bytes(path) == 3 * MIB + 4096
    drop_caches(1)
    assert resident_bytes(path) == 0
    path.unlink()


def test_empty_file_has_no_pages(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert resident_bytes(tmp_path / "empty") == 0
    fd = os.open(tmp_path / "empty", os.O_RDONLY)
    assert mincore_bytes(fd) == 0
    os.close(fd)


def test_links_are_not_followed_when_counting(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="symbolic links"):
        resident_bytes(tmp_path / "link")
