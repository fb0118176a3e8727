"""Prepares a drive for a file suite: partition table, filesystem, mount, the run's own folder.

`run` is called like `tool.run`: the engine passes its own, which adds the run's cgroup, the cancel
event and the artefacts.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchstick import paths
from benchstick.drives import in_use, partition_table, subprocesses
from benchstick.drives.device_query import Asker, ask_live
from benchstick.drives.filesystems import KINDS, choose, why_not_mountable
from benchstick.drives.guard import DriveLease
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree, partition_names
from benchstick.drives.types import Drive
from benchstick.errors import BadInput, BenchError, DriveLost, Refused

_MIB = 1 << 20
START_BYTES = _MIB
# An MBR counts sectors of 512 bytes in 32 bits.
_MBR_MOST_BYTES = (1 << 32) * 512
_NODE_WAIT_SECONDS = 10.0
_MKFS_TIMEOUT_SECONDS = 3600.0
_MBR_TYPES = {"exfat": "7", "ntfs": "7", "ext4": "83"}
_GPT_TYPES = {
    "exfat": "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
    "ntfs": "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
    "ext4": "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
}
_UUID = re.compile(r"[0-9a-fA-F-]{8,64}")


class Run(Protocol):
    """How tools are started: `tool.run` or the engine's own."""

    def __call__(self, argv: list[str], *, timeout: float | None = ...) -> Finished: ...


@dataclass(frozen=True)
class Prepared:
    """A filesystem to work on: its node, blkid's name, cluster bytes and partition start.

    `cluster` and `start` are None for a filesystem that the bench found and did not make.
    """

    path: str
    fs: str
    cluster: int | None
    start: int | None
    label: str | None = None
    size: int = 0


def cluster_size(fs: str, size: int) -> int:
    """Bytes per cluster as in Windows by default, so that results compare with reviews.

    exFAT (KB 140365): 4 KiB up to 256 MiB, 32 KiB up to 32 GiB, 128 KiB above. NTFS: 4 KiB up to
    16 TiB, doubled with each doubling above. ext4: 4 KiB.
    """
    if fs == "exfat":
        if size <= 256 * _MIB:
            return 4096
        return 32768 if size <= 32 << 30 else 131072
    cluster = 4096
    if fs == "ntfs":
        while size > cluster << 32:
            cluster *= 2
    return cluster


def make_filesystem(
    hold: DriveLease, fs: str, *, label: str = "BENCHSTICK", run: Run = subprocesses.run
) -> Prepared:
    """Erase the table and old signatures; one partition at 1 MiB; make the filesystem on it.

    `fs` is exfat, ntfs, ext4 or auto. Checks the drive before the first write, and that it is
    still the same before mkfs. BadInput for a filesystem that this host cannot make, Refused and
    DriveLost as the guard, DriveLost when a tool meets an I/O error.
    """
    kind = choose(fs, run=run)
    drive = hold.drive
    hold.check_before_write()
    drop_partitions(drive, run)
    _do(run, hold, ["wipefs", "--all", "--quiet", drive.path])
    _partition(hold, kind, run)
    size = drive.identity.capacity
    node, length = _partition_node(drive, run)
    hold.check_same()
    _do(run, hold, ["wipefs", "--all", "--quiet", node])
    cluster = cluster_size(kind, size)
    _do(run, hold, _mkfs(kind, node, label, cluster), timeout=_MKFS_TIMEOUT_SECONDS)
    answer = run(["blkid", "-p", "-o", "export", node], timeout=30)
    info = partition_table.parse_blkid(answer.text)
    if info.type != kind:
        raise BadInput(f"{kind} was made on {node}, but blkid finds {info.type or 'nothing'} there")
    return Prepared(node, kind, cluster, START_BYTES, label, length)


def _do(run: Run, hold: DriveLease, argv: list[str], *, timeout: float = 120.0) -> Finished:
    """Run one tool that writes to the drive; its failure is the drive's loss or a clear line."""
    hold.check_medium()
    answer = run(argv, timeout=timeout)
    if answer.exit_code != 0:
        raise _failed(hold, argv[0], answer)
    return answer


def _failed(hold: DriveLease, name: str, answer: Finished) -> BenchError:
    path = hold.drive.path
    if not hold.alive():
        return DriveLost(f"{path} went away during {name}")
    text = answer.stderr.decode("utf-8", "replace")
    if "Input/output error" in text or "No such device" in text:
        return DriveLost(f"{path}: {name}: {answer.error_line}")
    if "busy" in text:
        return Refused(f"{path} is in use: {name}: {answer.error_line}")
    return BadInput(f"{path}: {name} failed: {answer.error_line}")


