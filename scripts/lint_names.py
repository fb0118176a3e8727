"""Finds bare participles as names: scripts/lint_names.py [FILE...]

It reads Python, templates, JavaScript and shell scripts. A name says what it holds or does:
`results`, not `found`; `is_known()`, not `known()`. Each name is printed as FILE:LINE. Exit code 1
when there is one.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTICIPLES = frozenset((
    "asked", "begun", "born", "broken", "brought", "chosen", "cut", "done", "drawn", "ended",
    "found", "given", "gone", "grown", "held", "hidden", "kept", "known", "laid", "left",
    "listed", "lost", "made", "meant", "said", "seen", "sent", "shown", "spent", "spoken",
    "stood", "taken", "ticked", "told", "tried", "typed", "wanted", "worded", "worn", "written",
))  # fmt: skip
# Words in -ed that are no participles, and `expected`: a test compares a value with the expected.
NOUNS = frozenset(("bed", "embed", "expected", "feed", "need", "red", "seed", "speed"))
# In JavaScript `left` is a coordinate, as in CSS.
COORDINATES = frozenset(("left",))

Pair = tuple[str, int]

# Boolean fields named as their key in a document, which other programs read.
DOCUMENT_KEYS = frozenset(("counted", "imported", "required", "timed"))


def is_irregular(name: str) -> bool:
    return name.strip("_").lower() in PARTICIPLES


def is_participle(name: str) -> bool:
    """True for an irregular one, and for a lower-case word in -ed, as `failed`."""
    word = name.strip("_")
    is_regular = re.fullmatch(r"[a-z]{2,}ed", word) is not None and word not in NOUNS
    return is_regular or is_irregular(name)


def read_python(text: str) -> Iterator[Pair]:
    """Each participle with its line. Irregular ones in all names that the code defines: functions,
    classes, parameters, variables, attributes, fields. Words in -ed in variables, parameters,
    attributes of `self`, Boolean fields, and what a template gets."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if is_irregular(node.name):
                yield node.name, node.lineno
            if isinstance(node, ast.ClassDef):
                yield from _boolean_fields(node)
            else:
                yield from _stored_names(node)
        elif isinstance(node, ast.arg) and is_participle(node.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if is_irregular(name):
                yield name, node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("render_template"):
            for keyword in node.keywords:
                if keyword.arg is not None and is_participle(keyword.arg):
                    yield keyword.arg, keyword.value.lineno


def _stored_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Pair]:
    """Participles among a function's variables and the attributes of `self` that it sets."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            name = node.attr
        else:
            continue
        if isinstance(node.ctx, ast.Store) and is_participle(name):
            yield name, node.lineno


def _boolean_fields(node: ast.ClassDef) -> Iterator[Pair]:
    for field in node.body:
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and ast.unparse(field.annotation) in ("bool", "ClassVar[bool]")
            and field.target.id not in DOCUMENT_KEYS
            and is_participle(field.target.id)
        ):
            yield field.target.id, field.lineno


def read_template(text: str) -> Iterator[Pair]:
    """Participles that a template defines: by `set`, `for`, `with`, and macros with their
    parameters."""
    import jinja2
    from jinja2 import nodes

    tree = jinja2.Environment(autoescape=True).parse(text)
    pairs = [(macro.name, macro.lineno) for macro in tree.find_all(nodes.Macro)]
    pairs += [(name.name, name.lineno) for name in tree.find_all(nodes.Name) if name.ctx != "load"]
    yield from (pair for pair in pairs if is_participle(pair[0]))


Token = tuple[str, int]
_OPENING, _CLOSING = "([{", ")]}"
# Words before a bracket that are neither a function's name nor a method's.
_KEYWORDS = frozenset((
    "await", "catch", "for", "function", "if", "new", "return", "super", "switch", "typeof",
    "while",
))  # fmt: skip
# What is no code: comments, strings, regular expressions (they follow an operator or a bracket).
_NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
    r"|(?<=[(,=:?&|!\[] )/(?![/*])(?:[^/\\\n\[]|\\.|\[[^\]\n]*\])+/"
    r"|(?<=[(,=:?&|!\[])/(?![/*])(?:[^/\\\n\[]|\\.|\[[^\]\n]*\])+/",
    re.DOTALL,
)


def _script_tokens(text: str) -> list[Token]:
    """Names, `=>`, `...` and other characters, with their lines, without what is no code. Of a
    template literal only the code in `${}` is left."""
    tokens: list[Token] = []
    # For each template literal around the position, how many braces are open in its code.
    depths: list[int] = []
    position, is_text = 0, False
    while position < len(text):
        line = text.count("\n", 0, position) + 1
        if is_text:
            if text.startswith("${", position):
                depths.append(0)
                position, is_text = position + 2, False
                tokens.append(("(", line))
            else:
                is_text = text[position] != "`"
                position += 2 if text[position] == "\\" else 1
            continue
        if match := _NO_CODE.match(text, position):
            position = match.end()
            continue
        match = re.compile(r"[A-Za-z_$][\w$]*|\d[\w.]*|=>|\.\.\.|[=!]==?|.", re.DOTALL).match(
            text, position
        )
        assert match is not None
        token, position = match[0], match.end()
        if token == "`":
            is_text = True
        elif token == "}" and depths and depths[-1] == 0:
            depths.pop()
            is_text = True
            tokens.append((")", line))
        elif not token.isspace():
            if depths and token in "{}":
                depths[-1] += 1 if token == "{" else -1
            tokens.append((token, line))
    return tokens


def _pair_brackets(tokens: list[Token]) -> dict[int, int]:
    """Where each bracket's partner is, both ways."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for index, (token, _) in enumerate(tokens):
        if token in _OPENING:
            stack.append(index)
        elif token in _CLOSING and stack:
            pairs[index] = stack.pop()
            pairs[pairs[index]] = index
    return pairs


