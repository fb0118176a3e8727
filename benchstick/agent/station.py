"""The agent's desk: it takes barcode scans and sends webhook messages, in two threads.

A scan comes from the scanner or from the page's field. It is stored and waits for a drive. It never
confirms, stops or starts anything.
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
    """Open from the agent's start to its end. SettingsError when the settings have an error."""

    def __init__(self, home: Path) -> None:
        self.settings = settings_file.load(settings_path())
        self._came: queue.SimpleQueue[Scan] = queue.SimpleQueue()
        self._scanner: Scanner | None = None
        self._can_read = is_installed()
        self._last_status: str | None = None
        self._postman = Postman(home, lambda: self.settings)

    def open(self) -> None:
        """Start to read the scanner, when the settings name one, and to send messages."""
        if self.settings.scanner and self._can_read:
            settings = self.settings
            self._scanner = Scanner(settings.scanner, settings.scanner_layout, self._came.put)
            self._scanner.start()
        self._postman.start()

    def close(self) -> None:
        """Release the scanner, and stop sending."""
        if self._scanner is not None:
            self._scanner.stop()
        self._postman.stop()

    def tick(self, db: sqlite3.Connection) -> None:
        """Store the new scans and the scanner's state."""
        while not self._came.empty():
            self._keep(db, "scanner", self._came.get().text)
        status = "" if self._can_read else NEEDS_EXTRA
        if self._scanner is not None:
            status = self._scanner.state
        if status != self._last_status:
            barcode_scans.say_scanner(db, status)
            self._last_status = status

    def handle_request(self, db: sqlite3.Connection, body: Mapping[str, Any]) -> None:
        """Handle a request of the page: `{"text": T}` is a scan, `{"drop": true}` discards the
        scans that wait. BadInput."""
        if body.get("drop") is True:
            barcode_scans.drop(db)
            return
        self._keep(db, "page", scan_text(body.get("text")))

    def _keep(self, db: sqlite3.Connection, source: str, text: str) -> None:
        kind, value = classify(text, self.settings.scan_prefixes)
        barcode_scans.keep(db, source, text[:MOST_SCANNED], kind, value[:MOST_CHARACTERS])
