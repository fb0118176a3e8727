"""Runs in the booted image by HTTP API from outside, and what is left of them."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.image.conftest import copy_of_image
from tests.image.machine import Machine, MachineFailed, list_fat, read_fat

QUICK_CDM = {"size": "64MiB", "passes": "1", "time": "1", "interval": "0"}


def cdm_on(machine: Machine, serial: str, **params: str) -> int:
    return machine.start_run(
        drive=serial, suite="cdm", target="file", fs="auto", erase=serial,
        params={**QUICK_CDM, **params},
    )  # fmt: skip


def until(condition: Callable[[], Any], what: str, seconds: float = 300) -> Any:
    """The result of `condition` once it is true; until then the page may not answer."""
    deadline = time.monotonic() + seconds
    while True:
        problem: object = None
        try:
            if answer := condition():
                return answer
        except (OSError, http.client.HTTPException, AssertionError) as error:
            problem = error
        if time.monotonic() > deadline:
            raise MachineFailed(f"{what}: not within {seconds:.0f} s ({problem})")
        time.sleep(2)


@pytest.mark.parametrize("serial", ["BSBOT0001", "BSUAS0001"])
def test_quick_cdm(booted: Machine, serial: str) -> None:
    run = booted.wait_run(cdm_on(booted, serial), 900)
    assert run["state"] == "done", run
    assert any(result["state"] == "valid" for result in run["results"])


def test_scaled_das(booted: Machine) -> None:
    number = booted.start_run(
        drive="BSUAS0001", suite="das", fs="auto", erase="BSUAS0001", scale="0.001",
        params={"passes": "1", "idle": "0"},
    )  # fmt: skip
    run = booted.wait_run(number, 900)
    assert run["state"] == "done", run
    assert run["conditions"]["target"] == "file on exfat"
    assert {result["state"] for result in run["results"]} == {"valid"}, run["results"]


def test_results_survive_a_power_cut(make_machine: Callable[..., Machine], tmp_path: Path) -> None:
    first = make_machine("bios", drives=True)
    first.wait_ready()
    run = first.wait_run(cdm_on(first, "BSBOT0001"), 900)
    number = run["number"]
    reports = "ls /run/benchstick/stick/reports"
    name = f"run-{number}-{run['uuid'][:8]}"
    until(lambda: f"{name}.json" in first.shell(reports), "the report")
    # It is whole when the partition is closed again.
    mounted = "grep /run/benchstick/stick /proc/mounts"
    until(lambda: " ro," in first.shell(mounted), "the FAT partition, read-only again")
    first.kill()

    # Any PC can read it, and it is what the page gave.
    assert {f"{name}.json", f"{name}.csv"} <= set(list_fat(first.stick, "reports"))
    report = json.loads(read_fat(first.stick, f"reports/{name}.json"))
    assert report["uuid"] == run["uuid"]
    assert report["results"] == run["results"]

    # The next boot, with a second stick plugged in that has the same UUIDs.
    (tmp_path / "other").mkdir()
    second = make_machine(
        "bios", stick=first.stick, drives=False, second_stick=copy_of_image(tmp_path / "other")
    )
    second.wait_ready()
    assert second.get(f"/api/v1/runs/{number}")["uuid"] == run["uuid"]
    drives = second.get("/api/v1/drives")["drives"]
    state = {drive["code"]: drive["guard"]["state"] for drive in drives}
    assert state == {"BSSTICK01": "protected", "BSSTICK02": "protected"}
    page = second.ask("GET", "/drives").body.decode()
    assert "More than one stick is plugged in" in page
    path = {drive["code"]: drive["path"] for drive in drives}
    assert f"{path['BSSTICK01']} is used; {path['BSSTICK02']} left alone" in page


def test_pulling_the_stick_in_a_run(make_machine: Callable[..., Machine]) -> None:
    pc = make_machine("bios", drives=True)
    pc.wait_ready()
    number = cdm_on(pc, "BSUAS0001", passes="2", time="3")
    href = f"/api/v1/runs/{number}"
    before = until(lambda: pc.get(href)["results"], "a first result")
    qmp = pc.qmp()
    qmp.execute("device_del", id="stick")
    qmp.close()

    def there_again() -> bool:
        # The page starts again, with a PIN of its own.
        pc.sign_in()
        return any(event["kind"] == "store" for event in pc.get(href)["events"])

    until(there_again, "the run in RAM")
    assert "the stick was pulled out" in pc.ask("GET", "/drives").body.decode()
    run = pc.wait_run(number, 900)
    assert run["state"] == "done", run
    assert run["results"][: len(before)] == before
    assert {result["state"] for result in run["results"]} == {"valid"}, run["results"]
    assert {result["pass"] for result in run["results"]} == {1, 2, None}
    assert {step["state"] for step in run["steps"]} == {"done"}
    last = next(s for s in reversed(run["steps"]) if s["kind"] == "fio")
    assert "fio.json" in pc.shell(f"ls /var/lib/benchstick/{last['artifacts']}")
    pc.kill()

    # The stick is whole: it has the run as far as it came.
    again = make_machine("bios", stick=pc.stick, drives=False)
    again.wait_ready()
    stored_run = again.get(href)
    assert stored_run["uuid"] == run["uuid"]
    assert stored_run["state"] == "interrupted"
    assert stored_run["results"][: len(before)] == before
    assert "will not last" not in again.ask("GET", "/drives").body.decode()
