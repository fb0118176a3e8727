"""The raw output of each step: command, output, exit code, and the tool's record.

`runs/<uuid>/NN-step/{command,stdout,stderr,exit,fio.json}`, at most 64 MiB per step. The rest is
truncated; a line in the file shows this.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchstick import paths
from benchstick.engine.retention import FLOOR
from benchstick.errors import BadInput, StoreFailed

LIMIT = 64 << 20


class StepFolder:
    """The folder of a step. It is in `staging` until `keep`; None: in its final place.

    On the booted stick it is in RAM during the step, so that nothing is lost when the stick is
    pulled out, and the stick is not written while a drive is measured.
    """

    def __init__(
        self, home: Path, uuid: str, index: int, name: str, staging: Path | None = None
    ) -> None:
        slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:48]
        self.relative = f"runs/{uuid}/{index:02d}-{slug}"
        self.place = home / self.relative
        self.path = self.place if staging is None else staging / self.relative
        self._free_bytes = LIMIT

    def make(self) -> None:
        """Create the folder. StoreFailed when it cannot be created."""
        _make(self.path)

    def keep(self) -> None:
        """Move the folder to its final place. StoreFailed when this fails."""
        if self.path == self.place:
            return
        _make(self.place)
        try:
            for path in self.path.iterdir():
                # Only the content: mode and group are those of the new folder.
                shutil.copyfile(path, self.place / path.name)
            shutil.rmtree(self.path)
        except OSError as error:
            raise StoreFailed(f"{self.place}: {error.strerror}") from None

    def command(self, argv: Sequence[str]) -> None:
        """Append an exact command, quoted for a shell."""
        self._append("command", shlex.join(argv) + "\n")

    def output(self, stdout: bytes, stderr: bytes, exit_code: int) -> None:
        """Append a tool's output and exit code."""
        self._append("stdout", stdout.decode("utf-8", "replace"))
        self._append("stderr", stderr.decode("utf-8", "replace"))
        self._append("exit", f"{exit_code}\n")

    def document(self, name: str, data: Any) -> None:
        """Write `data` as JSON, if there is room for it."""
        self._append(name, json.dumps(data, indent=1) + "\n")

    def text(self, name: str, text: str) -> None:
        """Append plain text."""
        self._append(name, text)

    def bound(self) -> str | None:
        """Truncate the tools' own files to the limit. Returns a note, or None."""
        total = 0
        note = None
        for path in sorted(self.path.iterdir(), key=lambda item: item.stat().st_size):
            size = path.stat().st_size
            room = max(0, LIMIT - total)
            if size > room:
                os.truncate(path, room)
                note = f"{path.name} was cut from {size} to {room} bytes"
            total += min(size, room)
        return note

    def _append(self, name: str, text: str) -> None:
        data = text.encode("utf-8")
        if len(data) > self._free_bytes:
            data = data[: max(0, self._free_bytes)] + b"\n[cut: 64 MiB a step]\n"
        self._free_bytes -= len(data)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(self.path / name, flags, 0o640)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
        except OSError as error:
            raise StoreFailed(f"{self.path / name}: {error.strerror}") from None


def _make(folder: Path) -> None:
    # From the top: the page's user may write to the data folder, and could put a link there.
    for path in (folder.parent.parent, folder.parent, folder):
        paths.make_folder(path, 0o2750, for_group=True)


def check_room(home: Path, floor: int = FLOOR) -> None:
    """BadInput when the filesystem of the data folder has less than `floor` bytes free."""
    stats = os.statvfs(home)
    free = stats.f_bavail * stats.f_frsize
    if free < floor:
        raise BadInput(
            f"{home}: {free >> 20} MiB free, {floor >> 20} MiB are kept for results; "
            "make room there or choose another BENCHSTICK_HOME"
        )
