"""Damages a file below its filesystem: one byte of the practice drive's own file is changed, as a
drive would that returns other data than was written to it."""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from pathlib import Path
from typing import BinaryIO

from tests.host.bench import Bench, mounts_below, wait_for

_FIBMAP, _FIGETBSZ = 1, 2
OFFSET = 700_001


def place_of(path: Path, offset: int) -> int:
    """The byte of the whole drive that holds byte `offset` of a file on it."""
    with path.open("rb") as file:
        size = _call_ioctl(file, _FIGETBSZ, 0)
        block = _call_ioctl(file, _FIBMAP, offset // size)
        device = os.fstat(file.fileno()).st_dev
    assert block > 0, f"{path} has no block at byte {offset}"
    start = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/start")
    sectors = int(start.read_text()) if start.exists() else 0
    return sectors * 512 + block * size + offset % size


def _call_ioctl(file: BinaryIO, request: int, number: int) -> int:
    answer = fcntl.ioctl(file, request, struct.pack("i", number))
    return int(struct.unpack("i", answer)[0])


def flip(image: Path, place: int) -> None:
    """Invert one bit of the byte at `place`."""
    with image.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))
        file.flush()
        os.fsync(file.fileno())


def damage(bench: Bench, step: str, seconds: float = 120) -> Path:
    """Wait for the step whose name has `step` in it, then damage a file of the run. That file."""

    def new_file() -> Path | None:
        live = list((bench.root / "run" / "live").glob("*.json"))
        if not live or step not in live[0].read_text():
            return None
        files = [
            path
            for point in mounts_below(bench.root / "run" / "mnt")
            for path in Path(point).rglob("*")
            if path.is_file() and path.stat().st_size > OFFSET
        ]
        return files[0] if files else None

    victim: Path = wait_for(new_file, seconds)
    flip(bench.home / "practice" / "practice.img", place_of(victim, OFFSET))
    return victim


class Damage(threading.Thread):
    """`damage` in a thread, for commands that are waited for. `victim` is the damaged file."""

    def __init__(self, bench: Bench, step: str) -> None:
        super().__init__(daemon=True)
        self._bench, self._step = bench, step
        self.victim: Path | None = None

    def run(self) -> None:
        """Damage one file."""
        self.victim = damage(self._bench, self._step)
