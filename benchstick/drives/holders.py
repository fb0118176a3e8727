"""Which processes have device nodes open or mapped, and what is mounted in their namespaces.

One walk over /proc: `fd`, `fdinfo`, `maps`, `map_files`, `ns/mnt` and `mountinfo`. A process that
ends during the walk is no error. A process that may not be looked into is a doubt: a drive is then
not known to be free.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchstick.drives import nodes, own
from benchstick.drives.nodes import Node
from benchstick.drives.sysfs import Tree

# linux/proc_ns.h: PROC_PID_INIT_INO, the number of the first namespace of processes.
_FIRST_PIDS = "pid:[4026531836]"
_O_PATH = 0o10000000
# A process that hangs in the kernel can block a reader of its `maps`.
# An emulated CPU takes seconds for it under load.
_WALK_SECONDS = 30.0
# smartctl and sg tools open a drive for writing for a moment. What stays longer counts.
_MOMENT_SECONDS = 1.5
# linux/sched.h: the flag of the kernel's own threads, in /proc/PID/stat.
_PF_KTHREAD = 0x00200000
_LOOK_SECONDS = 0.05
# A process that only reads, such as blkid after an event, is left alone for this long.
_READER_SECONDS = 10.0
_UDEV = {"systemd-udevd", "(udev-worker)", "udevd"}
_NO_FILE = ("/memfd:", "/dev/shm/", "/dev/zero", "/SYSV", "/dmabuf:")
_REMOTE = re.compile(r"nfs\d?|cifs|smb3|ceph|afs|fuse\..*|fuse")


@dataclass(frozen=True)
class Opened:
    """A descriptor (`file` is `fd/3`) or a mapping (`map_files/...`) of a device node."""

    pid: int
    started: int
    program: str
    file: str
    number: str
    node: Node
    writes: bool

    @property
    def who(self) -> str:
        return f"process {self.pid} ({self.program})"


@dataclass(frozen=True)
class Namespace:
    """The mounts that processes of one mount namespace see: `mountinfo` of `pid`."""

    pids: frozenset[int]
    who: str
    text: str


@dataclass
class Walk:
    """What the walk found. `doubts`: why what a drive is used for may have been missed."""

    opened: list[Opened] = field(default_factory=list)
    namespaces: list[Namespace] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


_stuck: list[threading.Thread] = []
# Descriptors that were there longer than a moment: the next look need not wait again.
_lasting: set[Opened] = set()


def walk(tree: Tree) -> Walk:
    """Look into all processes. Never raises; takes at most about 30 s."""
    if not tree.live:
        return _walk(tree)
    _stuck[:] = [thread for thread in _stuck if thread.is_alive()]
    late = "not known to be free: what processes have open could not be read in time, try again"
    if _stuck:
        return Walk(doubts=[late])
    result: list[Walk] = []
    thread = threading.Thread(target=lambda: result.append(_walk(tree)), daemon=True)
    thread.start()
    thread.join(_WALK_SECONDS)
    if result:
        return result[0]
    if thread.is_alive():
        _stuck.append(thread)
    return Walk(doubts=[late])


def lasting(tree: Tree, candidates: list[Opened]) -> list[Opened]:
    """Those of `candidates` that are still there after a moment."""
    _lasting.intersection_update(candidates)
    fresh = [candidate for candidate in candidates if candidate not in _lasting]
    until = time.monotonic() + (_MOMENT_SECONDS if tree.live else 0.0)
    while fresh and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        fresh = [one for one in fresh if _is_still(tree, one)]
    _lasting.update(fresh)
    return [one for one in candidates if one in _lasting]


def is_reader(tree: Tree, one: Opened) -> bool:
    """True for a program that has kept a node open for reading: a copy or a VM, not udev."""
    return one.program not in _UDEV and _age(tree, one.started) > _READER_SECONDS


def _is_still(tree: Tree, one: Opened) -> bool:
    try:
        same = nodes.number_of(tree, f"proc/{one.pid}/{one.file}") == one.number
    except OSError:
        return False
    return same and _program(tree, one.pid)[1] == one.started


def _age(tree: Tree, start_ticks: int) -> float:
    uptime = (tree.text("proc/uptime") or "0").split()[0]
    return float(uptime) - start_ticks / os.sysconf("SC_CLK_TCK")


def _walk(tree: Tree) -> Walk:
    result = Walk()
    pids = [int(name) for name in tree.names("proc") if name.isdecimal()]
    pids = [pid for pid in pids if not _is_kernel_thread(tree, pid)]
    if tree.live:
        result.doubts += _blind(tree)
    elif not pids:
        return result
    numbers = nodes.numbers(tree)
    hidden_pids: list[int] = []
    spaces: dict[tuple[str, str], list[int]] = {}
    for pid in pids:
        try:
            key = _namespace(tree, pid)
            spaces.setdefault(key, []).append(pid)
        except PermissionError:
            hidden_pids.append(pid)
        except OSError:
            # Of a process whose first thread has ended: its other threads are looked at.
            spaces.setdefault(("", ""), []).append(pid)
    for members in spaces.values():
        for pid in members:
            text = tree.text(f"proc/{pid}/mountinfo")
            if text is not None:
                who = f"process {pid} ({_program(tree, pid)[0]})"
                result.namespaces.append(Namespace(frozenset(members), who, text))
                break
    remote = _remote(result.namespaces)
    for pid in (pid for members in spaces.values() for pid in members):
        try:
            result.opened += _opened(tree, pid, numbers, remote)
        except PermissionError:
            hidden_pids.append(pid)
        except OSError:
            continue
    if hidden_pids:
        result.doubts.append(
            f"not known to be free: what {len(hidden_pids)} processes have open cannot be read "
            "(permission denied: run as root)"
        )
    return result


def _blind(tree: Tree) -> list[str]:
    """Why processes may be there that /proc does not show."""
    space = _link(tree, "proc/self/ns/pid")
    # A kernel without such namespaces has no link.
    if space and space != _FIRST_PIDS:
        return [
            "not known to be free: the bench runs in a container or a namespace of processes, "
            "and processes outside of it cannot be seen"
        ]
    if _link(tree, "proc/self") != str(os.getpid()):
        return ["not known to be free: /proc does not show the processes of this machine"]
    if not tree.exists("proc/1/stat"):
        return ["not known to be free: /proc hides other users' processes (hidepid): run as root"]
    return []


def _link(tree: Tree, where: str) -> str:
    try:
        return str(tree.path(where).readlink())
    except OSError:
        return ""


def _namespace(tree: Tree, pid: int) -> tuple[str, str]:
    """The mount namespace, and the root: mountinfo shows only what is below the root."""
    here = tree.path(f"proc/{pid}")
    return str((here / "ns/mnt").readlink()), str((here / "root").readlink())


def _remote(namespaces: list[Namespace]) -> tuple[str, ...]:
    """Where filesystems of other machines are mounted: to look at a file there may hang."""
    points = set()
    for space in namespaces:
        for line in space.text.splitlines():
            head, _, right = line.partition(" - ")
            fields = head.split(" ")
            if len(fields) > 4 and _REMOTE.fullmatch(right.split(" ")[0]) and fields[4] != "/":
                points.add(fields[4] + "/")
    return tuple(points)


def _stat(tree: Tree, pid: int) -> tuple[str, list[str]]:
    """The name in /proc/PID/stat, which may hold any character, and the fields after it."""
    text = tree.text(f"proc/{pid}/stat") or ""
    end = text.rfind(")")
    return text[text.find("(") + 1 : end], text[end + 1 :].split()


def _program(tree: Tree, pid: int) -> tuple[str, int]:
    """Printable name and start, in ticks since boot."""
    name, fields = _stat(tree, pid)
    printable = "".join(char if char.isprintable() else "?" for char in name)
    return printable, int(fields[19]) if len(fields) > 19 else 0


def _is_kernel_thread(tree: Tree, pid: int) -> bool:
    """True for a thread of the kernel's own, which has no descriptors and no mappings."""
    _, fields = _stat(tree, pid)
    return len(fields) > 6 and fields[6].isdecimal() and bool(int(fields[6]) & _PF_KTHREAD)


