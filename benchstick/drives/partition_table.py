"""What is on a drive: partition table, partitions, signatures. Read only, never by mounting.

`sfdisk -J` reads the table, `blkid -p` probes the whole disk and every partition by offset, so
partitions that the kernel does not show are looked into as well. An answer that cannot be trusted
(error, timeout, unreadable sectors, two signatures in one place) goes into `doubts`: the guard
locks a drive on any of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from benchstick.drives import medium
from benchstick.drives.device_query import PROBE, Asker
from benchstick.drives.medium import Token
from benchstick.drives.sysfs import Tree, capacity, partition_names

# blkid's exit codes: 0 found, 2 nothing found, 8 several signatures contradict each other.
_SUCCESS, _NOTHING, _AMBIVALENT = 0, 2, 8
_MOST_PARTITIONS = 128
_READ_BYTES = 1 << 20
# MBR types that only hold other partitions.
EXTENDED = {"5", "f", "85"}


@dataclass(frozen=True)
class Signature:
    """What blkid found in one place; `usage` is `filesystem`, `raid`, `crypto` or `other`."""

    type: str = ""
    usage: str = ""
    label: str = ""
    uuid: str = ""
    table: str = ""


@dataclass(frozen=True)
class Partition:
    """One partition: offsets in bytes; `kernel` is its kernel name or None when not shown.

    `type` is the GPT type GUID (upper case) or the MBR type in lower-case hex without 0x.
    """

    number: int
    start: int
    size: int
    type: str = ""
    name: str = ""
    partuuid: str = ""
    kernel: str | None = None
    signature: Signature = field(default_factory=Signature)


@dataclass(frozen=True)
class Contents:
    """All of it. `exclusive`: `ok`, `busy` (the kernel uses the drive), or the error.
    `has_data`: its first and last MiB have bytes other than 00 and FF."""

    table: str = ""
    whole: Signature = field(default_factory=Signature)
    partitions: tuple[Partition, ...] = ()
    exclusive: str = "ok"
    doubts: tuple[str, ...] = ()
    has_data: bool = False
    medium: Token | None = None

    def describe(self) -> str | None:
        """What is on the drive, in a few words: `nothing` where no table, no signature and no data
        was found at its ends; None where it is not known. `blank.py` reads more of the drive."""
        if self.doubts:
            return None
        table = self.table or self.whole.table
        kinds = [f"{table} partition table"] if table else []
        if self.partitions and not table:
            kinds = ["partitions"]
        signatures = [self.whole, *(part.signature for part in self.partitions)]
        kinds += [item.type for item in signatures if item.type]
        if not kinds and self.has_data:
            return "data of no known kind"
        return ", ".join(dict.fromkeys(kinds)) or "nothing"

    def filesystems(self) -> list[dict[str, Any]]:
        """The filesystems for the user: path (None when the kernel shows no node), fs, label."""
        rows = []
        if self.whole.usage == "filesystem":
            rows.append(_row(None, self.whole, 0))
        for part in self.partitions:
            if part.signature.usage == "filesystem":
                path = f"/dev/{part.kernel}" if part.kernel else None
                rows.append(_row(path, part.signature, part.size))
        return rows


def _row(path: str | None, signature: Signature, size: int) -> dict[str, Any]:
    return {
        "path": path,
        "fs": signature.type,
        "label": signature.label or None,
        "uuid": signature.uuid or None,
        "size": size,
    }


def look(tree: Tree, name: str, ask: Asker) -> Contents:
    """Probe drive `name`. Never raises; an asker that must stay silent gives a doubt."""
    if ask.silent_why is not None:
        return Contents(exclusive=ask.silent_why, doubts=(ask.silent_why,))
    doubts: list[str] = []
    whole, blank = _signature(ask, name, None, doubts)
    table, partitions = "", _kernel_partitions(tree, name)
    if not blank:
        table, partitions = _table(tree, name, ask, doubts)
    exclusive, has_data, token = _node(tree, name, ask, partitions, doubts)
    if whole.table and not table:
        doubts.append(f"it has a partition table ({whole.table}) that sfdisk cannot read")
    probe_results = []
    for part in partitions:
        if part.type not in EXTENDED:
            part = replace(part, signature=_signature(ask, name, part, doubts)[0])
        probe_results.append(part)
    if ask.silent_why is not None and ask.silent_why not in doubts:
        doubts.append(ask.silent_why)
    return Contents(table, whole, tuple(probe_results), exclusive, tuple(doubts), has_data, token)


def table(tree: Tree, name: str, ask: Asker) -> tuple[str, list[Partition]]:
    """The partition table alone, by sfdisk and the kernel: its label and its partitions."""
    return _table(tree, name, ask, [])


def _table(tree: Tree, name: str, ask: Asker, doubts: list[str]) -> tuple[str, list[Partition]]:
    """The table's label and its partitions, with those that only the kernel knows."""
    answer = ask("sfdisk", "-J", f"/dev/{name}")
    label = ""
    partitions: list[Partition] = []
    if answer.exit_code == 0:
        try:
            label, partitions = parse_sfdisk(answer.text, f"/dev/{name}")
        except (ValueError, KeyError, TypeError) as error:
            doubts.append(f"sfdisk's answer cannot be read: {error}")
    elif b"does not contain a recognized partition table" not in answer.stderr:
        doubts.append(f"its partition table could not be read: {ask.why_not(answer)}")
    kernel = _kernel_partitions(tree, name)
    places = {(part.start, part.size): part for part in kernel}
    merged_partitions = []
    for part in partitions:
        kernel_part = places.pop((part.start, part.size), None)
        merged_partitions.append(
            part
            if kernel_part is None
            else Partition(
                part.number, part.start, part.size, part.type, part.name, part.partuuid,
                kernel_part.kernel,
            )
        )  # fmt: skip
    # An extended partition is shown by the kernel with a size of its own (1 KiB).
    starts = {part.start for part in merged_partitions if part.type in EXTENDED}
    merged_partitions += [part for part in places.values() if part.start not in starts]
    if len(merged_partitions) > _MOST_PARTITIONS:
        doubts.append(
            f"it has {len(merged_partitions)} partitions; the bench looks into {_MOST_PARTITIONS}"
        )
    return label, merged_partitions[:_MOST_PARTITIONS]


