"""The three paths of docs/architecture.md: the calls and conversions of real runs are as listed."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchstick import cli
from benchstick.reports import formatting
from benchstick.store import database, export, run_reader
from tests.host.bench import QUICK_CDM, Bench
from tests.host.value_profile import CLONE, Call, Follower
from webui.server.app import create_app

TEXT = (CLONE / "docs/architecture.md").read_text(encoding="utf-8")
CDM, LIMIT, DRIVE = "A result of CrystalDiskMark", "A limit of a recipe", "A drive from the command"
LOCKED = ["drives.discover.reidentify", "drives.guard._fresh", "drives.guard._check_guard"]


class Row(NamedTuple):
    """One function of a path, with the form of the value before and after it."""

    function: str
    before: str
    after: str


def section(title: str) -> str:
    return TEXT.split(f"### {title}")[1].split("\n##")[0]


def rows_of(title: str) -> list[Row]:
    """The rows of a path in the document."""
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in section(title).splitlines()
        if line.startswith("| `")
    ]
    return [Row(*(cell.strip("`") if cell.count("`") == 2 else cell for cell in row))
            for row in rows]  # fmt: skip


# At most so many conversions, or hops of a drive.
LIMITS = {CDM: 6, LIMIT: 5, DRIVE: 8}


def most(title: str) -> int:
    """The limit of a path, which the document states too."""
    match = re.search(r"at most (\d+)", section(title), re.IGNORECASE)
    assert match is not None and int(match[1]) == LIMITS[title]
    return LIMITS[title]


def conversions(rows: Sequence[Row]) -> int:
    """How often the form changes. Each function starts with the form that the one before left."""
    for one, following in itertools.pairwise(rows):
        assert following.before == one.after, f"{following.function} does not continue the path"
    return sum(row.before != row.after for row in rows)


def is_typed(form: str) -> bool:
    return re.fullmatch(r"\w+\.\w+", form) is not None


def check_forms(rows: Sequence[Row], calls: Sequence[Call]) -> None:
    """Each function gets and returns the value in the listed form, and they follow each other."""
    at = 0
    for row in rows:
        fitting = [
            number
            for number, call in enumerate(calls)
            if number >= at
            and call.function == row.function
            and (
                not is_typed(row.before)
                or row.before in (call.variables if row.after == "text" else call.arguments)
            )
            and (not is_typed(row.after) or row.after in call.result)
        ]
        others = [call for call in calls if call.function == row.function]
        assert fitting, f"{row}: not so in the run, which has {others}"
        at = fitting[0]


def all_forms(title: str) -> set[str]:
    """Every form that the section names."""
    return set(re.findall(r"`((?:[A-Z][A-Za-z]+|dict)\.[a-z_]+)`", section(title))) - {"Cdm.result"}


@pytest.fixture
def own(own_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A bench whose commands run in this process."""
    for name, value in own_bench.environment.items():
        if name.startswith("BENCHSTICK_"):
            monkeypatch.setenv(name, value)
    yield own_bench


def third_totals() -> Any:
    """The speed of the first counted pass: the layout and the preparing pass are before it."""
    speeds: list[Any] = []

    def start(function: str, result: Any) -> float | None:
        if function == "engine.measure.fio.read_output" and result is not None:
            speeds.append(result[0].mbps)
        return speeds[2] if len(speeds) == 3 else None

    return start


