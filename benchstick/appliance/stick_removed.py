"""When the stick is pulled out, the bench continues in RAM with an empty store, and shows this.

Earlier results are on the stick. A run in progress keeps what it has written to its store, and
writes it to the one in RAM (`store.run_writer.RunRecord.follow`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import time
from pathlib import Path

from benchstick import paths
from benchstick.appliance import state, web_address
from benchstick.appliance.boot import boot_folder, make_home, mounts_at, store_in_ram
from benchstick.appliance.stick import Machine
from benchstick.store import database

# The agent looks every 3 seconds, after a scan of the drives.
_PATIENCE = 90.0
_WHY = (
    "the stick was pulled out: this run is kept in RAM and lost when the power goes; save it from "
    "the page"
)


def go_on_in_ram(machine: Machine | None = None) -> bool:
    """Replace a store whose stick is gone by one in RAM. True when that was done.

    The page has the old folder in its own mount namespace: it is stopped, and its supervisor
    restarts it.
    """
    state.note_pulled()
    record = state.read()
    if record is None or record["reason"] != state.PULLED or not _still_on_the_stick():
        return False
    machine = machine or Machine()
    for point in (paths.data_folder(), boot_folder()):
        # Lazily: a run may have files open there, none of which can be written any more.
        machine.run(["umount", "-l", str(point)], timeout=60)
    notes: list[str] = []
    store_in_ram(machine, notes)
    make_home(notes)
    state.write({**record, "in_ram": True, "notes": [*record.get("notes", []), *notes]})
    running = web_address.read()
    if running is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGTERM)
    return True


def other_store(folder: Path) -> tuple[sqlite3.Connection, str] | None:
    """The store in RAM and why it is in use, once the agent has created it; None while the stick is
    there. StoreFailed when it cannot be opened."""
    state.note_pulled()
    record = state.read()
    if record is None or record["reason"] != state.PULLED:
        return None
    deadline = time.monotonic() + _PATIENCE
    while not state.moved_to_ram():
        if time.monotonic() > deadline:
            return None
        time.sleep(0.5)
    return database.open_writer(folder), _WHY


def _still_on_the_stick() -> bool:
    return any(fs == "ext4" for fs in mounts_at(Path(paths.data_folder())))
