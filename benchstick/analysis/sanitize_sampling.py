"""Marks on a drive: their places, their content, and what is there after an erase. Pure functions.

The drive is divided into as many equal parts as there are marks, with one mark in each, as NIST
SP 800-88 requires of sampling; the first and the last place of the drive always have one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

# A mark is compared in pieces of this many bytes.
_SECTOR = 512


@dataclass(frozen=True)
class Marks:
    """`count` marks of `size` bytes on a drive of `capacity` bytes; `seed` makes them its own."""

    seed: str
    capacity: int
    size: int
    count: int

    def places(self) -> Iterator[int]:
        """The offsets in bytes, rising; each a multiple of the size but for the last, which ends
        where the drive ends."""
        slots = self.capacity // self.size
        for number in range(self.count):
            first, after = number * slots // self.count, (number + 1) * slots // self.count
            pick = hashlib.sha256(f"{self.seed} {number}".encode()).digest()
            slot = first + int.from_bytes(pick[:8], "big") % (after - first)
            if number == 0:
                slot = 0
            if number == self.count - 1 and self.count > 1:
                yield self.capacity - self.size
            else:
                yield slot * self.size

    def content(self, place: int) -> bytes:
        """What is written at `place`: incompressible, and another at each place."""
        return hashlib.shake_128(f"{self.seed} at {place}".encode()).digest(self.size)


def what_is_there(data: bytes, mark: bytes) -> str:
    """`mark` when any sector of the mark is left, else `zeros`, `ones`, `one value`, `other`."""
    for start in range(0, len(mark), _SECTOR):
        if data[start : start + _SECTOR] == mark[start : start + _SECTOR]:
            return "mark"
    if data.count(data[:1]) != len(data):
        return "other"
    return {0x00: "zeros", 0xFF: "ones"}.get(data[0], "one value")
