"""Cleans up after a runner that was killed: tools, mounts, settings, then the run's state.

It touches only runs whose lock is free. The order matters: after a SIGKILL forked tools may
continue to write (docs/methods/fio.md). So it kills them first, waits until the drive is idle,
unmounts it, and only then marks the run, with the result of its data so far.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from benchstick import paths
from benchstick.drives import prepare
from benchstick.engine import automount, cgroup, host_settings, interrupted_sanitize, results
from benchstick.engine.copier.copy import empty_folder
from benchstick.engine.fileset_source import free_ram
from benchstick.engine.retention import UUID
from benchstick.engine.runner import MARK
from benchstick.errors import BenchError
from benchstick.plan.states import RunState
from benchstick.store import live_progress, locks
from benchstick.store.run_writer import RunRecord

IDLE_WAIT = 30.0


_NAME = re.compile(r"[a-z0-9]+")


def recover(db: sqlite3.Connection) -> list[int]:
    """Recover every run with the state running that does not run. Returns their numbers."""
    paths.make_run_folder()
    rows = db.execute(
        "SELECT running.run, runs.uuid FROM running JOIN runs ON runs.number = running.run"
    ).fetchall()
    recoveries = []
    for row in rows:
        # The page's user may write to the store: skip a UUID that the bench did not write.
        if not UUID.fullmatch(row["uuid"]):
            continue
        try:
            lock = locks.RunLock(row["uuid"])
        except OSError:
            continue
        try:
            # Check again under the lock: the run may have ended since.
            still = db.execute("SELECT * FROM running WHERE run = ?", (row["run"],)).fetchone()
            if still is not None:
                _recover_one(db, int(row["run"]), str(row["uuid"]), str(still["device"]))
                recoveries.append(int(row["run"]))
        finally:
            lock.release()
    return recoveries


def _recover_one(db: sqlite3.Connection, number: int, uuid: str, device: str) -> None:
    record = RunRecord(db, number)
    end_marked(uuid)
    group = cgroup.find(uuid)
    if group is not None:
        cgroup.end(group)
    if _NAME.fullmatch(device) and not wait_idle(device):
        record.event(None, "recovery", f"{device}: still busy after {IDLE_WAIT:.0f} s")
    for problem in _unmount(number, uuid):
        record.event(None, "recovery", problem)
    automount.release(uuid)
    host_settings.restore_settings(record)
    live_progress.remove(uuid)
    shutil.rmtree(paths.staging(uuid), ignore_errors=True)
    interrupted_sanitize.interrupt(record, db)
    result = results.conclude_killed(record)
    record.finish(
        RunState.INTERRUPTED,
        70,
        seconds=None,
        reason=f"{results.KILLED} during this run",
        result=result,
    )


def _unmount(number: int, uuid: str) -> Iterator[str]:
    """Remove the run's folder and unmount its filesystems; yields errors."""
    base = paths.run_folder()
    mount_point = base / "mnt" / uuid
    try:
        folder = mount_point / f"benchstick-{number}"
        if folder.is_dir() and not folder.is_symlink():
            empty_folder(folder)
            folder.rmdir()
    except (BenchError, OSError) as error:
        yield f"benchstick-{number} stays on the drive: {error}"
    try:
        problem = prepare.unmount(mount_point)
        if problem:
            yield problem
        free_ram.unmount(base / "ram" / uuid)
    except (BenchError, OSError) as error:
        yield str(error)


def end_marked(uuid: str) -> None:
    """Kill every process with the run's mark, also without cgroups."""
    for _ in range(20):
        pids = list(_marked(uuid))
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def _marked(uuid: str) -> list[int]:
    mark = f"{MARK}={uuid}".encode()
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                pids.append(int(entry.name))
    return pids


def wait_idle(device: str, sysfs: Path = Path("/sys")) -> bool:
    """Wait until the drive has no request in flight and its counters do not change for a second.

    Also True when the drive is gone. False after IDLE_WAIT seconds.
    """
    folder = sysfs / "block" / device
    deadline = time.monotonic() + IDLE_WAIT
    before = None
    while time.monotonic() < deadline:
        try:
            inflight = sum(int(word) for word in (folder / "inflight").read_text().split())
            stat = (folder / "stat").read_text()
        except OSError:
            return True
        if inflight == 0 and stat == before:
            return True
        before = stat
        time.sleep(1.0)
    return False
