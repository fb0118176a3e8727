"""Reads a store as a user sees it, as rows `(item, name, value)`, to compare it with a saved table.

The table `values.tsv` has four columns: the item (`run 1`, `table labels`), the name of a value
when the table was saved, its name today (empty: the same), and the value as JSON. A change that
renames a value fills in the third column (`make_baseline.py rename OLD NEW`) and never the fourth.

A name is the path of the value in the document: `figures[3].value`. A list of plain values is one
value. Samples are many: the table has how many there are, and the sum of each column.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from benchstick import cli
from benchstick.store import database, queues, settings

FOLDER = Path(__file__).parent / "store-v1"
TABLE = FOLDER / "values.tsv"
STORE = FOLDER / "store.sql"
BUNDLE = FOLDER / "run.bundle.zip"
CSV_COLUMNS = (
    "run", "suite", "drive", "model", "target", "step", "name", "pass", "value", "unit", "state",
    "why", "drive_state",
)  # fmt: skip
# Columns and tables that have another name today.
NEW_CSV_COLUMNS = {"why": "reason"}
NEW_TABLES = {"desk": "scanner_status"}
SETTINGS = FOLDER / "benchstick.toml"
COLUMNS = ("item", "old name", "new name", "value")
# Tables that no document shows as a whole. Here the columns themselves are the names.
TABLES = (
    "meta", "host_settings", "requests", "answers", "tokens", "labels", "purges", "uploads",
    "upload_answers", "imports", "scans", "desk", "slots", "recipes", "outbox", "queues",
    "queue_entries", "verdict_runs", "imported_verdicts", "imported_verdict_runs",
)  # fmt: skip
# The version of a document changes with its names. Nothing else is left out.
LEFT_OUT = ("schema",)
Values = dict[tuple[str, str], str]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    item: str
    old: str
    new: str
    value: str

    @property
    def key(self) -> tuple[str, str]:
        return self.item, self.new or self.old


def read_table() -> list[Row]:
    """The saved table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tuple(next(lines)) != COLUMNS:
            raise ValueError(f"{TABLE}: the columns are not {COLUMNS}")
        return [Row(*line) for line in lines]


def write_table(rows: list[Row]) -> None:
    """Save the table. JSON has no tabs and no line ends of its own, so nothing is quoted."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        for line in (COLUMNS, *((row.item, row.old, row.new, row.value) for row in rows)):
            file.write("\t".join(line) + "\n")


def make_store(home: Path) -> None:
    """Make the data folder `home` with the saved store and settings in it."""
    home.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(home / "store.db")) as db:
        db.executescript(STORE.read_text(encoding="utf-8"))
    (home / "benchstick.toml").write_bytes(SETTINGS.read_bytes())


def store_values(home: Path) -> Values:
    """Every value of the store in `home`, as the program of today reads it."""
    command = Command(home)
    values: Values = {}
    # A process that writes migrates the store.
    with folders(home):
        database.open_writer(home).close()
    with contextlib.closing(sqlite3.connect(home / "store.db")) as db:
        db.row_factory = sqlite3.Row
        runs = [int(row[0]) for row in db.execute("SELECT number FROM runs ORDER BY number")]
        verdicts = [int(row[0]) for row in db.execute("SELECT number FROM verdicts ORDER BY 1")]
        lists = [int(row[0]) for row in db.execute("SELECT number FROM queues ORDER BY number")]
        for table in TABLES:
            rows = db.execute(f"SELECT * FROM {NEW_TABLES.get(table, table)}").fetchall()
            values |= flatten(f"table {table}", [_row(row) for row in rows])
    for number in runs:
        values |= run_values(home, number)
    for number in verdicts:
        document = command.json("verdict", "show", str(number), "--format", "json")
        values |= flatten(f"verdict {number}", document)
    for number in lists:
        values |= flatten(f"queue {number}", _queue(home, number))
    values |= flatten("verdicts", command.json("verdict", "list", "--json"))
    values |= flatten("models", command.json("model", "list", "--json"))
    values |= flatten("references", command.json("reference", "list", "--json"))
    return values | settings_values(home)


def run_values(home: Path, number: int, item: str = "") -> Values:
    """Every value of one run: its document, and its results as CSV."""
    command = Command(home)
    item = item or f"run {number}"
    document = command.json("export", str(number), "--format", "json")
    # Verdicts are items of their own.
    verdicts = document.pop("verdicts")
    samples = document.pop("samples")
    document["samples"] = {"count": len(samples), "verdicts": len(verdicts)}
    for name in samples[0] if samples else ():
        document["samples"][name] = sum(sample[name] or 0 for sample in samples)
    header, *rows = csv.reader(io.StringIO(command.text("export", str(number), "--format", "csv")))
    # A later version may add columns; each column of the baseline must still be there.
    columns = [header.index(NEW_CSV_COLUMNS.get(name, name)) for name in CSV_COLUMNS]
    lines = [list(CSV_COLUMNS), *([row[column] for column in columns] for row in rows)]
    return flatten(item, document) | flatten(f"{item} as CSV", {"lines": lines})


def bundle_values(home: Path) -> Values:
    """Every value of the saved bundle, imported into the empty store in `home`."""
    command = Command(home)
    command.text("import", str(BUNDLE))
    values = run_values(home, 1, "bundle")
    values |= flatten("bundle verdicts", command.json("verdict", "of", "1", "--json"))
    # The time of the import is no value of the bundle.
    return {key: value for key, value in values.items() if not key[1].endswith("imported_utc")}


def settings_values(home: Path) -> Values:
    """The settings in force by the settings file in `home`."""
    config = settings.read((home / "benchstick.toml").read_text(encoding="utf-8"), "settings")
    return flatten("settings", dataclasses.asdict(config))


@contextlib.contextmanager
def folders(home: Path) -> Iterator[None]:
    """Use the data folder `home`, and a run folder beside it."""
    names = {"BENCHSTICK_HOME": str(home), "BENCHSTICK_RUN": str(home.parent / "run")}
    with mock.patch.dict(os.environ, names):
        yield


class Command:
    """The command `benchstick` with a data folder of its own, in this process: it starts faster."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def text(self, *words: str) -> str:
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
        with folders(self._home), contextlib.redirect_stdout(output):
            code = cli.invoke(list(words))
        if code:
            raise RuntimeError(f"benchstick {' '.join(words)}: exit code {code}")
        output.flush()
        output.seek(0)
        return output.read()

    def json(self, *words: str) -> Any:
        return json.loads(self.text(*words))


def flatten(item: str, document: Any) -> Values:
    """The values of a document by item and path."""
    return {(item, path): value for path, value in _paths("", document)}


def _paths(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            if name not in LEFT_OUT:
                yield from _paths(f"{path}.{name}" if path else str(name), part)
    elif isinstance(value, list | tuple) and any(
        isinstance(part, Mapping | list | tuple) for part in value
    ):
        for at, part in enumerate(value):
            yield from _paths(f"{path}[{at}]", part)
    else:
        yield path, json.dumps(value, ensure_ascii=True)


def _row(row: sqlite3.Row) -> dict[str, Any]:
    """A table's row; columns in JSON are unfolded."""
    return {
        name: json.loads(row[name]) if name.endswith("_json") and row[name] else row[name]
        for name in row.keys()  # noqa: SIM118 - no mapping
    }


def _queue(home: Path, number: int) -> Any:
    with folders(home), contextlib.closing(database.open_reader(home)) as db:
        return queues.document(db, number)
