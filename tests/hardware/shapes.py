"""Builds recorded cases from documentation: sysfs folders, tool answers.

Used by documented.py only. scripts/capture-hardware captures those of a live machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchstick.drives.device_query import PROBE, file_name

Content = str | dict[str, str] | None
GPT, DOS = "gpt", "dos"


@dataclass
class Disk:
    """One block device of a case: its sysfs folder and device folder."""

    name: str
    folder: str
    device: str
    devno: str
    size: int


@dataclass
class Case:
    """A case being built: manifest, answers, and what the scan is expected to find."""

    name: str
    about: str
    tree: dict[str, Content] = field(default_factory=dict)
    answers: dict[str, tuple[bytes, str, bytes]] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tree["proc/self/mountinfo"] = ""
        self.tree["proc/cmdline"] = "quiet\n"
        self.tree["proc/swaps"] = "Filename\tType\tSize\tUsed\tPriority\n"
        self.tree["sys/module/uas"] = None

    def put(self, folder: str, **files: str | int | bytes) -> None:
        """Files of a sysfs folder; bytes become hex."""
        for name, value in files.items():
            path = f"{folder}/{name}"
            if isinstance(value, bytes):
                self.tree[path] = {"hex": value.hex()}
            else:
                self.tree[path] = f"{value}\n"

    def link(self, path: str, target: str) -> None:
        self.tree[path] = {"link": target}

    def driver(self, folder: str, name: str) -> None:
        """Bind a driver to a device folder."""
        bus = f"sys/bus/any/drivers/{name}"
        self.tree[bus] = None
        self.link(f"{folder}/driver", "../" * folder.count("/") + "../" + bus)

    def answer(
        self, argv: Sequence[str], out: str | bytes = "", code: str = "0", err: str = ""
    ) -> None:
        data = out if isinstance(out, bytes) else out.encode()
        self.answers[file_name(argv)] = (data, code, err.encode())

    def write(self, cases: Path) -> None:
        """Write the case's files below `cases`."""
        tools = cases / self.name / "tools"
        tools.mkdir(parents=True, exist_ok=True)
        for name, (out, code, err) in self.answers.items():
            (tools / name).write_bytes(out)
            if code != "0":
                (tools / f"{name}.exit").write_text(code + "\n")
            if err:
                (tools / f"{name}.err").write_bytes(err + b"\n")
        for file, document in (
            ("tree", dict(sorted(self.tree.items()))),
            ("expected", self.expected),
        ):
            text = json.dumps(document, indent=1, ensure_ascii=False)
            (cases / self.name / f"{file}.json").write_text(text + "\n", encoding="utf-8")


def pci(case: Case, *addresses: str, driver: str, **files: str) -> str:
    """A chain of PCI devices; `files` belong to the last. Gives its folder."""
    folder = "sys/devices/pci0000:00"
    for address in addresses:
        folder += f"/{address}"
        case.tree.setdefault(folder, None)
    case.put(folder, **files)
    case.driver(folder, driver)
    return folder


def block(
    case: Case, disk: Disk, *, queue: dict[str, str | int], removable: int = 0, seq: int = 5
) -> None:
    """The block folder: numbers, queue, links from /sys/block and /sys/class/block."""
    case.put(
        disk.folder,
        dev=disk.devno,
        size=disk.size // 512,
        removable=removable,
        ro=0,
        hidden=0,
        diskseq=seq,
        stat="0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
    )
    usual: dict[str, str | int] = {
        "rotational": 0, "logical_block_size": 512, "physical_block_size": 512,
        "nr_requests": 64, "scheduler": "[none] mq-deadline", "discard_max_bytes": 0,
        "discard_max_hw_bytes": 0, "discard_granularity": 0, "write_cache": "write back",
    }  # fmt: skip
    case.put(f"{disk.folder}/queue", **(usual | queue))
    case.tree[f"{disk.folder}/mq/0"] = None
    case.link(f"sys/block/{disk.name}", f"../../{disk.folder}")
    case.link(f"sys/class/block/{disk.name}", f"../../../{disk.folder}")
    depth = disk.folder.count("/") - disk.device.count("/")
    case.link(f"{disk.folder}/device", "/".join([".."] * depth))


