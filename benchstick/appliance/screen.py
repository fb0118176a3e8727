"""Lays the view out on a screen of any size: addresses, QR code, drives, runs, PASS or FAIL.

Only characters of the kernel's own console font (code page 437) reach the screen: a drive's model
name may contain anything, control codes included.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchstick.appliance import banner_font, qr
from benchstick.appliance.network import is_link_local
from benchstick.appliance.outcome_text import BAD, GOOD
from benchstick.appliance.screen_model import FinishedRun, Line, Running, SlotLine, View
from benchstick.plan.states import GuardState
from benchstick.plan.units import duration_text, size_text

# Select Graphic Rendition of ECMA-48, by what a text is.
STYLES = {
    "": "0",
    "head": "0;7",
    "title": "0;1",
    "strong": "0;1;37",
    "dim": "0;36",
    "good": "0;1;32",
    "bad": "0;1;31",
    "note": "0;1;33",
    "code": "0;1;37",
    "good-block": "0;1;37;42",
    "bad-block": "0;1;37;41",
    "plain-block": "0;1;37;44",
}
_GUARD: dict[str, str] = {
    GuardState.FREE: "good", GuardState.LOCKED: "note", GuardState.PROTECTED: "dim",
}  # fmt: skip
_WORDS = {"usb-uas": "UASP", "usb-bot": "BOT", "virtual": "practice"}
_BAR = 30
# The left margin's second column: kernel names have up to seven letters (`nvme0n1`).
_SECOND = 10
# The least room for a model name to be distinct; the size is left out first.
_MODEL = 16
_LEAST = (40, 12)
# Above the slots: the head, an address, the PIN and some drives.
_KEPT_ROWS = 11


def plain(text: str) -> str:
    """`text` with question marks for control codes and what the console's font does not have."""
    clean_text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean_text.encode("cp437", "replace").decode("cp437")


@dataclass
class Canvas:
    """Characters and their styles, row by row."""

    width: int
    height: int
    _cells: list[list[tuple[str, str]]] = field(init=False)

    def __post_init__(self) -> None:
        self._cells = [[(" ", "")] * self.width for _ in range(self.height)]

    def put(self, row: int, column: int, text: str, style: str = "", *, limit: int = 0) -> int:
        """Write `text`, cut at the right edge or at column `limit`; the column after it."""
        if not 0 <= row < self.height:
            return column
        end = min(limit or self.width, self.width)
        for letter in plain(text):
            if column >= end:
                break
            self._cells[row][column] = (letter, style)
            column += 1
        return column

    def fill(self, row: int, style: str) -> None:
        """Give a whole row a style."""
        if 0 <= row < self.height:
            self._cells[row] = [(letter, style) for letter, _ in self._cells[row]]

    def block(
        self, row: int, start: int, edge: int, text: str, style: str, *, middle: bool = False
    ) -> None:
        """A line of `style` from column `left` to before `edge`, with `text` in it."""
        cut_text = plain(text)[: edge - start]
        margin = (edge - start - len(cut_text)) // 2 if middle else 0
        self.put(row, start, f"{' ' * margin}{cut_text}".ljust(edge - start), style, limit=edge)

    def lines(self, *, colours: bool) -> list[str]:
        """The rows as text, with escape sequences for styles where `colours`."""
        return [_coloured(row) if colours else _bare(row) for row in self._cells]


def _bare(row: Sequence[tuple[str, str]]) -> str:
    return "".join(letter for letter, _ in row).rstrip()


def _coloured(row: Sequence[tuple[str, str]]) -> str:
    text, now = "", ""
    last = max((index for index, cell in enumerate(row) if cell != (" ", "")), default=-1)
    for letter, style in row[: last + 1]:
        if style != now:
            text += f"\x1b[{STYLES[style]}m"
            now = style
        text += letter
    return f"{text}\x1b[0m" if now else text


def draw(view: View, width: int, height: int) -> Canvas:
    """The whole screen."""
    canvas = Canvas(width, height)
    _head(canvas, view)
    if width < _LEAST[0] or height < _LEAST[1]:
        canvas.put(2, 0, f"The screen is too small: {width} x {height}")
        return canvas
    below = _foot(canvas, view)
    edge, free = _code(canvas, view, below)
    row = _page(canvas, view, edge)
    _drives(canvas, view, row, below, [edge] * free + [canvas.width] * (height - free))
    return canvas


