"""Every page of the sample bench: what axe-core and `make screenshots` look at."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchstick.store import access, imports, models, references
from benchstick.store.database import open_writer
from benchstick.store.records import add_request
from benchstick.suites.models import Claim, Sheet
from benchstick.suites.references import Reference
from tests.web import made_charts

# Runs of the sample bench by what they show.
RUNS = ("das", "cdm", "slow", "lost", "practice", "running")


def add_to(home: Path, numbers: dict[str, Any]) -> None:
    """Give the sample bench what some pages need: a request, a token, runs with charts, an import,
    a reference figure, a model sheet."""
    with contextlib.closing(open_writer(home)) as db:
        body = {"drive": "practice", "suite": "cdm", "params": {}}
        numbers["request"] = add_request(db, "run", body)
        access.new_token(db, "nightly")
        for suite in ("consistency", "sweep", "sustained"):
            numbers[suite] = made_charts.kept(
                home, db, suite, {}, getattr(made_charts, suite)
            )
        numbers |= furnish(db)


def furnish(db: sqlite3.Connection) -> dict[str, int]:
    """An import that was refused, a reference figure and a model sheet: their ids."""
    upload = imports.add_upload(db, b"x")
    imports.answer_upload(db, upload, None, "bundle: it is no bundle")
    references.add(
        db,
        [Reference("Crucial X9 Pro", "cdm", "SEQ1M Q8T1 read", 1060, "MB/s", "its maker's page")],
    )
    models.save(
        db,
        Sheet(
            model="*", name="Any drive", seq_read_mbps=1050, rand_write_iops=80_000,
            raw_nand=1 << 40, nand="TLC", warranty_years=5, price=89.9, currency="EUR",
            price_date="2026-01-31", source="its maker's page",
            claims=(Claim("das", "Photos write", 900, "MB/s"),),
        ),
    )  # fmt: skip
    reference = references.listed(db)[-1]["id"]
    return {"imported": upload, "remove_reference": reference,
            "remove_model": models.listed(db)[-1][0]}  # fmt: skip


def paths(numbers: Mapping[str, Any]) -> dict[str, str]:
    """The address of each page by a name that can be a file's."""
    runs = [*RUNS, *(name for name in ("consistency", "sweep", "sustained") if name in numbers)]
    return {
        "drives": "/drives",
        "drive": "/drives/port:1-4:0",
        "drive-protected": "/drives/S4EWNX0R654321B",
        "runs": "/runs",
        "runs-none": "/runs?before=1",
        "start-drive": "/runs/new",
        "start-locked": "/runs/new?drive=S6PUNX0T312345A&suite=das",
        "start-wrong": "/runs/new?drive=practice&suite=cdm&p.passes=99",
        "request": f"/requests/{numbers['request']}",
        "methods": "/methods",
        "charts": "/methods/charts",
        "glossary": "/methods/glossary",
        "suite": "/suites/cdm",
        "compare": f"/compare?runs={numbers['cdm']},{numbers['slow']}",
        "compare-charts": f"/compare?runs={numbers['sustained']}",
        "references": "/references",
        "models": "/models",
        "model": f"/models?edit={numbers['remove_model']}",
        "import": f"/imports/{numbers['imported']}",
        "licences": "/licences",
        "tokens": "/settings/tokens",
        "login": "/login",
        "not-here": "/runs/999999",
        **{f"run-{name}": f"/runs/{numbers[name]}" for name in runs},
    }