def parse_sfdisk(output: str, node: str) -> tuple[str, list[Partition]]:
    """The document of `sfdisk -J`: label and partitions, in bytes."""
    table = json.loads(output)["partitiontable"]
    sector = int(table.get("sectorsize", 512))
    label = str(table["label"])
    disk_id = str(table.get("id", ""))
    partitions = []
    for index, row in enumerate(table.get("partitions", []), start=1):
        digits = str(row["node"]).removeprefix(node).lstrip("p")
        number = int(digits) if digits.isdecimal() else index
        partuuid = str(row.get("uuid", "")).lower()
        if label == "dos" and disk_id.startswith("0x"):
            partuuid = f"{int(disk_id, 16):08x}-{number:02x}"
        kind = str(row.get("type", ""))
        kind = kind.lower().removeprefix("0x") if label == "dos" else kind.upper()
        partitions.append(
            Partition(
                number=number,
                start=int(row["start"]) * sector,
                size=int(row["size"]) * sector,
                type=kind,
                name=str(row.get("name", "")),
                partuuid=partuuid,
            )
        )
    return label, partitions


def _kernel_partitions(tree: Tree, name: str) -> list[Partition]:
    partitions = []
    for child in partition_names(tree, name):
        here = f"sys/block/{name}/{child}"
        number = tree.number(f"{here}/partition")
        start, size = tree.number(f"{here}/start"), tree.number(f"{here}/size")
        if number is not None and start is not None and size is not None:
            partitions.append(Partition(number, start * 512, size * 512, kernel=child))
    return partitions


def _node(
    tree: Tree, name: str, ask: Asker, partitions: list[Partition], doubts: list[str]
) -> tuple[str, bool, Token | None]:
    """Exclusive open and readability, with the parts where signatures are; whether those hold
    data; the medium's token."""
    total = capacity(tree, name)
    ranges = [(0, min(_READ_BYTES, total)), (max(0, total - _READ_BYTES), min(_READ_BYTES, total))]
    for part in partitions:
        size = min(_READ_BYTES, part.size)
        ranges += [(part.start, size), (part.start + part.size - size, size)]
    inside = [(at, size) for at, size in ranges if size > 0 and at + size <= total]
    if len(inside) < len(ranges):
        doubts.append("a partition reaches beyond the end of the drive")
    ranges_text = dict.fromkeys(f"{at}:{size}" for at, size in inside)
    answer = ask(PROBE, f"/dev/{name}", "ends", *ranges_text)
    probe = parse_probe(answer.text)
    if answer.exit_code != 0 or not probe:
        reason = ask.why_not(answer)
        doubts.append(f"it could not be opened to look: {reason}")
        return reason, False, None
    if probe["read"] != "ok":
        doubts.append(f"it could not be read ({probe['read']})")
    elif probe["rdev"] != (tree.text(f"sys/block/{name}/dev") or ""):
        doubts.append(f"/dev/{name} is not the node of this drive")
    has_data = probe.get("data", "none") != "none"
    return probe["exclusive"], has_data, medium.from_probe(probe)


def parse_probe(output: str) -> dict[str, str]:
    """The answer of `probe_node.py`; empty unless all of its lines are there."""
    fields = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    return fields if {"exclusive", "read", "rdev"} <= fields.keys() else {}


def _signature(
    ask: Asker, name: str, part: Partition | None, doubts: list[str]
) -> tuple[Signature, bool]:
    """What blkid finds in one place, and whether it is certain that nothing is there."""
    command = ["blkid", "-p", "-o", "export"]
    if part is not None:
        command += ["-O", str(part.start), "-S", str(part.size)]
    answer = ask(*command, f"/dev/{name}")
    place = "the whole drive" if part is None else f"partition {part.number}"
    if answer.exit_code == _AMBIVALENT:
        doubts.append(f"{place} holds several signatures that contradict each other")
    elif answer.exit_code not in (_SUCCESS, _NOTHING):
        doubts.append(f"{place} could not be probed: {ask.why_not(answer)}")
    if answer.exit_code == _SUCCESS:
        return parse_blkid(answer.text), False
    return Signature(), answer.exit_code == _NOTHING


def parse_blkid(output: str) -> Signature:
    """`blkid -p -o export`: KEY=value lines, values with backslash escapes."""
    fields: dict[str, str] = {}
    for line in output.splitlines():
        key, separator, value = line.partition("=")
        if separator:
            fields[key] = value.replace("\\ ", " ").replace("\\", "")
    return Signature(
        type=fields.get("TYPE", ""),
        usage=fields.get("USAGE", ""),
        label=fields.get("LABEL", ""),
        uuid=fields.get("UUID", ""),
        table=fields.get("PTTYPE", ""),
    )
