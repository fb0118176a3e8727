"""The QA desk in the store: the slots, the labels of the next drive, the pending webhook messages.
The page and the command line both use it."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import asdict
from typing import Any

from benchstick.plan.states import SlotAction
from benchstick.store import barcode_scans, bays, known_drives, run_queries, webhook_outbox
from benchstick.store.bays import COUNTDOWN, FINISHED, STOPPED, TESTING, Slot
from benchstick.store.settings import Settings

SCHEMA = "benchstick/desk/2"
STOP, AGAIN = SlotAction
# The state of a slot while no agent runs.
UNKNOWN = "unknown"
_CAN = {COUNTDOWN: STOP, TESTING: STOP, STOPPED: AGAIN, FINISHED: AGAIN}
_MAX_SCANS = 20


def document(db: sqlite3.Connection, settings: Settings) -> dict[str, Any]:
    """The `benchstick/desk/2` document: the bench's `slots`, `ticket` has the next drive's
    labels, `scans` the last scans, `webhook` the number of pending messages and the last error."""
    outbox = webhook_outbox.list_letters(db)
    failed_row = next((row for row in outbox["letters"] if row["delivered_utc"] is None), None)
    return {
        "schema": SCHEMA,
        "agent": run_queries.agent_runs(),
        "autostart": settings.autostart_recipe,
        "slots": slots_of(db, settings),
        "scanner": barcode_scans.scanner_state(db),
        "ticket": barcode_scans.waiting(db).to_json(),
        "scans": barcode_scans.list_scans(db, _MAX_SCANS),
        "webhook": {
            "url": settings.webhook,
            "waiting": outbox["waiting"],
            "reason": None if failed_row is None else failed_row["reason"],
        },
    }


def slots_of(db: sqlite3.Connection, settings: Settings) -> list[dict[str, Any]]:
    """The slots in the order of the settings, as the agent stored them, then the tests outside the
    slots; each with the seconds left of its countdown, its current run, and the action that it
    accepts now (`action`)."""
    there = run_queries.agent_runs()
    slots = bays.list_slots(db)
    if not slots:
        slots = [{**asdict(Slot(name=name)), "utc": None} for name in settings.bench_ports]
    labels = known_drives.labels(db)
    on = {row["drive_key"]: int(row["number"]) for row in run_queries.running(db)}
    now = time.time()
    for slot in slots:
        if not there and slot["state"] != FINISHED:
            slot["state"] = UNKNOWN
        counting, testing = slot["state"] == COUNTDOWN, slot["state"] == TESTING
        # By the bench's clock: that of the visitor's computer may be another.
        slot["countdown_seconds"] = max(0, round(slot["until"] - now)) if counting else None
        slot["run"] = on.get(slot["drive_key"]) if testing else None
        slot["label"] = labels.get(slot["drive_key"])
        slot["action"] = _can(slot, settings) if there else None
    return slots


def _can(slot: dict[str, Any], settings: Settings) -> str | None:
    """The action that the slot accepts now. Only a test that starts automatically can be repeated:
    it needs a pinned recipe, and the drive must be in one of the slots."""
    action = _CAN.get(slot["state"])
    starts = bool(settings.autostart_sha256) and slot["name"] in settings.bench_ports
    return action if action == STOP or starts else None
