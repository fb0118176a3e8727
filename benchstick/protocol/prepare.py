"""What the process that starts the page does before it drops its privileges."""

from __future__ import annotations

import contextlib
from pathlib import Path

from benchstick.store import auth
from benchstick.store.database import open_writer


def make_ready(home: Path) -> None:
    """Make the store, or bring it up to date."""
    open_writer(home).close()


def replace_token(home: Path, name: str) -> str:
    """A new token for scripts, made on the bench itself; one of the same name is replaced."""
    with contextlib.closing(open_writer(home)) as db:
        return auth.new_token(db, name)
