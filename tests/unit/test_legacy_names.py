"""Keys of documents that older programs stored: renamed by migration 018 and by imports."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchstick.reports import bundle
from benchstick.store import database, imported_runs, run_reader
from benchstick.store.legacy_names import old_keys, rename_in_text, rename_keys
from tests.data import baseline

# Keys of version 1. `index` and `step` stay where they name something else.
OLD_KEYS = frozenset({
    "why", "figures", "worse", "departs", "ends_early", "made", "asked", "told", "read back",
    "artefacts", "begun_utc", "earlier", "wanted", "by_percent", "identity_key",
})  # fmt: skip


def keys_in(value: Any) -> set[str]:
    """All keys of a JSON document."""
    if isinstance(value, dict):
        return set(value).union(*(keys_in(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(keys_in(item) for item in value))
    return set()


def old_run() -> dict[str, Any]:
    with zipfile.ZipFile(baseline.BUNDLE) as archive:
        document = json.loads(archive.read("run.json"))
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("drive", {"identity": {"key": "K"}, "wear": {"value": None, "why": "x"}, "worse": []},
         {"identity": {"drive_key": "K"}, "wear": {"value": None, "reason": "x"},
          "bottlenecks": []}),
        ("drives", {"schema": "benchstick/drives/1", "drives": [{"worse": []}]},
         {"schema": "benchstick/drives/2", "drives": [{"bottlenecks": []}]}),
        ("conditions", {"purge": {"asked": "auto", "told": "t", "read back": True}, "asked": 1},
         {"purge": {"requested_rung": "auto", "tool_output": "t", "read_back": True}, "asked": 1}),
        ("plan", {"params": {"made": "1"}, "steps": [{"made": "used"}]},
         {"params": {"made": "1"}, "steps": [{"drive_state": "used"}]}),
        ("verdict", {"after": {"asked": "eject", "done": True, "why": None}, "earlier": [],
                     "limits": [{"by": 1, "what": "w"}], "schema": "benchstick/verdict/1"},
         {"post_action": {"action": "eject", "is_done": True, "reason": None},
          "previous_attempts": [], "limits": [{"shortfall": 1, "description": "w"}],
          "schema": "benchstick/verdict/2"}),
        ("plan", {"steps": [{"kind": "skip", "why": "x"}]},
         {"steps": [{"kind": "skip", "reason": "x"}]}),
        ("finding", [{"step": 3, "differences": [{"what": "x"}]}],
         [{"step_index": 3, "differences": [{"description": "x"}]}]),
    ],
)  # fmt: skip
def test_keys_are_renamed_where_they_have_that_meaning(kind: str, old: Any, new: Any) -> None:
    assert rename_keys(kind, old) == new
    assert old_keys(kind, new) == old


def test_a_run_keeps_its_values_there_and_back() -> None:
    old = old_run()
    new = rename_keys("run", old)
    assert keys_in(old) & OLD_KEYS >= {"why", "figures", "worse", "departs", "artefacts"}
    assert not keys_in(new) & OLD_KEYS
    assert [step["step_index"] for step in new["steps"]] == list(range(len(new["steps"])))
    assert old_keys("run", new) == old


def test_what_is_no_json_stays_as_it_is() -> None:
    assert rename_in_text("drive", None) is None
    assert rename_in_text("drive", "{") == "{"


def test_a_bundle_of_version_1_keeps_its_digest(tmp_path: Path) -> None:
    """A run that was imported before the change is still recognised as the same."""
    (tmp_path / "run").mkdir()
    with (
        baseline.folders(tmp_path / "home"),
        contextlib.closing(database.open_writer(tmp_path / "home")) as db,
    ):
        data = baseline.BUNDLE.read_bytes()
        number, is_new = bundle.keep(db, tmp_path / "home", io.BytesIO(data))
        assert is_new and bundle.keep(db, tmp_path / "home", io.BytesIO(data)) == (number, False)
        origin = imported_runs.origin(db, number)
        document = run_reader.run_json(db, number)
        export_file = io.BytesIO()
        bundle.write(db, number, export_file)
        again = bundle.read(export_file)
    samples = bundle.read(io.BytesIO(data)).samples
    own = {**old_run(), "steps": [{**step, "artefacts": None} for step in old_run()["steps"]]}
    own.pop("corrupt", None)
    text = json.dumps([own, [list(row) for row in samples]], sort_keys=True)
    assert origin is not None and origin["digest"] == again.digest
    assert origin["digest"] == bundle.sha256_of(text)
    assert not keys_in(document) & OLD_KEYS


def test_a_migrated_store_has_no_old_names(tmp_path: Path) -> None:
    home = tmp_path / "home"
    baseline.make_store(home)
    with baseline.folders(home), contextlib.closing(database.open_writer(home)) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
        columns = {row[1] for name in tables for row in db.execute(f"PRAGMA table_info({name})")}
        assert not {"figures", "reference_figures", "model_sheets", "drives_seen"} & set(tables)
        assert not {"why", "idx", "said", "artefacts", "begun_utc", "identity", "place"} & columns
        for table, column in (
            ("runs", "drive_json"), ("runs", "plan_json"), ("runs", "result_json"),
            ("runs", "conditions_json"), ("steps", "detail_json"), ("results", "detail_json"),
            ("verdicts", "verdict_json"), ("imported_verdicts", "verdict_json"),
            ("requests", "body_json"),
        ):  # fmt: skip
            rows = [row[0] for row in db.execute(f"SELECT {column} FROM {table}") if row[0]]
            assert rows and not set().union(*(keys_in(json.loads(row)) for row in rows)) & OLD_KEYS


def test_a_store_that_is_only_read_is_read_as_a_migrated_copy(tmp_path: Path) -> None:
    """A page or command without the right to write shows the runs of an older store."""
    home = tmp_path / "home"
    baseline.make_store(home)
    before = (home / "store.db").read_bytes()
    with baseline.folders(home), contextlib.closing(database.open_reader(home)) as db:
        document = run_reader.run_json(db, 1)
        assert document["results"] and document["steps"][0]["step_index"] == 0
        with pytest.raises(sqlite3.Error):
            db.execute("DELETE FROM runs")
    assert (home / "store.db").read_bytes() == before
