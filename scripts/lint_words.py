"""Report phrases that are never right here, with file and line (scripts/lint).

    python scripts/lint_words.py [--not-yet] [PATH ...]

It checks what people read: Markdown; comments of TOML files; text of the page's templates;
comments, docstrings and texts in Python, JavaScript and shell scripts, and so the `--help` texts;
descriptions in the OpenAPI document;
of the tests their names, docstrings and comments. It ignores code: code blocks, code spans in
backticks, addresses, tags, SQL, regular expressions, and strings that are one lower-case word, such
as JSON keys.

scripts/banned_words.txt has the phrases, and the paths that are not checked yet. `--not-yet` prints
the number of hits in each of these. With PATH only these files are checked, on that list or not.

Exit codes: 0 nothing to report, 1 phrases were reported, 2 bad input.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import io
import re
import subprocess
import sys
import token
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
WORDS = Path(__file__).resolve().parent / "banned_words.txt"
NOT_YET = "[not yet]"
# Code in a masked text. It is no blank, so that no phrase reaches across it.
CODE = "\0"
# A blank of an expression: blanks, or one line break.
_BLANK = r"(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)"

_ADDRESS = re.compile(r"https?://[^\s)>\"']+")
_CODE_SPAN = re.compile(r"(`+)(?!`)((?:[^\n\0]|\n(?!\s*\n))*?[^`\0])\1(?!`)")
_FILE_NAME = re.compile(
    r"[\w./-]*\.(?:py|md|csv|json|toml|html|js|pdf|svg|txt|sql|log|zip)(?![\w.])"
    r"|(?<![\w-])--?[a-z][\w-]*"
)
_SQL = re.compile(
    r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|PRAGMA|BEGIN|COMMIT|ROLLBACK|FROM"
    r"|WHERE|AND|OR|JOIN|LEFT|ORDER|GROUP|LIMIT|VALUES|REPLACE|UNION|EXISTS|SET|ON|REFERENCES)\b"
)


class BadWords(Exception):
    """The list of phrases, or a path, cannot be used: one line."""


@dataclass(frozen=True)
class Phrase:
    """A regular expression, and what to write instead."""

    expression: str
    advice: str


@dataclass(frozen=True)
class Rules:
    """The phrases and the paths that are not checked yet."""

    phrases: tuple[Phrase, ...]
    not_yet: tuple[str, ...]
    pattern: re.Pattern[str]

    def entry_of(self, name: str) -> str | None:
        """The entry of the list "not yet" that `name` belongs to. Documents belong to none."""
        if name.endswith((".md", ".toml")):
            return None
        for entry in self.not_yet:
            if name == entry or name.startswith(f"{entry}/") or fnmatch.fnmatch(name, entry):
                return entry
        return None


@dataclass(frozen=True)
class Hit:
    """A phrase in a file."""

    name: str
    line: int
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.text!r}: write {self.advice}"


def read_rules(text: str) -> Rules:
    """The rules in the text of banned_words.txt. BadWords names a wrong line."""
    phrases: list[Phrase] = []
    not_yet: list[str] = []
    in_phrases = True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line == NOT_YET:
            in_phrases = False
        elif not in_phrases:
            not_yet.append(line.strip().rstrip("/"))
        else:
            phrases.append(_read_phrase(line, number))
    pattern = "|".join(
        f"(?P<p{number}>{_expanded(phrase.expression)})" for number, phrase in enumerate(phrases)
    )
    return Rules(
        tuple(phrases),
        tuple(not_yet),
        re.compile(rf"(?<!\w)(?=\w)(?:{pattern})(?!\w)", re.IGNORECASE),
    )


def _read_phrase(line: str, number: int) -> Phrase:
    expression, tab, advice = line.partition("\t")
    if not tab or not expression.strip() or not advice.strip():
        raise BadWords(f"line {number}: expected an expression, a tab, and what to write instead")
    try:
        pattern = re.compile(_expanded(expression))
    except re.error as error:
        raise BadWords(f"line {number}: {expression!r}: {error}") from None
    if pattern.match(""):
        raise BadWords(f"line {number}: {expression!r} matches an empty text")
    return Phrase(expression, advice.strip())


def _expanded(expression: str) -> str:
    return expression.replace(" ", _BLANK)


def find_hits(name: str, text: str, rules: Rules) -> list[Hit]:
    """The phrases in file `name`, in order."""
    reader = reader_of(name, text)
    if reader is None:
        return []
    masked_text = reader(text)
    hits = []
    if _is_test(name):
        title = Path(name).stem.replace("_", " ")
        hits += [_hit(name, title, match, rules) for match in rules.pattern.finditer(title)]
    hits += [_hit(name, masked_text, match, rules) for match in rules.pattern.finditer(masked_text)]
    return hits


def _hit(name: str, text: str, match: re.Match[str], rules: Rules) -> Hit:
    assert match.lastgroup is not None
    phrase = rules.phrases[int(match.lastgroup[1:])]
    line = text.count("\n", 0, match.start()) + 1
    return Hit(name, line, " ".join(match[0].split()), phrase.advice)


# ---- what of a file is text: same length, same lines, CODE elsewhere


def reader_of(name: str, text: str) -> Callable[[str], str] | None:
    """The reader for a file, None when nobody reads it as text."""
    suffix = Path(name).suffix
    if suffix == ".py":
        return read_test if _is_test(name) else read_python
    by_suffix = {
        ".md": read_markdown,
        ".toml": read_toml,
        ".html": read_template,
        ".js": read_js,
        ".json": read_json,
    }
    if suffix in by_suffix:
        return by_suffix[suffix]
    first = text.split("\n", 1)[0]
    is_shell = bool(re.match(r"#!.*\b(?:ba)?sh\b|# shellcheck shell=", first))
    return read_shell if is_shell or name == "Makefile" else None


def _is_test(name: str) -> bool:
    return name.startswith("tests/") and name.endswith(".py")


def _masked(text: str, parts: Iterable[tuple[int, int]]) -> str:
    """`text` with CODE outside the parts (from, to)."""
    chars = [char if char == "\n" else CODE for char in text]
    for start, end in parts:
        chars[start:end] = text[start:end]
    return "".join(chars)


def _without(text: str, *patterns: re.Pattern[str]) -> str:
    """`text` with CODE where a pattern matches."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", CODE, match[0]), text)
    return text


