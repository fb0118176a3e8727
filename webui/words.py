"""The page's own words in the visitor's language, by gettext.

The English text is the message's id, with `%(name)s` for what is put in. All messages stand in
`locale/benchstick.pot`, which `scripts/messages` makes; a translation is a
`locale/LANG/LC_MESSAGES/benchstick.po` beside it, read once when the page starts.
"""

from __future__ import annotations

import gettext as catalogues
import io
import json
import logging
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flask import Flask, g, has_app_context
from jinja2 import Environment
from werkzeug.datastructures import LanguageAccept

log = logging.getLogger("benchstick.web")

LOCALE = Path(__file__).resolve().parent / "locale"
SCRIPTS = Path(__file__).resolve().parent / "static/js"
# As in the settings: whatever the browser asks for.
BROWSERS = "browser"


def N_(message: str) -> str:
    """Marks a message that is looked up later, by `word`."""
    return message


# What the bench records of a few known words: states and directions.
RECORDED: Mapping[str, str] = {
    "free": N_("free"),
    "locked": N_("locked"),
    "protected": N_("protected"),
    "pending": N_("pending"),
    "running": N_("running"),
    "done": N_("done"),
    "corrupt": N_("data corrupt"),
    "failed": N_("failed"),
    "cancelled": N_("cancelled"),
    "interrupted": N_("interrupted"),
    "refused": N_("refused"),
    "skipped": N_("skipped"),
    "invalid": N_("invalid"),
    "valid": N_("valid"),
    "missing": N_("missing"),
    "works": N_("works"),
    "agree": N_("agree"),
    "pass": N_("pass"),
    "ineffective": N_("ineffective"),
    "unclear": N_("unclear"),
    "unknown": N_("unknown"),
    "inconclusive": N_("inconclusive"),
    "imported": N_("imported"),
    "USB bridge": N_("USB bridge"),
    "USB hub": N_("USB hub"),
    "SATA port": N_("SATA port"),
    "controller": N_("controller"),
    "PCIe bridge": N_("PCIe bridge"),
    "differ": N_("differ"),
    "fail": N_("fail"),
    "waiting": N_("waiting"),
    "taken": N_("taken"),
    "open": N_("open"),
    "starting": N_("starting"),
    "stopped": N_("stopped"),
    "held": N_("held"),
    "empty": N_("empty"),
    "here": N_("not tested"),
    "testing": N_("testing"),
    "taken_out": N_("taken out"),
    "not_started": N_("not started"),
    "asset": N_("asset tag"),
    "serial": N_("serial number"),
    "order": N_("order"),
    "operator": N_("operator"),
    "scanner": N_("the bench's scanner"),
    "page": N_("this page"),
    "read": N_("read"),
    "write": N_("write"),
    "mix": N_("mix"),
}


@dataclass(frozen=True)
class Spoken:
    """A language: its tag, as `pt-BR`, its messages, and as JSON those of the scripts, "" in
    English."""

    tag: str
    messages: catalogues.NullTranslations
    of_scripts: str = ""


ENGLISH = Spoken("en", catalogues.NullTranslations())


# ---- looking up


def find_language() -> Spoken:
    """The language of the page that is being made; English outside of a request."""
    language: Spoken = g.get("spoken", ENGLISH) if has_app_context() else ENGLISH
    return language


def _(message: str, **values: object) -> str:
    """The message in the visitor's language, with the values put in."""
    return find_language().messages.gettext(message) % values


def ngettext(one: str, many: str, num: int, **values: object) -> str:
    """`one` or `many`, as the language counts `num`, which is put in with the values."""
    return find_language().messages.ngettext(one, many, num) % {"num": num, **values}


def word(text: object) -> str:
    """A recorded word, or a message marked with `N_`, in the visitor's language; any other text as
    it is."""
    message = str(text)
    # The empty message is the head of a catalogue.
    return find_language().messages.gettext(RECORDED.get(message, message)) if message else message


# ---- the page


def install(env: Environment) -> None:
    """Give templates `_()` and `{% trans %}`."""
    env.add_extension("jinja2.ext.i18n")
    env.install_gettext_callables(  # type: ignore[attr-defined]
        lambda message: find_language().messages.gettext(message),
        lambda one, many, num: find_language().messages.ngettext(one, many, num),
        newstyle=True,
    )
    env.filters["word"] = word


def register(app: Flask) -> None:
    """Read the translations that are there, and let the templates use them."""
    install(app.jinja_env)
    app.extensions["benchstick-words"] = languages(LOCALE)
    app.add_template_global(find_language)


def speak(app: Flask, language: str, accepted: LanguageAccept) -> None:
    """Answer the present request in the language `wanted` by the settings or, where that is
    `BROWSERS`, in the one of those present that the browser likes best."""
    present: Mapping[str, Spoken] = app.extensions["benchstick-words"]
    if len(present) > 1:
        tag = liked(present, accepted) if language == BROWSERS else language.replace("_", "-")
        g.spoken = present.get(tag, ENGLISH)