def scsi_disk(
    case: Case,
    above: str,
    address: str,
    name: str,
    *,
    size: int,
    vendor: str,
    model: str,
    rev: str = "0100",
    depth: int = 1,
    removable: int = 0,
    provisioning: str = "full",
    queue: dict[str, str | int] | None = None,
    pages: dict[str, bytes] | None = None,
    seq: int = 5,
) -> Disk:
    """A SCSI disk below `above` (a USB interface, an ATA port): `address` is `6:0:0:1`."""
    host, channel, target, _ = address.split(":")
    device = f"{above}/host{host}/target{host}:{channel}:{target}/{address}"
    number = (ord(name[2]) - ord("a")) * 16
    disk = Disk(name, f"{device}/block/{name}", device, f"8:{number}", size)
    case.put(
        device, vendor=vendor, model=model, rev=rev, type=0, state="running", queue_depth=depth
    )
    case.put(device, **(pages or {}))
    case.put(
        f"{device}/scsi_disk/{address}", provisioning_mode=provisioning, cache_type="write back"
    )
    case.driver(device, "sd")
    block(case, disk, queue=queue or {}, removable=removable, seq=seq)
    return disk


def usb_device(
    case: Case,
    above: str,
    port: str,
    *,
    ids: str,
    maker: str,
    product: str,
    driver: str,
    protocols: Sequence[int],
    speed: int,
    version: str = "3.20",
    serial: str | None = None,
    bos: bytes | None = None,
    lanes: int = 1,
) -> str:
    """A USB device with one mass-storage interface. Gives the interface's folder."""
    bus, path = port.split("-")
    folder = f"{above}/usb{bus}"
    hops = path.split(".")
    for count in range(1, len(hops) + 1):
        folder += f"/{bus}-{'.'.join(hops[:count])}"
        if count < len(hops):
            case.put(folder, idVendor="05e3", idProduct="0610", product="USB2.0 Hub", speed=speed)
    vendor, product_id = ids.split(":")
    case.put(
        folder, idVendor=vendor, idProduct=product_id, manufacturer=maker, product=product,
        speed=speed, version=f" {version}", rx_lanes=lanes, tx_lanes=lanes, busnum=bus, devnum=3,
        removable="removable", descriptors=descriptors(ids, protocols),
    )  # fmt: skip
    if serial is not None:
        case.put(folder, serial=serial)
    if bos is not None:
        case.put(folder, bos_descriptors=bos)
    interface = f"{folder}/{port}:1.0"
    case.put(interface, bInterfaceNumber="00", bInterfaceClass="08", bInterfaceSubClass="06")
    case.driver(interface, driver)
    return interface


def descriptors(ids: str, protocols: Sequence[int]) -> bytes:
    """Device and configuration descriptors with one alternate setting a protocol (USB 3.2, 9.6)."""
    vendor, product = (int(part, 16).to_bytes(2, "little") for part in ids.split(":"))
    device = bytes([18, 1, 0x20, 3, 0, 0, 0, 9]) + vendor + product + bytes([0, 1, 1, 2, 3, 1])
    settings = b""
    for number, protocol in enumerate(protocols):
        ends = 4 if protocol == 0x62 else 2
        settings += bytes([9, 4, 0, number, ends, 0x08, 0x06, protocol, 0])
        for end in range(ends):
            settings += bytes([7, 5, 0x81 + end, 2, 0, 4, 0, 6, 0x30, 15, 5, 0, 0, 0])[:13]
    total = (9 + len(settings)).to_bytes(2, "little")
    return device + bytes([9, 2]) + total + bytes([1, 1, 0, 0x80, 112]) + settings


def bos(*, gigabits: int, lanes: int = 1) -> bytes:
    """BOS descriptor (USB 3.2, 9.6.2): SuperSpeed, and SuperSpeedPlus above 5 Gb/s."""
    blocks = [
        bytes([7, 0x10, 2, 2, 0, 0, 0]),
        bytes([10, 0x10, 3, 0, 0x0E, 0, 1, 10, 0xFF, 7]),
    ]
    if gigabits > 5:
        speed = gigabits // lanes
        rows = b""
        for receive in (0, 1):
            rows += bytes([0x30 | receive << 7, 0x40]) + speed.to_bytes(2, "little")
        functionality = (lanes << 8 | lanes << 12).to_bytes(2, "little")
        blocks.append(
            bytes([20, 0x10, 0x0A, 0]) + (1).to_bytes(4, "little") + functionality + b"\0\0" + rows
        )
    body = b"".join(blocks)
    return bytes([5, 0x0F]) + (5 + len(body)).to_bytes(2, "little") + bytes([len(blocks)]) + body