def drop_partitions(drive: Drive, run: Run = subprocesses.run) -> None:
    """Make the kernel forget old partitions: hosts without table parsing would keep stale ones."""
    if partition_names(Tree(), drive.name):
        run(["partx", "--delete", drive.path], timeout=30)


def _partition(hold: DriveLease, fs: str, run: Run) -> None:
    big = hold.drive.identity.capacity > _MBR_MOST_BYTES
    label = "gpt" if big else "dos"
    kind = (_GPT_TYPES if big else _MBR_TYPES)[fs]
    script = f"label: {label}\nstart={START_BYTES // _MIB}MiB, type={kind}\n"
    # sfdisk takes its script from stdin, which tools started by the bench do not have.
    command = 'printf "%s" "$1" | sfdisk --quiet --wipe always --wipe-partitions always "$0"'
    _do(run, hold, ["/bin/sh", "-c", command, hold.drive.path, script])


def _partition_node(drive: Drive, run: Run) -> tuple[str, int]:
    """The new partition's node and size, by the kernel's own rescan or by partx."""
    deadline = time.monotonic() + _NODE_WAIT_SECONDS
    was_rescanned = False
    while True:
        partition = _find_partition(drive)
        if partition is not None:
            return partition
        if not was_rescanned and time.monotonic() > deadline - _NODE_WAIT_SECONDS + 1.0:
            # Kernels without table parsing, and loop devices without PARTSCAN.
            if partition_names(Tree(), drive.name):
                run(["partx", "--delete", drive.path], timeout=30)
            run(["partx", "--add", drive.path], timeout=30)
            was_rescanned = True
        elif time.monotonic() > deadline:
            raise BadInput(
                f"{drive.path}: the new partition did not appear within "
                f"{_NODE_WAIT_SECONDS:.0f} s: is /dev a devtmpfs?"
            )
        time.sleep(0.05)


def _find_partition(drive: Drive) -> tuple[str, int] | None:
    tree = Tree()
    for name in partition_names(tree, drive.name):
        here = f"sys/block/{drive.name}/{name}"
        start, size = tree.number(f"{here}/start"), tree.number(f"{here}/size")
        devno = tree.text(f"{here}/dev")
        if start is None or size is None or start * 512 != START_BYTES:
            continue
        node = Path("/dev") / name
        if node.exists() and _devno(node) == devno:
            return str(node), size * 512
    return None


def _devno(node: Path) -> str:
    rdev = node.stat().st_rdev
    return f"{os.major(rdev)}:{os.minor(rdev)}"


def _mkfs(fs: str, node: str, label: str, cluster: int) -> list[str]:
    if fs == "exfat":
        return ["mkfs.exfat", "-c", str(cluster), "-L", label, node]
    if fs == "ntfs":
        return ["mkntfs", "--quick", "--quiet", "--cluster-size", str(cluster), "-L", label, node]
    # Lazy initialisation would write in the background while the drive is timed. No discard: it
    # would change the drive's state, which is a step of its own. One inode for 64 KiB keeps the
    # tables of a big disk small.
    options_text = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    return [
        "mkfs.ext4", "-q", "-F", "-b", str(cluster), "-i", "65536", "-m", "0",
        "-E", options_text, "-L", label[:16], node,
    ]  # fmt: skip


def find_filesystem(drive: Drive, *, run: Run = subprocesses.run) -> Prepared:
    """The drive's own filesystem for `--fs keep`: the largest that this kernel can mount.

    Refused, naming the mount point, when the drive is mounted elsewhere; BadInput naming
    `--fs auto --erase CODE` when there is none.
    """
    foreign = in_use.read(Tree(), {drive.name}).foreign_mounts(drive.name)
    if foreign:
        mount_ = foreign[0]
        raise Refused(
            f"{drive.path} is mounted at {mount_.point}: unmount it, the bench mounts it itself"
        )
    inside = partition_table.look(Tree(), drive.name, Asker(ask_live))
    if any(part.kernel is None and part.signature.type for part in inside.partitions):
        # The kernel shows no node for it: hosts without table parsing.
        run(["partx", "--update", drive.path], timeout=30)
        inside = partition_table.look(Tree(), drive.name, Asker(ask_live))
    items, reasons = [], []
    for path, size, signature, start in _places(drive, inside):
        if signature.usage != "filesystem" or path is None:
            continue
        reason = why_not_mountable(signature.type, run=run)
        if reason is None:
            items.append(Prepared(path, signature.type, None, start, signature.label or None, size))
        else:
            reasons.append(reason)
    if items:
        return max(items, key=lambda item: item.size)
    detail = f" ({'; '.join(dict.fromkeys(reasons))})" if reasons else ""
    raise BadInput(
        f"{drive.path} holds no filesystem that can be mounted{detail}: "
        f"make one with --fs auto --erase {drive.code}",
        field="fs",
    )


