"""Named ports: a drive is in its slot at whatever speed it connected."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchstick.drives.bays import same_socket, slot_of
from benchstick.drives.sysfs import Tree
from benchstick.store.settings import SettingsError, read, to_toml


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """One socket on the root hubs, port 4 of usb2 and port 3 of usb1; a hub in port 1 of both, with
    its port 2. As the kernel lays them out: a port is a device below its hub's interface."""
    root = tmp_path / "sys/devices/pci0000:00/0000:00:14.0"
    peers = {
        "usb2/2-0:1.0/usb2-port4": "usb1/1-0:1.0/usb1-port3",
        "usb2/2-1/2-1:1.0/2-1-port2": "usb1/1-1/1-1:1.0/1-1-port2",
    }
    devices = tmp_path / "sys/bus/usb/devices"
    devices.mkdir(parents=True)
    for near, far in [*peers.items(), *((far, near) for near, far in peers.items())]:
        (root / near).mkdir(parents=True)
        (root / near / "peer").symlink_to(root / far)
        (devices / (root / near).parent.name).symlink_to((root / near).parent)
    return Tree(tmp_path)


@pytest.mark.parametrize(
    ("port", "ports"),
    [
        ("2-4", ("2-4", "1-3")),
        ("2-1.2", ("2-1.2", "1-1.2")),
        ("2-5", ("2-5",)),
        ("3-1.1.1", ("3-1.1.1",)),
        ("ata3", ("ata3",)),
        ("0000:03:00.0", ("0000:03:00.0",)),
    ],
)
def test_both_ports_of_a_socket(tree: Tree, port: str, ports: tuple[str, ...]) -> None:
    assert same_socket(tree, port) == ports


def test_the_slot_of_a_drive(tree: Tree) -> None:
    slots = {"slot 1": ("2-4",), "slot 2": ("2-1.2", "ata3"), "slot 3": ("3-1",)}
    by_port = {
        port: slot_of(tree, port, slots)
        for port in ("2-4", "1-3", "1-1.2", "2-1.2-t1", "ata3", "3-1", "3-1.1", "ata4", "")
    }
    assert by_port == {
        "2-4": "slot 1", "1-3": "slot 1", "1-1.2": "slot 2", "2-1.2-t1": "slot 2",
        "ata3": "slot 2", "3-1": "slot 3", "3-1.1": None, "ata4": None, "": None,
    }  # fmt: skip
    assert slot_of(tree, "2-4", {}) is None


def test_the_setting() -> None:
    text = '[bench_ports]\n"slot 1" = "2-4"\nright = ["2-1.2", "ata3"]\n'
    assert read(text, "test").bench_ports == {"slot 1": ("2-4",), "right": ("2-1.2", "ata3")}
    assert read('[scan_prefixes]\n"OP:" = "operator"', "test").scan_prefixes == {"OP:": "operator"}


def test_the_booted_stick_writes_what_it_read() -> None:
    text = '[bench_ports]\n"Ä 🖴 \\"1\\"" = ["2-4", "ata1"]\n[scan_prefixes]\n"#\\\\" = "asset"\n'
    settings = read(text, "test")
    assert list(settings.bench_ports) == ['Ä 🖴 "1"']
    assert read(to_toml(settings), "again") == settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('bench_ports = ["2-4"]', "names with ports"),
        ('[bench_ports]\n"" = "2-4"', "a slot's name"),
        ("[bench_ports]\na = 5", "names with ports"),
        ("[bench_ports]\na = []", "names with ports"),
        ('[bench_ports]\na = "2-4"\nb = "2-4"', "2-4 is in two slots"),
        ('[bench_ports]\na = "/dev/sda"', "'/dev/sda' is not a port"),
        ('[scan_prefixes]\nX = "tag"', "'tag' is not one of"),
        ('[scan_prefixes]\n"" = "asset"', "prefixes with kinds"),
        ("scan_prefixes = 1", "prefixes with kinds"),
    ],
)
def test_bad_settings(text: str, expected: str) -> None:
    with pytest.raises(SettingsError, match="test:1: ") as excinfo:
        read(text, "test")
    assert expected in str(excinfo.value)
