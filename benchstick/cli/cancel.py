"""`benchstick cancel N`."""

from __future__ import annotations

import click

from benchstick.agent.agent import cancel_run
from benchstick.cli.common import need_root, reader


@click.command()
@click.argument("number", type=int, metavar="N")
def cancel(number: int) -> None:
    """Cancel run N. Its results so far are kept."""
    need_root("cancel")
    with reader() as db:
        cancel_run(db, number)
    print(f"run {number} was asked to stop")
