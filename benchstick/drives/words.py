"""Sentences about a drive for people: one line of what it is, and what holds it back."""

from __future__ import annotations

from benchstick.drives.model import Drive

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


def gigabits(megabits: float) -> str:
    """`10 Gb/s`, `480 Mb/s`, `1.5 Gb/s`."""
    if megabits < 1000:
        return f"{megabits:g} Mb/s"
    return f"{megabits / 1000:g} Gb/s"


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
    said, usable = drive.value("trim"), bool(drive.value("trim_kernel", 0))
    if usable:
        return "yes"
    if said:
        return "offered, not used by the kernel"
    return "unknown" if said is None else "no"


def worse_than_possible(drive: Drive) -> list[str]:
    """What this connection gives away, one sentence each; empty when nothing."""
    return [text for text in (*_usb(drive), _sata(drive), _pcie(drive), _trim(drive)) if text]


def _usb(drive: Drive) -> list[str]:
    found = []
    now, best = drive.value("usb_speed"), drive.value("usb_capable_speed")
    if now is not None and best is not None and best > now:
        also = " and UASP" if "UAS" in drive.value("usb_interfaces", []) else ""
        found.append(f"the drive offers {gigabits(best)}{also}; this port gives {gigabits(now)}")
    why = drive.value("driver_why")
    if why is not None:
        found.append(f"no UASP: {why}")
    return found


def _sata(drive: Drive) -> str | None:
    now, best = drive.value("sata_speed"), drive.value("sata_capable_speed")
    if now is None or best is None or best <= now:
        return None
    limit = drive.value("sata_port_limit")
    because = (
        f" (the port's limit is {gigabits(limit)})" if limit is not None and limit < best else ""
    )
    return f"the drive can do SATA {gigabits(best)}; the link runs at {gigabits(now)}{because}"


def _pcie(drive: Drive) -> str | None:
    speed, best = drive.value("pcie_speed"), drive.value("pcie_capable_speed")
    width, widest = drive.value("pcie_width"), drive.value("pcie_capable_width")
    if None in (speed, best, width, widest) or (best <= speed and widest <= width):
        return None
    return f"the drive can do PCIe {best:g} GT/s x{widest}; the slot gives {speed:g} GT/s x{width}"


def _trim(drive: Drive) -> str | None:
    if not drive.value("trim") or drive.value("trim_kernel", 1):
        return None
    mode = drive.value("provisioning_mode")
    told = f" (provisioning mode {mode})" if mode else ""
    return f"the drive says that it takes TRIM, but the kernel does not use it{told}"