def _head(canvas: Canvas, view: View) -> None:
    canvas.put(0, 1, f"Benchstick {view.version}")
    canvas.put(0, canvas.width - len(view.now) - 1, view.now)
    canvas.fill(0, "head")


def url(address: str, port: int) -> str:
    """The page's address as one types it."""
    return f"http://{address}/" if port == 80 else f"http://{address}:{port}/"


def best_url(view: View) -> str | None:
    """The address for the code: one assigned by a network before a link-local one."""
    if view.page is None:
        return None
    addresses = _reached(view)
    addresses.sort(key=is_link_local)
    return url(addresses[0], view.page.port) if addresses else None


def _reached(view: View) -> list[str]:
    """The addresses of wired ports under which the page answers."""
    listens = view.page.address if view.page else ""
    every = listens in ("0.0.0.0", "::")
    return [
        address for port in view.ports for address in port.addresses if every or address == listens
    ]


def _code(canvas: Canvas, view: View, below: int) -> tuple[int, int]:
    """The QR code in the upper right corner where it fits; its column and the row below."""
    where = best_url(view)
    lines = qr.code(where) if where else []
    if not lines or 1 + len(lines) > below or canvas.width - len(lines[0]) < _LEAST[0]:
        return canvas.width, 0
    start = canvas.width - len(lines[0])
    for index, line in enumerate(lines):
        canvas.put(1 + index, start, line, "code")
    return start, 1 + len(lines)


def _page(canvas: Canvas, view: View, edge: int) -> int:
    """Where the page is, and the PIN; the row after."""
    row = 2
    canvas.put(row - 1, 1, "Page", "title")
    visitor_lines = _reached(view)
    for port in view.ports:
        for text, style in _port_lines(view, port.cable, port.addresses, visitor_lines):
            canvas.put(row, 2, port.name, limit=_SECOND - 1)
            canvas.put(row, _SECOND, text, style, limit=edge)
            row += 1
    if not view.ports:
        canvas.put(row, 2, "no wired network port in this machine", "note", limit=edge)
        row += 1
    if view.page is None:
        canvas.put(row, 2, "the page is not running", "note", limit=edge)
        return row + 2
    if not visitor_lines and view.page.address not in ("0.0.0.0", "::"):
        canvas.put(row, 2, f"on this machine: {url(view.page.address, view.page.port)}", limit=edge)
        row += 1
    if view.name and visitor_lines:
        canvas.put(row, 2, "by name", limit=edge)
        canvas.put(row, _SECOND, url(view.name, view.page.port), limit=edge)
        row += 1
    canvas.put(row, 2, "PIN", limit=edge)
    style = "strong" if view.page.pin else ""
    canvas.put(row, _SECOND, view.page.pin or "not required", style, limit=edge)
    if view.ssh is not None:
        row += 1
        canvas.put(row, 2, "SSH", limit=edge)
        canvas.put(row, _SECOND, f"root, by key; the stick's is {view.ssh}", limit=edge)
    return row + 2


def _port_lines(
    view: View, cable: bool | None, addresses: Sequence[str], visitor_lines: Sequence[str]
) -> list[tuple[str, str]]:
    if cable is False:
        return [("no cable", "dim")]
    if not addresses:
        return [("off", "dim") if cable is None else ("waiting for an address", "dim")]
    number = view.page.port if view.page else 80
    return [
        (url(address, number), "strong") if address in visitor_lines else (address, "dim")
        for address in addresses
    ]


def _drives(canvas: Canvas, view: View, row: int, below: int, edges: Sequence[int]) -> None:
    """The drives from `row` on; each row ends at its own of `edges`."""
    canvas.put(row, 1, "Drives", "title")
    row += 1
    if not view.drives:
        status = "not scanned yet" if view.drives is None else "none plugged in"
        canvas.put(row, 2, status, "dim", limit=edges[row])
        return
    # Free ones first: these can be tested.
    order: dict[str, int] = {state: at for at, state in enumerate(GuardState)}
    drives = sorted(view.drives, key=lambda drive: (order.get(drive.guard, 3), drive.name))
    room = below - row
    if len(drives) > room:
        drives, more = drives[: max(0, room - 1)], len(drives) - max(0, room - 1)
        canvas.put(below - 1, 2, f"and {more} more; see the page", "dim", limit=edges[below - 1])
    for drive in drives:
        _drive(canvas, row, drive, edges[row])
        row += 1


