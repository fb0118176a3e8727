"""Keeps desktop automounters off a drive under test, by a udev rule for the time of the run.

Where no udev runs there is nothing to keep off. The rule lies in `/run`, so that a reboot ends it.
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
    """Tell udisks and its like to leave drive `name` and its partitions alone."""
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
    """Take the rule away."""
    if _rule(uuid).exists():
        _rule(uuid).unlink(missing_ok=True)
        _reload()


def _reload() -> None:
    subprocesses.run(["udevadm", "control", "--reload"], timeout=10)
