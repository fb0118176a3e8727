"""The check for bare participles as names."""

from __future__ import annotations

from pathlib import Path

import lint_names
import pytest

PYTHON = [
    ("results = 1\nis_known = True\nwritten_bytes = 2\n", []),
    ("found = 1\n", [1]),
    ("x = 1\ndef told(): ...\n", [2]),
    ("def f(asked): ...\n", [1]),
    ("class A:\n    made: int\n", [2]),
    ("class A:\n    def b(self):\n        self._kept = 1\n", [3]),
    ("for seen in ():\n    pass\n", [1]),
    ("print(x.found, y['told'])\n", []),
    # Words in -ed: variables, parameters, attributes of `self`, Boolean fields.
    ("def f():\n    failed = 1\n", [2]),
    ("def f(*, removed): ...\n", [1]),
    ("def f():\n    return [used for used in ()]\n", [2]),
    ("def f():\n    with x as opened: ...\n", [2]),
    ("class A:\n    def b(self):\n        self._moved += 1\n", [3]),
    ("class A:\n    locked: bool = False\n", [2]),
    ("class A:\n    is_locked: bool\n    measured: float\n    REFUSED = 'refused'\n", []),
    ("def f(speed, seed, expected, used_bytes):\n    need = red = 1\n", []),
    ("def f(x):\n    x.failed += 1\n", []),
    ("page = render_template('a.html', runs=1,\n    wanted=2, added=3)\n", [2, 2]),
]
TEMPLATES = [
    ("{% set best = 1 %}{{ found }}{% for item in kept %}{{ item.told }}{% endfor %}", []),
    ("x\n{% set shown = 1 %}", [2]),
    ("{% set drawn %}\ntext{% endset %}", [1]),
    ("{% for one, used in x %}{% endfor %}", [1]),
    ("{% macro saved(name) %}{% endmacro %}", [1]),
    ("{% macro cell(kind,\n found) %}{% endmacro %}", [2]),
    ("\n{% with marked = 1 %}{% endwith %}", [2]),
    ("{# found #}{{ 'found' }}found = 1", []),
]
SCRIPTS = [
    ("const results = found;\nlet isOpen = told(made), left = 1;\n", []),
    ("const a = 1;\nconst found = 2;\n", [2]),
    ("let a = (b, c), shown = 1, d;\n", [1]),
    ("const { scanned_utc: scanTime, taken } = x;\n", [1]),
    ("const [a, [b, used = 2]] = x;\n", [1]),
    ("for (const added of items) {}\n", [1]),
    ("function named(a) {}\n", [1]),
    ("async function f(a,\n  failed = () => {}) {}\n", [2]),
    ("items.map((one, told) => one);\n", [1]),
    ("items.map(seen => seen.x);\n", [1]),
    ("class A {\n  zoomed() {}\n  b(drawn) {}\n}\n", [2, 3]),
    ("class A { b() {\n  this.timed = 1;\n  if (this.kept === 1) {} } }\n", [2]),
    ("try {} catch (told) {}\n", [1]),
    ("if (found) {}\nwhile (asked) {}\nmade(told);\n", []),
    ("// const found = 1\n/* let told */ const a = 'let made = 1', b = \"const x, kept\";\n", []),
    ("const a = `const found = ${items.map((told) => `${told}`)} let made`;\n", [1]),
    ("const a = x.replace(/'const found = /, '');\nconst kept = 1;\n", [2]),
]
SHELL = [
    ("size=1\nreport() { local file; }\n", []),
    ("local wanted missing\n", [1]),
    ("\tlocal -r size=1 packed=2\n", [1]),
    ("x=1\nlasted=$((x - 1))\n", [2]),
    ("[ -e x ] && found=1\n", [1]),
    ("for used in a b; do :; done\n", [1]),
    ("while read -r name told; do :; done\n", [1]),
    ("mapfile -t wanted < <(ls)\n", [1]),
    ("made() {\n", [1]),
    ('# found=1\necho --found=1 "$found"\n', []),
]


def lines_of(path: Path, text: str) -> list[int]:
    path.write_text(text)
    return [line for _, line in lint_names.participles(path)]


@pytest.mark.parametrize(("text", "lines"), PYTHON)
def test_a_participle_is_reported_in_python(tmp_path: Path, text: str, lines: list[int]) -> None:
    assert lines_of(tmp_path / "a.py", text) == lines


@pytest.mark.parametrize(("text", "lines"), TEMPLATES)
def test_a_participle_is_reported_in_a_template(
    tmp_path: Path, text: str, lines: list[int]
) -> None:
    assert lines_of(tmp_path / "a.html", text) == lines


@pytest.mark.parametrize(("text", "lines"), SCRIPTS)
def test_a_participle_is_reported_in_javascript(
    tmp_path: Path, text: str, lines: list[int]
) -> None:
    assert lines_of(tmp_path / "a.js", text) == lines


@pytest.mark.parametrize(("text", "lines"), SHELL)
@pytest.mark.parametrize("first", ["#!/bin/sh", "#!/bin/bash", "# shellcheck shell=sh"])
def test_a_participle_is_reported_in_a_shell_script(
    tmp_path: Path, first: str, text: str, lines: list[int]
) -> None:
    assert lines_of(tmp_path / "a", f"{first}\n{text}") == [line + 1 for line in lines]


def test_other_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\x89PNG found=1")
    assert lint_names.participles(tmp_path / "image") == []
    assert lines_of(tmp_path / "a.md", "found=1\n") == []


def test_each_name_is_reported_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("results = 1\ntold = 2\n")
    assert list(lint_names.check([path], tmp_path)) == [
        "a.py:2: told: name it by what it holds or does",
    ]
