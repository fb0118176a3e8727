"""The suite `erase` for real on the practice drive: proved, killed, gone on with, cancelled."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchstick.analysis.sanitize_sampling import Marks
from benchstick.drives.subprocesses import search_path
from tests.host.bench import QUICK_CDM, Bench, mounts_below, wait_for

MIB = 1 << 20


@pytest.fixture
def small_bench(own_bench: Bench) -> Iterator[Bench]:
    """A bench whose practice drive is as small as one may be, because it is overwritten whole."""
    folder = own_bench.home / "practice"
    folder.mkdir(parents=True, mode=0o700)
    with (folder / "practice.img").open("wb") as file:
        file.truncate(4 << 30)
    yield own_bench


def node(bench: Bench) -> str:
    return str(bench.json("drive", "practice")["path"])


def read(path: str, offset: int, length: int) -> bytes:
    result = subprocess.run(
        ["dd", f"if={path}", "bs=4096", f"skip={offset // 4096}", f"count={length // 4096}",
         "iflag=direct", "status=none"],
        capture_output=True, check=True,
    )  # fmt: skip
    return result.stdout


def erase(bench: Bench, *argv: str, code: int = 0) -> Any:
    return bench.json(*bench.practice("erase", *argv), code=code, timeout=600)


def test_a_discard_is_proved_by_its_marks_and_certified(bench: Bench) -> None:
    document = erase(bench, "--param", "samples=200")
    assert (document["state"], document["plan"]["destroys"]) == ("done", True)
    conditions = document["conditions"]
    assert conditions["state"] == "purged by discard of all blocks"
    assert conditions["purge"]["rung"] == "discard"
    assert conditions["purge"]["requested_rung"] == "auto"
    assert "all 200 marks were erased: 200 read as zeros" in conditions["purge"]["read_back"]
    results = {item["name"]: item for item in document["results"]}
    assert results["marks gone"]["value"] == 100
    capacity = document["drive"]["identity"]["capacity"]
    discarded_bytes = results["purge time"]["detail"]["counters"]["discard_bytes"]
    assert discarded_bytes == capacity
    assert document["result"]["verdict"] == "pass"
    number = str(document["number"])
    certificate = json.loads(bench.run("export", number, "--format", "certificate").stdout)
    assert certificate["schema"] == "benchstick/certificate/2"
    assert certificate["verification"]["places"] == 200
    assert certificate["practice"]
    text = bench.run("export", number, "--format", "certificate-text").stdout
    assert text == certificate["text"]
    assert "PRACTICE DRIVE" in text
    assert f"Capacity       {capacity} bytes" in text
    assert bench.json("purges")["purges"] == []


def test_the_marks_are_really_on_the_drive_before_the_purge(bench: Bench) -> None:
    """A purge that does nothing is detected: its tool reports success and erases nothing."""
    fake_blkdiscard(bench, "exit 0")
    try:
        result = bench.run(*bench.practice("erase", "--param", "samples=50"), "--json")
    finally:
        bench.use_tools()
    assert result.returncode == 5, result.stderr
    document = json.loads(result.stdout)
    assert document["state"] == "failed"
    assert "50 of 50 marks can still be read, the first at byte 0" in document["reason"]
    assert "not proved" in document["conditions"]["state"]
    assert document["result"]["verdict"] == "fail"
    number = str(document["number"])
    refusal = bench.run("export", number, "--format", "certificate")
    assert refusal.returncode == 2
    assert "no certificate" in refusal.stderr


def live(bench: Bench) -> dict[str, Any]:
    for path in (bench.root / "run" / "live").glob("*.json"):
        try:
            document = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            continue
        assert isinstance(document, dict)
        return document
    return {}


def overwriting(bench: Bench) -> subprocess.Popen[str]:
    """An overwrite that has done a part of the drive, and recorded that it has."""
    bench.run("practice")
    process = bench.start(*bench.practice("erase", "--param", "rung=overwrite",
                                          "--param", "samples=64"))  # fmt: skip

    def a_part_is_done() -> bool:
        now = live(bench)
        assert process.poll() is None, process.communicate()
        if not now.get("name", "").startswith("purge") or (now.get("fraction") or 0) <= 0.2:
            return False
        with contextlib.closing(sqlite3.connect(bench.home / "store.db")) as db:
            return bool(db.execute("SELECT max(written) FROM purges").fetchone()[0])

    wait_for(a_part_is_done, 240)
    return process


def test_an_overwrite_killed_in_the_middle_is_reported_and_resumed(small_bench: Bench) -> None:
    bench = small_bench
    process = overwriting(bench)
    process.kill()
    process.communicate()
    purges = bench.json("purges")["purges"]
    assert [item["rung"] for item in purges] == ["overwrite"]
    done_before = purges[0]["written"]
    assert 0 < done_before < 4 << 30
    assert done_before % MIB == 0
    assert "param rung=resume" in purges[0]["advice"]
    result = bench.run("drives")
    assert "was interrupted" in result.stderr
    before = read(node(bench), 512 * MIB, MIB)
    drive = bench.json("drive", "practice")
    assert drive["unfinished_purge"]["value"]["written"] == done_before
    document = erase(bench, "--param", "rung=resume")
    assert document["state"] == "done"
    assert [step["kind"] for step in document["steps"]] == ["purge", "read-back"]
    results = {item["name"]: item for item in document["results"]}
    capacity = document["drive"]["identity"]["capacity"]
    counters = results["purge time"]["detail"]["counters"]
    # What was written before was not written again, and all of it was read.
    assert counters["write_bytes"] == capacity - done_before
    assert counters["read_bytes"] >= capacity
    if done_before > 513 * MIB:
        assert read(node(bench), 512 * MIB, MIB) == before
    assert results["marks gone"]["value"] == 100
    first = bench.json("show", "1")
    assert first["state"] == "interrupted"
    assert any("was interrupted" in event["text"] for event in first["events"])
    assert bench.json("purges")["purges"] == []
    certificate = json.loads(bench.run("export", "2", "--format", "certificate").stdout)
    assert certificate["verification"]["whole_drive_read_back"]
    assert "in an earlier run" in certificate["purge"]["tool_output"]
    again = bench.run(*bench.practice("erase", "--param", "rung=resume"))
    assert again.returncode == 2
    assert "no purge of this drive was interrupted" in again.stderr
    assert mounts_below(bench.root) == []


def fake_blkdiscard(bench: Bench, script: str) -> None:
    """What the bench runs as blkdiscard from now on."""
    fake = bench.root / "fake"
    fake.mkdir(exist_ok=True)
    tool = fake / "blkdiscard"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    bench.use_tools(fake, search_path())


def test_going_on_is_not_proved_by_marks_that_somebody_wrote_over(own_bench: Bench) -> None:
    """A discard that erases nothing, killed; the drive is used; then it is gone on with."""
    bench = own_bench
    bench.run("practice")
    marker = bench.root / "begun"
    fake_blkdiscard(bench, f"touch {marker}; sleep 60")
    process = bench.start(*bench.practice("erase", "--param", "samples=16"))
    wait_for(marker.exists, 60)
    process.kill()
    process.communicate()
    first = bench.json("show", "1")
    capacity = first["drive"]["identity"]["capacity"]
    somebodys = b"somebody's own data " * 400
    places = list(Marks(first["uuid"], capacity, 4096, 16).places())
    fd = os.open(node(bench), os.O_RDWR)
    try:
        for place in places:
            os.pwrite(fd, somebodys[:4096], place)
        os.fsync(fd)
    finally:
        os.close(fd)
    fake_blkdiscard(bench, "exit 0")
    result = bench.run(*bench.practice("erase", "--param", "rung=resume"), "--json")
    assert result.returncode == 5, result.stderr
    document = json.loads(result.stdout)
    assert [step["kind"] for step in document["steps"]] == ["mark", "purge", "read-back"]
    assert "16 of 16 marks can still be read" in document["reason"]
    assert bench.run("export", "2", "--format", "certificate").returncode == 2


def test_a_cancelled_overwrite_is_reported_and_can_be_forgotten(small_bench: Bench) -> None:
    bench = small_bench
    process = overwriting(bench)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert [item["rung"] for item in bench.json("purges")["purges"]] == ["overwrite"]
    result = bench.run("purges", "--undo", "practice")
    assert result.returncode == 0, result.stderr
    assert "what was erased is gone" in result.stdout
    assert bench.json("purges")["purges"] == []
    again = bench.run("purges", "--undo", "practice")
    assert again.returncode == 2
    assert "no purge of this drive was interrupted" in again.stderr


@pytest.mark.parametrize(
    ("rung", "part"),
    [
        ("sanitize-block", "an NVMe command"),
        ("format", "an NVMe command"),
        ("security-erase", "an ATA command"),
        ("gutmann", "is not one of"),
        ("resume", "no purge of this drive was interrupted"),
    ],
)
def test_an_erase_method_that_the_drive_does_not_offer_is_one_line(
    bench: Bench, rung: str, part: str
) -> None:
    bench.run("practice")
    stat = Path(f"/sys/block/{Path(node(bench)).name}/stat")
    before = stat.read_text().split()[6]
    result = bench.run(*bench.practice("erase", "--param", f"rung={rung}"))
    assert result.returncode == 2
    assert part in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert stat.read_text().split()[6] == before


def test_without_the_code_nothing_is_purged(bench: Bench) -> None:
    bench.run("practice")
    stat = Path(f"/sys/block/{Path(node(bench)).name}/stat")
    before = stat.read_text().split()
    result = bench.run("run", "erase", "--drive", "practice")
    assert result.returncode == 3
    assert "--erase practice" in result.stderr
    after = stat.read_text().split()
    assert (after[6], after[13]) == (before[6], before[13])


def test_a_dry_run_shows_the_erase_method_and_the_cost(bench: Bench) -> None:
    bench.run("practice")
    plan = bench.json("run", "erase", "--drive", "practice", "--dry-run",
                      "--param", "rung=overwrite")  # fmt: skip
    step = plan["steps"][1]
    assert (step["kind"], step["rung"]) == ("purge", "overwrite")
    assert step["bytes_written"] == bench.json("drive", "practice")["capacity"]["value"]


def test_another_suites_run_has_no_certificate(bench: Bench) -> None:
    document = bench.json(*bench.practice("cdm", *QUICK_CDM, "--param", "profile=demo"))
    result = bench.run("export", str(document["number"]), "--format", "certificate")
    assert result.returncode == 2
    assert "cdm is no erase" in result.stderr
