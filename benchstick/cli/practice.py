"""`benchstick practice`: the practice drive."""

from __future__ import annotations

import click

from benchstick.cli.common import need_root
from benchstick.cli.drives import print_card
from benchstick.drives import practice as drive
from benchstick.drives.locks import is_locked
from benchstick.errors import Refused
from benchstick.paths import data_folder


@click.command()
@click.option("--detach", is_flag=True, help="detach it and delete its file")
def practice(detach: bool) -> None:
    """Create the practice drive (a file on a loop device), or detach it."""
    need_root("the practice drive")
    if detach:
        device = drive.find(data_folder())
        if device is not None and is_locked(device):
            raise Refused("the practice drive is in use by a run: wait for it or cancel it")
        drive.detach(data_folder(), remove=True)
        print("the practice drive is gone")
        return
    print_card(drive.ensure(data_folder()))
