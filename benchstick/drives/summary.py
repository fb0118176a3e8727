"""A line about a drive for people."""

from __future__ import annotations

from benchstick.drives.bottlenecks import gigabits
from benchstick.drives.types import Drive

_TRANSPORT_WORDS = {
    "usb-uas": "UASP",
    "usb-bot": "BOT",
    "sata": "SATA",
    "nvme": "NVMe",
    "scsi": "SCSI",
    "mmc": "MMC",
    "virtio": "virtio",
    "virtual": "practice drive",
    "other": "other",
}


def summary_line(drive: Drive) -> str:
    """How the drive is connected: `USB 10 Gb/s · UASP · queue 30 · TRIM yes`."""
    parts = []
    if (speed := drive.value("usb_speed")) is not None:
        parts.append(f"USB {gigabits(speed)}")
        parts.append(_TRANSPORT_WORDS[drive.transport])
    elif drive.transport == "sata" and (speed := drive.value("sata_speed")) is not None:
        parts.append(f"SATA {gigabits(speed)}")
    elif drive.transport == "nvme" and (speed := drive.value("pcie_speed")) is not None:
        width = drive.value("pcie_width")
        lanes = f" x{width}" if width else ""
        parts.append(f"NVMe PCIe {speed:g} GT/s{lanes}")
    else:
        parts.append(_TRANSPORT_WORDS[drive.transport])
    if (depth := drive.value("queue_depth")) is not None:
        parts.append(f"queue {depth}")
    parts.append(f"TRIM {_trim_word(drive)}")
    return " · ".join(parts)


def _trim_word(drive: Drive) -> str:
    trim, usable = drive.value("trim"), bool(drive.value("trim_kernel", 0))
    if usable:
        return "yes"
    if trim:
        return "offered, not used by the kernel"
    return "unknown" if trim is None else "no"
