"""Finds the bench sticks that are plugged in, and the one that this system was booted from.

Sticks share their partition UUIDs; each has an id of its own in `benchstick/stick.cfg` on its FAT
partition. The boot loader passes the id of the stick that it came from as `benchstick.stick=ID`,
empty on the first boot, when there is none yet.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchstick import paths
from benchstick.drives import in_use, partition_table, subprocesses
from benchstick.drives.device_query import Asker, Query, ask_live
from benchstick.drives.filesystems import KINDS
from benchstick.drives.partition_table import Partition
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree, capacity, disk_names, diskseq
from benchstick.errors import BadInput

CONFIG = Path("benchstick/stick.cfg")
PARAMETER = "benchstick.stick"
_ID = re.compile(r"^\s*set\s+stick_id=[\"']?([0-9a-f]{16})[\"']?\s*$", re.MULTILINE)
_SAFE = ("nosuid", "nodev", "noexec")


@dataclass(frozen=True)
class Machine:
    """The machine to look at. Tests name their own disks, command line and filesystem.

    `disks` None means all that the kernel has, without loop devices; `boot_fs` is the filesystem of
    a stick's first partition; `patience` how many seconds to wait for the stick to show up.
    """

    tree: Tree = field(default_factory=Tree)
    query: Query = ask_live
    run: Callable[..., Finished] = subprocesses.run
    disks: Sequence[str] | None = None
    command_line: str | None = None
    boot_fs: str = "vfat"
    patience: float = 15.0

    def names(self) -> list[str]:
        if self.disks is not None:
            return list(self.disks)
        return [name for name in disk_names(self.tree) if not name.startswith("loop")]

    def parameter(self) -> str | None:
        """The stick's id on the kernel's command line, empty on a first boot; None without."""
        line = self.command_line
        if line is None:
            line = self.tree.text("proc/cmdline") or ""
        match = re.search(rf"(?:^|\s){re.escape(PARAMETER)}=(\S*)", line)
        return None if match is None else match[1]


@dataclass(frozen=True)
class Stick:
    """A bench stick: its drive, its two partitions, and its id (None before its first boot)."""

    name: str
    diskseq: int | None
    capacity: int
    model: str
    read_only: bool
    boot: Partition
    data: Partition | None
    id: str | None = None

    @property
    def path(self) -> str:
        return f"/dev/{self.name}"


def find(machine: Machine) -> list[Stick]:
    """All sticks there are now. A drive that hangs costs one timeout, all at once."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        sticks = pool.map(lambda name: _look(machine, name), machine.names())
        return [stick for stick in sticks if stick is not None]


def _look(machine: Machine, name: str) -> Stick | None:
    tree = machine.tree
    _, partitions = partition_table.table(tree, name, Asker(machine.query))
    by_id = {part.partuuid: part for part in partitions}
    boot = by_id.get(in_use.STICK_FAT)
    if boot is None or boot.kernel is None:
        return None
    here = f"sys/block/{name}"
    words = (tree.text(f"{here}/device/{part}") for part in ("vendor", "model"))
    return Stick(
        name=name,
        diskseq=diskseq(tree, name),
        capacity=capacity(tree, name),
        model=" ".join(word for word in words if word) or "drive",
        read_only=tree.text(f"{here}/ro") == "1",
        boot=boot,
        data=by_id.get(in_use.STICK_DATA),
        id=_id_of(machine, f"/dev/{boot.kernel}"),
    )


def _id_of(machine: Machine, node: str) -> str | None:
    """The id in the stick's configuration; None where there is none or it is not readable."""
    point = paths.run_folder() / "mnt" / f"look-{Path(node).name}"
    try:
        with mounted(machine, node, point):
            return parse_id((point / CONFIG).read_text(encoding="utf-8", errors="replace"))
    except (OSError, BadInput):
        return None


def parse_id(text: str) -> str | None:
    """The id that a stick's configuration sets."""
    match = _ID.search(text)
    return match[1] if match else None


def new_config() -> tuple[str, str]:
    """A fresh random id, and the configuration that sets it."""
    fresh = secrets.token_hex(8)
    return fresh, f"set stick_id={fresh}\n"


def choose(sticks: Sequence[Stick], parameter: str | None) -> tuple[Stick | None, str]:
    """The stick that was booted, or None and why it is not known."""
    if parameter is None:
        return None, "this system was not booted from a stick"
    if not sticks:
        return None, "no stick is plugged in: it was pulled out, or the system came by network"
    same = [stick for stick in sticks if stick.id == (parameter or None)]
    if len(same) == 1:
        return same[0], ""
    paths = ", ".join(stick.path for stick in same or sticks)
    if same:
        return None, f"it is not known which of {paths} was booted; leave only one plugged in"
    return None, f"the stick that was booted is not there any more ({paths} is another one)"


def find_booted(machine: Machine) -> tuple[Stick | None, str, list[Stick]]:
    """The booted stick or why there is none, and all sticks; waits for USB to settle."""
    deadline = time.monotonic() + machine.patience
    while True:
        sticks = find(machine)
        boot_stick, reason = choose(sticks, machine.parameter())
        wait = boot_stick is None and machine.parameter() is not None
        if not wait or time.monotonic() > deadline:
            return boot_stick, reason, sticks
        time.sleep(1.0)


@contextlib.contextmanager
def mounted(machine: Machine, node: str, point: Path) -> Iterator[Path]:
    """The stick's first partition read-only at `point`, for a look."""
    mount_boot(machine, node, point)
    try:
        yield point
    finally:
        machine.run(["umount", str(point)], timeout=60)
        with contextlib.suppress(OSError):
            point.rmdir()


def mount_boot(machine: Machine, node: str, point: Path) -> None:
    """Mount the first partition read-only. BadInput saying why it cannot be."""
    point.mkdir(parents=True, exist_ok=True)
    options = ("ro", *_SAFE, *KINDS[machine.boot_fs].options)
    if machine.boot_fs == "vfat":
        options = (*options, "umask=022")
    mount(machine, machine.boot_fs, options, node, point)


def mount(machine: Machine, fs: str, options: Sequence[str], node: str, point: Path) -> None:
    """Mount `node`. BadInput with what mount says."""
    argv = ["mount", "-i", "-t", fs, "-o", ",".join(options), node, str(point)]
    answer = machine.run(argv, timeout=120)
    if answer.exit_code != 0:
        raise BadInput(f"{node} cannot be mounted: {answer.error_line}")


@contextlib.contextmanager
def writing(machine: Machine, point: Path) -> Iterator[None]:
    """Make the stick's first partition, mounted at `point`, writable in this context.

    BadInput when that fails. Read-only before and after, so that pulling the stick at any other
    time does no harm.
    """
    answer = machine.run(["mount", "-i", "-o", "remount,rw", str(point)], timeout=60)
    if answer.exit_code != 0 or os.statvfs(point).f_flag & os.ST_RDONLY:
        raise BadInput(f"{point} cannot be written: {answer.error_line}")
    try:
        yield
    finally:
        machine.run(["mount", "-i", "-o", "remount,ro", str(point)], timeout=120)


def replace_file(path: Path, text: str) -> None:
    """Write `path` so that a power cut leaves the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
