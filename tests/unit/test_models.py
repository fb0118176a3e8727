"""Spec sheets: the contents of a file, which drives a sheet matches, spec vs. measured."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.errors import BadInput
from benchstick.store import database, spec_sheets
from benchstick.suites.spec_sheets import (
    Claim,
    Sheet,
    beside,
    matching,
    price_per_gb,
    read,
    suites_of,
)
from tests.results import document as document_of

TOML = """# A maker's page.
model = "Crucial X9 Pro*"
name = "X9 Pro 1 TB"
capacity = "1TB"
seq_read_mbps = 1050
rand_read_iops = 60000
raw_nand = "1024GiB"
warranty_years = 5
price = 89.9
currency = "eur"
price_date = 2026-01-31

[[claim]]
suite = "das"
result = "Home write"
value = 0.9
unit = "GB/s"
"""
SHEET = read(TOML.encode(), "x.toml")


def test_a_sheet_with_the_old_name_of_a_result_is_read() -> None:
    old = TOML.replace("\nresult =", "\nfigure =")
    assert "figure" in old and read(old.encode(), "x.toml") == SHEET


def test_a_sheet_is_read_unchanged() -> None:
    assert Sheet(
        model="Crucial X9 Pro*", name="X9 Pro 1 TB", capacity=10**12, seq_read_mbps=1050.0,
        rand_read_iops=60000.0, raw_nand=1 << 40, warranty_years=5.0, price=89.9, currency="EUR",
        price_date="2026-01-31", claims=(Claim("das", "Home write", 900.0, "MB/s"),),
    ) == SHEET  # fmt: skip
    assert Sheet.from_json(json.loads(json.dumps(SHEET.to_json()))) == SHEET
    assert read(b'model = "T7"', "x.toml").name == "T7"
    assert suites_of(SHEET) == ["cdm", "das"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('model = "Crucial X9 Pro*"\n', "", "line 1: model: is missing"),
        ('"Crucial X9 Pro*"', "7", "line 2: model: text is required"),
        ('"1TB"', '"large"', "line 4: capacity: 'large' is not a size"),
        ('"1TB"', "1000", "line 4: capacity: '1000' is less than 1 MB; write it with its unit"),
        ('"1TB"', "true", "line 4: capacity: "),
        ("1050", "'fast'", "line 5: seq_read_mbps: a number"),
        ("1050", "0", "line 5: seq_read_mbps: a number above 0"),
        ("1050", "nan", "line 5: seq_read_mbps: a number"),
        ("warranty_years = 5", "waranty_years = 5", "line 8: 'waranty_years': not one of claim"),
        ("warranty_years = 5", "warranty_years = 500", "line 8: warranty_years: a number from 0"),
        ('"eur"', '"euro"', "line 10: currency: three letters"),
        ('currency = "eur"\n', "", "line 9: currency: is required with price"),
        ("2026-01-31", '"last week"', "line 11: price_date: a date"),
        ("2026-01-31", "2026-13-31", "line 11: not TOML"),
        ('"das"', '"nix"', "line 14: suite: 'nix' is none"),
        ('"GB/s"', '"MiB/s"', "line 17: unit: 'MiB/s' is none"),
        ("value = 0.9", "value = -1", "line 16: value: a number"),
        ("value = 0.9\n", "", "line 13: value: is missing in a claim"),
        ("value = 0.9", "claimed = 0.9", "line 16: 'claimed': not one of suite"),
        ("[[claim]]", "[claim]", "claim: [[claim]] tables are required"),
        (TOML, "", "my.toml: empty"),
    ],
)
def test_an_error_is_reported_with_its_line(old: str, new: str, expected: str) -> None:
    text = TOML.replace(old, new)
    assert text != TOML
    with pytest.raises(BadInput) as caught:
        read(text.encode(), "my.toml")
    assert caught.value.message.startswith("my.toml: ")
    assert expected in caught.value.message
    assert "\n" not in caught.value.message


def test_a_sheet_fits_by_model_and_capacity() -> None:
    assert matching([SHEET], "CRUCIAL  X9 Pro 1TB", 1_000_204_886_016) == SHEET
    assert matching([SHEET], "Crucial X9", 10**12) is None
    assert matching([SHEET], "Crucial X9 Pro", 2 * 10**12) is None
    assert matching([SHEET], "Crucial X9 Pro", None) is None
    any_size, short = replace(SHEET, capacity=None), replace(SHEET, capacity=None, model="*")
    assert matching([SHEET, any_size, short], "Crucial X9 Pro", 10**12) == SHEET
    assert matching([short, any_size, short], "Crucial X9 Pro", 2 * 10**12) == any_size
    assert matching([short], "a model with [brackets]?*", None) == short


def test_a_gb_costs_what_it_costs() -> None:
    assert price_per_gb(SHEET, 5) == 0.0899
    assert price_per_gb(replace(SHEET, capacity=None), 2 * 10**12) == 0.04495
    assert price_per_gb(replace(SHEET, capacity=None), None) is None
    assert price_per_gb(replace(SHEET, price=None), 10**12) is None


def result(name: str, value: float | None, unit: str, **more: Any) -> dict[str, Any]:
    return document_of(
        {"name": name, "value": value, "unit": unit, "pass": None, "state": "valid",
         "reason": None, **more}
    )  # fmt: skip


def test_specs_are_compared_with_the_results_of_their_suite() -> None:
    results = [
        result("SEQ1M Q8T1 read", 999.0, "MB/s", **{"pass": 1}),
        result("SEQ1M Q8T1 read", 945.0, "MB/s"),
        result("RND4K Q32T1 read IOPS", 66_000.0, "IOPS"),
        result("Home write", 450.0, "MB/s"),
    ]
    speed, iops = beside(SHEET, "cdm", results)
    assert (speed["claimed"], speed["measured"], speed["percent"]) == (1050.0, 945.0, 90.0)
    assert (iops["result"], iops["percent"]) == ("RND4K Q32T1 read IOPS", 110.0)
    more = [*results, result("RND4K Q32T16 read IOPS", 60_000.0, "IOPS")]
    assert list(beside(SHEET, "cdm", more))[1]["result"] == "RND4K Q32T16 read IOPS"
    (home,) = beside(SHEET, "das", results)
    assert (home["percent"], home["better"]) == (50.0, "higher")
    (missing, _) = beside(SHEET, "cdm", [])
    assert (missing["percent"], missing["reason"]) == (None, "not measured in this run")
    bad = [result("SEQ1M Q8T1 read", 5.0, "MB/s", state="invalid", reason="buffered")]
    assert next(iter(beside(SHEET, "cdm", bad)))["reason"] == "buffered"


def test_sheets_are_kept_replaced_and_removed(bench_home: Path) -> None:
    drive = {"identity": {"model": "Crucial X9 Pro", "capacity": 10**12, "drive_key": "k"}}
    with contextlib.closing(database.open_writer(bench_home)) as db:
        first = spec_sheets.save(db, SHEET)
        second = spec_sheets.save(db, replace(SHEET, price=50.0))
        assert [number for number, _ in spec_sheets.list_sheets(db)] == [second]
        third = spec_sheets.save(db, replace(SHEET, name="other"), replaces=second)
        assert [sheet.name for _, sheet in spec_sheets.list_sheets(db)] == ["other"]
        document = spec_sheets.beside_drive(db, drive)
        assert document is not None
        assert {item["reason"] for item in document["claims"]} == {
            "no complete run of cdm yet", "no complete run of das yet",
        }  # fmt: skip
        with pytest.raises(BadInput, match="no such sheet"):
            spec_sheets.remove(db, first)
        spec_sheets.remove(db, third)
        assert spec_sheets.beside_drive(db, drive) is None


def test_the_command_line_takes_lists_and_removes_them(
    bench_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x9.toml"
    path.write_text(TOML, encoding="utf-8")
    assert cli.invoke(["model", "list"]) == 0
    assert "no spec sheets yet" in capsys.readouterr().out
    assert cli.invoke(["model", "import", str(path)]) == 0
    assert "saved X9 Pro 1 TB, for drives whose model is Crucial X9 Pro*" in capsys.readouterr().out
    assert cli.invoke(["model", "list", "--json"]) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert model["price_date"] == "2026-01-31"
    path.write_text(TOML.replace("1050", "x"), encoding="utf-8")
    for argv, message in ((["import", str(path)], f"{path}: line 5: not TOML"),
                       (["import", "gone.toml"], "gone.toml: No such file"),
                       (["remove", "77"], "model 77: there is no such sheet")):  # fmt: skip
        assert cli.invoke(["model", *argv]) == 2
        output = capsys.readouterr()
        assert message in output.err
        assert len(output.err.splitlines()) == 1
    assert cli.invoke(["model", "remove", str(model["id"])]) == 0
