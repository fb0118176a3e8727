"""The drives that the running system uses: mounts, swap, LVM, RAID, bcache, dm, the boot drive.

Climbs from what is mounted down to the disks (`slaves`, partitions, loop devices over a disk) and
from each disk up (`holders`), so that a mount over dm over RAID over a partition protects every
disk under it. Descriptors and mappings of processes, what is mounted in other namespaces, kernel
targets and second paths to a disk in use count as well (`holders.py`, `exports.py`, `twins.py`).
Nodes are compared by device number, not by name.
"""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from benchstick import paths
from benchstick.drives import exports, holders, locks, loops, nodes, twins
from benchstick.drives.sysfs import Tree, disk_names, partition_names

# The later image gives its partitions these UUIDs; a drive that carries one is the stick itself.
STICK_PARTUUIDS = frozenset(
    {
        "b5e0c000-57cb-4e5f-9a3c-000000000001",  # GPT: EFI and settings (FAT)
        "b5e0c000-57cb-4e5f-9a3c-000000000002",  # GPT: the system
        "b5e0c000-57cb-4e5f-9a3c-000000000003",  # GPT: data
        "b5e0c057-01",  # MBR disk id b5e0c057
        "b5e0c057-02",
        "b5e0c057-03",
    }
)
# Where the stick keeps what: an MBR, because old firmware refuses a GPT on a stick.
STICK_FAT, STICK_DATA = "b5e0c057-01", "b5e0c057-02"
_LOADER_VARIABLE = "LoaderDevicePartUUID-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"


@dataclass(frozen=True)
class Mount:
    """One mount: `source` is the kernel name it comes from (`sda1`, `dm-0`), `point` where.

    `elsewhere` names a process of another mount namespace, where that one alone has the mount.
    """

    source: str
    point: str
    fs: str
    elsewhere: str = ""

    @property
    def is_own(self) -> bool:
        """Mounted by the bench itself."""
        return self.point.startswith(f"{paths.mounts()}/") and not self.elsewhere


@dataclass
class Claims:
    """For each disk's kernel name: why it is in use, its mounts, which programs read it, and its
    second paths. `doubts`: why no drive is known to be free. `boot_ids`: see `boot_ids`."""

    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    mounts: dict[str, list[Mount]] = field(default_factory=lambda: defaultdict(list))
    readers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    twins: dict[str, list[twins.Twin]] = field(default_factory=lambda: defaultdict(list))
    doubts: tuple[str, ...] = ()
    boot_ids: frozenset[str] = frozenset()

    def foreign_mounts(self, name: str) -> list[Mount]:
        return [mount for mount in self.mounts.get(name, []) if not mount.is_own]

    def own_mounts(self, name: str) -> list[Mount]:
        return [mount for mount in self.mounts.get(name, []) if mount.is_own]


def read(tree: Tree, of: Collection[str] | None = None) -> Claims:
    """Collect the claims of the running system on all disks.

    `of`: the disks that the caller asks about. Descriptors and mappings then count for those and
    their second paths only. Each of another program costs a moment's wait (`holders.lasting`),
    which a step on one drive need not pay for the tools on another.
    """
    claims = Claims(boot_ids=boot_ids(tree))
    by_devno = {
        text: name
        for name in tree.names("sys/class/block")
        if (text := tree.text(f"sys/class/block/{name}/dev"))
    }
    walk = holders.walk(tree)
    claims.doubts = tuple(walk.doubts)
    runners = _runners(tree)
    everywhere = {pid for pids in runners.values() for pid in pids}
    _mounted(tree, claims, by_devno)
    _mounted_elsewhere(tree, claims, by_devno, walk, everywhere)
    _swaps(tree, claims)
    _btrfs(tree, claims)
    _stacked(tree, claims)
    second_paths = twins.find(tree, disk_names(tree))
    selected_disks = None
    if of is not None:
        selected_disks = {*of, *(twin.name for name in of for twin in second_paths.get(name, ()))}
    _opened(tree, claims, walk, runners, selected_disks)
    _exported(tree, claims, by_devno)
    _boot_paths(tree, claims)
    _second_paths(claims, second_paths)
    return claims


