"""`benchstick console`: the bench's screen."""

from __future__ import annotations

import os

import click

from benchstick import __version__
from benchstick.appliance import console as terminal
from benchstick.appliance.screen_model import Looker


@click.command()
@click.option("--once", is_flag=True, help="print the screen once and exit")
def console(once: bool) -> None:
    """Show addresses, PIN, drives and runs on this terminal, until Ctrl-C."""
    looker = Looker(__version__)
    if once or not os.isatty(1):
        width, height = terminal.size_of(1)
        print("\n".join(terminal.frame(looker.look(), width, height, colours=False)))
        return
    terminal.serve(looker.look)
