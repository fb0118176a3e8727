"""Reference results: the contents of a file, and every error reported with its line."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from benchstick import cli
from benchstick.errors import BadInput
from benchstick.plan.tabular_input import line_of
from benchstick.store import database, reference_results, spec_sheets
from benchstick.suites.reference_results import MOST, Reference, read
from tests.unit.old_stores import as_version

HEAD = "drive,suite,result,value,unit,source\n"
ROW = "T7,cdm,SEQ1M Q8T1 read,1040,MB/s,a review\n"
REFERENCE = Reference("T7", "cdm", "SEQ1M Q8T1 read", 1040.0, "MB/s", "a review")
TOML = """# Published results.
suite = "cdm"
source = "a review"

[[result]]
drive = "T7"
result = "SEQ1M Q8T1 read"
value = 1040
unit = "MB/s"

[[result]]
drive = "T9"
result = "RND4K Q1T1 read latency"
value = 0.57
unit = "ms"
"""


def test_toml_and_csv_give_the_same_results() -> None:
    assert read((HEAD + ROW).encode(), "x.csv") == [REFERENCE]
    assert read(TOML.encode(), "X.TOML") == [
        REFERENCE, Reference("T9", "cdm", "RND4K Q1T1 read latency", 570.0, "us", "a review"),
    ]  # fmt: skip


def test_a_spreadsheets_csv_is_read() -> None:
    text = "\ufeffValue;Unit;Drive;Suite;Figure;Source\r\n1,04;GB/s;T7;cdm;SEQ1M Q8T1 read;a review"
    assert read(text.encode(), "x.csv") == [REFERENCE]
    quoted_csv = HEAD + '"T7, 1 TB",cdm,A,1.5,MB/s,"says ""fast"", page 2"\n\n'
    assert read(quoted_csv.encode(), "x.csv")[0].source == 'says "fast", page 2'


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("T7,cdm,A,fast,MB/s,x", "value: a number from 0 to 1e+15"),
        ("T7,cdm,A,nan,MB/s,x", "value: a number"),
        ("T7,cdm,A,1e400,MB/s,x", "value: a number"),
        ("T7,cdm,A,-1,MB/s,x", "value: a number"),
        ("T7,cdm,A,,MB/s,x", "value: a number"),
        ("T7,cdm,A,1,MiB/s,x", "unit: 'MiB/s' is none; there are MB/s"),
        ("T7,nosuch,A,1,MB/s,x", "suite: 'nosuch' is none; there are das"),
        (",cdm,A,1,MB/s,x", "drive: is empty"),
        ("T7,cdm,A,1,MB/s,", "source: is empty"),
        (f"{'T' * 201},cdm,A,1,MB/s,x", "drive: longer than 200"),
        ("T7,cdm,A\x01,1,MB/s,x", "result: has control characters"),
        ("T7,cdm,A,1,MB/s", "5 cells, 6 are required"),
        (ROW.strip(), "the same result as on line 2"),
        ('T7,"cdm', "not CSV"),
    ],
)
def test_an_error_in_a_row_is_reported_with_its_line(row: str, expected: str) -> None:
    with pytest.raises(BadInput) as caught:
        read((HEAD + ROW + row + "\n").encode(), "my.csv")
    assert caught.value.message.startswith("my.csv: line 3: ")
    assert expected in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("value = 0.57", "value = true", "line 14: value: a number"),
        ("value = 0.57", "value = inf", "line 14: value: a number"),
        ("value = 0.57", "speed = 1", "line 14: 'speed': not one of drive"),
        ("value = 0.57\n", "", "line 11: value: is missing"),
        ('suite = "cdm"', 'suite = "nix"', "line 2: suite: 'nix' is none"),
        ('suite = "cdm"', "suite = 7", "line 2: suite: text is required"),
        ('suite = "cdm"', 'suit = "cdm"', "line 2: 'suit': not one of result"),
        ('suite = "cdm"', "suite = ", "line 2: not TOML"),
        ('unit = "ms"', 'unit = ["ms"]', "line 15: unit: text is required"),
        (TOML, "result = 3", "line 1: result: [[result]] tables are required"),
        (TOML, "", "my.toml: has no results"),
        (TOML, "x = " + "[" * 5000, "my.toml"),
    ],
)
def test_an_error_in_toml_is_reported_with_its_line(old: str, new: str, expected: str) -> None:
    text = TOML.replace(old, new)
    assert text != TOML
    with pytest.raises(BadInput) as caught:
        read(text.encode(), "my.toml")
    assert caught.value.message.startswith("my.toml: ")
    assert expected in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("raw", "name", "expected"),
    [
        (b"", "x.csv", "x.csv: empty"),
        (HEAD.encode(), "x.csv", "x.csv: has no results"),
        (b"drive,value\n", "x.csv", "x.csv: line 1: the first row must name the columns drive, "),
        (b"\xff\n", "x.csv", "x.csv: line 1: not UTF-8"),
        (b"a\nb\n\xff", "x.toml", "x.toml: line 3: not UTF-8"),
        (b"x" * ((1 << 20) + 1), "x.csv", "larger than 1024 KiB"),
        (HEAD.encode(), "x.txt", "neither .toml nor .csv"),
        ((HEAD + "".join(ROW.replace("T7", f"T{n}") for n in range(MOST + 1))).encode(), "x.csv",
         f"at most {MOST}"),
    ],
    ids=lambda value: ascii(value)[:20],
)  # fmt: skip
def test_a_file_of_another_kind_is_reported(raw: bytes, name: str, expected: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(raw, name)
    assert expected in caught.value.message


def test_files_with_the_old_name_of_a_result_are_read() -> None:
    old = TOML.replace("[[result]]", "[[figure]]").replace("\nresult =", "\nfigure =")
    assert "result =" not in old and read(old.encode(), "x.toml") == read(TOML.encode(), "x.toml")
    assert read((HEAD.replace("result", "figure") + ROW).encode(), "x.csv") == [REFERENCE]


def test_a_line_is_found_in_its_table() -> None:
    assert line_of(TOML, "value", table="result", number=1) == 14
    assert line_of(TOML, None, table="result", number=0) == 5
    assert line_of(TOML, "source") == 3
    assert line_of(TOML, "nix", table="result", number=1) == 11


def test_they_are_kept_once_replaced_and_removed(bench_home: Path) -> None:
    other = Reference("T7", "das", "Home write", 5.0, "MB/s", "a review")
    with contextlib.closing(database.open_writer(bench_home)) as db:
        assert reference_results.add(db, [REFERENCE, other]) == 2
        newer = Reference(**{**REFERENCE.to_json(), "value": 1050.0})
        reference_results.add(db, [newer])
        rows = reference_results.list_references(db, "cdm")
        assert [(item["value"], item["drive"]) for item in rows] == [(1050.0, "T7")]
        assert len(reference_results.list_references(db)) == 2
        with pytest.raises(BadInput, match="reference 99: there is no such"):
            reference_results.remove(db, [rows[0]["id"], 99])
        assert len(reference_results.list_references(db)) == 2
        reference_results.remove(db, [rows[0]["id"]])
        assert [item["suite"] for item in reference_results.list_references(db)] == ["das"]
    with contextlib.closing(database.open_for_web(bench_home)) as web:
        reference_results.add(web, [REFERENCE])
        reference_results.remove(web, [reference_results.list_references(web, "cdm")[0]["id"]])


def test_a_store_that_is_not_migrated_yet_has_none(
    bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        as_version(old, 3)
        database.open_writer(bench_home).close()
    with contextlib.closing(database.open_reader(bench_home)) as db:
        assert reference_results.list_references(db) == []
        assert spec_sheets.list_sheets(db) == []
    with contextlib.closing(database.open_writer(bench_home)) as db:
        assert reference_results.add(db, [REFERENCE]) == 1


def test_the_command_line_takes_lists_and_removes_them(
    bench_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["reference", "list"]) == 0
    assert "no reference results yet" in capsys.readouterr().out
    assert not bench_home.exists()
    path = tmp_path / "mine.toml"
    path.write_text(TOML, encoding="utf-8")
    assert cli.invoke(["reference", "import", str(path)]) == 0
    assert "2 reference results saved" in capsys.readouterr().out
    assert cli.invoke(["reference", "list", "--suite", "cdm", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "benchstick/references/2"
    numbers = [item["id"] for item in document["references"]]
    path.write_text(TOML.replace("0.57", "'x'").replace("1040", "7"), encoding="utf-8")
    for argv, message in (
        (["import", str(path)], f"benchstick: {path}: line 14: value: a number"),
        (["import", str(tmp_path / "gone.csv")], "gone.csv: No such file"),
        (["import", str(tmp_path)], "Is a directory"),
        (["remove", "99"], "reference 99"),
        (["remove"], "Missing argument"),
    ):
        assert cli.invoke(["reference", *argv]) == 2
        output = capsys.readouterr()
        assert message in output.err
        assert len(output.err.splitlines()) == 1
    # Nothing of the file with an error was saved.
    assert cli.invoke(["reference", "list"]) == 0
    assert "1040" in capsys.readouterr().out
    assert cli.invoke(["reference", "remove", *map(str, numbers)]) == 0
    assert cli.invoke(["reference", "list", "--json"]) == 0
    assert '"references": []' in capsys.readouterr().out
