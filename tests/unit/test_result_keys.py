"""Results and steps are selected by typed fields: no code takes a name apart, or looks for one."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchstick.plan.quantity import (
    IOPS,
    MARKS_SHARE,
    SCORE,
    SIZE,
    SPEED,
    ResultKey,
    key_of,
    latency_percentile,
    read_name,
)
from benchstick.plan.steps import plan_from_json
from benchstick.store import database, run_reader
from benchstick.store.legacy_names import with_step_fields, without_step_fields
from benchstick.suites import registry
from benchstick.suites.result_names import keys_of_plan, result_key
from tests.data import baseline

Make = Callable[..., dict[str, Any]]
ROOT = Path(__file__).resolve().parents[2]

# ---- no name is taken apart

# The only places that read names: what people write, and what older programs stored.
READERS = {"benchstick/plan/quantity.py", "benchstick/store/legacy_names.py"}
PARSING = {
    "startswith", "endswith", "split", "rsplit", "partition", "rpartition", "removeprefix",
    "removesuffix", "find", "index", "search", "match", "fullmatch", "findall", "fnmatchcase",
}  # fmt: skip
# Variables that hold a step or a result, and the fields of these that are text for people.
SUBJECTS = {"step", "figure", "result", "limit", "claim", "reference", "skip"}
TEXTS = {"name", "test", "label", "result"}
# Variables that hold such a text, in the packages where these words mean nothing else.
WORDS = {"test", "label", "test_name", "step_name", "result_name"}
WORD_PACKAGES = ("benchstick/suites", "benchstick/analysis", "benchstick/engine/steps")
# Rules of a recipe have a pattern of step names, which people write: `steps = "SEQ*"`.
ALLOWED = {("benchstick/recipes/early_stop.py", "step.name")}


def field_of(node: ast.AST) -> tuple[str, str]:
    """Variable and field of `step.name`, `step["name"]` and `step.get("name")`; else empty."""
    match node:
        case ast.Attribute(value=ast.Name(id=subject), attr=field):
            return subject, field
        case ast.Subscript(value=ast.Name(id=subject), slice=ast.Constant(value=field)):
            return subject, str(field)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=subject), attr="get"),
            args=[ast.Constant(value=field), *_],
        ):
            return subject, str(field)
        case ast.Call(func=ast.Name(id="str"), args=[text]):
            return field_of(text)
    return "", ""


def is_text(node: ast.AST, with_words: bool = False) -> bool:
    """Whether the expression is the name of a result or of a step."""
    if isinstance(node, ast.Name):
        return with_words and node.id in WORDS
    subject, field = field_of(node)
    return subject in SUBJECTS and field in TEXTS


def parsed_texts(source: str, *, with_words: bool) -> Iterator[tuple[int, str]]:
    """Where a name is taken apart, searched, or compared with another or with a literal: the line,
    and variable and field."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call | ast.Compare):
            continue
        texts: Sequence[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in PARSING:
                texts = [node.func.value, *node.args]
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if isinstance(node.ops[0], ast.In | ast.NotIn):
                # `"x" in step.name`; a name in a list of constants is a whole one.
                texts = sides[1:]
            elif all(
                isinstance(side, ast.Constant | ast.JoinedStr) or field_of(side)[1] in TEXTS
                for side in sides
            ):
                texts = sides
        for text in texts:
            if is_text(text, with_words):
                yield node.lineno, ".".join(field_of(text)).strip(".") or ast.unparse(text)


def test_no_code_takes_the_name_of_a_result_or_a_step_apart() -> None:
    wrong, count = [], 0
    for package in ("benchstick", "webui"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name in READERS:
                continue
            count += 1
            source = path.read_text(encoding="utf-8")
            wrong += [
                f"{name}:{line}: {text}"
                for line, text in parsed_texts(source, with_words=name.startswith(WORD_PACKAGES))
                if (name, text) not in ALLOWED
            ]
    assert count > 300
    assert wrong == []


@pytest.mark.parametrize(
    "source",
    [
        'first = test.split(" ", 1)[0]',
        'last = step.test.rsplit(" ", 1)[-1]',
        'parts = [s for step in steps if step.name.startswith("part ")]',
        'copies = [step for step in steps if step.test.endswith(" copy")]',
        'waits = [step for step in steps if ", " in step.test]',
        'names = [label.rpartition(" ")[0] for label in labels]',
        'match = re.search("QD([0-9]+)", str(step.get("name")))',
        'rows = [figure for figure in figures if item["name"] == limit.name]',
        'is_read = figure["name"] == f"{test} read"',
    ],
)
def test_a_name_that_is_taken_apart_is_reported(source: str) -> None:
    assert list(parsed_texts(source, with_words=True))


def test_no_query_and_no_template_looks_for_a_result_by_its_name() -> None:
    queries = re.compile(r"\bresults\b[^;\n]*WHERE[^;\n]*\bname\s*(=|LIKE|GLOB|IN)", re.I)
    templates = re.compile(
        r"\b(step|result|claim|item)\.(name|test)(\.(startswith|endswith|split)|\s*[=!]=\s*')"
    )
    wrong = [
        path.name
        for path in (ROOT / "benchstick").rglob("*.py")
        if queries.search(re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8")))
    ]
    wrong += [
        path.name
        for path in (ROOT / "webui" / "templates").rglob("*.html")
        if templates.search(path.read_text(encoding="utf-8"))
    ]
    assert queries.search("SELECT value FROM results WHERE run = 1 AND name LIKE '% read'")
    assert templates.search("{% if result.name.endswith('read') %}")
    assert wrong == []


# ---- names that people write are read once


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("SEQ1M Q8T1 read", ResultKey("SEQ1M Q8T1 read", SPEED)),
        ("RND4K Q1T1 read IOPS", ResultKey("RND4K Q1T1 read", IOPS)),
        ("RND4K Q1T1 read latency p99.9",
         ResultKey("RND4K Q1T1 read", latency_percentile(99.9))),
        ("RND4K Q1T1 read latency p99.90",
         ResultKey("RND4K Q1T1 read", latency_percentile(99.9))),
        ("marks gone", MARKS_SHARE),
        ("Score total", ResultKey("Score total", SCORE)),
        ("cache knee 2", ResultKey("cache knee 2", SIZE)),
        ("before the knee", ResultKey("before the knee", SPEED)),
        ("latency", ResultKey("latency", SPEED)),
        ("of\ntwo lines", ResultKey("of\ntwo lines", SPEED)),
    ],
)  # fmt: skip
def test_the_name_of_a_result_is_read_into_its_key(name: str, key: ResultKey) -> None:
    assert result_key(name) == key
    assert result_key(key.name) == key


def plans(drive_json: Make) -> list[dict[str, Any]]:
    """Plans with each kind of step that has fields of its own."""
    big_blocks = drive_json(logical_sector=4096, physical_sector=4096)
    return [
        registry.make_plan(suite, drive, params, target=target).to_json()
        for suite, params, drive, target in (
            ("sweep", {"state": "both", "depths": "1,32", "soak": "60"}, drive_json(), None),
            ("sweep", {"depths": "1"}, drive_json(), None),
            ("sustained", {"recovery": "30,300"}, drive_json(), None),
            ("asssd", {}, drive_json(), "file"),
            ("asssd", {}, drive_json(logical_sector=8192, physical_sector=8192), "block"),
            ("atto", {}, big_blocks, "file"),
            ("atto", {"from": "4KiB"}, drive_json(), "file"),
            ("pts", {"test": "wsat"}, drive_json(), None),
            ("pts", {"test": "iops"}, big_blocks, None),
            ("consistency", {}, drive_json(), None),
            ("cdm", {"mix": "70"}, drive_json(), "file"),
            ("das", {"source": "generated"}, drive_json(), "file"),
            ("erase", {}, drive_json(), None),
        )
    ]


def test_each_result_of_a_plan_is_found_by_its_name(drive_json: Make) -> None:
    names = set()
    for document in plans(drive_json):
        keys = keys_of_plan(plan_from_json(document))
        assert len({key.name for key in keys}) == len(keys)
        assert [result_key(key.name) for key in keys] == keys
        names |= {key.name for key in keys}
    expected = {
        "Score total", "Seq read", "ISO copy time", "cache knee", "after the knee 2",
        "deepest slow-down", "fob RND4K Q1T1 read IOPS", "purge time", "marks gone",
        "RND4K Q32T1 write IOPS p1 from 1400 s", "RND4K Q32T1 write time until half",
        "RND4K 0:100 Q16T2 written", "RND4K 0:100 Q16T2 IOPS of the first round", "Home write",
    }  # fmt: skip
    assert expected - names == set()


def test_all_results_of_recorded_runs_are_those_of_their_plans(tmp_path: Path) -> None:
    """What the suites compute is what a recipe may have limits of."""
    home = tmp_path / "home"
    baseline.make_store(home)
    with baseline.folders(home), contextlib.closing(database.open_writer(home)) as db:
        numbers = [row[0] for row in db.execute("SELECT number FROM runs ORDER BY number")]
        runs = [run_reader.run_json(db, number) for number in numbers]
    count = 0
    for run in runs:
        results = {key_of(item): item["unit"] for item in run["results"]}
        assert results.keys() - set(keys_of_plan(plan_from_json(run["plan"]))) == set(), run
        for key, unit in results.items():
            assert result_key(key.name) == read_name(key.name, unit) == key
            count += 1
    assert count > 100


# ---- plans of older programs


def test_plans_of_older_programs_get_the_fields_of_their_steps(drive_json: Make) -> None:
    for document in plans(drive_json):
        stored_plan = json.loads(json.dumps(document))
        old = without_step_fields(stored_plan)
        assert not any("part" in step for step in old["steps"])
        read_back = plan_from_json(with_step_fields(old))
        assert json.loads(json.dumps(read_back.to_json())) == stored_plan
        # A plan that has them stays as it is.
        assert with_step_fields(stored_plan) == stored_plan
