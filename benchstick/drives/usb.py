"""USB: speed, lanes, hubs, the protocols of the interface, and why not the best driver is bound.

Read from sysfs; BOS descriptor parsing after USB 3.2, 9.6.2. `lsusb -v` only where the kernel does
not show the BOS descriptor (before 6.9).
"""

from __future__ import annotations

import re
from pathlib import Path

from benchstick.drives.device_query import Asker
from benchstick.drives.sysfs import Tree
from benchstick.drives.topology import Where
from benchstick.drives.types import Fact

_BOS, _DEVICE_CAPABILITY = 0x0F, 0x10
_CAP_SUPERSPEED, _CAP_SUPERSPEED_PLUS = 0x03, 0x0A
_MASS_STORAGE, _SCSI_COMMANDS = 0x08, 0x06
_PROTOCOLS = {0x50: "BOT", 0x62: "UAS"}
NAMES = (
    "usb_id", "usb_speed", "usb_capable_speed", "usb_lanes", "usb_hubs", "usb_interfaces",
    "driver_why",
)  # fmt: skip


def facts(tree: Tree, where: Where, ask: Asker, log: Asker) -> dict[str, Fact]:
    """The USB facts of a drive. `log` answers `dmesg` and `lsusb`, `ask` is the drive's own."""
    if where.usb is None:
        return {name: Fact.unknown("not on USB") for name in NAMES}
    usb = where.usb
    speed = tree.text(usb / "speed")
    offers, offers_source = offered(tree, usb)
    facts = {
        "usb_id": _usb_id(tree, usb),
        "usb_speed": (
            Fact(_number(speed), "Mb/s", "sysfs speed")
            if speed
            else Fact.unknown("the kernel reports no speed")
        ),
        "usb_capable_speed": capable_speed(tree, usb, ask, log),
        "usb_lanes": _lanes(tree, usb),
        "usb_hubs": Fact(usb.name.count("."), source="port path"),
        "usb_interfaces": (
            Fact(offers, source=offers_source)
            if offers
            else Fact.unknown("no mass-storage interface in the descriptors")
        ),
    }
    reason = driver_why(tree, where, offers, log)
    facts["driver_why"] = (
        Fact(reason, source="descriptors against the bound driver")
        if reason
        else Fact.unknown("the driver is the best that the interface offers")
    )
    return facts


