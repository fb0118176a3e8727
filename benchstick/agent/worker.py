"""The agent's child process: it runs one request, or one entry of a queue.

Started as `python -m benchstick.agent.worker REQUEST HOTPLUGS [PLACE [first]]`. Before the `first`
entry of a queue starts, all entries are checked: an error in the last one must not appear hours
later.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchstick.appliance import state
from benchstick.engine.run_request import Ready, check_queue, execute, make_ready
from benchstick.engine.signals import cancel_on_signals
from benchstick.errors import EXIT_INTERNAL, BadInput, BenchError
from benchstick.paths import data_folder
from benchstick.plan.plain import plain_output
from benchstick.plan.request import RunRequest
from benchstick.plan.run_queue import entries_of
from benchstick.plan.states import RequestState
from benchstick.store import agent_requests, database, queues


@dataclass(frozen=True)
class _WorkerRequest:
    """The request `number` that this process runs; of a queue the entry at `place`."""

    db: sqlite3.Connection
    number: int
    place: int | None = None
    first: bool = False

    def ready(self, home: Path, hotplugs: Sequence[int]) -> Ready:
        """The run, ready to start. BadInput, Refused, DriveLost."""
        row = self.db.execute(
            "SELECT body_json FROM requests WHERE id = ?", (self.number,)
        ).fetchone()
        if row is None:
            raise BadInput(f"request {self.number}: there is no such request")
        body = json.loads(row["body_json"])
        if self.place is None:
            return make_ready(RunRequest.from_json(self.number, body), home, hotplugs)
        requests = [RunRequest.from_json(self.number, entry) for entry in entries_of(body)]
        if self.first:
            waiting = queues.waits(self.db, self.number)
            return check_queue([requests[at] for at in (self.place, *waiting)], home, hotplugs)[0]
        return make_ready(replace(requests[self.place], follows=True), home, hotplugs)

    def record_run(self, run: int) -> None:
        agent_requests.answer_request(self.db, self.number, RequestState.ACCEPTED, run=run)
        if self.place is not None:
            queues.entry_runs(self.db, self.number, self.place, run)

    def refused(self, code: str, message: str, field: str | None) -> None:
        # Once a queue has started the queue reports it.
        if self.place is not None and not self.first:
            queues.entry_refused(self.db, self.number, self.place, message)
            return
        answer = {"error": {"code": code, "message": message, "field": field}}
        agent_requests.answer_request(self.db, self.number, RequestState.REFUSED, answer=answer)


def main(argv: list[str]) -> int:
    hotplugs = [int(word) for word in argv[1].split(",") if word] if len(argv) > 1 else []
    home = data_folder()
    with contextlib.closing(database.open_writer(home)) as db, cancel_on_signals() as cancel:
        place = int(argv[2]) if len(argv) > 2 else None
        request = _WorkerRequest(db, int(argv[0]), place, argv[3:] == ["first"])
        try:
            ready = request.ready(home, hotplugs)
            outcome = execute(ready, home, cancel=cancel, on_begin=request.record_run)
        except BenchError as error:
            request.refused(error.code, error.message, error.field)
            return error.exit_code
        except Exception:  # noqa: BLE001 - the request reports any error
            traceback.print_exc()
            request.refused("internal", "internal error: see the agent's log", None)
            return EXIT_INTERNAL
        # After the stick was pulled out the request is gone with its store. The agent answers the
        # request of a queue, as more runs may follow.
        if place is None and not state.moved_to_ram():
            agent_requests.answer_request(
                db, request.number, RequestState.COMPLETE, run=outcome.number
            )
        return outcome.exit_code


if __name__ == "__main__":
    with plain_output():
        sys.exit(main(sys.argv[1:]))