def _prose(text: str) -> str:
    """`text` without code spans, addresses, file names and options."""
    return _without(text, _CODE_SPAN, _ADDRESS, _FILE_NAME)


def read_markdown(text: str) -> str:
    """Everything but code blocks, code spans, link targets and addresses."""
    lines = text.splitlines(keepends=True)
    fence = ""
    was_blank, is_code = True, False
    for index, line in enumerate(lines):
        opening = re.match(r" {0,3}(`{3,}|~{3,})", line)
        is_indented = line.startswith("    ") and (was_blank or is_code)
        was_blank = not line.strip()
        is_code = not fence and (is_indented or (was_blank and is_code))
        if fence or opening or is_code:
            lines[index] = re.sub(r"[^\n]", CODE, line)
        if opening and not fence:
            fence = opening[1]
        elif opening and line.strip() == fence:
            fence = ""
    return _prose(_without("".join(lines), re.compile(r"(?<=\]\()[^)\s]+(?=\))")))


def read_toml(text: str) -> str:
    """The comments."""
    string = r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'"
    matches = re.finditer(rf"{string}|(#[^\n]*)", text, re.DOTALL)
    return _comments(text, [match.span() for match in matches if match[1]], "#")


def _comments(text: str, spans: Sequence[tuple[int, int]], sign: str) -> str:
    """The comments at `spans`: one text where each has its line and they follow each other."""
    parts = []
    before = -1
    for start, end in spans:
        line = text.rfind("\n", 0, start) + 1
        if before >= 0 and not text[before:start].strip():
            parts.append((before, start))
        has_own_line = not text[line:start].strip()
        parts.append((start, end))
        before = end if has_own_line else -1
    masked_text = _masked(text, parts)
    signs = re.compile(rf"(?m)^([^\S\n]*)({sign}+)(?=[\s!]|$)")
    return _prose(signs.sub(lambda match: match[1] + " " * len(match[2]), masked_text))


def read_json(text: str) -> str:
    """The descriptions in an OpenAPI document."""
    pairs = re.finditer(r'"(?:title|summary|description)": "((?:\\.|[^"\\])*)"', text)
    return _prose(_masked(text, [match.span(1) for match in pairs]))


