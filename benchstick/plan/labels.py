"""Labels of a drive, typed or scanned: asset tag, order, operator, serial number. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from benchstick.errors import BadInput

# What a scan can be; without a prefix that the settings know it is an asset tag.
ASSET, SERIAL, ORDER, OPERATOR = KINDS = ("asset", "serial", "order", "operator")
MOST_CHARACTERS = 100


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """The labels of a drive's test. `serial` is what was scanned from its label, to be compared
    with what the drive itself reports. Empty where not entered."""

    asset: str = ""
    serial: str = ""
    order: str = ""
    operator: str = ""

    def to_json(self) -> dict[str, str]:
        """All four, empty or not."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


def scan_text(value: Any) -> str:
    """A scan as the page sends it. BadInput."""
    if not isinstance(value, str) or not value.strip() or len(value) > MOST_CHARACTERS:
        raise BadInput(f"text: 1 to {MOST_CHARACTERS} characters are required", field="text")
    text = " ".join(value.split())
    if not text.isprintable():
        raise BadInput("text: has characters that cannot be shown", field="text")
    return text


def classify(text: str, prefixes: Mapping[str, str]) -> tuple[str, str]:
    """Kind and value of a scan: by the longest of `prefixes` (each with its kind) that it starts
    with, which is cut off; an asset tag without one. Case counts."""
    for prefix in sorted(prefixes, key=len, reverse=True):
        if text.startswith(prefix) and len(text) > len(prefix):
            return prefixes[prefix], text[len(prefix) :].strip()
    return ASSET, text


def same_serial(scanned_serial: str, serials: tuple[str, ...]) -> bool:
    """Whether the serial number on the label is one that the drive itself gives.

    Case, spaces and hyphens do not count: labels have them, drives do not. Nothing else is
    forgiven: a label that holds more than the number needs a prefix in the settings.
    """
    label_serial = _bare(scanned_serial)
    return bool(label_serial) and label_serial in {_bare(serial) for serial in serials}


def _bare(serial: str) -> str:
    return re.sub(r"[\s-]+", "", serial).upper()


def verdict_file_name(verdict: Mapping[str, Any]) -> str:
    """The name of a verdict's files, without suffix: `verdict-7-A-17`, with the asset tag, by which
    users look for a drive's file."""
    asset = str(verdict["labels"].get("asset") or "")
    tag = re.sub(r"[^A-Za-z0-9._]+", "-", asset).strip("-.")[:60]
    return f"verdict-{verdict['number']}{f'-{tag}' if tag else ''}"
