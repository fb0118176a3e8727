"""The catalogue of the page's words, webui/locale/benchstick.pot, and the translations beside it.

    scripts/messages [--write]

Tells which messages the catalogue lacks and which are used no more (`--write` renews it), and what
is wrong in a translation: a file that the page cannot read, values or HTML that differ from the
message's. What a translation lacks is shown in English and is no error. Exit codes: 0 all is right
(with --write: is now), 1 it is not.

A translation begins as a copy of the catalogue, webui/locale/LANG/LC_MESSAGES/benchstick.po, with
its language in the head; the usual editors of such files, or msgmerge, keep it up to date.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from jinja2 import Environment
from jinja2.ext import extract_from_ast

from webui import words

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = words.LOCALE / "benchstick.pot"
HEAD = r"""# The words of Benchstick's page. Made by scripts/messages: not to be edited.
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: benchstick\n"
"Language: \n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"""
# A message: its text, or singular and plural.
Message = tuple[str, ...]


# ---- finding


def of_template(source: str) -> Iterator[Message]:
    """The messages of a template: `_()` and `{% trans %}`."""
    env = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=True)
    words.install(env)
    for _line, _function, texts in extract_from_ast(env.parse(source), babel_style=False):
        yield tuple(text for text in texts or () if text is not None)


def of_python(source: str) -> Iterator[Message]:
    """The messages of a module. ValueError with the line where one is no text."""
    calls = [
        (node.lineno, node.col_offset, node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        and node.func.id in ("_", "N_", "ngettext")
    ]  # fmt: skip
    for line, _column, node in sorted(calls, key=lambda call: call[:2]):
        text_count = 2 if isinstance(node.func, ast.Name) and node.func.id == "ngettext" else 1
        texts = [
            item.value
            for item in node.args[:text_count]
            if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]
        if len(texts) < text_count:
            raise ValueError(f"line {line}: a message must be a text")
        yield tuple(texts)


def of_script(source: str) -> Iterator[Message]:
    """The messages of a script: `say("...")`. ValueError with the line where one is no text."""
    for _line, message in words.said_in(source):
        yield (message,)


def used(root: Path = ROOT) -> dict[Message, list[str]]:
    """All messages with the files that use them, in the order of these. ValueError with the place
    of what is no message."""
    usages: dict[Message, list[str]] = {}
    for pattern, extract in (
        ("webui/templates/*.html", of_template),
        ("webui/static/js/*.js", of_script),
        ("webui/*.py", of_python),
    ):
        for path in sorted(root.glob(pattern)):
            name = str(path.relative_to(root))
            try:
                messages = list(extract(path.read_text(encoding="utf-8")))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            for message in messages:
                places = usages.setdefault(message, [])
                if name not in places:
                    places.append(name)
    # One text has one translation, with a plural or without.
    plurals = {message[0]: message for message in usages if len(message) == 2}
    for message in [item for item in usages if len(item) == 1 and item[0] in plurals]:
        usages[plurals[message[0]]] += usages.pop(message)
    return usages


# ---- the catalogue


def quoted(text: str) -> str:
    """The text as a .po file has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def catalogue(messages: Mapping[Message, list[str]]) -> str:
    """The messages as a .pot file."""
    entries = [HEAD]
    for message, places in messages.items():
        lines = [f"#: {name}" for name in places]
        if "%" in message[0]:
            lines.append("#, python-format")
        lines.append(f"msgid {quoted(message[0])}")
        if len(message) == 2:
            lines += [f"msgid_plural {quoted(message[1])}", 'msgstr[0] ""', 'msgstr[1] ""']
        else:
            lines.append('msgstr ""')
        entries.append("\n".join(lines) + "\n")
    return "\n".join(entries)


# ---- translations


def _parts(text: str) -> tuple[Counter[str], Counter[str]]:
    """The values that are put into a text, and its HTML tags."""
    values = Counter(re.findall(r"%\(\w+\)s", text))
    return values, Counter(re.findall(r"</?\w[^<>]*>", text))


def problems(translated: Mapping[str, str]) -> Iterator[str]:
    """What is wrong in the messages of a translation, as `words.read_po` gives them."""
    for ids, texts in translated.items():
        if not ids:
            continue
        messages = ids.split("\0")
        for text in texts.split("\0"):
            if all(_parts(text) != _parts(message) for message in messages):
                yield f"{text!r} has other values or tags than {messages[0]!r}"
            rest = re.sub(r"%\(\w+\)s|%%|</?\w[^<>]*>", "", text)
            # These would end an attribute, begin a tag or be taken for a value.
            wrong = sorted(set(rest) & set('"<>%'))
            if wrong:
                yield f"{text!r} has {' '.join(wrong)} where none may be"


def check_translations(folder: Path = words.LOCALE) -> Iterator[str]:
    """What is wrong in the translations, with the file's name."""
    for path in sorted(folder.glob("*/LC_MESSAGES/benchstick.po")):
        name = path.relative_to(folder)
        try:
            messages = words.read_po(path.read_text(encoding="utf-8"))
            words.compiled(messages)
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        for problem in problems(messages):
            yield f"{name}: {problem}"


def main(argv: list[str]) -> int:
    description, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="messages",
        description=description,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="renew the catalogue")
    options = parser.parse_args(argv)
    try:
        new_text = catalogue(used())
    except ValueError as error:
        print(f"messages: {error}", file=sys.stderr)
        return 1
    old_text = CATALOGUE.read_text(encoding="utf-8") if CATALOGUE.exists() else ""
    wrong = list(check_translations())
    for problem in wrong:
        print(f"messages: {problem}", file=sys.stderr)
    if new_text != old_text and options.write:
        CATALOGUE.parent.mkdir(exist_ok=True)
        CATALOGUE.write_text(new_text, encoding="utf-8")
    elif new_text != old_text:
        old, new = set(old_text.splitlines()), set(new_text.splitlines())
        for mark, lines in (("+", new - old), ("-", old - new)):
            for line in sorted(lines):
                print(f"{mark} {line}")
        print("messages: the catalogue is out of date: scripts/messages --write", file=sys.stderr)
        wrong.append("catalogue")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
