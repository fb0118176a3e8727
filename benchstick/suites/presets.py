"""Named sets of parameters: the start page fills them in with one click, and the command line takes
them as `SUITE:PRESET`.

Where a number is not a suite's own, the suite's page in docs/ has its source; those called "quick"
are ours, for a first look, and give no results to publish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchstick.errors import BadInput


@dataclass(frozen=True)
class Preset:
    """Parameters, target, filesystem and scale that differ from the suite's defaults.

    A choice that a suite offers, not a request: those who take it put it into a `RunRequest`.
    """

    name: str
    title: str
    description: str
    params: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    fs: str | None = None
    scale: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "params": dict(self.params),
            "target": self.target,
            "fs": self.fs,
            "scale": self.scale,
        }


PRESETS: Mapping[str, tuple[Preset, ...]] = {
    "das": (
        Preset("default", "Whole suite", "four file sets, three passes each"),
        Preset("quick", "Quick", "5 % of the files, one pass", {"passes": "1"}, scale=0.05),
        Preset("photos", "Home photos and video", "one set, three passes", {"sets": "Home"}),
        Preset("large", "Large files", "one set of disk images", {"sets": "ISOs"}),
    ),
    "cdm": (
        Preset("default", "Default", "four tests, three passes of 5 s, 1 GiB"),
        Preset("quick", "Quick", "one pass of 1 s, 256 MiB",
               {"passes": "1", "time": "1", "interval": "0", "size": "256MiB"}),
        Preset("nvme", "NVMe SSD", "with SEQ128K Q32T1 and RND4K Q32T16", {"preset": "nvme"}),
        Preset("peak", "Peak performance", "SEQ1M Q8T1 and RND4K Q32T1", {"profile": "peak"}),
        Preset("real", "Real world", "SEQ1M Q1T1 and RND4K Q1T1", {"profile": "real"}),
        Preset("mix", "Default with mix", "also 70 % reads, 30 % writes", {"mix": "70"}),
        Preset("flash", "Flash memory", "passes of 1 s, 30 s of rest between tests",
               {"preset": "flash"}),
        Preset("demo", "Demo", "SEQ1M Q8T1 alone", {"profile": "demo"}),
        Preset("cdm8", "As version 8", "five passes, the default up to 8", {"passes": "5"}),
        Preset("cdm3", "As version 3", "sequential, 512K, 4K, 4K QD32", {"preset": "cdm3"}),
    ),
    "atto": (
        Preset("default", "Version 4", "512 B to 64 MiB, 256 MiB of each, zeros"),
        Preset("v2", "Version 2", "512 B to 8 MiB", {"version": "2", "to": "8MiB"}),
        Preset("long", "2 GiB of each size", "past the cache of small drives",
               {"length": "2GiB"}),
        Preset("neither", "One at a time", "what ATTO calls Neither", {"depth": "1"}),
        Preset("random", "Incompressible", "random data instead of zeros", {"data": "random"}),
    ),
    "asssd": (
        Preset("default", "All parts", "benchmark, compression and copy"),
        Preset("score", "Benchmark", "the window with the scores", {"parts": "benchmark"}),
        Preset("large", "Benchmark, 10 GiB", "past the cache of most drives",
               {"parts": "benchmark", "size": "10GiB"}),
        Preset("compression", "Compression", "the curve alone", {"parts": "compression"}),
        Preset("copy", "Copy", "ISO, program and game", {"parts": "copy"}),
    ),
    "consistency": (
        Preset("default", "4 KiB, 2000 s", "filled twice, then random writes"),
        Preset("spare", "25 % spare area", "all but a quarter of the raw NAND is written",
               {"spare": "25"}),
        Preset("128k", "128 KiB", "not preconditioned", {"preset": "128k"}),
        Preset("quick", "Quick", "filled once, 300 s", {"fills": "1", "time": "300"}),
    ),
    "sweep": (
        Preset("default", "Fresh", "without preconditioning"),
        Preset("steady", "Steady", "filled, then written at random for hours",
               {"state": "steady"}),
        Preset("both", "Fresh and steady", "both in the same charts", {"state": "both"}),
        Preset("read", "Read only", "writes nothing that it times",
               {"only": "read", "purge": "none"}),
    ),
    "sustained": (
        Preset("default", "Whole drive", "written once, with pauses"),
        Preset("recovery", "With recovery", "then bursts after 30 s, 5 min and 30 min of rest",
               {"recovery": "yes"}),
        Preset("small", "128 KiB blocks", "the whole drive in small writes", {"block": "128k"}),
        Preset("quick", "First 10 %", "a look at the cache", {"span": "10%"}),
    ),
    "pts": (
        Preset("default", "Client, IOPS", "SNIA's rounds until steady state"),
        Preset("throughput", "Client, throughput", "1 MiB, in order", {"test": "throughput"}),
        Preset("latency", "Client, latency", "one request at a time", {"test": "latency"}),
        Preset("wsat", "Client, write saturation", "six hours of random writes",
               {"test": "wsat"}),
        Preset("hir", "Client, host idle recovery", "waits between the writes", {"test": "hir"}),
        Preset("enterprise", "Enterprise, IOPS", "all of the drive, write cache off",
               {"preset": "enterprise"}),
        Preset("reduced", "Reduced, IOPS", "PTS-like, not SNIA-conformant",
               {"preset": "reduced"}),
    ),
    "erase": (
        Preset("default", "Best method", "the best erase method that the drive supports"),
        Preset("overwrite", "Overwrite", "every block once", {"rung": "overwrite"}),
    ),
}  # fmt: skip


def of_suite(name: str) -> tuple[Preset, ...]:
    """The presets of a suite, its defaults first; none of a suite that has no list here."""
    return PRESETS.get(name, ())


def find(suite: str, name: str) -> Preset:
    """One preset. BadInput naming those there are."""
    for preset in of_suite(suite):
        if preset.name == name:
            return preset
    there = ", ".join(preset.name for preset in of_suite(suite)) or "none"
    raise BadInput(f"preset {name!r}: {suite} has {there}", field="suite")