def _drive(canvas: Canvas, row: int, drive: Line, edge: int) -> None:
    """One line; the model gets the room that the right side leaves."""
    transport = _WORDS.get(drive.transport, drive.transport)
    state = drive.last or drive.guard
    for size in (f"{size_text(drive.capacity):>9} ", ""):
        right = f" {size}{transport:<6} "
        room = edge - _SECOND - len(right) - max(len(state), 9) - 1
        if room >= _MODEL:
            break
    room = max(room, 4)
    canvas.put(row, 2, drive.name, limit=_SECOND - 1)
    at = canvas.put(row, _SECOND, f"{plain(drive.model)[:room]:<{room}}", limit=edge)
    at = canvas.put(row, at, right, "dim", limit=edge)
    canvas.put(row, at, state, "strong" if drive.last else _GUARD.get(drive.guard, ""), limit=edge)


def _foot(canvas: Canvas, view: View) -> int:
    """From the bottom up: the bench's slots where it has some, else runs or how the last one ended;
    above them the notices. Returns the row where they start."""
    row = canvas.height
    if view.slots:
        row = _slots(canvas, view.slots, row)
    elif view.running:
        row = _running(canvas, view.running, row)
    elif view.last_run is not None:
        row = _draw_ending(canvas, view.last_run, row)
    notices = [
        line
        for notice in view.notices
        for line in textwrap.wrap(plain(notice), canvas.width - 4, subsequent_indent="  ")
    ]
    room = min(len(notices), max(1, row - 10))
    row -= room
    for index, line in enumerate(notices[:room]):
        canvas.put(
            row + index, 1, f"! {line}" if not line.startswith("  ") else f"  {line}", "note"
        )
    return row


def _running(canvas: Canvas, runs: Sequence[Running], row: int) -> int:
    top_runs = runs[:3]
    row -= 2 * len(top_runs) + (1 if len(runs) > len(top_runs) else 0)
    at = row
    for run in top_runs:
        canvas.put(at, 1, f"Run {run.number}  {run.suite} on {run.model}", "title")
        rest = "" if run.seconds_left is None else f"  {duration_text(run.seconds_left)} left"
        if rest and run.is_upper_bound:
            rest = f"  at most{rest[1:]}"
        blocks = int(_BAR * (run.fraction or 0.0))
        bar = "█" * blocks + "░" * (_BAR - blocks)
        share = "    " if run.fraction is None else f"{100 * run.fraction:3.0f}%"
        canvas.put(at + 1, 2, f"{bar} {share}{rest}  {run.step}")
        at += 2
    if len(runs) > len(top_runs):
        canvas.put(at, 1, f"and {len(runs) - len(top_runs)} more running")
    return row


def _slots(canvas: Canvas, slots: Sequence[SlotLine], row: int) -> int:
    """Two side by side in big letters; one line each where the screen is too low for that."""
    across = 1 if len(slots) == 1 else 2
    down = -(-len(slots) // across)
    tall = banner_font.HEIGHT + 3
    if row - down * tall < _KEPT_ROWS:
        top_slots = slots[: max(1, row - _KEPT_ROWS)]
        row -= len(top_slots)
        for at, slot in enumerate(top_slots):
            text = f" {slot.name}: {slot.word}  {slot.model}  {slot.message}"
            canvas.block(row + at, 0, canvas.width, text, _style(slot.kind))
        return row
    row -= down * tall
    width = canvas.width // across
    for number, slot in enumerate(slots):
        top, start = row + number // across * tall, number % across * width
        edge = canvas.width if number % across == across - 1 else start + width - 1
        word = banner_font.big(slot.word, edge - start - 2)
        space = [""] * (banner_font.HEIGHT - len(word))
        lines = (f"{slot.name}  {slot.model}", *space, *word, slot.message, "")
        for at, line in enumerate(lines):
            canvas.block(top + at, start, edge, line, _style(slot.kind), middle=True)
    return row


def _style(kind: str) -> str:
    return {GOOD: "good-block", BAD: "bad-block"}.get(kind, "plain-block")


def _draw_ending(canvas: Canvas, run: FinishedRun, row: int) -> int:
    """The word over the whole width, with the run below."""
    style = _style(run.ending.kind)
    word = banner_font.big(run.ending.word, canvas.width - 2)
    lines = (f"run {run.number}, {run.suite} on {run.model}", run.ending.reason)
    row -= len(word) + 1 + len(lines)
    for index, line in enumerate(("", *word, *(plain(text)[: canvas.width - 2] for text in lines))):
        start = (canvas.width - len(line)) // 2
        canvas.put(row + index, start, line)
        canvas.fill(row + index, style)
    return row
