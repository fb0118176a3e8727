"""The AS SSD-style suite on the practice drive: the counters, the scores, the copies."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.host.bench import Bench, mounts_below

MIB = 1 << 20
QUICK = ("--param", "size=64MiB", "--param", "time=1")


def by_pass(document: dict[str, Any]) -> dict[tuple[str, int | None], dict[str, Any]]:
    return {(item["name"], item["pass"]): item for item in document["results"]}


def command_of(bench: Bench, document: dict[str, Any], name: str) -> list[str]:
    (step,) = [item for item in document["steps"] if item["name"] == name]
    return shlex.split((bench.home / step["artifacts"] / "command").read_text())


def test_the_whole_suite_on_files(bench: Bench) -> None:
    document = bench.json(*bench.practice("asssd", *QUICK, "--scale", "0.002"))
    assert (document["state"], document["exit_code"]) == ("done", 0)
    assert {item["state"] for item in document["results"]} == {"valid"}
    results = by_pass(document)
    planned = {s["name"]: s for s in document["plan"]["steps"]}
    for test, step in planned.items():
        if step["kind"] not in ("fio", "copy-within") or step.get("counted") is False:
            continue
        detail = results[test, 1]["detail"]
        counters, totals = detail["counters"], detail["totals"]
        files = detail.get("files") or step["files"]
        for side in ("read_bytes", "write_bytes"):
            if totals[side]:
                assert totals[side] <= counters[side] <= 1.03 * totals[side] + files * 65536
        if step["kind"] == "fio" and step["runtime"] is None:
            assert (totals["read_bytes"], totals["write_bytes"]) == (
                step["bytes_read"], step["bytes_written"],
            )  # fmt: skip
        if step["kind"] == "fio":
            assert totals["read_bytes"] + totals["write_bytes"] == totals["ios"] * step["block"]
    sizes = {name: planned[name]["block"] for name in ("Seq write", "4K read", "Acc.time write")}
    assert sizes == {"Seq write": 16 * MIB, "4K read": 4096, "Acc.time write": 512}
    assert len([name for name in planned if name.startswith("Compression")]) == 22
    many = command_of(bench, document, "4K-64Thrd write")
    assert {"--numjobs=64", "--iodepth=1", f"--size={MIB}"} <= set(many)
    assert any(word.endswith("benchstick.test.$jobnum") for word in many)
    speeds = {name: results[name, 1]["value"] * 1e6 / MIB for name in planned
              if (name, 1) in results}  # fmt: skip
    read = 0.1 * speeds["Seq read"] + speeds["4K read"] + speeds["4K-64Thrd read"]
    assert results["Score read", None]["value"] == round(read)
    assert len(document["result"]["charts"][0]["series"][0]["points"]) == 11
    compared = [s["detail"]["compared"] for s in document["steps"] if s["kind"] == "verify"]
    assert compared == ["equal"] * 3
    assert mounts_below(bench.root) == []


def test_the_access_time_reads_the_raw_drive_also_with_files(bench: Bench) -> None:
    document = bench.json(*bench.practice("asssd", *QUICK, "--param", "parts=benchmark"))
    result = by_pass(document)["Acc.time read", 1]
    assert (result["target"], result["state"]) == ("block", "valid")
    assert by_pass(document)["Acc.time read latency", None]["target"] == "block"
    assert by_pass(document)["Acc.time write", 1]["target"] == "file on ext4"
    counters, totals = result["detail"]["counters"], result["detail"]["totals"]
    assert abs(counters["read_bytes"] - totals["read_bytes"]) <= 0.005 * totals["read_bytes"]
    assert counters["reads"] == pytest.approx(totals["ios"], rel=0.005)
    # The filesystem on the drive was at rest: its journal does not commit during the test.
    assert counters["write_bytes"] == 0
    argv = command_of(bench, document, "Acc.time read")
    drive = document["drive"]
    assert f"--filename={drive['path']}" in argv
    assert "--readonly" in argv
    assert f"--size={drive['identity']['capacity'] // 4096 * 4096}" in argv


def test_the_raw_drive_gets_the_test_area_only_and_no_copies(own_bench: Bench) -> None:
    document = own_bench.json(*own_bench.practice("asssd", *QUICK, "--target", "block"))
    assert document["exit_code"] == 0
    results = by_pass(document)
    for step in document["plan"]["steps"]:
        if step["kind"] != "fio" or not step["counted"]:
            continue
        result = results[step["test"], 1]
        assert (result["state"], result["target"]) == ("valid", "block"), result["reason"]
        counters, totals = result["detail"]["counters"], result["detail"]["totals"]
        for side in ("read_bytes", "write_bytes"):
            assert abs(counters[side] - totals[side]) <= 0.005 * totals[side]
    for name in ("ISO copy", "Program copy", "Game copy"):
        assert results[name, 1]["state"] == "skipped"
        assert "filesystem" in results[name, 1]["reason"]
    # 64 areas of 1 MiB: all of it in the first 64 MiB.
    image = own_bench.home / "practice" / "practice.img"
    assert 63 * MIB <= image.stat().st_blocks * 512 <= 65 * MIB
