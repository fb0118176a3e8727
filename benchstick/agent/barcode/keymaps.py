"""Decodes the keys of a barcode scanner to text: to the kernel a scanner is a keyboard.

A scanner emulates the keyboard layout of one country, which is set in the scanner. Its keys are
decoded with that layout, whatever the layout of the bench's own keyboard is. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# The key codes of the keys with characters (linux/input-event-codes.h), row by row: the key left of
# 1 and the row of digits; the row of Q; the key above Enter; the row of A; the key left of Z; the
# row of Z.
_KEYS = (41, *range(2, 14), *range(16, 28), 43, *range(30, 41), 86, *range(44, 54))
_KEYPAD = {
    71: "7", 72: "8", 73: "9", 74: "-", 75: "4", 76: "5", 77: "6", 78: "+", 79: "1", 80: "2",
    81: "3", 82: "0", 83: ".", 98: "/", 55: "*",
}  # fmt: skip
_SPACE = 57
_ENDS = frozenset({28, 96, 15})  # Enter, the keypad's, Tab
_SHIFTS = frozenset({42, 54})
_CONTROLS = frozenset({29, 97, 125, 126})  # Control and the two logo keys
_CAPS_LOCK, _ALT, _ALT_GR = 58, 56, 100

# Longer than any barcode on a drive or a work order.
MOST_CHARACTERS = 200
# Scanners send a key every few milliseconds; slow radio scanners every 50 ms.
QUIET_SECONDS = 0.5


@dataclass(frozen=True)
class Layout:
    """The keyboard layout of one country: the characters of the keys in the order of `_KEYS`, plain
    and with Shift, and those with AltGr by their plain character. `dead` lists the dead keys: a
    scanner sends a space after them."""

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
    """Takes the keys of a scanner one by one and returns each complete scan as text.

    A scan ends with Enter or Tab, or when no key comes for QUIET_SECONDS. Control characters and
    keys without a character are ignored; text beyond MOST_CHARACTERS is truncated.
    """

    def __init__(self, layout: Layout) -> None:
        self._plain = dict(zip(_KEYS, layout.plain, strict=True))
        self._shift = dict(zip(_KEYS, layout.shift, strict=True))
        self._layout = layout
        self._pressed_keys: set[int] = set()
        self._caps = False
        self._text: list[str] = []
        self._dead = False
        self._number = ""
        self._last = 0.0

    def key(self, code: int, value: int, at: float) -> str | None:
        """Take a key event: its code, its value (1 pressed, 0 released, 2 repeated), and its time
        in seconds of a monotonic clock. Returns the text of the scan that it ends, else None."""
        if value == 0:
            self._pressed_keys.discard(code)
            if code == _ALT:
                self._add(self._by_number())
            return None
        # No scanner holds a key down: the kernel repeats a key whose release it missed.
        if value != 1:
            return None
        self._last = at
        if code in _ENDS:
            return self._finish()
        if code == _CAPS_LOCK:
            self._caps = not self._caps
        elif _ALT in self._pressed_keys and _KEYPAD.get(code, "").isdigit():
            self._number += _KEYPAD[code]
        else:
            self._pressed_keys.add(code)
            self._add(self._character(code))
        return None

    def quiet(self, at: float) -> str | None:
        """The text of a scan that ends without Enter or Tab, once QUIET_SECONDS have passed."""
        if self._text and at - self._last >= QUIET_SECONDS:
            return self._finish()
        return None

    def drop(self) -> None:
        """Discard the keys since the last scan."""
        self._pressed_keys.clear()
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
        if self._pressed_keys & _CONTROLS or _ALT in self._pressed_keys:
            return ""
        if code == _SPACE:
            return " "
        if code in _KEYPAD:
            return _KEYPAD[code]
        plain: str = self._plain.get(code, "")
        if _ALT_GR in self._pressed_keys:
            return self._layout.alt_gr.get(plain, "")
        has_shift = bool(self._pressed_keys & _SHIFTS)
        # Caps Lock affects only letters; Shift reverses it.
        if self._caps and plain.isalpha():
            has_shift = not has_shift
        return self._shift.get(code, "") if has_shift else plain

    def _by_number(self) -> str:
        """The character of Alt and a number on the keypad, which needs no layout: the Windows code
        page with a leading 0, else the IBM PC's."""
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
