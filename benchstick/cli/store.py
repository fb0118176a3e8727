"""`benchstick store`: damage in the store, and what can still be read of it."""

from __future__ import annotations

from pathlib import Path

import click

from benchstick.cli.common import print_json, print_line, print_table
from benchstick.errors import EXIT_DONE, EXIT_STORE
from benchstick.paths import data_folder
from benchstick.store import damage, database

_FILE = click.argument("path", type=click.Path(path_type=Path), metavar="[FILE]", required=False)


@click.group()
def store() -> None:
    """Check the store for damage, and recover a damaged one."""


@store.command()
@_FILE
@click.option("--json", "as_json", is_flag=True, help="the benchstick/store-check/1 document")
def check(path: Path | None, as_json: bool) -> int:
    """List what is damaged in the store (or in FILE). Exit code 6 when something is."""
    path = path or data_folder() / database.FILE
    damages = damage.find_damage(path)
    if as_json:
        print_json(
            {
                "schema": "benchstick/store-check/1",
                "store": str(path),
                "damage": [vars(item) for item in damages],
            }
        )
    elif not damages:
        print_line(f"{path}: no damage")
    else:
        for item in damages:
            print_line(str(item))
        print_line(
            f"{path}: {len(damages)} damaged; save what can be read with: benchstick store recover"
        )
    return EXIT_STORE if damages else EXIT_DONE


@store.command()
@_FILE
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="NEW",
    help="the new store (FILE.recovered); it must not exist",
)
def recover(path: Path | None, output: Path | None) -> int:
    """Write what can still be read of the store (or of FILE, such as a store.db.corrupt-*) into a
    new one. The damaged store stays as it is. Exit code 6 when rows are lost."""
    path = path or data_folder() / database.FILE
    output = output or Path(f"{path}.recovered")
    tables = damage.recover(path, output)
    print_table(
        ("table", "rows saved", "rows lost"),
        [
            (item.table, item.rows, "unknown" if item.lost_rows is None else item.lost_rows)
            for item in tables
        ],
    )
    print_line(f"{output}: stop the agent and the page, then move it to {data_folder()}/store.db")
    return EXIT_STORE if any(item.lost_rows != 0 for item in tables) else EXIT_DONE
