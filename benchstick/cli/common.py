"""What several commands share."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from benchstick.appliance import state
from benchstick.engine import interrupted_sanitize
from benchstick.errors import BadInput
from benchstick.paths import data_folder
from benchstick.plan.plain import one_line
from benchstick.plan.tabular_input import MOST_BYTES
from benchstick.store import database


def print_json(document: Any) -> None:
    """The document alone on stdout."""
    # In one piece: `PlainStream` looks through each piece that is written.
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def need_root(what: str) -> None:
    """BadInput when not root; the message states what to do."""
    if os.geteuid() != 0:
        raise BadInput(f"{what} needs root: run it with sudo")


def tell_notices() -> None:
    """Print the notices of the booted stick on stderr; nothing on a host."""
    for notice in state.notices():
        print_line(f"benchstick: {notice}", file=sys.stderr)


def tell_unfinished() -> None:
    """Print unfinished purges on stderr, with what to do."""
    for purge in interrupted_sanitize.at_home(data_folder()):
        print_line(f"benchstick: {purge.describe()}", file=sys.stderr)


@contextlib.contextmanager
def reader() -> Iterator[sqlite3.Connection]:
    """The store to read."""
    with contextlib.closing(database.open_reader(data_folder())) as db:
        yield db


def print_line(text: str, *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print one line, whatever is in its text."""
    print(one_line(text), file=file, flush=flush)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns padded to their widest cell; numbers as the caller wrote them."""
    lines = [list(columns), *[[one_line(cell) for cell in row] for row in rows]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())


def read_file(path: Path) -> bytes:
    """The content of a file that the user named, up to a little more than the largest allowed.
    BadInput when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}", field="file") from None
