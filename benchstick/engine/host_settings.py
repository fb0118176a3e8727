"""The properties of the host, and the host settings that a run changes."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchstick import __version__
from benchstick.drives import subprocesses
from benchstick.drives.types import Drive
from benchstick.store.run_writer import RunRecord

SYS = Path("/sys")


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[0]
    except (OSError, IndexError):
        return None


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def _ram() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _tool_version(argv: list[str]) -> str:
    try:
        lines = subprocesses.run(argv, timeout=10).text.splitlines()
    except Exception as error:  # noqa: BLE001 - an unreadable version must not stop a run
        return f"not known: {error}"
    # smartctl adds the system in brackets: the kernel has its own entry.
    return lines[0].partition(" [")[0].strip() if lines else "not known"


def facts() -> dict[str, Any]:
    """Kernel, CPU, RAM in bytes, governor and versions of the tools."""
    governor = _first_line(SYS / "devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "kernel": platform.release(),
        "cpu": _cpu(),
        "cpus": os.cpu_count(),
        "ram": _ram(),
        "governor": governor or "not adjustable here",
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "benchstick": __version__,
        "fio": _tool_version(["fio", "--version"]),
        "smartctl": _tool_version(["smartctl", "--version"]),
        "nvme": _tool_version(["nvme", "version"]),
        "hdparm": _tool_version(["hdparm", "-V"]),
    }


def queue_settings(name: str) -> dict[str, str]:
    """The block-layer settings of drive `name` that affect results."""
    queue = SYS / "block" / name / "queue"
    names = ("scheduler", "nomerges", "max_sectors_kb", "nr_requests", "wbt_lat_usec",
             "read_ahead_kb", "rotational", "write_cache", "discard_max_bytes")  # fmt: skip
    values = {key: _first_line(queue / key) for key in names}
    return {key: value for key, value in values.items() if value is not None}


def _list_settings(drive: Drive) -> Iterator[tuple[Path, str]]:
    """The settings for a run, with their files."""
    block = SYS / "block" / drive.name
    yield block / "queue/scheduler", "none"
    device = (block / "device").resolve()
    for parent in (device, *device.parents):
        if (parent / "idVendor").exists():
            # "on" keeps the kernel from suspending the device between steps.
            yield parent / "power/control", "on"
            break
        if parent == SYS:
            break
    if drive.transport == "sata":
        for host in SYS.glob("class/scsi_host/host*"):
            if str(device).startswith(str((host / "device").resolve()) + "/"):
                yield host / "link_power_management_policy", "max_performance"


def _current(path: Path) -> str | None:
    text = _first_line(path)
    if text is not None and "[" in text and path.name == "scheduler":
        # `mq-deadline [none]`: the one in brackets is active.
        return text.split("[", 1)[1].split("]", 1)[0]
    return text


def change_settings(drive: Drive, record: RunRecord) -> list[str]:
    """Change the settings for a run. The store has each old value before.

    Returns a sentence for each setting that could not be changed.
    """
    refusals = []
    for path, new in _list_settings(drive):
        old = _current(path)
        if old is None or old == new:
            continue
        record.setting_changed(str(path), old, new)
        try:
            path.write_text(new, encoding="ascii")
        except OSError as error:
            record.setting_restored(str(path))
            refusals.append(f"{path}: stays {old} ({error.strerror})")
    return refusals


# The only files that `_list_settings` lists, and the only values that they take. The page's user
# can write to the store, so only these are restored from it.
_OURS = re.compile(
    r"/sys/(block/[A-Za-z0-9_-]+/queue/scheduler"
    r"|devices/[A-Za-z0-9_:./-]+/power/control"
    r"|class/scsi_host/host[0-9]+/link_power_management_policy)"
)
_VALUE = re.compile(r"[a-z0-9_-]{1,40}")


def restore_settings(record: RunRecord) -> None:
    """Restore the settings that the run changed. One whose file is gone with its drive is skipped.

    Restores all of them before it records any as restored: the store may fail at that.
    """
    rows = record.settings_to_restore()
    for row in rows:
        path, old = str(row["path"]), str(row["old"])
        is_ours = _OURS.fullmatch(path) and ".." not in path and _VALUE.fullmatch(old)
        if is_ours and Path(path).exists():
            with contextlib.suppress(OSError):
                Path(path).write_text(old, encoding="ascii")
    for row in rows:
        record.setting_restored(str(row["path"]))


_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def controller(name: str) -> str:
    """The PCI device of drive `name` with its driver; or a text that there is none."""
    for parent in (SYS / "block" / name).resolve().parents:
        if _PCI.fullmatch(parent.name):
            driver = (parent / "driver").resolve().name
            vendor, device = (_first_line(parent / part) or "?" for part in ("vendor", "device"))
            return f"{driver} {parent.name} [{vendor}:{device}]"
    return "no PCI controller"
