"""Prepares the target, empties it, and removes the bench's files from it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict
from pathlib import Path

from benchstick import paths
from benchstick.drives import prepare
from benchstick.drives.types import Fact
from benchstick.engine.copier.copy import empty_folder
from benchstick.engine.copier.direct_io import syncfs
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.errors import BenchError
from benchstick.plan.steps import Empty, Prepare


def do_prepare(work: Work, step: Prepare) -> StepOutcome:
    """Raw: open the drive exclusively. File: format unless `keep`, mount, create the run folder."""
    if step.target == "block":
        if work.plan.destroys:
            work.hold.check_before_write(writes=False)
        work.cleanup.enter_context(work.hold.exclusive())
        return StepOutcome(detail={"target": "block"})
    if step.fs == "keep":
        filesystem = prepare.find_filesystem(work.drive, run=work.tool)
        device, fs, fs_details = filesystem.path, filesystem.fs, asdict(filesystem)
    else:
        new_filesystem = prepare.make_filesystem(work.hold, step.fs, run=work.tool)
        device, fs, fs_details = new_filesystem.path, new_filesystem.fs, asdict(new_filesystem)
    if step.fs == "keep":
        # The mount is the first write.
        work.hold.check_before_write()
    else:
        work.hold.check_medium()
    # Before the mount, which a cancel may interrupt.
    work.cleanup.callback(_unmount, work)
    mount_point = prepare.mount(device, fs, work.uuid, run=work.tool)
    work.target.name = f"file on {fs}"
    work.target.folder = prepare.new_folder(mount_point, work.record.number, work.uuid)
    work.cleanup.callback(_remove_folder, work)
    work.conditions.filled = _filled(mount_point)
    work.conditions.extra["filesystem"] = fs_details
    return StepOutcome(detail={"target": work.target.name, "filesystem": fs_details})


def _filled(mount_point: Path) -> Fact:
    """How full the filesystem was before the run wrote to it."""
    stats = os.statvfs(mount_point)
    share = 100 * (stats.f_blocks - stats.f_bfree) / max(1, stats.f_blocks)
    return Fact(round(share, 1), "%", "statfs")


def _unmount(work: Work) -> None:
    # Another medium gets no data of the filesystem.
    with contextlib.suppress(BenchError, OSError):
        work.hold.check_medium()
    try:
        problem = prepare.unmount(paths.run_folder() / "mnt" / work.uuid)
    except (BenchError, OSError) as error:
        problem = str(error)
    if problem:
        work.record.event(work.now, "unmount", problem)


def _remove_folder(work: Work) -> None:
    """Remove the bench's files from the drive's filesystem."""
    folder = work.target.folder
    if folder is None or work.sampler.drive_lost.is_set():
        return
    try:
        work.hold.check_medium()
        empty_folder(folder)
        folder.rmdir()
    except (BenchError, OSError) as error:
        work.record.event(work.now, "clean-up", f"{folder.name} stays on the drive: {error}")


def do_empty(work: Work, step: Empty) -> StepOutcome:
    """Empty the run's folder on the drive and flush it, so that the copy skips no files."""
    assert work.target.folder is not None
    removals = empty_folder(work.target.folder)
    work.filesets.not_copied.clear()
    return StepOutcome(detail={"removed_files": removals.files, "removed_bytes": removals.bytes})


def settle(folder: Path) -> None:
    """Flush the filesystem before a test of the raw drive that contains it: it would write during
    the test. Best effort: the counters show such writes."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            syncfs(fd)
        finally:
            os.close(fd)
