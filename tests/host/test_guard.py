"""The guard on real loop devices: holding, refusing, detecting changes during a run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives import (
    blank,
    discover,
    guard,
    holders,
    loops,
    os_detection,
    partition_table,
    practice,
    prepare,
    subprocesses,
)
from benchstick.drives.device_query import (
    PROBE,
    SAME,
    TIMEOUT_SECONDS,
    Asker,
    Query,
    ask_live,
)
from benchstick.drives.guard import hold
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree
from benchstick.drives.topology import Where, locate
from benchstick.drives.types import Drive, Guard
from benchstick.errors import DriveLost, Refused
from benchstick.plan.states import GuardState
from tests.host.drive_help import call, checksum, loop, practice_home


@pytest.fixture
def home(bench_home: Path, tmp_path: Path) -> Iterator[Path]:
    with practice_home(tmp_path) as folder:
        yield folder


@pytest.fixture
def drive(home: Path) -> Drive:
    return practice.ensure(home)


def take(drive: Drive, home: Path) -> guard.DriveLease:
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


def test_the_state_is_evaluated_again(drive: Drive, home: Path) -> None:
    """A drive that was free when it was scanned, and is mounted by now."""
    with take(drive, home) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
    point = home / "mounted"
    point.mkdir()
    call("mount", filesystem.path, point)
    assert drive.guard.state == "free"
    with pytest.raises(Refused, match=r"protected and never written.*mounted at"):
        take(drive, home)
    call("umount", point)
    # The drive holds other data than when it was chosen, so it is chosen again.
    with take(practice.ensure(home), home) as drive_hold:
        assert drive_hold.alive()


def test_protected_and_locked_are_refused_before_anything(drive: Drive, home: Path) -> None:
    protected_drive = replace(drive, guard=Guard(GuardState.PROTECTED, "mounted at /"))
    with pytest.raises(Refused, match="mounted at /"):
        hold(protected_drive, erase="practice", unlock="practice", destructive=True, home=home)
    locked_drive = replace(drive, guard=Guard(GuardState.LOCKED, "internal"))
    with pytest.raises(Refused, match=r"locked: internal.*--unlock practice"):
        hold(locked_drive, erase="practice", destructive=True, home=home)
    with hold(
        locked_drive, erase="practice", unlock="practice", destructive=True, home=home
    ) as drive_hold:
        assert drive_hold.drive.guard.state == "free"


@pytest.fixture
def usb(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """The loop device taken for a USB drive: the practice drive itself is always free.

    Process 1 of a container may have more rights than these tests, which then cannot see what it
    has open. That alone locks a drive, and other tests show it.
    """

    def external(*arguments: Any, **more: Any) -> Where:
        where = locate(*arguments, **more)
        return replace(where, transport="other", external=True, external_why="USB")

    monkeypatch.setattr(discover, "locate", external)
    walk = holders.walk
    monkeypatch.setattr(holders, "walk", lambda tree: replace(walk(tree), doubts=[]))
    return drive


class Slow:
    """A machine on which the probe of a node times out so many times."""

    def __init__(self, times: int) -> None:
        self.times, self.count = times, 0

    def __call__(self, argv: Sequence[str]) -> Finished:
        if argv[0] == PROBE:
            self.count += 1
            if self.count <= self.times:
                return Finished(tuple(argv), -9, b"", b"", 10.0, timed_out=True)
        return ask_live(argv)


def seen_by(query: Query, home: Path) -> Drive:
    (drive,) = [one for one in discover.scan(home=home, query=query) if "loop" in one.name]
    return drive


def test_a_drive_that_does_not_answer_is_written_with_no_code_and_is_free_when_it_answers(
    usb: Drive, home: Path
) -> None:
    before = checksum(usb.path)
    query = Slow(4)
    late = seen_by(query, home)
    codes: dict[str, Any] = {"erase": late.code, "unlock": late.code, "destructive": True}
    assert (late.guard.state, late.guard.retry) == ("locked", True)
    for unlock in (None, late.code):
        with pytest.raises(Refused, match="is not answering, try again: ") as caught:
            hold(late, **{**codes, "unlock": unlock}, home=home, query=query)
        assert "unlock" not in caught.value.message
        assert (caught.value.exit_code, caught.value.field) == (3, None)
    # Chosen while it was free or locked, slow when it is scanned again: it is queried twice.
    for guard_then in (Guard(GuardState.FREE, "USB"), Guard(GuardState.LOCKED, "internal")):
        query.times, query.count = 2, 0
        with pytest.raises(Refused, match="is not answering, try again: "):
            hold(replace(late, guard=guard_then), **codes, home=home, query=query)
        assert query.count == 2
    assert checksum(usb.path) == before
    assert not guard.is_locked(usb.name)
    # Slow once: the second look of the same call is enough, without --unlock.
    query.times, query.count = 1, 0
    free = replace(late, guard=Guard(GuardState.FREE, "USB"))
    with hold(free, erase=late.code, destructive=True, home=home, query=query) as drive_hold:
        assert drive_hold.drive.guard == Guard(
            GuardState.FREE, "USB; not in use, and no system found on it"
        )
    assert seen_by(query, home).guard.state == "free"


def test_a_busy_machine_does_not_lose_a_drive_that_is_held(
    drive: Drive, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its probe takes longer than a first look may take, and is given the time of a second one."""
    times: list[float] = []
    really = subprocesses.run

    def run(argv: Sequence[str], **options: Any) -> Finished:
        times.append(options["timeout"])
        if options["timeout"] <= TIMEOUT_SECONDS:
            return Finished(tuple(argv), -9, b"", b"", options["timeout"], timed_out=True)
        return really(argv, **options)

    with take(drive, home) as drive_hold:
        monkeypatch.setattr(subprocesses, "run", run)
        drive_hold.check_before_write(writes=False)
    assert times


