"""What `benchstick appliance start` found at boot, for the page, the commands and the screen.

The record lies in a folder of its own, which the web process sees as well, and is replaced as a
whole; `/run/benchstick/appliance.json` is a link to it. On a host there is none.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchstick import paths
from benchstick.drives.sysfs import Tree, diskseq

SCHEMA = "benchstick/appliance/1"
PULLED = "the stick was pulled out; plug it in again and restart"


def _path() -> Path:
    return paths.run_folder() / "appliance" / "state.json"


def write(document: Mapping[str, Any]) -> None:
    """Replace the record."""
    path = _path()
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.chmod(0o644)
    fresh.rename(path)
    link = paths.run_folder() / "appliance.json"
    with contextlib.suppress(FileExistsError):
        link.symlink_to(path.relative_to(link.parent))


def read() -> dict[str, Any] | None:
    """The record; None on a host, where there is none."""
    try:
        found = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(found, dict) and found.get("schema") == SCHEMA
    return found if is_ours else None


def on_a_stick() -> bool:
    """Whether the store is on a stick, which may be pulled out."""
    found = read()
    return found is not None and bool(found["persistent"])


def moved_to_ram() -> bool:
    """Whether a store in RAM has taken the place of one on a stick."""
    found = read()
    return found is not None and bool(found.get("in_ram"))


def note_pulled(tree: Tree | None = None) -> None:
    """Write down that the stick was pulled out meanwhile. Reads sysfs alone; root's to call."""
    found = read()
    stick = found.get("stick") if found else None
    if found is None or stick is None or not found["persistent"]:
        return
    if diskseq(tree or Tree(), stick["name"]) != stick["diskseq"] and os.geteuid() == 0:
        write({**found, "persistent": False, "why": PULLED})


def note_sticks(present: Iterable[Mapping[str, Any]]) -> None:
    """Write down which sticks there are now, ours among them or not: those that are not count.

    Each has its `path`, `model` and `id`; the id of one that was there at boot is kept.
    """
    found = read()
    if found is None:
        return
    own = found["stick"]["path"] if found["stick"] else None
    before = {other["path"]: other for other in found["other_sticks"]}
    others = [
        before.get(stick["path"], dict(stick)) for stick in present if stick["path"] != own
    ]
    if others != found["other_sticks"]:
        write({**found, "other_sticks": others})


def notices(found: Mapping[str, Any] | None = None) -> list[str]:
    """What people must be told, in sentences; none on a host, and none when all is well."""
    found = read() if found is None else found
    if found is None:
        return []
    told = []
    if not found["persistent"]:
        told.append(f"Results will not last: {found['why']}.")
    error = found.get("settings_error")
    if error is not None:
        place = "" if error["line"] is None else f"line {error['line']}: "
        told.append(f"Settings: {place}{error['message']}; running with defaults.")
    others = [str(other["path"]) for other in found.get("other_sticks", [])]
    if others:
        used = found["stick"]["path"] if found["stick"] else "none of them"
        told.append(
            f"More than one stick is plugged in: {used} is used; {', '.join(others)} left alone."
        )
    return told + [str(note) for note in found.get("notes", [])]
