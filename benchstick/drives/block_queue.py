"""The kernel's block queue: depth in use, scheduler, sector sizes, discard limit."""

from __future__ import annotations

import re

from benchstick.drives.sysfs import Tree
from benchstick.drives.topology import Where
from benchstick.drives.types import Fact


def facts(tree: Tree, where: Where) -> dict[str, Fact]:
    """Facts of `/sys/block/X/queue` and the device's own queue depth."""
    here = f"sys/block/{where.name}"
    queues = [name for name in tree.names(f"{here}/mq") if name.isdecimal()]
    return {
        "queue_depth": _depth(tree, where),
        "queue_count": (
            Fact(len(queues), source="sysfs mq")
            if queues
            else Fact.unknown("the kernel shows no hardware queues")
        ),
        "nr_requests": _number(tree, f"{here}/queue/nr_requests", None),
        "scheduler": _scheduler(tree, here),
        "rotational": _rotational(tree, here),
        "logical_sector": _number(tree, f"{here}/queue/logical_block_size", "B"),
        "physical_sector": _number(tree, f"{here}/queue/physical_block_size", "B"),
        "trim_kernel": _discard(tree, here),
        "discard_granularity": _number(tree, f"{here}/queue/discard_granularity", "B"),
        "read_only": Fact(tree.text(f"{here}/ro") == "1", source="sysfs ro"),
    }


def _number(tree: Tree, file: str, unit: str | None) -> Fact:
    value = tree.number(file)
    name = file.rsplit("/", 1)[-1]
    return (
        Fact.unknown(f"the kernel has no {name}")
        if value is None
        else Fact(value, unit, f"sysfs {name}")
    )


def _depth(tree: Tree, where: Where) -> Fact:
    """SCSI and ATA: the device's; NVMe: of each submission queue; virtio and others: the requests
    of each hardware queue, where no scheduler hides them."""
    own = tree.number(f"sys/block/{where.name}/device/queue_depth")
    if where.scsi is not None and own is not None:
        return Fact(own, source="sysfs queue_depth")
    size = tree.number(f"sys/block/{where.name}/device/sqsize")
    if where.transport == "nvme" and size is not None:
        return Fact(size, source="sysfs sqsize, each submission queue")
    requests = tree.number(f"sys/block/{where.name}/queue/nr_requests")
    if requests is None:
        return Fact.unknown("the kernel shows no queue depth")
    scheduler = _scheduler(tree, f"sys/block/{where.name}").value
    if scheduler not in (None, "none"):
        # nr_requests is then the length of the scheduler's own queue.
        return Fact.unknown(f"hidden by the I/O scheduler {scheduler}")
    return Fact(requests, source="sysfs nr_requests, each hardware queue")


def _scheduler(tree: Tree, here: str) -> Fact:
    text = tree.text(f"{here}/queue/scheduler") or ""
    match = re.search(r"\[([^\]]+)\]", text)
    name = match.group(1) if match else text
    return Fact(name, source="sysfs scheduler") if name else Fact.unknown("no scheduler")


def _rotational(tree: Tree, here: str) -> Fact:
    text = tree.text(f"{here}/queue/rotational")
    if text is None:
        return Fact.unknown("the kernel does not report it")
    return Fact(text == "1", source="sysfs rotational")


def _discard(tree: Tree, here: str) -> Fact:
    value = tree.number(f"{here}/queue/discard_max_bytes")
    if value is None:
        return Fact.unknown("the kernel has no discard_max_bytes")
    return Fact(value, "B", "sysfs discard_max_bytes: the most in one request; 0 is no TRIM")


def kernel_write_cache(tree: Tree, where: Where) -> Fact:
    """The kernel's view, for drives that cannot be queried."""
    here = f"sys/block/{where.name}/device/scsi_disk"
    for address in tree.names(here):
        kind = tree.text(f"{here}/{address}/cache_type")
        if kind is not None:
            on = kind.startswith("write back")
            return Fact("enabled" if on else "off", source="MODE SENSE (sysfs cache_type)")
    text = tree.text(f"sys/block/{where.name}/queue/write_cache")
    if text is None:
        return Fact.unknown("the kernel does not report it")
    return Fact("enabled" if text == "write back" else "off", source="sysfs queue/write_cache")
