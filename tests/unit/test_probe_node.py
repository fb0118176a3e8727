"""What `probe_node.py` says of a node's ranges that come in pieces, once not, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchstick.drives import probe_node

Reads = Callable[[int, int, int], bytes]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(probe_node, "AGAIN_AFTER", 0)
    path = tmp_path / "node"
    path.write_bytes(bytes(8192))
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


def failing(times: int) -> Reads:
    """Half of what is wanted, then EIO as often as said, then all."""
    real, calls = os.pread, [0]

    def pread(fd: int, length: int, offset: int) -> bytes:
        calls[0] += 1
        if calls[0] == 1:
            return real(fd, length // 2, offset)
        if calls[0] <= 1 + times:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, length, offset)

    return pread


@pytest.mark.parametrize(
    ("times", "said"), [(0, "ok"), (1, "ok"), (2, "4096: Input/output error")]
)
def test_only_what_fails_twice_cannot_be_read(
    node: int, monkeypatch: pytest.MonkeyPatch, times: int, said: str
) -> None:
    monkeypatch.setattr(os, "pread", failing(times))
    assert probe_node.read_problem(node, ["4096:4096"]) == said


def test_what_ends_early_is_told_with_how_much(node: int) -> None:
    assert probe_node.read_problem(node, ["0:8192"]) == "ok"
    assert probe_node.read_problem(node, ["0:4096", "4096:8192"]) == (
        "4096: ends 4096 bytes early"
    )
