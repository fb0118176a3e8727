"""With many runs and long records: which index answers, what is read, what a chart is sent.

`make bench` measures how fast that is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import bench_pages
import bench_store
import pytest

from benchstick.analysis import run_timeline as sessions
from benchstick.analysis.series import extremes
from benchstick.store import run_queries, run_reader, run_writer
from benchstick.store.database import open_reader, open_writer
from benchstick.store.run_results import Sample
from tests.web.browser_tab import BrowserTab
from tests.web.conftest import Bench, Browser
from webui.server.app import create_app

Statements = list[tuple[str, str]]
LONG = 3000
DIP, PEAK = 1234, 2001


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[Statements]:
    """(statement, its query plan) of all that is asked of `runs` while a page is made."""
    pairs: Statements = []

    def spying(home: object) -> object:
        db = open_reader(home)  # type: ignore[arg-type]

        def look(statement: str) -> None:
            if " FROM runs" in statement:
                with contextlib.closing(open_reader(home)) as other:  # type: ignore[arg-type]
                    rows = other.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
                pairs.append((statement, " / ".join(row["detail"] for row in rows)))

        db.set_trace_callback(look)
        return db

    monkeypatch.setattr("benchstick.protocol.local.open_reader", spying)
    yield pairs


@pytest.mark.parametrize(
    "path",
    ["/drives", "/drives/practice", "/drives/port:1-4:0", "/runs", "/runs?kind=practice",
     "/methods", "/runs/2", "/compare?runs=3,4", "/comparisons",
     "/comparisons?suite=cdm&kind=practice", "/api/v1/runs", "/api/v1/status",
     "/api/v1/drives/practice", "/runs?drive=practice", "/api/v1/runs?drive=2318E6C0A1F2"],
)  # fmt: skip
def test_no_page_passes_over_every_run(client: Browser, statements: Statements, path: str) -> None:
    assert client.get(path).status_code == 200
    assert statements
    for statement, plan in statements:
        # The scan of an index that holds running runs alone is none of all runs.
        whole = plan.replace("SCAN runs USING INDEX runs_running", "")
        assert "SCAN runs" not in whole, (statement, plan)


@pytest.fixture(scope="module")
def long_run(bench: Bench) -> int:
    """The practice run with a record of `LONG` seconds, one of nothing and one of much."""
    number: int = bench.numbers["practice"]
    with contextlib.closing(open_writer(bench.home)) as db:
        db.execute("DELETE FROM samples WHERE run = ?", (number,))
        byte_counts = {DIP: 0, PEAK: 9000}
        run_writer.RunRecord(db, number).samples(
            [
                Sample(n, n + 1.0 + (40 if n > 2500 else 0), 1.0, n // 600, 0,
                       byte_counts.get(n, 1000 + n % 7), 0, 0, 10, 0, 0, 1, 1.0)
                for n in range(LONG)
            ]
        )  # fmt: skip
    return number


def test_a_chart_is_sent_each_dip_and_peak_of_a_long_record(
    client: Browser, long_run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webui.pages.runs.LOOKED_AT", 1000)
    page = client.get(f"/runs/{long_run}").text
    assert 'data-every="3"' in page
    assert "minimum and maximum of every 3 samples" in page
    cursor, numbers, answers = -1, [], 0
    while True:
        answer = client.get(f"/api/v1/runs/{long_run}/samples?after={cursor}&every=30").json
        numbers += [sample["n"] for sample in answer["samples"]]
        cursor, answers = answer["next"], answers + 1
        assert answer["every"] == 30
        if not answer["more"]:
            break
    assert cursor == LONG - 1
    assert answers == 4
    assert numbers == sorted(set(numbers))
    assert {DIP, PEAK} <= set(numbers)
    assert {n // 30 for n in numbers} == set(range(LONG // 30))
    assert len(numbers) < LONG / 5


def test_a_record_with_a_hole_comes_to_its_end(bench: Bench) -> None:
    number = bench.numbers["lost"]
    with contextlib.closing(open_writer(bench.home)) as db:
        # As a bundle of another bench may have it.
        db.execute("UPDATE samples SET n = n + 1000000000 WHERE run = ? AND n > 20", (number,))
        last = run_queries.samples_count(db, number) - 1
        cursor, rounds = -1, 0
        while cursor < last:
            rows, cursor = run_queries.samples_reduced(db, number, cursor, 5, 10)
            rounds += 1
            assert rows
            assert rounds < 50


def test_an_every_that_is_none_is_refused(client: Browser, long_run: int) -> None:
    for text in ("0", "1001", "x"):
        answer = client.get(f"/api/v1/runs/{long_run}/samples?every={text}")
        assert answer.status_code == 400
        assert answer.json["error"]["field"] == "every"


def test_extremes_are_kept_in_order_and_one_of_each_part_at_least() -> None:
    columns = [[1, 1, 5, 0, 2, 2], [0, 0, 0, 0, 0, 0]]
    assert extremes([4, 5, 6, 7, 8, 13], columns, 4) == [0, 2, 3, 4, 5]
    assert extremes([], [[]], 4) == []


@pytest.mark.parametrize("most", [sessions.POINTS, 100])
@pytest.mark.parametrize("name", ["practice", "das", "slow"])
def test_the_store_reduces_a_session_as_python_does(
    bench: Bench, long_run: int, name: str, most: int
) -> None:
    number = bench.numbers[name]
    with contextlib.closing(open_reader(bench.home)) as db:
        timed_steps = sessions.timed_steps(run_reader.run_json(db, number)["plan"])
        samples = [item.to_json() for item in run_reader.samples_of(db, number)]
        reduced_session = run_queries.session(db, number, timed_steps, most)
    expected = sessions.session(samples, timed_steps, most)
    assert len(expected["write"]) > min(50, len(samples) - 1)
    for way in sessions.WAYS:
        assert [tuple(point) for point in reduced_session[way]] == [
            pytest.approx(tuple(point)) for point in expected[way]
        ]


def test_make_bench_waits_until_all_is_drawn(tab: BrowserTab, bench: Bench) -> None:
    drawing = bench_pages.draw(tab.page, tab.base, f"/runs/{bench.numbers['das']}")
    (points,) = drawing.points.values()
    sample_count = tab.page.evaluate("document.getElementById('chart').session.samples.length")
    assert 10 < sample_count <= points < 2 * sample_count + 100
    assert 0 < drawing.ms < 60_000
    assert not bench_pages.draw(tab.page, tab.base, "/methods").points


def test_make_bench_asks_every_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    numbers = bench_store.small(tmp_path / "home")
    try:
        # An error: a rule with a variable part and no known value for it.
        addresses = bench_pages.addresses(create_app(tmp_path / "home"), numbers)
    finally:
        numbers["lock"].release()
    assert {"/drives", "/api/v1/status", f"/api/v1/runs/{numbers['day']}/samples"} <= set(addresses)