def liked(tags: Iterable[str], accepted: LanguageAccept) -> str:
    """The tag of those that a browser likes best: `de` where it asks for `de-AT` before `en`, which
    werkzeug's own choice answers with `en`."""
    spellings = {tag.lower(): tag for tag in tags}
    for choice, quality in accepted:
        main = choice.lower().split("-")[0]
        for tag in (choice.lower(), main, *(tag for tag in spellings if tag.split("-")[0] == main)):
            if quality and tag in spellings:
                return spellings[tag]
    return ENGLISH.tag


# ---- catalogues


def languages(folder: Path) -> dict[str, Spoken]:
    """English and every translation in `folder`, by tag. One that cannot be read is left out, and
    told in the log."""
    by_tag = {ENGLISH.tag: ENGLISH}
    for path in sorted(folder.glob("*/LC_MESSAGES/benchstick.po")):
        try:
            messages = compiled(read_po(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            log.error("%s: %s", path, error)
            continue
        tag = path.parent.parent.name.replace("_", "-")
        of_scripts = {text: messages.gettext(text) for text in messages_of_scripts(SCRIPTS)}
        of_scripts |= {name: messages.gettext(text) for name, text in RECORDED.items()}
        by_tag[tag] = Spoken(tag, messages, json.dumps(of_scripts, ensure_ascii=False))
    return by_tag


# A message in a script: `say("...")`, and nothing but a text in double quotes.
SAY = re.compile(r'(?<![\w.])say\(("(?:[^"\\]|\\.)*")?')


def said_in(script: str) -> Iterable[tuple[int, str]]:
    """(line, message) of a script. ValueError with the line where `say` has no text."""
    for match in SAY.finditer(script):
        line = script.count("\n", 0, match.start()) + 1
        if match[1] is None:
            raise ValueError(f"line {line}: say() wants a text in double quotes")
        yield line, json.loads(match[1])


def messages_of_scripts(folder: Path) -> list[str]:
    """The messages that the page's scripts say, each once."""
    files = sorted(folder.glob("*.js"))
    script_messages = (said_in(path.read_text(encoding="utf-8")) for path in files)
    return list(dict.fromkeys(text for pairs in script_messages for _line, text in pairs))


_PO_LINE = re.compile(r'(?:(msgid|msgid_plural|msgstr|msgstr\[\d\])\s+)?"((?:[^"\\]|\\.)*)"')
_ESCAPED = {"n": "\n", "t": "\t"}


def read_po(text: str) -> dict[str, str]:
    """The messages of a .po file as a .mo file has them: plural forms are joined by NUL. What is
    not translated or fuzzy is left out. ValueError with the line that is no such file's."""
    messages: dict[str, str] = {}
    entry: dict[str, str] = {}
    fuzzy, field = False, ""

    def keep() -> None:
        ids = [entry[name] for name in ("msgid", "msgid_plural") if name in entry]
        texts = [
            translation for name, translation in sorted(entry.items()) if name.startswith("msgstr")
        ]
        # The head is fuzzy in a catalogue that nobody has begun; its character set counts.
        if texts and all(texts) and (not fuzzy or ids == [""]):
            messages["\0".join(ids)] = "\0".join(texts)

    for number, line in enumerate([*map(str.strip, text.splitlines()), ""], 1):
        if line.startswith("#~"):
            continue
        whole = "msgstr" in entry or "msgstr[0]" in entry
        if whole and (not line or line.startswith(("#", "msgid "))):
            keep()
            entry, fuzzy = {}, False
        if line.startswith("#"):
            fuzzy = fuzzy or (line.startswith("#,") and "fuzzy" in line)
        elif line:
            match = _PO_LINE.fullmatch(line)
            if match is None or not (match[1] or field):
                raise ValueError(f"line {number}: not a line of a .po file that the page reads")
            field = match[1] or field
            piece = re.sub(r"\\(.)", lambda one: _ESCAPED.get(one[1], one[1]), match[2])
            entry[field] = entry.get(field, "") + piece
    return messages


def compiled(messages: Mapping[str, str]) -> catalogues.GNUTranslations:
    """The messages of `read_po` as the standard library looks them up. ValueError where their head
    is not one: no UTF-8, or plural forms that cannot be read."""
    if "charset=utf-8" not in messages.get("", "").lower():
        raise ValueError('its head does not say "Content-Type: text/plain; charset=UTF-8"')
    pairs = sorted((key.encode(), text.encode()) for key, text in messages.items())
    texts = [key for key, _text in pairs] + [text for _key, text in pairs]
    # A .mo file: seven numbers, a table of lengths and places, the texts, each with a NUL.
    table, at = [], 28 + 8 * len(texts)
    for one in texts:
        table += [len(one), at]
        at += len(one) + 1
    head = (0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    data = struct.pack(f"<{7 + len(table)}I", *head, *table) + b"".join(t + b"\0" for t in texts)
    return catalogues.GNUTranslations(io.BytesIO(data))
