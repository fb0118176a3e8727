"""Which device nodes lead to which disk, by device number: a node may have any name and place."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from benchstick.drives.sysfs import Tree, partition_names


@dataclass(frozen=True)
class Node:
    """A node's kernel name (`sda1`, `sg0`, `nvme0`), and the block devices that it leads to."""

    name: str
    blocks: tuple[str, ...]


def numbers(tree: Tree) -> dict[str, Node]:
    """All nodes that lead to a block device: `b8:1` for a block, `c21:0` for a character node."""
    nodes: dict[str, Node] = {}
    for disk in tree.names("sys/block"):
        here = f"sys/block/{disk}"
        for name in (disk, *partition_names(tree, disk)):
            _add(tree, nodes, "b", f"sys/class/block/{name}", Node(name, (name,)))
        for kind in ("scsi_generic", "bsg"):
            for name in tree.names(f"{here}/device/{kind}"):
                _add(tree, nodes, "c", f"{here}/device/{kind}/{name}", Node(name, (disk,)))
        if re.fullmatch(r"nvme\d+n\d+", disk):
            name = "ng" + disk.removeprefix("nvme")
            _add(tree, nodes, "c", f"sys/class/nvme-generic/{name}", Node(name, (disk,)))
    for name in tree.names("sys/class/nvme"):
        here = f"sys/class/nvme/{name}"
        # With multipath the controller has a hidden leg, nvme0c1n1, of the disk nvme0n1.
        inside = [re.sub(r"c\d+n", "n", child) for child in tree.names(here)]
        disks = {name for name in inside if tree.exists(f"sys/block/{name}")}
        if disks:
            _add(tree, nodes, "c", here, Node(name, tuple(sorted(disks))))
    return nodes


def _add(tree: Tree, nodes: dict[str, Node], kind: str, folder: str, node: Node) -> None:
    number = tree.text(f"{folder}/dev")
    if number is not None:
        nodes[f"{kind}{number}"] = node


def number_of(tree: Tree, link: str) -> str | None:
    """`b8:1` or `c21:0` for what the file at `link` leads to, None when that is no device node.

    In a recorded tree a link's last word is taken for the node's kernel name. OSError when the
    file has gone.
    """
    if not tree.live:
        name = tree.path(link).readlink().name
        return next((key for key, node in numbers(tree).items() if node.name == name), None)
    status = os.stat(f"/{link}")  # noqa: PTH116 (called thousands of times)
    kind = {stat.S_IFBLK: "b", stat.S_IFCHR: "c"}.get(stat.S_IFMT(status.st_mode))
    return None if kind is None else f"{kind}{_text(status.st_rdev)}"


def block_name(tree: Tree, device: int) -> str | None:
    """The kernel name of the block device with number `device` (as in `st_rdev`)."""
    path = f"sys/dev/block/{_text(device)}"
    return tree.real(path).name if device and tree.exists(path) else None


def _text(device: int) -> str:
    # The two kinds of number, the kernel's and the C library's, agree up to 20 bits of minor.
    major = (device >> 8) & 0xFFF
    minor = (device & 0xFF) | ((device >> 12) & 0xFFF00)
    return f"{major}:{minor}"
