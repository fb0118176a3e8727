"""`benchstick import FILE`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from benchstick.engine.step_artifacts import check_room
from benchstick.errors import BadInput
from benchstick.paths import data_folder
from benchstick.reports import bundle
from benchstick.store import database, run_queries


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
def import_(file: Path) -> None:
    """Import a run from a bundle of another bench (export N --format bundle). A run that is already
    here is not imported twice."""
    try:
        source = file.open("rb")
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}", field="file") from None
    with source:
        # Before a store is created or changed.
        bundle.read(source)
        with contextlib.closing(database.open_writer(data_folder())) as db:
            running = run_queries.running(db)
            if running:
                raise BadInput(
                    f"run {running[0]['number']} is on: nothing is imported while a drive is "
                    "timed; try again when it is over"
                )
            check_room(data_folder())
            number, new = bundle.keep(db, data_folder(), source)
    print(f"run {number} was imported" if new else f"it was here, as run {number}")
