"""The links that a drive shares with drives under test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchstick.reports import formatting
from webui.context import bench, drive_scans


def describe_link(drive: Mapping[str, Any]) -> str | None:
    """The narrowest link that this drive shares with drives under test, or in a countdown, and the
    share of each, as a sentence. None without any."""
    scan = drive_scans()
    busy = bench().drives_in_use()
    others = {
        other["name"]: formatting.drive_title(other) for other in scan.drives
        if other["identity"]["drive_key"] in busy and other["name"] != drive["name"]
    }  # fmt: skip
    for link in scan.shared:
        names = [others[name] for name in link["drives"] if name in others]
        if names and drive["name"] in link["drives"]:
            return _sentence(link, names)
    return None


def _sentence(link: Mapping[str, Any], names: list[str]) -> str:
    limit = link["limit_mbps"]
    if limit is None:
        share = "; how much it carries is not known"
    else:
        share = f": {limit:.0f} MB/s at most, {limit / (1 + len(names)):.0f} for each"
    return (
        f"{link['kind']} {link['name']} is shared with {', '.join(names)}, under test now{share}. "
        "Runs measured at the same time are flagged."
    )
