"""How runs end when something goes wrong: each with its message, its exit code, nothing lost."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchstick.drives.subprocesses import search_path
from tests.host.bench import (
    QUICK_CDM,
    QUICK_DAS,
    SYSTEM_TOOLS,
    Bench,
    mounts_below,
    processes,
    wait_for,
)

LONG_CDM = ("--param", "passes=1", "--param", "time=30", "--param", "interval=0",
            "--param", "size=32MiB", "--param", "profile=demo")  # fmt: skip
# Built once by the set-up of the tests; it knows options that Debian 12's does not.
NEW_FIO = Path(__file__).resolve().parents[2] / ".cache/fio/bin"


def read_sector_count(bench: Bench) -> str:
    """The practice drive's count of written sectors."""
    name = bench.json("drive", "practice")["name"]
    return Path(f"/sys/block/{name}/stat").read_text().split()[6]


def fio_of(bench: Bench) -> list[int]:
    return processes("fio", str(bench.home))


def start_fio(bench: Bench) -> subprocess.Popen[str]:
    process = bench.start(*bench.practice("cdm", *LONG_CDM))
    wait_for(lambda: any("preparing" in text for text in live(bench)))
    wait_for(lambda: fio_of(bench))
    return process


def live(bench: Bench) -> list[str]:
    texts = []
    for path in (bench.root / "run" / "live").glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            texts.append(path.read_text())
    return texts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_cleanly(own_bench: Bench, number: signal.Signals) -> None:
    process = start_fio(own_bench)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert fio_of(own_bench) == []
    assert mounts_below(own_bench.root) == []
    (run,) = own_bench.json("runs", "--practice")["runs"]
    assert (run["state"], run["exit_code"]) == ("cancelled", 130)


def test_a_copy_is_cancelled_too(own_bench: Bench) -> None:
    # More passes than any machine gets through between two looks; a single one may be over
    # before the live record of it is written.
    process = own_bench.start(
        *own_bench.practice("das", "--scale", "0.05", "--param", "sets=ISOs",
                            "--param", "idle=0", "--param", "passes=20")
    )  # fmt: skip
    wait_for(lambda: any(re.search(r"pass \d+, (write|read)", text) for text in live(own_bench)))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert mounts_below(own_bench.root) == []
    document = own_bench.json("show", "1")
    assert document["state"] == "cancelled"
    assert all(step["state"] in ("done", "cancelled") for step in document["steps"])


def test_cancel_stops_a_run_of_another_process(own_bench: Bench) -> None:
    process = start_fio(own_bench)
    assert own_bench.run("cancel", "1").returncode == 0
    process.communicate(timeout=120)
    assert process.returncode == 130
    again = own_bench.run("cancel", "1")
    assert again.returncode == 2
    assert "is not running (cancelled)" in again.stderr


def test_a_killed_runner_leaves_no_tool_and_the_next_one_clears_up(own_bench: Bench) -> None:
    process = start_fio(own_bench)
    name = own_bench.json("drive", "practice")["name"]
    process.kill()
    process.communicate()
    wait_for(lambda: not fio_of(own_bench), 5)
    counters = Path(f"/sys/block/{name}/stat")
    # What the drive had in hand still comes back; then the counters stand.
    deadline = time.monotonic() + 30
    before, now = "", counters.read_text()
    while now != before and time.monotonic() < deadline:
        time.sleep(1)
        before, now = now, counters.read_text()
    assert now == before
    # Every command that reads shows it as interrupted, before anybody has recovered it.
    (run,) = own_bench.json("runs", "--practice")["runs"]
    assert run["state"] == "interrupted"
    assert mounts_below(own_bench.root) != []
    document = own_bench.json(*own_bench.practice("cdm", *QUICK_CDM))
    assert document["state"] == "done"
    first = own_bench.json("show", "1")
    assert first["state"] == "interrupted"
    assert "killed" in first["reason"]
    assert [step["state"] for step in first["steps"]][-1] == "interrupted"
    assert first["steps"][0]["state"] == "done"
    assert first["result"] is not None
    assert [event for event in first["events"] if event["kind"] == "recovery"] == []
    assert mounts_below(own_bench.root) == []


