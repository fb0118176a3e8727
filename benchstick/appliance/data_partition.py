"""The stick's data partition: grown to the end of the drive, checked, mounted, filled."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from benchstick.appliance import stick as sticks
from benchstick.appliance.stick import Machine, Stick
from benchstick.drives import in_use, partition_table
from benchstick.drives.device_query import Asker
from benchstick.errors import BadInput, Refused

_MIB = 1 << 20
# A smaller gain is not worth changing the partition table.
_LEAST_GAIN = 8 * _MIB
# An MBR counts sectors of 512 bytes in 32 bits.
_MBR_MOST_BYTES = ((1 << 32) - 1) * 512
_CHECK_SECONDS = 900.0
# e2fsck: 1 repaired, 2 repaired but needs a restart (for a root filesystem); 4 and above: not.
_REPAIRED = 3
# The kernel would write inode tables in the background for hours, while a drive is timed.
MOUNT_OPTIONS = ("nosuid", "nodev", "noexec", "noatime", "noinit_itable", "errors=remount-ro")


def grow_partition(machine: Machine, stick: Stick) -> bool:
    """Grow the data partition to the end of the drive. True when it grew.

    Refused, with nothing written, unless the drive is still this stick, unused, and has exactly
    the stick's two partitions with nothing behind the second.
    """
    if stick.read_only:
        return False
    fd = os.open(stick.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # udev reads the table again when somebody closes the drive, unless it is locked.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = _room(machine, stick)
        if size == 0:
            return False
        _write_table(machine, stick, size)
    except BlockingIOError:
        raise Refused(f"{stick.path} is held by another program") from None
    finally:
        os.close(fd)
    sectors = machine.tree.number(f"sys/class/block/{_node(stick).name}/size") or 0
    if sectors * 512 != size:
        raise BadInput(f"{stick.path}: the kernel shows its grown partition after the next restart")
    return True


def _room(machine: Machine, stick: Stick) -> int:
    """The new size of the data partition in bytes; 0 when there is nothing to gain."""
    use = in_use.read(machine.tree, {stick.name}).reasons.get(stick.name)
    if use:
        raise Refused(f"{stick.path} is in use: {'; '.join(use)}")
    label, partitions = partition_table.table(machine.tree, stick.name, Asker(machine.query))
    ids = {part.partuuid: part for part in partitions}
    data = ids.get(in_use.STICK_DATA)
    if label != "dos" or set(ids) != {in_use.STICK_FAT, in_use.STICK_DATA} or data is None:
        raise Refused(f"{stick.path} has other partitions than a stick has: left as it is")
    if data != stick.data or len(partitions) != 2 or ids[in_use.STICK_FAT].start > data.start:
        raise Refused(f"{stick.path}: its partitions are not where they were: left as they are")
    end = min(stick.capacity, _MBR_MOST_BYTES) // _MIB * _MIB
    size = end - data.start
    return size if size - data.size >= _LEAST_GAIN else 0


def _write_table(machine: Machine, stick: Stick, size: int) -> None:
    # sfdisk takes its script from stdin, which tools started by the bench do not have.
    script = (
        'printf ",%s\\n" "$1" | sfdisk --quiet --no-reread --no-tell-kernel --wipe never '
        '--wipe-partitions never -N 2 "$0"'
    )
    for argv in (
        ["/bin/sh", "-c", script, stick.path, str(size // 512)],
        ["partx", "--update", "--nr", "2", stick.path],
    ):
        answer = machine.run(argv, timeout=60)
        if answer.exit_code != 0:
            raise BadInput(f"{stick.path}: its partition could not grow: {answer.error_line}")


def _node(stick: Stick) -> Path:
    if stick.data is None or stick.data.kernel is None:
        raise BadInput(f"{stick.path} has no data partition: write the stick again")
    return Path("/dev") / stick.data.kernel


def mount_store(machine: Machine, stick: Stick, folder: Path) -> None:
    """Check the data partition and mount it. BadInput with the reason when that fails.

    A filesystem that e2fsck cannot repair automatically is not changed: it holds results.
    """
    if stick.read_only:
        raise BadInput("the stick is write-protected")
    node = _node(stick)
    _check(machine, node)
    folder.mkdir(parents=True, exist_ok=True)
    _mount(machine, node, folder)
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        machine.run(["umount", str(folder)], timeout=60)
        raise BadInput("the stick can only be read")


def _mount(machine: Machine, node: Path, folder: Path) -> None:
    sticks.mount(machine, "ext4", MOUNT_OPTIONS, str(node), folder)


def fill_partition(machine: Machine, stick: Stick, folder: Path) -> bool:
    """Grow the filesystem mounted at `folder` to its partition. True when it grew; else BadInput.

    Mounted, so that the kernel grows it through the journal: a power failure then does no harm.
    Unmounted only where the kernel refuses.
    """
    node = _node(stick)
    size = (machine.tree.number(f"sys/class/block/{node.name}/size") or 0) * 512
    if _filesystem_bytes(node) + _MIB > size:
        return False
    resize = ["resize2fs", str(node)]
    answer = machine.run(resize, timeout=_CHECK_SECONDS)
    if answer.exit_code != 0 and machine.run(["umount", str(folder)], timeout=60).exit_code == 0:
        try:
            _check(machine, node, "-f")
            answer = machine.run(resize, timeout=_CHECK_SECONDS)
        finally:
            _mount(machine, node, folder)
    if answer.exit_code != 0:
        raise BadInput(f"{node}: its filesystem could not grow: {answer.error_line}")
    return True


def _check(machine: Machine, node: Path, *options: str) -> None:
    answer = machine.run(["e2fsck", "-p", *options, str(node)], timeout=_CHECK_SECONDS)
    if answer.timed_out:
        raise BadInput(f"the check of {node} did not end in {_CHECK_SECONDS / 60:.0f} min")
    if answer.exit_code & ~_REPAIRED:
        raise BadInput(
            f"the stick's data partition is damaged; in a shell: e2fsck {node}, then restart"
        )


def _filesystem_bytes(node: Path) -> int:
    """The size in the ext4 superblock; 0 when it cannot be read."""
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        block = os.pread(fd, 1024, 1024)
    finally:
        os.close(fd)
    low, scale = struct.unpack_from("<I", block, 4)[0], struct.unpack_from("<I", block, 24)[0]
    magic = struct.unpack_from("<H", block, 56)[0]
    if magic != 0xEF53 or scale > 6:
        return 0
    # Above 2^32 blocks an MBR cannot go.
    return int(low) * (1024 << int(scale))
