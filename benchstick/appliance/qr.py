"""A QR code in half blocks, which the kernel's own console font has: two modules in a character."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

# The standard's own margin; cameras need it on a dark screen.
_QUIET = 4
# (upper, lower) module, 1 is dark; light ones are drawn, because the screen is dark.
_BLOCKS = {(1, 1): " ", (0, 1): "▀", (1, 0): "▄", (0, 0): "█"}
# In a separate process: the library imports HTTP and TLS, 5 MB that the bench would keep for a code
# that is made once.
_MAKE = """
import json, sys, segno
rows = segno.make_qr(sys.argv[1]).matrix_iter(scale=1, border=int(sys.argv[2]))
json.dump([list(row) for row in rows], sys.stdout)
"""
_SECONDS = 30.0


@functools.lru_cache(maxsize=8)
def _build_modules(text: str) -> tuple[tuple[int, ...], ...]:
    """The code's modules, row by row, 1 is dark; none when it could not be made."""
    try:
        process = subprocess.run(
            [sys.executable, "-c", _MAKE, text, str(_QUIET)],
            stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=_SECONDS,
        )  # fmt: skip
        return tuple(tuple(row) for row in json.loads(process.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        # The address is shown next to it in letters.
        return ()


def code(url: str) -> list[str]:
    """The lines of a code for the page at `url`, a scheme, host and port; none when it could not
    be made.

    In capitals, which mean the same there, an address fits into the smallest code.
    """
    rows = list(_build_modules(url.rstrip("/").upper()))
    if len(rows) % 2:
        # The missing half belongs to the margin.
        rows.append((0,) * len(rows[0]))
    return [
        "".join(_BLOCKS[upper, lower] for upper, lower in zip(*pair, strict=True))
        for pair in zip(rows[::2], rows[1::2], strict=True)
    ]
