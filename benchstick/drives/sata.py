"""The SATA link: generation negotiated against what drive and port support."""

from __future__ import annotations

import re
from pathlib import Path

from benchstick.drives.ata import Words, sata_speeds
from benchstick.drives.sysfs import Tree
from benchstick.drives.topology import Where
from benchstick.drives.types import Fact

NAMES = ("sata_speed", "sata_capable_speed", "sata_port_limit")


def facts(tree: Tree, where: Where, words: Words, reason: str) -> dict[str, Fact]:
    """Speeds in Mb/s. Behind a bridge the link is the one between bridge and drive."""
    if where.transport == "sata":
        return _own_port(tree, where, words)
    if not words:
        return {name: Fact.unknown(reason) for name in NAMES}
    capable, current = sata_speeds(words)
    return {
        "sata_speed": _make_fact(current, f"{words.source}, word 77", "not reported by the drive"),
        "sata_capable_speed": _make_fact(capable, f"{words.source}, word 76", "not a SATA drive"),
        "sata_port_limit": Fact.unknown("the bridge does not report its SATA port's limit"),
    }


def _make_fact(speed: int | None, source: str, reason: str) -> Fact:
    return Fact.unknown(reason) if speed is None else Fact(speed, "Mb/s", source)


def _own_port(tree: Tree, where: Where, words: Words) -> dict[str, Fact]:
    link = _link(where)
    here = f"sys/class/ata_link/{link}"
    capable = sata_speeds(words)[0] if words else None
    return {
        "sata_speed": _make_fact(
            _megabits(tree.text(f"{here}/sata_spd")),
            f"sysfs ata_link {link} sata_spd",
            "the kernel reports no link speed",
        ),
        "sata_capable_speed": _make_fact(
            capable,
            f"{words.source}, word 76",
            "IDENTIFY DEVICE reports no SATA generation" if words else words.reason,
        ),
        "sata_port_limit": _make_fact(
            _megabits(tree.text(f"{here}/hw_sata_spd_limit")),
            f"sysfs ata_link {link} hw_sata_spd_limit",
            "the kernel reports no limit of the port",
        ),
    }


def _link(where: Where) -> str:
    """`link3`, or `link3.1` behind a port multiplier: the folder above the SCSI host's device."""
    for path in (where.device, *where.device.parents):
        if re.fullmatch(r"link\d+(\.\d+)?", path.name):
            return path.name
    port = (where.ata or "ata0").removeprefix("ata")
    pmp = where.scsi[1] if where.scsi else 0
    return f"link{port}.{pmp}" if pmp else f"link{port}"


def _megabits(text: str | None) -> int | None:
    """`6.0 Gbps` in Mb/s; None for `<unknown>`."""
    match = re.match(r"([\d.]+) Gbps", text or "")
    return round(float(match.group(1)) * 1000) if match else None


def pcie(tree: Tree, folder: Path | None) -> dict[str, Fact]:
    """The PCIe link of the device at `folder`: GT/s and lanes, now and at best."""
    names = {
        "pcie_speed": ("current_link_speed", "GT/s"),
        "pcie_width": ("current_link_width", "lanes"),
        "pcie_capable_speed": ("max_link_speed", "GT/s"),
        "pcie_capable_width": ("max_link_width", "lanes"),
    }
    if folder is None:
        return {name: Fact.unknown("not on PCIe") for name in names}
    facts = {}
    for name, (file, unit) in names.items():
        match = re.match(r"([\d.]+)", tree.text(folder / file) or "")
        # 255 lanes is the kernel's "unknown" for links without the capability register.
        if match is None or match.group(1) in ("0", "255"):
            facts[name] = Fact.unknown("the PCI device reports no link")
            continue
        value = float(match.group(1))
        facts[name] = Fact(int(value) if value.is_integer() else value, unit, f"sysfs {file}")
    return facts
