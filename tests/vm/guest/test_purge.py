"""The erase methods on real kernel drivers: NVMe format, UNMAP, overwrite, and what is refused."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives import discover, sanitize_commands
from benchstick.drives.subprocesses import search_path
from tests.host.bench import Bench, processes, wait_for

from .conftest import sh, written_sectors
from .drive_help import checksum, scsi_debug

NVME = ("--drive", "BSNVME0001", "--erase", "BSNVME0001", "--unlock", "BSNVME0001")
BOT = ("--drive", "BSBOT0001", "--erase", "BSBOT0001")
SAMPLES = ("--param", "samples=200")
# The drive that only this test uses, where no parameter has it (conftest.py).
LANES = {
    "test_an_nvme_drive_says_what_it_offers": "BSNVME0001",
    "test_an_nvme_format_erases_and_keeps_the_lba_format": "BSNVME0001",
    "test_unmap_of_scsi_debug": "made",
    "test_without_unmap_the_overwrite_is_left": "made",
    "test_an_overwrite_over_bot_is_the_whole_drive_by_its_counters": "BSBOT0001",
    "test_a_purge_killed_in_the_middle_is_reported_and_resumed": "BSBOT0001",
    "test_a_purge_killed_in_the_middle_is_taken_back": "BSBOT0001",
    "test_a_cancelled_format_is_waited_for_and_its_end_is_known": "BSNVME0001",
    "test_a_format_killed_in_the_middle_is_reported_and_repeated": "BSNVME0001",
    "test_protected_and_wrong_code_leave_every_byte": "BSUAS0001",
}


def results(document: Any) -> dict[str, Any]:
    return {item["name"]: item for item in document["results"]}


def lba_format(path: str) -> sanitize_commands.LbaFormat:
    return sanitize_commands.parse_lba_format(sh("nvme", "id-ns", path, "-o", "json"))


def first_data(path: str) -> set[int]:
    """Byte values in the first 64 MiB, past the page cache."""
    process = subprocess.run(
        ["dd", f"if={path}", "bs=1M", "count=64", "iflag=direct", "status=none"],
        capture_output=True, check=True,
    )  # fmt: skip
    return set(process.stdout)


def test_an_nvme_drive_says_what_it_offers(bench: Bench) -> None:
    drive = bench.json("drive", "BSNVME0001")
    assert drive["format"]["value"] == ["user data erase"]
    assert drive["sanitize"]["value"] == []
    assert drive["namespaces"]["value"] == 1
    assert drive["lba_format"]["value"].endswith("512 B + 0 B metadata")


def test_an_nvme_format_erases_and_keeps_the_lba_format(
    bench: Bench, node: Callable[[str], str]
) -> None:
    path = node("BSNVME0001")
    sh("mkfs.ext4", "-q", "-F", path)
    before = lba_format(path)
    document = bench.json("run", "erase", *NVME, *SAMPLES)
    assert document["state"] == "done"
    assert document["conditions"]["state"] == "purged by NVMe Format, user data erase"
    purge = document["conditions"]["purge"]
    assert (purge["rung"], purge["requested_rung"]) == ("format", "auto")
    assert "--lbaf 0" in purge["command"]
    assert "LBA format kept" in purge["tool_output"]
    assert results(document)["marks gone"]["value"] == 100
    # QEMU has no Sanitize, and the plan has a note.
    assert any("Sanitize has no block erase" in note for note in document["plan"]["notes"])
    assert lba_format(path) == before
    # wipefs reads the drive; lsblk reports udev's data, which may be older.
    assert sh("wipefs", "--noheadings", path).strip() == ""
    assert first_data(path) == {0}
    result = bench.run("export", str(document["number"]), "--format", "certificate")
    certificate = json.loads(result.stdout)
    assert certificate["drive"]["serial"] == "BSNVME0001"
    assert certificate["purge"]["standard"] == "NVM Express, Format NVM command, User Data Erase"
    # The drive is as usable as before.
    sh("mkfs.ext4", "-q", "-F", path)


@pytest.mark.parametrize(
    ("serial", "rung", "part"),
    [
        ("BSNVME0001", "sanitize-block", "the drive's Sanitize has no block erase"),
        ("BSNVME0001", "sanitize-crypto", "the drive's Sanitize has no crypto erase"),
        ("BSNVME0001", "format-crypto", "the drive's Format has no crypto erase"),
        ("BSUAS0001", "security-erase", "not sent through a USB bridge"),
        ("BSBOT0001", "security-erase", "not sent through a USB bridge"),
        ("BSSATA0001", "security-erase", "no ATA security feature set"),
        ("BSSATA0001", "format", "an NVMe command"),
    ],
)
def test_what_a_drive_does_not_offer_is_refused_with_its_reason(
    bench: Bench, node: Callable[[str], str], serial: str, rung: str, part: str
) -> None:
    before = written_sectors(node(serial))
    result = bench.run("run", "erase", "--drive", serial, "--erase", serial, "--unlock", serial,
                     "--param", f"rung={rung}")  # fmt: skip
    assert result.returncode == 2, result.stderr
    assert part in result.stderr
    assert written_sectors(node(serial)) == before


def test_unmap_of_scsi_debug(bench: Bench) -> None:
    with scsi_debug("dev_size_mb=256", "lbpu=1", "lbprz=1") as names:
        code = next(drive.code for drive in discover.scan() if drive.name == names[0])
        document = bench.json(
            "run", "erase", "--drive", code, "--erase", code, "--unlock", code, *SAMPLES
        )
        assert document["conditions"]["purge"]["rung"] == "discard"
        counters = results(document)["purge time"]["detail"]["counters"]
        assert counters["discard_bytes"] == 256 << 20
        mark_counts = results(document)["marks gone"]["detail"]["found"]
        assert mark_counts == {"zeros": 200}
        assert first_data(f"/dev/{names[0]}") == {0}


def test_without_unmap_the_overwrite_is_left(bench: Bench) -> None:
    with scsi_debug("dev_size_mb=64", "lbpu=0") as names:
        code = next(drive.code for drive in discover.scan() if drive.name == names[0])
        codes = ("--drive", code, "--erase", code, "--unlock", code)
        result = bench.run("run", "erase", *codes, "--param", "rung=discard")
        assert result.returncode == 2
        assert "TRIM" in result.stderr
        document = bench.json("run", "erase", *codes, *SAMPLES)
        assert document["conditions"]["purge"]["rung"] == "overwrite"


def test_an_overwrite_over_bot_is_the_whole_drive_by_its_counters(
    bench: Bench, node: Callable[[str], str]
) -> None:
    document = bench.json("run", "erase", *BOT, *SAMPLES, timeout=900)
    assert document["conditions"]["purge"]["rung"] == "overwrite"
    capacity = document["drive"]["identity"]["capacity"]
    counters = results(document)["purge time"]["detail"]["counters"]
    for side in ("write_bytes", "read_bytes"):
        assert abs(counters[side] - capacity) <= 0.005 * capacity
    assert results(document)["marks gone"]["detail"]["found"] == {"other": 200}
    assert "all read back and equal" in document["conditions"]["purge"]["tool_output"]


def test_a_purge_killed_in_the_middle_is_reported_and_resumed(
    bench: Bench, node: Callable[[str], str]
) -> None:
    path = node("BSBOT0001")
    stat = Path(f"/sys/block/{Path(path).name}/stat")
    sectors_before = int(stat.read_text().split()[6])
    process = bench.start("run", "erase", *BOT, *SAMPLES)
    wait_for(lambda: int(stat.read_text().split()[6]) - sectors_before > (400 << 20) // 512, 300)
    process.kill()
    process.communicate()
    wait_for(lambda: not processes("fio", str(bench.home)), 60)
    (purge,) = bench.json("purges")["purges"]
    assert purge["rung"] == "overwrite"
    assert purge["written"] >= 256 << 20
    assert "was interrupted" in bench.run("drives").stderr
    document = bench.json("run", "erase", *BOT, "--param", "rung=resume", timeout=900)
    assert document["state"] == "done"
    capacity = document["drive"]["identity"]["capacity"]
    counters = results(document)["purge time"]["detail"]["counters"]
    assert counters["write_bytes"] == capacity - purge["written"]
    assert results(document)["marks gone"]["value"] == 100
    assert bench.json("purges")["purges"] == []


def test_a_purge_killed_in_the_middle_is_taken_back(
    bench: Bench, node: Callable[[str], str]
) -> None:
    path = node("BSBOT0001")
    stat = Path(f"/sys/block/{Path(path).name}/stat")
    sectors_before = int(stat.read_text().split()[6])
    process = bench.start("run", "erase", *BOT, *SAMPLES)
    wait_for(lambda: int(stat.read_text().split()[6]) - sectors_before > (64 << 20) // 512, 300)
    process.kill()
    process.communicate()
    assert len(bench.json("purges")["purges"]) == 1
    result = bench.run("purges", "--undo", "BSBOT0001")
    assert result.returncode == 0, result.stderr
    assert "what was erased is gone" in result.stdout
    assert bench.json("purges")["purges"] == []
    assert processes("fio", str(bench.home)) == []


@pytest.fixture
def slow_format(bench: Bench, tmp_path: Path) -> Iterator[Path]:
    """QEMU formats at once: `nvme format` takes three seconds longer here. The file that is there
    as soon as the drive is formatted."""
    real = shutil.which("nvme", path=search_path())
    formatted, tool = tmp_path / "formatted", tmp_path / "nvme"
    tool.write_text(
        f'#!/bin/sh\n{real} "$@" || exit\n'
        f'if [ "$1" = format ]; then touch {formatted}; sleep 3; fi\n'
    )
    tool.chmod(0o755)
    bench.use_tools(tmp_path, search_path())
    yield formatted
    bench.use_tools()


def test_a_cancelled_format_is_waited_for_and_its_end_is_known(
    bench: Bench, slow_format: Path
) -> None:
    process = bench.start("run", "erase", *NVME, "--param", "rung=format", *SAMPLES)
    wait_for(slow_format.exists, 120)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "user data erase completed first" in err
    document = bench.json("show", str(bench.json("runs")["runs"][0]["number"]))
    assert document["state"] == "cancelled"
    assert any("cannot be stopped" in event["text"] for event in document["events"])
    assert [step["state"] for step in document["steps"]] == ["done", "cancelled"]
    assert results(document)["purge time"]["value"] > 2.5
    assert bench.json("purges")["purges"] == []


def test_a_format_killed_in_the_middle_is_reported_and_repeated(
    bench: Bench, slow_format: Path
) -> None:
    process = bench.start("run", "erase", *NVME, "--param", "rung=format", *SAMPLES)
    wait_for(slow_format.exists, 120)
    process.kill()
    process.communicate()
    (purge,) = bench.json("purges")["purges"]
    assert (purge["rung"], purge["phase"]) == ("format", "erasing")
    assert "the drive completed the format; format it again" in purge["advice"]
    document = bench.json("run", "erase", *NVME, "--param", "rung=resume")
    assert [step["kind"] for step in document["steps"]] == ["mark", "purge", "read-back"]
    assert results(document)["marks gone"]["detail"]["found"] == {"zeros": 200}
    assert bench.json("purges")["purges"] == []
    number = str(document["number"])
    certificate = json.loads(bench.run("export", number, "--format", "certificate").stdout)
    assert certificate["purge"]["goes_on_with_run"] == purge["run"]


def test_protected_and_wrong_code_leave_every_byte(
    bench: Bench, node: Callable[[str], str]
) -> None:
    sh("sync")
    serials = ("BSPCEXT4", "BSUAS0001")
    before = [checksum(node(serial)) for serial in serials]
    for serial, code in (("BSPCEXT4", "BSPCEXT4"), ("BSUAS0001", "BSUAS0002")):
        result = bench.run("run", "erase", "--drive", serial, "--erase", code, "--unlock", code)
        assert result.returncode == 3, result.stderr
    assert [checksum(node(serial)) for serial in serials] == before
