"""`benchstick verdict`: the verdicts of tests with recipes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import click

from benchstick.cli.common import print_json, print_line, print_table, reader
from benchstick.paths import data_folder
from benchstick.plan.plain import one_line, storable
from benchstick.recipes import event_lines, outputs
from benchstick.recipes.verdict import FAIL, INCONCLUSIVE, PASS
from benchstick.store import database, run_reader, verdicts

FORMATS = ("text", "json", "csv", "junit", "events")


@click.group()
def verdict() -> None:
    """Show and export test verdicts."""


@verdict.command("list")
@click.option("--verdict", "word", type=click.Choice([PASS, FAIL, INCONCLUSIVE]), help="only these")
@click.option(
    "--before",
    type=click.IntRange(1, 1 << 62),
    metavar="N",
    default=1 << 62,
    help="those with a lower number",
)
@click.option("--json", "as_json", is_flag=True, help="the benchstick/verdicts/2 document")
def list_(word: str | None, before: int, as_json: bool) -> None:
    """List the last verdicts, newest first."""
    has_store = (data_folder() / database.FILE).exists()
    with reader() if has_store else contextlib.nullcontext() as db:
        rows = [] if db is None else verdicts.list_verdicts(db, word=word, before=before)
    if as_json:
        print_json({"schema": "benchstick/verdicts/2", "verdicts": rows})
    elif not rows:
        print("no verdicts yet (benchstick qa RECIPE)")
    else:
        print_table(
            ("number", "drive", "model", "asset", "recipe", "verdict", "ended", "reason"),
            [
                (item["number"], item["drive_code"], storable(item["drive_model"]) or "",
                 storable(item["asset"]) or "", item["recipe"], item["verdict"].upper(),
                 item["ended_utc"], storable(item["reason"]) or "")
                for item in rows
            ],
        )  # fmt: skip


@verdict.command()
@click.argument("number", type=int, metavar="N")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
def show(number: int, form: str) -> None:
    """Print a verdict, for people or for another program."""
    with reader() as db:
        document = verdicts.find(db, number)
    _print(document, form)


@verdict.command("of")
@click.argument("run", type=int, metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/verdicts-of-run/2 document")
def of(run: int, as_json: bool) -> None:
    """Print the verdicts that use run RUN; for an imported run those in its bundle, with the
    numbers of the bench that tested the drive."""
    with reader() as db:
        run_reader.find_run(db, run)
        documents = verdicts.all_of_run(db, run)
    if as_json:
        print_json({"schema": "benchstick/verdicts-of-run/2", "verdicts": documents})
    elif not documents:
        print_line(f"no verdict uses run {run}")
    for item in documents if not as_json else ():
        origin = item.get("imported")
        at = f" of bench {origin['bench']}" if origin else ""
        print_line(f"verdict {origin['number'] if origin else item['number']}{at}:")
        _print(item, "text")


def _print(document: Mapping[str, Any], form: str) -> None:
    if form == "json":
        print_json(document)
    elif form == "csv":
        print(outputs.csv_text([document]), end="")
    elif form == "junit":
        print(outputs.junit([document]), end="")
    elif form == "events":
        print("\n".join(event_lines.event_lines(document)))
    else:
        print("\n".join(one_line(line) for line in outputs.text_lines(document)))
