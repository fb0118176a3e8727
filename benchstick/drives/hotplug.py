"""Plug and unplug events. A kernel uevent only triggers a rescan of sysfs."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchstick.drives.sysfs import Tree, disk_names, diskseq

# linux/netlink.h: NETLINK_KOBJECT_UEVENT; group 1 carries the kernel's own messages.
_NETLINK_KOBJECT_UEVENT = 15
_KERNEL_GROUP = 1
# A drive's uevents come in a bunch: rescan when they have calmed down.
_SETTLE_SECONDS = 0.3
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Event:
    """`kind` is `plug` or `unplug`; `diskseq` distinguishes disks of the same name."""

    kind: str
    name: str
    diskseq: int | None


def present(tree: Tree | None = None) -> dict[str, int | None]:
    """Kernel names of the disks there are now, loop devices left out, with their diskseq."""
    tree = tree or Tree()
    names = [name for name in disk_names(tree) if not name.startswith("loop")]
    return {name: diskseq(tree, name) for name in names}


def changes(before: dict[str, int | None], after: dict[str, int | None]) -> list[Event]:
    """The events between two scans; another disk under the same name is both events."""
    unplugs = [Event("unplug", n, s) for n, s in before.items() if (n, s) not in after.items()]
    come = [Event("plug", n, s) for n, s in after.items() if (n, s) not in before.items()]
    return unplugs + come


def watch(
    *,
    stop: threading.Event | None = None,
    interval: float = 3.0,
    tree: Tree | None = None,
    initial: dict[str, int | None] | None = None,
) -> Iterator[Event]:
    """Yield events until `stop` is set. The drives there at the start (`initial`) give none.

    Rescans at each nudge of the kernel and every `interval` seconds. The first look is taken
    when the iterator is first advanced.
    """
    stop = stop or threading.Event()
    before = present(tree) if initial is None else dict(initial)
    with contextlib.closing(_uevents()) as nudges:
        while not stop.is_set():
            _wait(nudges, interval, stop)
            after = present(tree)
            yield from changes(before, after)
            before = after


class _Nudges:
    """The netlink socket, or nothing where it is not available (then only the interval counts)."""

    def __init__(self, link: socket.socket | None) -> None:
        self.link = link

    def close(self) -> None:
        if self.link is not None:
            self.link.close()


def _uevents() -> _Nudges:
    try:
        link = socket.socket(
            socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _NETLINK_KOBJECT_UEVENT
        )
        link.bind((0, _KERNEL_GROUP))
        link.setblocking(False)
    except OSError:
        return _Nudges(None)
    return _Nudges(link)


def _wait(nudges: _Nudges, interval: float, stop: threading.Event) -> None:
    """Until a block device's uevent came and things calmed down, or the interval is over."""
    deadline = time.monotonic() + interval
    while not stop.is_set() and (remaining := deadline - time.monotonic()) > 0:
        if nudges.link is None:
            stop.wait(min(remaining, _POLL_SECONDS))
            continue
        ready, _, _ = select.select([nudges.link], [], [], min(remaining, _POLL_SECONDS))
        if ready and _drain(nudges.link):
            stop.wait(_SETTLE_SECONDS)
            _drain(nudges.link)
            return


def _drain(link: socket.socket) -> bool:
    """Read all that is waiting; True when a block device was among it, or some were lost."""
    block = False
    while True:
        try:
            message = link.recv(1 << 16)
        except BlockingIOError:
            return block
        except OSError:
            # ENOBUFS: messages were lost, so look.
            return True
        block = block or b"SUBSYSTEM=block" in message
