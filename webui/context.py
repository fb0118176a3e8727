"""What every request needs: the bench to ask, and the page's own state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flask import Flask, current_app, g

from benchstick.plan.states import RunState
from benchstick.protocol.bench import Bench
from benchstick.protocol.local import LocalBench
from benchstick.protocol.messages import Scan, Session
from benchstick.protocol.settings import Settings
from webui.auth.pin import LoginKey, Pin
from webui.errors import WebError, not_found


@dataclass
class PageState:
    """The page's state. `private`: nothing is shown without a session (listening on the LAN)."""

    home: Path
    settings: Settings
    private: bool
    pin: Pin | None
    key: LoginKey = field(default_factory=LoginKey)


@dataclass(frozen=True)
class Visitor:
    """Who asks: a signed-in browser (`session`), a script with a token (`token`), or nobody."""

    session: Session | None = None
    token: str | None = None

    @property
    def is_known(self) -> bool:
        return self.session is not None or self.token is not None


def page_state() -> PageState:
    state: PageState = current_app.extensions["benchstick"]
    return state


def visitor() -> Visitor:
    current: Visitor = g.get("visitor", Visitor())
    return current


def bench() -> Bench:
    """The bench, as this request asks it."""
    if "bench" not in g:
        g.bench = LocalBench(page_state().home, page_state().settings)
    current: Bench = g.bench
    return current


def register(app: Flask, state: PageState) -> None:
    """Attach the state, and close what a request opened."""
    app.extensions["benchstick"] = state

    @app.teardown_appcontext
    def close(_: BaseException | None) -> None:
        local: LocalBench | None = g.pop("bench", None)
        if local is not None:
            local.close()


def drive_scans() -> Scan:
    """The agent's last scan."""
    return bench().scan()


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


def run_state(number: int) -> RunState:
    """The state of a run. WebError 404 when there is none."""
    state = bench().run_state(number)
    if state is None:
        raise no_run(number)
    return state


def no_run(number: int) -> WebError:
    """404 for a run that is not there."""
    return not_found(f"Run {number}: there is no such run.")
