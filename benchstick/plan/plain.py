"""Text of drives, bundles and file names, for terminals (shown, never obeyed) and the store."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

# Control characters (C0, DEL, C1), marks that change the direction of text, separators of lines,
# and what is no Unicode. A line's end stays, a carriage return only before one.
_CONTROL = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_BREAKS = re.compile("[\t\n\r]")


def storable(text: str | None) -> str | None:
    """`text` with what is no Unicode (bytes of odd file names) escaped, as SQLite demands."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def plain(text: str) -> str:
    r"""`text` with each sign that a terminal would obey as `\u001b`.

    That is how JSON and TOML write it too: what was JSON stays the same JSON.
    """
    return _CONTROL.sub(_escaped, text)


def one_line(text: object) -> str:
    """`plain`, also without line breaks and tabs: for a cell, or a message of one line."""
    return _BREAKS.sub(_escaped, plain(str(text)))


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


class PlainStream:
    """A text stream that everything is written to as `plain`. `under` is the stream itself, for
    the program's own control characters; `buffer` takes bytes as they are."""

    def __init__(self, under: TextIO) -> None:
        self.under = under

    def write(self, text: str) -> int:
        self.under.write(plain(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.under, name)


def under(stream: TextIO) -> TextIO:
    """The stream that takes the program's own control characters."""
    return stream.under if isinstance(stream, PlainStream) else stream


@contextlib.contextmanager
def plain_output() -> Iterator[None]:
    """Everything that is printed inside is `plain`, on stdout and stderr."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _wrapped(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def _wrapped(stream: TextIO) -> TextIO | PlainStream:
    if stream is None or isinstance(stream, PlainStream):
        return stream
    # A locale without a letter must not end the program.
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return PlainStream(stream)
