"""Reads small tables that people write, TOML or CSV, and reports the line of each error.

Every error is a BadInput of one line: `FILE: line N: what`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from benchstick.errors import BadInput
from benchstick.plan import toml_positions
from benchstick.plan.toml_positions import NotToml, TomlLines

MOST_BYTES = 1 << 20


def wrong(where: str, line: int | None, message: str, field: str | None = None) -> NoReturn:
    """BadInput about `line` of the file called `where`."""
    at = f"{where}: line {line}" if line else where
    raise BadInput(f"{at}: {message}", field=field or "file")


def decoded(raw: bytes, where: str) -> str:
    """The file's text. BadInput when it is too large or not UTF-8."""
    if len(raw) > MOST_BYTES:
        wrong(where, None, f"larger than {MOST_BYTES >> 10} KiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong(where, raw[: error.start].count(b"\n") + 1, "not UTF-8 text")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The TOML document. BadInput with the line where it is not TOML."""
    try:
        return toml_positions.parse(text)
    except NotToml as error:
        wrong(where, error.line, error.message)


def line_of(text: str, key: str | None, *, table: str | None = None, number: int = 0) -> int:
    """The line on which `key` is set in the `number`th (from 0) `[[table]]`, or before all tables;
    the first line of the table if it is not set there. `text` is TOML that `parse_toml` accepts."""
    within = () if table is None else (table, number)
    return TomlLines(text).of(*within, *(() if key is None else (key,)))


def parse_csv(
    text: str,
    where: str,
    columns: Sequence[str],
    old_names: Mapping[str, str] = MappingProxyType({}),
) -> list[tuple[int, dict[str, str]]]:
    """(line, cells by column) of each row below a header that names exactly `columns`, in any
    order. Commas or, where the header has them, semicolons between the cells; with these a
    decimal comma is taken as well. `old_names`: today's name of a column by its old one."""
    head = text.split("\n", 1)[0]
    mark = ";" if ";" in head and "," not in head else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    rows: list[tuple[int, dict[str, str]]] = []
    names: list[str] | None = None
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if names is None:
                names = [old_names.get(cell.lower(), cell.lower()) for cell in cells]
                if sorted(names) != sorted(columns):
                    wrong(where, reader.line_num,
                          f"the first row must name the columns {', '.join(columns)}")  # fmt: skip
            elif len(cells) != len(names):
                wrong(where, reader.line_num, f"{len(cells)} cells, {len(names)} are required")
            else:
                rows.append((reader.line_num, dict(zip(names, cells, strict=True))))
    except csv.Error as error:
        wrong(where, reader.line_num, f"not CSV: {error}")
    if names is None:
        wrong(where, None, "empty")
    return rows


def checked_text(value: Any, name: str, *, most: int = 200) -> str:
    """One line of text that is not empty. ValueError with what is required."""
    if not isinstance(value, str):
        raise ValueError(f"{name}: text is required")
    # Other invisible characters are allowed: an address may have them.
    if any(sign < " " or sign == "\x7f" for sign in value):
        raise ValueError(f"{name}: has control characters")
    if not value.strip():
        raise ValueError(f"{name}: is empty")
    if len(value) > most:
        raise ValueError(f"{name}: longer than {most} characters")
    return value.strip()


def checked_number(
    value: Any, name: str, *, low: float = 0.0, high: float = 1e15, above: bool = False
) -> float:
    """A finite number from `low` (`above`: more than it) to `high`, given as a number or as text.
    Otherwise ValueError."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}([.,]\d{1,20})?", value.strip()):
        value = float(value.strip().replace(",", "."))
    good = isinstance(value, int | float) and not isinstance(value, bool)
    # Not true of NaN either.
    if not good or not low <= value <= high:
        raise ValueError(f"{name}: a number from {low:g} to {high:g} is required")
    if above and value == low:
        raise ValueError(f"{name}: a number above {low:g} is required")
    return float(value)
