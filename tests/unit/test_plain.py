"""No control character of a drive, a bundle or a file name reaches a terminal."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.cli.common import print_json, print_line, print_table
from benchstick.plan.plain import one_line, plain, plain_output, under
from benchstick.plan.tabular_output import safe_cell
from benchstick.recipes import event_lines
from benchstick.store import database, settings, spec_sheets
from benchstick.suites import spec_sheets as sheets

# Escape, C1 (a CSI of one byte), DEL, bell, return, backspace, overrides of direction, half a pair.
EVIL = "a\x1b[2J\x9b31m\x7f\x07\rb\x08\u202e\u2066\u2028\ufeff\udc9b"
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\ufeff\ud800-\udfff]"
)


def test_every_control_character_is_shown_and_not_obeyed() -> None:
    for number in (*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x202E, 0x2066, 0xD800, 0xDFFF):
        letter = chr(number)
        assert plain(letter) == (letter if letter in "\t\n" else f"\\u{number:04x}")
        assert one_line(letter) == f"\\u{number:04x}"
    assert not OBEYED.search(plain(EVIL))
    ordinary = "Łódź 42 µs, 50 °C · █░ \U0001f600 日本 a\tb\r\nc\n"
    assert plain(ordinary) == ordinary


def test_json_on_stdout_stays_the_same_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"model": EVIL, "é": ["\x7f", "\x9b", "\U0001f600"]}
    with plain_output():
        print_json(document)
    out = capsys.readouterr().out
    assert not OBEYED.search(out)
    assert json.loads(out) == document


def test_a_cell_cannot_make_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with plain_output():
        print_table(("run", "model"), [(1, f"x\nrun 2  PASS{EVIL}")])
        print_line("a\nb")
    out = capsys.readouterr().out
    assert not OBEYED.search(out)
    assert len(out.splitlines()) == 3
    assert out.endswith("a\\u000ab\n")


def test_stderr_is_plain_and_the_streams_come_back() -> None:
    streams = sys.stdout, sys.stderr
    bytes_ = io.BytesIO()
    out = io.TextIOWrapper(bytes_, encoding="ascii")
    with contextlib.redirect_stderr(out):
        with plain_output():
            print(f"é {EVIL}", file=sys.stderr)
            # The program's own control characters, on purpose.
            under(sys.stderr).write("\r\x1b[K")
        assert sys.stderr is out
    out.flush()
    output = bytes_.getvalue()
    assert output.startswith(b"\\xe9 a\\u001b[2J\\u009b")
    assert output.endswith(b"\\udc9b\n\r\x1b[K")
    assert (sys.stdout, sys.stderr) == streams


@pytest.mark.parametrize(
    "argv",
    [
        ["recipe", "check", EVIL],
        ["recipe", "check", f"{EVIL}\nbenchstick: fine"],
        ["recipe", "show", EVIL],
        ["import", EVIL],
        ["reference", "import", EVIL],
        ["model", "import", EVIL],
        ["scanner", EVIL],
        ["show", EVIL],
        [EVIL],
        ["--nothing" + EVIL],
        ["run", "cdm", "--drive", "/dev/" + EVIL],
        ["export", "1", "--format", EVIL],
    ],
)
def test_errors_show_what_was_typed_on_one_plain_line(
    bench_home: Path, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    # An argument of bytes that are no Unicode comes as halves of pairs.
    assert cli.invoke(argv) == 2
    err = capsys.readouterr().err
    assert not OBEYED.search(err), err
    assert len(err.splitlines()) == 1


def test_lists_show_what_the_store_has(
    bench_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was imported, or written by an older bench."""
    sheet = sheets.read(b'name = "x"\nmodel = "y"\n[[claim]]\nfigure = "SEQ1M Q8T1 read"\n'
                        b'suite = "cdm"\nvalue = 1\nunit = "MB/s"\n', "x.toml")  # fmt: skip
    text = EVIL.replace("\udc9b", "")
    with contextlib.closing(database.open_writer(bench_home)) as db:
        spec_sheets.save(db, sheet)
        with db:
            sheet_json = json.dumps({**sheet.to_json(), "name": text})
            db.execute("UPDATE spec_sheets SET sheet_json = ?", (sheet_json,))
    for argv in (["model", "list"], ["model", "list", "--json"]):
        assert cli.invoke(argv) == 0
        out = capsys.readouterr().out
        assert "\\u001b[2J\\u009b31m" in out
        assert not OBEYED.search(out)


def test_an_uploaded_recipe_is_shown_plain(
    bench_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.toml"
    path.write_text("# \x9b31m\u202e\n[[suite]]\nname = 'cdm'\n[[limit]]\npeak = 'temperature'\n"
                    "op = '<='\nvalue = 70\n", encoding="utf-8")  # fmt: skip
    assert cli.invoke(["recipe", "show", str(path), "--toml"]) == 0
    out = capsys.readouterr().out
    assert not OBEYED.search(out)
    assert out.startswith("# \\u009b31m\\u202e\n")


@pytest.mark.parametrize("letter", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff20"])
def test_a_cell_of_csv_is_no_formula(letter: str) -> None:
    assert str(safe_cell(f"{letter}HYPERLINK(1)")).startswith("'")


def test_a_cell_of_csv_has_no_control_characters() -> None:
    file = io.StringIO()
    csv.writer(file).writerow([safe_cell(cell) for cell in (EVIL, -1.5, 3, None, "a\nb")])
    assert not OBEYED.search(file.getvalue().replace("\r\n", ""))
    row: list[Any] = next(csv.reader(io.StringIO(file.getvalue())))
    assert row[1:] == ["-1.5", "3", "", "a\nb"]


def test_an_event_line_has_no_delete() -> None:
    assert event_lines.line_of({"model": "a\x7fb"}) == 'model="a\\u007fb"'
    assert event_lines.line_of({"model": EVIL}).isprintable()


def test_settings_errors_are_plain(bench_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench_home.mkdir()
    text = 'autostart = "\x9bx"\n'
    with pytest.raises(settings.SettingsError):
        settings.read(text, "test")
    (bench_home / "benchstick.toml").write_text(text, encoding="utf-8")
    assert cli.invoke(["desk", "show"]) == 2
    assert not OBEYED.search(capsys.readouterr().err)
