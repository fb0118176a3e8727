"""Cells of tests/data/store-v1 are damaged one by one: commands end with one clear line, and one
damaged row hides no other."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_STORE
from benchstick.store import database
from tests.data.baseline import FOLDER

VALUES = ('{"steps": [', "[]", "7", "", "null", b"\xff\xfe")
# Commands on run {run} and verdict {verdict}.
COMMANDS = (
    "show {run}", "show {run} --json", "export {run} --format json", "export {run} --format csv",
    "export {run} --format html", "export {run} --format bundle --output {folder}/run.zip",
    "compare {run} 2", "verdict show {verdict}", "verdict of {run}", "model list", "desk show",
    "purges", "reference list",
)  # fmt: skip
LISTS = ("runs --practice", "runs --json --practice", "verdict list", "verdict list --json")
COLUMNS = (
    ("runs", "plan_json"), ("runs", "drive_json"), ("runs", "conditions_json"),
    ("runs", "result_json"), ("runs", "corrupt_json"), ("runs", "state"), ("runs", "reason"),
    ("runs", "drive_model"), ("steps", "detail_json"), ("steps", "state"),
    ("results", "detail_json"), ("results", "state"), ("results", "metric"),
    ("results", "statistic"), ("results", "name"), ("verdicts", "verdict_json"),
    ("verdicts", "verdict"), ("events", "text"), ("requests", "body_json"),
    ("answers", "answer_json"), ("spec_sheets", "sheet_json"),
    ("reference_results", "result"), ("labels", "label"), ("meta", "value"),
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder with the saved store, migrated."""
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "home").mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(folder / "home" / database.FILE)) as db:
        db.executescript((FOLDER / "store.sql").read_text(encoding="utf-8"))
    database.open_writer(folder / "home").close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSTICK_HOME", str(folder / "home"))
        patch.setenv("BENCHSTICK_RUN", str(folder / "run"))
        yield folder / "home"


@contextlib.contextmanager
def cell(home: Path, table: str, column: str, value: str | bytes) -> Iterator[dict[str, Any]]:
    """The row whose `column` has `value` for as long as this lasts."""
    with contextlib.closing(sqlite3.connect(home / database.FILE, isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.row_factory = sqlite3.Row
        row = db.execute(
            f"SELECT rowid AS id, * FROM {table} ORDER BY {column} IS NULL, rowid LIMIT 1"
        ).fetchone()
        if row is None:
            pytest.fail(f"{table}: the saved store has no row of it")
        update = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?"
        db.execute(update, (value, row["id"]))
        try:
            yield dict(row)
        finally:
            db.execute(update, (row[column], row["id"]))


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_damaged_cell_ends_no_command_with_an_internal_error(
    home: Path, capsys: pytest.CaptureFixture[str], table: str, column: str
) -> None:
    for value in VALUES if column.endswith("_json") else ("dune", b"\xff\xfe"):
        with cell(home, table, column, value) as row:
            run = row["number"] if table == "runs" else row.get("run") or 1
            verdict = row["number"] if table == "verdicts" else 1
            for command in COMMANDS:
                argv = command.format(run=run, verdict=verdict, folder=home).split()
                code = cli.invoke(argv)
                message = capsys.readouterr().err
                assert code in (EXIT_DONE, EXIT_BAD_INPUT, EXIT_STORE), (value, argv, message)
                assert "Traceback" not in message
                if code == EXIT_STORE:
                    assert "damaged in the store (see: benchstick store check)" in message
            for command in LISTS:
                assert cli.invoke(command.split()) == EXIT_DONE, (value, command)
                assert str(run if "runs" in command else verdict) in capsys.readouterr().out


def test_what_can_still_be_read_of_a_damaged_run_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cell(home, "runs", "plan_json", '{"steps": [') as row:
        assert cli.invoke(["show", str(row["number"])]) == EXIT_STORE
        output = capsys.readouterr()
        assert row["drive_model"] in output.out and " MB/s" in output.out
        assert output.err == (
            f"benchstick: run {row['number']}: its plan: damaged in the store"
            " (see: benchstick store check)\n"
        )
        assert cli.invoke(["show", str(row["number"]), "--json"]) == EXIT_STORE
        document = json.loads(capsys.readouterr().out)
        assert document["schema"] == "benchstick/damaged-run/1"
        assert document["uuid"] == row["uuid"] and len(document["results"]) > 1
        assert cli.invoke(["store", "check"]) == EXIT_STORE
        problems = capsys.readouterr().out
        assert f"runs number {row['number']} plan_json: its JSON cannot be read" in problems
    assert cli.invoke(["store", "check"]) == EXIT_DONE


def test_a_run_without_a_state_is_called_damaged(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cell(home, "runs", "state", "dune") as row:
        assert cli.invoke(["runs", "--practice", "--json"]) == EXIT_DONE
        runs = json.loads(capsys.readouterr().out)["runs"]
        assert {run["number"]: run["state"] for run in runs}[row["number"]] == "damaged"


def test_a_damaged_store_is_recovered_from_the_command_line(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["store", "recover", "--output", str(tmp_path / "new.db")]) == EXIT_DONE
    assert "runs " in capsys.readouterr().out
    with (
        contextlib.closing(sqlite3.connect(home / database.FILE)) as db,
        contextlib.closing(sqlite3.connect(tmp_path / "new.db")) as new,
    ):
        every = "SELECT number, uuid, state FROM runs ORDER BY number"
        assert new.execute(every).fetchall() == db.execute(every).fetchall() != []
    argv = ["store", "recover", "--output", str(tmp_path / "new.db")]
    assert cli.invoke(argv) == EXIT_BAD_INPUT
    assert "exists; choose another file" in capsys.readouterr().err
