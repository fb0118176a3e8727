"""The commands of the erase methods, and the tools' answers. Pure functions.

Sources: NVM Express base specification 2.0 (Sanitize, Format NVM, Sanitize Status log page);
nvme-cli 2.3 to 2.15, nvme-print-json.c; hdparm 9.65, identify.c and hdparm.c; ACS-4 4.18 and 7.45
to 7.50 (Security feature set).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchstick.plan.states import SanitizeState

# Sanitize actions (SANACT).
EXIT_FAILURE, BLOCK_ERASE, OVERWRITE, CRYPTO_ERASE = 1, 2, 3, 4
# Secure erase settings of Format NVM (SES).
USER_DATA_ERASE, CRYPTOGRAPHIC_ERASE = 1, 2
# Sanitize status (SSTAT bits 2:0).
NEVER, COMPLETED, IN_PROGRESS, FAILED, COMPLETED_KEPT = 0, 1, 2, 3, 4
_NOT_REPORTED = 0xFFFFFFFF
# A format that takes longer than nvme-cli's ten minutes is cut off by a controller reset.
FORMAT_TIMEOUT_MS = 6 * 3600 * 1000
# Public, as it protects nothing: the data are being erased. It unlocks a drive whose store is lost.
ATA_PASSWORD = "benchstick"
_PASSWORD = re.compile(r"[A-Za-z0-9]{1,32}")


@dataclass(frozen=True)
class SanitizeLog:
    """The Sanitize Status log page.

    `status` is one of NEVER, COMPLETED, IN_PROGRESS, FAILED, COMPLETED_KEPT; `progress` 0 to 1;
    `action` is that of the most recent Sanitize command; `seconds` the drive's own estimate by
    action, without those it does not report.
    """

    status: int
    progress: float
    action: int
    seconds: Mapping[int, int]

    @property
    def word(self) -> str:
        return {
            NEVER: SanitizeState.NEVER, COMPLETED: SanitizeState.COMPLETE,
            IN_PROGRESS: SanitizeState.RUNNING, FAILED: SanitizeState.FAILED,
            COMPLETED_KEPT: SanitizeState.COMPLETE,
        }.get(self.status, f"unknown ({self.status})")  # fmt: skip


def parse_sanitize_log(text: str) -> SanitizeLog:
    """From `nvme sanitize-log -o json`. ValueError when it is something else."""
    page = _document(text)
    if "sprog" not in page:
        # The page lies under the device's name.
        page = next((part for part in page.values() if isinstance(part, dict)), {})
    status = page.get("sstat")
    match = re.match(r"\((\d+)\)", str(status.get("status"))) if isinstance(status, dict) else None
    if match is None or not isinstance(page.get("sprog"), int):
        raise ValueError("no sanitize status")
    times = {
        BLOCK_ERASE: page.get("time_block_erase"),
        OVERWRITE: page.get("time_over_write"),
        CRYPTO_ERASE: page.get("time_crypto_erase"),
    }
    return SanitizeLog(
        status=int(match.group(1)),
        progress=min(1.0, int(page["sprog"]) / 65536),
        action=int(page.get("cdw10_info") or 0) & 7,
        seconds={
            action: seconds
            for action, seconds in times.items()
            if isinstance(seconds, int) and seconds != _NOT_REPORTED
        },
    )


@dataclass(frozen=True)
class LbaFormat:
    """The format a namespace has now: its index, sector and metadata bytes, where the metadata
    lie, and the protection information's type and place."""

    index: int
    sector: int
    metadata: int
    extended: int
    protection: int
    protection_first: int

    def __str__(self) -> str:
        return f"{self.index}: {self.sector} B + {self.metadata} B metadata"


def parse_lba_format(text: str) -> LbaFormat:
    """From `nvme id-ns -o json`. ValueError when it is something else."""
    document = _document(text)
    flbas, dps, formats = (document.get(name) for name in ("flbas", "dps", "lbafs"))
    if not (isinstance(flbas, int) and isinstance(dps, int) and isinstance(formats, list)):
        raise ValueError("no LBA format")
    # Bits 6:5 count with more than 16 formats and are 0 with fewer.
    index = flbas & 0xF | (flbas >> 5 & 3) << 4
    if index >= len(formats):
        raise ValueError(f"LBA format {index} of {len(formats)}")
    return LbaFormat(
        index=index,
        sector=1 << int(formats[index]["ds"]),
        metadata=int(formats[index]["ms"]),
        extended=flbas >> 4 & 1,
        protection=dps & 7,
        protection_first=dps >> 3 & 1,
    )