def _number(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() else value


def _usb_id(tree: Tree, usb: Path) -> Fact:
    vendor, product = tree.text(usb / "idVendor"), tree.text(usb / "idProduct")
    return Fact(f"{vendor}:{product}", source="sysfs idVendor, idProduct")


def _lanes(tree: Tree, usb: Path) -> Fact:
    receive, transmit = tree.number(usb / "rx_lanes"), tree.number(usb / "tx_lanes")
    if receive is None or transmit is None:
        return Fact.unknown("the kernel reports no lanes")
    return Fact(min(receive, transmit), source="sysfs rx_lanes, tx_lanes")


def offered(tree: Tree, usb: Path) -> tuple[list[str], str]:
    """Mass-storage protocols of all alternate settings, from the raw descriptors: BOT, UAS."""
    raw = tree.data(usb / "descriptors") or b""
    protocols: set[str] = set()
    at = 0
    while at + 2 <= len(raw) and raw[at] >= 2:
        length, kind = raw[at], raw[at + 1]
        if kind == 0x04 and length >= 9 and at + 9 <= len(raw):
            class_, subclass, protocol = raw[at + 5], raw[at + 6], raw[at + 7]
            if (class_, subclass) == (_MASS_STORAGE, _SCSI_COMMANDS):
                protocols.add(_PROTOCOLS.get(protocol, f"protocol {protocol:#04x}"))
        at += length
    return sorted(protocols), "interface descriptors in sysfs"


def bos_speed(raw: bytes) -> int | None:
    """The best speed in a BOS descriptor, Mb/s; None when it has none above USB 2.

    SuperSpeed: bit 3 of wSpeedsSupported is 5 Gb/s. SuperSpeedPlus: the fastest sublink times the
    minimum of lanes in the descriptor, so a x2 device may be reported with one lane.
    """
    best: int | None = None
    at = raw[0] if len(raw) >= 5 and raw[1] == _BOS else len(raw)
    while at + 3 <= len(raw) and raw[at] >= 3:
        length, kind, capability = raw[at], raw[at + 1], raw[at + 2]
        block = raw[at : at + length]
        speed = None
        if kind == _DEVICE_CAPABILITY and capability == _CAP_SUPERSPEED and len(block) >= 6:
            speed = 5000 if int.from_bytes(block[4:6], "little") >> 3 & 1 else None
        elif kind == _DEVICE_CAPABILITY and capability == _CAP_SUPERSPEED_PLUS:
            speed = _sublink_speed(block)
        if speed is not None:
            best = max(best or 0, speed)
        at += length
    return best


def _sublink_speed(block: bytes) -> int | None:
    if len(block) < 16:
        return None
    count = (int.from_bytes(block[4:8], "little") & 0x1F) + 1
    lanes = max(1, block[9] & 0x0F, block[9] >> 4)
    speeds = []
    for index in range(count):
        word = int.from_bytes(block[12 + 4 * index : 16 + 4 * index], "little")
        exponent, mantissa = word >> 4 & 3, word >> 16
        # Exponents 0 to 3: b/s, kb/s, Mb/s, Gb/s.
        speeds.append(mantissa * 1000**exponent // 10**6)
    return max(speeds) * lanes if max(speeds) else None


def capable_speed(tree: Tree, usb: Path, ask: Asker, log: Asker) -> Fact:
    """What the device could do on the best port, never below what it does now."""
    now = _number(tree.text(usb / "speed") or "0")
    raw = tree.data(usb / "bos_descriptors")
    if raw:
        return _capable(bos_speed(raw), now, "BOS descriptor")
    # lsusb sends control requests to the device, so it is not asked while a test runs.
    if ask.silent_why is None:
        bus, device = tree.number(usb / "busnum"), tree.number(usb / "devnum")
        answer = log("lsusb", "-v", "-s", f"{bus}:{device}")
        speed = lsusb_speed(answer.text)
        if speed is not None:
            return _capable(speed, now, "BOS descriptor (lsusb)")
    version = float(tree.text(usb / "version") or "0")
    if version >= 3.0 or now > 480:
        return Fact(max(5000, now), "Mb/s", "bcdUSB: the kernel shows no BOS descriptor")
    if version > 2.0:
        # A SuperSpeed device on a USB 2 link says 2.1.
        return Fact(5000, "Mb/s", "bcdUSB 2.1 on a USB 2 link: at least 5 Gb/s or a USB 2.1 device")
    return Fact(480 if version >= 2.0 else 12, "Mb/s", "bcdUSB")


def _capable(speed: int | None, now: float, source: str) -> Fact:
    return Fact(max(speed or 480, now), "Mb/s", source)


def lsusb_speed(output: str) -> int | None:
    """The same from the text of `lsusb -v`, which shows no lanes."""
    speeds = [5000] if "Device can operate at SuperSpeed (5Gbps)" in output else []
    for amount, unit in re.findall(r"Speed Attribute ID: \d+ (\d+)([GM])b/s", output):
        speeds.append(int(amount) * (1000 if unit == "G" else 1))
    return max(speeds, default=None)


def driver_why(tree: Tree, where: Where, offers: list[str], log: Asker) -> str | None:
    """Why a device that offers UAS runs on usb-storage; None when it does not."""
    if "UAS" not in offers or where.driver == "uas" or where.usb is None:
        return None
    usb_id = f"{tree.text(where.usb / 'idVendor')}:{tree.text(where.usb / 'idProduct')}"
    quirk = quirk_for(tree.text("sys/module/usb_storage/parameters/quirks") or "", usb_id)
    if quirk is not None and "u" in quirk:
        return (
            f"offers UAS, but the module parameter usb-storage.quirks={usb_id}:{quirk} forbids it"
        )
    lines = _kernel_lines(log, where.usb.name)
    if any("does not support streams" in line for line in lines):
        return "offers UAS, but the USB controller has no streams, which UAS needs"
    if any("UAS is ignored" in line or "UAS is blacklisted" in line for line in lines):
        return "offers UAS, but the kernel's built-in quirk for this bridge forbids it"
    if not tree.exists("sys/module/uas"):
        return "offers UAS, but the kernel's uas driver is not loaded"
    return "offers UAS, but usb-storage is bound; the kernel log does not show why"


def quirk_for(parameter: str, usb_id: str) -> str | None:
    """The flags for `vid:pid` in `usb-storage.quirks`: `152d:0578:u,0bc2:2321:t`."""
    for entry in parameter.lower().split(","):
        parts = entry.split(":")
        if len(parts) == 3 and ":".join(parts[:2]) == usb_id.lower():
            return parts[2]
    return None


def _kernel_lines(log: Asker, device: str) -> list[str]:
    answer = log("dmesg")
    marks = (f"usb {device}:", f"uas {device}:", f"usb-storage {device}:")
    return [line for line in answer.text.splitlines() if any(mark in line for mark in marks)]
