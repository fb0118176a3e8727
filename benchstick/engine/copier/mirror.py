"""Compares a target with a source: which files to copy, to skip and to remove."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from benchstick.engine.copier.errors import DRIVE_LOST, ENDS_COPY, file_words
from benchstick.engine.copier.report import CopyReport
from benchstick.engine.copier.tree import (
    Folder,
    Removed,
    Tree,
    TreeFile,
    join,
    list_folder,
    open_below,
    remove,
)

FAT_SLACK = 2.0
# NTFS has times in units of 100 ns; the others are exact.
USUAL_SLACK = 1e-6


def slack_for(filesystems: list[str]) -> float:
    """Seconds by which two equal times may differ on these filesystems."""
    return FAT_SLACK if any(name in ("exfat", "vfat") for name in filesystems) else USUAL_SLACK


@dataclass(slots=True)
class Job:
    """A file to copy, and its folder."""

    folder: str
    file: TreeFile


@dataclass
class Mirror:
    """The files to copy to the target, and how many there are in each folder."""

    jobs: list[Job] = field(default_factory=list)
    uses: dict[str, int] = field(default_factory=dict)


class Comparison:
    """Makes the target's folders match the source's, and lists the files to copy."""

    def __init__(
        self,
        root: int,
        report: CopyReport,
        slack: float,
        *,
        purge: bool,
        is_halted: Callable[[], bool],
    ) -> None:
        """`root` is the open target; `purge` removes extras; `is_halted` stops it early."""
        self.root, self.report = root, report
        self.purge, self.is_halted = purge, is_halted
        self.slack_ns = int(slack * 1e9)
        self.device = os.fstat(root).st_dev

    def compare(self, tree: Tree) -> Mirror:
        """Remove extras, create missing folders, and list the files to copy."""
        plan = Mirror()
        fresh: set[str] = set()
        failed_paths: set[str] = set()
        for folder in tree.folders:
            if self.is_halted():
                break
            if folder.path in failed_paths:
                failed_paths.update(join(folder.path, name) for name in folder.folders)
                self._give_up(folder)
                continue
            # A new folder is empty: no need to list it.
            is_new = folder.path in fresh
            try:
                fd = open_below(self.root, folder.path)
            except OSError as error:
                if not folder.path or error.errno in ENDS_COPY:
                    raise
                self.report.errors[folder.path] = file_words(error, "the target", of_source=False)
                failed_paths.update(join(folder.path, name) for name in folder.folders)
                self._give_up(folder)
                continue
            try:
                there = None if is_new else self._there(fd, folder)
                self._folders(fd, folder, there, fresh, failed_paths)
                self._files(folder, there, plan)
            finally:
                os.close(fd)
        return plan

    def _give_up(self, folder: Folder) -> None:
        """Count a folder that could not be created, and its files, as failed."""
        self.report.dirs.failed += 1
        self.report.files.failed += len(folder.files)
        self.report.sizes.failed += sum(file.size for file in folder.files)

    def _there(self, fd: int, folder: Folder) -> dict[str, TreeFile | None]:
        """The entries that stay in the target folder: files by name, None for folders. Removes the
        others."""
        others: dict[str, str] = {}
        listing = list_folder(fd, folder.path, others)
        wanted_files = {file.name: file for file in folder.files}
        wanted_folders = set(folder.folders)
        remaining: dict[str, TreeFile | None] = {}
        for name in [*listing.folders, *(path.rpartition("/")[2] for path in others)]:
            if name in wanted_folders and name in listing.folders:
                remaining[name] = None
            else:
                self._clear(fd, folder.path, name, clash=name in wanted_files or (
                    name in wanted_folders))  # fmt: skip
        for file in listing.files:
            source_file = wanted_files.get(file.name)
            if source_file is None:
                self._clear(fd, folder.path, file.name, clash=file.name in wanted_folders)
            elif self._same(source_file, file):
                remaining[file.name] = file
            else:
                # Create a new file, do not overwrite this one: it may be read-only, or have a hard
                # link outside of the target.
                remove(fd, file.name, self.device, Removed())
        return remaining

    def _same(self, source_file: TreeFile, target_file: TreeFile) -> bool:
        if source_file.size != target_file.size:
            return False
        return abs(source_file.mtime_ns - target_file.mtime_ns) <= self.slack_ns

    def _clear(self, fd: int, folder: str, name: str, *, clash: bool) -> None:
        """Remove an extra. `clash`: it has the name of a source entry, so remove it in any case."""
        if not self.purge and not clash:
            return
        removals = Removed()
        try:
            remove(fd, name, self.device, removals)
        except OSError as error:
            if error.errno in DRIVE_LOST:
                raise
            self.report.errors[join(folder, name)] = f"extra not removed: {error.strerror}"
        self.report.dirs.extras += removals.folders
        self.report.files.extras += removals.files
        self.report.sizes.extras += removals.bytes
        if clash:
            (self.report.dirs if removals.folders else self.report.files).mismatch += 1

    def _folders(
        self,
        fd: int,
        folder: Folder,
        there: dict[str, TreeFile | None] | None,
        fresh: set[str],
        failed_paths: set[str],
    ) -> None:
        for name in folder.folders:
            if there is not None and name in there:
                self.report.dirs.skipped += 1
                continue
            path = join(folder.path, name)
            try:
                os.mkdir(name, 0o755, dir_fd=fd)
            except OSError as error:
                if error.errno in ENDS_COPY:
                    raise
                self.report.errors[path] = file_words(error, "the target", of_source=False)
                failed_paths.add(path)
            else:
                fresh.add(path)
                self.report.dirs.copied += 1

    def _files(
        self, folder: Folder, there: dict[str, TreeFile | None] | None, plan: Mirror
    ) -> None:
        todo = [file for file in folder.files if there is None or file.name not in there]
        plan.jobs += [Job(folder.path, file) for file in todo]
        plan.uses[folder.path] = len(todo)
        same = len(folder.files) - len(todo)
        self.report.files.skipped += same
        self.report.sizes.skipped += sum(f.size for f in folder.files) - sum(f.size for f in todo)
