"""Shares the list of drives that were plugged in while the agent was running with the commands.

Only the agent knows it (docs/guard.md, Locked). Without this list the page would
show a drive as free that the command line shows as locked.
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
    """Write the diskseqs of the drives that were plugged in. The agent calls this."""
    live_progress.replace(_path(), {"seen": sorted(hotplugs)}, 0o644)


def believed() -> tuple[int, ...]:
    """The diskseqs in the list of the agent, if it is running.

    The file must belong to root or to this user: who can write it can make a locked drive free.
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
