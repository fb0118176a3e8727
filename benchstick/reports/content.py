"""What stands in a report, whatever it is written as: `html` and `pdf` take the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

# A number, with or without something behind it: `1061.4`, `982.0 (1.47 s)`, `–`.
_NUMBER = re.compile(r"[-+±<]?\s*[0-9]")
_NOTHING = frozenset({"", "-", "–"})


@dataclass(frozen=True)
class Heading:
    """Begins a part of the report."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph. `look` is plain, dim, note (something to know) or bad (something wrong)."""

    text: str
    look: str = "plain"


@dataclass(frozen=True)
class Big:
    """The headline: (label, value, unit, why it is not the whole truth or empty)."""

    items: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True)
class Table:
    """A table of texts. Without `columns` it has names in its first column and no head."""

    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    title: str = ""

    @property
    def width(self) -> int:
        """Columns of the widest row."""
        return max([len(self.columns), *map(len, self.rows)], default=0)

    def right(self) -> frozenset[int]:
        """The columns that hold numbers, most of their cells at least: they stand on the right."""
        if not self.columns:
            return frozenset()
        found = set()
        for at in range(self.width):
            cells = [row[at].strip() for row in self.rows if at < len(row)]
            told = [cell for cell in cells if cell not in _NOTHING]
            if sum(bool(_NUMBER.match(cell)) for cell in told) > len(told) / 2:
                found.add(at)
        return frozenset(found)


@dataclass(frozen=True)
class Chart:
    """A chart in the format of `suites.charts`, its lines looked up, with a colour's name for
    each. `told` says in words what it shows; `notes` what must be known and is not seen."""

    chart: Json
    lines: Sequence[Json]
    looks: Sequence[str]
    told: str = ""
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        return str(self.chart["title"])


@dataclass(frozen=True)
class Verbatim:
    """Text as a terminal shows it, every space kept."""

    text: str


Part = Heading | Text | Big | Table | Chart | Verbatim


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report. `lead` are the lines under the title, `foot` stands at its end, `made_utc` is the
    time that it tells of itself (ISO 8601): that of the run, so that the same run gives the same
    file."""

    title: str
    parts: Sequence[Part]
    lead: Sequence[str] = ()
    foot: str = ""
    author: str = "Benchstick"
    made_utc: str | None = None

    def charts(self) -> list[Chart]:
        """Its charts, in order."""
        return [part for part in self.parts if isinstance(part, Chart)]
