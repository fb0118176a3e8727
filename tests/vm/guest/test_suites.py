"""Both suites on each real driver, with the guard in the way."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchstick.drives import discover
from tests.host.bench import Bench

from .conftest import by_pass, changes, mounts_of, sh, written_sectors
from .drive_help import checksum, scsi_debug

CDM = ("--param", "passes=1", "--param", "time=1", "--param", "interval=0",
       "--param", "size=16MiB")  # fmt: skip
DAS = ("--scale", "0.0005", "--param", "passes=1", "--param", "idle=0",
       "--param", "sets=Home,ISOs")  # fmt: skip
DRIVES = {
    "BSUAS0001": ("usb-uas", "free", "file on exfat"),
    "BSBOT0001": ("usb-bot", "free", "file on exfat"),
    "BSSATA0001": ("sata", "locked", "file on exfat"),
    "BSNVME0001": ("nvme", "locked", "file on exfat"),
}
# The drive that only this test uses, where no parameter has it (conftest.py).
LANES = {
    "test_protected_locked_and_wrong_code_leave_every_byte": "BSUAS0001",
    "test_a_drive_that_answers_with_read_errors_is_reported_as_lost": "made",
    "test_raw_writes_are_incompressible_on_the_drive": "BSUAS0001",
    "test_ntfs_by_the_kernels_own_driver": "BSUAS0001",
    "test_keep_leaves_a_users_files_as_they_were": "BSUAS0001",
    "test_keep_without_a_filesystem_names_the_way": "BSBOT0001",
    "test_a_full_filesystem_is_reported": "BSBOT0001",
    "test_journalled_data_is_invalid_buffered_and_no_result": "BSBOT0001",
}


def unlocked(serial: str) -> tuple[str, ...]:
    return ("--unlock", serial) if DRIVES[serial][1] == "locked" else ()


@pytest.mark.parametrize("serial", DRIVES)
def test_both_suites_run_on_each_driver(bench: Bench, serial: str) -> None:
    transport, state, target = DRIVES[serial]
    drive = bench.json("drive", serial)
    assert drive["transport"]["value"] == transport
    assert drive["guard"]["state"] == state
    codes = ("--erase", serial, *unlocked(serial))
    document = bench.json("run", "das", "--drive", serial, *codes, *DAS)
    assert document["state"] == "done"
    assert document["conditions"]["target"] == target
    assert {item["state"] for item in document["results"]} == {"valid"}, document["results"]
    assert mounts_of(document["uuid"]) == []
    # All eight tests on one driver, the two sequential ones on the others: fio starts slowly here.
    profile, tests = ("default", 8) if serial == "BSUAS0001" else ("demo", 2)
    document = bench.json("run", "cdm", "--drive", serial, "--fs", "auto", *codes, *CDM,
                          "--param", f"profile={profile}")  # fmt: skip
    speeds = [item for item in document["results"] if item["pass"] == 1]
    assert {item["state"] for item in speeds} == {"valid"}, speeds
    assert len([item for item in speeds if item["unit"] == "MB/s"]) == tests
    verdict = document["result"]["verdicts"][0]
    assert f"queue depth {drive['queue_depth']['value']}" in verdict["text"]
    warm = [item["celsius"] for item in document["temperatures"]]
    if serial == "BSNVME0001":
        assert all(40 < value < 60 for value in warm)
    else:
        assert all(item["reason"] for item in document["temperatures"] if item["celsius"] is None)
    assert mounts_of(document["uuid"]) == []


@pytest.mark.parametrize("serial", ["BSSATA0001", "BSNVME0001"])
def test_a_locked_drive_is_refused_without_its_unlock_code(
    bench: Bench, node: Callable[[str], str], serial: str
) -> None:
    before = written_sectors(node(serial))
    result = bench.run("run", "cdm", "--drive", serial, "--fs", "auto", "--erase", serial, *CDM)
    assert result.returncode == 3, result.stderr
    assert written_sectors(node(serial)) == before


def test_protected_locked_and_wrong_code_leave_every_byte(
    bench: Bench, node: Callable[[str], str]
) -> None:
    nodes = [node(serial) for serial in ("BSPCEXT4", "BSPCWIN", "BSUAS0001")]
    sh("sync")
    before = [(changes(path), checksum(path)) for path in nodes]
    raw = ("--target", "block")
    for suite, argv in (
        ("das", ("--drive", "BSPCEXT4", "--erase", "BSPCEXT4", "--unlock", "BSPCEXT4", *DAS)),
        ("cdm", ("--drive", "BSPCWIN", "--erase", "BSPCWIN", *raw, *CDM)),
        ("das", ("--drive", "BSUAS0001", "--erase", "BSUAS0002", *DAS)),
        ("cdm", ("--drive", "BSUAS0001", *raw, *CDM)),
    ):
        result = bench.run("run", suite, *argv)
        assert result.returncode == 3, (argv, result.stderr)
        assert "Traceback" not in result.stderr
    assert [(changes(path), checksum(path)) for path in nodes] == before
    result = bench.run("run", "das", "--drive", "BSUAS0001", "--erase", "BSUAS0001", *DAS)
    assert result.returncode == 0, result.stderr
    assert changes(nodes[2]) != before[2][0]


def test_a_drive_that_answers_with_read_errors_is_reported_as_lost(bench: Bench) -> None:
    """It stays plugged in, so that only the failing reads show it."""
    # 2: reads of the sectors from 0x1234 on end in a medium error.
    with scsi_debug("dev_size_mb=64", "opts=2") as names:
        code = next(drive.code for drive in discover.scan() if drive.name == names[0])
        document = bench.json(
            "run", "cdm", "--drive", code, "--target", "block", "--erase", code, "--unlock", code,
            *CDM, "--param", "profile=demo", code=4,
        )  # fmt: skip
    assert document["state"] == "failed"
    assert "answers with I/O errors" in document["reason"]
    assert [event["kind"] for event in document["events"]] == ["drive-lost"]


def test_raw_writes_are_incompressible_on_the_drive(
    bench: Bench, node: Callable[[str], str]
) -> None:
    document = bench.json(
        "run", "cdm", "--drive", "BSUAS0001", "--target", "block", "--erase", "BSUAS0001", *CDM,
        "--param", "profile=demo",
    )  # fmt: skip
    result = by_pass(document)["SEQ1M Q8T1 write", 1]
    assert result["state"] == "valid", result["reason"]
    counters, totals = result["detail"]["counters"], result["detail"]["totals"]
    assert abs(counters["write_bytes"] - totals["write_bytes"]) <= 0.005 * totals["write_bytes"]
    data = subprocess.run(
        ["dd", f"if={node('BSUAS0001')}", "bs=1M", "count=16", "iflag=direct", "status=none"],
        capture_output=True,
        check=True,
    ).stdout
    assert len(gzip.compress(data, 6)) >= 0.98 * len(data)


def test_ntfs_by_the_kernels_own_driver(bench: Bench) -> None:
    document = bench.json(
        "run", "das", "--drive", "BSUAS0001", "--erase", "BSUAS0001", "--fs", "ntfs", *DAS
    )
    assert document["conditions"]["target"] == "file on ntfs"
    states = {(i["name"], i["pass"]): (i["state"], i["reason"]) for i in document["results"]}
    assert {state for state, _ in states.values()} == {"valid"}, states


def test_keep_leaves_a_users_files_as_they_were(
    bench: Bench, node: Callable[[str], str], tmp_path: Path
) -> None:
    path = node("BSUAS0001")
    sh("wipefs", "-q", "-a", path)
    sh("mkfs.exfat", path)
    sh("mount", "-t", "exfat", path, str(tmp_path))
    (tmp_path / "Photos").mkdir()
    for number in range(20):
        (tmp_path / "Photos" / f"p{number}.jpg").write_bytes(bytes([number]) * 100_001)
    mounted = bench.run("run", "cdm", "--drive", "BSUAS0001", *CDM)
    assert mounted.returncode == 3
    assert str(tmp_path) in mounted.stderr
    sh("umount", str(tmp_path))
    document = bench.json("run", "cdm", "--drive", "BSUAS0001", *CDM, "--param", "profile=demo")
    assert document["plan"]["destroys"] is False
    assert document["conditions"]["target"] == "file on exfat"
    document = bench.json("run", "das", "--drive", "BSUAS0001", "--fs", "keep", *DAS)
    assert {item["state"] for item in document["results"]} == {"valid"}, document["results"]
    sh("mount", "-t", "exfat", "-o", "ro", path, str(tmp_path))
    try:
        assert [item.name for item in tmp_path.iterdir()] == ["Photos"]
        for number in range(20):
            data = (tmp_path / "Photos" / f"p{number}.jpg").read_bytes()
            assert data == bytes([number]) * 100_001
    finally:
        sh("umount", str(tmp_path))


def test_keep_without_a_filesystem_names_the_way(bench: Bench, node: Callable[[str], str]) -> None:
    sh("wipefs", "-q", "-a", node("BSBOT0001"))
    result = bench.run("run", "cdm", "--drive", "BSBOT0001", *CDM)
    assert result.returncode == 2
    assert "--fs auto --erase BSBOT0001" in result.stderr


def test_a_full_filesystem_is_reported(
    bench: Bench, node: Callable[[str], str], tmp_path: Path
) -> None:
    path = node("BSBOT0001")
    sh("wipefs", "-q", "-a", path)
    sh("mkfs.exfat", path)
    sh("mount", "-t", "exfat", path, str(tmp_path))
    # exFAT allocates at once what a file is made to hold, and writes none of it.
    free = os.statvfs(tmp_path)
    with (tmp_path / "fill").open("wb") as file:
        file.truncate(free.f_bavail * free.f_frsize - (8 << 20))
    remaining = os.statvfs(tmp_path)
    assert remaining.f_bavail * remaining.f_frsize <= 8 << 20
    sh("umount", str(tmp_path))
    for suite, more in (("cdm", CDM), ("das", ("--fs", "keep", *DAS))):
        result = bench.run("run", suite, "--drive", "BSBOT0001", *more)
        assert result.returncode == 2, result.stderr
        assert "full" in result.stderr or "No space" in result.stderr
        assert "Traceback" not in result.stderr
    assert mounts_of(path) == []


def test_journalled_data_is_invalid_buffered_and_no_result(
    bench: Bench, node: Callable[[str], str]
) -> None:
    path = node("BSBOT0001")
    sh("wipefs", "-q", "-a", path)
    sh("mkfs.ext4", "-q", "-F", path)
    sh("tune2fs", "-o", "journal_data", path)
    for suite, more in (
        ("cdm", (*CDM, "--param", "profile=demo")),
        ("das", ("--fs", "keep", *DAS)),
    ):
        result = bench.run("run", suite, "--drive", "BSBOT0001", *more, "--json")
        document = json.loads(result.stdout)
        assert result.returncode == 5, result.stderr
        single = [item for item in document["results"] if item["pass"] == 1]
        reasons = set()
        for way in (" write", " read"):
            results = [item for item in single if way in item["name"]]
            assert results, way
            for item in results:
                assert item["state"] == "invalid", item
                reasons.add(item["reason"].partition(":")[0])
        # A copy of another lane drops the machine's page cache: where that was just before the
        # check, the drive's counters show more written, or less read, than requested.
        assert "buffered" in reasons
        assert reasons <= {"buffered", "counters"}
        assert [i["value"] for i in document["results"] if i["pass"] is None and i["value"]] == []
