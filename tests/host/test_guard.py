"""The guard on real loop devices: holding, refusing, noticing what changed meanwhile."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchstick.drives import contents, discover, guard, practice, prepare, systems
from benchstick.drives.guard import hold
from benchstick.drives.model import Drive, Guard
from benchstick.drives.query import Asker, ask_live
from benchstick.drives.tree import Tree
from benchstick.plan.errors import DriveLost, Refused
from tests.host.drive_help import call, checksum, loop, practice_home


@pytest.fixture
def home(bench_home: Path, tmp_path: Path) -> Iterator[Path]:
    with practice_home(tmp_path) as folder:
        yield folder


@pytest.fixture
def drive(home: Path) -> Drive:
    return practice.ensure(home)


def take(drive: Drive, home: Path) -> guard.Hold:
    return hold(drive, erase="practice", destructive=True, home=home)


def test_wrong_and_missing_codes_are_refused_and_write_nothing(drive: Drive, home: Path) -> None:
    before = checksum(drive.path)
    for erase, unlock, words in (
        (None, None, "--erase practice"),
        ("practise", None, "the code of"),
        ("PRACTICE", None, "the code of"),
        ("", None, "the code of"),
        ("practice", "other", "--unlock other"),
    ):
        with pytest.raises(Refused, match=words):
            hold(drive, erase=erase, unlock=unlock, destructive=True, home=home)
    assert checksum(drive.path) == before
    assert not guard.is_locked(drive.name)


def test_the_state_is_judged_anew_and_not_believed(drive: Drive, home: Path) -> None:
    """A drive that was free when somebody looked, and is mounted by now."""
    with take(drive, home) as held:
        made = prepare.make_filesystem(held, "ext4")
    point = home / "mounted"
    point.mkdir()
    call("mount", made.path, point)
    assert drive.guard.state == "free"
    with pytest.raises(Refused, match=r"protected and never written.*mounted at"):
        take(drive, home)
    call("umount", point)
    # The drive holds other data than when it was chosen, so it is chosen again.
    with take(practice.ensure(home), home) as held:
        assert held.alive()


def test_protected_and_locked_are_refused_before_anything(drive: Drive, home: Path) -> None:
    protected = replace(drive, guard=Guard("protected", "mounted at /"))
    with pytest.raises(Refused, match="mounted at /"):
        hold(protected, erase="practice", unlock="practice", destructive=True, home=home)
    locked = replace(drive, guard=Guard("locked", "internal"))
    with pytest.raises(Refused, match=r"locked: internal.*--unlock practice"):
        hold(locked, erase="practice", destructive=True, home=home)
    with hold(locked, erase="practice", unlock="practice", destructive=True, home=home) as held:
        assert held.drive.guard.state == "free"


def test_one_run_a_drive_and_scans_see_it(drive: Drive, home: Path) -> None:
    with take(drive, home):
        assert guard.is_locked(drive.name)
        with pytest.raises(Refused, match="held by another run"):
            take(drive, home)
        seen = next(d for d in discover.scan(home=home) if d.name == drive.name)
        assert seen.facts["filesystems"].why == "not asked while a test runs"
        assert seen.guard.state == "free"
        assert seen.identity == drive.identity
    assert not guard.is_locked(drive.name)
    take(drive, home).close()


def test_somebody_elses_lock_on_the_node_is_respected(
    drive: Drive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """udev and others take flock on the node, without our lock file."""
    monkeypatch.setattr(guard, "_FLOCK_PATIENCE_SECONDS", 0.3)
    fd = os.open(drive.path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    try:
        with pytest.raises(Refused, match="held by another"):
            take(drive, home)
    finally:
        os.close(fd)
    take(drive, home).close()


HOLDER = """
import sys, time
from pathlib import Path
from benchstick.drives import practice
from benchstick.drives.guard import hold
home = Path(sys.argv[1])
with hold(practice.ensure(home), erase="practice", destructive=True, home=home):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_runner_frees_the_drive(drive: Drive, home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home)], stdout=subprocess.PIPE, cwd=Path.cwd()
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert guard.is_locked(drive.name)
        with pytest.raises(Refused):
            take(drive, home)
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert not guard.is_locked(drive.name)
    take(drive, home).close()


