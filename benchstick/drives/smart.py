"""SMART through smartctl: health, hours, wear, temperature, and the drive inside a bridge.

Only `-i -H -A`: with `-a`, `-x` or `-l selftest` some bridges reset their bus half a minute later
(smartmontools issue 256). smartctl knows bridges by USB id; an unknown one is tried as SAT.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from benchstick.drives.device_query import Asker
from benchstick.drives.types import Fact

ARGUMENTS = ("-j", "-i", "-H", "-A")
# Bits 0 to 2 of smartctl's exit status mean that the command failed, 3 to 7 show the drive's state.
_FAILED = 0b011
_WEAR_ATTRIBUTES = {
    "Media_Wearout_Indicator", "Wear_Leveling_Count", "SSD_Life_Left",
    "Percent_Lifetime_Remain", "Remaining_Lifetime_Perc", "Drive_Life_Remaining%",
}  # fmt: skip
# Counters of failing flash, surface and cable: the ATA attribute, and the field of NVMe's log.
_COUNTERS: dict[str, tuple[int, str | None]] = {
    "reallocated_sectors": (5, None),
    "pending_sectors": (197, None),
    "media_errors": (198, "media_errors"),
    "crc_errors": (199, None),
}  # fmt: skip


@dataclass(frozen=True)
class Smart:
    """smartctl's answer: its JSON, the device type it used; `reason` when there is none."""

    document: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    reason: str = ""
    unknown_bridge: bool = False

    def __bool__(self) -> bool:
        return bool(self.document)

    @property
    def is_nvme(self) -> bool:
        return bool(self.document.get("device", {}).get("protocol") == "NVMe")

    def get(self, *path: str) -> Any:
        """The value at `path`, or None."""
        here: Any = self.document
        for key in path:
            here = here.get(key) if isinstance(here, dict) else None
        return here

    def text(self, key: str) -> str:
        value = self.document.get(key)
        return value.strip() if isinstance(value, str) else ""


def read(ask: Asker, name: str) -> Smart:
    """Ask smartctl about drive `name`, the device type being smartctl's choice."""
    answer = ask("smartctl", *ARGUMENTS, f"/dev/{name}")
    reply, message = _parse(answer.stdout, answer.exit_code)
    reason = ask.silent_why or message or ask.why_not(answer)
    return reply or Smart(reason=reason, unknown_bridge="USB bridge" in message)


def read_sat(ask: Asker, name: str) -> Smart:
    """Ask through SAT, for a bridge that smartctl does not know but that passes ATA on."""
    answer = ask("smartctl", *ARGUMENTS, "-d", "sat", f"/dev/{name}")
    reply, message = _parse(answer.stdout, answer.exit_code)
    return reply or Smart(reason=ask.silent_why or message or ask.why_not(answer))


def _parse(output: bytes, exit_code: int) -> tuple[Smart, str]:
    """The answer and smartctl's first error message."""
    try:
        document = json.loads(output)
    except ValueError:
        return Smart(), ""
    if not isinstance(document, dict):
        return Smart(), ""
    messages = document.get("smartctl", {}).get("messages", [])
    message = str(messages[0].get("string", "")) if messages else ""
    # Identity must have come: a device that opens but answers nothing is no answer.
    has_id = any(key in document for key in ("model_name", "serial_number", "scsi_model_name"))
    if exit_code & _FAILED or not has_id:
        return Smart(), message
    return Smart(document, str(document.get("device", {}).get("type", ""))), message


def facts(smart: Smart) -> dict[str, Fact]:
    """Health, hours, wear, counters; each with the reason when the drive does not report it."""
    names = ("health", "power_on_hours", "wear", "bytes_written", *_COUNTERS)
    if not smart:
        return {name: Fact.unknown(smart.reason) for name in names}
    source = f"smartctl -d {smart.kind}"
    has_passed = smart.get("smart_status", "passed")
    hours = smart.get("power_on_time", "hours")
    return {
        "health": (
            Fact.unknown("the drive reports no SMART status")
            if has_passed is None
            else Fact("passed" if has_passed else "failed", source=source)
        ),
        "power_on_hours": (
            Fact.unknown("the drive reports no hours")
            if hours is None
            else Fact(hours, "h", source)
        ),
        "wear": _wear(smart, source),
        "bytes_written": _count_written(smart, source),
        **{name: _counter(smart, source, *where) for name, where in _COUNTERS.items()},
    }


def _wear(smart: Smart, source: str) -> Fact:
    """Percent of the rated endurance used."""
    percent_used = smart.get("nvme_smart_health_information_log", "percentage_used")
    if percent_used is None:
        percent_used = smart.get("endurance_used", "current_percent")
    if percent_used is not None:
        return Fact(percent_used, "%", source)
    for row in smart.get("ata_smart_attributes", "table") or []:
        if row.get("name") in _WEAR_ATTRIBUTES and isinstance(row.get("value"), int):
            return Fact(max(0, 100 - row["value"]), "%", f"{source}, {row['name']}")
    return Fact.unknown("the drive reports no wear")


def _counter(smart: Smart, source: str, attribute: int, field: str | None) -> Fact:
    """A count that should be 0. Of an ATA attribute it is the first number of what smartctl makes
    of the raw value: makers pack others behind it."""
    if field is not None:
        count = smart.get("nvme_smart_health_information_log", field)
        if isinstance(count, int):
            return Fact(count, source=source)
    for row in smart.get("ata_smart_attributes", "table") or []:
        if row.get("id") == attribute:
            match = re.match(r"\d+", str(row.get("raw", {}).get("string", "")))
            if match is not None:
                return Fact(int(match[0]), source=f"{source}, {row.get('name')}")
    return Fact.unknown("the drive does not count them")


def _count_written(smart: Smart, source: str) -> Fact:
    units = smart.get("nvme_smart_health_information_log", "data_units_written")
    if isinstance(units, int):
        return Fact(units * 512_000, "B", source)
    for row in smart.get("ata_smart_attributes", "table") or []:
        raw = row.get("raw", {}).get("value")
        if row.get("name") == "Total_LBAs_Written" and isinstance(raw, int):
            return Fact(raw * int(smart.get("logical_block_size") or 512), "B", source)
    return Fact.unknown("the drive reports no bytes written")
