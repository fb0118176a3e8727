"""Posts the messages that wait in the store to the webhook until the receiver accepts them.

It is a thread of the agent with a connection of its own, so that a receiver that is down, slow or
answers 500 delays nothing else. An answer 2xx means accepted. Every other answer is retried, a
redirect too: following it would lose the body.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from benchstick.errors import BenchError
from benchstick.store import database, webhook_outbox
from benchstick.store.settings import Settings

TIMEOUT_SECONDS = 10.0
LOOK_EVERY = 2.0
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0


def pause_after(attempts: int) -> float:
    """Seconds to wait after this number of failures in a row."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempts - 1, 20))


class Postman(threading.Thread):
    """Delivers messages until stopped. Each round uses the current settings."""

    def __init__(self, home: Path, settings: Callable[[], Settings]) -> None:
        super().__init__(name="webhook", daemon=True)
        self._home, self._settings = home, settings
        self._stop_event = threading.Event()

    def run(self) -> None:
        """Deliver every two seconds; after failures at growing intervals."""
        failures = 0
        pause = LOOK_EVERY
        db: sqlite3.Connection | None = None
        while not self._stop_event.wait(pause):
            try:
                # Keep it open: opening the store to write checks the whole store.
                db = db or database.open_writer(self._home)
                well = deliver(db, self._settings(), self._stop_event)
            except (BenchError, sqlite3.Error):
                # The store is not available, or a setting is wrong: the messages stay.
                well = False
                if db is not None:
                    db.close()
                    db = None
            failures = 0 if well else failures + 1
            pause = pause_after(failures) if failures else LOOK_EVERY
        if db is not None:
            db.close()

    def stop(self) -> None:
        """End, at the latest after the current attempt."""
        self._stop_event.set()
        if self.is_alive():
            self.join(TIMEOUT_SECONDS + 1)


def deliver(
    db: sqlite3.Connection, settings: Settings, stop: threading.Event | None = None
) -> bool:
    """Post all messages that wait, the oldest first. False when the receiver did not accept all.

    When the receiver refuses a message it still gets the next ones; after three failures in a row
    the round ends.
    """
    failures = 0
    well = True
    if not settings.webhook:
        return True
    # Imported here to save the 4 MB of HTTP and TLS on a bench without a webhook.
    from benchstick.agent.http_post import post

    for letter in webhook_outbox.waiting(db):
        if stop is not None and stop.is_set():
            break
        reason = post(settings.webhook, settings.webhook_secret, letter, TIMEOUT_SECONDS)
        if reason is None:
            webhook_outbox.delivered(db, letter)
            failures = 0
            continue
        webhook_outbox.failed(db, letter, reason)
        well = False
        failures += 1
        if failures == 3:
            break
    return well
