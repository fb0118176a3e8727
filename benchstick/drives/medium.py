"""Which medium is in a drive: a token to compare, a question to the device, and a stop.

A card reader keeps its serial, its node and its size when the card in it changes. The kernel
notices a change only when it asks the reader: at each open of the node, and by media polling where
that is on. A pass-through command of another program can take the reader's report away from it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import struct
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.errors import BadInput, DriveLost

# linux/fs.h: BLKGETDISKSEQ, _IOR(0x12, 128, __u64), and BLKGETSIZE64; linux/sg: SG_IO.
_BLKGETDISKSEQ = 0x80081280
_BLKGETSIZE64 = 0x80081272
_SG_IO = 0x2285
_TEST_UNIT_READY = bytes(6)
_TUR_TIMEOUT_MS = 5000
# The kernel's error handling resets a device that does not answer; that alone can take 20 s.
_ANSWER_SECONDS = 40.0
_TEXT = re.compile(r"(\d{1,20})-(\d{1,20}|x)-([0-9a-f]{32}|x)")
# SCSI sense keys and additional sense codes (SPC-4).
_NOT_READY, _UNIT_ATTENTION = 0x2, 0x6
_MAY_HAVE_CHANGED, _NOT_PRESENT = 0x28, 0x3A
_STATES = Path("/sys/block")


@dataclass(frozen=True)
class Token:
    """One medium in one drive: bytes, the kernel's disk sequence, and the hash of the first and
    last MiB (None where they are in use or cannot be read)."""

    size: int
    diskseq: int | None
    ends: str | None = None

    @property
    def text(self) -> str:
        """The token as one word, for a form or a request."""
        seq = "x" if self.diskseq is None else str(self.diskseq)
        return f"{self.size}-{seq}-{self.ends or 'x'}"

    @staticmethod
    def parse(text: str) -> Token:
        """The token of `text`. BadInput when it is none."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise BadInput("medium: not a token as the drive list shows it", field="medium")
        size, seq, ends = match.groups()
        return Token(int(size), None if seq == "x" else int(seq), None if ends == "x" else ends)

    def difference(self, now: Token | None, *, content: bool) -> str | None:
        """Why `now` is another medium than this one; None when it is the same.

        `content` False leaves out the first and last MiB, for a medium that the bench has written.
        """
        if now is None:
            return "its medium cannot be read any more"
        if now.size != self.size:
            return f"its medium had {self.size} bytes, now it has {now.size}"
        if now.diskseq != self.diskseq:
            return "its medium was changed"
        if content and self.ends is not None and now.ends != self.ends:
            return "its medium holds other data in its first or last MiB"
        return None


def from_probe(answer: dict[str, str]) -> Token | None:
    """The token in an answer of `probe_node.py`; None where there is none in it."""
    size, seq, ends = (answer.get(name, "") for name in ("size", "diskseq", "ends"))
    if not size.isdecimal():
        return None
    # A filesystem in use changes its own blocks all the time.
    idle = answer.get("exclusive") == "ok"
    return Token(int(size), int(seq) if seq.isdecimal() else None, (ends or None) if idle else None)


def ask(path: str) -> Token:
    """Ask the device at `path` which medium is in it now, without reading the medium.

    The open makes the kernel ask it (TEST UNIT READY) and note a change in the disk sequence. Then
    the bench asks once more itself, for readers that the kernel does not take for one. DriveLost
    when the device reports a change, holds no medium, or does not answer.
    """
    # A device that hangs blocks the thread that queries it.
    result: list[Token | Exception] = []

    def put_question() -> None:
        try:
            result.append(_ask(path))
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            result.append(error)

    thread = threading.Thread(target=put_question, name="medium", daemon=True)
    thread.start()
    thread.join(_ANSWER_SECONDS)
    if not result:
        raise DriveLost(f"{path}: no answer to TEST UNIT READY in {_ANSWER_SECONDS:.0f} s")
    answer = result[0]
    if isinstance(answer, OSError):
        reason = "there is no medium in it" if answer.errno == errno.ENOMEDIUM else answer.strerror
        raise DriveLost(f"{path}: {reason}") from answer
    if isinstance(answer, Exception):
        raise answer
    return answer


def _ask(path: str) -> Token:
    # O_NONBLOCK opens a reader without a card too, so that its own report can be read.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        reason = meaning(*_sense(fd))
        if reason is not None:
            raise DriveLost(f"{path}: {reason}")
        (size,) = struct.unpack("Q", fcntl.ioctl(fd, _BLKGETSIZE64, bytes(8)))
        return Token(int(size), sequence(fd))
    finally:
        os.close(fd)