def test_the_practice_drive_is_not_taken_from_under_a_run(own_bench: Bench) -> None:
    process = start_fio(own_bench)
    try:
        result = own_bench.run("practice", "--detach")
        assert result.returncode == 3
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert own_bench.run("practice", "--detach").returncode == 0
    assert not (own_bench.home / "practice" / "practice.img").exists()


def test_a_killed_run_on_a_cancelled_mount_leaves_the_drive_usable(own_bench: Bench) -> None:
    process = own_bench.start(*own_bench.practice("cdm", *QUICK_CDM))
    wait_for(lambda: mounts_below(own_bench.root))
    process.kill()
    process.communicate()
    assert own_bench.run(*own_bench.practice("cdm", *QUICK_CDM)).returncode == 0
    assert mounts_below(own_bench.root) == []


def test_support_masks_what_identifies_a_drive(bench: Bench, tmp_path: Path) -> None:
    out = tmp_path / "support.json"
    assert bench.run("support", "--output", str(out)).returncode == 0
    document = json.loads(out.read_text())
    assert document["schema"] == "benchstick/support/2"
    for drive in document["drives"]["drives"]:
        assert drive["code"].startswith("masked-")
        assert drive["identity"]["drive_key"].startswith("masked-")
    result = bench.run("support", "--output", str(tmp_path / "no" / "such"))
    assert result.returncode == 2


def test_a_second_run_on_the_drive_is_refused(own_bench: Bench) -> None:
    process = start_fio(own_bench)
    try:
        second = own_bench.run(*own_bench.practice("cdm", *QUICK_CDM))
        assert second.returncode == 3
        assert "another run" in second.stderr
        assert "Traceback" not in second.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert len(own_bench.json("runs", "--practice")["runs"]) == 1


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((), 3),
        (("--erase", "wrong"), 3),
        (("--erase", "practice", "--unlock", "wrong"), 3),
        (("--erase", ""), 3),
    ],
)
def test_a_wrong_code_writes_nothing(bench: Bench, codes: tuple[str, ...], code: int) -> None:
    bench.run("practice")
    before = read_sector_count(bench)
    result = bench.run("run", "das", "--drive", "practice", *codes, *QUICK_DAS)
    assert result.returncode == code, result.stderr
    assert read_sector_count(bench) == before