def _places(
    drive: Drive, inside: partition_table.Contents
) -> list[tuple[str | None, int, partition_table.Signature, int]]:
    rows: list[tuple[str | None, int, partition_table.Signature, int]] = [
        (drive.path, drive.identity.capacity, inside.whole, 0)
    ]
    for part in inside.partitions:
        path = f"/dev/{part.kernel}" if part.kernel else None
        rows.append((path, part.size, part.signature, part.start))
    return rows


def mount(device: str, fs: str, run_uuid: str, *, run: Run = subprocesses.run) -> Path:
    """Mount `device` (blkid's `fs`) at `/run/benchstick/mnt/<uuid>` with the kernel's driver."""
    kind = KINDS.get(fs)
    reason = why_not_mountable(fs, run=run)
    if kind is None or reason is not None:
        raise BadInput(reason or f"{fs} cannot be mounted", field="fs")
    if not _UUID.fullmatch(run_uuid):
        raise BadInput(f"{run_uuid!r} is not a run's UUID")
    base = paths.mounts()
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    point = base / run_uuid
    try:
        point.mkdir(mode=0o700)
    except FileExistsError:
        if point.is_symlink() or _is_mounted(point):
            raise Refused(f"{point} is in use already: is this run going on elsewhere?") from None
    options = ",".join(("nosuid", "nodev", "noexec", "noatime", *kind.options))
    # -i: no mount helper, which for NTFS would be the FUSE driver.
    argv = ["mount", "-i", "-t", kind.driver, "-o", options, device, str(point)]
    answer = run(argv, timeout=120)
    if answer.exit_code != 0:
        point.rmdir()
        text = answer.error_line
        if "Input/output error" in text or "can't read superblock" in text:
            raise DriveLost(f"{device}: mount: {text}")
        raise BadInput(f"{fs} on {device} could not be mounted: {text}", field="fs")
    return point


def _is_mounted(point: Path) -> bool:
    text = Tree().text("proc/self/mountinfo") or ""
    return any(where == str(point) for _, where, _, _ in in_use.parse_mountinfo(text))


def unmount(point: Path, *, run: Run = subprocesses.run, tries: int = 10) -> str | None:
    """Unmount the bench's own mount and remove its folder.

    None when it is off; else a sentence: something kept it busy and it was detached lazily.
    """
    if not point.is_relative_to(paths.mounts()):
        raise Refused(f"{point} is not a mount of the bench")
    note = None
    answer: Finished | None = None
    for attempt in range(tries):
        if not _is_mounted(point):
            break
        answer = run(["umount", str(point)], timeout=600)
        if answer.exit_code != 0:
            time.sleep(min(2.0, 0.2 * (attempt + 1)))
    if _is_mounted(point):
        reason = answer.error_line if answer else "no try was made"
        run(["umount", "--lazy", str(point)], timeout=60)
        note = f"{point} was busy and was detached lazily: {reason}"
    if point.is_dir() and not _is_mounted(point):
        point.rmdir()
    return note


def new_folder(mountpoint: Path, run_number: int, run_uuid: str) -> Path:
    """Make `benchstick-<run>` on a kept filesystem. Anything of that name there is refused."""
    folder = mountpoint / f"benchstick-{run_number}"
    try:
        folder.mkdir(mode=0o755)
    except FileExistsError:
        raise Refused(
            f"{folder.name} exists on the drive already: move or remove it "
            f"(run {run_uuid} writes only into a new folder)"
        ) from None
    except OSError as error:
        if error.errno == 5:
            raise DriveLost(f"{folder}: {error.strerror}") from error
        raise BadInput(f"{folder}: {error.strerror}: the drive cannot be written") from error
    return folder
