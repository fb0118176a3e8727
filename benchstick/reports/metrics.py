"""How wide letters are in the fonts that every PDF viewer has: Helvetica, its bold, Courier.

The widths are those of Adobe's font metrics (AFM) for the WinAnsi encoding, in thousandths of the
letter size, from code 32 on; 0 where the encoding has no letter.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

FIRST = 32

_HELVETICA = """
278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278
556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556
1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778
667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556
333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556
556 556 333 500 278 556 500 722 500 500 500 334 260 334 584 0
556 0 222 556 333 1000 556 556 333 1000 667 333 1000 0 611 0
0 222 222 333 333 350 556 1000 333 1000 500 333 944 0 500 667
278 333 556 556 556 556 260 556 333 737 370 556 584 333 737 333
400 584 333 333 333 556 537 278 333 333 365 556 834 834 834 611
667 667 667 667 667 667 1000 722 667 667 667 667 278 278 278 278
722 722 778 778 778 778 778 584 778 722 722 722 722 667 667 611
556 556 556 556 556 556 889 500 556 556 556 556 278 278 278 278
556 556 556 556 556 556 556 584 611 556 556 556 556 500 556 500
"""
_BOLD = """
278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278
556 556 556 556 556 556 556 556 556 556 333 333 584 584 584 611
975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778
667 778 722 667 611 722 667 944 667 667 611 333 278 333 584 556
333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611
611 611 389 556 333 611 556 778 556 556 500 389 280 389 584 0
556 0 278 556 500 1000 556 556 333 1000 667 333 1000 0 611 0
0 278 278 500 500 350 556 1000 333 1000 556 333 944 0 500 667
278 333 556 556 556 556 280 556 333 737 370 556 584 333 737 333
400 584 333 333 333 611 556 278 333 333 365 556 834 834 834 611
722 722 722 722 722 722 1000 722 667 667 667 667 278 278 278 278
722 722 778 778 778 778 778 584 778 722 722 722 722 667 667 611
556 556 556 556 556 556 889 556 556 556 556 556 278 278 278 278
611 611 611 611 611 611 611 584 611 611 611 611 611 556 611 556
"""

WIDTHS: dict[str, tuple[int, ...]] = {
    "Helvetica": tuple(map(int, _HELVETICA.split())),
    "Helvetica-Bold": tuple(map(int, _BOLD.split())),
    "Courier": (600,) * 224,
}

# The same to the eye: narrow spaces, the minus sign, the Greek letter that stands for micro.
_ALIKE = str.maketrans({"\u202f": "\u00a0", "\u2009": "\u00a0", "\u2212": "-", "\u03bc": "\u00b5",
                        "\t": " ", "\n": " ", "\r": " "})  # fmt: skip
_CONTROLS = re.compile("[\x00-\x1f\x7f]")
_LETTERS = bytes(range(FIRST, 256)).replace(b"\x7f", b"").decode("cp1252", "ignore")
_LACKING = re.compile(f"[^{re.escape(_LETTERS)}{''.join(map(chr, _ALIKE))}]+")


def escaped(text: str) -> str:
    """`text` with the letters that the fonts lack written as their codes: `[U+6F22 U+5B57]`."""
    return _LACKING.sub(
        lambda match: f"[{' '.join(f'U+{ord(letter):04X}' for letter in match[0])}]", text
    )


def encoded(text: str) -> bytes:
    """`text` in WinAnsi, one byte a letter; a letter that the fonts lack as `?`."""
    return _CONTROLS.sub("?", text.translate(_ALIKE)).encode("cp1252", "replace")


def width_of(text: str, size: float, font: str = "Helvetica") -> float:
    """How wide `text` is, in the unit of `size`. A letter that the fonts lack, which SVG alone has,
    is as wide as `?`, or square as those of Chinese are."""
    widths = WIDTHS[font]
    width = sum(widths[code - FIRST] for code in encoded(text))
    if not text.isascii():
        square = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
        width += square * (1000 - widths[ord("?") - FIRST])
    return width * size / 1000


def wrapped(text: str, room: float, size: float, font: str = "Helvetica") -> list[str]:
    """`text` in lines not wider than `room`: broken at spaces, and inside of words too long."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if width_of(candidate, size, font) <= room:
            line = candidate
            continue
        if line:
            lines.append(line)
        *whole, line = _break_word(word, room, size, font)
        lines += whole
    return [*lines, line]


def _break_word(word: str, room: float, size: float, font: str) -> list[str]:
    """A word in pieces not wider than `room`, of one letter at least."""
    pieces, piece, width = [], "", 0.0
    for letter in word:
        more = width_of(letter, size, font)
        if piece and width + more > room:
            pieces.append(piece)
            piece, width = "", 0.0
        piece += letter
        width += more
    return [*pieces, piece]


def shortened(text: str, room: float, size: float, font: str = "Helvetica") -> str:
    """`text`, cut with an ellipsis where it is wider than `room`."""
    # More letters than that fit nowhere, and need not be measured.
    text = text if len(text) <= 400 else text[:400] + "…"
    if width_of(text, size, font) <= room:
        return text
    lengths = range(1, len(text))
    length = bisect_right(lengths, room, key=lambda n: width_of(text[:n] + "…", size, font))
    return text[:length] + "…"
