"""The host level: real runs on loop drives. It needs root, as the bench does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.bench import Bench


@pytest.fixture(scope="session", autouse=True)
def root_only() -> None:
    """These tests make loop devices and mount: without root they fail, they do not skip."""
    assert os.geteuid() == 0, "tests/host needs root: run them with sudo"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench with a practice drive, shared by the tests of a module."""
    new_bench = Bench(tmp_path_factory.mktemp("bench"))
    yield new_bench
    new_bench.close()


@pytest.fixture
def own_bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench of this test's own."""
    new_bench = Bench(tmp_path)
    yield new_bench
    new_bench.close()
