"""`benchstick reference`: results measured elsewhere or published."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from benchstick.cli.common import print_json, print_line, print_table, read_file, reader
from benchstick.errors import BadInput
from benchstick.paths import data_folder
from benchstick.store import database, reference_results
from benchstick.suites import reference_results as files


@click.group()
def reference() -> None:
    """Manage results measured elsewhere or published, shown in comparisons."""


@reference.command("import")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
def import_(path: Path) -> None:
    """Import results from a TOML or CSV file: drive, suite, `result`, value, unit, source."""
    results = files.read(read_file(path), str(path))
    with contextlib.closing(database.open_writer(data_folder())) as db:
        count = reference_results.add(db, results)
    print_line(f"{count} reference result{'' if count == 1 else 's'} saved from {path}")


@reference.command("list")
@click.option("--suite", metavar="NAME", help="of this suite only")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/references/2 document")
def list_(suite: str | None, as_json: bool) -> None:
    """List the reference results with their numbers and sources."""
    has_store = (data_folder() / database.FILE).exists()
    with reader() if has_store else contextlib.nullcontext() as db:
        rows = [] if db is None else reference_results.list_references(db, suite)
    if as_json:
        print_json({"schema": "benchstick/references/2", "references": rows})
    elif not rows:
        print("no reference results yet (benchstick reference import FILE)")
    else:
        print_table(
            ("id", "drive", "suite", "result", "value", "unit", "source"),
            [
                (item["id"], item["drive"], item["suite"], item["result"], f"{item['value']:g}",
                 item["unit"], item["source"])
                for item in rows
            ],
        )  # fmt: skip


@reference.command()
@click.argument("numbers", type=int, nargs=-1, required=True, metavar="ID...")
def remove(numbers: tuple[int, ...]) -> None:
    """Remove reference results by the numbers that `list` shows."""
    if not (data_folder() / database.FILE).exists():
        raise BadInput("there are no reference results yet")
    with contextlib.closing(database.open_writer(data_folder())) as db:
        reference_results.remove(db, numbers)
    print_line(f"removed {', '.join(str(number) for number in numbers)}")
