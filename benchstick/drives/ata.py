"""The 256 words of an ATA drive's IDENTIFY DEVICE and the facts in them.

The words and bits are those of ATA8-ACS to ACS-4. Sources, in this order: `hdparm --Istdout`
(queries the drive, so the security state is current), the kernel's copy in `vpd_pg89` (sends no
command). All functions but `read_words` are pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchstick.drives.device_query import Asker
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Fact

# VPD page 89h: IDENTIFY data starts at byte 60 (SAT-4, 12.4.2).
_PAGE_89_IDENTIFY = 60
_SATA_SPEEDS = {1: 1500, 2: 3000, 3: 6000}


@dataclass(frozen=True)
class Words:
    """The 256 words and their source; empty, with the reason in `reason`, when not available."""

    words: tuple[int, ...] = ()
    source: str = ""
    reason: str = ""

    def __bool__(self) -> bool:
        return len(self.words) == 256

    def bit(self, word: int, bit: int) -> bool:
        return bool(self.words[word] >> bit & 1)

    def text(self, first: int, last: int) -> str:
        """An ATA string: two characters a word, high byte first."""
        raw = b"".join(word.to_bytes(2, "big") for word in self.words[first : last + 1])
        return raw.decode("ascii", "replace").strip("\0 ")

    @property
    def serial(self) -> str:
        return self.text(10, 19)

    @property
    def firmware(self) -> str:
        return self.text(23, 26)

    @property
    def model(self) -> str:
        return self.text(27, 46)


def parse_hdparm(output: str) -> tuple[int, ...]:
    """The words of `hdparm --Istdout`: hexadecimal, eight a line."""
    words = [int(word, 16) for word in re.findall(r"(?<![\w/.-])[0-9a-fA-F]{4}(?![\w:])", output)]
    return tuple(words) if len(words) == 256 else ()


def parse_page_89(page: bytes) -> tuple[int, ...]:
    """The words inside VPD page 89h (little endian)."""
    data = page[_PAGE_89_IDENTIFY : _PAGE_89_IDENTIFY + 512]
    if len(data) != 512:
        return ()
    return tuple(int.from_bytes(data[i : i + 2], "little") for i in range(0, 512, 2))


def plausible(words: tuple[int, ...]) -> bool:
    """An ATA disk's answer: bit 15 of word 0 is clear and there is a model."""
    return len(words) == 256 and not words[0] >> 15 and any(words[27:47])


def read_words(tree: Tree, name: str, ask: Asker, refuse_why: str | None) -> Words:
    """IDENTIFY of drive `name`. `refuse_why`: the drive must not be sent ATA commands."""
    reason = refuse_why
    if refuse_why is None:
        answer = ask("hdparm", "--Istdout", f"/dev/{name}")
        words = parse_hdparm(answer.text)
        if plausible(words):
            return Words(words, "IDENTIFY DEVICE (hdparm)")
        reason = _no_answer(ask, answer.text + answer.stderr.decode("utf-8", "replace"), answer)
    page = tree.data(f"sys/block/{name}/device/vpd_pg89")
    words = parse_page_89(page or b"")
    if plausible(words):
        return Words(words, "IDENTIFY DEVICE (kernel's copy, VPD 89h)")
    return Words(reason=reason or "no ATA pass-through")


def _no_answer(ask: Asker, output: str, answer: object) -> str:
    if ask.silent_why is not None:
        return ask.silent_why
    if "not installed" in output or "was not recorded" in output:
        return output.strip()
    if "Permission denied" in output or "Operation not permitted" in output:
        return "only root may ask the drive"
    return "no ATA pass-through"


def sata_speeds(words: Words) -> tuple[int | None, int | None]:
    """Capable and current speed in Mb/s: word 76 bits 1 to 3, word 77 bits 1 to 3."""
    capable = words.words[76]
    if capable in (0, 0xFFFF):
        return None, None
    best = max((speed for gen, speed in _SATA_SPEEDS.items() if capable >> gen & 1), default=None)
    return best, _SATA_SPEEDS.get(words.words[77] >> 1 & 7)


