"""What every request needs: the store's connections and the page's own state."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from flask import Flask, current_app, g

from benchstick.drives import bottlenecks
from benchstick.store import auth, known_drives
from benchstick.store.database import open_for_web, open_reader
from benchstick.store.settings import Settings
from webui.auth.pin import LoginKey, Pin
from webui.errors import not_found


@dataclass
class Bench:
    """The page's state. `private`: nothing is shown without a session (listening on the LAN)."""

    home: Path
    settings: Settings
    private: bool
    pin: Pin | None
    key: LoginKey = field(default_factory=LoginKey)


@dataclass(frozen=True)
class Visitor:
    """Who asks: a signed-in browser (`session`), a script with a token (`token`), or nobody."""

    session: auth.Session | None = None
    token: str | None = None

    @property
    def is_known(self) -> bool:
        return self.session is not None or self.token is not None


def the_bench() -> Bench:
    bench: Bench = current_app.extensions["benchstick"]
    return bench


def visitor() -> Visitor:
    current: Visitor = g.get("visitor", Visitor())
    return current


def reader() -> sqlite3.Connection:
    """The store, read only, one connection a request."""
    return _connection("reader", open_reader)


def writer() -> sqlite3.Connection:
    """The store as far as the page may write it: `database.WEB_TABLES`."""
    return _connection("writer", open_for_web)


def _connection(name: str, opener: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
    if name not in g:
        setattr(g, name, opener(the_bench().home))
    connection: sqlite3.Connection = getattr(g, name)
    return connection


def register(app: Flask, bench: Bench) -> None:
    """Attach the state, and close each request's connections."""
    app.extensions["benchstick"] = bench

    @app.teardown_appcontext
    def close(_: BaseException | None) -> None:
        for name in ("reader", "writer"):
            connection = g.pop(name, None)
            if connection is not None:
                connection.close()


class Scan(NamedTuple):
    """The agent's last scan: its UTC time, None before any, the drives, and the links that several
    of them share, the narrowest first (`shared` of the `benchstick/drives/2` document)."""

    utc: str | None
    drives: list[dict[str, Any]]
    shared: list[dict[str, Any]]


def drive_scans() -> Scan:
    """The agent's last scan, with the operators' labels, and with `bottlenecks`, which older agents
    did not record."""
    scan = known_drives.drive_scans(reader())
    if scan is None:
        return Scan(None, [], [])
    labels = known_drives.labels(reader())
    drives: list[dict[str, Any]] = scan[1].get("drives", [])
    for drive in drives:
        drive["label"] = labels.get(drive["identity"]["drive_key"], drive.get("label"))
        bottlenecks.put_into(drive)
    return Scan(scan[0], drives, scan[1].get("shared", []))


def find_drive(code: str) -> dict[str, Any]:
    """The drive with this code (or label, node, or serial, as old codes are). WebError 404 when
    it is not there."""
    drives = drive_scans().drives
    for name in ("code", "label", "path", "serial"):
        matches = [drive for drive in drives if _name_of(drive, name) == code]
        if len(matches) == 1:
            return matches[0]
    raise not_found(f"Drive {code[:120]}: not plugged in, or not seen by the agent yet.")


def _name_of(drive: Mapping[str, Any], name: str) -> Any:
    return drive["identity"].get(name) if name == "serial" else drive.get(name)


def find_run(number: int) -> sqlite3.Row:
    """The row of a run. WebError 404 when there is none."""
    row = reader().execute("SELECT * FROM runs WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise not_found(f"Run {number}: there is no such run.")
    run: sqlite3.Row = row
    return run
