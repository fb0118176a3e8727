"""The lines of a TOML text's keys: every key of what tomllib reads has one, and the right one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from benchstick.plan.toml_positions import NotToml, Path, TomlLines, parse

TEXT = '''# A comment with [[limit]] and name = "x".
name = "a # b"
about = """
[[suite]]
name = "no key"
"""
'single' = \'\'\'
x = 1\'\'\'
size = [
  ">= 1GB",  # first
  "<= 2GB",
]
when = 1979-05-27 07:32:00
point = { x = 1, "y.z" = { deep = [1, [2, 3]] } }

[match]
model = "T7"
after.eject = true
after.power."off" = false

[[suite]]
name = "cdm"

  [[ "suite" ]]
  params = { passes = "1" }
[[suite.step]]
a = 1
[suite.more]
b = 2
[[suite.step]]
a = 2
[x.y.z]
[x.y]
c = "\\u0041 \\" = \\\\"
[x]
"\'\'\'" = 5
'''


def paths_of(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every key and element of a document."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from paths_of(inner, (*path, key))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_key_has_its_line(ends: str) -> None:
    text = TEXT.replace("\n", ends)
    lines = TomlLines(text)
    assert {path for path, _ in lines.paths()} == set(paths_of(parse(text)))
    at = lines.of
    assert (at("name"), at("about"), at("single"), at("size"), at("when")) == (2, 3, 7, 9, 13)
    assert (at("size", 0), at("size", 1)) == (10, 11)
    assert at("point", "y.z", "deep", 1, 1) == 14
    assert (at("match"), at("match", "model")) == (16, 17)
    assert (at("match", "after"), at("match", "after", "power", "off")) == (18, 19)
    assert (at("suite"), at("suite", 0), at("suite", 1)) == (21, 21, 24)
    assert at("suite", 1, "params", "passes") == 25
    assert at("suite", 1, "step", 0, "a") == 27
    assert at("suite", 1, "more", "b") == 29
    assert at("suite", 1, "step", 1, "a") == 31
    assert (at("x"), at("x", "y"), at("x", "y", "z"), at("x", "y", "c")) == (35, 33, 32, 34)
    assert at("x", "'''") == 36


def test_what_is_not_there_has_the_line_of_what_it_should_be_in() -> None:
    lines = TomlLines(TEXT)
    assert lines.of("suite", 0, "params", "passes") == 21
    assert lines.of("suite", 7) == 21
    assert lines.of("nothing", 0) == 1
    assert lines.of() == 1


def test_a_line_ends_at_no_other_sign() -> None:
    # What Python's splitlines takes for the end of a line as well.
    text = 'a = "\u2028\u0085"  # \u2029\nb = 1\n'
    assert TomlLines(text).of("b") == 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a = 1\nb = ", 2, "not TOML: "),
        ("a = 1\na = 2\n", 2, "not TOML: "),
        (f"a = {'[' * 20000}", None, "nested too deeply"),
        (f"b = 1\n{'a.' * 30000}a = 1\n", 2, "dots"),
        (f"a = {'9' * 5000}", None, "not TOML: "),
    ],
)
def test_text_that_is_no_toml_is_reported_with_its_line(
    text: str, line: int | None, message: str
) -> None:
    with pytest.raises(NotToml) as caught:
        parse(text)
    assert caught.value.line == line
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_a_text_nested_deeply_has_lines_as_far_as_they_go() -> None:
    text = f"first = 1\na = {'[' * 200}{']' * 200}\nlast = 2\n"
    assert TomlLines(text).of("a", *([0] * 199)) == 2
    assert TomlLines(text).of("last") == 3


class Writer:
    """Writes TOML at random, and notes the line of each key that it wrote."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.text = ""
        self.lines: dict[Path, int] = {}

    def line(self) -> int:
        return self.text.count("\n") + 1

    def key(self, name: str) -> str:
        spelling = self.pick.choice([name, f'"{name}"', f"'{name}'"])
        return self.pick.choice([spelling, f" {spelling}\t"])

    def gap(self) -> None:
        """What may stand between items of an array."""
        self.text += self.pick.choice(["", " ", "\n", " # ] , } [x]\n\t", "\n\n"])

    def pairs(self, path: Path, count: int, *, inline: bool = False) -> None:
        for at in range(count):
            name = f"k{at}"
            names = [name, *(["d", "e"][: self.pick.randrange(3)])]
            for length in range(1, len(names) + 1):
                self.lines.setdefault((*path, *names[:length]), self.line())
            if inline and at:
                self.text += ", "
            self.text += ".".join(self.key(part) for part in names) + "="
            self.value((*path, *names), 3 if inline else 2, inline=inline)
            if not inline:
                self.text += self.pick.choice(["", " # x = 1", "\t"]) + "\n"

    def value(self, path: Path, depth: int, *, inline: bool = False) -> None:
        kind = self.pick.randrange(8 if depth < 4 else 6)
        if kind == 6:
            self.text += "["
            for at in range(self.pick.randrange(4)):
                if not inline:
                    self.gap()
                self.lines[*path, at] = self.line()
                self.value((*path, at), depth + 1, inline=inline)
                self.text += " ,"
            if not inline:
                self.gap()
            self.text += "]"
        elif kind == 7:
            self.text += "{ "
            self.pairs(path, self.pick.randrange(3), inline=True)
            self.text += " }"
        else:
            plain = ["1", "1.5e3", "true", "2026-01-31 10:00:00.5", '"a\\"]#"', "'[x] = \\'",
                     '""', "''", "inf"]  # fmt: skip
            over = ['"""\n[[t]]\nk0 = 1\\\n  ""x"""', "'''\n'' # \n'''", '"""a"""""', "''''''"]
            self.text += self.pick.choice(plain if inline else plain + over)

    def document(self) -> str:
        self.pairs((), self.pick.randrange(4))
        for at in range(self.pick.randrange(4)):
            self.text += self.pick.choice(["", "\n", "# [[no]]\n"])
            path: Path = (f"t{at}",)
            self.lines[path] = self.line()
            if self.pick.random() < 0.5:
                for number in range(1, 3):
                    self.lines[*path, number - 1] = self.line()
                    self.text += f"[[{self.key(f't{at}')}]] # x\n"
                    self.pairs((*path, number - 1), self.pick.randrange(3))
                    self.lines[*path, number - 1, "sub"] = self.line()
                    self.text += f"  [t{at}.{self.key('sub')}]\n"
                    self.pairs((*path, number - 1, "sub"), self.pick.randrange(3))
            else:
                self.text += f"[{self.key(f't{at}')}]\n"
                self.pairs(path, self.pick.randrange(4))
        return self.text


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_texts_made_at_random_have_the_lines_that_were_written(ends: str) -> None:
    keys = 0
    for seed in range(400):
        writer = Writer(seed)
        text = writer.document().replace("\n", ends)
        path_lines = dict(TomlLines(text).paths())
        assert path_lines == writer.lines, (seed, text)
        assert set(path_lines) == set(paths_of(parse(text))), (seed, text)
        keys += len(path_lines)
    assert keys > 4000
