"""A drive's identity: serial and model inside the bridge where they can be read, else the bridge's.

Order for a serial: the drive's own (IDENTIFY, NVMe, smartctl through the bridge), the SCSI unit
serial (VPD 80h), the USB device's. Never udev's ID_SERIAL, as udev may invent it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchstick.drives import ata, nvme, scsi, smart
from benchstick.drives.device_query import NOT_INSTALLED, Asker, Query
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree, capacity
from benchstick.drives.topology import Where
from benchstick.drives.types import Drive, Fact, Identity

_IDENTITY_TOOLS = ("hdparm", "smartctl")
NO_PASS_THROUGH = "behind this bridge: no ATA pass-through"


@dataclass(frozen=True)
class Identified:
    """The identity, and the answers it was read from, which the facts use again."""

    identity: Identity
    words: ata.Words
    smart: smart.Smart
    serial: Fact
    model: Fact
    vendor: Fact
    firmware: Fact


def clean(text: str | None) -> str | None:
    """White space folded; None for nothing, and for a serial that nobody could type."""
    line = " ".join((text or "").split())
    if not line or not line.isprintable() or "\ufffd" in line:
        return None
    return line


def identify(tree: Tree, where: Where, ask: Asker) -> Identified:
    """Read the identity of one drive. Queries the drive itself where its transport allows it."""
    if where.transport == "nvme":
        return _nvme(tree, where, ask)
    if where.transport in ("sata", "usb-uas", "usb-bot", "scsi"):
        return _scsi(tree, where, ask)
    return _plain(tree, where)


def again(tree: Tree, where: Where, drive: Drive, query: Query) -> tuple[Identity, Asker]:
    """Read the identity again, from the sources of the first time only.

    This keeps the check before each destructive step cheap. A source that gives another answer,
    or none, gives another identity: the drive is then not written.
    """
    sources = [drive.facts[name].source for name in ("serial", "model") if name in drive.facts]
    tools = {tool for tool in _IDENTITY_TOOLS if any(tool in source for source in sources)}

    def ask(argv: Sequence[str]) -> Finished:
        if argv[0] in _IDENTITY_TOOLS and argv[0] not in tools:
            return Finished(tuple(argv), NOT_INSTALLED, b"", b"it told nothing before", 0.0)
        return query(argv)

    asker = Asker(ask)
    return identify(tree, where, asker).identity, asker


def _build(
    tree: Tree,
    where: Where,
    words: ata.Words,
    reply: smart.Smart,
    serials: list[tuple[str | None, str]],
    models: list[tuple[str | None, str]],
    firmwares: list[tuple[str | None, str]],
    vendor: Fact,
) -> Identified:
    serial = _first(serials, "the drive reports no serial")
    model = _first(models, "the drive reports no model")
    usb = where.usb
    bridge = None
    if usb is not None:
        ids = f"{tree.text(usb / 'idVendor')}:{tree.text(usb / 'idProduct')}"
        words_ = [tree.text(usb / file) or "" for file in ("manufacturer", "product")]
        bridge = clean(" ".join([ids, *words_]))
    identity = Identity(
        serial=serial.value,
        model=str(model.value or where.name),
        bridge=bridge,
        bridge_serial=None if usb is None else clean(tree.text(usb / "serial")),
        capacity=capacity(tree, where.name),
        port=where.port,
        lun=where.lun,
    )
    firmware = _first(firmwares, "the drive reports no firmware version")
    return Identified(identity, words, reply, serial, model, vendor, firmware)


def _first(candidates: list[tuple[str | None, str]], reason: str) -> Fact:
    for text, source in candidates:
        value = clean(text)
        if value is not None:
            return Fact(value, source=source)
    return Fact.unknown(reason)


def _nvme(tree: Tree, where: Where, ask: Asker) -> Identified:
    folder = nvme.controller(tree, where.name)
    reply = smart.read(ask, where.name)
    vendor = tree.text(folder / "device" / "vendor")
    return _build(
        tree,
        where,
        ata.Words(reason=nvme.NOT_ATA),
        reply,
        [(tree.text(folder / "serial"), "sysfs nvme serial")],
        [(tree.text(folder / "model"), "sysfs nvme model")],
        [(tree.text(folder / "firmware_rev"), "sysfs nvme firmware_rev")],
        Fact(f"PCI {vendor}", source="sysfs vendor") if vendor else Fact.unknown("not on PCI"),
    )


def _scsi(tree: Tree, where: Where, ask: Asker) -> Identified:
    name = where.name
    is_usb = where.usb is not None
    fragile = scsi.fragile(tree, where)
    vendor, model, revision = scsi.words(tree, name)
    reply = smart.read(ask, name)
    words = ata.read_words(tree, name, ask, _refuse_ata(where, reply, fragile, vendor))
    if not words and is_usb and words.reason == "no ATA pass-through":
        words = ata.Words(reason=NO_PASS_THROUGH)
    if reply.unknown_bridge:
        # IDENTIFY came through (or not): so does SMART (or not).
        reply = smart.read_sat(ask, name) if words else smart.Smart(reason=words.reason)
    inside = reply if is_usb else smart.Smart()
    usb_serial = tree.text(where.usb / "serial") if where.usb is not None else None
    product = tree.text(where.usb / "product") if where.usb is not None else None
    serials = [
        (words.serial if words else None, words.source),
        (inside.text("serial_number"), "smartctl"),
        (scsi.unit_serial(tree, name), "VPD 80h"),
        (usb_serial, "USB device"),
    ]
    models = [
        (words.model if words else None, words.source),
        (inside.text("model_name"), "smartctl"),
        (_scsi_model(vendor, model), "INQUIRY"),
        (product, "USB device"),
    ]
    firmwares = [
        (words.firmware if words else None, words.source),
        (inside.text("firmware_version"), "smartctl"),
        (revision, "INQUIRY"),
    ]
    maker = tree.text(where.usb / "manufacturer") if where.usb is not None else None
    vendor_fact = _first(
        [(vendor if vendor != "ATA" else None, "INQUIRY"), (maker, "USB device")],
        "ATA drives report no vendor apart from the model",
    )
    return _build(tree, where, words, reply, serials, models, firmwares, vendor_fact)


def _scsi_model(vendor: str, model: str) -> str:
    """Vendor and product, the vendor once: some repeat it in the product."""
    if vendor == "ATA" or model.upper().startswith(vendor.upper()):
        return model
    return f"{vendor} {model}"


def _refuse_ata(where: Where, reply: smart.Smart, fragile: str | None, vendor: str) -> str | None:
    """Why this drive is not sent ATA commands, None when it is."""
    if reply.is_nvme:
        # Some bridges invent an ATA identity for the NVMe drive behind them.
        return "an NVMe drive is behind this bridge"
    if where.transport == "scsi" and vendor != "ATA":
        return "a SCSI drive"
    return fragile


def _plain(tree: Tree, where: Where) -> Identified:
    """virtio, mmc, null_blk, dm, the practice drive: from sysfs, no commands."""
    here = f"sys/block/{where.name}"
    kinds = {
        "virtual": "Benchstick practice drive",
        "virtio": "virtio disk",
    }
    own = kinds.get(where.transport)
    if where.transport == "other":
        own = _other_model(tree, where)
    _, scsi_model, revision = scsi.words(tree, where.name)
    serials = [
        (tree.text(f"{here}/serial"), "sysfs serial"),
        (tree.text(f"{here}/device/serial"), "sysfs device serial"),
        (scsi.unit_serial(tree, where.name), "VPD 80h"),
    ]
    models = [
        (tree.text(f"{here}/device/name") if where.transport == "mmc" else None, "sysfs name"),
        (scsi_model, "INQUIRY"),
        (own, "kernel driver"),
    ]
    firmwares = [(tree.text(f"{here}/device/fwrev"), "sysfs fwrev"), (revision, "INQUIRY")]
    smart_why = f"a {where.transport} drive has no SMART"
    return _build(
        tree,
        where,
        ata.Words(reason=f"not an ATA drive ({where.transport})"),
        smart.Smart(reason=smart_why),
        [] if where.transport == "virtual" else serials,
        models,
        firmwares,
        Fact.unknown(f"a {where.transport} drive reports no vendor"),
    )


def _other_model(tree: Tree, where: Where) -> str:
    if where.name.startswith("dm-"):
        return f"device-mapper {tree.text(f'sys/block/{where.name}/dm/name')}"
    if where.name.startswith("nbd"):
        return "network block device"
    if where.scsi is None and re.fullmatch(r".*/virtual/block", str(where.device.parent)):
        return f"kernel test device {where.name}"
    return where.name
