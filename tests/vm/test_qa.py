"""Retail QA on real drivers: four drives at once, by command and automatically (a drive that was
plugged in while the agent was running is erased unattended); a scanner whose Enter confirms
nothing; a webhook whose receiver comes late. Each condition of erasing: tests/host/test_qa.py."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from .conftest import RunVm

MIB = 1 << 20
SLOW = 8_000_000
PASS, SLOWER, BOT, DISCONNECTED = "BSUAS0001", "QASLOW001", "BSBOT0001", "QALOST001"


@pytest.fixture(scope="module")
def reports(vm: RunVm, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What qa_runs.py, in one boot, found out."""
    folder = tmp_path_factory.mktemp("qa")
    # A controller of their own: the VM's has four ports.
    words = ["-device", "qemu-xhci,id=xhci2"]
    words += ["-object", f"throttle-group,id=tg-slow,x-bps-total={SLOW}"]
    for name in ("slow", "lost"):
        path = Path(folder, f"{name}.img")
        with path.open("wb") as file:
            file.truncate(64 * MIB)
        words += ["-blockdev", f"file,node-name={name}-file,filename={path}"]
    words += ["-blockdev", "throttle,node-name=slow,throttle-group=tg-slow,file=slow-file"]
    for name, node, serial in (("slow", "slow", SLOWER), ("lost", "lost-file", DISCONNECTED)):
        words += ["-device", f"usb-uas,bus=xhci2.0,id=qa-{name},serial={serial}"]
        disk = f"scsi-hd,bus=qa-{name}.0,scsi-id=0,lun=0,drive={node},serial={serial}"
        words += ["-device", disk]
    # A serial line with a real UART's driver at this end, a file at the other.
    line = Path(folder, "line")
    words += ["-chardev", f"file,id=line,path={line}", "-device", "isa-serial,chardev=line"]
    report = vm(
        "python3 -m tests.vm.qa_runs",
        BENCHSTICK_VM_QEMU=shlex.join(words),
        BENCHSTICK_VM_SIZE="64M",
        BENCHSTICK_VM_TIMEOUT="3000",
    ).json()
    return {**report, "line": line.read_text(encoding="ascii").splitlines()}


def words_of(drives: Any) -> dict[str, str]:
    return {code: drive["verdict"] for code, drive in drives.items()}


def test_four_drives_at_once_each_with_its_verdict(reports: Any) -> None:
    report = reports["command"]
    assert words_of(report["drives"]) == {
        PASS: "pass", SLOWER: "fail", BOT: "fail", DISCONNECTED: "inconclusive",
    }, json.dumps(report["drives"], indent=1)  # fmt: skip
    assert report["drives"][SLOWER]["codes"] == ["figure-limit"]
    assert "SEQ1M Q8T1 read" in report["drives"][SLOWER]["reason"]
    assert report["drives"][BOT]["codes"] == ["fact-limit"]
    assert "transport" in report["drives"][BOT]["reason"]
    assert "drive-lost" in report["drives"][DISCONNECTED]["codes"]
    assert report["drives"][DISCONNECTED]["exit_code"] == 4
    assert report["exit"] == report["document_exit"] == 1
    assert report["together"] >= 2, "they were measured at once, and their results say so"
    assert len(report["shared"]) >= 1


def test_what_other_programs_read_says_the_same(reports: Any) -> None:
    report = reports["command"]
    for code, drive in report["drives"].items():
        assert report["csv"][code] == [drive["verdict"], str(drive["exit_code"])]
        assert report["events"][code] == drive["verdict"]
        assert sorted(set(report["junit"][code])) == sorted(set(drive["codes"])), code


def test_the_same_automatically_on_hot_plug(reports: Any) -> None:
    report = reports["itself"]
    assert report["slots"] == {
        "slot 1": ["pass", PASS], "slot 2": ["fail", SLOWER], "slot 3": ["fail", BOT],
        "slot 4": ["inconclusive", DISCONNECTED],
    }, json.dumps(report["drives"], indent=1)  # fmt: skip
    assert words_of(report["drives"]) == {
        PASS: "pass", SLOWER: "fail", BOT: "fail", DISCONNECTED: "inconclusive",
    }  # fmt: skip
    assert {drive["slot"] for drive in report["drives"].values()} == set(report["slots"])


def test_the_serial_line_has_each_event_of_the_log(reports: Any) -> None:
    assert len(reports["log"]) > 40
    assert reports["line"] == reports["log"]
    verdicts = [line for line in reports["line"] if "event=verdict " in line]
    assert len(verdicts) == 8, "four by command, four by themselves"


def test_a_scanners_enter_stops_and_confirms_nothing(reports: Any) -> None:
    report = reports["itself"]
    assert report["during"] == "countdown"
    # The last scan before its test started is attached to the drive; no scan was lost.
    assert report["drives"][PASS]["labels"] == {"asset": "stop"}
    assert [(scan["text"], scan["kind"]) for scan in report["scans"]] == [
        ("A-77", "asset"), ("stop", "asset"),
    ]  # fmt: skip
    assert report["scans"][0]["assigned_to"] == ""
    assert report["scans"][1]["assigned_to"].startswith(PASS)


def test_a_webhook_whose_receiver_comes_late_loses_nothing(reports: Any) -> None:
    report = reports["itself"]
    assert len(report["waited"]) == 4
    assert any(
        row["attempts"] and "Connection refused" in row["reason"] for row in report["waited"]
    )
    posted = {one["key"]: one for one in report["posted"]}
    assert len(posted) == 4
    assert len(report["posted"]) == 5, "the one that was answered with 500 came again"
    assert {one["drive"]: one["verdict"] for one in posted.values()} == words_of(report["drives"])
