"""Inside the guest: a bench of its own for each module, and the drives by their serials.

A module with LANES is run by several workers (guest_files.py): a test has one drive to
itself, which is the serial in its parameters, or what LANES says; `made` stands for what
scsi_debug and null_blk make. All workers see the same locks of running drives.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.host.bench import Bench

from .forked import ForkedBench

# One for all: so each sees which drives are in use.
RUN = Path("/run/benchstick")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench with an empty store."""
    yield ForkedBench(tmp_path_factory.mktemp("bench"), {"BENCHSTICK_RUN": str(RUN)})


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all tests of a lane to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        lanes: dict[str, str] = importlib.import_module(f"{__package__}.{Path(file).stem}").LANES
        match = re.search(r"BS[A-Z]+\d+", test)
        return match[0] if match else lanes[test.partition("[")[0]]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes:
    return Lanes(config, log)


@pytest.fixture(scope="session")
def node() -> Callable[[str], str]:
    """node(SERIAL) is the drive's path now; names may move after a reset."""

    def find(serial: str) -> str:
        output = sh("lsblk", "-J", "-d", "-o", "PATH,SERIAL")
        for drive in json.loads(output)["blockdevices"]:
            if drive["serial"] == serial:
                return str(drive["path"])
        raise AssertionError(f"{serial} is not there: {output}")

    return find


def sh(*argv: str) -> str:
    """Run a command that must succeed; its stdout."""
    process = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, f"{argv}: {process.stderr}"
    return process.stdout


def written_sectors(path: str) -> int:
    """The drive's own count of written sectors."""
    return changes(path)[0]


def changes(path: str) -> tuple[int, ...]:
    """The drive's own count of written and of discarded sectors; a flush of all drives, which
    another lane may ask for, is none."""
    words = Path(f"/sys/block/{Path(path).name}/stat").read_text().split()
    return tuple(int(words[at]) for at in (6, 13))


def mounts_of(mark: str) -> list[str]:
    """Mounts whose device or mount point holds `mark`: a drive's path, a run's uuid."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if mark in line]


def by_pass(document: Any) -> dict[tuple[str, int | None], Any]:
    """The results of a run by name and pass."""
    return {(item["name"], item["pass"]): item for item in document["results"]}
