"""SCSI: the unit serial, vendor and product, and support for UNMAP."""

from __future__ import annotations

import re

from benchstick.drives.device_query import Asker
from benchstick.drives.sysfs import Tree
from benchstick.drives.topology import Where
from benchstick.drives.types import Fact


def unit_serial(tree: Tree, name: str) -> str | None:
    """VPD page 80h as the kernel read it. udev's ID_SERIAL is not used: it invents one."""
    page = tree.data(f"sys/block/{name}/device/vpd_pg80")
    if page is None or len(page) < 4 or page[1] != 0x80:
        return None
    length = int.from_bytes(page[2:4], "big")
    return page[4 : 4 + length].decode("ascii", "replace").strip("\0 ") or None


def words(tree: Tree, name: str) -> tuple[str, str, str]:
    """Vendor, model and revision of INQUIRY; empty where there is none."""
    here = f"sys/block/{name}/device"
    return (
        tree.text(f"{here}/vendor") or "",
        tree.text(f"{here}/model") or "",
        tree.text(f"{here}/rev") or "",
    )


def parse_page_b2(page: bytes) -> dict[str, bool] | None:
    """Logical block provisioning: LBPU (UNMAP), LBPWS and LBPWS10 (WRITE SAME), SBC-4 6.6.7."""
    if len(page) < 8 or page[1] != 0xB2:
        return None
    flags = page[5]
    return {"LBPU": bool(flags & 0x80), "LBPWS": bool(flags & 0x40), "LBPWS10": bool(flags & 0x20)}


def provisioning_mode(tree: Tree, where: Where) -> Fact:
    """What the kernel would send for a discard: `unmap`, `writesame_16`, `full` (nothing)."""
    here = f"sys/block/{where.name}/device/scsi_disk"
    for address in tree.names(here):
        mode = tree.text(f"{here}/{address}/provisioning_mode")
        if mode is not None:
            return Fact(mode, source="sysfs provisioning_mode")
    return Fact.unknown("not a SCSI disk")


def trim(tree: Tree, where: Where, ask: Asker) -> Fact:
    """Whether the device supports UNMAP: VPD B2h and LBPME of READ CAPACITY(16)."""
    name = where.name
    page = tree.data(f"sys/block/{name}/device/vpd_pgb2")
    source = "VPD B2h"
    refuse = fragile(tree, where)
    if not page:
        if refuse is not None:
            return Fact.unknown(refuse)
        answer = ask("sg_vpd", "--raw", "--page=0xb2", f"/dev/{name}")
        page = answer.stdout
        source = "VPD B2h (sg_vpd)"
        if parse_page_b2(page) is None and answer.exit_code == 127:
            return Fact.unknown(ask.why_not(answer))
    flags = parse_page_b2(page)
    lbpme = None if refuse is not None else _lbpme(tree, ask, name)
    if ask.silent_why is not None and flags is None:
        return Fact.unknown(ask.silent_why)
    text = "no VPD B2h" if flags is None else ", ".join(f"{k}={int(v)}" for k, v in flags.items())
    if lbpme is not None:
        text += f"; LBPME={int(lbpme)}"
    return Fact(bool(flags and any(flags.values())) or bool(lbpme), source=f"{source}: {text}")


def _lbpme(tree: Tree, ask: Asker, name: str) -> bool | None:
    """The bit without which the kernel does not use UNMAP; bridges often omit it."""
    here = f"sys/block/{name}/device/scsi_disk"
    # A 0 may only mean that the kernel used READ CAPACITY(10), which does not have it.
    if any(tree.text(f"{here}/{a}/thin_provisioning") == "1" for a in tree.names(here)):
        return True
    answer = ask("sg_readcap", "--long", f"/dev/{name}")
    match = re.search(r"lbpme=(\d)", answer.text)
    return None if match is None else match.group(1) == "1"


def fragile(tree: Tree, where: Where) -> str | None:
    """Why this drive is not sent commands beyond those of every driver; None when it may be.

    udev draws the same line (60-persistent-storage.rules runs ata_id on USB only for drives with
    removable 0): sticks and card readers are known to hang on commands that they do not know.
    """
    if where.transport == "usb-bot" and tree.text(f"sys/block/{where.name}/removable") == "1":
        return "not asked: sticks with removable media may hang on commands they do not know"
    return None


def rotation(tree: Tree, name: str) -> bool | None:
    """VPD B1h, medium rotation rate (SBC-4 6.6.3): False is flash, None not reported."""
    page = tree.data(f"sys/block/{name}/device/vpd_pgb1") or b""
    if len(page) < 6 or page[1] != 0xB1:
        return None
    rate = int.from_bytes(page[4:6], "big")
    if rate == 1:
        return False
    return True if 0x401 <= rate <= 0xFFFE else None
