"""Tickets: what was scanned goes to the right drive, once."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.plan.drive_key import DriveKey
from benchstick.plan.labels import Ticket, classify, same_serial
from benchstick.store import barcode_scans, database

PREFIXES = {"OP:": "operator", "O": "order", "SN:": "serial"}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("OP:anna", "operator", "anna"),
        ("O4711", "order", "4711"),
        ("SN: S5XA-0042", "serial", "S5XA-0042"),
        ("sn:1", "asset", "sn:1"),
        ("SN:", "asset", "SN:"),
        ("A-17", "asset", "A-17"),
    ],
)
def test_the_prefix_of_a_scan_sets_its_kind(text: str, kind: str, value: str) -> None:
    assert classify(text, PREFIXES) == (kind, value)


@pytest.mark.parametrize(
    ("scanned_serial", "same"),
    [
        ("S5XANX0M312345", True), ("s5xa nx0m-312345", True), ("usb-9", True),
        ("S5XANX0M31234", False), ("SN:S5XANX0M312345", False), ("", False), ("-", False),
    ],
)  # fmt: skip
def test_a_scanned_serial_is_the_drives_or_not(scanned_serial: str, same: bool) -> None:
    assert same_serial(scanned_serial, ("S5XANX0M312345", "USB9", "")) is same


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        yield db


def scan(db: sqlite3.Connection, text: str) -> None:
    barcode_scans.keep(db, "scanner", text, *classify(text, PREFIXES))


def test_operator_and_order_hold_tag_and_serial_are_one_drives(store: sqlite3.Connection) -> None:
    assert barcode_scans.waiting(store) == Ticket()
    for text in ("OP:anna", "O1", "A-1", "SN:X1"):
        scan(store, text)
    expected = Ticket(asset="A-1", serial="X1", order="1", operator="anna")
    assert barcode_scans.waiting(store) == expected
    assert barcode_scans.take(store, DriveKey("drive one")) == expected
    assert barcode_scans.take(store, DriveKey("drive two")) == Ticket(order="1", operator="anna")
    scan(store, "A-2")
    scan(store, "A-3")
    scan(store, "OP:bert")
    assert barcode_scans.take(store, DriveKey("drive three")) == Ticket(
        asset="A-3", order="1", operator="bert"
    )
    assert barcode_scans.waiting(store) == Ticket(order="1", operator="bert")
    assert [row["assigned_to"] for row in barcode_scans.list_scans(store)] == [
        None, "drive three", "", "drive one", "drive one", None, None,
    ]  # fmt: skip


def test_what_waits_can_be_dropped(store: sqlite3.Connection) -> None:
    for text in ("OP:anna", "A-1", "SN:1", "O1"):
        scan(store, text)
    barcode_scans.take(store, DriveKey("one"))
    scan(store, "A-2")
    barcode_scans.drop(store)
    assert barcode_scans.waiting(store) == Ticket()
    assert [row["assigned_to"] for row in barcode_scans.list_scans(store)] == [
        "",
        "",
        "one",
        "one",
        "",
    ]
    scan(store, "OP:bert")
    assert barcode_scans.waiting(store) == Ticket(operator="bert")


def test_old_scans_go_and_the_last_of_each_kind_stay(store: sqlite3.Connection) -> None:
    scan(store, "OP:anna")
    for number in range(barcode_scans.MAX_SCANS + 10):
        scan(store, f"A-{number}")
    assert store.execute("SELECT count(*) FROM scans").fetchone()[0] == barcode_scans.MAX_SCANS + 1
    assert barcode_scans.waiting(store).operator == "anna"
