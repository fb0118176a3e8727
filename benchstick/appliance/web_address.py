"""The page's address and PIN, published by the page's first process.

The screen shows them. Only root may read them: the PIN is for people at the bench.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from benchstick import paths


@dataclass(frozen=True)
class Page:
    """The page's process, its address and port, and its PIN as it is printed; None: no PIN."""

    pid: int
    address: str
    port: int
    pin: str | None


def _path() -> Path:
    return paths.run_folder() / "page.json"


def publish(page: Page) -> None:
    """Publish the page's address. Where it cannot be written, only the terminal shows it."""
    fresh = _path().with_suffix(".new")
    with contextlib.suppress(OSError):
        fresh.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(page), file)
        fresh.rename(_path())


def read() -> Page | None:
    """Where the page is; None when it does not run, or when the reader is not root."""
    try:
        page = Page(**json.loads(_path().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return page if Path(f"/proc/{page.pid}").exists() else None
