"""The check for bare participles as names."""

from __future__ import annotations

from pathlib import Path

import lint_names
import pytest


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("results = 1\nis_known = True\nwritten_bytes = 2\n", []),
        ("found = 1\n", [1]),
        ("x = 1\ndef told(): ...\n", [2]),
        ("def f(asked): ...\n", [1]),
        ("class A:\n    made: int\n", [2]),
        ("class A:\n    def b(self):\n        self._kept = 1\n", [3]),
        ("for seen in ():\n    pass\n", [1]),
        ("print(x.found, y['told'])\n", []),
    ],
)
def test_a_participle_is_found_wherever_a_name_is_given(
    tmp_path: Path, text: str, lines: list[int]
) -> None:
    path = tmp_path / "a.py"
    path.write_text(text)
    assert [line for _, line in lint_names.participles(path)] == lines


def test_each_name_is_reported_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("results = 1\ntold = 2\n")
    assert list(lint_names.check([path], tmp_path)) == [
        "a.py:2: told: name it by what it holds or does",
    ]
