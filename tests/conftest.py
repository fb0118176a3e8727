"""What all levels share: an invented drive, and separate folders for each test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives import subprocesses

# The current fio that set-up builds, where there is one, overrides the system's.
_FIO = Path(__file__).resolve().parents[1] / ".cache/fio/bin"
if _FIO.is_dir():
    os.environ.setdefault(subprocesses.PATH_VARIABLE, f"{_FIO}:{subprocesses.PATH}")

DriveJson = dict[str, Any]


@pytest.fixture
def drive_json() -> Callable[..., DriveJson]:
    """Builds a drive's JSON like `drives`; keywords replace facts."""

    def make(code: str = "SERIAL1", capacity: int = 10**12, **facts: object) -> DriveJson:
        values = {
            "transport": "usb-uas",
            "usb_speed": 10000,
            "queue_depth": 30,
            "driver": "uas",
            "rotational": False,
            **facts,
        }
        return {
            "code": code,
            "identity": {"capacity": capacity, "model": "Model X", "drive_key": f"{code}|Model X"},
            **{
                name: {"value": value, "unit": None, "source": "test"}
                for name, value in values.items()
            },
        }

    return make


@pytest.fixture
def bench_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and a run folder that nobody else uses."""
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    return tmp_path / "home"
