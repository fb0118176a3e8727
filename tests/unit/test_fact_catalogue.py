"""The one list of drive facts: what the drives, the docs, the recipes and the page have agrees with
it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchstick.drives.fact_catalogue import CATALOGUE, CHANGES, CONDITIONS, LIMITS, Group, Type
from benchstick.errors import BadInput
from benchstick.recipes.parser import read
from benchstick.reports import formatting
from tests.hardware.playback import CASES, case_names, play

DOCS = Path(__file__).resolve().parents[2] / "docs"
TYPES = {bool: Type.FLAG, int: Type.NUMBER, float: Type.NUMBER, str: Type.TEXT, list: Type.SEVERAL}
LIMIT = """name = "x"
[[suite]]
name = "cdm:quick"
[[limit]]
{} = "{}"
op = "=="
value = {}
"""


def test_the_facts_of_recorded_drives_agree_with_the_catalogue(tmp_path: Path) -> None:
    names: set[str] = set()
    for case in case_names():
        for drive in play(CASES / case, tmp_path / case):
            for name, fact in drive.facts.items():
                assert name in CATALOGUE, (case, name)
                names.add(name)
                if fact.value is not None:
                    entry = CATALOGUE[name]
                    expected = (entry.type, entry.unit)
                    assert (TYPES[type(fact.value)], fact.unit) == expected, (case, name)
    # It is of the store.
    assert set(CATALOGUE) - names == {"unfinished_purge"}


def test_the_docs_list_each_fact_with_its_type_and_unit() -> None:
    table = (
        (DOCS / "drives.md").read_text(encoding="utf-8").split("## Facts\n")[1].split("\n## ")[0]
    )
    rows = [line.split("|")[1:4] for line in table.splitlines() if line.startswith("| `")]
    table_rows = [
        (name, kind.strip(), unit.strip())
        for names, kind, unit in rows
        for name in re.findall(r"`(.+?)`", names)
    ]
    entries = [(name, str(item.type), item.unit or "") for name, item in CATALOGUE.items()]
    assert sorted(table_rows) == sorted(entries)


def test_the_docs_list_each_counter() -> None:
    text = (DOCS / "recipes.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| `change` |"))
    assert tuple(re.findall(r"`(.+?)`", row)[1:]) == CHANGES


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_recipe_can_name_each_fact_with_one_value(name: str) -> None:
    entry = CATALOGUE[name]
    value = {Type.NUMBER: "1", Type.FLAG: "true"}.get(
        entry.type, f'"{entry.options[0] if entry.options else "x"}"'
    )
    recipe = LIMIT.format("fact", name, value).encode()
    if entry.type == Type.SEVERAL:
        with pytest.raises(BadInput, match=name):
            read(recipe, "x.toml")
    else:
        assert read(recipe, "x.toml").limits[0].name == name
        assert name in LIMITS


def test_a_change_is_of_a_counter() -> None:
    assert all(CATALOGUE[name].type == Type.NUMBER for name in CHANGES)
    for name in ("temperature", "model"):
        with pytest.raises(BadInput, match="change"):
            read(LIMIT.format("change", name, "0").encode(), "x.toml")


def test_the_page_groups_each_fact_by_the_catalogue() -> None:
    drive = {name: {"value": 1, "unit": item.unit} for name, item in CATALOGUE.items()}
    drive["of_another_version"] = {"value": 1, "unit": None}
    groups = {
        title: [fact.title for fact in facts] for title, facts in formatting.fact_groups(drive)
    }
    expected = {
        str(group): [item.title for item in CATALOGUE.values() if item.group == group]
        for group in Group
        if group != Group.IDENTITY
    }
    assert groups == {**expected, "More": ["Of another version"]}


def test_titles_are_different() -> None:
    titles = [item.title for item in CATALOGUE.values()]
    assert len(set(titles)) == len(titles)
    assert "temperature" not in CONDITIONS
