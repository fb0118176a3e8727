"""The report of a copy: times, per-file records, robocopy's rows. Data only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchstick.errors import BadInput, Cancelled, DriveLost

SCHEMA = "benchstick/copy/1"
# Records in the JSON: enough for every built-in set; a user's tree may have far more.
MOST_RECORDS = 10_000
MOST_MESSAGES = 200


@dataclass(frozen=True)
class FileRecord:
    """A copied file: `start` and `end` in seconds since the copy's start, and its `bytes`."""

    path: str
    start: float
    end: float
    bytes: int


@dataclass
class Row:
    """One of robocopy's rows."""

    total: int = 0
    copied: int = 0
    skipped: int = 0
    mismatch: int = 0
    failed: int = 0
    extras: int = 0

    def to_json(self) -> dict[str, int]:
        return dict(vars(self))


@dataclass
class CopyReport:
    """The report of a copy, or of its part until it ended early.

    `seconds` is the time from opening the source folder to the end of the flush,
    `seconds_without_flush` the time to the last file and folder time. Of the copied bytes (on the
    drive's side) `direct_bytes` bypassed the page cache, `tail_bytes` are the ends of files below
    4 KiB, which may go through it, and `fallback_bytes` went through it because the filesystem
    refuses direct I/O. `cached_bytes` is the part of the files that was in the page cache when each
    was closed (whole pages, with tails; None when the kernel does not report it). It shows
    filesystems that accept direct I/O but use the page cache.

    In the rows `dirs` are the folders below the root. `mismatch` counts names that were a file on
    one side and a folder on the other, `extras` the entries that were removed from the target.
    `errors` has a message for each file that failed, `left_out` the reason for each entry that is
    not copied on purpose (links, sockets, devices, other filesystems mounted inside).
    """

    filesystem: str = ""
    threads: int = 0
    block: int = 0
    direct: bool = True
    seconds: float = 0.0
    seconds_without_flush: float = 0.0
    bytes: int = 0
    direct_bytes: int = 0
    tail_bytes: int = 0
    fallback_bytes: int = 0
    cached_bytes: int | None = None
    dirs: Row = field(default_factory=Row)
    files: Row = field(default_factory=Row)
    sizes: Row = field(default_factory=Row)
    records: list[FileRecord] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    complete: bool = False

    @property
    def speed(self) -> float:
        """Copied bytes per second, flush included; 0 without a measured time."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    def buffered_bytes(self) -> int:
        """Bytes that went through the page cache, without the allowed tails, as far as known."""
        if self.cached_bytes is None:
            return self.fallback_bytes
        # A tail has a page of its own; cached bytes beyond the pages of tails are not tails.
        tails = sum(1 for record in self.records if record.bytes % 4096) * 4096
        return max(self.fallback_bytes, self.cached_bytes - tails)

    def to_json(self, most_records: int = MOST_RECORDS) -> dict[str, Any]:
        """Has at most `most_records` files and 200 messages, and the number of omitted ones."""
        return {
            "schema": SCHEMA,
            "complete": self.complete,
            "filesystem": self.filesystem,
            "threads": self.threads,
            "block": self.block,
            "direct": self.direct,
            "seconds": self.seconds,
            "seconds_without_flush": self.seconds_without_flush,
            "bytes": self.bytes,
            "speed": self.speed,
            "direct_bytes": self.direct_bytes,
            "tail_bytes": self.tail_bytes,
            "fallback_bytes": self.fallback_bytes,
            "cached_bytes": self.cached_bytes,
            "rows": {
                "dirs": self.dirs.to_json(),
                "files": self.files.to_json(),
                "bytes": self.sizes.to_json(),
            },
            "files": [
                [r.path, round(r.start, 6), round(r.end, 6), r.bytes]
                for r in self.records[:most_records]
            ],
            "files_not_listed": max(0, len(self.records) - most_records),
            "errors": dict(list(self.errors.items())[:MOST_MESSAGES]),
            "errors_not_listed": max(0, len(self.errors) - MOST_MESSAGES),
            "left_out": dict(list(self.left_out.items())[:MOST_MESSAGES]),
            "left_out_not_listed": max(0, len(self.left_out) - MOST_MESSAGES),
        }

    def summary(self) -> str:
        """The table that robocopy prints at its end, in bytes and in MB/s of 10^6 bytes."""
        head = ("Total", "Copied", "Skipped", "Mismatch", "FAILED", "Extras")
        lines = [" " * 10 + "".join(f"{word:>15}" for word in head)]
        for name, row in (("Dirs", self.dirs), ("Files", self.files), ("Bytes", self.sizes)):
            values = (
                row.total, row.copied, row.skipped, row.mismatch, row.failed, row.extras
            )  # fmt: skip
            lines.append(f"{name:>7} : " + "".join(f"{value:>15}" for value in values))
        flush = self.seconds - self.seconds_without_flush
        lines.append(f"{'Times':>7} : {self.seconds:>13.3f} s, flush {flush:.3f} s of it")
        lines.append(f"{'Speed':>7} : {self.speed / 1e6:>10.1f} MB/s")
        return "\n".join(lines)


class CopyCancelled(Cancelled):
    """The copy was cancelled; `report` is the report so far."""

    def __init__(self, message: str, report: CopyReport) -> None:
        super().__init__(message)
        self.report = report


class TargetFull(BadInput):
    """The target is full; `report` is the report so far."""

    def __init__(self, message: str, report: CopyReport) -> None:
        super().__init__(message)
        self.report = report


class TargetReadOnly(BadInput):
    """The target is not writable; `report` is the report so far."""

    def __init__(self, message: str, report: CopyReport) -> None:
        super().__init__(message)
        self.report = report


class CopyDriveLost(DriveLost):
    """The drive reported an I/O error or is gone; `report` is the report so far."""

    def __init__(self, message: str, report: CopyReport) -> None:
        super().__init__(message)
        self.report = report