def rotational(words: Words) -> bool | None:
    """Word 217: 1 is a drive without moving parts, above 0x400 the revolutions a minute."""
    rate = words.words[217]
    if rate == 1:
        return False
    return True if 0x401 <= rate <= 0xFFFE else None


def feature_facts(words: Words, reason: str) -> dict[str, Fact]:
    """NCQ, TRIM, write cache, SMART, APM, DevSleep, security state, Opal."""
    names = (
        "ncq", "trim_drive", "write_cache", "smart", "apm", "devsleep", "security",
        "security_erase", "erase_time", "erase_time_enhanced", "opal",
    )  # fmt: skip
    if not words:
        return {name: Fact.unknown(reason) for name in names}
    say = words.source
    facts: dict[str, Fact] = {
        "ncq": _ncq(words),
        "trim_drive": Fact(words.bit(169, 0), source=f"{say}, word 169"),
        "write_cache": Fact(_switch(words, 82, 85, 5), source=f"{say}, word 85"),
        "smart": Fact(_switch(words, 82, 85, 0), source=f"{say}, word 85"),
        "apm": Fact(_apm(words), source=f"{say}, words 86 and 91"),
        "devsleep": Fact(
            "supported" if _valid(words, 78) and words.bit(78, 8) else "not supported",
            source=f"{say}, word 78",
        ),
        "security": Fact(security(words.words[128]), source=f"{say}, word 128"),
        "security_erase": Fact(security_erase(words.words[128]), source=f"{say}, word 128"),
        "erase_time": _erase_time(words, 89, bool(words.words[128] & 1)),
        "erase_time_enhanced": _erase_time(words, 90, words.words[128] & 0x21 == 0x21),
    }
    trusted_computing = words.words[48]
    if trusted_computing >> 14 == 1:
        # The bit shows TRUSTED SEND/RECEIVE, which Opal uses. Only a discovery would show the
        # security subsystem, and the bench sends none.
        text = "trusted computing supported" if trusted_computing & 1 else "not supported"
        facts["opal"] = Fact(text, source=f"{say}, word 48")
    else:
        facts["opal"] = Fact.unknown("the drive does not report trusted computing")
    return facts


def _valid(words: Words, word: int) -> bool:
    return words.words[word] not in (0, 0xFFFF)


def _ncq(words: Words) -> Fact:
    if not _valid(words, 76) or not words.bit(76, 8):
        return Fact("not supported", source=f"{words.source}, word 76")
    depth = (words.words[75] & 0x1F) + 1
    return Fact(f"supported, depth {depth}", source=f"{words.source}, words 75 and 76")


def _switch(words: Words, supported_word: int, enabled_word: int, bit: int) -> str:
    if not words.bit(supported_word, bit):
        return "not supported"
    return "enabled" if words.bit(enabled_word, bit) else "supported, off"


def _apm(words: Words) -> str:
    if not words.bit(83, 3):
        return "not supported"
    if not words.bit(86, 3):
        return "supported, off"
    return f"enabled, level {words.words[91] & 0xFF}"


def security(word: int) -> str:
    """Word 128 in words: `not supported`, or enabled/disabled, locked, frozen, count expired."""
    if not word & 1:
        return "not supported"
    state = ["enabled" if word & 2 else "disabled"]
    state += [
        text for bit, text in ((4, "locked"), (8, "frozen"), (16, "count expired")) if word & bit
    ]
    if not word & 8:
        state.append("not frozen")
    return ", ".join(state)


def security_erase(word: int) -> str:
    """Word 128: `not supported`, `supported`, `supported, also enhanced`."""
    if not word & 1:
        return "not supported"
    return "supported, also enhanced" if word & 0x20 else "supported"


def _erase_time(words: Words, word: int, is_supported: bool) -> Fact:
    """Words 89 and 90, in units of two minutes; bit 15 marks the longer form of ACS-3."""
    if not is_supported:
        return Fact.unknown("the drive has no such security erase")
    value = words.words[word]
    units = value & 0x7FFF if value >> 15 else value & 0xFF
    if not units:
        return Fact.unknown("the drive does not report how long its security erase takes")
    most = units == (0x7FFF if value >> 15 else 0xFF)
    source = f"{words.source}, word {word}" + (", or more" if most else "")
    return Fact(2 * units, "min", source)
