"""The pages of docs/: links lead somewhere, and the glossary has the words that the code uses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from benchstick.drives.types import TRANSPORTS
from benchstick.suites import registry
from webui.view.markdown import anchor

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_other_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^():#\s]+\.md)(?:#[^)\s]*)?\)", page.read_text(encoding="utf-8"))
    lacking = [name for name in links if not (page.parent / name).is_file()]
    assert lacking == []


def test_each_pinned_python_package_has_a_row_with_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        pins += extra
    text = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    table = text.split("\n## Python ")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([a-z][a-z, -]+) \| .", table, re.MULTILINE)[1:]
    names = [name for row in rows for name in row.split(", ")]
    assert sorted(names) == sorted(pin.split("==")[0] for pin in pins)


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#{1,6} +(.+?) *$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {anchor(heading) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^():#\s]+\.md)?#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    missing = [
        f"{name}#{heading}"
        for name, heading in links
        if heading not in anchors_of(page.parent / name if name else page)
    ]
    assert missing == []


def test_links_of_templates_to_headings_lead_to_one() -> None:
    links = [
        (template.name, name, heading)
        for template in sorted((ROOT / "webui/templates").glob("*.html"))
        for name, heading in re.findall(
            r'href="/methods/([\w/-]+)#([\w-]+)"', template.read_text(encoding="utf-8")
        )
    ]
    assert links
    missing = [link for link in links if link[2] not in anchors_of(ROOT / "docs" / f"{link[1]}.md")]
    assert missing == []


def states_of(table: str) -> set[str]:
    """The states that the store allows a row of this table."""
    sql = (ROOT / "benchstick/store/schema.sql").read_text(encoding="utf-8")
    body = sql.split(f"CREATE TABLE {table} (")[1]
    match = re.search(r"state IN\s*\(([^)]*)\)", body)
    assert match is not None
    return set(re.findall(r"'(\w+)'", match[1]))


def test_the_glossary_has_the_words_of_the_code() -> None:
    words = set(re.findall(r"[\w-]+", (ROOT / "docs/glossary.md").read_text(encoding="utf-8")))
    expected = {*TRANSPORTS, "free", "locked", "protected", "inconclusive", "waiting", "taken"}
    expected |= states_of("runs") | states_of("results") | states_of("answers")
    assert sorted(expected - words) == []


def test_the_page_on_charts_links_each_suite_with_charts_of_its_own_kind() -> None:
    text = (ROOT / "docs/charts.md").read_text(encoding="utf-8")
    for name in ("sustained", "consistency", "sweep"):
        assert name in registry.all_suites()
        assert f"({name}.md)" in text
