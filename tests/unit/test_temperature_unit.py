"""Temperatures have one unit, also those of stores and bundles of older programs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchstick.reports import bundle
from benchstick.store import database, run_reader
from benchstick.store.legacy_units import with_celsius
from tests.data import baseline

OLD = {"value": 41, "unit": "C", "source": "hwmon nvme"}
NEW = {**OLD, "unit": "°C"}
# A text that only looks like the unit, and a unit of something else.
OTHERS = {"label": '"unit": "C"', "mode": {"unit": "CB"}}
CHART = {"y2": {"label": "temperature", "unit": "C"}}


def test_only_the_unit_is_changed() -> None:
    document = {"temperature": OLD, **OTHERS, "charts": [CHART], "C": "unit"}
    for separators in ((", ", ": "), (",", ":")):
        text = with_celsius(json.dumps(document, separators=separators))
        assert json.loads(text) == {
            "temperature": NEW, **OTHERS, "charts": [{"y2": {**CHART["y2"], "unit": "°C"}}],
            "C": "unit",
        }  # fmt: skip
        assert with_celsius(text) == text


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A store of an older program whose first run and first verdict have temperatures."""
    home = tmp_path / "home"
    baseline.make_store(home)
    with contextlib.closing(sqlite3.connect(home / "store.db")) as db, db:
        for table, column, path in (
            ("runs", "drive_json", "$.temperature"), ("steps", "detail_json", "$.temperature"),
            ("runs", "result_json", "$.text"), ("verdicts", "verdict_json", "$.limits"),
        ):  # fmt: skip
            db.execute(f"UPDATE {table} SET {column} = json_set({column}, ?, json(?))",
                       (path, json.dumps([OLD, OTHERS])))  # fmt: skip
    return home


def values(home: Path) -> Any:
    with contextlib.closing(database.open_reader(home)) as db:
        run = run_reader.run_json(db, 1)
        verdict = db.execute("SELECT verdict_json FROM verdicts").fetchone()[0]
    return [run["drive"]["temperature"], run["steps"][0]["detail"]["temperature"],
            run["result"]["text"], json.loads(verdict)["limits"]]  # fmt: skip


def test_a_migrated_store_has_the_unit(home: Path) -> None:
    with baseline.folders(home):
        database.open_writer(home).close()
    assert values(home) == [[NEW, OTHERS]] * 4
    with contextlib.closing(sqlite3.connect(home / "store.db")) as db:
        for table in ("runs", "steps", "verdicts"):
            dump = str(db.execute(f"SELECT * FROM {table}").fetchall())
            assert json.dumps(OLD)[1:-1] not in dump and "°C" in dump


def test_a_run_of_a_store_that_is_not_migrated_is_read_with_the_unit(home: Path) -> None:
    assert values(home) == [[NEW, OTHERS]] * 4


def repacked(path: Path, target: Path) -> bytes:
    """The saved bundle with an old temperature of the drive; its run document."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    run = json.loads(files["run.json"])
    assert run["schema"] == run_reader.OLD_RUN_SCHEMA
    run["drive"]["temperature"] = OLD
    manifest = json.loads(files["manifest.json"])
    data = files["run.json"] = json.dumps(run).encode()
    for item in manifest["files"]:
        if item["name"] == "run.json":
            item |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    files["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data


def test_a_bundle_of_an_older_program_is_imported_with_the_unit(tmp_path: Path) -> None:
    home, path = tmp_path / "home", tmp_path / "run.bundle.zip"
    document = json.loads(repacked(baseline.BUNDLE, path))
    with baseline.folders(home), contextlib.closing(database.open_writer(home)) as db:
        with path.open("rb") as file:
            number, is_new = bundle.keep(db, home, file)
        assert is_new
        assert run_reader.run_json(db, number)["drive"]["temperature"] == NEW
        with path.open("rb") as file:
            assert bundle.keep(db, home, file) == (number, False)
            imported_bundle = bundle.read(file)
    # One digest, whichever version of the program wrote the bundle.
    document["steps"] = [{**step, "artefacts": None} for step in document["steps"]]
    old = json.dumps([document, imported_bundle.samples], sort_keys=True)
    assert imported_bundle.digest == hashlib.sha256(old.encode("ascii")).hexdigest()
