"""A state is comparison with a member of its enum (`benchstick.plan.states`), never with a text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from benchstick.plan import states

ROOT = Path(__file__).resolve().parents[2]
PYTHON = [
    path
    for package in ("benchstick", "webui")
    for path in sorted((ROOT / package).rglob("*.py"))
    if path != Path(states.__file__)
]
TEMPLATES = sorted((ROOT / "webui/templates").rglob("*.html"))
WORDS = {
    str(member)
    for item in vars(states).values()
    if isinstance(item, type) and issubclass(item, StrEnum)
    for member in item
}
# Variables, attributes and keys that hold a state.
NAME = re.compile(r"(\w+_)?(state|verdict|validity|phase|action|guard)")
SQL = re.compile(r"\b(?:state|verdict|phase) (?:= |<> |IN \()'(\w+)'")


def is_state(node: ast.expr) -> bool:
    """Whether an expression is called a state: `state`, `run.state`, `run["state"]`,
    `run.get("state")`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return bool(NAME.fullmatch(name))
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return bool(NAME.fullmatch(name))
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return bool(NAME.fullmatch(name))
    return False


def literals(node: ast.expr) -> Iterator[str]:
    """The texts of an expression, or in its tuple, list, set or choice, that name a state."""
    match node:
        case ast.Constant(value=str(text)) if text in WORDS:
            yield text
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            for item in items:
                yield from literals(item)
        case ast.IfExp(body=body, orelse=other):
            yield from literals(body)
            yield from literals(other)


def literal_states(source: str) -> list[tuple[int, str]]:
    """Each line of Python source that compares a state with a text, or gives it one."""
    pairs: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        values: list[ast.expr] = []
        match node:
            case ast.Compare(left=left, comparators=others) if any(
                is_state(side) for side in (left, *others)
            ):
                values = [left, *others]
            case ast.Assign(targets=[target], value=value) if is_state(target):
                values = [value]
            case ast.keyword(arg=str(name), value=value) if NAME.fullmatch(name):
                values = [value]
            case ast.Dict(keys=keys, values=items):
                values = [
                    item
                    for key, item in zip(keys, items, strict=True)
                    if isinstance(key, ast.Constant) and NAME.fullmatch(str(key.value))
                ]
            case ast.Constant(value=str(text), lineno=line):
                pairs += [(line, word) for word in SQL.findall(text) if word in WORDS]
        pairs += [(value.lineno, word) for value in values for word in literals(value)]
    return sorted(pairs)


def name_of(node: nodes.Node) -> str:
    """The name of a template's expression: that of its last attribute or key."""
    match node:
        case nodes.Name(name=name) | nodes.Getattr(attr=name):
            return str(name)
        case nodes.Getitem(arg=nodes.Const(value=name)):
            return str(name)
        case nodes.Call(node=nodes.Getattr(attr="get"), args=[nodes.Const(value=name), *_]):
            return str(name)
    return ""


def literal_states_of_template(source: str) -> list[tuple[int, str]]:
    """Each line of a template that compares a state with a text."""
    tree = Environment(extensions=["jinja2.ext.do"]).parse(source)
    pairs = []
    for comparison in tree.find_all(nodes.Compare):
        if NAME.fullmatch(name_of(comparison.expr)):
            pairs += [
                (item.lineno, str(item.value))
                for operand in comparison.ops
                for item in operand.find_all(nodes.Const)
                if item.value in WORDS
            ]
    for item in tree.find_all(nodes.Filter):
        if item.name in ("selectattr", "rejectattr") and len(item.args) == 3:
            name, _, value = item.args
            if not (isinstance(name, nodes.Const) and isinstance(value, nodes.Const)):
                continue
            if NAME.fullmatch(name.value) and value.value in WORDS:
                pairs.append((item.lineno, str(value.value)))
    return sorted(pairs)


@pytest.mark.parametrize(
    "line",
    [
        'if run["state"] == "done": pass',
        'if "done" == state: pass',
        'if entry.get("state") not in ("waiting", "held"): pass',
        'is_bad = verdict["verdict"] != "pass"',
        'if item.guard_state in {"free"}: pass',
        'state = "valid" if value else "invalid"',
        'document = {"state": "refused"}',
        'replace(slot, verdict="inconclusive")',
        """rows = db.execute("SELECT 1 FROM runs WHERE state = 'running'")""",
    ],
)
def test_a_literal_state_is_found(line: str) -> None:
    assert literal_states(f"x = 1\n{line}\n")[0][0] == 2


@pytest.mark.parametrize(
    "line",
    [
        'if run["state"] == RunState.COMPLETE: pass',
        'if answer["read"] == "ok" and name == "failed": pass',
        'if params["state"] != "fob": pass',
        'word = words.get("done")',
    ],
)
def test_other_texts_are_not_reported(line: str) -> None:
    assert literal_states(line) == []


@pytest.mark.parametrize(
    "text",
    [
        "{% if run.state == 'done' %}{% endif %}",
        "{{ 'a' if queue['state'] in ('stopped', 'other') else 'b' }}",
        "{{ item.get('state', 'x') != 'valid' }}",
        "{{ steps|selectattr('state', 'equalto', 'done')|list }}",
    ],
)
def test_a_literal_state_in_a_template_is_found(text: str) -> None:
    assert literal_states_of_template(f"\n{text}")[0][0] == 2
    assert literal_states_of_template("{% if run.state == RunState.COMPLETE %}{% endif %}") == []


def test_no_code_compares_a_state_with_a_text() -> None:
    assert len(PYTHON) > 300 and len(TEMPLATES) > 30
    problems = [
        f"{path.relative_to(ROOT)}:{line}: {word!r}: use the member of its enum"
        for paths, find in ((PYTHON, literal_states), (TEMPLATES, literal_states_of_template))
        for path in paths
        for line, word in find(path.read_text(encoding="utf-8"))
    ]
    assert problems == []
