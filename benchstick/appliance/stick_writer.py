"""Writes an image to a drive, or a new system over a stick's old one, and reads it back.

Only this program writes bench sticks, which are protected otherwise: external drives that are free,
and sticks that have no mount and that this system does not run from.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchstick import paths
from benchstick.appliance import image as images
from benchstick.appliance import state
from benchstick.appliance.image import Image
from benchstick.appliance.stick import Machine
from benchstick.drives import discover, guard, in_use, partition_table, prepare, subprocesses
from benchstick.drives.device_query import Asker, ask_live
from benchstick.drives.guard_policy import FREE, LOCKED
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive
from benchstick.errors import BadInput, BenchError, Cancelled, DriveLost, Refused
from benchstick.plan.units import size_text

# linux/fs.h: BLKFLSBUF, _IO(0x12, 97).
_BLKFLSBUF = 0x1261
_CHUNK = 4 << 20
_HEAD = 1 << 20
# Direct I/O takes whole sectors; images and their partitions are made of these.
_SECTOR = 512
# The boot loader's first part; behind it in the same sector is the drive's own partition table.
_BOOT_CODE = 440
Say = Callable[[str], None]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Extent:
    """A part of a file that belongs at `at` on the drive."""

    file: Path
    offset: int
    at: int
    size: int


def find(selector: str) -> Drive:
    """The drive to write. Refused for one that is never written, before anybody types a code."""
    drives = discover.scan(home=paths.data_folder())
    drive = discover.resolve(selector, drives)
    who = f"drive {drive.code} ({drive.path})"
    if not drive.is_practice and not drive.value("external"):
        raise Refused(f"{who} is internal: sticks are written to external drives only")
    if drive.guard.retry:
        raise Refused(f"{who} is {drive.guard.reason}; nothing was written")
    if drive.guard.state == LOCKED:
        raise Refused(
            f"{who} is locked: {drive.guard.reason}; sticks are written to free drives only: "
            "erase it with another program first if nobody needs what is on it"
        )
    if drive.guard.state != FREE and not guard.is_idle_stick(drive):
        raise Refused(f"{who} is protected and never written: {drive.guard.reason}")
    if drive.guard.state != FREE:
        _refuse_the_booted(drive, who)
    size = Tree().number(f"sys/block/{drive.name}/queue/logical_block_size")
    if size != _SECTOR:
        raise BadInput(f"{who} has sectors of {size} bytes; a stick needs those of {_SECTOR}")
    return drive


def _refuse_the_booted(drive: Drive, who: str) -> None:
    """On a booted stick: another stick may be written, when it is known which one was booted."""
    if Machine().parameter() is None and state.read() is None:
        return
    boot_stick = (state.read() or {}).get("stick")
    if boot_stick is None:
        raise Refused(f"{who}: it is not known which stick this system was booted from")
    if boot_stick["diskseq"] == drive.diskseq:
        raise Refused(f"{who} is the stick that this system was booted from")


def write(image: Image, drive: Drive, code: str | None, say: Say, progress: Progress) -> str:
    """Erase `drive` and make it a stick; the new stick's id. Reads everything back."""
    if drive.identity.capacity < image.size:
        raise BadInput(
            f"{drive.path} holds {size_text(drive.identity.capacity)}, the stick needs "
            f"{size_text(image.size)}: take a larger one"
        )
    with images.with_users_files(image) as (copy, identity, _), _hold_drive(drive, code) as hold:
        # The head goes last: what is not finished must not look like a stick.
        body = Extent(copy, _HEAD, _HEAD, image.size - _HEAD)
        head = Extent(copy, 0, 0, _HEAD)
        with _unfinished(drive), hold.exclusive():
            say(f"writing {size_text(image.size)} to {drive.path}")
            with _opened(drive, os.O_WRONLY) as fd:
                _zero(fd, 0)
                _copy(fd, [body], progress)
                end = drive.identity.capacity - _HEAD
                if end >= image.size:
                    # The second table of a GPT that was there.
                    _zero(fd, end)
                _copy(fd, [head], progress)
                os.fsync(fd)
            say("reading it back")
            _compare(drive, [body, head], progress)
    return identity


def update(image: Image, drive: Drive, code: str | None, say: Say, progress: Progress) -> str:
    """Replace the system of the stick `drive`; the user's files and the store stay. Its id."""
    if code is None:
        raise Refused(
            f"this replaces the system on drive {drive.code} ({drive.path}): type its code with "
            f"--erase {drive.code}",
            field="erase",
        )
    with TemporaryDirectory(prefix="benchstick-") as name, _hold_drive(drive, code) as hold:
        boot = _same_layout(image, drive)
        old = Path(name) / "old.fat"
        say(f"reading the settings and reports of {drive.path}")
        _save(drive, boot, old)
        with images.with_users_files(image, old) as (copy, identity, files):
            head = Path(name) / "head"
            head.write_bytes(_new_head(image, drive))
            parts = [
                Extent(copy, image.boot.start, image.boot.start, image.boot.size),
                Extent(head, 0, 0, image.boot.start),
            ]
            with _kept_on_failure(files), _unfinished(drive), hold.exclusive():
                say(f"writing the system to {drive.path}")
                with _opened(drive, os.O_WRONLY) as fd:
                    _copy(fd, parts, progress)
                    os.fsync(fd)
                say("reading it back")
                _compare(drive, parts, progress)
    return identity


@contextlib.contextmanager
def _hold_drive(drive: Drive, code: str | None) -> Iterator[guard.DriveLease]:
    with guard.hold(
        drive, erase=code, destructive=True, home=paths.data_folder(), over_stick=True
    ) as hold:
        hold.check_before_write()
        prepare.drop_partitions(drive)
        try:
            yield hold
        finally:
            # Where this fails, the kernel reads the table when the drive is next plugged in.
            with contextlib.suppress(BenchError):
                subprocesses.run(["partx", "--update", drive.path], timeout=30)


