"""Every page of the sample bench: what axe-core and `make screenshots` look at."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchstick.plan import corrupt
from benchstick.plan.labels import classify
from benchstick.plan.states import QueueState, RequestState
from benchstick.qa.autostart import NOT_SEEN
from benchstick.store import (
    auth,
    barcode_scans,
    bays,
    imported_runs,
    queues,
    recipes,
    reference_results,
    spec_sheets,
)
from benchstick.store.agent_requests import add_request, answer_request
from benchstick.store.bays import Slot
from benchstick.store.database import open_writer
from benchstick.suites.reference_results import Reference
from benchstick.suites.spec_sheets import Claim, Sheet
from tests.web import made_charts, made_runs, made_verdicts, sample

# Runs of the sample bench by what they show.
RUNS = ("das", "cdm", "slow", "lost", "practice", "running", "corrupt")


def add_to(home: Path, numbers: dict[str, Any]) -> None:
    """Give the sample bench what some pages need: a request, a token, runs with charts, an import,
    a reference result, a spec sheet."""
    with contextlib.closing(open_writer(home)) as db:
        body = {"drive": "practice", "suite": "cdm", "params": {}}
        numbers["request"] = add_request(db, "run", body)
        auth.new_token(db, "nightly")
        numbers |= add_charts(home, db)
        numbers |= tell_more(home, db)
        numbers |= furnish(db)
        for text in ("OP:anna", "PO:4711", "A-1006", "A-1007"):
            barcode_scans.keep(
                db, "scanner", text, *classify(text, {"OP:": "operator", "PO:": "order"})
            )
        barcode_scans.say_scanner(db, "scanner Honeywell 1900 (0c2e:0b61)")
        rests = made_verdicts.add_runs(home, db)
        numbers["corrupt"] = add_corrupt(home, db)
        sample.give_times(db, numbers["story"].t)
        judgements = made_verdicts.add(db, numbers, rests)
        numbers |= _of_kinds(judgements)
        bays.keep(db, some_slots(judgements))
        recipes.save(db, "own", OWN_RECIPE)
        numbers["queue"] = add_queue(db, numbers)
        numbers["stopped"] = add_queue(db, {"das": numbers["lost"], "running": None})
        queues.end(db, numbers["stopped"], QueueState.STOPPED, queues.NO_AGENT)


def add_corrupt(home: Path, db: sqlite3.Connection) -> int:
    """A run whose data is corrupt in two passes: its number."""
    story = sample.start(home, db, "das", sample.fast(), fs="exfat", scale=0.05)
    story.tell()
    names = [f"DCIM/100BENCH/IMG_{at:05d}.JPG" for at in (12, 13, 871)]
    for pass_no, files in ((2, names[:1]), (3, names)):
        name = f"Home, pass {pass_no}, compare"
        count = "1 file differs" if len(files) == 1 else f"{len(files)} files differ"
        what = "differs from there"
        text = f"data differ: {count}, the first: {files[0]} at byte 1048576: {what}"
        step = next(at for at, one in enumerate(story.plan.steps) if one.name == name)
        finding = corrupt.finding(
            step_index=step, name=name, text=text, set_name="Home", pass_no=pass_no,
            files=len(files),
            differences=[{"path": path, "offset": 1 << 20, "description": what} for path in files],
        )  # fmt: skip
        story.record.data_differs(story.t, finding)
    return story.finish()


def add_charts(home: Path, db: sqlite3.Connection) -> dict[str, int]:
    """A run of each suite with charts on the fast drive and one on the slow drive, as short as is
    enough to show what it finds; and an erase. Their numbers."""
    numbers = {}
    for suite, fast, slow in (
        ("consistency", {"span": "4"}, {"span": "4"}),
        ("sweep", {}, {}),
        ("sustained", {}, {"span": "8%"}),
    ):
        work: made_runs.Work = getattr(made_charts, suite)
        numbers[suite] = made_runs.add_run(home, db, suite, fast, work)
        numbers[f"{suite}-slow"] = made_runs.add_run(home, db, suite, slow, work, sample.slow())
    numbers["erase"] = made_runs.add_run(
        home, db, "erase", {"rung": "overwrite"}, made_charts.erase
    )
    return numbers


OWN_RECIPE = """time_limit = "5 min"
allow_erase = true
[match]
transport = "usb-uas"
[[suite]]
name = "erase"
[[limit]]
change = "media_errors"
op = "<="
value = 0
"""


def add_verdicts(home: Path, db: sqlite3.Connection, numbers: Mapping[str, Any]) -> dict[str, int]:
    """Verdicts on the sample bench's runs: the number of the last of each kind."""
    judgements = made_verdicts.add(db, numbers, made_verdicts.add_runs(home, db))
    return _of_kinds(judgements)