def _runners(tree: Tree) -> dict[str, set[int]]:
    """The processes that hold a disk for a run, by the disk's kernel name."""
    pids_by_disk: dict[str, set[int]] = defaultdict(set)
    for run in locks.running() if tree.live else ():
        pid = run.content.get("pid")
        if isinstance(pid, int):
            pids_by_disk[run.name].add(pid)
    return pids_by_disk


def disks_below(tree: Tree, name: str) -> set[str]:
    """The whole disks below block device `name`, itself included when it is one."""
    disks: set[str] = set()
    _descend(tree, name, disks, set())
    return disks


def _descend(tree: Tree, name: str, disks: set[str], visited_names: set[str]) -> None:
    if name in visited_names:
        return
    visited_names.add(name)
    here = f"sys/class/block/{name}"
    if tree.exists(f"{here}/partition"):
        _descend(tree, tree.real(here).parent.name, disks, visited_names)
        return
    disks.add(name)
    below = tree.names(f"{here}/slaves")
    if (node := _loop_below(tree, name)) is not None:
        below.append(node)
    for child in below:
        _descend(tree, child, disks, visited_names)


def _loop_below(tree: Tree, name: str) -> str | None:
    """The block device under loop device `name`: asked of the kernel, else by its path."""
    path = tree.text(f"sys/class/block/{name}/loop/backing_file")
    if path is None:
        return None
    return loops.backing_block(tree, name) or _name_of_node(tree, path)


def _name_of_node(tree: Tree, path: str) -> str | None:
    """The kernel name behind a node's path: `/dev/sda1`, `/dev/mapper/x`, `/dev/disk/by-*/x`.

    On a live machine the node's number counts, and its name only where there is no such node.
    """
    if tree.live and path.startswith("/"):
        try:
            status = tree.path(path).stat()
        except (OSError, ValueError):
            pass
        else:
            is_block = stat.S_ISBLK(status.st_mode)
            return nodes.block_name(tree, status.st_rdev) if is_block else None
    if not path.startswith("/dev/"):
        return None
    base = path.removeprefix("/dev/").replace("/", "!")
    if tree.exists(f"sys/class/block/{base}"):
        return base
    mapper = path.rsplit("/", 1)[-1]
    for name in tree.names("sys/class/block"):
        if tree.text(f"sys/class/block/{name}/dm/name") == mapper:
            return name
    return None


def parse_mountinfo(text: str) -> list[tuple[str, str, str, str]]:
    """Device number, mount point, filesystem and source of each line of mountinfo."""
    mounts = []
    for line in text.splitlines():
        head, separator, right = line.partition(" - ")
        fields, tail = head.split(" "), right.split(" ")
        if separator and len(fields) >= 5 and len(tail) >= 2:
            mounts.append((fields[2], _unescape(fields[4]), tail[0], _unescape(tail[1])))
    return mounts


def peer_groups(text: str) -> dict[tuple[str, str], set[str]]:
    """The groups by which mounts are copied to other namespaces, by device number and point."""
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in text.splitlines():
        fields = line.partition(" - ")[0].split(" ")
        for word in fields[6:]:
            kind, _, group = word.partition(":")
            if kind in ("shared", "master"):
                groups[fields[2], _unescape(fields[4])].add(group)
    return groups


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), text)


def _mounted(tree: Tree, claims: Claims, by_devno: dict[str, str]) -> None:
    # Mounts of another namespace (init's, when the bench runs in its own) count as well.
    lines: dict[tuple[str, str, str, str], None] = {}
    for file in ("proc/self/mountinfo", "proc/1/mountinfo"):
        lines |= dict.fromkeys(parse_mountinfo(tree.text(file) or ""))
    for devno, point, fs, source in lines:
        # btrfs and overlays have their own numbers: use the source.
        name = by_devno.get(devno) or _name_of_node(tree, source)
        if name is None:
            continue
        mount = Mount(name, point, fs)
        for disk in disks_below(tree, name):
            claims.mounts[disk].append(mount)
            if not mount.is_own:
                what = "the system runs from it" if point == "/" else f"mounted at {point}"
                claims.reasons[disk].append(f"{name} is in use: {what}")


