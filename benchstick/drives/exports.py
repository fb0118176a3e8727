"""Drives that the kernel exports: SCSI and NVMe targets, USB gadgets.

They are set up in configfs. The kernel holds the drive without any process, and in some cases
without exclusive use, so that neither /proc nor an exclusive open shows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchstick.drives.sysfs import Tree

_CONFIG = "sys/kernel/config"


@dataclass(frozen=True)
class Export:
    """`path` of the node as it was set up, `devno` (`8:0`) where the kernel shows it."""

    path: str
    devno: str | None
    words: str


def read(tree: Tree) -> list[Export]:
    """All exports of block devices that are set up now."""
    return [*_scsi(tree), *_nvme(tree), *_gadgets(tree)]


def _scsi(tree: Tree) -> list[Export]:
    exports = []
    core = f"{_CONFIG}/target/core"
    for adapter in tree.names(core):
        for name in tree.names(f"{core}/{adapter}"):
            here = f"{core}/{adapter}/{name}"
            info = tree.text(f"{here}/info") or ""
            if tree.text(f"{here}/enable") != "1":
                continue
            match = re.search(r"Major:\s*(\d+)\s+Minor:\s*(\d+)", info)
            devno = None if match is None else f"{match.group(1)}:{match.group(2)}"
            file = re.search(r"File:\s*(\S+)", info)
            path = file.group(1) if file else tree.text(f"{here}/udev_path") or ""
            exports.append(Export(path, devno, f"SCSI target {adapter}/{name}"))
    return exports


def _nvme(tree: Tree) -> list[Export]:
    exports = []
    subsystems = f"{_CONFIG}/nvmet/subsystems"
    for name in tree.names(subsystems):
        for number in tree.names(f"{subsystems}/{name}/namespaces"):
            here = f"{subsystems}/{name}/namespaces/{number}"
            if tree.text(f"{here}/enable") == "1":
                path = tree.text(f"{here}/device_path") or ""
                exports.append(Export(path, None, f"NVMe target {name}, namespace {number}"))
    return exports


def _gadgets(tree: Tree) -> list[Export]:
    exports = []
    gadgets = f"{_CONFIG}/usb_gadget"
    for gadget in tree.names(gadgets):
        for function in tree.names(f"{gadgets}/{gadget}/functions"):
            here = f"{gadgets}/{gadget}/functions/{function}"
            for lun in tree.names(here):
                path = tree.text(f"{here}/{lun}/file") if lun.startswith("lun.") else None
                if path is not None:
                    exports.append(Export(path, None, f"USB gadget {gadget}, {function}"))
    return exports