def test_a_result_and_a_drive_take_the_listed_paths(own: Bench) -> None:
    rows = rows_of(CDM)
    page, csv_rows = rows[:-1], [*rows[:-3], rows[-1]]
    to_document = "plan.result.Result.to_json"
    functions = {*(row.function for row in rows), to_document}
    argv = [*own.practice("cdm", *QUICK_CDM, "--param", "profile=demo", "--target", "block")]
    hold = {"drives.guard._lock_file", *LOCKED, "drives.guard._check_medium"}
    with Follower({*functions, *hold}, start=third_totals()) as follower:
        assert cli.invoke(argv) == 0
        app = create_app(own.home)
        answer = app.test_client().get("/runs/1")
        with contextlib.closing(database.open_reader(own.home)) as db:
            document, results = run_reader.run_json(db, 1), run_reader.results_of(db, 1)
            text = export.results_csv(document, results)
    value = follower.value
    assert value is not None
    # The texts at the ends.
    assert answer.status_code == 200
    assert f'<div class="v">{formatting.speed(value)}<small>' in answer.text
    assert f",{value!r}," in text
    (cell,) = [item for item in results if item.pass_no is None and item.value == value]
    assert (cell.test, cell.direction) == ("SEQ1M Q8T1 read", "read")
    check_forms(page, follower.calls)
    check_forms(csv_rows, follower.calls)
    assert conversions(page) <= most(CDM)
    assert conversions(csv_rows) <= most(CDM)
    # No other form is on the way, and the run reads no result back before it is complete.
    assert set(follower.returned) == all_forms(CDM)
    order = [call.function for call in follower.calls]
    stored, read = "store.run_writer.RunRecord.results", "store.run_reader.results_of"
    assert order.index(stored) < order.index(read)
    # Documents are written of results, and never read by the run.
    assert order.index(read) < order.index(to_document)
    assert "plan.result.result_from_json" not in follower.counts

    hops = [row[1].strip("`") for row in table(DRIVE)]
    stack = next(stack for command, stack in follower.stacks if "--rw=write" in command)
    stack = stack[stack.index(hops[0]) :]
    modules = [name.rsplit(".", 2 if name.split(".")[-2][0].isupper() else 1)[0] for name in stack]
    entered = [name for at, name in enumerate(stack) if not at or modules[at] != modules[at - 1]]
    assert entered == hops
    assert len(hops) <= most(DRIVE)
    # With the lock held: one scan and one check.
    of_hold = [name for name in order if name in hold]
    locked = of_hold.index("drives.guard._lock_file")
    assert of_hold[locked + 1 : of_hold.index("drives.guard._check_medium")] == LOCKED
    for name in ("drives.guard._fresh", "drives.guard._check_guard"):
        assert f"`{name}`" in section(DRIVE)


def table(title: str) -> list[list[str]]:
    """The numbered rows of a section."""
    return [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in section(title).splitlines()
        if re.match(r"\| \d", line)
    ]


RECIPE = """
[[suite]]
name = "cdm"
params = { passes = 1, time = 1, interval = 0, size = "32MiB", profile = "demo", only = "read" }
[[limit]]
figure = "SEQ1M Q8T1 read"
op = ">="
value = 0.4375
unit = "MB/s"
"""


def test_a_limit_takes_the_listed_path(
    own: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, file, followed = rows_of(LIMIT), tmp_path / "my.toml", tmp_path / "followed.json"
    functions = {row.function for row in rows}
    file.write_text(RECIPE, encoding="utf-8")
    monkeypatch.setattr(
        "benchstick.qa.parallel_drives.COMMAND",
        (sys.executable, "-m", "tests.host.value_profile", str(followed), "0.4375", *functions),
    )
    monkeypatch.setenv("PYTHONPATH", str(CLONE))
    verdict = tmp_path / "verdict.json"
    argv = ["qa", str(file), "--drive", "practice", "--erase", "practice", "--json"]
    with (
        verdict.open("w", encoding="utf-8") as out,
        contextlib.redirect_stdout(out),
        Follower(functions, 0.4375) as follower,
    ):
        code = cli.invoke(argv)
    assert code == 0
    child = json.loads(followed.read_text(encoding="utf-8"))
    calls = [*follower.calls, *(Call(**call) for call in child["calls"])]
    check_forms(rows, calls)
    assert conversions(rows) <= most(LIMIT)
    assert {*follower.returned, *child["returned"]} == all_forms(LIMIT)
    # Parsed once, by the process of the command.
    assert [call.function for call in calls].count("recipes.parser.read") == 1
    (limit,) = json.loads(verdict.read_text(encoding="utf-8"))["verdicts"][0]["limits"]
    assert (limit["required"], limit["state"]) == (0.4375, "held")


def test_a_changed_form_or_a_missing_call_is_detected() -> None:
    rows = [Row("a.read", "text", "Totals.mbps"), Row("a.store", "Totals.mbps", "Result.value")]
    good = [Call("a.read", [], ["Totals.mbps"]), Call("a.store", ["Totals.mbps"], ["Result.value"])]
    check_forms(rows, good)
    assert conversions(rows) == 2
    for bad in (good[:1], good[::-1], [good[0], Call("a.store", ["dict.mbps"], ["Result.value"])]):
        with pytest.raises(AssertionError, match="not so in the run"):
            check_forms(rows, bad)
    with pytest.raises(AssertionError, match="does not continue"):
        conversions([rows[0], rows[1]._replace(before="dict.mbps")])
