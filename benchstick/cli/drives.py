"""`benchstick drives` and `benchstick drive D`."""

from __future__ import annotations

import contextlib

import click

from benchstick.agent import hotplugged
from benchstick.agent.agent import drives_document
from benchstick.cli.common import print_json, print_line, tell_notices, tell_unfinished
from benchstick.drives import bottlenecks, discover, summary
from benchstick.drives.types import Drive
from benchstick.engine import interrupted_sanitize
from benchstick.engine.run_request import find_drive
from benchstick.errors import StoreFailed
from benchstick.paths import data_folder
from benchstick.plan.units import size_text
from benchstick.store import database, known_drives


def _labels() -> dict[str, str]:
    with (
        contextlib.suppress(StoreFailed),
        contextlib.closing(database.open_reader(data_folder())) as db,
    ):
        return known_drives.labels(db)
    return {}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="the benchstick/drives/2 document")
def drives(as_json: bool) -> None:
    """List the drives: how each is connected, whether it may be written, and why."""
    tell_notices()
    tell_unfinished()
    drive_list = interrupted_sanitize.noted(
        data_folder(),
        discover.scan(labels=_labels(), home=data_folder(), hotplugs=hotplugged.believed()),
    )
    if as_json:
        print_json(drives_document(drive_list))
        return
    if not drive_list:
        print("no drives found")
    for drive in drive_list:
        print_card(drive)


def print_card(drive: Drive) -> None:
    """A drive in a few lines: name, connection, guard state with its reason, code."""
    label = f" [{drive.label}]" if drive.label else ""
    size = size_text(drive.identity.capacity)
    print_line(f"{drive.path}  {drive.identity.model}, {size}{label}")
    print_line(f"    {summary.summary_line(drive)}")
    print_line(f"    {drive.guard.state}: {drive.guard.reason}")
    print_line(f"    code: {drive.code}")
    for item in bottlenecks.find_worse(drive.value):
        print_line(f"    note: {item.text}")


@click.command()
@click.argument("selector", metavar="D")
@click.option("--json", "as_json", is_flag=True, help="one entry of the drives document")
def drive(selector: str, as_json: bool) -> None:
    """All facts of one drive. D is a /dev path, a code, a label, a port path, or `practice`."""
    this_drive = find_drive(selector, data_folder(), hotplugged.believed())
    if as_json:
        print_json({"schema": "benchstick/drive/2", **this_drive.to_json()})
        return
    print_card(this_drive)
    width = max(len(name) for name in this_drive.facts)
    for name, fact in this_drive.facts.items():
        if fact.value is None:
            print_line(f"    {name:<{width}}  - ({fact.reason or 'not reported'})")
            continue
        value = fact.value
        if isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, list):
            value = ", ".join(str(item) for item in value) or "none"
        elif isinstance(value, dict):
            value = ", ".join(f"{key} {item}" for key, item in value.items())
        unit = f" {fact.unit}" if fact.unit else ""
        print_line(f"    {name:<{width}}  {value}{unit}  [{fact.source}]")
