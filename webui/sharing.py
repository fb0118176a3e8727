"""What a drive that is to be tested has in common with others that are being tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchstick.store import bays, run_queries
from benchstick.store.bays import COUNTDOWN, TESTING
from webui import present
from webui.bench import drives_seen, reader
from webui.words import _, word


def describe_link(drive: Mapping[str, Any]) -> str | None:
    """The narrowest link that this drive shares with drives under test, or in a countdown, and what
    is left for each, as a sentence. None without any."""
    scan = drives_seen()
    busy = {row["drive_key"] for row in run_queries.running(reader())}
    busy |= {slot["drive_key"] for slot in bays.list_slots(reader())
             if slot["state"] in (COUNTDOWN, TESTING)}  # fmt: skip
    others = {
        other["name"]: present.drive_title(other) for other in scan.drives
        if other["identity"]["key"] in busy and other["name"] != drive["name"]
    }  # fmt: skip
    for link in scan.shared:
        names = [others[name] for name in link["drives"] if name in others]
        if names and drive["name"] in link["drives"]:
            return _sentence(link, names)
    return None


def _sentence(link: Mapping[str, Any], names: list[str]) -> str:
    common = {"kind": word(link["kind"]), "name": link["name"], "drives": ", ".join(names)}
    limit = link["limit_mbps"]
    if limit is None:
        return _("%(kind)s %(name)s carries %(drives)s as well, under test now; how much it "
                 "carries is not known. Figures measured meanwhile say so.", **common)  # fmt: skip
    return _("%(kind)s %(name)s carries %(drives)s as well, under test now: %(limit)s MB/s at "
             "most, %(each)s for each. Figures measured meanwhile say so.",
             **common, limit=f"{limit:.0f}", each=f"{limit / (1 + len(names)):.0f}")  # fmt: skip
