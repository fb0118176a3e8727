"""The content of a report, whatever its format: `html` and `pdf` take the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

# A number, with or without units behind it: `1061.4`, `982.0 (1.47 s)`, `1 min 5 s`. Names may
# start with one as well: `4 KiB write`, `2318E6C0A1F2`.
_NUMBER = re.compile(
    r"[-+±<]?\s*[0-9](?:[\W\d_])*(?:(?<![0-9])(?:IOPS|points|[^\W\d_]{1,3})(?![\w])[\W\d_]*)*"
)
# What a line on A4 has room for, and what is left free between two columns.
_LETTERS, _BETWEEN = 92, 2
_NOTHING = frozenset({"", "-", "–"})
# After the name of the drive under test: colours alone are lost on paper.
UNDER_TEST = " (under test)"


@dataclass(frozen=True)
class Heading:
    """Starts a part of the report."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph. `look` is plain, dim, note (something to know) or bad (something wrong)."""

    text: str
    look: str = "plain"


@dataclass(frozen=True)
class Big:
    """The headline: (label, value, unit, why it is not valid or complete, or empty)."""

    items: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True)
class Table:
    """A table of texts. Without `columns` it has names in its first column and no head. `texts` are
    the columns that hold no numbers, whatever their cells look like."""

    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    title: str = ""
    texts: frozenset[int] = frozenset()

    @property
    def width(self) -> int:
        """Columns of the widest row."""
        return max([len(self.columns), *map(len, self.rows)], default=0)

    def unbroken(self) -> frozenset[int]:
        """The columns in which no word need be broken: those of the shortest words, as many
        as fit next to each other on paper."""
        longest = []
        for at in range(self.width):
            cells = [row[at] for row in (self.columns, *self.rows) if at < len(row)]
            words = (word for cell in cells for word in re.split(r"[\s-]", cell))
            longest.append((max(map(len, words), default=0), at))
        room, columns = _LETTERS - _BETWEEN * self.width, set()
        for length, at in sorted(longest):
            room -= length
            if room < 0:
                break
            columns.add(at)
        return frozenset(columns)

    def right(self) -> frozenset[int]:
        """The columns that hold numbers, most of their cells at least: they are aligned right."""
        if not self.columns:
            return frozenset()
        columns = set()
        for at in set(range(self.width)) - self.texts:
            cells = [row[at].strip() for row in self.rows if at < len(row)]
            values = [cell for cell in cells if cell not in _NOTHING]
            if sum(bool(_NUMBER.fullmatch(cell)) for cell in values) > len(values) / 2:
                columns.add(at)
        return frozenset(columns)


@dataclass(frozen=True)
class Chart:
    """A chart in the format of `suites.charts`, its lines looked up, with a colour's name for
    each. `description` is what it shows, in words; `notes` what the drawing does not show."""

    chart: Json
    lines: Sequence[Json]
    looks: Sequence[str]
    description: str = ""
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        return str(self.chart["title"])


@dataclass(frozen=True)
class Bar:
    """One row of ranked bars.

    `place` is its rank, or a dash; `tail` follows its `name`, however short that is cut, and
    distinguishes drives of one name. `value` and `detail` (spread, state, reason) are texts.
    `length`, and `low` and `high` of its spread, are in percent of the longest. `look` is
    under-test (the drive under test), other or ref (not measured here).
    """

    place: str
    name: str
    value: str
    detail: str
    length: float
    low: float | None = None
    high: float | None = None
    look: str = "other"
    tail: str = ""

    @property
    def whole(self) -> str:
        """The name with all that follows it."""
        return f"{self.name}{self.tail}{UNDER_TEST if self.look == 'under-test' else ''}"


@dataclass(frozen=True)
class Ranks:
    """One result of several drives as bars, the best first. `title` names the result and its unit,
    `hint` which way is better."""

    title: str
    hint: str
    bars: Sequence[Bar]

    @property
    def description(self) -> str:
        """What the bars show, in words."""
        rows = [f"{bar.place} {bar.whole} {bar.value}" for bar in self.bars]
        return f"{self.title}, {self.hint}: {'; '.join(rows)}"


@dataclass(frozen=True)
class Verbatim:
    """Text as a terminal shows it, every space kept."""

    text: str


Part = Heading | Text | Big | Table | Chart | Ranks | Verbatim


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report. `lead` are the lines under the title, `foot` is the last line, `made_utc` the time
    in its metadata (ISO 8601): that of its last run, so that the same runs give the same file."""

    title: str
    parts: Sequence[Part]
    lead: Sequence[str] = ()
    foot: str = ""
    author: str = "Benchstick"
    made_utc: str | None = None

    def charts(self) -> list[Chart]:
        """Its charts, in order."""
        return [part for part in self.parts if isinstance(part, Chart)]
