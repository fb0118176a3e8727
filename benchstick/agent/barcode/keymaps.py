"""What a barcode scanner types, as text: a scanner is a keyboard to the kernel, and sends keys.

A scanner emulates one country's keyboard; which one is set in the scanner. Its keys are decoded by
that layout here, whatever the bench's own keyboard is. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# The kernel's numbers of the keys that carry characters (linux/input-event-codes.h), row by row:
# the one left of 1 and the digits' row; Q's; the one above Enter; A's; the one left of Z; Z's.
_KEYS = (41, *range(2, 14), *range(16, 28), 43, *range(30, 41), 86, *range(44, 54))
_KEYPAD = {
    71: "7", 72: "8", 73: "9", 74: "-", 75: "4", 76: "5", 77: "6", 78: "+", 79: "1", 80: "2",
    81: "3", 82: "0", 83: ".", 98: "/", 55: "*",
}  # fmt: skip
_SPACE = 57
_ENDS = frozenset({28, 96, 15})  # Enter, the keypad's, Tab
_SHIFTS = frozenset({42, 54})
_CONTROLS = frozenset({29, 97, 125, 126})  # Control and the two logo keys: no characters
_CAPS_LOCK, _ALT, _ALT_GR = 58, 56, 100

# Longer than any barcode on a drive or a paper of the shop.
MOST_CHARACTERS = 200
# Scanners send a key every few milliseconds; the slow ones, over radio, every 50.
QUIET_SECONDS = 0.5


@dataclass(frozen=True)
class Layout:
    """One country's keyboard: the characters of the keys in the order of `_KEYS`, plain, with
    shift, and those with AltGr by their plain character. `dead` are keys that wait for a letter:
    a scanner sends a space after them."""

    plain: str
    shift: str
    alt_gr: Mapping[str, str] = field(default_factory=dict)
    dead: str = ""


LAYOUTS: Mapping[str, Layout] = {
    "us": Layout(
        "`1234567890-=" "qwertyuiop[]" "\\" "asdfghjkl;'" "<" "zxcvbnm,./",
        "~!@#$%^&*()_+" "QWERTYUIOP{}" "|" 'ASDFGHJKL:"' ">" "ZXCVBNM<>?",
    ),
    "uk": Layout(
        "`1234567890-=" "qwertyuiop[]" "#" "asdfghjkl;'" "\\" "zxcvbnm,./",
        '¬!"£$%^&*()_+' "QWERTYUIOP{}" "~" "ASDFGHJKL:@" "|" "ZXCVBNM<>?",
        {"`": "¦", "4": "€"},
    ),
    "de": Layout(
        "^1234567890ß´" "qwertzuiopü+" "#" "asdfghjklöä" "<" "yxcvbnm,.-",
        '°!"§$%&/()=?`' "QWERTZUIOPÜ*" "'" "ASDFGHJKLÖÄ" ">" "YXCVBNM;:_",
        {
            "2": "²", "3": "³", "7": "{", "8": "[", "9": "]", "0": "}", "ß": "\\", "q": "@",
            "e": "€", "+": "~", "<": "|", "m": "µ",
        },
        "^´`",
    ),
    "fr": Layout(
        "²&é\"'(-è_çà)=" "azertyuiop^$" "*" "qsdfghjklmù" "<" "wxcvbn,;:!",
        "²1234567890°+" "AZERTYUIOP¨£" "µ" "QSDFGHJKLM%" ">" "WXCVBN?./§",
        {
            "é": "~", '"': "#", "'": "{", "(": "[", "-": "|", "è": "`", "_": "\\", "ç": "^",
            "à": "@", ")": "]", "=": "}", "e": "€",
        },
        "^¨",
    ),
}  # fmt: skip


class Decoder:
    """Takes a scanner's keys one by one, gives each finished scan as text.

    A scan ends with Enter or Tab, or when nothing comes for QUIET_SECONDS. Control characters and
    keys without one are left out; text beyond MOST_CHARACTERS is cut.
    """

    def __init__(self, layout: Layout) -> None:
        self._plain = dict(zip(_KEYS, layout.plain, strict=True))
        self._shift = dict(zip(_KEYS, layout.shift, strict=True))
        self._layout = layout
        self._held: set[int] = set()
        self._caps = False
        self._text: list[str] = []
        self._dead = False
        self._number = ""
        self._last = 0.0

    def key(self, code: int, value: int, at: float) -> str | None:
        """One key event: its code, 1 pressed, 0 released, 2 repeated, and its time in seconds of a
        clock that only goes forward. The text of the scan that it ends, else None."""
        if value == 0:
            self._held.discard(code)
            if code == _ALT:
                self._add(self._by_number())
            return None
        # No scanner holds a key down: a repeat is the kernel's own, for a key it saw no end of.
        if value != 1:
            return None
        self._last = at
        if code in _ENDS:
            return self._finish()
        if code == _CAPS_LOCK:
            self._caps = not self._caps
        elif _ALT in self._held and _KEYPAD.get(code, "").isdigit():
            self._number += _KEYPAD[code]
        else:
            self._held.add(code)
            self._add(self._character(code))
        return None

    def quiet(self, at: float) -> str | None:
        """The text of a scan that has no Enter or Tab at its end, once it is over."""
        if self._text and at - self._last >= QUIET_SECONDS:
            return self._finish()
        return None

    def drop(self) -> None:
        """Forget what was typed since the last scan."""
        self._held.clear()
        self._text.clear()
        self._dead = False
        self._number = ""

    def _finish(self) -> str | None:
        text = "".join(self._text).strip()
        self._text.clear()
        self._dead = False
        self._number = ""
        return text or None

    def _character(self, code: int) -> str:
        if self._held & _CONTROLS or _ALT in self._held:
            return ""
        if code == _SPACE:
            return " "
        if code in _KEYPAD:
            return _KEYPAD[code]
        plain: str = self._plain.get(code, "")
        if _ALT_GR in self._held:
            return self._layout.alt_gr.get(plain, "")
        shifted = bool(self._held & _SHIFTS)
        # Caps lock turns letters alone; shift undoes it.
        if self._caps and plain.isalpha():
            shifted = not shifted
        return self._shift.get(code, "") if shifted else plain

    def _by_number(self) -> str:
        """Alt held and a number typed on the keypad, the way that needs no layout: with a 0 before
        it in Windows' code page, without one in the IBM PC's."""
        digits, self._number = self._number, ""
        if not digits or int(digits) > 255:
            return ""
        page = "cp1252" if digits.startswith("0") else "cp437"
        return bytes([int(digits)]).decode(page, "ignore")

    def _add(self, character: str) -> None:
        if self._dead and character == " ":
            character = ""
        elif character and character.isprintable() and len(self._text) < MOST_CHARACTERS:
            self._text.append(character)
        if character or self._dead:
            self._dead = bool(character) and character in self._layout.dead
