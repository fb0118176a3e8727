"""The bench's slots: the drive in each and the state of its test. Only the agent writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.plan.drive_key import DriveKey
from benchstick.plan.states import SlotState
from benchstick.store.database import transaction, utc_now

EMPTY, HERE, COUNTDOWN, STOPPED, TESTING, FINISHED = SlotState


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One slot as the page and the screen show it.

    `drive_key`, `code` and `model` are of the drive in it, or of the one that was tested last.
    `until` is when its countdown ends, in seconds since 1970. `verdict_number` is the number of
    the verdict, `verdict` pass, fail or inconclusive, `message` the message to show.
    """

    name: str
    state: SlotState = EMPTY
    drive_key: DriveKey | None = None
    code: str | None = None
    model: str | None = None
    until: float | None = None
    verdict_number: int | None = None
    verdict: str | None = None
    message: str | None = None


def keep(db: sqlite3.Connection, slots: Collection[Slot]) -> None:
    """Replace the stored slots by these."""
    with transaction(db):
        db.execute("DELETE FROM slots")
        db.executemany(
            "INSERT INTO slots (position, name, state, drive_key, code, model, until,"
            " verdict_number, verdict,"
            " message, utc) VALUES (:position, :name, :state, :drive_key, :code, :model, :until,"
            " :verdict_number, :verdict, :message, :utc)",
            [
                {**asdict(slot), "position": position, "utc": utc_now()}
                for position, slot in enumerate(slots)
            ],
        )


def list_slots(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The slots in the order of the settings, with `utc`, when each was stored."""
    rows = db.execute(
        "SELECT name, state, drive_key, code, model, until, verdict_number, verdict, message,"
        " utc FROM slots"
        " ORDER BY position"
    )
    return [dict(row) for row in rows]
