"""The ATTO-style suite on the practice drive: the drive's counters match the plan."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.host.bench import Bench

MIB = 1 << 20
# linux/loop.h: LOOP_SET_BLOCK_SIZE.
_SET_BLOCK_SIZE = 0x4C09


def test_each_size_moves_the_length_once_and_nothing_else(own_bench: Bench) -> None:
    document = own_bench.json(
        *own_bench.practice("atto", "--target", "block", "--param", "sizes=512,4KiB,48KiB,1MiB",
                            "--param", "length=1MiB", "--param", "data=random")
    )  # fmt: skip
    assert (document["state"], document["exit_code"]) == ("done", 0)
    results = {(item["name"], item["pass"]): item for item in document["results"]}
    planned = [s for s in document["plan"]["steps"] if s["kind"] == "fio" and s["counted"]]
    assert [(s["block"], s["rw"]) for s in planned] == [
        (size, way) for size in (512, 4096, 48 << 10, MIB) for way in ("write", "read")
    ]
    for step in planned:
        result = results[step["test"], 1]
        assert result["state"] == "valid", result["reason"]
        counters, totals = result["detail"]["counters"], result["detail"]["totals"]
        for side, expected in (("read", step["bytes_read"]), ("write", step["bytes_written"])):
            assert totals[f"{side}_bytes"] == expected
            assert abs(counters[f"{side}_bytes"] - expected) <= 0.005 * expected
        assert totals["ios"] == (step["bytes_read"] + step["bytes_written"]) // step["block"]
        assert results[step["test"], None]["value"] == pytest.approx(result["value"])
        assert results[f"{step['test']} latency p99.9", 1]["value"] > 0
    # 21 I/Os of 48 KiB are a little less than the length.
    assert next(s["bytes_written"] for s in planned if s["block"] == 48 << 10) == 21 * (48 << 10)
    speed = document["result"]["charts"][0]["series"]
    assert [line["name"] for line in speed] == ["write", "read"]
    assert [point[0] for point in speed[0]["points"]] == [512, 4096, 48 << 10, MIB]
    # All of it went to the first MiB: the file behind the drive holds nothing else.
    image = own_bench.home / "practice" / "practice.img"
    assert image.stat().st_blocks * 512 <= 2 * MIB


def test_512_bytes_on_a_4kn_drive_are_skipped_with_the_reason(own_bench: Bench) -> None:
    own_bench.run("practice")
    path = own_bench.json("drive", "practice")["path"]
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, _SET_BLOCK_SIZE, 4096)
    finally:
        os.close(fd)
    document = own_bench.json(
        *own_bench.practice("atto", "--target", "block", "--param", "sizes=512,4KiB",
                            "--param", "length=1MiB")
    )  # fmt: skip
    assert document["drive"]["logical_sector"]["value"] == 4096
    skipped = [item for item in document["results"] if item["state"] == "skipped"]
    assert {item["name"] for item in skipped if item["pass"]} == {"512 B write", "512 B read"}
    assert "logical blocks of 4 KiB" in skipped[0]["reason"]
    states = [s["state"] for s in document["steps"] if s["name"].startswith("512 B")]
    assert states == ["skipped", "skipped"]
    valid = {item["name"] for item in document["results"] if item["state"] == "valid"}
    assert {"4 KiB write", "4 KiB read"} <= valid
    assert document["exit_code"] == 0


def test_bad_input_is_one_line_and_nothing_is_written(own_bench: Bench) -> None:
    own_bench.run("practice")
    name = own_bench.json("drive", "practice")["name"]
    stat = Path(f"/sys/block/{name}/stat")
    before = stat.read_text().split()[6]
    for param in ("length=32GiB", "sizes=3000", "depth=0", "length=0"):
        result = own_bench.run(*own_bench.practice("atto", "--param", param))
        assert result.returncode == 2
        assert len(result.stderr.splitlines()) == 1
        assert param.split("=")[0] in result.stderr
    assert stat.read_text().split()[6] == before
