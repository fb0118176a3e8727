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
        record = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(record, dict) and record.get("schema") == SCHEMA
    return record if is_ours else None


def on_a_stick() -> bool:
    """Whether the store is on a stick, which may be pulled out."""
    record = read()
    return record is not None and bool(record["persistent"])


def moved_to_ram() -> bool:
    """Whether a store in RAM has taken the place of one on a stick."""
    record = read()
    return record is not None and bool(record.get("in_ram"))


def note_pulled(tree: Tree | None = None) -> None:
    """Record that the stick was pulled out, if so. Reads sysfs only; needs root."""
    record = read()
    stick = record.get("stick") if record else None
    if record is None or stick is None or not record["persistent"]:
        return
    if diskseq(tree or Tree(), stick["name"]) != stick["diskseq"] and os.geteuid() == 0:
        write({**record, "persistent": False, "reason": PULLED})


def note_sticks(present: Iterable[Mapping[str, Any]]) -> None:
    """Record which sticks there are now; the booted one may be among them.

    Each has its `path`, `model` and `id`; the id of one that was there at boot is kept.
    """
    record = read()
    if record is None:
        return
    own = record["stick"]["path"] if record["stick"] else None
    before = {other["path"]: other for other in record["other_sticks"]}
    others = [before.get(stick["path"], dict(stick)) for stick in present if stick["path"] != own]
    if others != record["other_sticks"]:
        write({**record, "other_sticks": others})


def notices(record: Mapping[str, Any] | None = None) -> list[str]:
    """Notices for the user, as sentences; none on a host, and none without a problem."""
    record = read() if record is None else record
    if record is None:
        return []
    sentences = []
    if not record["persistent"]:
        sentences.append(f"Results will not last: {record['reason']}.")
    error = record.get("settings_error")
    if error is not None:
        place = "" if error["line"] is None else f"line {error['line']}: "
        sentences.append(f"Settings: {place}{error['message']}; running with defaults.")
    others = [str(other["path"]) for other in record.get("other_sticks", [])]
    if others:
        stick_path = record["stick"]["path"] if record["stick"] else "none of them"
        sentences.append(
            f"More than one stick is plugged in: {stick_path} is used; "
            f"{', '.join(others)} left alone."
        )
    return sentences + [str(note) for note in record.get("notes", [])]