def test_a_drive_with_an_unreadable_sector_is_still_unlocked_by_its_code(
    usb: Drive, home: Path
) -> None:
    def failing(argv: Sequence[str]) -> Finished:
        if argv[0] != PROBE or len(argv) == 2:
            return ask_live(argv)
        text = f"exclusive=ok\nread=0: Input/output error\nrdev={usb.devno}\n"
        return Finished(tuple(argv), 0, text.encode(), b"", 0.0)

    bad = seen_by(failing, home)
    assert (bad.guard.state, bad.guard.retry) == ("locked", False)
    codes: dict[str, Any] = {"erase": bad.code, "destructive": True}
    with pytest.raises(Refused, match=f"--unlock {bad.code}"):
        hold(bad, **codes, home=home, query=failing)
    with hold(bad, **codes, unlock=bad.code, home=home, query=failing) as drive_hold:
        assert drive_hold.drive.guard.state == "locked"


def test_one_run_a_drive_and_scans_see_it(drive: Drive, home: Path) -> None:
    with take(drive, home):
        assert guard.is_locked(drive.name)
        with pytest.raises(Refused, match="held by another run"):
            take(drive, home)
        scanned_drive = next(d for d in discover.scan(home=home) if d.name == drive.name)
        assert scanned_drive.facts["filesystems"].reason == "not asked while a test runs"
        assert scanned_drive.guard.state == "free"
        assert scanned_drive.identity == drive.identity
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
    with take(drive, home) as drive_hold:
        drive_hold.check_before_write()
        fd = os.open(drive.path, os.O_RDONLY | os.O_EXCL)
        with pytest.raises(Refused, match="exclusive use"):
            drive_hold.check_before_write()
        # The bench's own mount would make it busy as well.
        drive_hold.check_before_write(mounted_by_bench=True)
        os.close(fd)
        drive_hold.check_before_write()


def test_a_mount_in_the_middle_of_a_run_stops_the_next_write(drive: Drive, home: Path) -> None:
    with take(drive, home) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
        point = home / "mounted"
        point.mkdir()
        call("mount", filesystem.path, point)
        for own in (False, True):
            with pytest.raises(Refused, match="is protected"):
                drive_hold.check_before_write(mounted_by_bench=own)
        with pytest.raises(Refused, match="is protected"):
            prepare.make_filesystem(drive_hold, "ext4")
        call("umount", point)
        drive_hold.check_before_write()


def test_o_excl_is_held_only_while_a_raw_suite_runs(drive: Drive, home: Path) -> None:
    with take(drive, home) as drive_hold:
        with drive_hold.exclusive():
            drive_hold.check_before_write()
            result = subprocess.run(["mkfs.ext4", "-q", drive.path], capture_output=True, text=True)
            assert result.returncode != 0
            assert "in use" in result.stdout + result.stderr
        call("mkfs.ext4", "-q", "-F", drive.path)