def test_the_exclusive_probe_sees_what_mountinfo_does_not(drive: Drive, home: Path) -> None:
    with take(drive, home) as held:
        held.check_before_write()
        fd = os.open(drive.path, os.O_RDONLY | os.O_EXCL)
        with pytest.raises(Refused, match="exclusive use"):
            held.check_before_write()
        # The bench's own mount would make it busy as well.
        held.check_before_write(mounted_by_bench=True)
        os.close(fd)
        held.check_before_write()


def test_a_mount_in_the_middle_of_a_run_stops_the_next_write(drive: Drive, home: Path) -> None:
    with take(drive, home) as held:
        made = prepare.make_filesystem(held, "ext4")
        point = home / "mounted"
        point.mkdir()
        call("mount", made.path, point)
        for own in (False, True):
            with pytest.raises(Refused, match="is protected"):
                held.check_before_write(mounted_by_bench=own)
        with pytest.raises(Refused, match="is protected"):
            prepare.make_filesystem(held, "ext4")
        call("umount", point)
        held.check_before_write()


def test_o_excl_is_held_only_while_a_raw_suite_runs(drive: Drive, home: Path) -> None:
    with take(drive, home) as held:
        with held.exclusive():
            held.check_before_write()
            done = subprocess.run(["mkfs.ext4", "-q", drive.path], capture_output=True, text=True)
            assert done.returncode != 0
            assert "in use" in done.stdout + done.stderr
        call("mkfs.ext4", "-q", "-F", drive.path)


def test_a_drive_replaced_between_choice_and_run_is_refused(drive: Drive, home: Path) -> None:
    """The same file attached anew is another disk to the kernel: it could be anything."""
    practice.detach(home)
    again = practice.ensure(home)
    assert again.diskseq != drive.diskseq
    stale = replace(drive, name=again.name, path=again.path, devno=again.devno)
    before = checksum(again.path)
    with pytest.raises(Refused, match="not the drive that was chosen"):
        take(stale, home)
    assert checksum(again.path) == before


def test_a_drive_that_is_gone_is_lost(drive: Drive, home: Path) -> None:
    practice.detach(home)
    with pytest.raises(DriveLost):
        take(drive, home)


def test_a_changed_capacity_in_the_middle_stops_the_next_write(drive: Drive, home: Path) -> None:
    with take(drive, home) as held:
        image = home / "practice/practice.img"
        os.truncate(image, image.stat().st_size + (64 << 20))
        call("losetup", "--set-capacity", drive.path)
        with pytest.raises((Refused, DriveLost), match="nothing was written"):
            held.check_before_write()


def test_swap_and_holders_protect(drive: Drive, home: Path) -> None:
    with take(drive, home) as held:
        made = prepare.make_filesystem(held, "ext4")
    call("wipefs", "-a", made.path)
    call("mkswap", made.path)
    call("swapon", made.path)
    try:
        found = practice.ensure(home)
        assert found.guard.state == "protected"
        assert "swap" in found.guard.why
        with pytest.raises(Refused, match="swap"):
            take(found, home)
    finally:
        call("swapoff", made.path)


def test_a_loop_device_over_a_partition_protects(drive: Drive, home: Path, tmp_path: Path) -> None:
    with take(drive, home) as held:
        made = prepare.make_filesystem(held, "ext4")
    node = call("losetup", "--find", "--show", "--read-only", made.path)
    try:
        found = practice.ensure(home)
        assert found.guard.state == "protected"
        assert "is set up on" in found.guard.why
    finally:
        call("losetup", "--detach", node)


def test_other_loop_devices_are_no_drives(home: Path, tmp_path: Path) -> None:
    with loop(tmp_path / "foreign.img", 64 << 20) as node:
        name = Path(node).name
        assert name not in [d.name for d in discover.scan(home=home)]
        with pytest.raises(Exception, match="is a loop device"):
            discover.resolve(node, discover.scan(home=home))


# --- contents, with the real tools on real signatures ------------------------------------------


def findings(node: str) -> list[str]:
    ask = Asker(ask_live)
    name = Path(node).name
    return systems.findings(contents.look(Tree(), name, ask), name, ask)


def with_partition(node: str, kind: str, *, shown: bool = False) -> str:
    """One partition from 1 MiB; the node of a loop device over it when the kernel shows none."""
    script = f"label: gpt\nstart=1MiB, type={kind}\n"
    subprocess.run(["sfdisk", "-q", node], input=script.encode(), check=True, capture_output=True)
    if shown:
        subprocess.run(["partx", "-a", node], capture_output=True)
    return node


