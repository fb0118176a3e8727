"""`benchstick cancel N`."""

from __future__ import annotations

import click

from benchstick.agent.agent import cancel_run
from benchstick.cli.common import need_root, reader


@click.command()
@click.argument("number", type=int, metavar="N")
def cancel(number: int) -> None:
    """Stop run N: its tool is ended, the drive unmounted, what was measured stays."""
    need_root("cancel")
    with reader() as db:
        cancel_run(db, number)
    print(f"run {number} was asked to stop")