def _mounted_elsewhere(
    tree: Tree,
    claims: Claims,
    by_devno: dict[str, str],
    walk: holders.Walk,
    runners: set[int],
) -> None:
    """Mounts that only other namespaces have; copies of the bench's own mounts are left out."""
    places: set[tuple[str, str]] = set()
    own_groups: set[str] = set()
    own_devnos: set[str] = set()
    for file in ("proc/self/mountinfo", "proc/1/mountinfo"):
        text = tree.text(file) or ""
        groups = peer_groups(text)
        for devno, point, fs, _ in parse_mountinfo(text):
            places.add((devno, point))
            if Mount("", point, fs).is_own:
                own_groups |= groups.get((devno, point), set())
                own_devnos.add(devno)
    for space in walk.namespaces:
        groups = peer_groups(space.text)
        for devno, point, fs, source in parse_mountinfo(space.text):
            is_copy = devno in own_devnos and (
                Mount("", point, fs).is_own or groups.get((devno, point), set()) & own_groups
            )
            if (devno, point) in places or is_copy or fs in ("devtmpfs", "tmpfs", "proc", "sysfs"):
                continue
            places.add((devno, point))
            # The bench mounts in the namespace of the process that runs the test.
            if space.pids & runners and Mount("", point, fs).is_own:
                name = by_devno.get(devno)
                for disk in disks_below(tree, name) if name else ():
                    claims.mounts[disk].append(Mount(name or "", point, fs))
                continue
            name = by_devno.get(devno) or _name_of_node(tree, source)
            for disk in disks_below(tree, name) if name else ():
                claims.mounts[disk].append(Mount(name or "", point, fs, space.who))
                claims.reasons[disk].append(
                    f"{name} is in use: mounted at {point} in the mount namespace of {space.who}"
                )


def _opened(
    tree: Tree,
    claims: Claims,
    walk: holders.Walk,
    runners: dict[str, set[int]],
    selected_disks: set[str] | None,
) -> None:
    """Descriptors and mappings of other programs: writing protects, reading is kept apart.

    Only those of the `selected_disks` disks; None: of all disks.
    """
    disks = {node: _disks_of(tree, node.blocks) for node in {file.node for file in walk.opened}}
    foreign = [
        file
        for file in walk.opened
        if (selected_disks is None or disks[file.node] & selected_disks)
        and not holders.is_of_bench(
            tree, file, {pid for disk in disks[file.node] for pid in runners.get(disk, ())}
        )
    ]
    counted_files = [
        file
        for file in foreign
        if file.writes or (holders.is_reader(tree, file) and not _is_self(tree, file.pid))
    ]
    for file in holders.lasting(tree, counted_files):
        how = "mapped" if file.file.startswith("map_files/") else "open"
        for disk in disks[file.node]:
            if file.writes:
                claims.reasons[disk].append(f"{file.who} has {file.node.name} {how} for writing")
            else:
                claims.readers[disk].append(f"{file.who} keeps {file.node.name} open for reading")


def _is_self(tree: Tree, pid: int) -> bool:
    return tree.live and pid == os.getpid()


def _disks_of(tree: Tree, blocks: tuple[str, ...]) -> set[str]:
    """The disks below some block devices, and the drives that stand on those (multipath)."""
    disks: set[str] = set()
    for block in blocks:
        disks |= disks_below(tree, block)
    above: set[str] = set()
    waiting = [*disks, *blocks]
    while waiting:
        name = waiting.pop()
        parts = [f"{name}/{part}" for part in partition_names(tree, name)]
        for place in (name, *parts):
            fresh = set(tree.names(f"sys/class/block/{place}/holders")) - above
            above |= fresh
            waiting += fresh
    return disks | above


