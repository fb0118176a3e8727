"""A PDF file: pages of drawing operators, three fonts that every viewer has, a table of contents
of its bytes (xref). Nothing of a report is known here.

Places on a page are in points (1/72 inch) from the top left; PDF counts from the bottom left.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchstick.reports.drawing import Area, Dots, Path, Place, Shape, Words
from benchstick.reports.metrics import FIRST, WIDTHS, encoded, width_of
from benchstick.reports.svg import corners

# A4.
WIDTH, HEIGHT = 595.28, 841.89
REGULAR, BOLD, FIXED = "Helvetica", "Helvetica-Bold", "Courier"
_FONTS = {REGULAR: "F1", BOLD: "F2", FIXED: "F3"}
# Ascent, descent, height of capitals, width of stems (of Adobe's font metrics), and flags: Latin,
# and of one width.
_SHAPES = {
    REGULAR: (718, -207, 718, 88, 32), BOLD: (718, -207, 718, 140, 32),
    FIXED: (629, -157, 562, 51, 33),
}  # fmt: skip


@dataclass
class Page:
    """One page: its operators so far."""

    parts: list[bytes] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.parts.append(text.encode("ascii"))

    def text(
        self, x: float, y: float, text: str, size: float, *, font: str = REGULAR,
        colour: str = "#000000", anchor: str = "start", flip: bool = False,
    ) -> None:  # fmt: skip
        """One line of text, its base at `y`. `flip`: inside of `shapes`, where y goes down."""
        if anchor != "start":
            width = width_of(text, size, font)
            x -= width / 2 if anchor == "middle" else width
        matrix = f"1 0 0 -1 {_n(x)} {_n(y)}" if flip else f"1 0 0 1 {_n(x)} {_n(HEIGHT - y)}"
        self.add(f"BT {_rgb(colour)} rg /{_FONTS[font]} {_n(size)} Tf {matrix} Tm ")
        self.parts.append(b"(" + _escaped(encoded(text)) + b") Tj ET")

    def rule(self, x: float, y: float, to: float, *, colour: str, width: float = 0.5) -> None:
        """A line across."""
        up = _n(HEIGHT - y)
        self.add(f"{_rgb(colour)} RG {_n(width)} w {_n(x)} {up} m {_n(to)} {up} l S")

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle with its upper left corner at (x, y)."""
        self.add(f"{_rgb(colour)} rg {_n(x)} {_n(HEIGHT - y - height)} {_n(width)} {_n(height)} "
                 "re f")  # fmt: skip

    def shapes(self, shapes: Iterable[Shape], x: float, y: float, scale: float) -> None:
        """A drawing, its upper left corner at (x, y)."""
        self.add(f"q {_n(scale)} 0 0 {_n(-scale)} {_n(x)} {_n(HEIGHT - y)} cm 1 j")
        for shape in shapes:
            match shape:
                case Path():
                    dash = " ".join(map(_n, shape.dash))
                    self.add(f"{_rgb(shape.colour)} RG {_n(shape.width)} w [{dash}] 0 d 0 J")
                    self.add(f"{_through(shape.places)} S")
                case Area():
                    self.add(f"q /A{round(shape.opacity * 100)} gs {_rgb(shape.colour)} rg")
                    self.add(f"{_through(shape.places)} h f Q")
                case Dots():
                    self._dots(shape)
                case Words():
                    self.text(
                        shape.x, shape.y, shape.text, 11, colour=shape.colour,
                        font=BOLD if shape.bold else REGULAR, anchor=shape.anchor, flip=True,
                    )  # fmt: skip
        self.add("Q")

    def _dots(self, shape: Dots) -> None:
        if shape.shape == "circle":
            # Lines of next to no length with round ends.
            self.add(f"{_rgb(shape.colour)} RG {_n(shape.size)} w [] 0 d 1 J")
            for x, y in shape.places:
                self.add(f"{_n(x)} {_n(y)} m {_n(x + 0.01)} {_n(y)} l")
            self.add("S")
            return
        self.add(f"{_rgb(shape.colour)} rg")
        for place in shape.places:
            self.add(f"{_through(corners(shape, place))} h")
        self.add("f")


