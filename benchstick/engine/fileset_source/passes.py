"""The source of a set during the passes: it is created, written, read back and compared.

The three kinds differ in the read-back (see `fileset_source.ram_disk`): `ram` fills the tmpfs
again; `generated` and `drive` discard the data of the measured read and compare it in a second
read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchstick.engine.copier.copy import copy_tree, read_back
from benchstick.engine.copier.report import CopyReport
from benchstick.engine.fileset_source.ram_disk import (
    Difference,
    DriveSource,
    GeneratedSource,
    RamSource,
    read_tree,
)
from benchstick.errors import BadInput
from benchstick.plan.fileset import FileSet


@dataclass(frozen=True)
class Options:
    """Options of a copy: threads, bytes per block; `cancel` and `progress` as in `copy_tree`."""

    threads: int
    block: int
    cancel: threading.Event
    progress: Callable[[int], None]


class Cycle(Protocol):
    """The source of a set during the passes. `rate` is its own speed in bytes per second, None for
    RAM, which does not limit the result; `note` is a sentence for the run's events."""

    rate: float | None
    note: str | None

    def write(self, folder: Path, options: Options) -> CopyReport:
        """Copy the set to the drive. Measured."""

    def make_room(self) -> None:
        """Prepare the read-back. Not measured."""

    def read(self, folder: Path, options: Options) -> CopyReport:
        """Read the set back from the drive. Measured."""

    def compare(self, folder: Path, cancel: threading.Event) -> Sequence[Difference]:
        """The differences between the data read and the data written. Not measured."""

    def renew(self, cancel: threading.Event) -> None:
        """Create the source again, after a difference."""

    def close(self) -> None:
        """Free its resources."""


def open_cycle(
    kind: str, files: FileSet, place: Path, *, folder: Path | None, cancel: threading.Event
) -> Cycle:
    """The source `kind` (ram, generated, drive) of `files`. A tmpfs is mounted at `place`; `folder`
    is the user's tree. BadInput when the source is not available; Cancelled."""
    if kind == "generated":
        return _Generated(files)
    if kind == "drive":
        if folder is None:
            raise BadInput("source: drive needs a folder of your own", field="source")
        return _OtherDrive(_read_again(folder, files, cancel))
    return _Ram(files, place, folder, cancel)


def _read_again(folder: Path, files: FileSet, cancel: threading.Event) -> DriveSource:
    """The user's tree with its hashes; BadInput when it differs from the plan."""
    tree = read_tree(folder, cancel=cancel)
    if tree.fileset.files != files.files:
        raise BadInput(
            f"{folder} changed since the plan was made: choose a tree that does not change",
            field="set",
        )
    return tree


class _Ram:
    rate: float | None = None

    def __init__(
        self, files: FileSet, place: Path, folder: Path | None, cancel: threading.Event
    ) -> None:
        origin = None if folder is None else DriveSource(folder, files, {}, {})
        self._source = RamSource(place, files, origin=origin)
        self.note = self._source.swappable
        try:
            self._source.build(cancel=cancel)
        except BaseException:
            self._source.close()
            raise

    def write(self, folder: Path, options: Options) -> CopyReport:
        return _copy(self._source, folder, options)

    def make_room(self) -> None:
        self._source.delete_tree()

    def read(self, folder: Path, options: Options) -> CopyReport:
        return copy_tree(
            folder,
            self._source.tree,
            threads=options.threads,
            block=options.block,
            cancel=options.cancel,
            progress=options.progress,
        )

    def compare(self, folder: Path, cancel: threading.Event) -> Sequence[Difference]:
        return self._source.check(cancel=cancel)

    def renew(self, cancel: threading.Event) -> None:
        self._source.rebuild(cancel=cancel)

    def close(self) -> None:
        self._source.close()


class _Streamed:
    """Common to `generated` and `drive`: there is no room for the read-back."""

    note: str | None = None
    rate: float | None = None

    def __init__(self, source: GeneratedSource | DriveSource) -> None:
        self._source = source

    def write(self, folder: Path, options: Options) -> CopyReport:
        return _copy(self._source, folder, options)

    def make_room(self) -> None:
        """Nothing to free."""

    def read(self, folder: Path, options: Options) -> CopyReport:
        return read_back(
            folder,
            threads=options.threads,
            block=options.block,
            cancel=options.cancel,
            progress=options.progress,
        )

    def compare(self, folder: Path, cancel: threading.Event) -> Sequence[Difference]:
        return self._source.verify(folder, cancel=cancel)

    def renew(self, cancel: threading.Event) -> None:
        """The read-back did not change the source."""

    def close(self) -> None:
        """Nothing to free."""


class _Generated(_Streamed):
    def __init__(self, files: FileSet) -> None:
        source = GeneratedSource(files)
        super().__init__(source)
        self.rate = source.measure_rate()


class _OtherDrive(_Streamed):
    """A folder on another drive, whose speed is not known: see the note."""

    note: str | None = "the source is a folder on another drive, which can be the slower one"


def _copy(
    source: RamSource | GeneratedSource | DriveSource, folder: Path, options: Options
) -> CopyReport:
    return copy_tree(
        source,
        folder,
        threads=options.threads,
        block=options.block,
        cancel=options.cancel,
        progress=options.progress,
    )
