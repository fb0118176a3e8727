"""The agent's child: carries out one request. Started as `python -m benchstick.engine.worker`."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import traceback
from typing import Any

from benchstick.appliance import state
from benchstick.engine.job import Job, cancel_on_signals, execute, make_ready
from benchstick.plan.errors import EXIT_INTERNAL, BadInput, BenchError
from benchstick.store import database, records
from benchstick.store.home import data_folder

_TEXTS = ("target", "fs", "erase", "unlock")


def job_from_request(number: int, body: object) -> Job:
    """The job of a request's body. BadInput naming the field that is wrong."""
    if not isinstance(body, dict):
        raise BadInput("the request is not an object")
    for name in ("suite", "drive"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise BadInput(f"{name}: is missing", field=name)
    for name in _TEXTS:
        if body.get(name) is not None and not isinstance(body[name], str):
            raise BadInput(f"{name}: must be a text", field=name)
    params = body.get("params") or {}
    if not isinstance(params, dict) or not all(isinstance(v, str) for v in params.values()):
        raise BadInput("params: must be an object of texts", field="params")
    return Job(
        suite=body["suite"],
        # Never a path: the page names a drive by its code.
        drive=body["drive"],
        params=params,
        target=body.get("target") or None,
        fs=body.get("fs") or None,
        scale=_scale(body.get("scale")),
        erase=body.get("erase") or None,
        unlock=body.get("unlock") or None,
        expected=_expected(body),
        request=number,
        own_folders=False,
    )


def _scale(value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput("scale: must be a number", field="scale") from None


def _expected(body: dict[str, Any]) -> tuple[str, int | None]:
    """Which drive the asker saw: without it a code could come to mean another drive."""
    key, diskseq = body.get("identity_key"), body.get("diskseq")
    if not isinstance(key, str) or not (diskseq is None or isinstance(diskseq, int)):
        raise BadInput("identity_key: must be a text, diskseq a number", field="identity_key")
    return key, diskseq


def main(argv: list[str]) -> int:
    number = int(argv[0])
    seen = [int(word) for word in argv[1].split(",") if word] if len(argv) > 1 else []
    home = data_folder()
    with contextlib.closing(database.open_writer(home)) as db, cancel_on_signals() as cancel:
        try:
            row = db.execute("SELECT body_json FROM requests WHERE id = ?", (number,)).fetchone()
            if row is None:
                raise BadInput(f"request {number}: there is no such request")
            job = job_from_request(number, json.loads(row["body_json"]))
            ready = make_ready(job, home, seen)
            outcome = execute(
                ready, home, cancel=cancel, begun=lambda run: _begun(db, number, run)
            )
        except BenchError as error:
            _refuse(db, number, error.code, error.message, error.field)
            return error.exit_code
        except Exception:  # noqa: BLE001 - told to the asker, whatever it is
            traceback.print_exc()
            _refuse(db, number, "internal", "internal error: see the agent's log", None)
            return EXIT_INTERNAL
        # The request was left behind with a stick that was pulled out.
        if not state.moved_to_ram():
            records.answer_request(db, number, "done", run=outcome.number)
        return outcome.exit_code


def _begun(db: sqlite3.Connection, request: int, run: int) -> None:
    records.answer_request(db, request, "taken", run=run)


def _refuse(
    db: sqlite3.Connection, request: int, code: str, message: str, field: str | None
) -> None:
    answer = {"error": {"code": code, "message": message, "field": field}}
    records.answer_request(db, request, "refused", answer=answer)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
