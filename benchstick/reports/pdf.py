"""A report as PDF, A4, made by our own code: there is no browser on the stick.

Its letters are those of the standard fonts (WinAnsi). Any other letter is written as its code,
`[U+6F22]`, and the end of the file has a note. docs/decisions/reports.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from benchstick.reports import bars
from benchstick.reports.content import (
    Big,
    Chart,
    Heading,
    Ranks,
    Report,
    Table,
    Text,
    Verbatim,
)
from benchstick.reports.drawing import draw_chart
from benchstick.reports.metrics import escaped, shortened, width_of, wrapped
from benchstick.reports.pdf_file import BOLD, FIXED, HEIGHT, REGULAR, WIDTH, Page, build_pdf

MARGIN, TOP, BOTTOM = 42.0, 46.0, 52.0
ROOM = WIDTH - 2 * MARGIN
INK, DIM, LINE = "#000000", "#444b52", "#b8bfc6"
_CELL, _PAD = 8.0, 5.0
# A cell is never higher than a page: the HTML report has the rest of a longer one.
_LONGEST = 600
_BIG_ROW = 4
# A table that is no higher is not broken over two pages.
_MAX_UNBROKEN = 180.0
ESCAPED = (
    "Letters that the fonts of a PDF do not have are written as their Unicode codes, such as "
    "[U+6F22]; the HTML report shows the letters."
)
CUT_NOTE = (
    f"Texts of more than {_LONGEST} letters in tables are cut; the HTML report and the JSON have "
    "them."
)


def document(report: Report) -> bytes:
    """The whole file."""
    printable = _escaped(report)
    pages = _laid_out(printable, [ESCAPED] if printable != report else [])
    return build_pdf(pages, title=report.title, author=report.author, made_utc=report.made_utc)


def _escaped(value: Any) -> Any:
    """A report, or a part of one, with every text in letters that the fonts have."""
    match value:
        case None | int() | float():
            return value
        case str():
            return escaped(value)
        case list() | tuple():
            return type(value)(map(_escaped, value))
        case Mapping():
            return {name: _escaped(item) for name, item in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in fields(value)]
            return replace(value, **{name: _escaped(getattr(value, name)) for name in names})
    return value


def _laid_out(report: Report, notes: Sequence[str]) -> list[Page]:
    flow = _Flow()
    flow.lines(wrapped(_truncate(report.title), ROOM, 17, BOLD), 17, font=BOLD)
    for line in report.lead:
        flow.lines(wrapped(line, ROOM, 9), 9, colour=DIM)
    flow.rule()
    for part, after in zip(report.parts, [*report.parts[1:], None], strict=True):
        match part:
            case Heading():
                flow.heading(part.text, _height(after))
            case Text():
                flow.paragraph(part)
            case Big():
                flow.big(part)
            case Table():
                flow.table(part)
            case Chart():
                flow.chart(part)
            case Ranks():
                flow.ranks(part)
            case Verbatim():
                flow.verbatim(part)
    flow.space(8)
    for note in [*notes, *([CUT_NOTE] if flow.is_cut else [])]:
        flow.lines(wrapped(note, ROOM, 8), 8, colour=INK)
    flow.lines(wrapped(report.foot, ROOM, 8), 8, colour=DIM)
    for number, page in enumerate(flow.pages, 1):
        name = shortened(report.title, ROOM * 0.75, 8)
        page.text(MARGIN, HEIGHT - 26, name, 8, colour=DIM)
        label = f"Page {number} of {len(flow.pages)}"
        page.text(WIDTH - MARGIN, HEIGHT - 26, label, 8, colour=DIM, anchor="end")
    return flow.pages


def _height(part: object) -> float:
    """How much of a part must be on the page of its heading."""
    match part:
        case Chart():
            drawing = draw_chart(part)
            notes = [line for note in part.notes for line in wrapped(note, ROOM, 8)]
            return 26 + drawing.height * ROOM / drawing.width + 10.4 * len(notes)
        case Ranks():
            made_bars = bars.draw_bars(part)
            return 16 + made_bars.height * ROOM / made_bars.width
        case Table():
            return _TableLayout.of(part).unbroken_height()
    # The first lines of a text.
    return 56


def _truncate(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 6] + "… [cut]"


class _Flow:
    """Puts one part under the other, and starts a new page where one is full."""

    def __init__(self) -> None:
        self.pages = [Page()]
        self.y = TOP
        self.is_cut = False

    @property
    def page(self) -> Page:
        return self.pages[-1]

    def take(self, height: float) -> float:
        """The upper edge of the next `height` points, on a new page if this one has too few."""
        if self.y + height > HEIGHT - BOTTOM and self.y > TOP:
            self.pages.append(Page())
            self.y = TOP
        begin = self.y
        self.y += height
        return begin

    def keep(self, height: float) -> None:
        """Start a new page unless this one has `height` points left."""
        if self.y + height > HEIGHT - BOTTOM and self.y > TOP:
            self.pages.append(Page())
            self.y = TOP

    def space(self, height: float) -> None:
        """Some room, but not at the top of a page."""
        if self.y > TOP:
            self.y += height

    def lines(
        self, lines: Sequence[str], size: float, *, font: str = REGULAR, colour: str = INK,
        indent: float = 0.0,
    ) -> None:  # fmt: skip
        """Lines of text, one under the other."""
        for line in lines:
            begin = self.take(size * 1.3)
            self.page.text(MARGIN + indent, begin + size, line, size, font=font, colour=colour)

    def rule(self) -> None:
        begin = self.take(12)
        self.page.rule(MARGIN, begin + 4, WIDTH - MARGIN, colour=INK, width=1.2)

    def heading(self, text: str, after: float) -> None:
        """With `after` points of what it is the heading of on the same page."""
        lines = wrapped(text, ROOM, 13, BOLD)
        self.keep(12 + 17 * len(lines) + 3 + after)
        self.space(12)
        self.lines(lines, 13, font=BOLD)
        self.y += 3

    def paragraph(self, part: Text) -> None:
        is_note = part.look in ("note", "bad")
        indent = 8.0 if is_note else 0.0
        for line in wrapped(part.text, ROOM - indent, 9):
            begin = self.take(12)
            if is_note:
                self.page.box(MARGIN, begin, 2.5, 12, INK if part.look == "bad" else DIM)
            colour = DIM if part.look == "dim" else INK
            self.page.text(MARGIN + indent, begin + 9, line, 9, colour=colour)
        self.y += 4

    def big(self, part: Big) -> None:
        width = ROOM / _BIG_ROW
        for at in range(0, len(part.items), _BIG_ROW):
            row = part.items[at : at + _BIG_ROW]
            whys = [
                wrapped(_truncate(reason), width - 8, 7.5) if reason else [] for *_, reason in row
            ]
            labels = [wrapped(_truncate(label), width - 8, 8) for label, *_ in row]
            above = 10 * max(map(len, labels))
            begin = self.take(above + 24 + 9.5 * max(map(len, whys)))
            for column, (label, value, unit, _) in enumerate(row):
                x = MARGIN + column * width
                for n, line in enumerate(labels[column]):
                    self.page.text(x, begin + 8 + 10 * n, line, 8, colour=DIM)
                base = begin + above + 14
                self.page.text(x, base, value, 15, font=BOLD)
                right = x + width_of(value, 15, BOLD) + 3
                self.page.text(right, base, shortened(unit, width / 2, 8), 8, colour=DIM)
                for n, line in enumerate(whys[column]):
                    self.page.text(x, base + 11 + 9.5 * n, line, 7.5, colour=DIM)
                del label
        self.y += 4

    def table(self, part: Table) -> None:
        """The head is on each page; a row is never broken over two, nor is a short table."""
        self.is_cut = self.is_cut or any(len(cell) > _LONGEST for row in part.rows for cell in row)
        layout = _TableLayout.of(part)
        self.keep(layout.unbroken_height())
        if layout.title:
            self.space(4)
            self.lines(layout.title, 9, font=BOLD)
        self._row(layout.head)
        for row in layout.rows:
            before = len(self.pages)
            self.keep(row.height)
            if len(self.pages) > before:
                self._row(layout.head)
            self._row(row)
        self.y += 8

    def _row(self, row: _Row | None) -> None:
        if row is None:
            return
        begin = self.take(row.height)
        row.draw(self.page, begin)

    def chart(self, part: Chart) -> None:
        drawing = draw_chart(part)
        scale = ROOM / drawing.width
        notes = [line for note in part.notes for line in wrapped(note, ROOM, 8)]
        self.keep(_height(part))
        self.lines([shortened(part.title, ROOM, 9.5, BOLD)], 9.5, font=BOLD)
        begin = self.take(drawing.height * scale + 4)
        self.page.shapes(drawing.shapes, MARGIN, begin + 2, scale)
        self.lines(notes, 8, colour=DIM)
        self.y += 8

    def ranks(self, part: Ranks) -> None:
        picture = bars.draw_bars(part)
        scale = ROOM / picture.width
        self.keep(_height(part))
        self.lines([shortened(part.title, ROOM, 9.5, BOLD)], 9.5, font=BOLD)
        begin = self.take(picture.height * scale)
        # The first of its rows, which has the hint alone, is as high as the title.
        self.page.shapes(picture.shapes, MARGIN, begin - 9, scale)

    def verbatim(self, part: Verbatim) -> None:
        for text in part.text.splitlines():
            # Spaces are what makes its columns: pieces of a line, not words.
            most = int(ROOM / (0.6 * 7.2))
            pieces = [text[at : at + most] for at in range(0, len(text), most)] or [""]
            self.lines(pieces, 7.2, font=FIXED)
        self.y += 6


@dataclass(frozen=True)
class _TableLayout:
    """A table as rows with their heights."""

    title: Sequence[str]
    head: _Row | None
    rows: Sequence[_Row]

    @classmethod
    def of(cls, part: Table) -> _TableLayout:
        widths, right = column_widths(part), part.right()
        return cls(
            wrapped(part.title, ROOM, 9, BOLD) if part.title else [],
            _Row(part.columns, widths, right, BOLD) if part.columns else None,
            [_Row(cells, widths, right, REGULAR) for cells in part.rows],
        )

    def unbroken_height(self) -> float:
        """Height of what must be on one page: all of a short table, else its first rows."""
        above = (4 + 11.7 * len(self.title) if self.title else 0) + (
            self.head.height if self.head else 0
        )
        whole = sum(row.height for row in self.rows)
        return above + (
            whole if whole <= _MAX_UNBROKEN else sum(row.height for row in self.rows[:2])
        )


class _Row:
    """One row of a table, its cells in lines."""

    def __init__(
        self, cells: Sequence[str], widths: Sequence[float], right: frozenset[int], font: str
    ) -> None:
        self.widths, self.right, self.font = widths, right, font
        self.cells = [
            wrapped(_truncate(cell), width - 2 * _PAD, _CELL, font)
            for cell, width in zip(cells, widths, strict=False)
        ]
        self.height = max(map(len, self.cells), default=0) * 10.2 + 5

    def draw(self, page: Page, top: float) -> None:
        x = MARGIN
        for index, (lines, width) in enumerate(zip(self.cells, self.widths, strict=False)):
            on_right = index in self.right
            # The outer cells are at the edges of the text.
            place = x + width - (0 if index == len(self.widths) - 1 else _PAD) if on_right else x
            place += 0 if on_right or index == 0 else _PAD
            for n, line in enumerate(lines):
                page.text(place, top + 10 + 10.2 * n, line, _CELL, font=self.font,
                          anchor="end" if on_right else "start")  # fmt: skip
            x += width
        bold = self.font == BOLD
        page.rule(MARGIN, top + self.height, WIDTH - MARGIN, colour=INK if bold else LINE,
                  width=0.8 if bold else 0.4)  # fmt: skip


def column_widths(part: Table) -> list[float]:
    """How wide each column is, all together as wide as the page's text: narrow columns have what
    they need, the others share what is left."""
    count = part.width
    needed_widths = []
    for at in range(count):
        heads = [width_of(part.columns[at], _CELL, BOLD)] if at < len(part.columns) else []
        cells = [width_of(_truncate(row[at]), _CELL) for row in part.rows if at < len(row)]
        needed_widths.append(max([*heads, *cells], default=0.0) + 2 * _PAD + 1)
    if sum(needed_widths) <= ROOM:
        if count:
            # Numbers stay near each other: then the first column has what is left.
            needed_widths[0 if count - 1 in part.right() else -1] += ROOM - sum(needed_widths)
        return needed_widths
    widths = [0.0] * count
    remaining, open_ = ROOM, set(range(count))
    while True:
        share = remaining / len(open_)
        small = {at for at in open_ if needed_widths[at] <= share}
        if not small:
            break
        for at in small:
            widths[at] = needed_widths[at]
            remaining -= needed_widths[at]
        open_ -= small
    for at in open_:
        widths[at] = share
    return widths
