"""Posts what waits in the store to the webhook of the settings, again and again until it is taken.

A thread of the agent with a connection of its own: a receiver that is down, slow or says 500 keeps
nobody else waiting. Taken is what is answered with 2xx; everything else is tried again, a redirect
too, since what is posted would be lost on the way.
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


def pause_after(tries: int) -> float:
    """Seconds to wait after so many tries in a row that failed."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tries - 1, 20))


class Postman(threading.Thread):
    """Delivers until stopped. `settings` gives those in force at each round."""

    def __init__(self, home: Path, settings: Callable[[], Settings]) -> None:
        super().__init__(name="webhook", daemon=True)
        self._home, self._settings = home, settings
        self._stop_event = threading.Event()

    def run(self) -> None:
        """Look at what waits, every two seconds; after a failure later and later."""
        failures = 0
        pause = LOOK_EVERY
        db: sqlite3.Connection | None = None
        while not self._stop_event.wait(pause):
            try:
                # Kept open: opening the store to write checks the whole of it.
                db = db or database.open_writer(self._home)
                well = deliver(db, self._settings(), self._stop_event)
            except (BenchError, sqlite3.Error):
                # The store is gone for the moment, or a setting is wrong: what waits stays.
                well = False
                if db is not None:
                    db.close()
                    db = None
            failures = 0 if well else failures + 1
            pause = pause_after(failures) if failures else LOOK_EVERY
        if db is not None:
            db.close()

    def stop(self) -> None:
        """End; waits no longer than a try in flight takes."""
        self._stop_event.set()
        if self.is_alive():
            self.join(TIMEOUT_SECONDS + 1)


def deliver(
    db: sqlite3.Connection, settings: Settings, stop: threading.Event | None = None
) -> bool:
    """Post everything that waits, the oldest first. False when the receiver did not take all.

    One that refuses a single body gets the others all the same; after three failures in a row
    the round ends.
    """
    failures = 0
    well = True
    if not settings.webhook:
        return True
    # On use: HTTP and TLS take 4 MB, on a bench without a webhook for nothing.
    from benchstick.agent.http_post import post

    for letter in webhook_outbox.waiting(db):
        if stop is not None and stop.is_set():
            break
        why = post(settings.webhook, settings.webhook_secret, letter, TIMEOUT_SECONDS)
        if why is None:
            webhook_outbox.delivered(db, letter)
            failures = 0
            continue
        webhook_outbox.failed(db, letter, why)
        well = False
        failures += 1
        if failures == 3:
            break
    return well