LINUX = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
BASIC = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (("mkfs.btrfs", "-q", "-f"), "btrfs"),
        (("mkfs.xfs", "-q", "-f"), "xfs"),
        (("mkswap",), "swap"),
        (("mkfs.vfat",), ""),
        (("mkfs.exfat",), ""),
        (("mkfs.ext4", "-q", "-F"), ""),
        (("mkntfs", "-Q", "-q", "-F"), ""),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("where", ["whole", "hidden partition"])
def test_real_signatures(tmp_path: Path, make: tuple[str, ...], words: str, where: str) -> None:
    with loop(tmp_path / "disk.img", 400 << 20) as node:
        if where == "whole":
            call(*make, node)
        else:
            with_partition(node, BASIC)
            # Made through another loop device, so that this one never shows the partition.
            argv = ("--offset", str(1 << 20), "--sizelimit", str(380 << 20))
            with loop(tmp_path / "disk.img", 400 << 20, *argv) as inner:
                call(*make, inner)
        found = findings(node)
        if words:
            assert any(words in text for text in found), found
        elif make[0] == "mkntfs" and where != "whole":
            assert any("not looked into" in text for text in found), found
        else:
            assert found == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["etc/os-release", "usr/bin/x"], "Linux root"),
        (["boot.txt", "photos/a.jpg"], ""),
        (["vmlinuz-6.1", "grub/grub.cfg"], "Linux boot partition"),
    ],
)
def test_a_linux_root_is_found_without_mounting(
    tmp_path: Path, files: list[str], words: str
) -> None:
    root = tmp_path / "root"
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("x")
    with loop(tmp_path / "disk.img", 64 << 20) as node:
        with_partition(node, LINUX)
        options = f"offset={1 << 20}"
        call("mkfs.ext4", "-q", "-F", "-d", root, "-E", options, tmp_path / "disk.img", "50M")
        before = checksum(node)
        found = findings(node)
        assert checksum(node) == before, "looking must not write"
        assert [words in text for text in found] == ([True] if words else []), found


def test_lvm_is_found_inactive(tmp_path: Path) -> None:
    with loop(tmp_path / "disk.img", 64 << 20) as node:
        call("pvcreate", "-qq", "-y", "--config", "devices{use_devicesfile=0}", node)
        assert any("LVM" in text for text in findings(node))


def test_two_signatures_in_one_place_lock(tmp_path: Path) -> None:
    with loop(tmp_path / "disk.img", 400 << 20) as node:
        call("mkfs.btrfs", "-q", "-f", node)
        with open(node, "r+b") as raw:  # noqa: PTH123  (a device node)
            raw.seek(1080)
            raw.write(b"\x53\xef")
        call("mkswap", "-f", node)
        assert findings(node)


def test_an_unreadable_drive_is_a_doubt(tmp_path: Path) -> None:
    """The backing file is cut short under the device: its end cannot be read any more."""
    with loop(tmp_path / "disk.img", 64 << 20) as node:
        os.truncate(tmp_path / "disk.img", 1 << 20)
        time.sleep(0.1)
        subprocess.run(["blockdev", "--flushbufs", node], check=True)
        found = findings(node)
        assert any("could not be read" in text for text in found), found


def overwritten(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(os.urandom(4096))


@pytest.mark.parametrize("end", ["first", "last"])
def test_content_changed_since_the_plan_is_refused(drive: Drive, home: Path, end: str) -> None:
    """As a card is, whose swap another program has hidden from the kernel."""
    image = home / "practice/practice.img"
    overwritten(image, 8192 if end == "first" else image.stat().st_size - 8192)
    before = checksum(drive.path)
    with pytest.raises(Refused, match="other data in its first or last MiB since the plan"):
        take(drive, home)
    assert checksum(drive.path) == before
    take(practice.ensure(home), home).close()


def test_content_is_compared_again_just_before_the_first_write(drive: Drive, home: Path) -> None:
    image = home / "practice/practice.img"
    with take(drive, home) as held:
        held.check_before_write(writes=False)
        overwritten(image, 8192)
        with pytest.raises(DriveLost, match="nothing was written"):
            held.check_before_write()
        assert not held.alive()
        with pytest.raises(DriveLost):
            held.check_medium()
    with take(practice.ensure(home), home) as held:
        held.check_before_write()
        overwritten(image, 8192)
        # From the first write on the content is the bench's own.
        held.check_before_write()
        held.check_medium()
