"""`benchstick licences`."""

from __future__ import annotations

import click

from benchstick.appliance.licences import document
from benchstick.cli.common import print_json, print_table


@click.command()
@click.option("--json", "as_json", is_flag=True, help="the benchstick/licences/2 document")
def licences(as_json: bool) -> None:
    """List what the bench is made of, with versions and licences."""
    listing = document()
    if as_json:
        print_json(listing)
        return
    print(f"{listing['note']}\n")
    columns = ("name", "version", "licence", "comment")
    rows = [[item[column] or "-" for column in columns] for item in listing["packages"]]
    print_table(("Package", "Version", "Licence (SPDX)", "As stated"), rows)