def parse_namespaces(text: str) -> list[int]:
    """The ids in `nvme list-ns -o json`. ValueError when it is something else."""
    rows = _document(text).get("nsid_list")
    if not isinstance(rows, list):
        raise ValueError("no list of namespaces")
    return [int(item["nsid"]) for item in rows]


def _document(text: str) -> dict[str, Any]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("not an object")
    return document


@dataclass(frozen=True)
class AtaSecurity:
    """The Security section of `hdparm -I`."""

    is_supported: bool = False
    is_enabled: bool = False
    is_locked: bool = False
    is_frozen: bool = False
    is_expired: bool = False

    @property
    def word(self) -> str:
        """`enabled, locked, not frozen`."""
        if not self.is_supported:
            return "not supported"
        parts = ["enabled" if self.is_enabled else "not enabled"]
        parts += ["locked"] * self.is_locked + ["count expired"] * self.is_expired
        return ", ".join([*parts, "frozen" if self.is_frozen else "not frozen"])


_SECURITY_LINES = {
    "supported": "is_supported",
    "enabled": "is_enabled",
    "locked": "is_locked",
    "frozen": "is_frozen",
    "expired: security count": "is_expired",
}


def parse_ata_security(text: str) -> AtaSecurity:
    """From `hdparm -I`. ValueError when it does not describe an ATA device."""
    if "ATA device" not in text:
        raise ValueError("no IDENTIFY data")
    section = re.search(r"^Security:[ ]*\n((?:\t.*\n?)*)", text, re.MULTILINE)
    lines = section.group(1).splitlines() if section else []
    flags = {}
    for line in lines:
        match = re.fullmatch(r"\t(not|\(\?\))?\t(.+)", line)
        if match is not None and match.group(2) in _SECURITY_LINES:
            flags[_SECURITY_LINES[match.group(2)]] = match.group(1) is None
    return AtaSecurity(**flags)


def sanitize(path: str, action: int) -> list[str]:
    """Start a sanitize. A failed one may be left again (AUSE), so that the drive is not lost."""
    return ["nvme", "sanitize", path, "-a", str(action), "--ause"]


def leave_failed_sanitize(path: str) -> list[str]:
    return ["nvme", "sanitize", path, "-a", str(EXIT_FAILURE)]


def format_nvm(path: str, keep: LbaFormat, erase: int) -> list[str]:
    """Format one namespace with the format that it has. `--force` leaves out nvme-cli's ten
    seconds and its own exclusive open, which the bench holds."""
    return [
        "nvme", "format", path, "--ses", str(erase), "--lbaf", str(keep.index),
        "--ms", str(keep.extended), "--pi", str(keep.protection),
        "--pil", str(keep.protection_first), "--timeout", str(FORMAT_TIMEOUT_MS), "--force",
    ]  # fmt: skip


def is_formatted(text: str) -> bool:
    """By nvme-cli's message: its exit code also covers what it does after the format."""
    return text.lstrip().startswith("Success formatting namespace")


def ata(path: str, act: str, password: str) -> list[str]:
    """One of hdparm's `set-pass`, `erase`, `erase-enhanced`, `unlock`, `disable`."""
    if not _PASSWORD.fullmatch(password):
        raise ValueError("not a password of ours")
    return ["hdparm", "--user-master", "u", f"--security-{act}", password, path]


def discard(path: str, offset: int, length: int) -> list[str]:
    """Discard a range. `-f`: the bench holds the drive exclusively itself."""
    return ["blkdiscard", "-f", "--offset", str(offset), "--length", str(length), path]


def overwrite(
    path: str, offset: int, length: int, block: int, report: str, *, reads: bool
) -> list[str]:
    """Write random blocks with a checksum and their own offset in each, or read them again and
    check both. `length` is a multiple of `block`."""
    return [
        "fio", "--name=overwrite", "--filename=" + path.replace(":", "\\:"),
        f"--rw={'read' if reads else 'write'}", f"--bs={block}", f"--offset={offset}",
        f"--size={length}", "--ioengine=libaio", "--direct=1", "--iodepth=8", "--thread",
        "--refill_buffers", "--randrepeat=0", "--verify=crc32c", "--verify_state_save=0",
        *(("--verify_fatal=1",) if reads else ("--do_verify=0", "--end_fsync=1")),
        "--eta=never", "--output-format=json", f"--output={report}",
    ]  # fmt: skip
