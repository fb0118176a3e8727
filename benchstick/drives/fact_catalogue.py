"""The facts of a drive: name, title, unit, type and group of each. Data only.

The drive page, the reports, the limits of recipes and docs/drives.md use this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from benchstick.drives.types import TRANSPORTS
from benchstick.plan.units import CELSIUS


class Type(StrEnum):
    """The type of a fact's value. A recipe cannot name a fact with several values."""

    NUMBER = "a number"
    TEXT = "text"
    FLAG = "true or false"
    SEVERAL = "several values"


class Group(StrEnum):
    """Groups of facts, in the order shown. The page shows the identity on a card of its own."""

    IDENTITY = "Identity"
    CONNECTION = "Connection"
    QUEUEING = "Queueing"
    TRIM = "TRIM and cache"
    MEDIUM = "Medium"
    FEATURES = "Features"
    HEALTH = "Health and temperature"


@dataclass(frozen=True)
class FactType:
    """One fact that a drive can have. `options`: its possible values, empty for any. `rises`: a
    counter of SMART, so a limit may be on its rise during a test. `is_condition`: a run's record
    has it among the conditions of the test."""

    title: str
    group: Group
    type: Type
    unit: str | None = None
    options: tuple[str, ...] = ()
    rises: bool = False
    is_condition: bool = False


_N, _T, _F, _S = Type.NUMBER, Type.TEXT, Type.FLAG, Type.SEVERAL
_I, _C, _Q, _D, _M, _A, _H = Group

CATALOGUE: Mapping[str, FactType] = {
    "model": FactType("Model", _I, _T),
    "serial": FactType("Serial", _I, _T),
    "capacity": FactType("Capacity", _I, _N, "B"),
    "port": FactType("Port", _I, _T, is_condition=True),
    "lun": FactType("LUN", _I, _N),
    "transport": FactType("Transport", _C, _T, options=TRANSPORTS, is_condition=True),
    "external": FactType("External", _C, _F, is_condition=True),
    "driver": FactType("Driver in use", _C, _T, is_condition=True),
    "driver_why": FactType("Why UAS is not used", _C, _T),
    "usb_id": FactType("USB id", _C, _T),
    "usb_interfaces": FactType("USB interface offers", _C, _S),
    "usb_speed": FactType("USB speed, negotiated", _C, _N, "Mb/s", is_condition=True),
    "usb_lanes": FactType("USB lanes", _C, _N),
    "usb_capable_speed": FactType("Maximum USB speed (device)", _C, _N, "Mb/s"),
    "usb_hubs": FactType("USB hubs in path", _C, _N),
    "sata_speed": FactType("SATA speed, negotiated", _C, _N, "Mb/s", is_condition=True),
    "sata_capable_speed": FactType("Maximum SATA speed", _C, _N, "Mb/s"),
    "sata_port_limit": FactType("SATA speed, the port's limit", _C, _N, "Mb/s"),
    "pcie_speed": FactType("PCIe speed, negotiated", _C, _N, "GT/s", is_condition=True),
    "pcie_width": FactType("PCIe width, negotiated", _C, _N, "lanes", is_condition=True),
    "pcie_capable_speed": FactType("Maximum PCIe speed", _C, _N, "GT/s"),
    "pcie_capable_width": FactType("Maximum PCIe width", _C, _N, "lanes"),
    "queue_depth": FactType("Queue depth (in use)", _Q, _N, is_condition=True),
    "queue_count": FactType("Queue count", _Q, _N),
    "nr_requests": FactType("Kernel queue size (nr_requests)", _Q, _N),
    "scheduler": FactType("Scheduler", _Q, _T),
    "ncq": FactType("NCQ", _Q, _T, is_condition=True),
    "trim": FactType("TRIM/UNMAP at the device", _D, _F, is_condition=True),
    "trim_drive": FactType("TRIM of the drive inside", _D, _F),
    "trim_kernel": FactType("TRIM, the kernel's largest request", _D, _N, "B", is_condition=True),
    "discard_granularity": FactType("Discard granularity", _D, _N, "B"),
    "provisioning_mode": FactType("Provisioning mode", _D, _T),
    "write_cache": FactType("Write cache", _D, _T, is_condition=True),
    "vendor": FactType("Vendor", _M, _T),
    "firmware": FactType("Firmware", _M, _T, is_condition=True),
    "rotational": FactType("Rotational", _M, _F),
    "logical_sector": FactType("Logical sector", _M, _N, "B"),
    "physical_sector": FactType("Physical sector", _M, _N, "B"),
    "read_only": FactType("Read only", _M, _F),
    "contents": FactType("Contents", _M, _T),
    "filesystems": FactType("Filesystems", _M, _S),
    "mounted": FactType("Mounted", _M, _S),
    "smart": FactType("SMART", _A, _T),
    "apm": FactType("APM", _A, _T),
    "devsleep": FactType("DevSleep", _A, _T),
    "opal": FactType("TCG Opal", _A, _T),
    "security": FactType("ATA security", _A, _T),
    "security_erase": FactType("ATA security erase", _A, _T),
    "erase_time": FactType("ATA security erase takes", _A, _N, "min"),
    "erase_time_enhanced": FactType("Enhanced security erase takes", _A, _N, "min"),
    "sanitize": FactType("NVMe Sanitize can do", _A, _S),
    "sanitize_state": FactType("Last sanitize", _A, _T),
    "sanitize_block_time": FactType("Sanitize, block erase takes", _A, _N, "s"),
    "sanitize_crypto_time": FactType("Sanitize, crypto erase takes", _A, _N, "s"),
    "format": FactType("NVMe Format erases", _A, _S),
    "format_scope": FactType("NVMe Format takes", _A, _T),
    "lba_format": FactType("LBA format in use", _A, _T),
    "namespaces": FactType("Namespaces", _A, _N),
    "unfinished_purge": FactType("Unfinished purge", _A, _S),
    "health": FactType("Health", _H, _T, options=("passed", "failed")),
    "temperature": FactType("Temperature", _H, _N, CELSIUS),
    "power_on_hours": FactType("Power on hours", _H, _N, "h", rises=True),
    "wear": FactType("Wear", _H, _N, "%", rises=True),
    "bytes_written": FactType("Bytes written", _H, _N, "B", rises=True),
    "reallocated_sectors": FactType("Reallocated sectors", _H, _N, rises=True),
    "pending_sectors": FactType("Pending sectors", _H, _N, rises=True),
    "media_errors": FactType("Media errors", _H, _N, rises=True),
    "crc_errors": FactType("CRC errors", _H, _N, rises=True),
}
# What a limit may be on: a fact's value, and the rise of a counter.
LIMITS = tuple(sorted(name for name, item in CATALOGUE.items() if item.type != Type.SEVERAL))
CHANGES = tuple(sorted(name for name, item in CATALOGUE.items() if item.rises))
CONDITIONS = tuple(name for name, item in CATALOGUE.items() if item.is_condition)
