"""The key of a drive, under which the store has its runs, label, purges and queues."""

from __future__ import annotations

from typing import NewType

DriveKey = NewType("DriveKey", str)


def drive_key(serial: str | None, model: str, capacity: int, port: str, lun: int) -> DriveKey:
    """Serial, model and capacity where there is a serial; the place where there is none."""
    first = serial or f"port:{port}:{lun}"
    return DriveKey(f"{first}|{model}|{capacity}")


def keys_of_serial(serial: str) -> tuple[str, str]:
    """The range of the keys with this serial or place: from the first to below the second."""
    # `}` is the character after `|`.
    return f"{serial}|", f"{serial}}}"