def build_pdf(
    pages: Sequence[Page], *, title: str, author: str, made_utc: str | None
) -> bytes:  # fmt: skip
    """The file. `made_utc` is the time in its metadata, as 2026-01-31T12:00:00Z."""
    alphas = sorted({opacity for page in pages for opacity in _alphas(page)})
    fonts = " ".join(f"/{short} {index} 0 R" for index, short in enumerate(_FONTS.values(), 4))
    states = " ".join(f"/A{alpha} << /ca {alpha / 100:.2f} >>" for alpha in alphas)
    first = 4 + len(_FONTS)
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(pages)))
    date = _date(made_utc)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> "
        b">>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} /MediaBox [0 0 {WIDTH} {HEIGHT}] "
        f"/Resources << /Font << {fonts} >> /ExtGState << {states} >> >> >>".encode("ascii"),
        b"<< /Title " + _string(title) + b" /Author " + _string(author)
        + b" /Producer (Benchstick)" + date + b" >>",
        *map(_font, _FONTS),
    ]  # fmt: skip
    for at, page in enumerate(pages):
        stream = zlib.compress(b"\n".join(page.parts), 9)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /Contents {first + 2 * at + 1} 0 R >>".encode("ascii")
        )
        head = f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode("ascii")
        objects.append(head + stream + b"\nendstream")
    return _file(objects)


def _font(name: str) -> bytes:
    """A font of the viewer's own, with its widths: a viewer that has not got it takes another, and
    makes its letters as wide as these."""
    widths = " ".join(map(str, WIDTHS[name]))
    ascent, descent, height, stem, flags = _SHAPES[name]
    return (
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding "
        f"/FirstChar {FIRST} /LastChar 255 /Widths [{widths}] /FontDescriptor "
        f"<< /Type /FontDescriptor /FontName /{name} /Flags {flags} /ItalicAngle 0 "
        f"/FontBBox [-170 -250 1010 970] /Ascent {ascent} /Descent {descent} "
        f"/CapHeight {height} /StemV {stem} >> >>"
    ).encode("ascii")


def _file(objects: Sequence[bytes]) -> bytes:
    """The objects, numbered from 1, with their offsets. 1 is the catalog, 3 the metadata."""
    # The comment marks the file as binary.
    output = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(output))
        output += f"{number} 0 obj\n".encode("ascii") + body + b"\nendobj\n"
    begin = len(output)
    name = hashlib.sha256(output).hexdigest()[:32]
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    output += (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}trailer\n"
        f"<< /Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R /ID [<{name}> <{name}>] >>\n"
        f"startxref\n{begin}\n%%EOF\n"
    ).encode("ascii")
    return bytes(output)


def _alphas(page: Page) -> set[int]:
    matches = (re.match(rb"q /A([0-9]+) gs", part) for part in page.parts)
    return {int(match[1]) for match in matches if match}


def _date(utc: str | None) -> bytes:
    match = re.match(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)", utc or "")
    return f" /CreationDate (D:{''.join(match.groups())}Z)".encode("ascii") if match else b""


def _string(text: str) -> bytes:
    """A text of the metadata, which may have any letter."""
    return b"<FEFF" + text.encode("utf-16-be", "backslashreplace").hex().encode("ascii") + b">"


def _escaped(letters: bytes) -> bytes:
    return re.sub(
        rb"[\\()\x80-\xff]",
        lambda match: (
            b"\\" + match[0] if match[0] in b"\\()" else b"\\%03o" % match[0][0]
        ),
        letters,
    )  # fmt: skip


def _through(places: Sequence[Place]) -> str:
    return " ".join(
        f"{_n(x)} {_n(y)} {'l' if index else 'm'}" for index, (x, y) in enumerate(places)
    )  # fmt: skip


def _rgb(colour: str) -> str:
    """`#d55e00` as three parts of 1."""
    text = colour if len(colour) == 7 else "#" + "".join(2 * part for part in colour[1:])
    return " ".join(_n(int(text[at : at + 2], 16) / 255, 3) for at in (1, 3, 5))


def _n(value: float, digits: int = 2) -> str:
    """A number as PDF takes it: no exponent."""
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
