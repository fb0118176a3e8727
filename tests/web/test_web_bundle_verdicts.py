"""A bundle has the verdicts that use its run; they keep their bench."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.errors import BadInput
from benchstick.recipes.limits import Evidence
from benchstick.recipes.parser import read
from benchstick.recipes.verdict import Attempt, judge
from benchstick.reports import bundle
from benchstick.store import export, run_queries, run_reader, verdicts
from benchstick.store.database import open_reader, open_writer
from tests.web.conftest import Bench, browser
from tests.web.test_web_bundle import changed, keep_bundle, packed, repacked, unpacked
from tests.web.test_web_openapi import check, find
from tests.web.test_web_pages import words
from webui.server.app import create_app

Json = dict[str, Any]
STAMP = "2026-01-31T12:00:00.000Z"
RECIPE = b"""
[[suite]]
name = "cdm"
[[limit]]
fact = "transport"
op = "=="
value = ["usb-uas", "usb-bot"]
[[limit]]
change = "crc_errors"
op = "<="
value = 0
"""


@pytest.fixture
def own(bench: Bench, tmp_path: Path) -> Path:
    """A bench of a test's own, with runs."""
    shutil.copytree(bench.home, tmp_path / "own")
    return tmp_path / "own"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another bench, which has runs and a verdict of its own."""
    open_writer(tmp_path / "other").close()
    return tmp_path / "other"


def judged(run: Json) -> Json:
    """A verdict on the drive of a run: a limit that failed, and one that could not be judged."""
    drive = {**run["drive"], "transport": {"value": "sata"}}
    attempt = Attempt(
        evidence=Evidence(drive=drive, runs=[run]), seconds=12.5, started_utc=STAMP,
        ended_utc=STAMP,
        labels={"asset": "A-17"}, slot="slot 1",
    )  # fmt: skip
    return judge(read(RECIPE, "incoming.toml"), attempt)


def give(home: Path, run: int, times: int = 1) -> list[int]:
    """Verdicts on a run; their numbers."""
    with contextlib.closing(open_writer(home)) as db:
        return [verdicts.keep(db, judged(run_reader.run_json(db, run))) for _ in range(times)]


def of_run(home: Path, run: int) -> list[Json]:
    with contextlib.closing(open_reader(home)) as db:
        judgements: list[Json] = export.bundle(db, run)["verdicts"]
        return judgements


def test_a_verdict_is_the_same_on_the_other_bench(bench: Bench, own: Path, other: Path) -> None:
    run = bench.numbers["practice"]
    numbers = give(own, run, 2)
    there = of_run(own, run)
    assert [item["number"] for item in there] == numbers
    assert there[0]["verdict"] == "fail" and len(there[0]["limits"]) == 2
    here, new = keep_bundle(other, packed(own, run))
    assert new
    with contextlib.closing(open_reader(own)) as db:
        home = run_queries.bench_id(db)
    copies = of_run(other, here)
    assert [item.pop("imported") for item in copies] == [
        {"bench": home, "number": number} for number in numbers
    ]
    assert [item.pop("number") for item in copies] == [None, None]
    assert copies == [{k: v for k, v in item.items() if k != "number"} for item in there]


def test_page_json_and_export_of_the_run_show_them_on_both_benches(
    bench: Bench, own: Path, other: Path
) -> None:
    run = bench.numbers["practice"]
    (number,) = give(own, run)
    here, _ = keep_bundle(other, packed(own, run))
    with contextlib.closing(open_reader(own)) as db:
        first = run_queries.bench_id(db)
    for home, at, sentence in (
        (own, run, f"Verdict {number} by the recipe incoming uses"),
        (other, here, f"Verdict {number} of bench {first} by the recipe incoming uses"),
    ):
        client = browser(create_app(home))
        assert sentence in words(client.get(f"/runs/{at}").text)
        expected = of_run(home, at)
        for name, path in (("run", ""), ("export", "/export?format=json")):
            answer = client.get(f"/api/v1/runs/{at}{path}")
            assert answer.json["verdicts"] == expected
            check(find(name), answer)
    # The number there is none of the bench that took the run.
    assert "/verdicts/" not in client.get(f"/runs/{here}").text


def test_they_are_never_among_the_benchs_own(bench: Bench, own: Path, other: Path) -> None:
    run = bench.numbers["practice"]
    give(own, run, 3)
    keep_bundle(other, packed(own, run))
    with contextlib.closing(open_reader(other)) as db:
        assert verdicts.list_verdicts(db) == []
        with pytest.raises(BadInput, match="no such verdict"):
            verdicts.find(db, 1)
    # The bench's own verdict gets the first number, and is listed with them.
    assert give(other, 1) == [1]
    assert [item["number"] for item in of_run(other, 1)] == [1, None, None, None]


def test_the_next_bench_gets_the_verdict_of_the_first_one(
    bench: Bench, own: Path, other: Path, tmp_path: Path
) -> None:
    run = bench.numbers["practice"]
    give(own, run)
    first = packed(own, run)
    here, _ = keep_bundle(other, first)
    again = packed(other, here)
    assert unpacked(again)["verdicts.json"] == unpacked(first)["verdicts.json"]
    third = tmp_path / "third"
    keep_bundle(third, again)
    assert of_run(third, 1) == of_run(other, here)
    # Back at home it is the bench's own, once.
    assert keep_bundle(own, again) == (run, False)
    assert [item.get("imported") for item in of_run(own, run)] == [None]


def test_a_verdict_that_is_given_later_comes_with_the_next_bundle(
    bench: Bench, own: Path, other: Path
) -> None:
    run = bench.numbers["practice"]
    before = packed(own, run)
    assert "verdicts.json" not in unpacked(before)
    here, _ = keep_bundle(other, before)
    give(own, run)
    after = packed(own, run)
    assert keep_bundle(other, after) == (here, False)
    assert keep_bundle(other, after) == (here, False)
    assert len(of_run(other, here)) == 1
    forged_bundle = changed(
        after, "verdicts.json", lambda document: lie(document, reason="all is well")
    )
    with pytest.raises(BadInput, match="verdict 1 of that bench is here already, with another"):
        keep_bundle(other, forged_bundle)
    assert len(of_run(other, here)) == 1


def lie(document: Json, **changes: Any) -> Json:
    return {**document, "verdicts": [{**document["verdicts"][0], **changes}]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: {**document, "schema": "benchstick/verdicts-of-run/3"}, "schema"),
        (lambda document: {**document, "verdicts": {}}, "a list"),
        (lambda document: {**document, "verdicts": document["verdicts"] * 2}, "rising numbers"),
        (lambda document: lie(document, number=0), "rising numbers"),
        (lambda document: lie(document, number=True), "a whole number"),
        (lambda document: lie(document, runs=[]), "the run of the bundle"),
        (lambda document: lie(document, verdict="passed"), "one of fail, inconclusive, pass"),
        (lambda document: lie(document, failures=[{"code": "x"}]), "is missing"),
        (lambda document: lie(document, limits=[{}]), "is missing"),
        (lambda document: lie(document, drive={}), "is missing"),
        (lambda document: lie(document, labels={"asset": 1}), "expected text"),
        (lambda document: lie(document, ended_utc="yesterday"), "a time"),
        (lambda document: lie(document, seconds="1"), "expected a number"),
    ],
)
def test_what_is_no_verdict_keeps_the_whole_bundle_out(
    bench: Bench, own: Path, other: Path, change: Callable[[Json], Json], message: str
) -> None:
    run = bench.numbers["practice"]
    give(own, run)
    with pytest.raises(BadInput, match=message) as excinfo:
        keep_bundle(other, changed(packed(own, run), "verdicts.json", change))
    assert "verdicts.json" in excinfo.value.message
    with contextlib.closing(open_reader(other)) as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone()[0] == 0


def test_verdicts_that_the_manifest_does_not_name_are_not_read(
    bench: Bench, own: Path, other: Path
) -> None:
    run = bench.numbers["practice"]
    give(own, run)
    files = unpacked(packed(own, run))
    plain = unpacked(packed(bench.home, run))
    forged_bundle = repacked({**plain, "verdicts.json": files["verdicts.json"]}, hashes=False)
    with pytest.raises(BadInput, match=r"manifest\.json\.files"):
        bundle.read(io.BytesIO(forged_bundle))


def test_by_command(
    bench: Bench, own: Path, other: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    run = bench.numbers["practice"]
    give(own, run)
    keep_bundle(other, packed(own, run))
    monkeypatch.setenv("BENCHSTICK_HOME", str(other))
    assert cli.invoke(["verdict", "of", "1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("verdict 1 of bench ") and "FAIL: " in text
    assert cli.invoke(["verdict", "of", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == of_run(other, 1)
    assert cli.invoke(["verdict", "of", "2"]) == 2
