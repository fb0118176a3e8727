"""Commands that print what the store has, with every free text in it as bad as can be."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.plan.states import SlotState
from benchstick.store import barcode_scans, bays, database, verdicts
from benchstick.store.bays import Slot
from tests.unit.test_plain import EVIL, OBEYED
from tests.unit.test_recipe_outputs import verdicts as made_verdicts
from tests.web import sample

# SQLite takes no half of a pair, JSON in it does.
TEXT = EVIL.replace("\udc9b", "")
# Texts of which a program makes something; everything else comes from a drive or a person.
FIXED = {"state", "kind", "schema", "suite", "uuid", "unit", "target", "source", "name", "step",
         "better", "fs", "transport", "format", "type", "verdict"}  # fmt: skip


def spoiled(value: Any, name: str = "") -> Any:
    """The document with each free text made evil."""
    if isinstance(value, dict):
        return {key: spoiled(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [spoiled(item, name) for item in value]
    free = isinstance(value, str) and name not in FIXED and not name.endswith("utc")
    return f"{value}{EVIL}\nx" if free else value


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("evil")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSTICK_HOME", str(folder / "home"))
        patch.setenv("BENCHSTICK_RUN", str(folder / "run"))
        numbers = sample.full_bench(folder / "home")
        with contextlib.closing(database.open_writer(folder / "home")) as db:
            for item in made_verdicts():
                runs = [{**run, "number": 2} for run in item["runs"][:1]]
                verdicts.keep(db, {**item, "runs": runs})
            barcode_scans.keep(db, "page", TEXT, "asset", TEXT)
            bays.keep(
                db, [Slot(name=TEXT, state=SlotState.HERE, code=TEXT, model=TEXT, message=TEXT)]
            )
            with db:
                spoil(db)
        yield folder / "home"
        numbers["lock"].release()


def spoil(db: sqlite3.Connection) -> None:
    db.execute("UPDATE runs SET drive_model = ?, drive_code = ?, reason = ?", (TEXT,) * 3)
    db.execute("UPDATE events SET text = ?", (TEXT,))
    db.execute("UPDATE results SET reason = ?", (TEXT,))
    for table, key, column in (("runs", "number", "drive_json"), ("runs", "number", "plan_json"),
                               ("runs", "number", "conditions_json"),
                               ("runs", "number", "result_json"),
                               ("verdicts", "number", "verdict_json")):  # fmt: skip
        for row in db.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
            if not row[1]:
                continue
            text = json.dumps(spoiled(json.loads(row[1])))
            if table == "verdicts":
                # The list takes the model out of the JSON by SQL.
                text = text.replace("\\udc9b", "")
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (text, row[0]))


COMMANDS = (
    ["runs"], ["runs", "--json"], ["runs", "--practice"], ["show", "2"], ["show", "2", "--json"],
    ["show", "5"], ["verdict", "list"], ["verdict", "list", "--json"], ["verdict", "show", "1"],
    *(["verdict", "show", "1", "--format", form] for form in ("json", "csv", "junit", "events")),
    *(["export", "2", "--format", form] for form in ("json", "csv", "html")),
    ["desk", "show"], ["desk", "show", "--json"], ["compare", "2", "3"], ["purges"],
    ["verdict", "of", "2"], ["compare", "3", "4"], ["compare", "3", "4", "--format", "csv"],
)  # fmt: skip


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_no_command_prints_a_control_character(
    home: Path, argv: list[str], capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("BENCHSTICK_HOME", str(home))
    monkeypatch.setenv("BENCHSTICK_RUN", str(home.parent / "run"))
    code = cli.invoke(argv)
    out, err = capfd.readouterr()
    assert code in (0, 2), err
    for text in (out.replace("\r\n", "\n"), err):
        match = OBEYED.search(text)
        assert match is None, text[max(0, match.start() - 60) : match.end() + 20]
    if "--json" in argv or argv[-1] == "json":
        json.loads(out)


def test_the_errors_of_a_tool_are_plain(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder whose name is no Unicode is shown with its bytes."""
    odd = tmp_path / os.fsdecode(b"a\x1b[2J\xff")
    monkeypatch.setenv("BENCHSTICK_HOME", str(odd))
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    odd.write_text("a file, no folder")
    assert cli.invoke(["show", "1"]) in (2, 6)
    err = capfd.readouterr().err
    assert "a\\u001b[2J\\udcff" in err
    assert not OBEYED.search(err)
