"""The image boots as a USB stick, by SeaBIOS and by OVMF, and the bench in it works."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import pytest

from tests.image.machine import Machine


def numbers_of(machine: Machine, words: str) -> list[int]:
    """The processes whose command line holds `words`, the oldest first."""
    output = machine.shell("ps -o pid,args")
    own = [line for line in output.splitlines() if words in line and "/service " not in line]
    lines = [line.split(None, 1) for line in own]
    return [int(number) for number, _ in lines]


TRANSPORTS = {
    "BSUAS0001": "usb-uas",
    "BSBOT0001": "usb-bot",
    "BSSATA0001": "sata",
    "BSNVME0001": "nvme",
}


def test_page_is_shut_without_the_pin(booted_machine: Machine) -> None:
    cookie, booted_machine.cookie = booted_machine.cookie, None
    try:
        assert booted_machine.ask("GET", "/api/v1/drives").status == 401
    finally:
        booted_machine.cookie = cookie


def test_drives_report_serial_and_transport(booted_machine: Machine) -> None:
    drives = {drive["code"]: drive for drive in booted_machine.get("/api/v1/drives")["drives"]}
    transports = {code: drives[code]["transport"]["value"] for code in TRANSPORTS}
    assert transports == TRANSPORTS


def test_stick_is_protected_and_internal_drives_are_locked(booted_machine: Machine) -> None:
    drives = booted_machine.get("/api/v1/drives")["drives"]
    state = {drive["code"]: drive["guard"]["state"] for drive in drives}
    assert state["BSSTICK01"] == "protected"
    assert state["BSPCEXT4"] == state["BSPCWIN"] == state["BSSATA0001"] == "locked"
    assert state["BSUAS0001"] == state["BSBOT0001"] == "free"


def test_web_process_is_not_root(booted_machine: Machine) -> None:
    (number,) = numbers_of(booted_machine, "webui.server.serve")
    own = booted_machine.shell("id -u benchstick").strip()
    assert own != "0"
    words = booted_machine.shell(f"grep Uid: /proc/{number}/status").split()
    assert words == ["Uid:", own, own, own, own]


def test_services_come_back(booted_machine: Machine) -> None:
    (before,) = numbers_of(booted_machine, "benchstick agent")
    booted_machine.shell(f"kill -9 {before}")
    deadline = time.monotonic() + 120
    while True:
        after = numbers_of(booted_machine, "benchstick agent")
        # It is at work when it holds the agent's lock.
        if after and after[0] != before:
            locks = booted_machine.shell("cat /proc/locks").split()
            if str(after[0]) in locks:
                break
        assert time.monotonic() < deadline, (before, after)
        time.sleep(1)


def test_tools_are_there(booted_machine: Machine) -> None:
    tools = (
        "fio smartctl hdparm nvme sg_inq sg_vpd lspci lsusb sfdisk partx lsblk blkid findmnt "
        "losetup mkfs.ext4 resize2fs debugfs mkfs.vfat mkfs.exfat mkntfs ntfsls setpriv wipefs "
        "blkdiscard"
    )
    out = booted_machine.shell(
        f"for t in {tools}; do command -v $t >/dev/null || echo missing $t; done"
    )
    assert "missing" not in out, out
    assert re.search(r"BSSTICK01|QEMU USB", booted_machine.shell("lsusb"))
    assert "Driver=uas" in booted_machine.shell("lsusb -t")
    assert "libaio" in booted_machine.shell("fio --enghelp")
    assert "io_uring" in booted_machine.shell("fio --enghelp")


def test_nothing_needs_what_the_image_leaves_out(booted_machine: Machine) -> None:
    assert booted_machine.shell("! ls /usr/lib | grep -E 'lib(ssl|crypto)'").strip() == ""
    hashes = "import hashlib, hmac, secrets; print(hashlib.sha256(b'').hexdigest()[:8])"
    assert "e3b0c442" in booted_machine.shell(f'python3 -c "{hashes}"')


DOWN = "\x1b[B"


@pytest.mark.parametrize(
    ("firmware", "entry", "keys", "words"),
    [
        ("bios", "safe graphics", DOWN, "nomodeset vga=normal"),
        ("uefi", "serial console", DOWN + DOWN, "console=tty0 console=ttyS0,115200"),
    ],
)
def test_the_menus_other_entries_boot(
    make_machine: Callable[..., Machine], firmware: str, entry: str, keys: str, words: str
) -> None:
    pc = make_machine(firmware, drives=False)
    pc.serial.wait(f"Benchstick, {entry}", 120)
    pc.serial.type(f"{keys}\r")
    pc.wait_page()
    assert words in pc.shell("cat /proc/cmdline")
    assert json.loads(pc.shell("benchstick appliance show --json"))["persistent"]
