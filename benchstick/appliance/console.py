"""Keeps the screen on a terminal up to date: writes only rows that changed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from benchstick.appliance import screen
from benchstick.appliance.screen_model import View

EVERY_SECONDS = 2.0
# The kernel writes messages on the screen as well, so everything is redrawn now and then.
_REDRAW_EVERY = 30
_USUAL = (80, 25)


def size_of(fd: int) -> tuple[int, int]:
    """Columns and rows; 80 x 25 where the terminal reports none, as on a serial line."""
    with contextlib.suppress(OSError):
        size = os.get_terminal_size(fd)
        if size.columns and size.lines:
            return size.columns, size.lines
    return _USUAL


def has_colours(fd: int) -> bool:
    """Colours on the kernel's own console only: a serial line may end in anything."""
    return os.isatty(fd) and os.environ.get("TERM", "") == "linux" and "NO_COLOR" not in os.environ


def frame(view: View, width: int, height: int, *, colours: bool) -> list[str]:
    """The screen's rows. The last column stays empty: writing there moves some terminals on."""
    return screen.draw(view, width - 1, height).lines(colours=colours)


class Terminal:
    """A terminal that shows rows."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._rows: list[str] = []
        self._size = (0, 0)
        self._turn = 0

    def show(self, view: View) -> None:
        """Show `view` on the terminal, with as few writes as possible."""
        size = size_of(self.fd)
        rows = frame(view, *size, colours=has_colours(self.fd))
        if size != self._size or self._turn % _REDRAW_EVERY == 0:
            self._rows = []
        self._turn += 1
        text = "".join(
            f"\x1b[{index + 1};1H{row}\x1b[K"
            for index, row in enumerate(rows)
            if index >= len(self._rows) or row != self._rows[index]
        )
        if size != self._size:
            text = f"\x1b[2J{text}"
        self._rows, self._size = rows, size
        self.write(text)

    def write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self.fd, data) :]

    @contextlib.contextmanager
    def full_screen(self) -> Iterator[None]:
        """Hide the cursor, turn off echo and screen saver; restore all of it at the end."""
        before = None
        with contextlib.suppress(termios.error):
            before = termios.tcgetattr(self.fd)
            quiet = termios.tcgetattr(self.fd)
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(self.fd, termios.TCSANOW, quiet)
        # Blanking (9) and powering down (14) are the Linux console's own sequences.
        saver = "\x1b[9;0]\x1b[14;0]" if has_colours(self.fd) else ""
        self.write(f"{saver}\x1b[?25l")
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self.write(f"\x1b[0m\x1b[{size_of(self.fd)[1]};1H\x1b[?25h\n")
            if before is not None:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(self.fd, termios.TCSANOW, before)


def serve(look: Callable[[], View], fd: int = 1) -> None:
    """Show the view from `look` every two seconds, until SIGTERM, SIGINT or SIGHUP."""
    stop = threading.Event()

    def note(number: int, where: FrameType | None) -> None:
        stop.set()

    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, note)
    # It must not disturb running tests.
    with contextlib.suppress(OSError):
        os.nice(10)
    terminal = Terminal(fd)
    try:
        with terminal.full_screen():
            while not stop.is_set():
                terminal.show(look())
                stop.wait(EVERY_SECONDS)
    except OSError as error:
        # The terminal is gone: the supervisor of this process restarts it.
        print(f"benchstick console: {error.strerror}", file=sys.stderr)
