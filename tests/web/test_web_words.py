"""The page in another language: one made of the catalogue, in which every message stands in ⟦ ⟧.

What a page shows outside of these is what the bench recorded, a number with its unit, or a name.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import messages
import pytest
from flask import Flask
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect

from benchstick.analysis.comparison import conditions
from benchstick.store import settings
from benchstick.store.database import open_writer
from benchstick.suites import presets, registry
from tests.hardware import playback
from tests.web import every_page, sample
from tests.web.conftest import Bench, browser, served
from tests.web.watched import Watched
from webui import create_app, present, words
from webui.gate import COOKIE
from webui.pin import LoginKey

PSEUDO = "qps"
HEADERS = {"Accept-Language": f"{PSEUDO}, en;q=0.5"}
TEMPLATES = Path(words.__file__).parent / "templates"
# Attributes that somebody sees or hears.
SEEN = ("title", "aria-label", "placeholder", "alt", "data-label")
# The same in every language: names, units, abbreviations, files of a step.
NAMES = frozenset(
    {"Benchstick", "Linux", "fio", "HTTP", "JSON", "PDF", "SVG", "PNG", "CSV", "UTC", "USB", "SATA",
     "NVMe", "PCIe", "UASP", "BOT", "NCQ", "exFAT", "NTFS", "ext4", "TLC", "EUR", "MB/s", "IOPS",
     "IO/s", "MiB/s", "GB", "Q", "T", "JUnit", "command", "stdout", "stderr", "fio.json"}
)  # fmt: skip
# Recorded words that are messages as well: the practice drive's model, values and names of
# parameters, names of lines and columns that a suite gives.
ALSO_RECORDED = {
    "drives": {"Practice drive"},
    "start": {"Practice drive", "Source", "Mix", "Idle", "Default", "default", "no", "yes", "read",
              "drive"},
    "suite": {"both, read", "default", "no", "yes, no",
              "no, 90, 80, 70, 60, 50, 40, 30, 20, 10"},
    "compare": {"default", "no"},
    "verdict": {"cancelled"},
    "run": {"mean", "max", "link", "temperature", "write", "read", "mix", "in flight", "state",
            "test", "valid", "I/O size", "Score", "requests", "up to µs", "Purge",
            "overwrite · fio-3.39 · 52 min 46 s · all 1.00 TB written, all read back and equal ·"},
    "runs": {"Purge", "cancelled"},
}  # fmt: skip
_NUMBER = re.compile(
    r"[<±+-]?[\d.,:\u202f]*\d[\d.,:\u202f]*(e[+-]\d+)?(Q\d+T\d+)?"
    r"(%|B|[kMGT]B|[KMGT]iB|[MG]b/s|GT/s|MB/s|IOPS|s|ms|µs|min|h|°C|points)?"
)
_UNIT = re.compile(
    r"%|B|[kMGT]B|[KMGT]iB|[MG]b/s|G[BT]/s|s|ms|µs|min|h|°C|points|x\d+|Q\d+T?\d*"
    r"|(SEQ|RND)\d+[KM]"
)


def translation(form: str = "⟦{}⟧") -> str:
    """A .po file with every message of the page."""
    made = [messages.HEAD]
    for message in messages.used():
        lines = [f"msgid {messages.quoted(message[0])}"]
        if len(message) == 2:
            lines.append(f"msgid_plural {messages.quoted(message[1])}")
            lines += [f"msgstr[{at}] {messages.quoted(form.format(message[at]))}" for at in (0, 1)]
        else:
            lines.append(f"msgstr {messages.quoted(form.format(message[0]))}")
        made.append("\n".join(lines) + "\n")
    return "\n".join(made)


def put(folder: Path, language: str, text: str) -> None:
    place = folder / language / "LC_MESSAGES"
    place.mkdir(parents=True)
    (place / "benchstick.po").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def locale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locale")
    put(folder, PSEUDO, translation())
    put(folder, "pt_BR", translation("{}"))
    return folder


def speaking(bench: Bench, locale: Path, key: LoginKey, language: str | None = None) -> Flask:
    """The page with the translations in `locale`, and `language` in its settings."""
    text = "" if language is None else f'language = "{language}"'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "LOCALE", locale)
        return create_app(bench.home, settings.read(text, "test"), key=key)


@pytest.fixture(scope="module")
def pseudo(bench: Bench, locale: Path, key: LoginKey) -> Flask:
    every_page.add_to(bench.home, bench.numbers)
    return speaking(bench, locale, key)


# ---- what is on a page


class Seen(HTMLParser):
    """The texts and attributes of a page that somebody sees, each without what is in ⟦ ⟧."""

    # Commands and outputs, and the pages of docs/.
    LEFT_OUT = ("script", "style", "pre", "code")
    EMPTY = frozenset({"meta", "link", "img", "input", "br", "hr", "rect", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.left_out: list[bool] = [False]
        self.depth = 0
        self.twin: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        doc = "doc" in (given.get("class") or "").split()
        if tag not in self.EMPTY:
            self.left_out.append(self.left_out[-1] or doc or tag in self.LEFT_OUT)
        for name in SEEN:
            self.found.extend(outside(given.get(name) or "")[0])
        if tag == "link" and given.get("rel") == "alternate":
            self.twin = given["href"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.left_out.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            self.left_out.pop()

    def handle_data(self, data: str) -> None:
        # A message may have tags in it: its end is in another text.
        texts, self.depth = outside(data, self.depth)
        if not self.left_out[-1]:
            self.found.extend(texts)


def outside(text: str, depth: int = 0) -> tuple[list[str], int]:
    """The parts of a text that are not in ⟦ ⟧, and how deep it ends."""
    found = [""]
    for sign in text:
        if sign == "⟦":
            depth += 1
            found.append("")
        elif sign == "⟧":
            depth -= 1
        elif not depth:
            found[-1] += sign
    return [part for part in map(str.strip, found) if part], depth


def leaves(found: Any) -> Iterator[str]:
    """All texts of a document, and the names of its fields, as a page shows them."""
    if isinstance(found, dict):
        for name, value in found.items():
            yield from (str(name), str(name).replace("_", " "))
            yield str(name).replace("_", " ").capitalize()
            yield from leaves(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from leaves(value)
    elif isinstance(found, str):
        yield found


def plain(text: str) -> str:
    return " ".join(text.split()).strip(" .,:;·/()…–±×“”|")


class Recorded:
    """What the bench has recorded, and the suites and docs say of themselves."""

    def __init__(self, documents: list[Any]) -> None:
        own = {plain(text) for message in messages.used() for text in message}
        self.texts = {plain(text) for text in leaves(documents)} - own - {""}

    def has(self, text: str) -> bool:
        """Whether the whole text is made of recorded ones, names, numbers and units."""
        # A step's number is before its name.
        text = re.sub(r"^\d+\. ", "", text)
        parts = re.split(r"\s*[·;,/()]\s+|\s+[·(]|:\s+|\)", text)
        return plain(text) in self.texts or all(map(self._part, parts))

    def _part(self, text: str) -> bool:
        said = plain(text).split()
        good = [True] + [False] * len(said)
        for end in range(1, len(said) + 1):
            good[end] = any(
                good[begin] and self._one(" ".join(said[begin:end])) for begin in range(end)
            )
        return good[-1]

    def _one(self, text: str) -> bool:
        return (
            text in self.texts
            or text in NAMES
            or not any(sign.isalpha() for sign in text)
            or bool(_NUMBER.fullmatch(text) or _UNIT.fullmatch(text))
        )


@pytest.fixture(scope="module")
def pages(pseudo: Flask, bench: Bench, key: LoginKey) -> dict[str, Seen]:
    """Every page of the sample bench, seen by somebody signed in."""
    client = browser(pseudo)
    assert client.post("/api/v1/login", json={"key": key.current}).status_code == 200
    assert client.get_cookie(COOKIE)
    found = {
        name: Seen(client.get(path, headers=HEADERS).text)
        for name, path in every_page.paths(bench.numbers).items()
    }
    guest = browser(pseudo)
    for name in ("drives", "runs", "models", "references", "tokens", "start-locked", "run-running"):
        answer = guest.get(every_page.paths(bench.numbers)[name], headers=HEADERS)
        found[f"{name}, not signed in"] = Seen(answer.text)
    return found


@pytest.fixture(scope="module")
def recorded(pseudo: Flask, bench: Bench, pages: dict[str, Seen], key: LoginKey) -> Recorded:
    client = browser(pseudo)
    client.post("/api/v1/login", json={"key": key.current})
    addresses = {page.twin for page in pages.values() if page.twin}
    addresses |= {"/api/v1/drives", "/api/v1/runs", "/api/v1/queues", "/api/v1/methods"}
    documents: list[Any] = [client.get(address).json for address in sorted(addresses)]
    suites = registry.all_suites()
    documents += [registry.suite_json(suite) for suite in suites.values()]
    documents += [vars(item) for name in suites for item in presets.of_suite(name)]
    return Recorded(documents)


def test_every_word_of_every_page_is_in_the_catalogue(
    pages: dict[str, Seen], recorded: Recorded
) -> None:
    found = {
        f"{name}: {text}"
        for name, page in pages.items()
        for text in page.found
        if not recorded.has(text) and text not in ALSO_RECORDED.get(re.split("[-,]", name)[0], ())
    }
    assert sorted(found) == []
    assert all(page.depth == 0 for page in pages.values())


def test_a_page_in_english_would_be_complained_of(
    pseudo: Flask, bench: Bench, recorded: Recorded
) -> None:
    client = browser(pseudo)
    for name, path in every_page.paths(bench.numbers).items():
        seen = Seen(client.get(path, headers={"Accept-Language": "en"}).text)
        assert len({text for text in seen.found if not recorded.has(text)}) > 5, name


def test_no_text_of_a_template_stands_outside_of_the_catalogue() -> None:
    """Also what the pages of the sample bench do not show."""
    told = []
    for path in sorted(TEMPLATES.glob("*.html")):
        source = path.read_text(encoding="utf-8")
        source = re.sub(r"\{% trans\b.*?\{% endtrans %\}", "⟦⟧", source, flags=re.DOTALL)
        source = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", " ", source, flags=re.DOTALL)
        for text in Seen(source).found:
            said = re.findall(r"[^\W\d_]+(?:/s)?", text)
            if not all(word in NAMES or _UNIT.fullmatch(word) for word in said):
                told.append(f"{path.name}: {text}")
    assert told == []


# ---- the catalogue


def test_the_catalogue_is_current() -> None:
    made = messages.catalogue(messages.used())
    assert messages.CATALOGUE.read_text(encoding="utf-8") == made, "scripts/messages --write"
    assert list(messages.check_translations()) == []


def test_titles_of_facts_and_conditions_are_in_the_catalogue(tmp_path: Path) -> None:
    known = {message[0] for message in messages.used()}
    names = {name for drive in (sample.fast(), sample.internal()) for name in drive.facts}
    for case in playback.case_names():
        for drive in playback.play(playback.CASES / case, tmp_path / case):
            names |= set(drive.facts)
    assert len(names) > 50
    titles = {present.fact_title(name) for name in names}
    titles |= {title for _name, title, _find in conditions._CONDITIONS}
    assert titles - known == {"fio", "Benchstick"}


@pytest.mark.parametrize(
    ("extract", "source", "line"),
    [
        (messages.of_python, "x = 1\n_(f'{x}')\n", 2),
        (messages.of_python, "ngettext('one', many, 2)\n", 1),
        (messages.of_script, "a();\nb(say(`x`));\n", 2),
        (messages.of_script, "say('x');\n", 1),
    ],
)
def test_what_is_no_text_is_no_message(extract: Any, source: str, line: int) -> None:
    with pytest.raises(ValueError, match=f"line {line}: "):
        list(extract(source))


def test_messages_are_found() -> None:
    many = "{% trans n=2 %}{{ n }} is 5 %{% pluralize %}{{ n }} are{% endtrans %}"
    template = f"<p>{{{{ _('One') }}}} {many}"
    assert list(messages.of_template(template)) == [("One",), ("%(n)s is 5 %%", "%(n)s are")]
    assert list(messages.of_python("_('a' 'b', n=1)\nN_('c')\nx._('d')\n")) == [("ab",), ("c",)]
    script = 'say("a \\"b\\"", { n }); other.say("c"); essay("d");'
    assert list(messages.of_script(script)) == [('a "b"',)]


# ---- translations


PO = r"""
# somebody's
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n<5 ? 1 : 2);\n"

