"""A barcode scanner on the kernel's own input layer: what it types reaches the bench alone."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct

import pytest

from benchstick.agent.barcode import scanner
from tests.host.bench import Bench

from .drive_help import wait_for
from .uinput import NAME, find_keyboard, plugged


def collected(pattern: str, layout: str = "us") -> tuple[scanner.Scanner, list[str]]:
    texts: list[str] = []
    thread = scanner.Scanner(pattern, layout, lambda scan: texts.append(scan.text))
    thread.start()
    return thread, texts


def until(texts: list[str], number: int) -> None:
    wait_for(lambda: len(texts) >= number)


def test_scans_come_whole_and_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "LOOK_EVERY", 0.1)
    with plugged() as fake:
        device = find_keyboard()
        assert device is not None and device.id == "0c2e:0b61"
        other = os.open(device.node, os.O_RDONLY | os.O_NONBLOCK)
        try:
            # What another reader of the device, as the console is, gets of it before ...
            fake.scan("free")
            wait_for(lambda: _readable(other))
            os.read(other, 65536)
            thread, texts = collected("Bench Scan*")
            wait_for(lambda: thread.state.startswith("scanner Bench Scanner 1"))
            fake.scan("SN:S5XA-0042 (e)")
            fake.scan("no end", end=None)
            until(texts, 2)
            assert texts == ["SN:S5XA-0042 (e)", "no end"]
            # ... and while the bench has it: nothing.
            assert not _readable(other)
            with pytest.raises(OSError, match="busy"):
                fcntl.ioctl(other, 0x40044590, 1)
            thread.stop()
            fake.scan("again")
            wait_for(lambda: _readable(other))
        finally:
            os.close(other)


def _readable(fd: int) -> bool:
    try:
        data = os.read(fd, 24)
    except BlockingIOError:
        return False
    return struct.unpack("@llHHi", data)[2] is not None


def test_a_scanner_that_was_pulled_out_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "LOOK_EVERY", 0.1)
    thread, texts = collected("0c2e:0b61")
    assert "no scanner '0c2e:0b61' is plugged in" in thread.state
    for number in (1, 2):
        with plugged() as fake:
            wait_for(lambda: thread.state.startswith("scanner ") and "pulled" not in thread.state)
            fake.scan(f"tag {number}")
            until(texts, number)
        wait_for(lambda: "was pulled out" in thread.state)
    thread.stop()
    assert texts == ["tag 1", "tag 2"]


def test_the_command_lists_and_reads(bench: Bench) -> None:
    missing = bench.run("scanner", NAME)
    assert missing.returncode == 2
    assert "no such input device" in missing.stderr
    with plugged() as fake:
        keyboards = bench.json("scanner")["keyboards"]
        assert [one["id"] for one in keyboards if one["name"] == NAME] == ["0c2e:0b61"]
        reading = bench.start("scanner", "0c2e:0b61", "--json")
        assert reading.stderr is not None
        assert "reading Bench Scanner 1" in reading.stderr.readline()
        busy = bench.run("scanner", NAME)
        assert busy.returncode == 2
        assert "busy" in busy.stderr
        fake.scan("Order 7")
        assert reading.stdout is not None
        row = json.loads(reading.stdout.readline())
        assert (row["schema"], row["text"]) == ("benchstick/scan/1", "Order 7")
        reading.send_signal(signal.SIGTERM)
        reading.communicate(timeout=20)
        assert reading.returncode == 0
