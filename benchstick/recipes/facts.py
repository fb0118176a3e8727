"""The facts of a drive that a recipe may name, each with its kind of value.

They are those of docs/drives.md without lists (`filesystems`, `sanitize`), which have no operator.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchstick.drives.types import TRANSPORTS

NUMBER, TEXT, FLAG = "a number", "text", "true or false"

_NUMBERS = (
    "bytes_written", "capacity", "crc_errors", "discard_granularity", "erase_time",
    "erase_time_enhanced", "logical_sector", "lun", "media_errors", "namespaces", "nr_requests",
    "pcie_capable_speed", "pcie_capable_width", "pcie_speed", "pcie_width", "pending_sectors",
    "physical_sector", "power_on_hours", "queue_count", "queue_depth", "reallocated_sectors",
    "sanitize_block_time", "sanitize_crypto_time", "sata_capable_speed", "sata_port_limit",
    "sata_speed", "temperature", "trim_kernel", "usb_capable_speed", "usb_hubs", "usb_lanes",
    "usb_speed", "wear",
)  # fmt: skip
_TEXTS = (
    "apm", "contents", "devsleep", "driver", "driver_why", "firmware", "format_scope", "health",
    "lba_format", "model", "ncq", "opal", "port", "provisioning_mode", "sanitize_state",
    "scheduler", "security", "security_erase", "serial", "smart", "transport", "usb_id", "vendor",
    "write_cache",
)  # fmt: skip
_FLAGS = ("external", "read_only", "rotational", "trim", "trim_drive")

FACTS: Mapping[str, str] = {
    **dict.fromkeys(_NUMBERS, NUMBER),
    **dict.fromkeys(_TEXTS, TEXT),
    **dict.fromkeys(_FLAGS, FLAG),
}
# Facts with few values: a misspelt one would fail every drive.
WORDS: Mapping[str, tuple[str, ...]] = {
    "transport": TRANSPORTS,
    "health": ("passed", "failed"),
}
# What SMART counts: a limit may be on how much it rose over the test.
CHANGES = (
    "bytes_written", "crc_errors", "media_errors", "pending_sectors", "power_on_hours",
    "reallocated_sectors", "wear",
)  # fmt: skip
