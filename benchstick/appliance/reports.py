"""Puts a report of every run that ended, and every verdict, on the stick's FAT partition, where any
PC can read it.

The agent writes them while no run is on: the stick is not used while a drive is timed.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchstick.appliance import state, stick
from benchstick.appliance.boot import boot_folder, is_mounted
from benchstick.appliance.stick import Machine
from benchstick.errors import BadInput, BenchError
from benchstick.plan.labels import verdict_file_name
from benchstick.plan.states import RunState
from benchstick.store import export, run_queries, run_reader, verdicts

# Left free for settings, recipes, and the next system.
_FLOOR_BYTES = 16 << 20
# The answer to its request reports why a run did not start.
_NOT_REPORTED = frozenset({RunState.RUNNING, RunState.REFUSED})


# Builds a text from a run's document, samples included, and the UUID of the bench.
MakeReport = Callable[[Mapping[str, Any], str], str]
# Builds a text from a verdict's document.
MakeVerdict = Callable[[Mapping[str, Any]], str]


class Reports:
    """Writes missing reports. `write_new` is called repeatedly.

    `more` builds further files from a run's document and the bench's UUID, by file extension;
    `verdicts` those of a verdict in addition to its JSON.
    """

    def __init__(
        self,
        machine: Machine | None = None,
        more: Mapping[str, MakeReport] | None = None,
        verdicts: Mapping[str, MakeVerdict] | None = None,
    ) -> None:
        self.machine = machine or Machine()
        self.more = dict(more or {})
        self.verdicts = dict(verdicts or {})
        self._reported_ids: set[str] = set()
        self._version = -1

    def write_new(self, db: sqlite3.Connection) -> None:
        """Write the reports of runs that ended, on a booted stick; nothing while a run is on."""
        record = state.read()
        if record is None or record["stick"] is None or record["reason"] == state.PULLED:
            return
        # Other processes write runs; as long as none wrote, there is nothing to do.
        version = int(db.execute("PRAGMA data_version").fetchone()[0])
        if version == self._version:
            return
        rows = [
            row
            for row in run_queries.last_runs(db)
            if row["uuid"] not in self._reported_ids
            and row["state"] not in _NOT_REPORTED
            and not row["practice"]
        ]
        verdict_rows = [
            row for row in verdicts.list_verdicts(db) if _verdict_id(row) not in self._reported_ids
        ]
        if (rows or verdict_rows) and (run_queries.running(db) or not is_mounted(boot_folder())):
            return
        self._version = version
        folder = boot_folder() / "reports"
        for row in reversed(rows):
            self._reported_ids.add(row["uuid"])
            if not (folder / _name(row, "json")).exists():
                self._write(db, row, folder)
        for one in reversed(verdict_rows):
            self._reported_ids.add(_verdict_id(one))
            self._write_verdict(verdicts.find(db, one["number"]), folder)

    def _write_verdict(self, verdict: Mapping[str, Any], folder: Path) -> None:
        # Numbers restart with a fresh store; the time of its end keeps the name unique.
        name = f"{verdict_file_name(verdict)}-{re.sub(r'[^0-9]', '', verdict['ended_utc'])[:14]}"
        practice = verdict["drive"]["transport"] == "virtual"
        if practice or (folder / f"{name}.json").exists():
            return
        texts = {
            **{end: make(verdict) for end, make in self.verdicts.items()},
            "json": json.dumps(verdict, indent=1, ensure_ascii=False) + "\n",
        }
        self._put({f"{name}.{end}": text for end, text in texts.items()}, folder,
                  f"Verdict {verdict['number']}")  # fmt: skip

    def _write(self, db: sqlite3.Connection, row: sqlite3.Row, folder: Path) -> None:
        document = export.bundle(db, row["number"])
        bench = run_queries.bench_id(db)
        # The JSON last: a run with a JSON file has all of them.
        texts = {
            "csv": export.results_csv(document, run_reader.results_of(db, row["number"])),
            **dict(self._further(document, bench)),
            "json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        }
        self._put({_name(row, end): text for end, text in texts.items()}, folder,
                  f"Run {row['number']}")  # fmt: skip

    def _put(self, files: Mapping[str, str], folder: Path, what: str) -> None:
        """Write these files, in order; a notice reports what cannot be written."""
        try:
            _check_room(sum(len(text.encode()) for text in files.values()))
            with stick.writing(self.machine, boot_folder()):
                for name, text in files.items():
                    stick.replace_file(folder / name, text)
        except (BenchError, OSError) as error:
            reason = error.message if isinstance(error, BenchError) else str(error.strerror)
            _tell(f"{what} has no report on the stick: {reason}.")

    def _further(self, document: Mapping[str, Any], bench: str) -> Iterator[tuple[str, str]]:
        for end, make in self.more.items():
            try:
                yield end, make(document, bench)
            except Exception as error:  # noqa: BLE001 - an odd run keeps its JSON and CSV
                text = f"run {document['number']}: no {end} report: {error!r}"
                print(f"benchstick agent: {text}", file=sys.stderr)


def _name(row: sqlite3.Row, end: str) -> str:
    """Numbers restart with a fresh store; the run's own id keeps the name unique."""
    return f"run-{row['number']}-{str(row['uuid'])[:8]}.{end}"


def _verdict_id(row: Mapping[str, Any]) -> str:
    return f"verdict {row['number']} {row['ended_utc']}"


def _check_room(size: int) -> None:
    free = os.statvfs(boot_folder())
    if free.f_bavail * free.f_frsize < size + _FLOOR_BYTES:
        raise BadInput("its first partition is full; move old reports away")


def _tell(text: str) -> None:
    """Add a notice; of its kind only the last one stays."""
    record: dict[str, Any] | None = state.read()
    if record is not None:
        notes = [note for note in record.get("notes", []) if "has no report" not in note]
        state.write({**record, "notes": [*notes, text]})
