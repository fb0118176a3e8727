"""A chart as SVG: a file of its own, or a part of an HTML page. No request, no script, no style."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from benchstick.reports import bars
from benchstick.reports.content import Chart, Ranks
from benchstick.reports.drawing import (
    Area,
    Dots,
    Drawing,
    Path,
    Picture,
    Place,
    Shape,
    Words,
    draw_chart,
    sample,
)
from benchstick.reports.values import Column, columns_of

FONT = "Helvetica, Arial, sans-serif"
# What XML has no place for, even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_TITLE = 30.0


def escape_text(text: str) -> str:
    """Any text as text of XML and HTML, and nothing else."""
    return escape(_NOT_XML.sub("\ufffd", text), quote=True)


def standalone(part: Chart | Ranks, name: str | None = None) -> str:
    """A chart or ranked bars as a file: with title (`name`, where it is not its own) and legend,
    and white behind it."""
    name = part.title if name is None else name
    image = bars.draw_bars(part) if isinstance(part, Ranks) else draw_chart(part)
    height = image.height + _TITLE
    title = (
        f'<text x="2" y="19" font-size="15" font-weight="bold" fill="#16191d">'
        f"{escape_text(name[:120])}</text>"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(image.width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(image.width)} {_n(height)}" font-family="{FONT}" font-size="11">\n'
        f"<title>{escape_text(name)}</title>\n<desc>{escape_text(part.description)}</desc>\n"
        f'<rect width="100%" height="100%" fill="#fff"/>\n{title}\n'
        f'<g transform="translate(0 {_n(_TITLE)})">\n'
        f"{marks_of(image.shapes)}{_readings(image)}</g>\n</svg>\n"
    )


def inline(image: Drawing | Picture, columns: Sequence[Column] | None = None) -> str:
    """The drawing as a part of a page, which shows its title itself. `columns`: those of a chart,
    where the caller has them."""
    size = f'viewBox="0 0 {_n(image.width)} {_n(image.height)}"'
    return (
        f'<svg {size} role="img" aria-label="{escape_text(image.description)}" '
        f'font-family="{FONT}" font-size="11">\n'
        f"{marks_of(image.shapes)}{_readings(image, columns)}</svg>"
    )


def swatch(chart: Chart, at: int) -> str:
    """A sample of line `at`, for a legend next to the drawing."""
    return (
        f'<svg viewBox="0 0 28 10" width="28" height="10" aria-hidden="true">'
        f"{marks_of(sample(chart, at, 0, 5))}</svg>"
    )


def marks_of(shapes: Iterable[Shape]) -> str:
    """The shapes, those of a line of the chart in a group of its own: `<g data-line="0">`."""
    parts: list[str] = []
    group: int | None = None
    for shape in shapes:
        line = None if isinstance(shape, Words) else shape.line
        if line != group:
            parts.append("</g>\n" if group is not None else "")
            parts.append(f'<g data-line="{line}">\n' if line is not None else "")
            group = line
        parts.append(_mark(shape) + "\n")
    return "".join(parts) + ("</g>\n" if group is not None else "")


def _readings(image: Drawing | Picture, columns: Sequence[Column] | None = None) -> str:
    """What a chart shows at each place, under the pointer: invisible rectangles, each with
    its title."""
    if isinstance(image, Picture):
        return ""
    top, height = _n(image.y.end), _n(image.y.start - image.y.end)
    parts = []
    for column in columns_of(image) if columns is None else columns:
        values = zip(image.chart.lines, column.values, strict=True)
        lines = [column.x, *(f"{line['name']}: {text}" for line, text in values if text)]
        title = escape_text("\n".join(lines))
        width = _n(column.end - column.start)
        parts.append(
            f'<rect x="{_n(column.start)}" y="{top}" width="{width}" height="{height}">'
            f"<title>{title}</title></rect>\n"
        )
    path = "".join(parts)
    return f'<g fill="none" pointer-events="all">\n{path}</g>\n' if parts else ""


def _mark(shape: Shape) -> str:
    match shape:
        case Path():
            dash = f' stroke-dasharray="{" ".join(map(_n, shape.dash))}"' if shape.dash else ""
            return (
                f'<path d="{_through(shape.places)}" fill="none" stroke="{shape.colour}" '
                f'stroke-width="{_n(shape.width)}" stroke-linejoin="round"{dash}/>'
            )
        case Area():
            return (
                f'<path d="{_through(shape.places)}Z" fill="{shape.colour}" '
                f'fill-opacity="{_n(shape.opacity)}"/>'
            )
        case Dots():
            return _dots(shape)
        case Words():
            whole = f"<title>{escape_text(shape.whole)}</title>" if shape.whole else ""
            bold = ' font-weight="bold"' if shape.bold else ""
            return (
                f'<text x="{_n(shape.x)}" y="{_n(shape.y)}" text-anchor="{shape.anchor}" '
                f'fill="{shape.colour}"{bold}>{whole}{escape_text(shape.text)}</text>'
            )


def _dots(shape: Dots) -> str:
    if shape.shape in ("circle", "square"):
        # A line of no length with ends of this form: the shortest way to write many points.
        cap = {"circle": "round", "square": "square"}[shape.shape]
        size = shape.size if shape.shape == "circle" else 0.85 * shape.size
        places = "".join(f"M{_n(x)} {_n(y)}h0" for x, y in shape.places)
        return (
            f'<path d="{places}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{_n(size)}" stroke-linecap="{cap}"/>'
        )
    places = "".join(_through(corners(shape, place)) + "Z" for place in shape.places)
    return f'<path d="{places}" fill="{shape.colour}"/>'


def corners(shape: Dots, place: Place) -> Sequence[Place]:
    """The corners of a point that is a triangle, a diamond or a square."""
    (x, y), half = place, shape.size * 0.62
    if shape.shape == "triangle":
        return ((x, y - half), (x + half, y + half), (x - half, y + half))
    if shape.shape == "diamond":
        return ((x, y - half), (x + half, y), (x, y + half), (x - half, y))
    half = shape.size * 0.425
    return ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))


def _through(places: Sequence[Place]) -> str:
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in places)


def _n(value: float) -> str:
    """A number with two digits behind the point at most."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
