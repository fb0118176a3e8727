"""The only privileged process apart from the runs: it watches the drives and takes requests.

It trusts neither the page nor the store. A request goes to a child process (`agent.worker`), which
finds the drive, parses the parameters and passes the guard again.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from benchstick import paths
from benchstick.agent import hotplugged, run_queues
from benchstick.agent.station import Desk
from benchstick.appliance import clock
from benchstick.appliance.reports import Reports
from benchstick.appliance.state import note_sticks
from benchstick.appliance.stick_removed import go_on_in_ram
from benchstick.drives import discover, shared_links
from benchstick.drives.guard_policy import STICK_WHY
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive
from benchstick.engine import interrupted_sanitize
from benchstick.engine.step_artifacts import check_room
from benchstick.errors import BadInput, BenchError, Refused, StoreFailed
from benchstick.plan.states import RequestState, RunState
from benchstick.reports import bundle
from benchstick.store import (
    agent_requests,
    auth,
    bays,
    database,
    imported_runs,
    known_drives,
    locks,
    run_queries,
    run_reader,
)

SCAN_EVERY = 3.0
REQUESTS_EVERY = 0.5
# A drive that appears before this uptime was present at boot.
BOOT_SECONDS = 120.0
START_SECONDS = 10.0
# Transports that can be hot-plugged; dm, null_blk and virtio devices are created by software.
HOT_PLUG = frozenset({"sata", "nvme", "mmc", "usb-uas", "usb-bot"})
DRIVES_SCHEMA = "benchstick/drives/2"


def drives_document(drives: list[Drive]) -> dict[str, Any]:
    """The `benchstick/drives/2` document: the drives, and the links that several of them share."""
    links = shared_links.shared(Tree(), [drive.name for drive in drives])
    return {
        "schema": DRIVES_SCHEMA,
        "drives": [drive.to_json() for drive in drives],
        "shared": [link.to_json() for link in links],
    }


class Slots(Protocol):
    """Tests drives automatically. `qa.autostart` implements it; the agent does not import `qa`."""

    def look(self, drives: Sequence[Drive], hotplugs: Collection[int]) -> None:
        """Take note of the drives that are present. `hotplugs` are the diskseqs of those that were
        plugged in while the agent was running."""

    def tick(self, db: sqlite3.Connection, drives: Sequence[Drive]) -> bool:
        """Start and end the tests that are due. Returns whether a test has ended."""

    def handle_request(self, body: Mapping[str, Any]) -> None:
        """Handle a request from the web interface. BadInput."""

    def close(self) -> None:
        """End its tests."""


class Agent:
    """Runs until `stop` is set. A bench has one agent; a second one is refused. `reports` writes
    the reports of a booted stick, `slots` tests the drives in the bench's ports."""

    def __init__(
        self,
        home: Path,
        stop: threading.Event,
        reports: Reports | None = None,
        slots: Slots | None = None,
    ) -> None:
        self.home = home
        self.stop = stop
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self._present: set[int] | None = None
        self._here_at_start: set[str] = set()
        self._start_time = time.monotonic()
        self.hotplugs: set[int] = set()
        self._last: str | None = None
        self._reports = reports or Reports()
        self._desk = Desk(home)
        self._slots = slots
        # The result of the last deep scan.
        self._drives: list[Drive] = []

    def serve(self) -> None:
        """Scan drives and answer requests until stopped; then end the runs it started."""
        paths.make_run_folder()
        # Before the store is opened: this fails when the stick was removed.
        go_on_in_ram()
        try:
            lock = locks.RunLock("agent")
        except OSError:
            raise Refused("an agent is already running on this bench") from None
        try:
            # Discard the list of an earlier agent.
            hotplugged.publish(self.hotplugs)
            with contextlib.closing(database.open_writer(self.home)) as db:
                if run_reader.any_running(db):
                    # Imported here to save memory: it imports the runner.
                    from benchstick.engine import recovery

                    recovery.recover(db)
                for purge in interrupted_sanitize.unfinished(db):
                    print(f"benchstick agent: {purge.describe()}", file=sys.stderr)
                self._refuse_old(db)
                run_queues.close_all(db)
                if self._slots is None:
                    # Discard the slots of an agent with other settings: they are no longer watched.
                    bays.keep(db, ())
                self._desk.open()
                try:
                    self._loop(db)
                finally:
                    # Before its runs are cancelled, so that no queue starts another run.
                    with contextlib.suppress(BenchError, sqlite3.Error):
                        run_queues.close_all(db)
        finally:
            if self._slots is not None:
                self._slots.close()
            self._desk.close()
            self._end_children()
            lock.release()

    def _refuse_old(self, db: sqlite3.Connection) -> None:
        """Refuse the requests from before this agent started: nobody waits for them, and the drive
        may have been exchanged since. Those that were taken but started no run ended with their
        agent."""
        text = "requested before the agent started; request it again"
        error = {"code": "refused", "message": text, "field": None}
        for request in agent_requests.requests_left_over(db):
            agent_requests.answer_request(
                db, request, RequestState.REFUSED, answer={"error": error}
            )

    def _loop(self, db: sqlite3.Connection) -> None:
        since_scan = SCAN_EVERY
        while not self.stop.is_set():
            try:
                if since_scan >= SCAN_EVERY:
                    since_scan = 0.0
                    if go_on_in_ram():
                        # Its runs continue: each moves to the store in RAM.
                        self.children.clear()
                        raise StoreFailed("the stick was pulled out; the agent restarts in RAM")
                    self.scan(db)
                    self._reports.write_new(db)
                self._reap(db)
                for row in agent_requests.open_requests(db):
                    self._answer(db, row)
                self._take_uploads(db)
                self._desk.tick(db)
                if self._slots is not None and self._slots.tick(db, self._drives):
                    self._last = None
            except StoreFailed:
                raise
            except Exception as error:  # noqa: BLE001 - a faulty drive must not end all runs
                print(f"benchstick agent: {error!r}; the agent continues", file=sys.stderr)
            self.stop.wait(REQUESTS_EVERY)
            since_scan += REQUESTS_EVERY

    def scan(self, db: sqlite3.Connection) -> None:
        """Scan the drives and store the result for the page."""
        labels = known_drives.labels(db)
        try:
            quick = discover.scan(deep=False, labels=labels, hotplugs=self.hotplugs, home=self.home)
        except BenchError as error:
            print(f"benchstick agent: {error.message}", file=sys.stderr)
            return
        known_before = len(self.hotplugs)
        self._note_plugged(quick)
        if len(self.hotplugs) != known_before:
            hotplugged.publish(self.hotplugs)
        # The tools of a deep scan run again only when something has changed.
        shape = json.dumps(
            [
                [
                    drive.name,
                    drive.diskseq,
                    drive.guard.to_json(),
                    drive.label,
                    None if drive.medium is None else drive.medium.text,
                ]
                for drive in quick
            ]
            + sorted(self.hotplugs)
        )
        if shape != self._last:
            drives = interrupted_sanitize.noted(
                self.home, discover.scan(labels=labels, hotplugs=self.hotplugs, home=self.home)
            )
            self._drives = drives
            known_drives.keep_drives_seen(db, drives_document(drives))
            note_sticks(
                {"path": drive.path, "model": drive.identity.model, "id": None}
                for drive in drives
                if STICK_WHY in drive.guard.reason
            )
            self._last = shape
        if self._slots is not None:
            # A drive that came during the deep scan is new at the next scan: it is not in
            # `hotplugs` yet.
            there = {drive.diskseq for drive in quick}
            present_drives = [drive for drive in self._drives if drive.diskseq in there]
            self._slots.look(present_drives, self.hotplugs)

    def _note_plugged(self, drives: list[Drive]) -> None:
        """Add the drives that were plugged in since the last scan to `hotplugs`.

        Other new disks appear as well: an internal drive that is slow or was reset, or a dm device.
        So a drive that was present at the start, or that appears during boot, does not count.
        """
        now = {drive.diskseq for drive in drives if drive.diskseq is not None}
        if self._present is None or not self._settled():
            self._here_at_start |= {drive.identity.key() for drive in drives}
        else:
            self.hotplugs |= {
                drive.diskseq
                for drive in drives
                if drive.diskseq is not None
                and drive.diskseq not in self._present
                and drive.transport in HOT_PLUG
                and drive.identity.key() not in self._here_at_start
            }
        self._present = now

    def _settled(self) -> bool:
        uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        return uptime > BOOT_SECONDS and time.monotonic() - self._start_time > START_SECONDS

    def _answer(self, db: sqlite3.Connection, row: sqlite3.Row) -> None:
        try:
            body = json.loads(row["body_json"])
            if not isinstance(body, dict):
                raise BadInput("the request is not an object")
            if row["kind"] == "cancel":
                self._cancel(db, body)
                agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)
            elif row["kind"] == "scan":
                self._desk.handle_request(db, body)
                agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)
            elif row["kind"] == "qa":
                if self._slots is None:
                    raise BadInput("slot: the settings name no bench_ports", field="slot")
                self._slots.handle_request(body)
                agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)
            elif row["kind"] == "clock":
                auth.keep_sessions(db, clock.carry_out(body))
                agent_requests.answer_request(db, row["id"], RequestState.COMPLETE)
            elif run_queues.is_queue(body):
                agent_requests.answer_request(db, row["id"], RequestState.ACCEPTED)
                run_queues.take(db, int(row["id"]), body, self._start)
            else:
                run_queues.check_free(db, body)
                agent_requests.answer_request(db, row["id"], RequestState.ACCEPTED)
                self._start(int(row["id"]))
        except BenchError as error:
            answer = {"code": error.code, "message": error.message, "field": error.field}
            agent_requests.answer_request(
                db, row["id"], RequestState.REFUSED, answer={"error": answer}
            )
        except Exception as error:  # noqa: BLE001 - no request may end the agent
            print(f"benchstick agent: request {row['id']}: {error!r}", file=sys.stderr)
            answer = {"code": "bad_input", "message": f"not a request: {error}", "field": None}
            agent_requests.answer_request(
                db, row["id"], RequestState.REFUSED, answer={"error": answer}
            )

    def _take_uploads(self, db: sqlite3.Connection) -> None:
        """Import the bundles that were uploaded to the page. Not during a run: the stick is not
        written while a drive is measured."""
        waiting = imported_runs.waiting(db)
        if not waiting or run_queries.running(db):
            return
        for upload in waiting:
            try:
                check_room(self.home)
                file = io.BytesIO(imported_runs.uploaded(db, upload))
                number, new = bundle.keep(db, self.home, file)
            except BenchError as error:
                imported_runs.answer_upload(db, upload, None, error.message)
            except Exception as error:  # noqa: BLE001 - no bundle may end the agent
                print(f"benchstick agent: upload {upload}: {error!r}", file=sys.stderr)
                imported_runs.answer_upload(db, upload, None, f"not a bundle: {error}")
            else:
                text = f"run {number} was imported" if new else f"it was here, as run {number}"
                imported_runs.answer_upload(db, upload, number, text)

    def _start(self, request: int, place: int | None = None, first: bool = False) -> None:
        """Start the worker of a request, or of the entry of a queue at `place`."""
        entry = [] if place is None else [str(place), *(["first"] if first else [])]
        environment = {**os.environ, "BENCHSTICK_HOME": str(self.home)}
        self.children[request] = subprocess.Popen(
            [sys.executable, "-m", "benchstick.agent.worker", str(request),
             ",".join(str(number) for number in sorted(self.hotplugs)), *entry],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # In its own session: a run survives an agent that is killed and restarted.
            start_new_session=True,
            env=environment,
        )  # fmt: skip

    def _cancel(self, db: sqlite3.Connection, body: Mapping[str, Any]) -> None:
        if "queue" in body:
            child = self.children.get(run_queues.cancel(db, body) or -1)
            if child is not None:
                child.send_signal(signal.SIGTERM)
            return
        number = body.get("run")
        if not isinstance(number, int) or isinstance(number, bool):
            raise BadInput("run: a run's number is needed", field="run")
        cancel_run(db, number)

    def _reap(self, db: sqlite3.Connection) -> None:
        for request, child in list(self.children.items()):
            if child.poll() is None:
                continue
            del self.children[request]
            answer = agent_requests.answer_of(db, request)
            # A run may have formatted its drive: the last scan is out of date.
            self._last = None
            if run_queues.is_of_queue(db, request):
                run_queues.continue_queue(db, request, child.returncode, self._start)
            elif answer is None or answer["state"] == RequestState.ACCEPTED:
                text = f"the run's process ended with exit code {child.returncode}"
                error = {"code": "internal", "message": text, "field": None}
                agent_requests.answer_request(
                    db, request, RequestState.REFUSED, answer={"error": error}
                )

    def _end_children(self) -> None:
        for child in self.children.values():
            child.send_signal(signal.SIGTERM)
        for child in self.children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=30)


def cancel_run(db: sqlite3.Connection, number: int) -> None:
    """Ask the runner of run `number` to stop. BadInput when it is not running."""
    row = run_reader.find_run(db, number)
    pid = locks.holder(row["uuid"])
    if row["state"] != RunState.RUNNING or pid is None:
        state = run_reader.shown_state(db, row)
        raise BadInput(f"run {number}: is not running ({state})", field="run")
    os.kill(pid, signal.SIGTERM)