def _of_kinds(judgements: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {f"verdict-{item['verdict']}": item["number"] for item in judgements}


def some_slots(judgements: Sequence[Mapping[str, Any]] = ()) -> list[Slot]:
    """A slot in each state that it may be in; the first three with the last verdict of each kind
    among those that are `made`."""
    drives: dict[str, dict[str, Any]] = {
        name: {"drive_key": drive.identity.key(), "code": drive.code,
               "model": drive.identity.model}
        for name, drive in (("fast", sample.fast()), ("slow", sample.slow()),
                            ("seagate", made_verdicts.SEAGATE))
    }  # fmt: skip
    last = {item["verdict"]: item for item in judgements}
    slots = []
    for place, word in enumerate(("pass", "fail", "inconclusive"), 1):
        slot = Slot(name=f"slot {place}", state=bays.FINISHED, verdict=word, **drives["slow"])
        if word in last:
            of = last[word]["drive"]
            slot = replace(slot, drive_key=of["drive_key"], code=of["code"], model=of["model"],
                           verdict=last[word]["number"], message=last[word]["reason"])  # fmt: skip
        slots.append(slot)
    return [
        *slots,
        # Long enough for every picture of it.
        Slot(name="slot 4", state=bays.COUNTDOWN, until=time.time() + 600, **drives["seagate"]),
        Slot(name="slot 5", state=bays.TESTING, **drives["fast"]),
        Slot(name="slot 6", state=bays.STOPPED, **drives["slow"]),
        Slot(name="slot 7", state=bays.HERE, message=NOT_SEEN, **drives["slow"]),
        Slot(name="slot 8"),
    ]


def tell_more(home: Path, db: sqlite3.Connection) -> dict[str, int]:
    """Runs of suites whose pages have tables and scores of their own."""
    wishes: dict[str, dict[str, Any]] = {
        "atto": {"fs": "exfat", "params": {"from": "4KiB", "to": "1MiB", "length": "64MiB"}},
        "asssd": {"fs": "exfat", "params": {"parts": "benchmark,compression", "time": "1"}},
        "pts": {"params": {"test": "throughput", "time": "1", "rounds": "6", "amount": "1GiB"}},
    }  # fmt: skip
    numbers = {}
    for suite, wish in wishes.items():
        story = sample.start(home, db, suite, sample.fast(), **wish)
        story.tell()
        numbers[suite] = story.finish()
    return numbers


def add_queue(db: sqlite3.Connection, numbers: Mapping[str, Any]) -> int:
    """A queue on the fast drive: one run is done, one is running, two wait. Its number."""
    drive = sample.fast().to_json()
    runs = [
        {"suite": "das", "scale": 0.05}, {"suite": "das", "params": {"passes": "1"}, "scale": 0.1},
        {"suite": "cdm", "params": {"preset": "nvme"}, "fs": "exfat"}, {"suite": "sustained"},
    ]  # fmt: skip
    body = {"drive": drive["code"], "drive_key": drive["identity"]["drive_key"],
            "diskseq": drive["diskseq"], "erase": drive["code"], "runs": runs}  # fmt: skip
    number = add_request(db, "run", body)
    queues.begin(db, number, body["drive_key"], len(runs))
    for place, name in enumerate(("das", "running")):
        if numbers[name] is not None:
            queues.entry_starts(db, number, place)
            queues.entry_runs(db, number, place, numbers[name])
    answer_request(db, number, RequestState.ACCEPTED, run=numbers["das"])
    return number


def furnish(db: sqlite3.Connection) -> dict[str, int]:
    """A refused import, a reference result and a spec sheet: their ids."""
    upload = imported_runs.add_upload(db, b"x")
    imported_runs.answer_upload(db, upload, None, "bundle: it is no bundle")
    reference_results.add(
        db,
        [Reference("Crucial X9 Pro", "cdm", "SEQ1M Q8T1 read", 1060, "MB/s", "its maker's page")],
    )
    spec_sheets.save(
        db,
        Sheet(
            model="*", name="Any drive", seq_read_mbps=1050, rand_write_iops=80_000,
            raw_nand=1 << 40, nand="TLC", warranty_years=5, price=89.9, currency="EUR",
            price_date="2026-01-31", source="its maker's page",
            claims=(Claim("das", "Photos write", 900, "MB/s"),),
        ),
    )  # fmt: skip
    reference = reference_results.list_references(db)[-1]["id"]
    return {"imported": upload, "remove_reference": reference,
            "remove_model": spec_sheets.list_sheets(db)[-1][0]}  # fmt: skip


def paths(numbers: Mapping[str, Any]) -> dict[str, str]:
    """The address of each page by a name that can be a file's."""
    suites = ("consistency", "sweep", "sustained", "atto", "asssd", "pts", "erase")
    runs = [*RUNS, *(name for name in suites if name in numbers)]
    return {
        "drives": "/drives",
        "drive": "/drives/port:1-4:0",
        "drive-protected": "/drives/S4EWNX0R654321B",
        "runs": "/runs",
        "runs-none": "/runs?before=1",
        "start-drive": "/runs/new",
        "start-locked": "/runs/new?drive=S6PUNX0T312345A&suite=das",
        "start-wrong": "/runs/new?drive=practice&suite=cdm&p.passes=99",
        "start-queue": "/runs/new?drive=practice&suite=cdm&q=suite%3Dcdm%26p.profile%3Dpeak"
        "&q=suite%3Ddas%26scale%3D0.05%26p.passes%3D1&q=suite%3Dsustained%26p.block%3D128k",
        "queue": f"/queues/{numbers['queue']}",
        "queue-stopped": f"/queues/{numbers['stopped']}",
        "request": f"/requests/{numbers['request']}",
        "methods": "/methods",
        "charts": "/methods/charts",
        "glossary": "/methods/glossary",
        "suite": "/suites/cdm",
        "comparisons": "/comparisons?suite=cdm",
        "comparisons-none": "/comparisons?suite=consistency&kind=practice",
        "compare": f"/compare?runs={numbers['cdm']},{numbers['slow']}",
        "compare-charts": f"/compare?runs={numbers['sweep']},{numbers['sweep-slow']}",
        "compare-seconds": f"/compare?runs={numbers['consistency-slow']},{numbers['consistency']}",
        "compare-one": f"/compare?runs={numbers['sustained']}",
        "references": "/references",
        "models": "/models",
        "model": f"/models?edit={numbers['remove_model']}",
        "import": f"/imports/{numbers['imported']}",
        "licences": "/licences",
        "desk": "/desk",
        "verdicts": "/verdicts",
        "verdicts-none": "/verdicts?before=1",
        **{
            name: f"/verdicts/{numbers[name]}"
            for name in ("verdict-pass", "verdict-fail", "verdict-inconclusive")
        },
        "recipes": "/recipes",
        "recipe-test-drive": "/desk/new",
        "recipe-test": "/desk/new?drive=port:1-4:0&recipe=full-review",
        "recipe": "/recipes/own",
        "tokens": "/settings/tokens",
        "login": "/login",
        "not-here": "/runs/999999",
        **{f"run-{name}": f"/runs/{numbers[name]}" for name in runs},
    }