def test_a_drive_replaced_between_choice_and_run_is_refused(drive: Drive, home: Path) -> None:
    """The same file attached again is another disk to the kernel: it could be anything."""
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
    with take(drive, home) as drive_hold:
        image = home / "practice/practice.img"
        os.truncate(image, image.stat().st_size + (64 << 20))
        call("losetup", "--set-capacity", drive.path)
        with pytest.raises((Refused, DriveLost), match="nothing was written"):
            drive_hold.check_before_write()


def test_swap_and_holders_protect(drive: Drive, home: Path) -> None:
    with take(drive, home) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
    call("wipefs", "-a", filesystem.path)
    call("mkswap", filesystem.path)
    call("swapon", filesystem.path)
    try:
        scanned_drive = practice.ensure(home)
        assert scanned_drive.guard.state == "protected"
        assert "swap" in scanned_drive.guard.reason
        with pytest.raises(Refused, match="swap"):
            take(scanned_drive, home)
    finally:
        call("swapoff", filesystem.path)


def test_a_loop_device_over_a_partition_protects(drive: Drive, home: Path, tmp_path: Path) -> None:
    with take(drive, home) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
    node = call("losetup", "--find", "--show", "--read-only", filesystem.path)
    try:
        scanned_drive = practice.ensure(home)
        assert scanned_drive.guard.state == "protected"
        assert "is set up on" in scanned_drive.guard.reason
    finally:
        call("losetup", "--detach", node)


def test_other_loop_devices_are_no_drives(home: Path, tmp_path: Path) -> None:
    with loop(tmp_path / "foreign.img", 64 << 20) as node:
        name = Path(node).name
        assert name not in [d.name for d in discover.scan(home=home)]
        with pytest.raises(Exception, match="is a loop device"):
            discover.resolve(node, discover.scan(home=home))


# --- what other programs do with the drive ------------------------------------------------------

OPENED = """
import mmap, os, sys, time
fd = os.open(sys.argv[2], os.O_RDONLY if sys.argv[1] == "reads" else os.O_RDWR)
if sys.argv[1] == "maps":
    kept = mmap.mmap(fd, 4096)
    os.close(fd)
    import glob
    # The module keeps a copy of the descriptor: only the mapping stays.
    for link in glob.glob("/proc/self/fd/*"):
        if os.path.exists(link) and os.path.realpath(link) == os.path.realpath(sys.argv[2]):
            os.close(int(link.rsplit("/", 1)[1]))
print("ready", flush=True)
time.sleep(float(sys.argv[3]))
"""


