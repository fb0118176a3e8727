"""Which drives share a link, on trees as sysfs has them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchstick.agent import agent
from benchstick.drives.shared_links import Link, shared
from benchstick.drives.sysfs import Tree, disk_names
from tests.hardware.playback import CASES, expand
from tests.web.sample import fast, slow

XHCI = "sys/devices/pci0000:00/0000:00:14.0"
AHCI = "sys/devices/pci0000:00/0000:00:17.0"
SWITCH = "sys/devices/pci0000:00/0000:00:1c.0"


class Machine:
    """A tree of sysfs that is being made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = Tree(root)

    def put(self, folder: str, **files: str) -> None:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (self.root / folder / name).write_text(f"{text}\n", encoding="utf-8")

    def disk(self, name: str, folder: str) -> None:
        self.put(f"{folder}/block/{name}")
        link = self.root / "sys/block" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.root / folder / "block" / name)

    def usb(self, path: str, speed: str) -> None:
        self.put(path, idVendor="0bda", speed=speed)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A hub at 5 Gb/s with two drives and one more at 480 Mb/s behind another, a drive on a port of
    its own, two SATA drives, one of them with a neighbour behind a multiplier, two NVMe drives
    behind one switch."""
    host = Machine(tmp_path)
    host.usb(f"{XHCI}/usb2", "10000")
    host.usb(f"{XHCI}/usb2/2-1", "5000")
    host.usb(f"{XHCI}/usb2/2-1/2-1.3", "480")
    for name, path, speed in (
        ("sda", "2-1/2-1.1", "5000"), ("sdb", "2-1/2-1.2", "5000"),
        ("sdc", "2-1/2-1.3/2-1.3.1", "480"), ("sdd", "2-2", "10000"),
    ):  # fmt: skip
        host.usb(f"{XHCI}/usb2/{path}", speed)
        host.disk(name, f"{XHCI}/usb2/{path}/{path.split('/')[-1]}:1.0/host0/target0/0:0:0:0")
    for name, ata, port in (("sde", "ata1", 0), ("sdf", "ata2", 0), ("sdg", "ata2", 1)):
        address = f"{ata[3]}:{port}:0:0"
        host.disk(name, f"{AHCI}/{ata}/host1/target1/{address}")
    host.put("sys/class/ata_link/link2", sata_spd="3.0 Gbps")
    host.put(SWITCH, current_link_speed="8.0 GT/s PCIe", current_link_width="2")
    for number, name in enumerate(("nvme0n1", "nvme1n1"), start=2):
        folder = f"{SWITCH}/0000:0{number}:00.0"
        host.put(folder, current_link_speed="16.0 GT/s PCIe", current_link_width="4")
        host.disk(name, f"{folder}/nvme/nvme{number - 2}")
    return host


def test_the_links_that_several_drives_share(machine: Machine) -> None:
    names = [f"sd{letter}" for letter in "abcdefg"] + ["nvme0n1", "nvme1n1"]
    links = shared(machine.tree, names)
    limits = {(link.kind, link.name): (link.limit, link.drives) for link in links}
    assert limits == {
        ("USB hub", "2-1"): (500.0, ("sda", "sdb", "sdc")),
        ("SATA port", "ata2"): (300.0, ("sdf", "sdg")),
        ("PCIe bridge", "0000:00:1c.0"): (pytest.approx(1969.2), ("nvme0n1", "nvme1n1")),
        ("controller", "0000:00:14.0"): (None, ("sda", "sdb", "sdc", "sdd")),
        ("controller", "0000:00:17.0"): (None, ("sde", "sdf", "sdg")),
    }


def test_drives_of_their_own_links_share_nothing(machine: Machine) -> None:
    assert shared(machine.tree, ["sda", "sde", "nvme0n1"]) == []
    assert shared(machine.tree, []) == []


def test_the_narrowest_link_of_the_same_drives_is_reported(machine: Machine) -> None:
    first, *others = shared(machine.tree, ["sda", "sdb"])
    assert (first.kind, first.name, others) == ("USB hub", "2-1", [])
    assert first.describe(["A", "B"]) == (
        "USB hub 2-1 is shared by A, B: 500 MB/s at most, 250 each"
    )
    assert Link("controller", "x", None, ("a", "b")).describe(["A", "B"]).endswith("is not known")


def test_two_luns_of_one_bridge(tmp_path: Path) -> None:
    """A recorded enclosure."""
    case = json.loads((CASES / "vm-enclosure/tree.json").read_text(encoding="utf-8"))
    expand(case, tmp_path)
    tree = Tree(tmp_path)
    names = disk_names(tree)
    assert len(names) == 2
    (link,) = shared(tree, names)
    assert (link.kind, link.limit, link.drives) == ("USB bridge", 500.0, tuple(names))


def test_the_drives_document_has_the_links_by_kernel_name(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "Tree", lambda: machine.tree)
    document = agent.drives_document([replace(fast(), name="sda"), replace(slow(), name="sdb")])
    assert json.loads(json.dumps(document["shared"])) == [
        {"kind": "USB hub", "name": "2-1", "limit_mbps": 500.0, "drives": ["sda", "sdb"]}
    ]
