"""Sizes, rates and durations as people write and read them. MB is 10^6 bytes, MiB is 2^20."""

from __future__ import annotations

import re

from benchstick.errors import BadInput

# The unit of temperatures.
CELSIUS = "°C"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_SUFFIXES = {
    "": 1, "b": 1,
    "k": KIB, "m": MIB, "g": GIB, "t": GIB * KIB,
    "kib": KIB, "mib": MIB, "gib": GIB, "tib": GIB * KIB,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
}  # fmt: skip
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def parse_size(text: str, field: str) -> int:
    """`1g`, `256MiB`, `40MB`, `4096` as bytes; k, m, g alone are binary, as in fio."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    factor = _SUFFIXES.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise BadInput(f"{field}: {text!r} is not a size; write 1g, 256MiB or 40MB", field=field)
    count = float(match[1]) * factor
    if count >= 1 << 63:
        raise BadInput(f"{field}: {text[:40]!r} is larger than any drive", field=field)
    return int(count)


def parse_duration(text: str, field: str) -> float:
    """`45 s`, `5min`, `2 h`, `1h 30min` in seconds."""
    parts = re.findall(r"(\d{1,7}(?:\.\d{1,3})?)\s*([a-z]+)", text)
    again = "".join(f"{count}{unit}" for count, unit in parts)
    if not parts or again != re.sub(r"\s+", "", text) or any(u not in _SECONDS for _, u in parts):
        raise BadInput(
            f"{field}: {text[:40]!r} is not a duration; write 45 s, 5 min or 2 h", field=field
        )
    return sum(float(count) * _SECONDS[unit] for count, unit in parts)


def size_text(count: float) -> str:
    """Bytes in the decimal unit that reads best: `24.03 GB`, `512 B`."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        # What would be shown as 1000.00 is one of the next unit.
        if count >= 0.999995 * factor:
            return f"{count / factor:.2f} {unit}"
    return f"{int(count)} B"


def binary_text(count: int) -> str:
    """Bytes in the largest whole binary unit: `1 MiB`, `512 B`, `1000000 B`."""
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} B"


def duration_text(seconds: float) -> str:
    """Seconds as `45 s`, `12 min 5 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def megabytes_per_second(count: float, seconds: float) -> float:
    """MB/s (10^6 bytes a second) of `count` bytes in `seconds`; 0 for no time at all."""
    return count / seconds / 1e6 if seconds > 0 else 0.0
