"""The agent's desk: scans come in here, what is told to others goes out. Two threads of its own.

A scan, of the scanner or typed into the page's field, is kept in the store and waits for a drive.
It never confirms, stops or starts anything.
"""

from __future__ import annotations

import queue
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchstick.agent.barcode.keymaps import MOST_CHARACTERS as MOST_SCANNED
from benchstick.agent.barcode.scanner import NEEDS_EXTRA, Scan, Scanner, is_installed
from benchstick.agent.webhook import Postman
from benchstick.paths import settings_file as settings_path
from benchstick.plan.labels import MOST_CHARACTERS, classify, scan_text
from benchstick.store import barcode_scans
from benchstick.store import settings as settings_file


class Desk:
    """Open from the agent's start to its end. SettingsError when the settings have a mistake."""

    def __init__(self, home: Path) -> None:
        self.settings = settings_file.load(settings_path())
        self._came: queue.SimpleQueue[Scan] = queue.SimpleQueue()
        self._scanner: Scanner | None = None
        self._can_read = is_installed()
        self._said: str | None = None
        self._postman = Postman(home, lambda: self.settings)

    def open(self) -> None:
        """Take the scanner, where the settings name one, and begin to deliver."""
        if self.settings.scanner and self._can_read:
            settings = self.settings
            self._scanner = Scanner(settings.scanner, settings.scanner_layout, self._came.put)
            self._scanner.start()
        self._postman.start()

    def close(self) -> None:
        """Let go of the scanner."""
        if self._scanner is not None:
            self._scanner.stop()
        self._postman.stop()

    def tick(self, db: sqlite3.Connection) -> None:
        """Keep what was scanned since the last time, and what is to be said of the scanner."""
        while not self._came.empty():
            self._keep(db, "scanner", self._came.get().text)
        status = "" if self._can_read else NEEDS_EXTRA
        if self._scanner is not None:
            status = self._scanner.state
        if status != self._said:
            barcode_scans.say_scanner(db, status)
            self._said = status

    def asked(self, db: sqlite3.Connection, body: Mapping[str, Any]) -> None:
        """Carry out a request of the page: `{"text": T}` is a scan, `{"drop": true}` forgets those
        that wait. BadInput."""
        if body.get("drop") is True:
            barcode_scans.drop(db)
            return
        self._keep(db, "page", scan_text(body.get("text")))

    def _keep(self, db: sqlite3.Connection, source: str, text: str) -> None:
        kind, value = classify(text, self.settings.scan_prefixes)
        barcode_scans.keep(db, source, text[:MOST_SCANNED], kind, value[:MOST_CHARACTERS])