def _opened(
    tree: Tree, pid: int, numbers: dict[str, Node], remote: tuple[str, ...]
) -> Iterator[Opened]:
    """The process's descriptors and mappings of nodes that lead to a disk."""
    who: tuple[str, int] | None = None
    for file, number, writes in (
        *_descriptors(tree, pid, numbers, remote),
        *_mappings(tree, pid, numbers, remote),
    ):
        who = who or _program(tree, pid)
        yield Opened(pid, who[1], who[0], file, number, numbers[number], writes)


def _descriptors(
    tree: Tree, pid: int, numbers: dict[str, Node], remote: tuple[str, ...]
) -> list[tuple[str, str, bool]]:
    here = f"proc/{pid}"
    folders = ["fd"]
    if not (names := _list(tree, f"{here}/fd")):
        # A kernel thread, or a first thread that has exited while others still run.
        threads = tree.names(f"{here}/task")
        folders = [f"task/{thread}/fd" for thread in threads if thread != str(pid)]
    entries = []
    for folder in folders:
        for name in names or _list(tree, f"{here}/{folder}"):
            file = f"{folder}/{name}"
            number = _quietly(lambda: _match(tree, f"{here}/{file}", numbers, remote))  # noqa: B023
            if number is None:
                continue
            info = f"{here}/{folder.removesuffix('fd')}fdinfo/{name}"
            flags = _flags(tree.text(info) or "")
            if flags is None or flags & _O_PATH:
                continue
            entries.append((file, number, flags & os.O_ACCMODE != os.O_RDONLY))
    return entries


