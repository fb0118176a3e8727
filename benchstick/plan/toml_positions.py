"""Reads TOML and finds the line of each of its keys, which `tomllib` does not report.

This is no second parser: `tomllib` checks the TOML and gives the values. The text that it accepted
is then searched for the places of its keys only.
"""

from __future__ import annotations

import bisect
import contextlib
import re
import tomllib
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]

# No key of ours has more than three parts. tomllib stores every prefix of a dotted key: one of
# 30 000 parts, which fits into 64 KiB, would take 4 GB. A line of addresses has dots as well.
_MOST_DOTS = 1000
# tomllib's message instead of a line where a string or an array does not end.
_AT_END = "(at end of document)"

# Between statements, and between the items of an array: blanks, line ends and comments.
_GAP = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BLANKS = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
# Up to two quotes may come right before the three that end it.
_MULTI_BASIC = re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"""(?:"{0,2})', re.DOTALL)
_MULTI_LITERAL = re.compile(r"'''(?:[^']|'{1,2}(?!'))*'''(?:'{0,2})")
# Numbers, dates (with a blank inside), true and false.
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRINGS = (_MULTI_BASIC, _MULTI_LITERAL, _BASIC, _LITERAL)


class NotToml(ValueError):
    """Why a text is not TOML, and on which line; None where the line is not known."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def parse(text: str) -> dict[str, Any]:
    """The document in `text`. Raises NotToml."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_DOTS:
            raise NotToml(number, f"not TOML that is read here: more than {_MOST_DOTS} dots")
    try:
        # At the very end of a text tomllib reports no line.
        return tomllib.loads(f"{text}\n")
    except RecursionError:
        raise NotToml(None, "nested too deeply") from None
    except ValueError as error:
        at = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        message = str(error)[: at.start()] if at else str(error)[:200]
        error_line = int(at[1]) if at else None
        if message.endswith(_AT_END):
            error_line = text.rstrip().count("\n") + 1
        raise NotToml(error_line, f"not TOML: {message}") from None


class TomlLines:
    """The lines, from 1, of the keys of a text that `parse` accepts."""

    def __init__(self, text: str) -> None:
        # As tomllib does; no other character ends a line.
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._breaks = [index for index, sign in enumerate(self._text) if sign == "\n"]
        self._lines: dict[Path, int] = {}
        # How many elements each array of tables has so far.
        self._elements: dict[Path, int] = {}
        # Nested too deeply for this walk, though not for tomllib's: lines as far as it came.
        with contextlib.suppress(RecursionError):
            self._walk()

    def of(self, *path: str | int) -> int:
        """The line of a key (or of an array's element, by its index), that of its table where the
        key is missing, and 1 where the table is missing as well."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:
                return self._lines[path[:length]]
        return 1

    def paths(self) -> Iterator[tuple[Path, int]]:
        """Every key and element with its line, in the order of the text."""
        yield from self._lines.items()

    def _line(self) -> int:
        return bisect.bisect_left(self._breaks, self._at) + 1

    def _skip(self, what: re.Pattern[str]) -> str:
        match = what.match(self._text, self._at)
        if match is None:
            raise ValueError("not the TOML that tomllib took")
        self._at = match.end()
        return match[0]

    def _is(self, mark: str) -> bool:
        """Whether `mark` is next, which is then passed."""
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        return True

    def _walk(self) -> None:
        table: Path = ()
        while True:
            self._skip(_GAP)
            if self._at >= len(self._text):
                return
            line = self._line()
            if self._is("[["):
                table = self._header(line, array=True)
            elif self._is("["):
                table = self._header(line, array=False)
            else:
                self._pair(table)

    def _header(self, line: int, *, array: bool) -> Path:
        parts = self._key()
        self._is("]]" if array else "]")
        path: Path = ()
        for part in parts[:-1]:
            path = self._newest((*path, part), line)
        path = (*path, parts[-1])
        if not array:
            # What was only a part of another header's name has its own line now.
            self._lines[path] = line
            return path
        self._lines.setdefault(path, line)
        number = self._elements.get(path, 0)
        self._elements[path] = number + 1
        self._lines[*path, number] = line
        return (*path, number)

    def _newest(self, path: Path, line: int) -> Path:
        """A table on the way to another; of an array of tables its last element."""
        self._lines.setdefault(path, line)
        count = self._elements.get(path)
        return path if count is None else (*path, count - 1)

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_BLANKS)
            begin = self._text[self._at]
            if begin in "\"'":
                raw = self._skip(_BASIC if begin == '"' else _LITERAL)
                # Whatever escapes it has.
                parts.append(str(tomllib.loads(f"key = {raw}")["key"]))
            else:
                parts.append(self._skip(_BARE_KEY))
            self._skip(_BLANKS)
            if not self._is("."):
                return parts

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = table
        for part in self._key():
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._is("=")
        self._skip(_BLANKS)
        self._value(path)

    def _value(self, path: Path) -> None:
        if self._is("["):
            number = 0
            while not self._ends("]"):
                self._lines[*path, number] = self._line()
                self._value((*path, number))
                number += 1
        elif self._is("{"):
            while not self._ends("}"):
                self._pair(path)
        elif self._text[self._at] in "\"'":
            for pattern in _STRINGS:
                match = pattern.match(self._text, self._at)
                if match is not None:
                    self._at = match.end()
                    return
            raise ValueError("not the TOML that tomllib took")
        else:
            self._skip(_SCALAR)

    def _ends(self, mark: str) -> bool:
        """Skip what is between two items; whether `mark`, the end, came."""
        self._skip(_GAP)
        if self._is(","):
            self._skip(_GAP)
        return self._is(mark)
