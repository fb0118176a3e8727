"""Where a disk is in sysfs: its transport, its port, its LUN, and the folders above it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchstick.drives.sysfs import Tree

_PCI = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_SCSI = re.compile(r"(\d+):(\d+):(\d+):(\d+)")
# AHCI 1.3.1: PxCMD bit 21 External SATA Port, HBA CAP bit 5 Supports External SATA.
_PORT_CMD_ESP = 1 << 21
_CAP_SXS = 1 << 5


@dataclass(frozen=True)
class Where:
    """Folders are `/sys/...` paths, None where the drive has no such parent.

    `usb` is the USB device's folder, `pci` the PCI devices
    from the root port down, `ata` the kernel's port name (`ata3`), `scsi` host:channel:target:lun.
    """

    name: str
    device: Path
    transport: str
    port: str
    lun: int
    external: bool
    external_why: str
    usb: Path | None = None
    pci: tuple[Path, ...] = ()
    ata: str | None = None
    scsi: tuple[int, int, int, int] | None = None
    driver: str | None = None


def locate(tree: Tree, name: str, *, practice: bool = False) -> Where:
    """Where disk `name` is, from the path that its sysfs symlink resolves to."""
    device = tree.real(f"sys/block/{name}")
    above = [device, *device.parents]
    pci = tuple(reversed([path for path in above if _PCI.fullmatch(path.name)]))
    usb = next((path for path in above if tree.exists(path / "idVendor")), None)
    interface = next((path for path in above if tree.exists(path / "bInterfaceNumber")), None)
    scsi = _scsi_address(tree, name)
    ata = next((path.name for path in above if re.fullmatch(r"ata\d+", path.name)), None)
    driver = _driver(tree, name, interface, above)
    transport = _transport(name, usb, ata, scsi, driver, device, practice)
    external, reason = _external(tree, usb, pci, scsi, ata)
    return Where(
        name=name,
        device=device,
        transport=transport,
        port=_port(tree, name, usb, ata, scsi, pci, device, practice),
        lun=_lun(name, scsi),
        external=external,
        external_why=reason,
        usb=usb,
        pci=pci,
        ata=ata,
        scsi=scsi,
        driver=driver,
    )


def _scsi_address(tree: Tree, name: str) -> tuple[int, int, int, int] | None:
    match = _SCSI.fullmatch(tree.real(f"sys/block/{name}/device").name)
    if match is None:
        return None
    host, channel, target, lun = (int(part) for part in match.groups())
    return host, channel, target, lun


def _driver(tree: Tree, name: str, interface: Path | None, above: list[Path]) -> str | None:
    """The driver that carries the drive's commands: `uas`, `ahci`, `nvme`, not the disk driver."""
    if interface is not None:
        return tree.link_name(interface / "driver")
    for path in above[1:]:
        driver = tree.link_name(path / "driver")
        if driver not in (None, "sd"):
            return driver
    return tree.link_name(f"sys/block/{name}/device/driver")


def _transport(
    name: str,
    usb: Path | None,
    ata: str | None,
    scsi: tuple[int, int, int, int] | None,
    driver: str | None,
    device: Path,
    practice: bool,
) -> str:
    if practice:
        return "virtual"
    if usb is not None:
        return "usb-uas" if driver == "uas" else "usb-bot"
    prefixes = {"nvme": "nvme", "mmcblk": "mmc", "vd": "virtio"}
    for prefix, transport in prefixes.items():
        if name.startswith(prefix):
            return transport
    if ata is not None:
        return "sata"
    if any(re.fullmatch(r"virtio\d+", part) for part in device.parts):
        return "virtio"
    # scsi_debug is under /sys/devices/pseudo_0: a test driver of the kernel, not a bus.
    if scsi is not None and not any(part.startswith("pseudo_") for part in device.parts):
        return "scsi"
    return "other"


def _external(
    tree: Tree,
    usb: Path | None,
    pci: tuple[Path, ...],
    scsi: tuple[int, int, int, int] | None,
    ata: str | None,
) -> tuple[bool, str]:
    """Outside the case: USB, eSATA, Thunderbolt and USB4 (docs/drives.md)."""
    if usb is not None:
        return True, "USB"
    for path in pci:
        # Set by the kernel below a port that firmware calls external-facing.
        if tree.text(path / "removable") == "removable":
            return True, f"Thunderbolt or USB4: PCI device {path.name} is removable"
    if ata is not None and scsi is not None:
        host = f"sys/class/scsi_host/host{scsi[0]}"
        # The disk's own `removable` says the same for every hot-plug capable port inside the
        # case, so only the port register's External SATA bit counts.
        command = _hex(tree.text(f"{host}/ahci_port_cmd"))
        caps = _hex(tree.text(f"{host}/ahci_host_caps"))
        if command & _PORT_CMD_ESP and caps & _CAP_SXS:
            return True, "eSATA: the AHCI port is marked external"
    return False, "not on USB, eSATA, Thunderbolt or USB4"


def _hex(text: str | None) -> int:
    try:
        return int(text or "0", 16)
    except ValueError:
        return 0


def _port(
    tree: Tree,
    name: str,
    usb: Path | None,
    ata: str | None,
    scsi: tuple[int, int, int, int] | None,
    pci: tuple[Path, ...],
    device: Path,
    practice: bool,
) -> str:
    """A place that stays the same as long as nobody moves a cable or a card."""
    if practice:
        return "practice"
    if usb is not None:
        # Two LUNs share it, and the LUN distinguishes them; two disks of one bridge that answer
        # as two SCSI targets need the target as well.
        target = f"-t{scsi[2]}" if scsi is not None and scsi[2] else ""
        return usb.name + target
    if ata is not None:
        return f"{ata}.{scsi[1]}" if scsi is not None and scsi[1] else ata
    if name.startswith("dm-"):
        return tree.text(f"sys/block/{name}/dm/name") or name
    if name.startswith("mmcblk"):
        return next((p for p in device.parts if re.fullmatch(r"mmc\d+", p)), name)
    base = pci[-1].name if pci else None
    if base is None:
        adapters = [p for p in device.parts if re.fullmatch(r"(adapter|virtio)\d+", p)]
        base = adapters[-1] if adapters else name
    if scsi is not None:
        return f"{base}-{scsi[1]}.{scsi[2]}"
    return base


def _lun(name: str, scsi: tuple[int, int, int, int] | None) -> int:
    if scsi is not None:
        return scsi[3]
    match = re.fullmatch(r"nvme\d+n(\d+)", name)
    # Namespaces count from 1; one controller's first is its LUN 0.
    return int(match.group(1)) - 1 if match else 0
