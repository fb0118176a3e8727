"""Which drives the running agent saw being plugged in, for the commands beside it.

The agent alone can know it (docs/guard.md, Locked). Without this the page would
call a drive free that the command line calls locked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

from benchstick import paths
from benchstick.store import live_progress, locks


def _path() -> Path:
    return paths.run_folder() / "seen.json"


def publish(hotplugs: Collection[int]) -> None:
    """Write down the diskseqs that the agent saw being plugged in; for the agent."""
    live_progress.replace(_path(), {"seen": sorted(hotplugs)}, 0o644)


def believed() -> tuple[int, ...]:
    """The diskseqs that the agent, if it is running, saw being plugged in.

    Only of a file of root's own or ours: whoever may write it can make a locked drive free.
    """
    if locks.holder("agent") is None:
        return ()
    try:
        fd = os.open(_path(), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, encoding="ascii") as file:
            if os.fstat(fd).st_uid not in (0, os.geteuid()):
                return ()
            hotplugs = json.load(file)["seen"]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return (
        tuple(item for item in hotplugs if isinstance(item, int))
        if isinstance(hotplugs, list)
        else ()
    )