def ata_words(
    *,
    serial: str,
    model: str,
    firmware: str,
    rate: int = 1,
    ncq: bool = True,
    trim: bool = True,
    security: int = 0x21,
    apm: int | None = None,
    devsleep: bool = False,
    opal: bool = False,
    current: int = 3,
    erase: tuple[int, int] = (0, 0),
) -> str:
    """`hdparm --Istdout` of a drive with these words (ACS-4, 7.12.7); `erase` is 89 and 90."""
    words = [0] * 256
    words[0] = 0x0040
    for first, count, text in ((10, 10, serial), (23, 4, firmware), (27, 20, model)):
        raw = text.rjust(count * 2).encode() if first == 10 else text.ljust(count * 2).encode()
        for index in range(count):
            words[first + index] = int.from_bytes(raw[2 * index : 2 * index + 2], "big")
    words[48] = 0x4001 if opal else 0x4000
    words[75] = 31 if ncq else 0
    words[76] = 0x000E | (0x0100 if ncq else 0)
    words[77] = current << 1
    words[78] = 0x0100 if devsleep else 0x0040
    words[82], words[85] = 0x0023, 0x0021 | 0x0002 * (security >> 1 & 1)
    words[83], words[86] = 0x4000 | (8 if apm else 0), 8 if apm else 0
    words[89], words[90], words[91] = *erase, apm or 0
    words[128] = security
    words[169] = 1 if trim else 0
    words[217] = rate
    rows = [" ".join(f"{word:04x}" for word in words[i : i + 8]) for i in range(0, 256, 8)]
    return "\n/dev/sda:\n" + "\n".join(rows) + "\n"


def smartctl(
    case: Case, name: str, *, kind: str, protocol: str, options: Sequence[str] = (), **more: Any
) -> None:
    """`smartctl -j -i -H -A` with these keys."""
    document = {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "device": {"name": f"/dev/{name}", "type": kind, "protocol": protocol},
        "smart_status": {"passed": True},
        **more,
    }
    argv = ("smartctl", "-j", "-i", "-H", "-A", *options, f"/dev/{name}")
    case.answer(argv, json.dumps(document, indent=2))


def smartctl_error(case: Case, name: str, message: str, options: Sequence[str] = ()) -> None:
    """smartctl that could not open the device: exit 1 and one message."""
    document = {
        "smartctl": {
            "version": [7, 3],
            "messages": [{"string": message, "severity": "error"}],
            "exit_status": 1,
        }
    }
    argv = ("smartctl", "-j", "-i", "-H", "-A", *options, f"/dev/{name}")
    case.answer(argv, json.dumps(document, indent=2), "1")


def contents(
    case: Case,
    disk: Disk,
    table: str = "",
    parts: Sequence[dict[str, Any]] = (),
    *,
    whole: str = "",
    exclusive: str = "ok",
) -> None:
    """The answers of sfdisk, blkid and the probe. `parts`: start and size in MiB, type, text.

    A part with `hidden` is in the table but not shown by the kernel.
    """
    node = f"/dev/{disk.name}"
    case.answer((PROBE, node), f"exclusive={exclusive}\nread=ok\nrdev={disk.devno}\n")
    if not table:
        case.answer(("blkid", "-p", "-o", "export", node), whole, "0" if whole else "2")
        complaint = f"sfdisk: {node}: does not contain a recognized partition table"
        case.answer(("sfdisk", "-J", node), "", "1", complaint)
        return
    case.answer(("blkid", "-p", "-o", "export", node), f"DEVNAME={node}\nPTTYPE={table}\n")
    rows = []
    separator = "p" if disk.name[-1].isdigit() else ""
    for number, part in enumerate(parts, start=1):
        name = f"{disk.name}{separator}{number}"
        start, size = part["start"] << 20, part["size"] << 20
        row = {"node": f"/dev/{name}", "start": start // 512, "size": size // 512}
        rows.append(row | {"type": part["type"]} | part.get("row", {}))
        argv = ("blkid", "-p", "-o", "export", "-O", str(start), "-S", str(size), node)
        case.answer(argv, part.get("blkid", ""), "0" if part.get("blkid") else "2")
        if not part.get("hidden"):
            folder = f"{disk.folder}/{name}"
            major, minor = disk.devno.split(":")
            case.put(folder, partition=number, start=start // 512, size=size // 512)
            case.put(folder, dev=f"{major}:{int(minor) + number}")
            case.link(f"sys/class/block/{name}", f"../../../{folder}")
    document: dict[str, Any] = {
        "label": table,
        "id": "0x5a5a1234" if table == DOS else "8A11AEB4",
        "device": node,
    }
    document |= {"unit": "sectors", "sectorsize": 512, "partitions": rows}
    case.answer(("sfdisk", "-J", node), json.dumps({"partitiontable": document}, indent=3))


def filesystem(
    kind: str, label: str = "", usage: str = "filesystem", uuid: str = "1A2B-3C4D"
) -> str:
    """blkid's export of one signature."""
    text = f"LABEL={label}\n" if label else ""
    return f"{text}UUID={uuid}\nTYPE={kind}\nUSAGE={usage}\n"
