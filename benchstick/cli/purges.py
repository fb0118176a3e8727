"""`benchstick purges`: interrupted purges, and how to undo one."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from benchstick.agent import hotplugged
from benchstick.cli.common import need_root, print_json
from benchstick.drives import discover
from benchstick.engine import interrupted_sanitize as unfinished
from benchstick.engine import recovery
from benchstick.engine.run_request import find_drive
from benchstick.paths import data_folder
from benchstick.store import database


@click.command()
@click.option("--undo", "selector", metavar="D", help="undo the purge of this drive")
@click.option("--unlock", metavar="CODE", help="the drive's code: do it although it is locked")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/purges/2 document")
def purges(selector: str | None, unlock: str | None, as_json: bool) -> None:
    """List interrupted purges with the commands to continue; or undo one.

    Undoing an ATA security erase removes the drive's password. Undoing a failed NVMe sanitize
    clears the failure. Erased data stay erased.
    """
    home = data_folder()
    if selector is not None:
        need_root("purges --undo")
        print(_undo(home, selector, unlock))
        return
    rows = unfinished.at_home(home)
    if as_json:
        print_json({"schema": "benchstick/purges/2", "purges": [purge.to_json() for purge in rows]})
        return
    if not rows:
        print("no purge was interrupted")
    for purge in rows:
        print(purge.describe())


def _undo(home: Path, selector: str, unlock: str | None) -> str:
    hotplugs = hotplugged.believed()
    with contextlib.closing(database.open_writer(home)) as db:
        # A killed runner's tools may still be at the drive.
        recovery.recover(db)
        drive = find_drive(selector, home, hotplugs)
        drive_code = discover.code_of(unlock, selector, drive)
        return unfinished.undo(db, home, drive, unlock=drive_code, hotplugs=hotplugs)
