"""Generates the content of synthetic files from a seed at memory speed, and checks it.

A file is a sequence of 1 MiB chunks. Each chunk is a slice of a pool (16 MiB of SHAKE-128 output
for `random`, 2 MiB of words for `text`); its start depends on the file's path and the chunk's
number. The first 8 bytes of each 4 KiB block are a stamp: a number of the file plus the block's
number. So every 4 KiB block of a set is unique, a misplaced block is detected, and the bytes are
the same on every machine and Python version (they come only from hashes).
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass

from benchstick.engine.copier.direct_io import Buffer, copy_memory, counting_words, same_memory
from benchstick.plan.fileset import FileEntry

CHUNK = 1 << 20
BLOCK = 4096
RANDOM_POOL = 16 << 20
TEXT_POOL = 2 << 20
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class FileKey:
    """What determines the bytes of a file: its stamp base (63 bits) and its type of content."""

    base: int
    fill: str


@dataclass(frozen=True)
class Difference:
    """A wrong file: `offset` of the first wrong byte or None, and `description` is what is wrong.
    `of_drive` is False when the drive is not the cause."""

    path: str
    offset: int | None
    description: str
    of_drive: bool = True

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at byte {self.offset}"
        return f"{self.path}{where}: {self.description}"


class _Pool:
    """Memory with one chunk more than its length, so that every slice is contiguous."""

    def __init__(self, data: bytes) -> None:
        self.length = len(data)
        self._memory = Buffer(len(data) + CHUNK)
        self._memory.view[: len(data)] = data
        self._memory.view[len(data) :] = data[:CHUNK]
        self.address = self._memory.address


@functools.cache
def _random_pool() -> _Pool:
    return _Pool(hashlib.shake_128(b"benchstick/pool/random/2").digest(RANDOM_POOL))


@functools.cache
def _text_pool() -> _Pool:
    """Words of an artificial language with realistic frequencies: gzip halves it and more."""
    draws = hashlib.shake_128(b"benchstick/pool/text/1").digest(TEXT_POOL)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = [
        "".join(syllables[draws[7 * i + k] % len(syllables)] for k in range(1 + i % 4))
        for i in range(4096)
    ]
    words = [word + end for word, end in zip(words, (" ", " ", " ", ", ", " ", " ", ".\n") * 586,
                                             strict=False)]  # fmt: skip
    # The product of two uniform numbers is mostly small, so some words are common.
    numbers = zip(draws[0::3], draws[1::3], draws[2::3], strict=False)
    text = "".join([words[a * (b * 16 + c % 16) >> 8] for a, b, c in numbers])
    return _Pool(text.encode("ascii")[:TEXT_POOL])


class Content:
    """Fills buffers with the bytes of a set's files, and compares files with them.

    Threads share one object; each thread has its own buffers.
    """

    def __init__(self, seed: str) -> None:
        self.seed = seed

    def key(self, entry: FileEntry) -> FileKey:
        digest = hashlib.sha256(f"{self.seed}/{entry.path}".encode("utf-8", "surrogateescape"))
        return FileKey(int.from_bytes(digest.digest()[:8], "little") >> 1, entry.fill)

    def fill(self, buffer: Buffer, key: FileKey, offset: int, length: int) -> None:
        """Write the file's bytes `offset` to `offset + length` to the start of `buffer`.

        `offset` is a multiple of 4 KiB, `length` at most the buffer's size.
        """
        pool = _random_pool() if key.fill == "random" else _text_pool()
        count = 0
        while count < length:
            chunk, inside = divmod(offset + count, CHUNK)
            piece = min(CHUNK - inside, length - count)
            start = _place(key.base, chunk, pool.length) + inside
            copy_memory(buffer.address + count, pool.address + start, piece)
            count += piece
        stamps = (length - 8) // BLOCK + 1 if length >= 8 else 0
        if stamps:
            step = BLOCK // 8
            words = counting_words(key.base + offset // BLOCK, stamps)
            buffer.words[: (stamps - 1) * step + 1 : step] = memoryview(words)

    def compare(
        self, buffer: Buffer, scratch: Buffer, key: FileKey, offset: int, length: int
    ) -> int | None:
        """The offset in the file of the first wrong byte in `buffer`, which starts at `offset`.

        None when all `length` bytes are correct. `scratch` is overwritten.
        """
        self.fill(scratch, key, offset, length)
        if same_memory(buffer.address, scratch.address, length):
            return None
        return offset + _first_difference(buffer, scratch, length)


def _place(base: int, chunk: int, length: int) -> int:
    """Where in the pool a chunk starts: a multiple of 64 (cache lines), by splitmix64."""
    x = (base + (chunk + 1) * 0x9E3779B97F4A7C15) & _WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _WORD
    return (x ^ (x >> 31)) % (length // 64) * 64


def _first_difference(a: Buffer, b: Buffer, length: int) -> int:
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if same_memory(a.address + low, b.address + low, middle - low):
            low = middle
        else:
            high = middle
    return low
