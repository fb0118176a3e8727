"""Masks what identifies a drive, a machine or a person, in a document for other people.

Such fields are masked by their name. Their values are then searched in all other texts, also in the
forms that tools and the kernel use: other case, blanks as underscores,
ATA's swapped bytes, hexadecimal. Numbers that are unique by their form (WWN, EUI-64, NGUID, MAC
addresses, UUIDs) are masked wherever they are. Masks are counted, not computed: a serial cannot be
guessed from its mask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# Fields of one drive, one medium, one person's folder or one order.
_SECRET = frozenset({
    "serial", "bridge_serial", "drive_key", "code", "drive_code", "label",
    "uuid", "partuuid", "ptuuid", "set", "asset", "order", "operator", "scanned", "password",
})  # fmt: skip
# Of these, what is searched in texts as a part of longer words, and what as a word. A code is a
# serial or a place; other things than drives have codes, keys and labels.
_SERIALS = frozenset({"serial", "bridge_serial"})
_WORDS = frozenset({
    "uuid", "partuuid", "ptuuid", "set", "asset", "order", "operator", "scanned", "password",
})  # fmt: skip
# Fields that may hold numbers which are unique; the fact `value` of one is meant as well.
_UNIQUE = frozenset({"wwn", "wwid", "eui64", "nguid", "logical_unit_id", "mac"})
# Shorter ones would match in unrelated words.
_SHORTEST = 4
_ATA_SERIAL = 20
_COMMON = frozenset({"practice", "localhost", "benchstick", "unknown", "none"})
_FORMS = (
    # UUIDs, before parts of them look like something else.
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    # MAC addresses and EUI-64 with separators.
    r"\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5,7}\b",
    # A WWN as smartctl prints it.
    r"\b[0-9a-f] [0-9a-f]{6} [0-9a-f]{9}\b",
    r"(?<=ATA password )[A-Za-z0-9]{1,32}",
    # WWN, EUI-64, NGUID.
    r"(?<![0-9a-z])(?:0x)?(?:[0-9a-f]{32}|[0-9a-f]{16})(?![0-9a-z])",
)
_FOLDERS = re.compile(r"/(home|Users|media|run/media|mnt)/[^\x00]*")
_IN_TEXT = re.compile(r"/(home|Users|media|run/media|mnt)/[^\s'\",;:()]+")


def masked(document: Any, names: Iterable[str] = ()) -> Any:
    """The document without secrets. `names` are those of the machine."""
    return _Masks(document, names).of(document)


class _Masks:
    def __init__(self, document: Any, names: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        self._forms: dict[str, str] = {}
        # The name of a machine may be short; it is searched as a word.
        words: list[str] = [name for name in names if len(name) > 1 and name not in _COMMON]
        parts: list[str] = []
        for is_serial, text in _secrets(document):
            if not _is_searched(text):
                continue
            for form in _forms(text) if is_serial else (text,):
                self._forms.setdefault(form.casefold(), text)
                (parts if is_serial else words).append(form)
        patterns = [re.escape(form) for form in sorted(set(parts), key=len, reverse=True)]
        for word in sorted(set(words), key=len, reverse=True):
            self._forms.setdefault(word.casefold(), word)
            patterns.append(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])")
        self._search = re.compile("|".join((*patterns, *_FORMS)), re.IGNORECASE)

    def _mask(self, secret: str) -> str:
        original = self._forms.get(secret.casefold(), secret)
        return f"masked-{self._numbers.setdefault(original, len(self._numbers) + 1)}"

    def of(self, value: Any, name: str = "") -> Any:
        """The value of a field called `name`, masked at any depth."""
        if isinstance(value, Mapping):
            if name in _SECRET | _UNIQUE and "value" in value:
                return {**self.of(dict(value)), "value": self.of(value["value"], name)}
            if name in _UNIQUE:
                return self._mask(repr(sorted(value.items())))
            return {self._text(key): self.of(item, key) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(item, name) for item in value]
        if isinstance(value, str):
            return self._mask(value) if name in _SECRET | _UNIQUE and value else self._text(value)
        if name in _UNIQUE and isinstance(value, int) and not isinstance(value, bool):
            return self._mask(str(value))
        return value

    def _text(self, text: str) -> str:
        if _FOLDERS.fullmatch(text):
            return f"/{text.split('/')[1]}/masked"
        text = _IN_TEXT.sub(lambda match: f"/{match[1]}/masked", text)
        return self._search.sub(lambda match: self._mask(match[0]), text)


def _secrets(value: Any, name: str = "") -> Iterator[tuple[bool, str]]:
    """Each text to search for: whether it is a serial, and the text."""
    if isinstance(value, Mapping):
        label = value.get("label")
        if isinstance(label, str) and not {"identity", "fs", "uuid"}.isdisjoint(value):
            yield False, label
        for key, item in value.items():
            yield from _secrets(item, name if key == "value" and name in _SECRET else key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item, name)
    elif isinstance(value, str) and name.endswith("key") and value.count("|") == 2:
        # Serial, model and capacity.
        yield True, value.partition("|")[0]
    elif isinstance(value, str) and name in _SERIALS | _WORDS:
        yield name in _SERIALS, value


def _is_searched(secret: str) -> bool:
    text = secret.strip().casefold()
    return len(text) >= _SHORTEST and text not in _COMMON and not text.startswith("port:")


def _forms(serial: str) -> set[str]:
    """A serial as tools, the kernel and udev write it."""
    text = serial.strip()
    forms = {serial, text, re.sub(r"\s", "_", text), re.sub(r"\s+", "_", text),
             re.sub(r"\s+", "", text)}  # fmt: skip
    for padded_text in (
        text,
        text.ljust(_ATA_SERIAL),
        text.rjust(_ATA_SERIAL),
        f"{text} ",
        f" {text}",
    ):
        swapped_text = _swapped(padded_text)
        forms |= {swapped_text.strip(), re.sub(r"\s", "_", swapped_text.strip())}
    forms.add(text.lstrip("0"))
    for plain in tuple(forms):
        data = plain.encode("utf-8", "surrogatepass")
        forms |= {data.hex(), data.hex(" "), data.hex(":"), data.hex("-"), data.hex(" ", -2)}
    return {form for form in forms if len(form) >= _SHORTEST}


def _swapped(text: str) -> str:
    """Each two letters in the other order, as ATA keeps text in words."""
    pairs = [text[at : at + 2] for at in range(0, len(text), 2)]
    return "".join(pair[::-1] for pair in pairs)
