"""CSV files that the bench writes: all of them, by one function."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from benchstick.plan.plain import plain

# What spreadsheets take for a formula; some take the wide forms for the same.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A header and a line for each row. Lines end in LF, which spreadsheets and shells read."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([safe_cell(value) for value in row])
    return file.getvalue()


def safe_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula, without control characters: model names come
    from the drive."""
    if not isinstance(value, str):
        return value
    quote = "'" if value[:1] in _FORMULA else ""
    return f"{quote}{plain(value)}"
