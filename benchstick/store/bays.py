"""The bench's slots: what is plugged into each, and what becomes of it. Written by the agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.store.database import has_table, transaction, utc_now

# What a slot may be. `here`: a drive that is not tested by itself, `said` tells why.
EMPTY, HERE, COUNTDOWN, STOPPED, TESTING, DONE = STATES = (
    "empty", "here", "countdown", "stopped", "testing", "done",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One slot as the page and the screen show it.

    `drive_key`, `code` and `model` are of the drive in it, or of the one that was tested last.
    `until` is when its countdown ends, in seconds since 1970. `verdict` is the number of the
    verdict, `word` pass, fail or inconclusive, `said` a sentence on whatever it is.
    """

    name: str
    state: str = EMPTY
    drive_key: str | None = None
    code: str | None = None
    model: str | None = None
    until: float | None = None
    verdict: int | None = None
    word: str | None = None
    said: str | None = None


def keep(db: sqlite3.Connection, slots: Collection[Slot]) -> None:
    """These are the slots now; others are forgotten."""
    with transaction(db):
        db.execute("DELETE FROM slots")
        db.executemany(
            "INSERT INTO slots (place, name, state, drive_key, code, model, until, verdict, word,"
            " said, utc) VALUES (:place, :name, :state, :drive_key, :code, :model, :until,"
            " :verdict, :word, :said, :utc)",
            [
                {**asdict(slot), "place": place, "utc": utc_now()}
                for place, slot in enumerate(slots)
            ],
        )


def list_slots(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The slots in the order of the settings, with `utc`, when the bench said so."""
    if not has_table(db, "slots"):
        return []
    rows = db.execute(
        "SELECT name, state, drive_key, code, model, until, verdict, word, said, utc FROM slots"
        " ORDER BY place"
    )
    return [dict(row) for row in rows]
