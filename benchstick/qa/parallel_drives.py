"""A recipe on several drives at once: a process for each drive, and always a verdict for each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.drives import shared_links
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive
from benchstick.errors import EXIT_INTERNAL, StoreFailed
from benchstick.qa.drive_session import DriveTestRequest, posts
from benchstick.recipes import verdict
from benchstick.recipes.codes import END_CODES
from benchstick.recipes.limits import Evidence
from benchstick.recipes.verdict import Attempt
from benchstick.store import database, verdicts
from benchstick.store.database import utc_now

# The process that tests one drive.
COMMAND: Sequence[str] = (sys.executable, "-m", "benchstick.qa.drive_session")
_EVERY = 0.2


@dataclass(frozen=True)
class DriveRequest:
    """A drive as it was scanned and the request for it. Only the request goes to the other process;
    the drive is for the verdict that this one stores when the other gives none."""

    drive: Drive
    test_request: DriveTestRequest


def carry_out(
    requests: Sequence[DriveRequest],
    home: Path,
    cancel_event: threading.Event,
    on_verdict: Callable[[dict[str, Any]], None] = lambda verdict: None,
) -> list[dict[str, Any]]:
    """The verdicts, in the order of the drives. `cancel_event` ends all tests, each with a verdict;
    `on_verdict` gets each verdict at once."""
    with contextlib.closing(database.open_writer(home)):
        # Create and migrate the store before all of them open it.
        pass
    children = [Child(item, home) for item in requests]
    results: dict[int, dict[str, Any]] = {}
    ending = False
    while len(results) < len(children):
        for at, child in enumerate(children):
            if at not in results and not child.is_alive():
                results[at] = child.verdict()
                on_verdict(results[at])
        if len(results) == len(children):
            break
        if cancel_event.wait(_EVERY) and not ending:
            ending = True
            for child in children:
                child.end()
        for child in children:
            if cancel_event.is_set():
                child.join(_EVERY)
    return [results[at] for at in range(len(children))]


class Child:
    """The process that tests one drive."""

    def __init__(self, request: DriveRequest, home: Path) -> None:
        self._request = request
        self._home = home
        self._started_utc = utc_now()
        self._out = b""
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # This process passes Ctrl-C on, once.
            start_new_session=True,
            env={**os.environ, "BENCHSTICK_HOME": str(home)},
        )
        payload = json.dumps(request.test_request.to_json()).encode()
        self._thread = threading.Thread(
            target=self._read, args=(payload,), name=f"qa {request.drive.code}"
        )
        self._thread.start()

    def _read(self, payload: bytes) -> None:
        self._out, _ = self._process.communicate(payload)

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def end(self) -> None:
        """Ask it to end its test; it still gives a verdict."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def verdict(self) -> dict[str, Any]:
        """Its verdict; for a process that gave none, store an inconclusive one with the reason."""
        self._thread.join()
        try:
            answer = json.loads(self._out)
        except ValueError:
            code = self._process.returncode
            answer = {"error": {"code": EXIT_INTERNAL, "message": f"its process ended with {code}"}}
        if "error" not in answer:
            return dict(answer)
        document = self._lacking(int(answer["error"]["code"]), str(answer["error"]["message"]))
        try:
            with contextlib.closing(database.open_writer(self._home)) as db:
                number = verdicts.keep(db, document, post=posts())
        except StoreFailed as error:
            # The other drives still get their verdicts.
            code = document["drive"]["code"]
            text = f"benchstick: {code}: its verdict is not stored: {error.message}"
            print(text, file=sys.stderr)
            return document
        return {"number": number, **document}

    def _lacking(self, code: int, message: str) -> dict[str, Any]:
        test_request, drive = self._request.test_request, self._request.drive
        attempt = Attempt(
            evidence=Evidence(drive=drive.to_json()), seconds=0.0, started_utc=self._started_utc,
            ended_utc=utc_now(), end=(code if code in END_CODES else EXIT_INTERNAL, message),
            labels=test_request.labels,
            slot=test_request.bench_ports.get(drive.identity.port) or None,
        )  # fmt: skip
        return verdict.judge(test_request.recipe, attempt)


def shared(drives: Sequence[Drive], tree: Tree | None = None) -> list[str]:
    """The hubs, controllers and other links whose bandwidth is shared by drives that are tested at
    once, in sentences."""
    codes = {drive.name: drive.code for drive in drives if not drive.is_practice}
    return [
        f"{link.describe([codes[name] for name in link.drives])}. "
        "Their results may be lower than alone"
        for link in shared_links.shared(tree or Tree(), list(codes))
    ]