#: webui/x.html
msgid "Two "
"lines"
msgstr "Zwei\n"
"\"Zeilen\""
#, fuzzy, python-format
msgid "Guessed"
msgstr "Geraten"

msgid "Not done"
msgstr ""

msgid "%(num)s day"
msgid_plural "%(num)s days"
msgstr[0] "%(num)s den"
msgstr[1] "%(num)s dny"
msgstr[2] "%(num)s dní"
#~ msgid "Gone"
#~ msgstr "Weg"
"""


def test_a_translation_is_read() -> None:
    read = words.read_po(PO)
    assert [key for key in read if key] == ["Two lines", "%(num)s day\0%(num)s days"]
    found = words.compiled(read)
    assert found.gettext("Two lines") == 'Zwei\n"Zeilen"'
    for text in ("Guessed", "Not done", "Gone"):
        assert found.gettext(text) == text
    said = [found.ngettext("%(num)s day", "%(num)s days", n) for n in (1, 2, 5)]
    assert said == ["%(num)s den", "%(num)s dny", "%(num)s dní"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('msgid "a"\nmsgstr b\n', "line 2: "),
        ('"a"\n', "line 1: "),
        ('msgctxt "verb"\nmsgid "a"\nmsgstr "b"\n', "line 1: "),
        ('msgid "a"\nmsgstr "b"\n', "charset=UTF-8"),
        (PO.replace("n==1 ? 0", "__import__('os')"), "plural"),
    ],
)
def test_what_is_no_translation_is_told_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, said: str
) -> None:
    put(tmp_path, "de", text)
    put(tmp_path, "fr", translation())
    with caplog.at_level(logging.ERROR):
        assert list(words.languages(tmp_path)) == ["en", "fr"]
    assert said in caplog.text
    assert any(said in problem for problem in messages.check_translations(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Lauf", "other values"),
        ("<b>Lauf</b> %(number)s", "other values or tags"),
        ("Lauf %(numer)s", "other values"),
        ('"Lauf" %(number)s', 'has "'),
        ("Lauf %(number)s %", "has %"),
        ("Lauf %(number)s <", "has <"),
    ],
)
def test_a_translation_that_would_break_the_page_is_told(text: str, said: str) -> None:
    assert [said in problem for problem in messages.problems({"Run %(number)s": text})] == [True]
    assert list(messages.problems({"Run %(number)s": "Lauf %(number)s"})) == []


def test_the_language_made_of_the_catalogue_is_a_right_one(locale: Path) -> None:
    assert list(messages.check_translations(locale)) == []


# ---- whose language


def title_of(app: Flask, accepted: str | None, path: str = "/methods") -> tuple[str, str]:
    """(language, title) of a page."""
    headers = {} if accepted is None else {"Accept-Language": accepted}
    text = app.test_client().get(path, headers=headers).text
    found = re.search(r'<html lang="([^"]+)".*?<title>(.*?) ·', text, re.DOTALL)
    assert found
    return found[1], found[2]


@pytest.mark.parametrize(
    ("wish", "accepted", "wanted"),
    [
        (None, "qps", ("qps", "⟦Methods⟧")),
        (None, "qps-AT, en;q=0.9", ("qps", "⟦Methods⟧")),
        (None, "en, qps;q=0.9", ("en", "Methods")),
        (None, "pt-BR", ("pt-BR", "Methods")),
        (None, "PT, qps;q=0.5", ("pt-BR", "Methods")),
        (None, "qps;q=0, en", ("en", "Methods")),
        (None, "fr", ("en", "Methods")),
        (None, "*;;=\x7f", ("en", "Methods")),
        (None, None, ("en", "Methods")),
        ("qps", "en", ("qps", "⟦Methods⟧")),
        ("en", "qps", ("en", "Methods")),
        ("pt_BR", "qps", ("pt-BR", "Methods")),
        ("fr", "qps", ("en", "Methods")),
    ],
)
def test_the_setting_or_the_browser_chooses(
    bench: Bench, locale: Path, key: LoginKey, wish: str | None, accepted: str | None,
    wanted: tuple[str, str],
) -> None:  # fmt: skip
    assert title_of(speaking(bench, locale, key, wish), accepted) == wanted


def test_without_a_translation_the_page_is_english(app: Flask) -> None:
    assert title_of(app, PSEUDO) == ("en", "Methods")
    assert "data-words" not in app.test_client().get("/methods").text


def test_errors_of_the_page_are_translated_and_those_of_the_api_are_not(pseudo: Flask) -> None:
    client = pseudo.test_client()
    page = client.get("/runs/999999", headers=HEADERS)
    assert page.status_code == 404
    assert "⟦Run 999999: there is no such run.⟧" in page.text
    page = client.get("/drives", headers={**HEADERS, "Host": "elsewhere.example"})
    assert page.status_code == 421
    assert "<h1>⟦This name is not mine⟧</h1>" in page.text
    answer = client.get("/api/v1/runs/999999", headers=HEADERS)
    assert (answer.json or {})["error"]["message"] == "Run 999999: there is no such run."


def test_documents_and_files_are_english(pseudo: Flask, bench: Bench) -> None:
    client = pseudo.test_client()
    run, others = bench.numbers["cdm"], f"{bench.numbers['cdm']},{bench.numbers['slow']}"
    for path in (
        "/api/v1/drives", f"/api/v1/runs/{run}", f"/runs/{run}/report.html",
        f"/runs/{run}/charts/1.svg", f"/runs/{run}/export?format=json", f"/runs/{run}/figures.csv",
        f"/compare/report.html?runs={others}", f"/compare/ranks/1.svg?runs={others}",
        "/openapi.json",
    ):  # fmt: skip
        answer = client.get(path, headers=HEADERS)
        assert answer.status_code == 200, path
        assert "⟦" not in answer.text, path


def test_names_are_not_taken_for_messages(bench: Bench, pseudo: Flask) -> None:
    """A label that reads like a message, or has its signs, is shown as it is."""
    label = "Show the whole %(number)s 5 % <b>"
    drive = sample.fast().to_json()
    with contextlib.closing(open_writer(bench.home)) as db:
        db.execute("INSERT OR REPLACE INTO labels VALUES (?, ?, ?)",
                   (drive["identity"]["key"], label, "2026-01-01T00:00:00Z"))  # fmt: skip
    text = pseudo.test_client().get("/drives", headers=HEADERS).text
    assert "Show the whole %(number)s 5 % &lt;b&gt;" in text


# ---- scripts


def test_scripts_get_their_messages(pseudo: Flask, chromium: Chromium) -> None:
    """The start form, of which a script shows the cost anew."""
    with served(pseudo) as base:
        context = chromium.new_context(locale=PSEUDO, extra_http_headers=HEADERS)
        page = Watched(context.new_page(), base)
        page.go("/runs/new?drive=practice&suite=cdm")
        expect(page.page.locator("#go")).to_have_text("⟦Erase and start⟧")
        page.page.select_option("#fs", "auto")
        page.page.evaluate("document.getElementById('go').textContent = ''")
        page.page.fill("#p-passes", "2")
        expect(page.page.locator("#go")).to_have_text(re.compile("^⟦.+⟧$"))
        expect(page.page.locator("[data-cost=destroys]")).to_have_text("⟦destroyed⟧")
        context.close()
    assert page.problems == []


def test_a_script_asks_for_no_other_messages_than_it_gets(locale: Path) -> None:
    given = json.loads(words.languages(locale)[PSEUDO].of_scripts)
    assert {"Erase and start", "%(done)s of %(total)s steps done"} <= set(given)
    assert given["taken_out"] == "⟦taken out⟧"
    said = {message for path in words.SCRIPTS.glob("*.js")
            for (message,) in messages.of_script(path.read_text(encoding="utf-8"))}  # fmt: skip
    assert {text: f"⟦{text}⟧" for text in said}.items() <= given.items()
