"""Retail QA on real drivers: four drives at once, by command and by themselves (what was plugged in
while the bench watched is erased without hands); a scanner whose Enter confirms nothing; a webhook
whose receiver comes late. Each condition of erasing: tests/host/test_qa.py."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from .conftest import RunVm

MIB = 1 << 20
SLOW = 8_000_000
PASS, SLOWER, BOT, LOST = "BSUAS0001", "QASLOW001", "BSBOT0001", "QALOST001"


@pytest.fixture(scope="module")
def told(vm: RunVm, tmp_path_factory: pytest.TempPathFactory) -> Any:
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
    for name, node, serial in (("slow", "slow", SLOWER), ("lost", "lost-file", LOST)):
        words += ["-device", f"usb-uas,bus=xhci2.0,id=qa-{name},serial={serial}"]
        disk = f"scsi-hd,bus=qa-{name}.0,scsi-id=0,lun=0,drive={node},serial={serial}"
        words += ["-device", disk]
    # A serial line with a real UART's driver at this end, a file at the other.
    line = Path(folder, "line")
    words += ["-chardev", f"file,id=line,path={line}", "-device", "isa-serial,chardev=line"]
    found = vm(
        "python3 -m tests.vm.qa_runs",
        BENCHSTICK_VM_QEMU=shlex.join(words),
        BENCHSTICK_VM_SIZE="64M",
        BENCHSTICK_VM_TIMEOUT="1200",
    ).json()
    return {**found, "line": line.read_text(encoding="ascii").splitlines()}


def words_of(drives: Any) -> dict[str, str]:
    return {code: found["verdict"] for code, found in drives.items()}


def test_four_drives_at_once_each_with_its_verdict(told: Any) -> None:
    found = told["command"]
    assert words_of(found["drives"]) == {
        PASS: "pass", SLOWER: "fail", BOT: "fail", LOST: "inconclusive",
    }, json.dumps(found["drives"], indent=1)  # fmt: skip
    assert found["drives"][SLOWER]["codes"] == ["figure-limit"]
    assert "SEQ1M Q8T1 read" in found["drives"][SLOWER]["why"]
    assert found["drives"][BOT]["codes"] == ["fact-limit"]
    assert "transport" in found["drives"][BOT]["why"]
    assert "drive-lost" in found["drives"][LOST]["codes"]
    assert found["drives"][LOST]["exit_code"] == 4
    assert found["exit"] == found["document_exit"] == 1
    assert found["together"] >= 2, "they were measured at once, and their figures say so"
    assert len(found["shared"]) >= 1


def test_what_other_programs_read_says_the_same(told: Any) -> None:
    found = told["command"]
    for code, drive in found["drives"].items():
        assert found["csv"][code] == [drive["verdict"], str(drive["exit_code"])]
        assert found["events"][code] == drive["verdict"]
        assert sorted(set(found["junit"][code])) == sorted(set(drive["codes"])), code


def test_the_same_by_itself_on_hot_plug(told: Any) -> None:
    found = told["itself"]
    assert found["slots"] == {
        "slot 1": ["pass", PASS], "slot 2": ["fail", SLOWER], "slot 3": ["fail", BOT],
        "slot 4": ["inconclusive", LOST],
    }, json.dumps(found["drives"], indent=1)  # fmt: skip
    assert words_of(found["drives"]) == {
        PASS: "pass", SLOWER: "fail", BOT: "fail", LOST: "inconclusive",
    }  # fmt: skip
    assert {drive["slot"] for drive in found["drives"].values()} == set(found["slots"])


def test_the_serial_line_has_each_event_of_the_log(told: Any) -> None:
    assert len(told["log"]) > 40
    assert told["line"] == told["log"]
    verdicts = [line for line in told["line"] if "event=verdict " in line]
    assert len(verdicts) == 8, "four by command, four by themselves"


def test_a_scanners_enter_stops_and_confirms_nothing(told: Any) -> None:
    found = told["itself"]
    assert found["during"] == "countdown"
    # What was scanned last before its test began goes with the drive; nothing was lost on the way.
    assert found["drives"][PASS]["labels"] == {"asset": "stop"}
    assert [(scan["text"], scan["kind"]) for scan in found["scans"]] == [
        ("A-77", "asset"), ("stop", "asset"),
    ]  # fmt: skip
    assert found["scans"][0]["taken"] == ""
    assert found["scans"][1]["taken"].startswith(PASS)


def test_a_webhook_whose_receiver_comes_late_loses_nothing(told: Any) -> None:
    found = told["itself"]
    assert len(found["waited"]) == 4
    assert any(row["tries"] and "Connection refused" in row["why"] for row in found["waited"])
    posted = {one["key"]: one for one in found["posted"]}
    assert len(posted) == 4
    assert len(found["posted"]) == 5, "the one that was answered with 500 came again"
    assert {one["drive"]: one["verdict"] for one in posted.values()} == words_of(found["drives"])
