"""A report as one HTML file: it opens from disk with the network off, and asks for nothing.

Everything is in it: the style and the drawings as SVG. It has no script, and its own policy (CSP)
lets none run, whatever the names contain that came from a drive.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchstick.reports import bars
from benchstick.reports.content import Big, Chart, Heading, Ranks, Report, Table, Text, Verbatim
from benchstick.reports.drawing import draw_chart
from benchstick.reports.svg import escape_text, inline, swatch
from benchstick.reports.values import columns_of, table_of

_HERE = Path(__file__).resolve().parent
# A table of no more rows is not broken over two pages.
_MAX_UNBROKEN_ROWS = 10
_LOOKS = {"plain": "", "dim": ' class="dim"', "note": ' class="note"', "bad": ' class="note bad"'}


@cache
def _style() -> str:
    return (_HERE / "report.css").read_text(encoding="utf-8")


def page(report: Report) -> str:
    """The whole file."""
    style = _style()
    body = "".join(_parts(report))
    lead = "".join(f"<p>{escape_text(line)}</p>\n" for line in report.lead)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style)}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta name="generator" content="{escape_text(report.author)}">\n'
        f"<title>{escape_text(report.title)}</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<header class="lead">\n<h1>{escape_text(report.title)}</h1>\n{lead}</header>\n'
        f"<main>\n{body}</main>\n<footer><p>{escape_text(report.foot)}</p></footer>\n"
        "</body>\n</html>\n"
    )


def policy(style: str) -> str:
    """What the file may do: use this style. No script, no request."""
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _parts(report: Report) -> Iterator[str]:
    for part in report.parts:
        match part:
            case Heading():
                yield f"<h2>{escape_text(part.text)}</h2>\n"
            case Text():
                yield f"<p{_LOOKS[part.look]}>{escape_text(part.text)}</p>\n"
            case Big():
                yield _big(part)
            case Table():
                yield _table(part)
            case Chart():
                yield _chart(part)
            case Ranks():
                yield _ranks(part)
            case Verbatim():
                yield f"<pre>{escape_text(part.text)}</pre>\n"


def _big(part: Big) -> str:
    boxes = []
    for label, value, unit, reason in part.items:
        note = f"<small>{escape_text(reason)}</small>" if reason else ""
        boxes.append(
            f"<div><span>{escape_text(label)}</span>"
            f"<b>{escape_text(value)} <i>{escape_text(unit)}</i></b>{note}</div>\n"
        )
    return f'<div class="big">\n{"".join(boxes)}</div>\n'


def _table(part: Table) -> str:
    right, unbroken = part.right(), part.unbroken()

    def row(kind: str, cells: Any) -> str:
        tags = []
        for index, cell in enumerate(cells):
            # Of a table without a head the first column has the names.
            name = "th" if kind == "td" and not part.columns and index == 0 else kind
            looks = [
                word for word, where in (("num", right), ("whole", unbroken)) if index in where
            ]
            look = f' class="{" ".join(looks)}"' if looks else ""
            scope = ' scope="row"' if name != kind else ' scope="col"' if kind == "th" else ""
            tags.append(f"<{name}{scope}{look}>{escape_text(str(cell))}</{name}>")
        return f"<tr>{''.join(tags)}</tr>\n"

    caption = f"<caption>{escape_text(part.title)}</caption>\n" if part.title else ""
    head = f"<thead>{row('th', part.columns)}</thead>\n" if part.columns else ""
    rows = "".join(row("td", line) for line in part.rows)
    look = "" if part.columns else ' class="facts"'
    keep = " keep" if len(part.rows) <= _MAX_UNBROKEN_ROWS else ""
    return (
        f'<div class="scroll{keep}"><table{look}>\n{caption}{head}'
        f"<tbody>\n{rows}</tbody></table></div>\n"
    )


def _chart(part: Chart) -> str:
    drawing = draw_chart(part, legend=False)
    columns = columns_of(drawing)
    names = "".join(
        f"<span>{swatch(part, index)} {escape_text(str(line['name']))}</span>\n"
        for index, line in enumerate(part.lines)
    )
    notes = "".join(f'<p class="dim">{escape_text(note)}</p>\n' for note in part.notes)
    return (
        f'<figure class="chart">\n<figcaption>{escape_text(part.title)}</figcaption>\n'
        f'{inline(drawing, columns)}\n<div class="legend">\n{names}</div>\n{notes}</figure>\n'
        f"<details>\n<summary>Values of “{escape_text(part.title)}”</summary>\n"
        f"{_table(table_of(drawing, columns))}</details>\n"
    )


def _ranks(part: Ranks) -> str:
    return (
        f'<figure class="ranks">\n<figcaption>{escape_text(part.title)} '
        f"<small>{escape_text(part.hint)}</small></figcaption>\n"
        f"{inline(bars.draw_bars(part, hint=False))}\n</figure>\n"
    )
