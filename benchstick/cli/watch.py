"""`benchstick watch`: plug and unplug as they happen."""

from __future__ import annotations

import json
import sys

import click

from benchstick.cli.common import print_line
from benchstick.drives import discover, summary
from benchstick.drives.hotplug import present
from benchstick.drives.hotplug import watch as hotplug
from benchstick.drives.types import Drive
from benchstick.engine.signals import cancel_on_signals
from benchstick.paths import data_folder

SCHEMA = "benchstick/watch/1"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="one JSON document a line")
def watch(as_json: bool) -> int:
    """Print drives as they are plugged and unplugged, until Ctrl-C."""
    with cancel_on_signals() as stop:
        # Before the slow scan of the drives, so that no event is missed during it.
        initial = present()
        drives = _look()
        if not as_json:
            print_line(f"{len(drives)} drives; waiting for changes", file=sys.stderr, flush=True)
        for event in hotplug(stop=stop, initial=initial):
            if event.kind == "plug":
                drives.update(_look())
            drive = drives.get(event.name)
            _print(event.kind, event.name, drive, as_json)
            if event.kind == "unplug":
                drives.pop(event.name, None)
    return 0


def _look() -> dict[str, Drive]:
    return {drive.name: drive for drive in discover.scan(home=data_folder())}


def _print(kind: str, name: str, drive: Drive | None, as_json: bool) -> None:
    if as_json:
        document = {
            "schema": SCHEMA,
            "event": kind,
            "name": name,
            "drive": None if drive is None else drive.to_json(),
        }
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    elif drive is None:
        print_line(f"{kind}: /dev/{name}")
    else:
        print_line(
            f"{kind}: {drive.path} {drive.identity.model} ({drive.code}), "
            f"{summary.summary_line(drive)}, {drive.guard.state}"
        )
    sys.stdout.flush()
