"""The suite `sustained` on the practice drive: what its counters say is what was planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.bench import Bench

QUICK = ("--param", "span=160MiB", "--param", "recovery=1", "--param", "burst=16MiB",
         "--param", "purge=none")  # fmt: skip
WITHOUT_BURST = ("--param", "span=320MiB", "--param", "block=128k", "--param", "pause=0")


def count_written_bytes(name: str) -> int:
    return int(Path(f"/sys/block/{name}/stat").read_text().split()[6]) * 512


def test_a_small_span_is_written_once_at_its_place(bench: Bench) -> None:
    bench.run("practice")
    name = bench.json("drive", "practice")["name"]
    before = count_written_bytes(name)
    document = bench.json(*bench.practice("sustained", *QUICK))
    assert (document["state"], document["exit_code"]) == ("done", 0)
    planned_bytes = document["plan"]["bytes_written"]
    assert planned_bytes == (160 << 20) + (16 << 20)
    assert count_written_bytes(name) - before == planned_bytes
    parts = [item for item in document["results"]
             if item["pass"] == 1 and item["unit"] == "MB/s"]  # fmt: skip
    assert len(parts) == 21
    assert {item["state"] for item in parts} == {"valid"}, parts
    assert {item["target"] for item in parts} == {"block"}
    assert sum(item["detail"]["counters"]["write_bytes"] for item in parts) == planned_bytes
    folders = [bench.home / step["artifacts"] for step in document["steps"]
               if step["kind"] == "fio"]  # fmt: skip
    offsets = []
    for folder in folders:
        words = (folder / "command").read_text().split()
        options = [word for word in words if word.startswith("--offset=")]
        offsets.append(int(options[0].split("=")[1]) if options else 0)
    assert offsets == [*(number * (8 << 20) for number in range(20)), 0]
    over_all = {item["name"]: item for item in document["results"] if item["pass"] is None}
    assert over_all["sustained write"]["value"] > 0
    place, time = document["result"]["charts"]
    assert place["to"] == pytest.approx((160 << 20) / 1e9, rel=1e-5)
    # A point a second at least, and the parts apart.
    assert len(place["series"][0]["points"]) >= 20
    assert sum(1 for _, value in time["series"][0]["points"] if value is None) == 19
    assert [item["name"] for item in document["result"]["verdicts"]] == [
        "Cache knee", "Slowing down", "Recovery after idle",
    ]  # fmt: skip
    # One reading at the start, one after each part, one before the burst; a loop drive has none.
    assert len(document["temperatures"]) == 22
    assert all(item["reason"] for item in document["temperatures"])


def test_the_series_has_every_byte_without_a_burst_after_it(bench: Bench) -> None:
    document = bench.json(*bench.practice("sustained", *WITHOUT_BURST))
    # A loop drive takes discards; the purge is no part of the fill.
    assert document["conditions"]["state"] == "purged by discard of all blocks"
    assert document["plan"]["state"] == document["conditions"]["state"]
    (part,) = [item for item in document["results"]
               if item["pass"] == 1 and item["unit"] == "MB/s"]  # fmt: skip
    assert part["state"] == "valid", part["reason"]
    assert part["detail"]["totals"]["write_bytes"] == 320 << 20
    assert document["result"]["charts"][0]["to"] == pytest.approx((320 << 20) / 1e9, rel=1e-5)
    assert (
        "--bs=131072"
        in (
            bench.home
            / next(step["artifacts"] for step in document["steps"] if step["kind"] == "fio")
            / "command"
        ).read_text()
    )


def test_bad_input_is_one_line_before_anything_is_written(bench: Bench) -> None:
    bench.run("practice")
    name = bench.json("drive", "practice")["name"]
    before = count_written_bytes(name)
    for param in ("span=0", "span=200%", "span=100TB", "depth=0", "pause=1", "recovery=x",
                  "purge=format"):  # fmt: skip
        result = bench.run(*bench.practice("sustained", "--param", param))
        assert result.returncode == 2, (param, result.stderr)
        assert param.split("=")[0] in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert count_written_bytes(name) == before
