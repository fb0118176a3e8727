"""`benchstick appliance`: the booted stick around the bench."""

from __future__ import annotations

import sys

import click

from benchstick.appliance import state
from benchstick.appliance.boot import start as start_appliance
from benchstick.appliance.stick import Machine
from benchstick.cli.common import need_root, print_json, print_line
from benchstick.errors import BadInput


def _say(text: str) -> None:
    print_line(f"benchstick: {text}", file=sys.stderr)


@click.group()
def appliance() -> None:
    """The booted stick: its store, its settings."""


@appliance.command()
@click.option("--json", "as_json", is_flag=True, help="the benchstick/appliance/1 document")
def start(as_json: bool) -> None:
    """At boot: find the stick, mount its store, read its settings. Falls back to RAM."""
    need_root("appliance start")
    document = start_appliance(Machine(), _say)
    if as_json:
        print_json(document)


@appliance.command()
@click.option("--json", "as_json", is_flag=True, help="the benchstick/appliance/1 document")
def show(as_json: bool) -> None:
    """Show what was found at boot."""
    document = state.read()
    if document is None:
        raise BadInput("appliance: nothing was found at boot: this machine is not a booted stick")
    if as_json:
        print_json(document)
        return
    stick = document["stick"]
    place = f"{stick['path']} ({stick['model']}, id {stick['id']})" if stick else "none"
    print_line(f"stick: {place}")
    for notice in state.notices(document):
        print(notice)
