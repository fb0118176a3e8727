"""The signals that end a run: Ctrl-C, a closed terminal, the agent's SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def cancel_on_signals() -> Iterator[threading.Event]:
    """An event that SIGINT, SIGTERM and SIGHUP set. Restores their handlers at the end."""
    event = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        event.set()

    before: dict[signal.Signals, Any] = {}
    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before[which] = signal.signal(which, note)
    try:
        yield event
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
