"""A store and a bundle of an earlier version read back with every value equal (tests/data)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.data import baseline
from tests.data.baseline import Row, Values

MAX_LINES = 20


@pytest.fixture(scope="module")
def table() -> list[Row]:
    return baseline.read_table()


def differences(rows: list[Row], values: Values) -> list[str]:
    """What is missing or differs, one line each."""
    missing = [f"{row.item}: {row.key[1]}: is missing" for row in rows if row.key not in values]
    changes = [
        f"{row.item}: {row.key[1]}: {values[row.key][:200]} instead of {row.value[:200]}"
        for row in rows
        if row.key in values and values[row.key] != row.value
    ]
    return missing + changes


def is_of_bundle(row: Row) -> bool:
    return row.item.startswith("bundle")


def test_every_value_of_an_earlier_store_is_read_back(table: list[Row], tmp_path: Path) -> None:
    baseline.make_store(tmp_path / "home")
    rows = [row for row in table if not is_of_bundle(row)]
    wrong = differences(rows, baseline.store_values(tmp_path / "home"))
    assert not wrong, "\n".join([f"{len(wrong)} of {len(rows)} values:", *wrong[:MAX_LINES]])


def test_every_value_of_an_earlier_bundle_is_read_back(table: list[Row], tmp_path: Path) -> None:
    rows = [row for row in table if is_of_bundle(row)]
    wrong = differences(rows, baseline.bundle_values(tmp_path / "home"))
    assert not wrong, "\n".join([f"{len(wrong)} of {len(rows)} values:", *wrong[:MAX_LINES]])


def test_the_table_has_each_kind_of_value(table: list[Row]) -> None:
    """The comparison is worth something only while the table is complete."""
    assert len({row.key for row in table}) == len(table)
    by_name = {(row.item, row.old): row.value for row in table}

    def values_of(name: str, kind: str) -> set[str]:
        return {
            json.loads(row.value)
            for row in table
            if row.old == name and row.item.startswith(f"{kind} ")
        }

    suites = {"cdm", "das", "atto", "consistency", "sustained", "erase", "sweep"}
    assert values_of("suite", "run") == suites
    assert values_of("state", "run") == {"done", "cancelled", "interrupted"}
    assert values_of("verdict", "verdict") == {"pass", "fail", "inconclusive"}
    for number in (1, 2, 3, 5):
        assert int(by_name[f"run {number}", "samples.count"]) > 0
        assert by_name[f"run {number}", "figures[0].state"] == '"valid"'
    assert float(by_name["run 5", "temperatures[0].celsius"]) > 30
    full = {"labels", "tokens", "scans", "slots", "purges", "queues", "queue_entries", "recipes",
            "imports", "upload_answers", "outbox", "host_settings", "answers"}  # fmt: skip
    filled_tables = {row.item.removeprefix("table ") for row in table if row.old.startswith("[0].")}
    assert full <= filled_tables


def test_a_value_that_changed_or_is_missing_is_reported(tmp_path: Path) -> None:
    rows = [Row("run 1", "figures[0].value", "results[0].value", "1.5"),
            Row("run 1", "state", "", '"done"'), Row("run 1", "why", "", "null")]  # fmt: skip
    values = {("run 1", "results[0].value"): "1.5", ("run 1", "state"): '"failed"'}
    assert differences(rows, values) == [
        "run 1: why: is missing", 'run 1: state: "failed" instead of "done"',
    ]  # fmt: skip


def test_a_rename_gives_new_names_and_keeps_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.data import make_baseline

    monkeypatch.setattr(baseline, "TABLE", tmp_path / "values.tsv")
    rows = [Row("run 1", "figures[12].value", "", "1.5"),
            Row("run 2", "figures[3].why", "", "null"),
            Row("settings", "port", "", '"a \\t b"')]  # fmt: skip
    baseline.write_table(rows)
    assert make_baseline.rename("figures[*].", "results[*].", "run 1") == 1
    assert [row.key for row in baseline.read_table()] == [
        ("run 1", "results[12].value"), ("run 2", "figures[3].why"), ("settings", "port"),
    ]  # fmt: skip
    assert make_baseline.rename("results[*].value", "results[*].number") == 1
    after = baseline.read_table()
    assert (after[0].old, after[0].new) == ("figures[12].value", "results[12].number")
    assert [row.value for row in after] == [row.value for row in rows]
