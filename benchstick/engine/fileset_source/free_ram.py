"""Mounts and unmounts the bench's tmpfs, and checks the RAM for it."""

from __future__ import annotations

import os
from pathlib import Path

from benchstick.drives import subprocesses
from benchstick.errors import BadInput
from benchstick.plan.fileset import FileSet

DEVICE = "benchstick-ram"
# RAM left for the rest of the system while a set is in RAM.
RESERVE = 384 << 20


def ram_free() -> int:
    """Bytes of RAM that a set may use: the available RAM minus the reserve."""
    free = _meminfo("MemAvailable")
    for limit in _cgroup_rooms():
        free = min(free, limit)
    return max(0, free - RESERVE)


def refuse_if_too_large(fileset: FileSet) -> None:
    """BadInput, naming a scale that fits and the other source, when RAM is too small."""
    needed_bytes, free = fileset.ram_needed, ram_free()
    if needed_bytes <= free:
        return
    nominal = max(1, fileset.nominal.bytes)
    # Rounded down to hundredths, so that the suggested scale fits.
    fits = int(free * 100 / nominal) / 100
    advice = "use source=generated"
    if not fileset.seed:
        advice = "use a smaller folder or source=drive"
    elif fits > 0:
        advice = f"use --scale {fits:g} or source=generated"
    raise BadInput(
        f"set {fileset.name}: needs {needed_bytes / 1e9:.2f} GB of RAM and {free / 1e9:.2f} GB are "
        f"free: {advice}",
        field="source",
    )


def swap_active() -> list[str]:
    """The swap devices and files in use."""
    try:
        lines = Path("/proc/swaps").read_text(encoding="utf-8").splitlines()[1:]
    except OSError:
        return []
    return [line.split()[0] for line in lines if line.strip()]


def mount(at: Path, size: int) -> str | None:
    """Mount a tmpfs of `size` bytes at `at` (created, mode 0700), not swappable.

    Returns None, or why its pages may be swapped (a kernel before 6.4 with swap in use): then a
    copy also measures the swap device. BadInput when it cannot be mounted.
    """
    if os.geteuid() != 0:
        raise BadInput(
            "a RAM disk for the file set needs root: run as root or use source=generated"
        )
    try:
        at.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{at}: {error.strerror}: give a folder that can be made") from None
    if at.is_symlink():
        raise BadInput(f"{at} is a symbolic link: give a folder")
    refusal = ""
    # Huge pages make a copy cheaper; `noswap` needs Linux 6.4.
    for extra in ("noswap,huge=within_size", "noswap", "huge=within_size", ""):
        options = f"size={size},mode=0700,nodev,nosuid" + (f",{extra}" if extra else "")
        result = subprocesses.run(["mount", "-t", "tmpfs", "-o", options, DEVICE, str(at)])
        if result.exit_code == 0:
            if "noswap" in extra or not swap_active():
                return None
            return "this kernel cannot keep a tmpfs out of swap, and swap is in use: " + ", ".join(
                swap_active()
            )
        refusal = result.error_line
    raise BadInput(f"no RAM disk at {at}: {refusal}")


def unmount(at: Path) -> None:
    """Unmount the bench's tmpfs at `at`, if there is one, and remove the folder.

    Also the one of a killed runner. Another tmpfs stays.
    """
    while _is_ours(at):
        result = subprocesses.run(["umount", str(at)])
        if result.exit_code != 0:
            # A file is still open: the unmount completes when it is closed.
            result = subprocesses.run(["umount", "--lazy", str(at)])
        if result.exit_code != 0:
            raise BadInput(f"{at}: the RAM disk cannot be unmounted: {result.error_line}")
    if at.is_dir() and not at.is_mount():
        try:
            at.rmdir()
        except OSError:
            # Not empty: it was not created here, so it stays.
            return


def _is_ours(at: Path) -> bool:
    target = str(at.resolve())
    with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            fields, _dash, rest = line.partition(" - ")
            point = _unescape(fields.split(" ")[4])
            if point == target and rest.split(" ")[:2] == ["tmpfs", DEVICE]:
                return True
    return False


def _unescape(text: str) -> str:
    """Decode the octal escapes of blanks and backslashes in mountinfo."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text


def _meminfo(key: str) -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise BadInput(f"/proc/meminfo has no {key}: this kernel is too old")


def _cgroup_rooms() -> list[int]:
    """The free bytes of this process's memory cgroups (v1 and v2); empty without a limit."""
    rooms = []
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _number, controllers, path = line.split(":", 2)
        if controllers == "":
            base, most, current = Path("/sys/fs/cgroup"), "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base = Path("/sys/fs/cgroup/memory")
            most, current = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        folder = base / path.lstrip("/")
        try:
            limit = int((folder / most).read_text(encoding="ascii"))
            now = int((folder / current).read_text(encoding="ascii"))
        except (OSError, ValueError):
            # No such controller, or `max`.
            continue
        rooms.append(max(0, limit - now))
    return rooms
