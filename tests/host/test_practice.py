"""The practice drive: made once, used again, its own loop device and no other."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchstick.drives import discover, practice, prepare
from benchstick.drives.guard import hold
from benchstick.errors import BadInput
from tests.hardware import playback
from tests.host.drive_help import loop, practice_home

CAPTURE = Path(__file__).resolve().parents[2] / "scripts/capture-hardware"


@pytest.fixture
def home(bench_home: Path, tmp_path: Path) -> Iterator[Path]:
    with practice_home(tmp_path) as folder:
        yield folder


def test_it_is_made_private_sparse_and_found_again(home: Path) -> None:
    first = practice.ensure(home)
    image = home / "practice/practice.img"
    assert (first.code, first.transport, first.guard.state) == ("practice", "virtual", "free")
    assert stat.S_IMODE(image.stat().st_mode) == 0o600
    assert stat.S_IMODE(image.parent.stat().st_mode) == 0o700
    assert first.identity.capacity >= 4 << 30
    assert first.identity.capacity <= shutil.disk_usage(home).free // 4 + (1 << 20)
    assert image.stat().st_blocks * 512 < 16 << 20
    again = practice.ensure(home)
    assert (again.name, again.diskseq) == (first.name, first.diskseq)
    drive = discover.resolve("practice", discover.scan(home=home))
    assert drive.path == first.path


def test_direct_io_is_used_where_the_filesystem_allows_it(home: Path) -> None:
    name = practice.ensure(home).name
    filesystem = _filesystem_of(home)
    if filesystem not in ("ext4", "xfs", "btrfs"):
        pytest.skip(f"the test's folder is on {filesystem}: no promise of direct I/O")
    assert Path(f"/sys/block/{name}/loop/dio").read_text() == "1\n"


def _filesystem_of(path: Path) -> str:
    real = str(path.resolve())
    rows = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    fitting = [(row[1], row[2]) for row in rows if real.startswith(row[1].rstrip("/") + "/")]
    return max(fitting, key=lambda row: len(row[0]))[1]


def test_the_file_is_kept_and_what_is_on_it_too(home: Path) -> None:
    drive = practice.ensure(home)
    with open(drive.path, "r+b") as raw:  # noqa: PTH123  (a device node)
        raw.write(b"kept")
    practice.detach(home)
    assert practice.find(home) is None
    again = practice.ensure(home)
    with open(again.path, "rb") as raw:  # noqa: PTH123
        assert raw.read(4) == b"kept"
    practice.detach(home, remove=True)
    assert not (home / "practice/practice.img").exists()


def test_a_file_that_cannot_be_deleted_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInput, match="Not a directory; choose another BENCHSTICK_HOME"):
        practice.detach(tmp_path / "file" / "home", remove=True)


def test_another_loop_device_is_never_taken(home: Path, tmp_path: Path) -> None:
    with loop(tmp_path / "practice.img", 64 << 20) as foreign:
        drive = practice.ensure(home)
        assert drive.path != foreign
        names = [d.name for d in discover.scan(home=home)]
        assert drive.name in names
        assert Path(foreign).name not in names
        # Another bench's practice drive is somebody else's as well.
        others = [d.name for d in discover.scan(home=tmp_path / "another")]
        assert drive.name not in others


def test_without_room_the_message_has_the_numbers(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**10))
    with pytest.raises(BadInput, match=r"needs 4\.3 GB.*10\.0 GB are free.*BENCHSTICK_HOME"):
        practice.ensure(home)
    assert practice.find(home) is None


def test_a_symlink_in_its_place_is_not_followed(home: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (home / "practice").mkdir(parents=True)
    (home / "practice/practice.img").symlink_to(precious)
    with pytest.raises(BadInput, match="remove it"):
        practice.ensure(home)
    assert precious.read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_a_clear_line(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text("a file")
    with pytest.raises(BadInput, match="the practice drive lies there"):
        practice.ensure(home)
    home.unlink()


def test_a_captured_drive_plays_back_and_a_masked_one_keeps_no_uuid(
    home: Path, tmp_path: Path
) -> None:
    """scripts/capture-hardware on a formatted practice drive."""
    drive = practice.ensure(home)
    with hold(drive, erase="practice", destructive=True, home=home) as drive_hold:
        prepare.make_filesystem(drive_hold, "ext4")
    live = practice.ensure(home)
    uuid = str(live.value("filesystems")[0]["uuid"])
    environment = {**os.environ, "BENCHSTICK_HOME": str(home)}
    for name, options in (("plain", []), ("masked", ["--mask"])):
        argv = [str(CAPTURE), name, drive.name, "--into", str(tmp_path / "cases"), *options]
        result = subprocess.run(argv, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    plain = playback.play(tmp_path / "cases/plain", tmp_path / "root1", home=home)
    assert [(d.code, d.guard) for d in plain] == [("practice", live.guard)]
    assert plain[0].facts == live.facts
    masked_drive = playback.play(tmp_path / "cases/masked", tmp_path / "root2", home=home)
    assert masked_drive[0].value("filesystems")[0]["fs"] == "ext4"
    for file in (tmp_path / "cases/masked").rglob("*"):
        assert not file.is_file() or uuid not in file.read_text(), file
    again = subprocess.run(argv, env=environment, capture_output=True, text=True)
    assert again.returncode == 2
    assert "exists: choose another name" in again.stderr


def test_capturing_an_unknown_disk_is_a_clear_line() -> None:
    result = subprocess.run([CAPTURE, "x", "sdnothing"], capture_output=True, text=True)
    assert result.returncode == 2
    assert "no disk sdnothing: there are" in result.stderr
    assert "Traceback" not in result.stderr