def read_template(text: str) -> str:
    """What is outside tags and expressions, the texts in `_("...")`, and comments."""
    jinja = r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}"
    element = r"<(script|style|code|pre)\b.*?</\1\s*>"
    tag = rf"<[a-zA-Z/!](?:{jinja}|\"(?:{jinja}|[^\"])*\"|'(?:{jinja}|[^'])*'|[^>\"'])*>"
    message = re.compile(r"\bn?(?:_|gettext)\(\s*(?:\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)')")
    parts, at = [], 0
    for match in re.finditer(rf"{jinja}|{element}|{tag}", text, re.DOTALL):
        parts.append((at, match.start()))
        at = match.end()
        if match[0].startswith("{#"):
            parts.append(match.span())
        else:
            parts += [
                inner.span(1 if inner[1] is not None else 2)
                for inner in message.finditer(text, match.start(), match.end())
            ]
    return _prose(_masked(text, [*parts, (at, len(text))]))


def read_js(text: str) -> str:
    """Comments, and strings of more than one word."""
    comment = r"//[^\n]*|/\*.*?\*/"
    string = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
    expression = r"(?<=[(,=:\[!&|?{;])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/"
    spans, strings = [], []
    for match in re.finditer(rf"({comment})|({string})|{expression}", text, re.DOTALL):
        if match[1]:
            spans.append(match.span())
        elif match[2] and _is_text(match[2][1:-1]):
            strings.append((match.start() + 1, match.end() - 1))
    values = re.compile(r"\$\{[^{}]*\}|\\[nrt]")
    return _merged(_comments(text, spans, "[/*]"), _prose(_without(_masked(text, strings), values)))