def tools_without(tmp_path: Path, *left_out: str) -> str:
    """A folder with every tool of this machine except those named."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for place in search_path().split(":"):
        for path in Path(place).glob("*"):
            if path.name not in left_out and not (folder / path.name).is_symlink():
                (folder / path.name).symlink_to(path.resolve())
    return str(folder)


def test_missing_fio_is_named_with_its_package(own_bench: Bench, tmp_path: Path) -> None:
    own_bench.run("practice")
    own_bench.use_tools(tools_without(tmp_path, "fio"))
    before = read_sector_count(own_bench)
    result = own_bench.run(*own_bench.practice("cdm", *QUICK_CDM))
    assert result.returncode == 2
    assert "fio is not installed: apt-get install fio" in result.stderr
    assert read_sector_count(own_bench) == before


def test_fio_too_old_for_everything_is_bad_input(own_bench: Bench, tmp_path: Path) -> None:
    old = tmp_path / "fio"
    old.write_text("#!/bin/sh\necho fio-2.16\n")
    old.chmod(old.stat().st_mode | stat.S_IXUSR)
    own_bench.use_tools(tmp_path, search_path())
    result = own_bench.run(*own_bench.practice("cdm", *QUICK_CDM))
    assert result.returncode == 2
    assert "fio 2.16 is too old: 3.16 or later is needed" in result.stderr


def test_fio_too_old_for_a_step_skips_it_with_the_reason(own_bench: Bench) -> None:
    # Debian's own.
    own_bench.use_tools(SYSTEM_TOOLS)
    result = own_bench.run(*own_bench.practice("cdm", *QUICK_CDM, "--param", "latency_log=yes"),
                         "--json")  # fmt: skip
    assert result.returncode == 5, result.stderr
    document = json.loads(result.stdout)
    results = [item for item in document["results"] if item["pass"] == 1]
    assert {item["state"] for item in results} == {"skipped"}
    assert "no option log_window_value; 3.38 or later is needed" in results[0]["reason"]
    assert all(
        step["state"] == "skipped" for step in document["steps"] if step["name"].endswith("pass 1")
    )


def test_a_current_fio_does_that_step(own_bench: Bench) -> None:
    assert (NEW_FIO / "fio").exists(), "build it: make test, or scripts/build-fio"
    own_bench.use_tools(NEW_FIO, search_path())
    document = own_bench.json(
        *own_bench.practice("cdm", *QUICK_CDM, "--param", "latency_log=yes",
                            "--param", "profile=demo")
    )  # fmt: skip
    assert document["state"] == "done"
    step = next(item for item in document["steps"] if item["name"] == "SEQ1M Q8T1 read, pass 1")
    logs = list((own_bench.home / step["artifacts"]).glob("latency_*.log"))
    assert logs
    assert logs[0].read_text().count("\n") >= 1


def test_a_corrupt_store_is_kept_aside_reported_and_replaced(own_bench: Bench) -> None:
    own_bench.run("practice")
    (own_bench.home / "store.db").write_bytes(b"garbage" * 4096)
    result = own_bench.run(*own_bench.practice("cdm", *QUICK_CDM))
    assert result.returncode == 0, result.stderr
    assert "was corrupt" in result.stderr
    (aside,) = own_bench.home.glob("store.db.corrupt-*")
    assert aside.read_bytes() == b"garbage" * 4096


def test_a_corrupt_store_is_reported_by_commands_that_only_read(own_bench: Bench) -> None:
    own_bench.run("practice")
    (own_bench.home / "store.db").write_bytes(b"garbage" * 4096)
    result = own_bench.run("runs")
    assert result.returncode == 6
    assert "store.db" in result.stderr
    assert "Traceback" not in result.stderr
    assert (own_bench.home / "store.db").read_bytes() == b"garbage" * 4096


def test_a_data_folder_that_cannot_be_used(own_bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    own_bench.extra["BENCHSTICK_HOME"] = str(tmp_path / "file" / "home")
    result = own_bench.run("practice")
    assert result.returncode in (2, 6)
    assert len(result.stderr.strip().splitlines()) == 1


def test_an_unprivileged_user_needs_root(own_bench: Bench) -> None:
    for argv in (
        ("run", "cdm", "--drive", "practice"),
        ("agent",),
        ("practice",),
        ("cancel", "1"),
    ):
        code = (
            "import os, sys; sys.argv[1:] = " + repr(list(argv)) + "; "
            "from benchstick import cli; import importlib; "
            "[importlib.import_module('benchstick.cli.' + m)"
            " for m in set(cli.COMMANDS.values())];"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534); cli.main()"
        )
        process = subprocess.run(
            [sys.executable, "-c", code],
            env=own_bench.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 2, process.stderr
        assert "needs root" in process.stderr


@pytest.mark.parametrize("drive", ["/dev/nosuch", "NOSUCHCODE", "/dev/null", "/etc/passwd", ""])
def test_an_unknown_drive_lists_those_there_are(bench: Bench, drive: str) -> None:
    result = bench.run("run", "cdm", "--drive", drive, "--erase", "x")
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_another_loop_device_is_no_drive(bench: Bench, tmp_path: Path) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    loop = subprocess.run(
        ["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        result = bench.run("run", "cdm", "--drive", loop, "--erase", "practice", *QUICK_CDM)
        assert result.returncode in (2, 3)
        assert image.read_bytes() == bytes(64 << 20)
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
