"""A QR code in half blocks, which the kernel's own console font has: two modules in a character."""

from __future__ import annotations

import segno

# The standard's own margin; cameras need it on a dark screen.
_QUIET = 4
# (upper, lower) module, 1 is dark; light ones are drawn, because the screen is dark.
_BLOCKS = {(1, 1): " ", (0, 1): "▀", (1, 0): "▄", (0, 0): "█"}


def code(url: str) -> list[str]:
    """The lines of a code for the page at `url`, a scheme, host and port.

    In capitals, which mean the same there, an address fits into the smallest code.
    """
    made = segno.make_qr(url.rstrip("/").upper())
    rows = [list(row) for row in made.matrix_iter(scale=1, border=_QUIET)]
    if len(rows) % 2:
        # The missing half belongs to the margin.
        rows.append([0] * len(rows[0]))
    return [
        "".join(_BLOCKS[upper, lower] for upper, lower in zip(*pair, strict=True))
        for pair in zip(rows[::2], rows[1::2], strict=True)
    ]
