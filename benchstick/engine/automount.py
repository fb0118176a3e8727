"""Keeps desktop automounters off the drive under test, with a udev rule during the run.

Without udev it does nothing. The rule is in `/run`, so that a reboot removes it.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from benchstick.drives import subprocesses

RULES = Path("/run/udev/rules.d")


def _rule(uuid: str) -> Path:
    return RULES / f"90-benchstick-{uuid}.rules"


def keep_off(name: str, uuid: str) -> None:
    """Make udisks and similar services ignore drive `name` and its partitions."""
    if not RULES.parent.is_dir() or not re.fullmatch(r"[a-z0-9]+", name):
        return
    with contextlib.suppress(OSError):
        RULES.mkdir(exist_ok=True)
        _rule(uuid).write_text(
            f'SUBSYSTEM=="block", KERNEL=="{name}|{name}p[0-9]*|{name}[0-9]*", '
            'ENV{UDISKS_IGNORE}="1", ENV{UDISKS_AUTO}="0", ENV{SYSTEMD_READY}="0"\n',
            encoding="ascii",
        )
        _reload()


def release(uuid: str) -> None:
    """Remove the rule."""
    if _rule(uuid).exists():
        _rule(uuid).unlink(missing_ok=True)
        _reload()


def _reload() -> None:
    subprocesses.run(["udevadm", "control", "--reload"], timeout=10)
