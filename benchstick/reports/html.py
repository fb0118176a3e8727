"""A report as one HTML file: it opens from disk with the network off, and asks for nothing.

Everything is in it: the look, the drawings as SVG, and a small script that shows values under the
pointer, zooms in and hides lines. Without the script the file is complete as well. Its own policy
(CSP) lets nothing else run, whatever stands in names that came from a drive.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchstick.reports import bars
from benchstick.reports.axes import Axis
from benchstick.reports.content import Big, Chart, Heading, Ranks, Report, Table, Text, Verbatim
from benchstick.reports.drawing import Drawing, draw_chart, within
from benchstick.reports.svg import escape_text, inline, swatch

_HERE = Path(__file__).resolve().parent
# A table of no more rows is not broken over two pages.
_KEPT = 10
_LOOKS = {"plain": "", "dim": ' class="dim"', "note": ' class="note"', "bad": ' class="note bad"'}


@cache
def _own(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def page(report: Report) -> str:
    """The whole file."""
    style, script = _own("report.css"), _own("report.js")
    body = "".join(_parts(report))
    lead = "".join(f"<p>{escape_text(line)}</p>\n" for line in report.lead)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta name="generator" content="{escape_text(report.author)}">\n'
        f"<title>{escape_text(report.title)}</title>\n<style>{style}</style>\n</head>\n"
        f'<body data-name="{escape_text(report.name)}">\n'
        f'<header class="lead">\n<h1>{escape_text(report.title)}</h1>\n{lead}</header>\n'
        f"<main>\n{body}</main>\n<footer><p>{escape_text(report.foot)}</p></footer>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def policy(style: str, script: str) -> str:
    """What the file may do: this style and this script, and no request at all. (Images of its own
    data are what it makes PNG of.)"""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


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
    for label, value, unit, why in part.items:
        note = f"<small>{escape_text(why)}</small>" if why else ""
        boxes.append(
            f"<div><span>{escape_text(label)}</span>"
            f"<b>{escape_text(value)} <i>{escape_text(unit)}</i></b>{note}</div>\n"
        )
    return f'<div class="big">\n{"".join(boxes)}</div>\n'


def _table(part: Table) -> str:
    right, unbroken = part.right(), part.unbroken()

    def row(kind: str, cells: Any) -> str:
        tags = []
        for at, cell in enumerate(cells):
            # Of a table without a head the first column has the names.
            name = "th" if kind == "td" and not part.columns and at == 0 else kind
            looks = [word for word, where in (("num", right), ("whole", unbroken)) if at in where]
            look = f' class="{" ".join(looks)}"' if looks else ""
            scope = ' scope="row"' if name != kind else ' scope="col"' if kind == "th" else ""
            tags.append(f"<{name}{scope}{look}>{escape_text(str(cell))}</{name}>")
        return f"<tr>{''.join(tags)}</tr>\n"

    caption = f"<caption>{escape_text(part.title)}</caption>\n" if part.title else ""
    head = f"<thead>{row('th', part.columns)}</thead>\n" if part.columns else ""
    rows = "".join(row("td", line) for line in part.rows)
    look = "" if part.columns else ' class="facts"'
    keep = " keep" if len(part.rows) <= _KEPT else ""
    return (
        f'<div class="scroll{keep}"><table{look}>\n{caption}{head}'
        f"<tbody>\n{rows}</tbody></table></div>\n"
    )


def _chart(part: Chart) -> str:
    drawing = draw_chart(part, legend=False)
    drives = [f' data-drive="{escape_text(drive)}"' for drive in part.drives] or [""] * len(
        part.lines
    )
    names = "".join(
        f'<span data-line="{at}"{drives[at]}>{swatch(part, at)} '
        f"{escape_text(str(line['name']))} <b></b></span>\n"
        for at, line in enumerate(part.lines)
    )
    notes = "".join(f'<p class="dim">{escape_text(note)}</p>\n' for note in part.notes)
    data = escape_text(json.dumps(_data(drawing), ensure_ascii=False, separators=(",", ":")))
    return (
        f'<figure class="chart" data-chart="{data}">\n'
        f"<figcaption>{escape_text(part.title)}</figcaption>\n{inline(drawing)}\n"
        f'<div class="legend">\n{names}<span class="at"></span></div>\n{notes}</figure>\n'
    )


def _ranks(part: Ranks) -> str:
    return (
        f'<figure class="ranks">\n<figcaption>{escape_text(part.title)} '
        f"<small>{escape_text(part.hint)}</small></figcaption>\n"
        f"{inline(bars.draw_bars(part, hint=False))}\n</figure>\n"
    )


def _data(drawing: Drawing) -> dict[str, Any]:
    """What the script needs to tell values: the axes and the points."""

    def axis(source: Axis, unit: str) -> dict[str, Any]:
        return {
            "log": source.log, "low": source.low, "high": source.high, "start": source.start,
            "end": source.end, "factor": source.factor, "unit": unit, "label": source.label,
        }  # fmt: skip

    chart = drawing.chart.chart
    return {
        "x": axis(drawing.x, str(chart["x"]["unit"])),
        "y": axis(drawing.y, str(chart["y"]["unit"])),
        "y2": None if drawing.y2 is None else axis(drawing.y2, str(chart["y2"]["unit"])),
        "lines": [
            {
                "right": drawing.axis_of(line) is drawing.y2,
                "points": [[x, y] for _, x, y in within(chart, line)],
            }
            for line in drawing.chart.lines
        ],
    }
