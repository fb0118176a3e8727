"""`benchstick desk`: the slots of the running agent, and barcode scans."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

import click

from benchstick.cli.common import need_root, print_json, print_line, print_table
from benchstick.errors import BadInput, Refused, StoreFailed
from benchstick.paths import data_folder, settings_file
from benchstick.plan.labels import scan_text
from benchstick.plan.plain import storable
from benchstick.plan.states import RequestState
from benchstick.store import agent_requests, database, locks, settings
from benchstick.store import qa_station as desks
from benchstick.store.qa_station import AGAIN, STOP

# The agent polls twice a second; a scan of hanging drives takes longer.
_PATIENCE = 60.0
_LOOK = 0.1


@click.group()
def desk() -> None:
    """Manage the automatic test slots and barcode scans."""


@desk.command()
@click.option("--json", "as_json", is_flag=True, help="the benchstick/desk/2 document")
def show(as_json: bool) -> None:
    """Show each slot, the scans for the next drive, and what waits for the webhook."""
    config = settings.load(settings_file())
    if not (data_folder() / database.FILE).exists():
        raise BadInput("no agent was ever running on this bench: benchstick agent")
    with contextlib.closing(database.open_reader(data_folder())) as db:
        document = desks.document(db, config)
    if as_json:
        print_json(document)
        return
    if not document["agent"]:
        print("no agent is running, so nothing is tested: benchstick agent")
    print_table(
        ("slot", "state", "drive", "action", "message"),
        [
            (slot["name"], _state(slot), slot["label"] or slot["code"] or "-",
            slot["action"] or "-",
             storable(slot["message"]) or "")
            for slot in document["slots"]
        ],
    )  # fmt: skip
    ticket = [f"{kind} {text}" for kind, text in document["ticket"].items() if text]
    print_line(f"the next drive gets: {', '.join(ticket) or 'nothing'}")
    if document["scanner"]:
        print_line(document["scanner"])
    if document["webhook"]["waiting"]:
        reason = storable(document["webhook"]["reason"]) or "not tried yet"
        print_line(f"for the webhook: {document['webhook']['waiting']} wait ({reason})")


def _state(slot: Mapping[str, Any]) -> str:
    if slot["countdown_seconds"] is not None:
        return f"{slot['state']}, {slot['countdown_seconds']} s"
    if slot["run"] is not None:
        return f"{slot['state']}, run {slot['run']}"
    if slot["verdict"] is None:
        return str(slot["state"])
    number = "" if slot["verdict_number"] is None else f", verdict {slot['verdict_number']}"
    return f"{slot['verdict'].upper()}{number}"


@desk.command()
@click.argument("slot")
def stop(slot: str) -> None:
    """Stop the countdown or the test in SLOT (`show` has its name); it still gives a verdict."""
    _ask("qa", {"slot": slot, "do": STOP})
    print_line(f"{slot}: was asked to stop")


@desk.command()
@click.argument("slot")
def again(slot: str) -> None:
    """Start a new countdown for the drive in SLOT."""
    _ask("qa", {"slot": slot, "do": AGAIN})
    print_line(f"{slot}: counts down")


@desk.command()
@click.argument("text")
def scan(text: str) -> None:
    """Add TEXT as if a scanner had read it: it is attached to the next drive."""
    _ask("scan", {"text": scan_text(text)})
    print_line(f"kept: {text}")


@desk.command()
def drop() -> None:
    """Clear scans that wait for a drive."""
    _ask("scan", {"drop": True})
    print("forgotten")


def _ask(kind: str, body: Mapping[str, Any]) -> None:
    """Send the agent a request and wait until it is done. BadInput, Refused; StoreFailed when the
    agent does not answer."""
    need_root("the desk")
    if locks.holder("agent") is None:
        raise BadInput("no agent is running, which tests: benchstick agent")
    with contextlib.closing(database.open_writer(data_folder())) as db:
        request = agent_requests.add_request(db, kind, body)
        answer = _answer(db, request)
    if answer["state"] == RequestState.REFUSED:
        error = json.loads(answer["answer_json"])["error"]
        error_class = Refused if error["code"] == Refused.code else BadInput
        raise error_class(error["message"], field=error["field"])


def _answer(db: sqlite3.Connection, request: int) -> sqlite3.Row:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        answer = agent_requests.answer_of(db, request)
        if answer is not None:
            return answer
        time.sleep(_LOOK)
    raise StoreFailed(f"the agent has not answered within {_PATIENCE:.0f} s")