def _split_list(tokens: list[Token], pairs: dict[int, int], start: int, end: int) -> Iterator[int]:
    """Where each item of a list that is separated by commas starts."""
    yield start
    index = start
    while index < end:
        token = tokens[index][0]
        if token in _OPENING:
            index = pairs.get(index, end)
        elif token == ",":
            yield index + 1
        index += 1


def _bound_names(
    tokens: list[Token], pairs: dict[int, int], start: int, end: int
) -> Iterator[Token]:
    """The names that a list of parameters, or of patterns, binds."""
    for item in _split_list(tokens, pairs, start, end):
        index = item + 1 if item < end and tokens[item][0] == "..." else item
        # In an object's pattern the name follows its key: `{ key: name }`.
        if index + 1 < end and tokens[index + 1][0] == ":":
            index += 2
        if index >= end:
            continue
        if tokens[index][0] in ("{", "["):
            yield from _bound_names(tokens, pairs, index + 1, pairs.get(index, end))
        elif re.match(r"[A-Za-z_$]", tokens[index][0]):
            yield tokens[index]


def _end_of_declaration(tokens: list[Token], pairs: dict[int, int], start: int) -> int:
    index = start
    while index < len(tokens) and tokens[index][0] not in (";", "of", "in", *_CLOSING):
        index = pairs.get(index, index) + 1 if tokens[index][0] in _OPENING else index + 1
    return index


def _script_names(text: str) -> Iterator[Token]:
    """Variables, parameters, functions, methods, classes, and attributes of `this`."""
    tokens = _script_tokens(text)
    pairs = _pair_brackets(tokens)
    tokens += [("", 0)] * 4
    for index, (token, _) in enumerate(tokens[:-4]):
        after = tokens[index + 1][0]
        if token in ("const", "let", "var"):
            end = _end_of_declaration(tokens, pairs, index + 1)
            yield from _bound_names(tokens, pairs, index + 1, end)
        elif token in ("class", "function") and re.match(r"[A-Za-z_$]", after):
            yield tokens[index + 1]
        elif token == "this" and after == "." and tokens[index + 3][0] == "=":
            yield tokens[index + 2]
        elif token == "=>":
            before = index - 1
            if tokens[before][0] == ")":
                yield from _bound_names(tokens, pairs, pairs[before] + 1, before)
            else:
                yield tokens[before]
        elif token == "(" and index in pairs and tokens[pairs[index] + 1][0] == "{":
            # A function, a method or `catch`; `if` and the like bind nothing.
            name = tokens[index - 1]
            if name[0] not in _KEYWORDS and tokens[index - 2][0] not in ("function", "new", "."):
                yield name
            if name[0] in ("catch", "function") or name[0] not in _KEYWORDS:
                yield from _bound_names(tokens, pairs, index + 1, pairs[index])


def read_script(text: str) -> Iterator[Pair]:
    """Participles among the names that JavaScript defines."""
    for name, line in _script_names(text):
        if name not in COORDINATES and is_participle(name):
            yield name, line


_SHELL = (
    re.compile(r"^\s*(?:local|export|readonly|declare|typeset)\s+(?P<list>[^#;&|]*)"),
    re.compile(r"\b(?:read|mapfile)\s+(?P<list>[^#;&|<)]*)"),
    re.compile(r"(?:^|[;&|({]|\b(?:then|do|else))\s*(?P<name>[A-Za-z_]\w*)\+?=(?!=)"),
    re.compile(r"\bfor\s+(?P<name>[A-Za-z_]\w*)\s+in\b"),
    re.compile(r"^\s*(?P<name>[A-Za-z_]\w*)\s*\(\)"),
)


def read_shell(text: str) -> Iterator[Pair]:
    """Participles among the variables and functions of a shell script."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for pattern in _SHELL:
            for match in pattern.finditer(line):
                fields = match.groupdict()
                names = (
                    [fields["name"]]
                    if "name" in fields
                    else re.findall(r"(?:^|\s)([A-Za-z_]\w*)(?==|\s|$)", fields["list"])
                )
                yield from ((name, number) for name in names if is_participle(name))


def reader_of(path: Path, text: str) -> Callable[[str], Iterator[Pair]] | None:
    """What reads this file; None for one without names of ours. A shell script is recognised by its
    first line."""
    by_ending = {".py": read_python, ".html": read_template, ".js": read_script}
    first_line = text.split("\n", 1)[0]
    if path.suffix in by_ending:
        return by_ending[path.suffix]
    if re.match(r"#!.*\b(?:ba)?sh\b|# shellcheck shell=", first_line):
        return read_shell
    return None


def participles(path: Path) -> list[Pair]:
    """The names in a file that are bare participles, by line."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    reader = reader_of(path, text)
    pairs = set() if reader is None else set(reader(text))
    return sorted(pairs, key=lambda pair: (pair[1], pair[0]))


def tracked_files() -> list[Path]:
    """The files of the repository, without the recordings of drives."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
               ".", ":!tests/hardware"]  # fmt: skip
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in output.split("\0") if name and (path := ROOT / name).is_file()]


def check(files: list[Path], root: Path = ROOT) -> Iterator[str]:
    """A line for each participle."""
    for path in files:
        for name, line in participles(path):
            yield f"{path.relative_to(root)}:{line}: {name}: name it by what it holds or does"


def main() -> int:
    files = [Path(name).resolve() for name in sys.argv[1:]] or tracked_files()
    lines = list(check(files))
    print("".join(f"{line}\n" for line in lines), end="")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
