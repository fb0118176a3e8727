"""Where the bench keeps its things on a machine."""

from __future__ import annotations

import os
from pathlib import Path


def runtime() -> Path:
    """`/run/benchstick`, gone at every boot. BENCHSTICK_RUN moves it, for tests."""
    return Path(os.environ.get("BENCHSTICK_RUN") or "/run/benchstick")


def mounts() -> Path:
    """The folder under which the bench mounts drives; mounts elsewhere are somebody else's."""
    return runtime() / "mnt"


def locks() -> Path:
    """The folder of the drives' lock files."""
    return runtime() / "drives"


def home() -> Path:
    """The data folder. BENCHSTICK_HOME moves it."""
    return Path(os.environ.get("BENCHSTICK_HOME") or "/var/lib/benchstick").absolute()
