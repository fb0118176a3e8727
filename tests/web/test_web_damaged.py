"""The page with a store that has damaged rows: one of them hides no other."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

import pytest

from tests.web.conftest import Bench, Browser


@contextlib.contextmanager
def damaged(bench: Bench, column: str, value: str | bytes) -> Iterator[int]:
    """The number of a finished run, whose `column` has `value` for as long as this lasts."""
    with contextlib.closing(sqlite3.connect(bench.home / "store.db", isolation_level=None)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        number, old = db.execute(
            f"SELECT number, {column} FROM runs WHERE state = 'done' AND NOT practice"
            " ORDER BY number DESC LIMIT 1"
        ).fetchone()
        update = f"UPDATE runs SET {column} = CAST(? AS TEXT) WHERE number = ?"
        db.execute(update, (value, number))
        try:
            yield int(number)
        finally:
            db.execute(update, (old, number))


@pytest.mark.parametrize("column", ["plan_json", "drive_json", "conditions_json", "result_json"])
@pytest.mark.parametrize("value", ['{"steps": [', "[]", b"\xff"])
def test_a_damaged_run_shows_what_can_be_read_and_the_lists_show_all(
    client: Browser, bench: Bench, column: str, value: str | bytes
) -> None:
    before = [run["number"] for run in client.get("/api/v1/runs").json["runs"]]
    with damaged(bench, column, value) as number:
        page = client.get(f"/runs/{number}")
        assert page.status_code == 503
        assert "damaged in the store (see: benchstick store check)" in page.text
        assert "What can still be read:" in page.text and " MB/s" in page.text
        answer = client.get(f"/api/v1/runs/{number}")
        assert (answer.status_code, answer.json["error"]["code"]) == (503, "damaged")
        for path in ("/", "/runs", "/drives", "/api/v1/runs"):
            assert client.get(path).status_code in (200, 303), path
        assert [run["number"] for run in client.get("/api/v1/runs").json["runs"]] == before
        for path in ("report.html", "report.pdf", "results.csv", "bundle", "export?format=json"):
            assert client.get(f"/runs/{number}/{path}").status_code in (200, 503), path


def test_a_run_without_a_state_is_damaged_in_the_list(client: Browser, bench: Bench) -> None:
    with damaged(bench, "state", "dune") as number:
        runs = {run["number"]: run["state"] for run in client.get("/api/v1/runs").json["runs"]}
        assert runs[number] == "damaged"
        assert client.get("/runs").status_code == 200
        assert client.get(f"/runs/{number}").status_code in (200, 503)
