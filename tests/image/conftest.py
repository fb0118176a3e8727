"""Tests of the built image, in emulated PCs: `make test-image` after `make image`.

A boot takes about a minute: the fixtures share one PC a firmware for what only looks.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.image.machine import FIRMWARES, IMAGE, Machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not IMAGE.exists():
        here = Path(__file__).parent
        reason = pytest.mark.skip(reason=f"{IMAGE} is not there; make image builds it")
        for item in items:
            if item.path.is_relative_to(here):
                item.add_marker(reason)


def copy_of_image(folder: Path) -> Path:
    """A stick that has just been written, on a drive of 1 GB."""
    stick = folder / "stick.img"
    subprocess.run(["cp", "--sparse=always", str(IMAGE), str(stick)], check=True)
    with stick.open("ab") as file:
        file.truncate(1_000_000_000)
    return stick


@pytest.fixture
def make_machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    """Makes PCs of the test's own: make_machine("uefi", stick=..., memory=..., drives=...)."""
    machines: list[Machine] = []

    def make(firmware: str = "uefi", stick: Path | None = None, **options: Any) -> Machine:
        folder = tmp_path / f"pc{len(machines)}"
        folder.mkdir()
        machine = Machine(folder, stick or copy_of_image(folder), firmware, **options)
        machines.append(machine)
        machine.start()
        return machine

    yield make
    for machine in machines:
        machine.kill()
    # A gigabyte a PC would stay for three test sessions.
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture(scope="session", params=FIRMWARES)
def booted_machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A PC that has booted from a fresh stick, by SeaBIOS and by OVMF, and is signed in."""
    folder = tmp_path_factory.mktemp(f"pc-{request.param}")
    machine = Machine(folder, copy_of_image(folder), request.param)
    machine.start()
    machine.wait_ready()
    machine.plug_in_later()
    yield machine
    machine.kill()
    shutil.rmtree(folder, ignore_errors=True)