def _list(tree: Tree, where: str) -> list[str]:
    """The names in a folder; unlike `Tree.names` it raises, as a denial is a doubt."""
    return [entry.name for entry in tree.path(where).iterdir()]


def _quietly(ask: Callable[[], str | None]) -> str | None:
    """A file that vanishes is no error, one that may not be looked at is."""
    try:
        return ask()
    except PermissionError:
        raise
    except OSError:
        return None


def _match(tree: Tree, link: str, numbers: dict[str, Node], remote: tuple[str, ...]) -> str | None:
    # There are thousands of links: pathlib would take most of the walk's time.
    target = os.readlink(f"{tree.root}/{link}")  # noqa: PTH115
    # Sockets, pipes and the like are shown without a slash.
    if not target.startswith("/") or target.startswith(_NO_FILE):
        return None
    if remote and target.startswith(remote):
        return None
    number = nodes.number_of(tree, link)
    return number if number in numbers else None


def _flags(text: str) -> int | None:
    """The flags of /proc/PID/fdinfo/N, which are octal."""
    match = re.search(r"^flags:\s*([0-7]+)$", text, re.MULTILINE)
    return None if match is None else int(match.group(1), 8)


def _mappings(
    tree: Tree, pid: int, numbers: dict[str, Node], remote: tuple[str, ...]
) -> list[tuple[str, str, bool]]:
    entries = []
    for place in shared_writable(tree.text(f"proc/{pid}/maps") or ""):
        file = f"map_files/{place}"
        number = _quietly(lambda: _match(tree, f"proc/{pid}/{file}", numbers, remote))  # noqa: B023
        if number is not None:
            entries.append((file, number, True))
    return entries


def shared_writable(text: str) -> list[str]:
    """The shared writable mappings of files in /proc/PID/maps, named as in map_files."""
    mappings = []
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) < 6 or not fields[5].startswith("/") or fields[5].startswith(_NO_FILE):
            continue
        if fields[1][1:2] == "w" and fields[1][3:4] == "s":
            low, _, high = fields[0].partition("-")
            mappings.append(f"{int(low, 16):x}-{int(high, 16):x}")
    return mappings


def is_of_bench(tree: Tree, one: Opened, runners: set[int]) -> bool:
    """Opened by the runner of the drive, or by a tool that the bench started."""
    return one.pid in runners or own.is_marked(tree, one.pid)
