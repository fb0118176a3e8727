"""`benchstick model`: spec sheets of drive models."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from benchstick.cli.common import print_json, print_line, print_table, read_file, reader
from benchstick.errors import BadInput
from benchstick.paths import data_folder
from benchstick.store import database, spec_sheets
from benchstick.suites import spec_sheets as sheets


@click.group()
def model() -> None:
    """Manage spec sheets: specifications, parts and price of a model."""


@model.command("import")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
def import_(path: Path) -> None:
    """Import a spec sheet from a TOML file; one of the same name is replaced."""
    sheet = sheets.read(read_file(path), str(path))
    with contextlib.closing(database.open_writer(data_folder())) as db:
        spec_sheets.save(db, sheet)
    print_line(f"saved {sheet.name}, for drives whose model is {sheet.model}")


@model.command("list")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/models/2 document")
def list_(as_json: bool) -> None:
    """List the spec sheets."""
    has_store = (data_folder() / database.FILE).exists()
    with reader() if has_store else contextlib.nullcontext() as db:
        rows = [] if db is None else spec_sheets.list_sheets(db)
    if as_json:
        entries = [{"id": number, **sheet.to_json()} for number, sheet in rows]
        print_json({"schema": "benchstick/models/2", "models": entries})
    elif not rows:
        print("no spec sheets yet (benchstick model import FILE)")
    else:
        print_table(
            ("id", "name", "drives' model", "claims"),
            [
                (number, sheet.name, sheet.model,
                 len(sheet.claims) + sum(getattr(sheet, key) is not None for key in sheets.PLAIN))
                for number, sheet in rows
            ],
        )  # fmt: skip


@model.command()
@click.argument("number", type=int, metavar="ID")
def remove(number: int) -> None:
    """Remove a spec sheet by the number that `list` shows."""
    if not (data_folder() / database.FILE).exists():
        raise BadInput("there are no spec sheets yet")
    with contextlib.closing(database.open_writer(data_folder())) as db:
        spec_sheets.remove(db, number)
    print_line(f"removed {number}")
