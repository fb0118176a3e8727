"""Which places of a drive are read to find out that it is blank, and what the answers mean."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchstick.drives import blank
from benchstick.drives.device_query import PROBE, SAMPLE, Query, ask_live
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree

MIB, GIB = 1 << 20, 1 << 30


def covers(places: Sequence[tuple[int, int]], at: int, length: int) -> bool:
    """Whether a read reaches into these bytes."""
    return any(start < at + length and at < start + size for start, size in places)


@pytest.mark.parametrize(
    "total", [512, 65_024, 40 * MIB + 512, 4 * GIB, 7_999_999_488, 22 * 10**12]
)
def test_all_reads_are_on_the_drive_and_whole_sectors(total: int) -> None:
    reads = blank.places(total)
    assert reads == sorted(set(reads))
    for offset, length in reads:
        assert offset % 512 == 0 and length % 512 == 0
        assert offset >= 0 and length > 0 and offset + length <= total


def test_the_starts_and_the_end_are_always_read() -> None:
    reads = blank.places(8 * GIB)
    # VeraCrypt's headers: the first 128 KiB, and a copy in the last 128 KiB.
    for at in (0, 63 * 512, MIB, 4 * MIB, 129 * MIB, 8 * GIB - 128 * 1024, 8 * GIB - 512):
        assert covers(reads, at, 512), at


def test_a_small_drive_is_read_whole() -> None:
    total = 64 * MIB - 512
    reads = blank.places(total)
    assert all(covers(reads, at, 512) for at in range(0, total, 512 * 97))


def test_a_container_over_two_parts_is_never_missed() -> None:
    total = 10**12 // 512 * 512
    length = 2 * (total // blank.PARTS + blank.BLOCK)
    assert length < 0.0021 * total
    pick = random.Random(7)
    for _ in range(300):
        at = pick.randrange(0, total - length)
        assert covers(blank.places(total, pick.randrange), at, length)


def test_scattered_data_is_missed_as_seldom_as_documented() -> None:
    """Single blocks all over the drive: 1 % of it is missed with 0.99^1024 (1 in 29 000), 0.1 %
    with 0.999^1024 (36 %)."""
    pick = random.Random(11)
    blocks = 1 << 17
    for share, least, most in ((0.01, 0.0, 0.0), (0.001, 0.25, 0.47)):
        miss_count = 0
        for _ in range(200):
            data = set(pick.sample(range(64, blocks - 64), int(share * blocks)))
            places = blank.places(blocks * blank.BLOCK, pick.randrange)
            read = {at // blank.BLOCK for at, _ in places}
            miss_count += not data & read
        assert least <= miss_count / 200 <= most, (share, miss_count)


def test_the_places_are_other_ones_each_time() -> None:
    first, second = set(blank.places(10**12)), set(blank.places(10**12))
    assert len(first & second) < 100


# ---- what the answers mean


def made_tree(tmp_path: Path) -> Tree:
    here = tmp_path / "sys/block/sdx"
    here.mkdir(parents=True)
    (here / "size").write_text(f"{GIB // 512}\n", encoding="ascii")
    (here / "dev").write_text("8:0\n", encoding="ascii")
    return Tree(tmp_path)


def answering(text: str, *, code: int = 0, timed_out: bool = False) -> Query:
    def ask(argv: Sequence[str]) -> Finished:
        assert argv[:2] == (SAMPLE, "/dev/sdx") and len(argv) > 1000
        return Finished(tuple(argv), code, text.encode(), b"", 0.0, timed_out=timed_out)

    return ask


BLANK = "exclusive=ok\nread=ok\ndata=none\nrdev=8:0\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BLANK, None),
        (BLANK.replace("none", "65536"), "data of no known kind at byte 65536"),
        (BLANK.replace("=ok\ndata", "=0: Input/output error\ndata"), "could not be read at 0: Inp"),
        (BLANK.replace("8:0", "8:16"), "is not the node of this drive"),
        (BLANK.replace("data=none\n", ""), "could not be opened to look"),
        ("", "could not be opened to look"),
    ],
)
def test_only_a_whole_answer_without_data_is_blank(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    reason = blank.why_not_blank("sdx", answering(text), made_tree(tmp_path))
    assert reason == expected if expected is None else reason is not None and expected in reason


def test_a_sample_that_times_out_says_that_it_may_be_tried_again(tmp_path: Path) -> None:
    slow = answering(BLANK, code=-9, timed_out=True)
    reason = blank.why_not_blank("sdx", slow, made_tree(tmp_path))
    assert reason is not None and reason.startswith("unknown (not answering, try again: ")


def test_a_drive_without_a_capacity_is_not_blank(tmp_path: Path) -> None:
    tree = made_tree(tmp_path)
    (tmp_path / "sys/block/sdx/size").write_text("0\n", encoding="ascii")
    assert blank.why_not_blank("sdx", answering(BLANK), tree) == "unknown (it has no capacity)"


def test_a_node_that_is_not_there_gives_no_answer() -> None:
    assert shutil.which("setpriv")
    for name in (PROBE, SAMPLE):
        assert "cannot be opened" in ask_live([name, "/dev/no-such-node", "0:512"]).text
