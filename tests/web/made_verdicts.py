"""Verdicts of a shop's bench, each of a recipe and a run of the sample bench. Tests only."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchstick.drives.types import Drive, Identity
from benchstick.recipes.codes import Reason
from benchstick.recipes.limits import Evidence
from benchstick.recipes.model import Recipe
from benchstick.recipes.parser import read
from benchstick.recipes.verdict import Attempt, judge
from benchstick.store import verdicts
from benchstick.store.run_reader import run_json
from tests.web import sample

Json = dict[str, Any]

INCOMING = """[[suite]]
name = "cdm"
[[limit]]
figure = "SEQ1M Q8T1 read"
op = ">="
value = 400
[[limit]]
figure = "SEQ1M Q8T1 write"
op = ">="
value = 300
[[limit]]
fact = "transport"
op = "=="
value = ["usb-uas", "nvme"]
"""
# Has a limit on a value that the sample bench's drives do not report.
RETURNED = INCOMING + '[[limit]]\nchange = "media_errors"\nop = "<="\nvalue = 0\n'


def _drive(serial: str, model: str, capacity: int, port: str) -> Drive:
    """Like the fast drive, but another one."""
    identity = Identity(serial, model, None, None, capacity, port, 0)
    return replace(sample.fast(), code=serial, identity=identity)


SAMSUNG = _drive("S6WJNS0T401122", "Samsung PSSD T7", 10**12, "2-2")
KINGSTON = _drive("50026B7785A1C9E4", "Kingston XS2000", 2 * 10**12, "2-3")
LEXAR = _drive("NK5214R000317P", "Lexar SL500", 10**12, "2-4")
SEAGATE = _drive("NTC01RQZ", "Seagate Ultra Compact SSD", 500 * 10**9, "2-5")


def add_runs(home: Path, db: sqlite3.Connection) -> dict[str, int]:
    """The numbers of finished runs that only verdicts use."""
    numbers = {}
    for name, drive, steps, end in (
        ("kingston", KINGSTON, 5, ("failed", 4, f"{KINGSTON.identity.model} ({KINGSTON.code}): "
                                                "the drive went away in the middle of the test")),
        ("lexar", LEXAR, 4, ("cancelled", 130, "cancelled")),
        ("seagate", SEAGATE, 4, ("cancelled", 130, "cancelled")),
        ("samsung", SAMSUNG, None, ("done", 0, None)),
    ):  # fmt: skip
        story = sample.start(home, db, "cdm", drive, fs="exfat",
                             params={"time": "1", "passes": "1"})  # fmt: skip
        story.tell(steps)
        numbers[name] = story.finish(*end)
    return numbers


def add(db: sqlite3.Connection, numbers: Mapping[str, Any], runs: Mapping[str, int]) -> list[Json]:
    """Verdicts of each kind, of most reasons, on the sample bench's runs and those of `add_runs`;
    two at most on a run. Their documents with their `number`, the oldest first."""
    incoming = read(INCOMING.encode(), "incoming-usb-ssd.toml")
    returned_drives = read(RETURNED.encode(), "returned-drives.toml")

    def judged(
        drive: Drive, run: int, recipe: Recipe = incoming, *, has_started: bool = True, **more: Any
    ) -> Json:
        """As of the run; not `begun`: at the moment before it."""
        document = run_json(db, run)
        attempt = Attempt(
            evidence=Evidence(drive=drive.to_json(), runs=[document] if has_started else []),
            seconds=document["seconds"] if has_started else 0.0,
            started_utc=document["created_utc"],
            ended_utc=document["ended_utc" if has_started else "created_utc"],
            **more,
        )
        return judge(recipe, attempt)

    fast, slow = sample.fast(), sample.slow()
    slow_reason = Reason("stopped-slow", "3 MB/s for 10 s")
    let_go = {"action": "eject", "is_done": True, "reason": None}
    first = judged(LEXAR, runs["lexar"])
    judgements = [
        {**judged(fast, numbers["cdm"], slot="slot 1"), "post_action": let_go},
        judged(slow, numbers["slow"], slot="slot 2"),
        judged(fast, numbers["cdm"], returned_drives),
        judged(slow, numbers["slow"], returned_drives),
        judged(KINGSTON, runs["kingston"], slot="slot 3"),
        judged(LEXAR, runs["lexar"], earlier=[first]),
        # A wrong label was scanned and no test started; then the right one was scanned.
        judged(SEAGATE, runs["seagate"], has_started=False, scanned="NTC01RQ2"),
        judged(SEAGATE, runs["seagate"], stopped=slow_reason),
        judged(SAMSUNG, runs["samsung"], slot="slot 1",
               labels={"asset": "A-17", "operator": "Ann Bé"}),
    ]  # fmt: skip
    return [{**item, "number": verdicts.keep(db, item)} for item in judgements]
