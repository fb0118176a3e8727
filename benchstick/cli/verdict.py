"""`benchstick verdict`: what recipes said of drives."""

from __future__ import annotations

import contextlib

import click

from benchstick.cli.common import print_json, print_table, reader
from benchstick.recipes import outputs
from benchstick.store import database, verdicts
from benchstick.store.home import data_folder
from benchstick.store.records import storable

FORMATS = ("text", "json", "csv", "junit", "events")


@click.group()
def verdict() -> None:
    """What recipes said of drives."""


@verdict.command("list")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/verdicts/1 document")
def list_(as_json: bool) -> None:
    """List the last verdicts, newest first."""
    known = (data_folder() / database.FILE).exists()
    with reader() if known else contextlib.nullcontext() as db:
        found = [] if db is None else verdicts.listed(db)
    if as_json:
        print_json({"schema": "benchstick/verdicts/1", "verdicts": found})
    elif not found:
        print("no verdicts yet (benchstick qa RECIPE)")
    else:
        print_table(
            ("number", "drive", "recipe", "verdict", "ended", "why"),
            [
                (item["number"], item["drive_code"], item["recipe"], item["verdict"].upper(),
                 item["ended_utc"], storable(item["why"]) or "")
                for item in found
            ],
        )  # fmt: skip


@verdict.command()
@click.argument("number", type=int, metavar="N")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
def show(number: int, form: str) -> None:
    """Print a verdict, for people or for another program."""
    with reader() as db:
        found = verdicts.find(db, number)
    if form == "json":
        print_json(found)
    elif form == "csv":
        print(outputs.csv_text([found]), end="")
    elif form == "junit":
        print(outputs.junit([found]), end="")
    elif form == "events":
        print("\n".join(outputs.event_lines(found)))
    else:
        print("\n".join(storable(line) or "" for line in outputs.text_lines(found)))