def read_shell(text: str) -> str:
    """Comments, and what `say`, `die`, `echo` and `printf` print."""
    spans = [
        match.span(1)
        for match in re.finditer(r"(?m)(?:^|(?<=[\s;]))(#(?!!)[^\n]*)|'[^'\n]*'|\"[^\"\n]*\"", text)
        if match[1]
    ]
    strings = [
        (line.start() + string.start() + 1, line.start() + string.end() - 1)
        for line in re.finditer(r"(?m)^.*\b(?:say|die|echo|printf)\b.*$", text)
        for string in re.finditer(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", line[0])
        if _is_text(string[0][1:-1])
    ]
    values = re.compile(r"\$\{[^{}]*\}|\$\w+|\\[nrt]")
    return _merged(_comments(text, spans, "#"), _prose(_without(_masked(text, strings), values)))


def read_python(text: str) -> str:
    """Comments, docstrings, and strings of more than one word."""
    return _read_python(text, strings=True)


def read_test(text: str) -> str:
    """The names of tests, comments and docstrings. Strings quote messages of the program."""
    names = [match.span(1) for match in re.finditer(r"(?m)^\s*def (test_\w+)", text)]
    title = _masked(text, names).replace("_", " ")
    return _merged(_read_python(text, strings=False), title)


def _read_python(text: str, *, strings: bool) -> str:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    docstrings = {starts[row - 1] for row, _ in _docstrings(text)}
    spans: list[tuple[int, int]] = []
    groups: list[list[tuple[int, int]]] = []
    is_open = False
    for item in tokenize.generate_tokens(io.StringIO(text).readline):
        start = starts[item.start[0] - 1] + item.start[1]
        end = starts[item.end[0] - 1] + item.end[1]
        if item.type == token.COMMENT:
            spans.append((start, end))
        elif item.type in _STRINGS:
            if not is_open:
                groups.append([])
            groups[-1].append((start, end))
            is_open = True
        elif item.type != token.NL:
            is_open = False
    parts: list[tuple[int, int]] = []
    for group in groups:
        line_start = text.rfind("\n", 0, group[0][0]) + 1
        if line_start in docstrings or (strings and _is_text(_content(text, group))):
            parts += group
    return _merged(_comments(text, spans, "#"), _strings(text, parts))


# Python 3.12 has tokens of their own for the parts of an f-string.
_STRINGS = {token.STRING, getattr(token, "FSTRING_MIDDLE", token.STRING)}
_PREFIX = re.compile(r"([a-zA-Z]{0,2})(\"\"\"|'''|\"|')")
_JOINT = re.compile(r"[\"']*\s*[a-zA-Z]{0,2}[\"']*")


def _docstrings(text: str) -> Iterator[tuple[int, int]]:
    """Line and column of each docstring, and of each other string that is a statement."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.value.lineno, node.value.col_offset


def _content(text: str, group: Sequence[tuple[int, int]]) -> str:
    """The strings of a group, without quotes; nothing when one is raw or bytes."""
    contents = []
    for start, end in group:
        prefix = _PREFIX.match(text, start)
        if prefix is None:
            contents.append(text[start:end])
        elif set(prefix[1].lower()) & {"r", "b"}:
            return ""
        else:
            contents.append(text[prefix.end() : end - len(prefix[2])])
    return "".join(contents)


def _is_text(content: str) -> bool:
    """Whether a string is for people: more than one word, or one with a capital; no SQL."""
    words = re.sub(r"\{[^{}]*\}|\\[nrt]", " ", content).split()
    is_word = len(words) == 1 and re.fullmatch(r"[A-Z][a-z]+[:.…]?", words[0]) is not None
    return (len(words) > 1 or is_word) and not _SQL.match(content)


def _strings(text: str, parts: Sequence[tuple[int, int]]) -> str:
    """The contents of strings. Those that Python joins are one text."""
    masked_text = list(_masked(text, ()))
    before = len(text)
    for start, end in parts:
        prefix = _PREFIX.match(text, start)
        first = start if prefix is None else prefix.end()
        last = end if prefix is None else end - len(prefix[2])
        masked_text[first:last] = text[first:last]
        # Only quotes are between them.
        if _JOINT.fullmatch(text, before, first):
            masked_text[before:first] = re.sub(r"\S", " ", text[before:first])
        before = last
    content = re.sub(r"\\[nrt]|\\\n", lambda m: re.sub(r"[^\n]", " ", m[0]), "".join(masked_text))
    return _prose(_without(content, re.compile(r"\{[^{}\n]*\}")))


def _merged(one: str, other: str) -> str:
    """Two masked texts of the same file as one."""
    return "".join(b if a == CODE else a for a, b in zip(one, other, strict=True))


# ---- files


def list_files() -> list[str]:
    """The files of the clone that are checked. BadWords without git."""
    command = ["git", "-c", f"safe.directory={CLONE}", "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]  # fmt: skip
    try:
        listing = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadWords(f"git ls-files failed: {error}") from None
    return [name for name in sorted(set(listing.stdout.split("\0")) - {""}) if is_checked(name)]


def is_checked(name: str) -> bool:
    """Whether a file has text for people."""
    if name.startswith(("tests/data/", "webui/static/vendor/")):
        return False
    if name.endswith((".md", ".toml")) or name == "Makefile":
        return True
    return name.startswith(("benchstick/", "docs/", "scripts/", "tests/", "webui/"))


def read_file(path: Path) -> str | None:
    """Its text, None for a file that is gone or is no text."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return None


def main(argv: Sequence[str]) -> int:
    """The exit code of the command."""
    parser = argparse.ArgumentParser(
        prog="lint_words",
        description=__doc__.split("\n\n", 1)[0],
        epilog=__doc__.split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--not-yet", action="store_true", help="count the hits in paths that are not checked yet"
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="default: all files")
    options = parser.parse_args(argv)
    try:
        rules = read_rules(WORDS.read_text(encoding="utf-8"))
        return _count(rules) if options.not_yet else _check(rules, options.paths)
    except (BadWords, OSError) as error:
        print(f"lint_words: {error}", file=sys.stderr)
        return 2


def _check(rules: Rules, paths: Sequence[str]) -> int:
    names = [_name_of(path) for path in paths] or [
        name for name in list_files() if rules.entry_of(name) is None
    ]
    hits = []
    for name in names:
        text = read_file(CLONE / name)
        if text is None and paths:
            raise BadWords(f"{name}: no such text file")
        hits += find_hits(name, text or "", rules)
    for hit in hits:
        print(hit)
    return 1 if hits else 0


def _name_of(path: str) -> str:
    full = Path(path).resolve()
    return str(full.relative_to(CLONE)) if full.is_relative_to(CLONE) else str(full)


def _count(rules: Rules) -> int:
    counts = dict.fromkeys(rules.not_yet, 0)
    for name in list_files():
        entry = rules.entry_of(name)
        text = read_file(CLONE / name)
        if entry is not None and text is not None:
            counts[entry] += len(find_hits(name, text, rules))
    for entry, count in counts.items():
        print(f"{count:6} {entry}")
    print(f"{sum(counts.values()):6} in total")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
