"""The command line: exit codes, one clear line, JSON alone on stdout."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.cli.runs import print_run
from benchstick.plan.tabular_output import safe_cell
from benchstick.store import database
from benchstick.store.export import results_csv
from benchstick.store.legacy_names import fields_of_name
from tests.results import results_from


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nosuch"], "No such command"),
        (["run", "cdm"], "--drive"),
        (["run", "cdm", "--drive", "/dev/nosuch", "--dry-run"], "/dev/nosuch"),
        (["run", "nosuch", "--drive", "x", "--dry-run"], "no such suite"),
        (["run", "cdm", "--drive", "x", "--fs", "zfs"], "--fs"),
        (["run", "cdm", "--drive", "x", "--param", "size"], "NAME=VALUE"),
        (["show", "x"], "N"),
        (["export", "1", "--format", "xml"], "xml"),
        (["export", "1", "--format", "svg"], "--output"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    bench_home: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    assert cli.invoke(argv) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.startswith("benchstick: ")
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""


def test_commands_report_that_there_is_no_store_yet(
    bench_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["runs"]) == 0
    assert "no runs yet" in capsys.readouterr().out
    for argv in (["show", "1"], ["export", "1"]):
        assert cli.invoke(argv) == 2
        assert "no store yet" in capsys.readouterr().err
    assert not bench_home.exists()


def test_a_store_whose_pages_are_damaged_is_6(
    bench_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.open_writer(bench_home).close()
    path = bench_home / "store.db"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    for argv in (["runs"], ["show", "1"], ["export", "1"]):
        assert cli.invoke(argv) == 6
        assert "internal" not in capsys.readouterr().err


def test_names_that_are_too_long_or_no_unicode_are_bad_input(
    bench_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for argv in (
        ["run", "das", "--drive", "/dev/" + "x" * 5000, "--dry-run"],
        ["drive", "x" * 5000],
        ["drive", "\udcff"],
    ):
        assert cli.invoke(argv) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    monkeypatch.setenv("BENCHSTICK_HOME", "/tmp/" + "y" * 400)
    assert cli.invoke(["show", "1"]) in (2, 6)
    assert "internal" not in capsys.readouterr().err


def test_suites_as_json_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["suites", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "benchstick/suites/2"
    names = {suite["name"] for suite in document["suites"]}
    assert names >= {
        "das", "cdm", "atto", "asssd", "consistency", "sweep", "sustained", "pts", "erase"
    }  # fmt: skip


def test_an_internal_error_is_70_with_a_report_and_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail_import(_name: str) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("benchstick.cli.tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("benchstick.cli.importlib.import_module", fail_import)
    assert cli.invoke(["drives", "--erase", "SECRET"]) == 70
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    (report,) = tmp_path.glob("benchstick-error-*.txt")
    assert str(report) in captured.err
    text = report.read_text()
    assert "boom" in text
    assert "SECRET" not in text


def made_run(state: str | None) -> dict[str, Any]:
    """A run's document: a result with a drive state of its own, and one without."""
    result = {
        **fields_of_name("fob RND4K Q1T1 read", "MB/s"),
        "step": "s", "name": "fob RND4K Q1T1 read", "value": 1.0, "unit": "MB/s", "pass": None,
        "target": "block", "state": "valid", "reason": None, "detail": {"drive_state": "its own"},
    }  # fmt: skip
    return {
        "number": 7, "suite": "sweep", "state": "done", "practice": False, "reason": None,
        "drive": {"code": "S1", "identity": {"model": "M"}}, "result": None, "events": [],
        "conditions": {"target": "block"} | ({"state": state} if state else {}),
        "results": [result, {**result, "detail": {}, "pass": 1}], "temperatures": [],
        "plan": {"notes": []},
    }  # fmt: skip


def test_every_result_is_exported_with_the_drives_state() -> None:
    run = made_run("purged by NVMe Format, user data erase")
    rows = list(csv.DictReader(results_csv(run, results_from(run["results"])).splitlines()))
    assert [row["drive_state"] for row in rows] == [
        "its own", "purged by NVMe Format, user data erase",
    ]  # fmt: skip
    rows = list(
        csv.DictReader(
            results_csv(made_run(None), results_from(made_run(None)["results"])).splitlines()
        )
    )
    assert [row["drive_state"] for row in rows] == ["its own", ""]


def test_a_run_is_shown_with_the_drives_state(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(made_run("as found, not purged"))
    assert "state of the drive: as found, not purged" in capsys.readouterr().out.splitlines()
    print_run(made_run(None))
    assert "state of the drive" not in capsys.readouterr().out


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_csv_cells_are_no_formulas(value: str) -> None:
    assert safe_cell(value) == f"'{value}"