def _exported(tree: Tree, claims: Claims, by_devno: dict[str, str]) -> None:
    for export in exports.read(tree):
        name = by_devno.get(export.devno or "") or _name_of_node(tree, export.path)
        for disk in disks_below(tree, name) if name else ():
            claims.reasons[disk].append(f"{name} is given to others by {export.words}")


def _second_paths(claims: Claims, second_paths: dict[str, list[twins.Twin]]) -> None:
    """What is known of one path holds for the other, where both are certainly one drive."""
    for name, others in second_paths.items():
        claims.twins[name] += others
    before = {name: list(reasons) for name, reasons in claims.reasons.items()}
    for name, others in claims.twins.items():
        for twin in others:
            if twin.is_certain and before.get(twin.name):
                claims.reasons[name].append(f"{twin.words}, and {before[twin.name][0]}")


def _swaps(tree: Tree, claims: Claims) -> None:
    for line in (tree.text("proc/swaps") or "").splitlines()[1:]:
        name = _name_of_node(tree, _unescape(line.split()[0]))
        if name is None:
            continue
        for disk in disks_below(tree, name):
            claims.reasons[disk].append(f"{name} is swap in use")


def _btrfs(tree: Tree, claims: Claims) -> None:
    """All members of a mounted btrfs; mountinfo names only one of them."""
    own = {m.source for mounts in claims.mounts.values() for m in mounts if m.is_own}
    for fsid in tree.names("sys/fs/btrfs"):
        members = tree.names(f"sys/fs/btrfs/{fsid}/devices")
        if own & set(members):
            continue
        for member in members:
            for disk in disks_below(tree, member):
                claims.reasons[disk].append(f"{member} is a member of a mounted btrfs")


def _stacked(tree: Tree, claims: Claims) -> None:
    """Holders of disks and partitions: dm, md, bcache; and loop devices set up over a disk."""
    for name in tree.names("sys/block"):
        for part in ("", *partition_names(tree, name)):
            here = f"sys/block/{name}/{part}".rstrip("/")
            for holder in tree.names(f"{here}/holders"):
                what = _holder_words(tree, holder)
                for disk in disks_below(tree, name):
                    claims.reasons[disk].append(f"{what} is active on {part or name}")
        below = _loop_below(tree, name)
        if below is not None:
            for disk in disks_below(tree, below):
                claims.reasons[disk].append(f"loop device {name} is set up on {below}")


def _holder_words(tree: Tree, holder: str) -> str:
    uuid = tree.text(f"sys/class/block/{holder}/dm/uuid") or ""
    dm_name = tree.text(f"sys/class/block/{holder}/dm/name")
    if uuid.startswith("LVM-"):
        return f"LVM volume {dm_name}"
    if uuid.startswith("CRYPT-"):
        return f"the opened encrypted volume {dm_name}"
    if dm_name is not None:
        return f"device-mapper device {dm_name}"
    if tree.exists(f"sys/class/block/{holder}/md"):
        return f"RAID {holder}"
    return holder


def boot_ids(tree: Tree) -> frozenset[str]:
    """Partition and filesystem UUIDs that the boot names: kernel command line, boot loader."""
    ids = set()
    line = tree.text("proc/cmdline") or ""
    for match in re.finditer(r"(?:PART)?UUID=\"?([0-9A-Za-z-]+)", line):
        ids.add(match.group(1).lower())
    # systemd-boot and others leave the partition they came from: 4 attribute bytes, then UTF-16.
    raw = tree.data(f"sys/firmware/efi/efivars/{_LOADER_VARIABLE}") or b""
    text = raw[4:].decode("utf-16-le", "ignore").strip("\0 ").lower()
    return frozenset(ids | ({text} if text else set()))


def _boot_paths(tree: Tree, claims: Claims) -> None:
    for match in re.finditer(r"(?:^|\s)root=(/dev/\S+)", tree.text("proc/cmdline") or ""):
        name = _name_of_node(tree, match.group(1))
        if name is None:
            continue
        for disk in disks_below(tree, name):
            claims.reasons[disk].append(f"the system was booted with root={match.group(1)}")
