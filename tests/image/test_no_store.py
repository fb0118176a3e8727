"""Booted without a stick that could be written: the bench works, and says what will not last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.image.machine import IMAGE, Machine, system_of


def check(pc: Machine, reason: str) -> None:
    pc.wait_ready()
    assert f"Results will not last: {reason}" in pc.ask("GET", "/drives").body.decode()
    assert "Results will not last" in pc.shell("benchstick console --once")
    number = pc.start_run(
        drive="BSUAS0001", suite="cdm", target="block", erase="BSUAS0001",
        params={"profile": "demo", "size": "16MiB", "passes": "1", "time": "1", "interval": "0"},
    )  # fmt: skip
    assert pc.wait_run(number, 600)["state"] == "done"


def test_from_a_write_protected_stick(make_machine: Callable[..., Machine]) -> None:
    pc = make_machine("bios", plugged="ro")
    check(pc, "")
    assert "protected" in pc.shell("benchstick drive BSSTICK01")


def test_from_a_network(make_machine: Callable[..., Machine], tmp_path: Path) -> None:
    extra = Machine.by_kernel(*system_of(IMAGE, tmp_path), "quiet")
    pc = make_machine("bios", plugged="", extra=extra)
    check(pc, "this system was not booted from a stick")
