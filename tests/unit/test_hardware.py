"""Recorded drives give the facts that are expected of them (tests/hardware)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives.types import Drive
from tests.hardware import documented, playback


@pytest.fixture(params=playback.case_names())
def case(request: pytest.FixtureRequest) -> Path:
    return playback.CASES / str(request.param)


def test_each_drive_has_the_expected_facts(case: Path, tmp_path: Path) -> None:
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    drives = {drive.name: drive for drive in playback.play(case, tmp_path)}
    assert set(drives) == set(expected)
    for name, expectation in expected.items():
        _compare(drives[name], expectation)


def _compare(drive: Drive, expectation: dict[str, Any]) -> None:
    assert drive.code == expectation["code"]
    assert (drive.guard.state, drive.guard.reason) == (expectation["guard"], drive.guard.reason)
    assert expectation["reason"] in drive.guard.reason
    for name, value in expectation["facts"].items():
        fact = drive.facts[name]
        if isinstance(value, dict) and "contains" in value:
            assert value["contains"] in str(fact.value), name
        else:
            assert fact.value == value, f"{name}: {fact}"
    for name, reason in expectation["unknown"].items():
        fact = drive.facts[name]
        assert fact.value is None, f"{name}: {fact}"
        assert reason in (fact.reason or ""), f"{name}: {fact}"


def test_no_fact_is_blank(case: Path, tmp_path: Path) -> None:
    for drive in playback.play(case, tmp_path):
        for name, fact in drive.facts.items():
            document = fact.to_json()
            if document["value"] is None:
                assert document["reason"], name
                assert document["reason"] != "not reported", name
            else:
                assert document["source"], name


def test_codes_are_unique_in_each_case(case: Path, tmp_path: Path) -> None:
    codes = [drive.code for drive in playback.play(case, tmp_path)]
    assert len(codes) == len(set(codes))
    assert all(codes)


def test_a_scan_of_one_drive_alone_gives_the_same_code(case: Path, tmp_path: Path) -> None:
    """A run scans its own drive only: it must get the same code as a scan of all drives."""
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    for number, name in enumerate(expected):
        others = set(expected) - {name}
        drives = playback.play(case, tmp_path / str(number), identity_only=others)
        assert {drive.name: drive.code for drive in drives} == {
            other: expectation["code"] for other, expectation in expected.items()
        }
        assert {drive.name for drive in drives if drive.guard.state == "free"} <= {name}


@pytest.mark.parametrize("build", documented.BUILDERS, ids=lambda build: build.__name__)
def test_documented_cases_are_as_their_builder_makes_them(build: Any, tmp_path: Path) -> None:
    new_case = build()
    new_case.write(tmp_path)
    for fresh in sorted((tmp_path / new_case.name).rglob("*")):
        if fresh.is_file():
            stored_file = playback.CASES / fresh.relative_to(tmp_path)
            assert stored_file.read_bytes() == fresh.read_bytes(), stored_file


def test_the_required_kinds_of_hardware_are_recorded() -> None:
    expected = {
        "sata-ssd", "nvme-ssd", "uas-bridge-sat", "bot-stick", "bridge-without-pass-through",
        "sata-frozen", "enclosure-two-luns", "two-with-one-serial", "uas-by-usb-storage",
        "vm-sata", "vm-nvme", "vm-uas", "vm-bot", "vm-pc-mounted", "vm-pc-windows",
        "vm-enclosure", "two-with-one-inner-serial",
    }  # fmt: skip
    assert expected <= set(playback.case_names())
