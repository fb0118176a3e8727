"""Names of the bench's ports: `slot 3`.

A socket that takes USB 2 and USB 3 is two ports to the kernel, one on each of the controller's
buses; a drive appears on the one whose speed it uses. The kernel knows which two belong together
(`peer`), so naming one of them is enough.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchstick.drives.sysfs import Tree

_USB_PORT = re.compile(r"(\d+)-(\d+(?:\.\d+)*)")


def same_socket(tree: Tree, port: str) -> tuple[str, ...]:
    """`port` and, for a USB port, its peer of the other speed where the kernel knows one."""
    match = _USB_PORT.fullmatch(port)
    if match is None:
        return (port,)
    hub, last = _hub_and_port(match)
    folder = tree.real(f"sys/bus/usb/devices/{_interface(hub)}/{hub}-port{last}/peer").name
    # The peer's name starts with its hub's: usb1-port4 on a root hub, 1-2-port3 behind one.
    twin = re.fullmatch(r"(?:usb(\d+)|(\d+-[\d.]+))-port(\d+)", folder)
    if twin is None:
        return (port,)
    return (port, f"{twin[1]}-{twin[3]}" if twin[1] else f"{twin[2]}.{twin[3]}")


def _hub_and_port(match: re.Match[str]) -> tuple[str, str]:
    """2-1.3 is port 3 of hub 2-1; 2-1 is port 1 of the root hub usb2."""
    bus, path = match.groups()
    above, _, last = path.rpartition(".")
    return (f"{bus}-{above}" if above else f"usb{bus}"), last


def _interface(hub: str) -> str:
    bus = hub.removeprefix("usb")
    return f"{bus}-0:1.0" if bus != hub else f"{hub}:1.0"


def slot_of(tree: Tree, port: str, slots: Mapping[str, Sequence[str]]) -> str | None:
    """The name of the slot that a drive's port (as in its identity) is, None when it is none.

    `slots` are the setting `bench_ports`: names with the port paths of each. Two disks that answer
    as two targets of one bridge (`2-1-t1`) are in one slot.
    """
    port = re.sub(r"-t\d+$", "", port)
    for name, ports in slots.items():
        if any(port in same_socket(tree, slot_port) for slot_port in ports):
            return name
    return None


def by_port(tree: Tree, slots: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The slots' names by port, both ports of a USB socket among them."""
    return {
        port: name
        for name, ports in slots.items()
        for slot_port in ports
        for port in same_socket(tree, slot_port)
    }
