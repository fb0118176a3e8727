"""The drives that share a link: a USB hub, a controller, a port multiplier, a PCIe switch.

That link limits their total speed. Read from sysfs. A USB hub counts with the speed of its own
connection, a PCI device with its link. The kernel reports no link for a controller inside the
chipset: its drives share one all the same, with an unknown limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.drives.sata import pcie
from benchstick.drives.sysfs import Tree
from benchstick.drives.topology import Where, locate

# What is left of a bit rate after the line code, by the kernel's speed in Mb/s (USB 3.2, chapters 6
# and 10: 8b/10b up to 5 Gb/s a lane, 128b/132b above), in bytes: 5 Gb/s carry 500 MB/s.
_USB_BYTES = {12: 1.5, 480: 60.0, 5000: 500.0, 10000: 1212.0, 20000: 2424.0}
# The same of a PCIe lane (8b/10b for 2.5 and 5 GT/s, 128b/130b after), and of SATA.
_PCIE_BYTES = {2.5: 250.0, 5.0: 500.0, 8.0: 984.6, 16.0: 1969.2, 32.0: 3938.5}


@dataclass(frozen=True)
class Link:
    """A link that several drives share. `limit` is in MB/s before any protocol, None where the
    kernel does not report it; `drives` are kernel names."""

    kind: str
    name: str
    limit: float | None
    drives: tuple[str, ...]

    def describe(self, names: Sequence[str]) -> str:
        """As a text, with the names of the drives that the user knows."""
        share = "a limit that is not known"
        if self.limit is not None:
            share = f"{self.limit:.0f} MB/s at most, {self.limit / len(names):.0f} each"
        return f"{self.kind} {self.name} is shared by {', '.join(names)}: {share}"

    def to_json(self) -> dict[str, Any]:
        """One entry of `shared` in the `benchstick/drives/2` document."""
        return {
            "kind": self.kind, "name": self.name, "limit_mbps": self.limit,
            "drives": list(self.drives),
        }  # fmt: skip


def shared(tree: Tree, names: Sequence[str]) -> list[Link]:
    """The links that carry two or more of these disks, the narrowest first.

    A link is left out when all of its drives share another one with the same drives and no higher
    limit: that one limits them.
    """
    link_loads: dict[tuple[str, str], tuple[float | None, list[str]]] = {}
    for name in names:
        for kind, place, limit in _links(tree, locate(tree, name)):
            link_loads.setdefault((kind, place), (limit, []))[1].append(name)
    links = [
        Link(kind, place, limit, tuple(drives))
        for (kind, place), (limit, drives) in link_loads.items()
        if len(drives) > 1
    ]
    links.sort(key=lambda link: (link.limit is None, link.limit or 0.0))
    bottlenecks: list[Link] = []
    for link in links:
        # Sorted: those already in the list are as narrow or narrower.
        if not any(set(link.drives) <= set(other.drives) for other in bottlenecks):
            bottlenecks.append(link)
    return bottlenecks


def _links(tree: Tree, where: Where) -> list[tuple[str, str, float | None]]:
    """The links of the drive: kind, name and limit, from the drive outwards."""
    links: list[tuple[str, str, float | None]] = []
    if where.usb is not None:
        # Two LUNs of one bridge share the bridge.
        links.append(("USB bridge", where.usb.name, _usb_limit(tree, where.usb)))
        for folder in where.usb.parents:
            if not tree.exists(folder / "idVendor"):
                break
            # A root hub is the controller itself; its `speed` is one port's.
            if not folder.name.startswith("usb"):
                links.append(("USB hub", folder.name, _usb_limit(tree, folder)))
    if where.ata is not None:
        # One port, one cable; several disks on it hang behind a port multiplier.
        speed = _sata_limit(tree, where)
        links.append(("SATA port", where.ata, speed))
    for index, folder in enumerate(reversed(where.pci)):
        kind = "controller" if index == 0 else "PCIe bridge"
        links.append((kind, folder.name, _pcie_limit(tree, folder)))
    return links


def _usb_limit(tree: Tree, folder: Path) -> float | None:
    return _USB_BYTES.get(tree.number(folder / "speed") or 0)


def _sata_limit(tree: Tree, where: Where) -> float | None:
    number = (where.ata or "").removeprefix("ata")
    text = tree.text(f"sys/class/ata_link/link{number}/sata_spd") or ""
    return {"1.5 Gbps": 150.0, "3.0 Gbps": 300.0, "6.0 Gbps": 600.0}.get(text)


def _pcie_limit(tree: Tree, folder: Path) -> float | None:
    facts = pcie(tree, folder)
    speed, width = facts["pcie_speed"].value, facts["pcie_width"].value
    lane = _PCIE_BYTES.get(float(speed)) if isinstance(speed, (int, float)) else None
    return None if lane is None or not isinstance(width, (int, float)) else lane * width
