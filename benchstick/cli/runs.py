"""`benchstick runs` and `benchstick show N`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from benchstick.cli.common import print_json, print_line, print_table, reader, tell_notices
from benchstick.drives import bottlenecks
from benchstick.paths import data_folder
from benchstick.plan.states import Validity
from benchstick.plan.units import duration_text
from benchstick.store import database, run_reader


@click.command()
@click.option("--json", "as_json", is_flag=True, help="the benchstick/runs/2 document")
@click.option("--practice", is_flag=True, help="those on the practice drive instead")
def runs(as_json: bool, practice: bool) -> None:
    """List the runs, newest first. Runs on the practice drive are listed apart."""
    tell_notices()
    rows = _list_runs(practice)
    if as_json:
        print_json({"schema": "benchstick/runs/2", "runs": rows})
        return
    if not rows:
        print("no runs yet" + ("" if practice else " on real drives (benchstick runs --practice)"))
        return
    print_table(
        ("run", "suite", "drive", "state", "began", "took"),
        [
            (
                item["number"],
                item["suite"],
                f"{item['model']} ({item['drive']})",
                item["state"],
                item["created_utc"][:16].replace("T", " "),
                "-" if item["seconds"] is None else duration_text(item["seconds"]),
            )
            for item in rows
        ],
    )


def _list_runs(practice: bool) -> list[dict[str, Any]]:
    """One entry per run, the newest first; none where there is no store yet."""
    if not (data_folder() / database.FILE).exists():
        return []
    with reader() as db:
        return [
            {
                "number": row["number"],
                "uuid": row["uuid"],
                "suite": row["suite"],
                "practice": bool(row["practice"]),
                "drive": row["drive_code"],
                "model": row["drive_model"],
                "state": run_reader.shown_state(db, row),
                "exit_code": row["exit_code"],
                "reason": row["reason"],
                "created_utc": row["created_utc"],
                "seconds": row["seconds"],
            }
            for row in run_reader.list_runs(db, practice=practice)
        ]


@click.command()
@click.argument("number", type=int, metavar="N")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/run/2 document")
def show(number: int, as_json: bool) -> None:
    """Show run N: its result, test conditions and events."""
    with reader() as db:
        document = run_reader.run_json(db, number)
    bottlenecks.put_into(document["drive"])
    if as_json:
        print_json(document)
    else:
        print_run(document)


def print_run(document: Mapping[str, Any]) -> None:
    """A run as text: the suite's own report, verdicts, temperatures, events."""
    drive = document["drive"]
    conditions = document["conditions"]
    print_line(
        f"run {document['number']} · {document['suite']} · {drive['identity']['model']} "
        f"({drive['code']}) · {conditions.get('target', 'target not known')} · {document['state']}"
    )
    if conditions.get("state"):
        print_line(f"state of the drive: {conditions['state']}")
    for finding in document.get("corrupt") or ():
        print_line(f"DATA CORRUPT: {finding['name']}: {finding['text']}")
        for one in finding["differences"][1:]:
            where = "" if one["offset"] is None else f" at byte {one['offset']}"
            print_line(f"  {one['path']}{where}: {one['description']}")
    if document["practice"]:
        print("practice drive: these results say nothing about a real one")
    result = document["result"] or {}
    if result.get("text"):
        print(f"\n{result['text']}\n")
    for verdict in result.get("verdicts", ()):
        print_line(f"{verdict['name']}: {verdict['state']} ({verdict['text']})")
    _print_invalid(document)
    _print_temperatures(document["temperatures"])
    for event in document["events"]:
        print_line(f"event: {event['kind']}: {event['text']}")
    for note in document["plan"]["notes"]:
        print_line(f"note: {note}")
    if document["reason"]:
        print_line(f"reason: {document['reason']}")


def _print_invalid(document: Mapping[str, Any]) -> None:
    reasons = set()
    for result in document["results"]:
        if (
            result["state"] == Validity.VALID
            or result["pass"] is None
            or result["reason"] in reasons
        ):
            continue
        reasons.add(result["reason"])
        print_line(
            f"{result['state']}: {result['name']}, pass {result['pass']}: {result['reason']}"
        )


def _print_temperatures(temperatures: list[Mapping[str, Any]]) -> None:
    values = [item["celsius"] for item in temperatures if item["celsius"] is not None]
    if values:
        text = " ".join(f"{value:.0f}" for value in values)
        print_line(f"temperature in the idle intervals, °C: {text}")
    elif temperatures:
        print_line(f"temperature: {temperatures[0]['reason']}")
