"""`benchstick support`: one file for a bug report, without secrets."""

from __future__ import annotations

import json
import platform
import socket
from pathlib import Path
from typing import Any

import click

from benchstick.agent.agent import drives_document
from benchstick.appliance import state
from benchstick.cli.common import need_root, print_line
from benchstick.cli.masking import masked
from benchstick.drives import discover
from benchstick.engine import host_settings
from benchstick.errors import BadInput, BenchError
from benchstick.paths import data_folder
from benchstick.store import database, run_reader


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=Path("benchstick-support.json"))
@click.option("--keep-serials", is_flag=True, help="do not mask serial numbers")
def support(output: Path, keep_serials: bool) -> None:
    """Write the host's facts, the drives and the last runs to one JSON file."""
    need_root("support")
    drives = discover.scan(home=data_folder())
    document: Any = {
        "schema": "benchstick/support/2",
        "host": host_settings.facts(),
        "drives": drives_document(drives),
        "runs": _last_runs(),
        "appliance": state.read(),
    }
    if not keep_serials:
        document = masked(document, _machine_names())
    text = json.dumps(document, indent=1, ensure_ascii=False)
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{output}: {error.strerror}; choose another --output") from None
    print_line(f"wrote {output}")


def _machine_names() -> set[str]:
    """What the machine is called, in full and without its domain."""
    names = {platform.node(), socket.gethostname()}
    return names | {name.partition(".")[0] for name in names}


def _last_runs() -> list[object]:
    try:
        db = database.open_reader(data_folder())
    except BenchError as error:
        return [{"reason": error.message}]
    try:
        numbers = [row["number"] for row in run_reader.list_runs(db, limit=5)]
        return [run_reader.run_json(db, number) for number in numbers]
    finally:
        db.close()
