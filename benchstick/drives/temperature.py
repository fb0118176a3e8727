"""Temperature in degrees Celsius: hwmon `nvme`, hwmon `drivetemp`, smartctl, in this order.

Never while a drive is timed (docs/methods/drives.md): the caller keeps to the idle
intervals. Every source sends the drive a command, so each is read by a process of its own with a
timeout, and after two failures the drive is left alone.
"""

from __future__ import annotations

import re
import threading

from benchstick.drives import smart
from benchstick.drives.device_query import Asker, Query, ask_live
from benchstick.drives.identify import identify
from benchstick.drives.sysfs import Tree
from benchstick.drives.topology import Where, locate
from benchstick.drives.types import Drive, Fact
from benchstick.plan.units import CELSIUS

GIVE_UP_AFTER = 2
_failures: dict[tuple[str, int | None], int] = {}
_lock = threading.Lock()


def read(drive: Drive, run: Query = ask_live, *, tree: Tree | None = None) -> Fact:
    """The drive's temperature now, or why there is none. Takes up to 10 s a source."""
    key = (drive.name, drive.diskseq)
    with _lock:
        if _failures.get(key, 0) >= GIVE_UP_AFTER:
            return Fact.unknown(f"given up after {GIVE_UP_AFTER} failed readings")
    tree = tree or Tree()
    where = locate(tree, drive.name, practice=drive.is_practice)
    fact = ask_temperature(tree, where, Asker(run))
    with _lock:
        # A drive without a sensor is not queried again either: each query disturbs a bridge.
        _failures[key] = 0 if fact.value is not None else _failures.get(key, 0) + 1
    return fact


def ask_temperature(tree: Tree, where: Where, ask: Asker, reply: smart.Smart | None = None) -> Fact:
    """As `read`, without its count of failures. `reply`: smartctl's answer, if known."""
    if ask.silent_why is not None:
        return Fact.unknown(ask.silent_why)
    for kind in ("nvme", "drivetemp"):
        folder = hwmon(tree, where.name, kind)
        if folder is None:
            continue
        answer = ask("cat", f"{folder}/temp1_input")
        if answer.exit_code == 0 and re.fullmatch(r"-?\d+", answer.text.strip()):
            return Fact(int(answer.text) / 1000, CELSIUS, f"hwmon {kind}")
    if where.transport in ("virtual", "virtio", "mmc", "other"):
        return Fact.unknown(f"a {where.transport} drive has no sensor")
    if reply is None:
        reply = identify(tree, where, ask).smart
    if not reply:
        return Fact.unknown(reply.reason)
    current = reply.get("temperature", "current")
    if isinstance(current, int) and current > 0:
        return Fact(current, CELSIUS, f"smartctl -d {reply.kind}")
    return Fact.unknown("the drive reports no temperature")


def hwmon(tree: Tree, name: str, kind: str) -> str | None:
    """The hwmon folder of that driver below the disk's device: `/sys/.../hwmon3`."""
    device = tree.real(f"sys/block/{name}/device")
    for base in (device, device / "hwmon"):
        for child in tree.names(base):
            if child.startswith("hwmon") and tree.text(base / child / "name") == kind:
                return str(base / child)
    return None
