"""The live record of a running run: the half of the store that is in RAM.

Samples reach the store at the end of a step, so that the stick is not written while a drive is
timed (docs/decisions/ram.md). What the page shows in between lies in `/run/benchstick/live`,
one small JSON file a run, replaced as a whole once a second and gone after the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchstick import paths


def _path(uuid: str) -> Path:
    return paths.run_folder() / "live" / f"{uuid}.json"


def publish(uuid: str, record: Mapping[str, Any]) -> None:
    """Replace the live record of run `uuid`.

    `{"step_index": index, "name", "fraction": 0..1 or null, "text", "t": seconds,
    "seconds_left": estimate, "is_upper_bound": whether it may end before that,
    "samples": [not yet in the store]}`
    """
    replace(_path(uuid), record, 0o640)


def replace(path: Path, document: Mapping[str, Any], mode: int) -> None:
    """Put `document` as JSON in the place of the file at `path`; readers see one or the other."""
    fresh = path.with_suffix(".new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(document, file)
    fresh.rename(path)


def read(uuid: str) -> dict[str, Any] | None:
    """The live record of run `uuid`; None when it is not running here."""
    try:
        data = json.loads(_path(uuid).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def remove(uuid: str) -> None:
    """Take the live record away at the end of the run."""
    _path(uuid).unlink(missing_ok=True)
