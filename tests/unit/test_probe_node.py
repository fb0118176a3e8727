"""The reports of `probe_node.py` on ranges that are read in parts, fail once, or fail always."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchstick.drives import probe_node

Reads = Callable[[int, list[memoryview], int], int]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(probe_node, "AGAIN_AFTER", 0)
    path = tmp_path / "node"
    path.write_bytes(bytes(8192))
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


def failing(times: int) -> Reads:
    """Half of the requested bytes, then EIO `times` times, then all."""
    real, calls = os.preadv, [0]

    def preadv(fd: int, buffers: list[memoryview], offset: int) -> int:
        calls[0] += 1
        if calls[0] == 1:
            return real(fd, [buffers[0][: len(buffers[0]) // 2]], offset)
        if calls[0] <= 1 + times:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, buffers, offset)

    return preadv


@pytest.mark.parametrize(
    ("times", "status"), [(0, "ok"), (1, "ok"), (2, "4096: Input/output error")]
)
def test_only_what_fails_twice_cannot_be_read(
    node: int, monkeypatch: pytest.MonkeyPatch, times: int, status: str
) -> None:
    monkeypatch.setattr(os, "preadv", failing(times))
    assert probe_node.read_ranges(node, ["4096:4096"]) == (status, "none")


def test_a_short_read_is_reported_with_the_missing_bytes(node: int) -> None:
    assert probe_node.read_ranges(node, ["0:8192"]) == ("ok", "none")
    assert probe_node.read_ranges(node, ["0:4096", "4096:8192"]) == (
        "4096: ends 4096 bytes early", "none",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "data"),
    [
        (bytes(200_000), "none"),
        (b"\xff" * 200_000, "none"),
        (bytes(65536) + b"\xff" * 65536, "none"),
        (bytes(131072) + b"\x01" + bytes(10), "131072"),
        (bytes(65536) + b"\0\xff" * 100, "65536"),
        (b"\xff" * 70_000 + bytes(1), "65536"),
        (b"\x55" * 4096, "0"),
    ],
)
def test_data_is_a_block_that_is_not_all_00_and_not_all_ff(
    tmp_path: Path, content: bytes, data: str
) -> None:
    path = tmp_path / "node"
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    try:
        assert probe_node.read_ranges(fd, [f"0:{len(content)}"]) == ("ok", data)
        ranges = [f"0:{len(content)}", "9999999:1"]
        expected = ("9999999: ends 1 bytes early", "none") if data == "none" else ("ok", data)
        assert probe_node.read_ranges(fd, ranges, sample=True) == expected
    finally:
        os.close(fd)


def exclusive_opens(
    monkeypatch: pytest.MonkeyPatch, errors: list[int], path: Path
) -> tuple[list[int], list[float]]:
    """Let the next exclusive opens of the node end in these errors (0: none). The descriptors
    that were opened, and the pauses."""
    real, open_flags, pauses = os.open, list[int](), list[float]()

    def fake_open(name: str, flags: int) -> int:
        if flags & os.O_EXCL:
            number = errors.pop(0)
            if number:
                raise OSError(number, os.strerror(number))
        open_flags.append(real(name, flags & ~os.O_EXCL))
        return open_flags[-1]

    path.write_bytes(bytes(4096))
    monkeypatch.setattr(os, "open", fake_open)
    monkeypatch.setattr("benchstick.drives.probe_node.time.sleep", pauses.append)
    return open_flags, pauses


@pytest.mark.parametrize(
    ("errors", "state", "pauses"),
    [
        ([0], "ok", 0),
        ([errno.EBUSY, errno.EBUSY, 0], "ok", 2),
        ([errno.EBUSY] * 4, "busy", 3),
        ([errno.ENXIO], "ENXIO", 0),
    ],
)
def test_a_node_that_another_probe_held_for_a_moment_is_not_busy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    errors: list[int],
    state: str,
    pauses: int,
) -> None:
    node = tmp_path / "node"
    _, slept = exclusive_opens(monkeypatch, errors, node)
    probe_node.main(str(node), [])
    assert f"exclusive={state}\n" in capsys.readouterr().out
    assert (len(slept), errors) == (pauses, [])


def test_the_probe_reads_without_holding_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_flags, _ = exclusive_opens(monkeypatch, [0], tmp_path / "node")
    still_open: list[int] = []

    def read_ranges(fd: int, ranges: list[str], *, sample: bool = False) -> tuple[str, str]:
        for one in open_flags:
            try:
                os.fstat(one)
                still_open.append(one)
            except OSError:
                pass
        return "ok", "none"

    monkeypatch.setattr(probe_node, "read_ranges", read_ranges)
    probe_node.main(str(tmp_path / "node"), ["0:4096"])
    plain, exclusive = open_flags
    assert still_open == [plain]
    assert exclusive != plain
