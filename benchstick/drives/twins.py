"""Second paths: two block devices that are one drive, such as two cables to a SAS disk.

A drive is written only when none of its paths is in use. Equal world-wide names (VPD 83h, EUI,
NGUID) and sizes are certain, except on USB, where some bridges give every drive the same one.
Equal serials and sizes are not certain: the contents decide, and what cannot be compared counts as
one drive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchstick.drives import ata, locks, scsi
from benchstick.drives.device_query import PROBE, SAME, Asker
from benchstick.drives.partition_table import parse_probe
from benchstick.drives.sysfs import Tree, capacity


@dataclass(frozen=True)
class Twin:
    """Another block device that is, or may be, the same drive."""

    name: str
    is_certain: bool
    words: str


@dataclass(frozen=True)
class _Signs:
    name: str
    size: int
    wwn: str | None
    serials: frozenset[str]
    usb: str | None


class _Claims(Protocol):
    @property
    def reasons(self) -> dict[str, list[str]]: ...

    def own_mounts(self, name: str) -> Sequence[object]: ...


def find(tree: Tree, names: Sequence[str]) -> dict[str, list[Twin]]:
    """The second paths of each disk, by what sysfs shows; sends no command."""
    signs = [sign for sign in (_signs(tree, name) for name in names) if sign.wwn or sign.serials]
    twins: dict[str, list[Twin]] = {}
    for sign in signs:
        for other in signs:
            if sign.name != other.name and (twin := _twin(sign, other)) is not None:
                twins.setdefault(sign.name, []).append(twin)
    return twins


def _twin(one: _Signs, other: _Signs) -> Twin | None:
    if one.size != other.size or not one.size:
        return None
    # LUNs of one enclosure share its serial.
    if one.usb is not None and one.usb == other.usb:
        return None
    if one.wwn and other.wwn:
        if one.wwn != other.wwn:
            return None
        words = f"it is a second path to {other.name} (same name {one.wwn} and size)"
        # The other kinds of name are made up of model and serial.
        is_assigned = one.wwn.startswith(("naa.", "eui.", "uuid."))
        return Twin(other.name, is_assigned and not one.usb and not other.usb, words)
    common = sorted(one.serials & other.serials)
    if not common:
        return None
    words = (
        f"it may be a second path to {other.name} (same serial {common[0]}, size and contents; "
        f"if it is another drive, unmount or unplug {other.name})"
    )
    return Twin(other.name, False, words)


def reasons(name: str, twins: Sequence[Twin], claims: _Claims, ask: Asker) -> list[str]:
    """Why the drive is protected: a second path is in use, and may lead to the same drive."""
    if ask.silent_why is not None and locks.is_locked(name):
        # A run is on: it compared the two before it started.
        return []
    reason_list = []
    for twin in twins:
        use = claims.reasons.get(twin.name) or _kernel_use(twin, claims, ask)
        if use and (twin.is_certain or _is_same(name, twin, ask)):
            reason_list.append(f"{twin.words}, and {use[0]}")
    return reason_list


def _kernel_use(twin: Twin, claims: _Claims, ask: Asker) -> list[str]:
    """What only an exclusive open shows, such as ZFS. Not tried while a run holds that path."""
    if claims.own_mounts(twin.name) or locks.is_locked(twin.name):
        return []
    answer = ask(PROBE, f"/dev/{twin.name}")
    if parse_probe(answer.text).get("exclusive") != "busy":
        return []
    return [f"the kernel holds {twin.name} for exclusive use"]


def _is_same(name: str, twin: Twin, ask: Asker) -> bool:
    """False only where the contents differ for certain."""
    answer = ask(SAME, f"/dev/{name}", f"/dev/{twin.name}")
    return answer.exit_code != 0 or answer.text.strip() != "same=no"


def _signs(tree: Tree, name: str) -> _Signs:
    here = f"sys/block/{name}"
    device = tree.real(here)
    usb = next((str(path) for path in device.parents if tree.exists(path / "idVendor")), None)
    wwn = tree.text(f"{here}/wwid") or tree.text(f"{here}/device/wwid")
    # Some drives report a name of zeros only. `t10.` and NVMe's `nvme.` names hold the serial.
    if wwn is not None and re.fullmatch(r"\w+\.0*", wwn):
        wwn = None
    return _Signs(name, capacity(tree, name), wwn, frozenset(_serials(tree, name, usb)), usb)


def _serials(tree: Tree, name: str, usb: str | None) -> set[str]:
    here = f"sys/block/{name}"
    page = tree.data(f"{here}/device/vpd_pg89")
    words = ata.parse_page_89(page or b"")
    serials = {
        scsi.unit_serial(tree, name),
        tree.text(f"{here}/serial"),
        ata.Words(words).serial if ata.plausible(words) else None,
        tree.text(f"{usb}/serial") if usb is not None else None,
    }
    serial = tree.text(f"{here}/device/serial")
    if serial is not None:
        # The namespaces of one NVMe controller share its serial.
        number = tree.text(f"{here}/nsid")
        serials.add(serial if number is None else f"{serial} namespace {number}")
    return {" ".join(text.split()) for text in serials if text and text.strip("0 ")}