@contextlib.contextmanager
def _unfinished(drive: Drive) -> Iterator[None]:
    """I/O errors as messages."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.EACCES, errno.EPERM):
            raise Refused(f"{drive.path}: {reason}: is the drive write-protected?") from error
        raise DriveLost(f"{drive.path}: {reason}: it is unfinished; write it again") from error


@contextlib.contextmanager
def _kept_on_failure(files: Path) -> Iterator[None]:
    """The user's files outlive a failure: the stick may hold them no more."""
    try:
        yield
    except BaseException as problem:
        folder = Path(f"{files.parent}-kept")
        files.rename(folder)
        note = f"; its settings and reports are kept in {folder}"
        if isinstance(problem, KeyboardInterrupt):
            raise Cancelled(f"cancelled, the stick is unfinished: update it again{note}") from None
        if isinstance(problem, BenchError):
            raise type(problem)(f"{problem.message}{note}") from problem
        raise


@contextlib.contextmanager
def _opened(drive: Drive, flags: int) -> Iterator[int]:
    fd = os.open(drive.path, flags | os.O_DIRECT | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _zero(fd: int, at: int) -> None:
    with mmap.mmap(-1, _HEAD) as room:
        _pwrite(fd, memoryview(room), at)


def _pwrite(fd: int, data: memoryview, at: int) -> None:
    try:
        while data:
            count = os.pwrite(fd, data, at)
            data, at = data[count:], at + count
    finally:
        data.release()


def _chunks(extents: list[Extent]) -> Iterator[tuple[Extent, int, int]]:
    for extent in extents:
        for start in range(0, extent.size, _CHUNK):
            yield extent, start, min(_CHUNK, extent.size - start)


def _fill(room: mmap.mmap, extent: Extent, start: int, size: int) -> None:
    """Read the next chunk of an extent into `room`."""
    with extent.file.open("rb") as file:
        data = os.pread(file.fileno(), size, extent.offset + start)
    if len(data) != size:
        raise BadInput(f"{extent.file}: became shorter while it was read")
    room[:size] = data


def _copy(fd: int, extents: list[Extent], progress: Progress) -> None:
    total, byte_count = sum(extent.size for extent in extents), 0
    # Anonymous memory is page-aligned, as direct I/O requires.
    with mmap.mmap(-1, _CHUNK) as room:
        for extent, start, size in _chunks(extents):
            _fill(room, extent, start, size)
            _pwrite(fd, memoryview(room)[:size], extent.at + start)
            byte_count += size
            progress("written", byte_count / total)


def _compare(drive: Drive, extents: list[Extent], progress: Progress) -> None:
    """Read back from the drive and not from any cache. DriveLost naming the first difference."""
    total, read = sum(extent.size for extent in extents), 0
    with (
        _opened(drive, os.O_RDONLY) as fd,
        mmap.mmap(-1, _CHUNK) as room,
        mmap.mmap(-1, _CHUNK) as back,
    ):
        fcntl.ioctl(fd, _BLKFLSBUF, 0)
        for extent, start, size in _chunks(extents):
            _fill(room, extent, start, size)
            with memoryview(back)[:size] as view:
                got = os.preadv(fd, [view], extent.at + start)
            if got != size or back[:size] != room[:size]:
                raise DriveLost(
                    f"{drive.path} gives back other bytes than were written, from byte "
                    f"{extent.at + start} on: it is faulty or a fake; take another"
                )
            read += size
            progress("compared", read / total)


def _same_layout(image: Image, drive: Drive) -> partition_table.Partition:
    """The stick's FAT partition. BadInput when the new system would not fit in its place."""
    _, partitions = partition_table.table(Tree(), drive.name, Asker(ask_live))
    by_id = {part.partuuid: part for part in partitions}
    boot, data = by_id.get(in_use.STICK_FAT), by_id.get(in_use.STICK_DATA)
    if boot is None or data is None:
        raise BadInput(f"{drive.path} is not a bench stick: write it without --update")
    if (boot.start, boot.size, data.start) != (
        image.boot.start, image.boot.size, image.data.start,
    ):  # fmt: skip
        raise BadInput(
            f"{drive.path}: its partitions are laid out for another version: save its reports, "
            "then write it without --update"
        )
    return boot


def _save(drive: Drive, boot: partition_table.Partition, to: Path) -> None:
    """Copy the FAT partition to a file, from the drive itself."""
    with _unfinished_read(drive), _opened(drive, os.O_RDONLY) as fd, to.open("wb") as file:
        fcntl.ioctl(fd, _BLKFLSBUF, 0)
        with mmap.mmap(-1, _CHUNK) as room:
            for offset in range(0, boot.size, _CHUNK):
                size = min(_CHUNK, boot.size - offset)
                with memoryview(room)[:size] as view:
                    if os.preadv(fd, [view], boot.start + offset) != size:
                        raise DriveLost(f"{drive.path}: ended early; nothing was written")
                    file.write(view)


@contextlib.contextmanager
def _unfinished_read(drive: Drive) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DriveLost(f"{drive.path}: {error.strerror}; nothing was written") from error


def _new_head(image: Image, drive: Drive) -> bytes:
    """The boot loader's parts before the first partition, around the stick's own table."""
    with image.path.open("rb") as file:
        fresh = file.read(image.boot.start)
    with _unfinished_read(drive), _opened(drive, os.O_RDONLY) as fd, mmap.mmap(-1, _SECTOR) as room:
        os.preadv(fd, [room], 0)
        own = room[:]
    return fresh[:_BOOT_CODE] + own[_BOOT_CODE:] + fresh[_SECTOR:]