def sequence(fd: int) -> int | None:
    """The disk sequence of an open node; None on kernels before 5.15."""
    try:
        answer = fcntl.ioctl(fd, _BLKGETDISKSEQ, bytes(8))
    except OSError:
        return None
    return int(struct.unpack("Q", answer)[0])


def meaning(key: int, code: int) -> str | None:
    """What a device's sense key and code mean for its medium; None where they mean no change.

    The kernel does not see a report that the bench's own command takes, so the report itself
    counts as a change.
    """
    if code == _NOT_PRESENT and key in (_NOT_READY, _UNIT_ATTENTION):
        return "there is no medium in it"
    if code == _MAY_HAVE_CHANGED and key == _UNIT_ATTENTION:
        return "the device reports that its medium was changed"
    return None


class _Header(ctypes.Structure):
    """struct sg_io_hdr of scsi/sg.h."""

    _fields_ = [
        ("interface_id", ctypes.c_int),
        ("dxfer_direction", ctypes.c_int),
        ("cmd_len", ctypes.c_ubyte),
        ("mx_sb_len", ctypes.c_ubyte),
        ("iovec_count", ctypes.c_ushort),
        ("dxfer_len", ctypes.c_uint),
        ("dxferp", ctypes.c_void_p),
        ("cmdp", ctypes.c_void_p),
        ("sbp", ctypes.c_void_p),
        ("timeout", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("pack_id", ctypes.c_int),
        ("usr_ptr", ctypes.c_void_p),
        ("status", ctypes.c_ubyte),
        ("masked_status", ctypes.c_ubyte),
        ("msg_status", ctypes.c_ubyte),
        ("sb_len_wr", ctypes.c_ubyte),
        ("host_status", ctypes.c_ushort),
        ("driver_status", ctypes.c_ushort),
        ("resid", ctypes.c_int),
        ("duration", ctypes.c_uint),
        ("info", ctypes.c_uint),
    ]


def _sense(fd: int) -> tuple[int, int]:
    """(sense key, additional sense code) of TEST UNIT READY; zeros where the device reports none,
    or is no SCSI device."""
    command = ctypes.create_string_buffer(_TEST_UNIT_READY, len(_TEST_UNIT_READY))
    sense = ctypes.create_string_buffer(32)
    header = _Header(
        interface_id=ord("S"),
        dxfer_direction=-1,
        cmd_len=len(_TEST_UNIT_READY),
        mx_sb_len=len(sense),
        cmdp=ctypes.addressof(command),
        sbp=ctypes.addressof(sense),
        timeout=_TUR_TIMEOUT_MS,
    )
    try:
        fcntl.ioctl(fd, _SG_IO, header)
    except OSError as error:
        if error.errno in (errno.ENOTTY, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP):
            return 0, 0
        raise
    return parse_sense(bytes(sense.raw[: header.sb_len_wr]))


def parse_sense(data: bytes) -> tuple[int, int]:
    """(sense key, additional sense code) of sense data in either format of SPC-4."""
    if len(data) < 4:
        return 0, 0
    if data[0] & 0x7F in (0x72, 0x73):
        return data[1] & 0xF, data[2]
    return data[2] & 0xF, data[12] if len(data) > 12 else 0


def stop_writes(name: str) -> bool:
    """Have the kernel refuse each request to SCSI disk `name`, write-back included. Whether it
    does; other disks have no such switch."""
    return _set_state(name, "running", "offline")


def allow_writes(name: str) -> None:
    """Undo `stop_writes`."""
    _set_state(name, "offline", "running")


def _set_state(name: str, old: str, new: str) -> bool:
    path = _STATES / name / "device/state"
    if not name.startswith("sd"):
        return False
    with contextlib.suppress(OSError):
        if path.read_text(encoding="ascii").strip() == old:
            # The kernel takes the word only with its newline.
            path.write_text(f"{new}\n", encoding="ascii")
            return True
    return False


def drop_cache(fd: int) -> None:
    """Forget what the kernel still holds for an open node whose writes are stopped."""
    blkflsbuf = 0x1261
    with contextlib.suppress(OSError):
        fcntl.ioctl(fd, blkflsbuf, 0)


def to_token(value: Any) -> Token | None:
    """The token of a stored request or document; None where it has none, as older ones."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise BadInput("medium: must be a text", field="medium")
    return Token.parse(value)