@contextlib.contextmanager
def program(
    how: str, node: str | Path, seconds: float = 99, *, before: tuple[str, ...] = ()
) -> Iterator[int]:
    """Another program that has `node` open (`writes`, `reads`) or only mapped (`maps`): its pid."""
    argv = [*before, sys.executable, "-c", OPENED, how, str(node), str(seconds)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == b"ready\n"
            yield other.pid
        finally:
            other.kill()


def refused_by(drive: Drive, home: Path) -> str:
    """Why the drive is protected for a scan, for `hold`, and in the middle of a run."""
    current_guard = practice.ensure(home).guard
    assert current_guard.state == "protected", current_guard
    with pytest.raises(Refused, match="protected"):
        take(drive, home)
    return current_guard.reason


@pytest.mark.parametrize(("how", "word"), [("writes", "open"), ("maps", "mapped")])
def test_a_program_that_writes_to_the_drive_protects_it(
    drive: Drive, home: Path, how: str, word: str
) -> None:
    before = checksum(drive.path)
    with program(how, drive.path) as pid:
        reason = refused_by(drive, home)
        assert re.search(rf"process {pid} \(.*\) has {drive.name} {word} for writing", reason), (
            reason
        )
    assert practice.ensure(home).guard.state == "free"
    assert checksum(drive.path) == before


def test_a_program_that_writes_to_a_partition_protects(drive: Drive, home: Path) -> None:
    with take(drive, home) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
    with program("writes", filesystem.path):
        assert Path(filesystem.path).name + " open for writing" in refused_by(drive, home)


def test_a_program_that_starts_to_write_in_the_middle_of_a_run_stops_it(
    drive: Drive, home: Path
) -> None:
    with take(drive, home) as drive_hold:
        with program("writes", drive.path), pytest.raises(Refused, match="open for writing"):
            drive_hold.check_before_write()
        drive_hold.check_before_write()


def test_a_node_with_another_name_protects(drive: Drive, home: Path, tmp_path: Path) -> None:
    node = other_node(drive, tmp_path)
    with program("writes", node):
        assert f"{drive.name} open for writing" in refused_by(drive, home)


def other_node(drive: Drive, folder: Path) -> Path:
    """Somebody's own node of the drive, or of its first partition, elsewhere."""
    node = folder / "harmless"
    os.mknod(node, 0o600 | stat.S_IFBLK, Path(drive.path).stat().st_rdev)
    return node


def test_a_loop_device_over_a_node_with_another_name_protects(
    drive: Drive, home: Path, tmp_path: Path
) -> None:
    node = call("losetup", "--find", "--show", "--read-only", other_node(drive, tmp_path))
    try:
        (tmp_path / "harmless").unlink()
        assert "is set up on" in refused_by(drive, home)
    finally:
        call("losetup", "--detach", node)


def test_a_mount_from_a_loop_device_over_another_name_protects(
    drive: Drive, home: Path, tmp_path: Path
) -> None:
    call("mkfs.ext4", "-q", "-F", drive.path, "100M")
    node = call("losetup", "--find", "--show", other_node(drive, tmp_path))
    point = tmp_path / "point"
    point.mkdir()
    try:
        call("mount", node, point)
        # The word of sysfs about the loop device names another node.
        assert f"mounted at {point}" in refused_by(drive, home)
        call("umount", point)
    finally:
        subprocess.run(["umount", point], capture_output=True)
        call("losetup", "--detach", node)


def test_a_mount_in_another_namespace_protects_and_is_named(
    drive: Drive, home: Path, tmp_path: Path
) -> None:
    with take(drive, home) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
    script = f"mount {filesystem.path} {tmp_path} && echo ready && exec sleep 99"
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == b"ready\n"
            assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
            reason = refused_by(drive, home)
            assert f"mounted at {tmp_path} in the mount namespace of process {other.pid}" in reason
        finally:
            other.kill()


def test_a_copy_of_the_benchs_own_mount_in_another_namespace_does_not_stop_a_run(
    drive: Drive, home: Path
) -> None:
    uuid = "0c52ae10-0000-4000-8000-000000000009"
    with take(drive, home) as drive_hold:
        filesystem = prepare.make_filesystem(drive_hold, "ext4")
        point = prepare.mount(filesystem.path, filesystem.fs, uuid)
        argv = ["unshare", "--mount", "--propagation", "private"]
        with subprocess.Popen(
            [*argv, "sh", "-c", "echo ready; exec sleep 99"], stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            try:
                other.stdout.readline()
                drive_hold.check_before_write(mounted_by_bench=True)
                # Removing the folder takes the copy away too.
                assert prepare.unmount(point) is None
                drive_hold.check_before_write()
            finally:
                other.kill()


def test_reading_and_a_moment_of_writing_do_not_protect(drive: Drive, home: Path) -> None:
    """udev, blkid and smartctl look at drives at any time."""
    with program("reads", drive.path):
        assert practice.ensure(home).guard.state == "free"
        take(drive, home).close()
    with program("writes", drive.path, 0.4), take(drive, home) as drive_hold:
        drive_hold.check_before_write()


def test_a_tool_of_the_bench_does_not_count_and_the_same_tool_of_another_bench_does(
    drive: Drive, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["sh", "-c", f"exec 3<>{drive.path}; echo ready; sleep 99"]
    with subprocesses.start(argv) as own:
        assert own.stdout is not None
        try:
            own.stdout.readline()
            take(drive, home).close()
            monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "other bench"))
            assert f"process {own.pid} (sh) has" in refused_by(drive, home)
        finally:
            subprocesses.kill_group(own)


def doubts_of(script: str, *before: str) -> str:
    code = f"from benchstick.drives import in_use, sysfs\nimport os\n{script}\n"
    code += "print(' '.join(in_use.read(sysfs.Tree()).doubts))"
    return call(*before, sys.executable, "-c", code)


def test_where_other_processes_cannot_be_seen_no_drive_is_known_to_be_free() -> None:
    assert "permission denied: run as root" in doubts_of("os.setuid(65534)")
    inside = ("unshare", "--pid", "--fork", "--mount-proc")
    assert "in a container" in doubts_of("", *inside)


def test_a_practice_file_of_the_same_path_in_another_namespace_is_no_drive(
    drive: Drive, home: Path, tmp_path: Path
) -> None:
    """A loop device is known by its file, as another namespace has other files at the same path."""
    folder = home / "practice"
    script = (
        f"mount -t tmpfs none {folder} && truncate -s 64M {folder}/practice.img && "
        f"losetup --find --show {folder}/practice.img && exec sleep 99"
    )
    argv = ["unshare", "--mount", "sh", "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        node = other.stdout.readline().strip()
        name = Path(node).name
        try:
            file = Path(f"/sys/block/{name}/loop/backing_file").read_text().strip()
            assert file == str(loops.practice_file(home))
            assert loops.is_practice(Tree(), drive.name, home)
            assert not loops.is_practice(Tree(), name, home)
        finally:
            call("losetup", "--detach", node)
            other.kill()


def test_contents_of_two_nodes_are_compared_past_the_page_cache(
    drive: Drive, home: Path, tmp_path: Path
) -> None:
    def same(other: str) -> str:
        answer = ask_live((SAME, drive.path, other))
        return answer.text.strip() if answer.exit_code == 0 else ""

    size = int(call("blockdev", "--getsize64", drive.path))
    with loop(tmp_path / "other.img", size) as node:
        assert same(node) == "same=yes"
        assert same(str(other_node(drive, tmp_path))) == "same=yes"
        with Path(node).open("r+b") as raw:
            raw.seek(size - 512)
            raw.write(b"x")
        assert same(node) == "same=no"
    assert same(str(tmp_path / "none")) == ""


# --- contents, with the real tools on real signatures ------------------------------------------


def findings(node: str) -> list[str]:
    ask = Asker(ask_live)
    name = Path(node).name
    return os_detection.findings(partition_table.look(Tree(), name, ask), name, ask)


def with_partition(node: str, kind: str, *, is_visible: bool = False) -> str:
    """One partition from 1 MiB; the node of a loop device over it when the kernel shows none."""
    script = f"label: gpt\nstart=1MiB, type={kind}\n"
    subprocess.run(["sfdisk", "-q", node], input=script.encode(), check=True, capture_output=True)
    if is_visible:
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
        reasons = findings(node)
        if words:
            assert any(words in text for text in reasons), reasons
        elif make[0] == "mkntfs" and where != "whole":
            assert any("not looked into" in text for text in reasons), reasons
        else:
            assert reasons == []


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
        reasons = findings(node)
        assert checksum(node) == before, "looking must not write"
        assert [words in text for text in reasons] == ([True] if words else []), reasons


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
        reasons = findings(node)
        assert any("could not be read" in text for text in reasons), reasons


def test_a_sample_reads_the_drive_itself_and_finds_one_byte_at_its_ends(
    drive: Drive, home: Path
) -> None:
    assert blank.why_not_blank(drive.name) is None
    size = drive.identity.capacity
    for at in (0, 63 * 512, 1 << 20, size - 1):
        with Path(drive.path).open("r+b") as node:
            node.seek(at)
            node.write(b"\x01")
            node.flush()
            os.fsync(node.fileno())
        block = at // blank.BLOCK * blank.BLOCK
        assert blank.why_not_blank(drive.name) == f"data of no known kind at byte {block}"
        with Path(drive.path).open("r+b") as node:
            node.seek(at)
            node.write(b"\0")
            node.flush()
            os.fsync(node.fileno())
    assert blank.why_not_blank(drive.name) is None


def test_a_drive_full_of_ones_is_blank(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"\xff" * (65 << 20))
    with loop(image, 65 << 20) as path:
        name = Path(path).name
        assert blank.why_not_blank(name) is None
        with Path(path).open("r+b") as node:
            node.seek(20 << 20)
            node.write(os.urandom(2 << 20))
        reason = blank.why_not_blank(name)
        assert reason is not None and reason.startswith("data of no known kind at byte 2")


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
    with take(drive, home) as drive_hold:
        drive_hold.check_before_write(writes=False)
        overwritten(image, 8192)
        with pytest.raises(DriveLost, match="nothing was written"):
            drive_hold.check_before_write()
        assert not drive_hold.alive()
        with pytest.raises(DriveLost):
            drive_hold.check_medium()
    with take(practice.ensure(home), home) as drive_hold:
        drive_hold.check_before_write()
        overwritten(image, 8192)
        # From the first write on the content is the bench's own.
        drive_hold.check_before_write()
        drive_hold.check_medium()
