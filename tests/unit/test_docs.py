"""The pages of docs/: links lead somewhere, and the glossary has the words that the code uses."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from flask import Flask
from run_tests import GUARD, LEVELS

from benchstick.drives.types import TRANSPORTS
from benchstick.suites import registry
from webui.server.app import create_app
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


# Folders of Linux and options of robocopy; and what docs/web.md means by any page.
OUTSIDE = re.compile(
    r"/(?:[A-Z].*|bin|boot|dev|etc|lib|mnt|proc|root|run|sbin|sys|tmp|usr|var)(?:/|$)"
)
ANY_PAGE = {"/x", "/api/v1", "/api/v1/x", "/api/v1/..."}


def addresses_in(text: str) -> set[str]:
    """The addresses of the web interface that a page names, without their queries."""
    spans = re.findall(r"`(?:(?:GET|POST) )?(/[^`\s?]*)[^`\s]*`", text)
    links = re.findall(r"\]\((/[^)\s?#]*)", text)
    hosts = r"http://(?:127\.0\.0\.1|localhost|benchstick\.local)(?::\d+)?"
    urls = re.findall(rf"{hosts}(/[\w/.-]*)", text)
    return {name for name in (*spans, *links, *urls) if not OUTSIDE.match(name)} - ANY_PAGE


def rules_by_method(app: Flask) -> dict[str, list[str]]:
    """The addresses that the web interface answers, as regular expressions, by method."""
    rules: dict[str, list[str]] = {"GET": [], "POST": []}
    for rule in app.url_map.iter_rules():
        for method in rules.keys() & (rule.methods or set()):
            rules[method].append(re.sub(r"<(path:)?\w+>", _segment, rule.rule))
    return rules


def _segment(match: re.Match[str]) -> str:
    return ".+" if match[1] else "[^/]+"


def is_answered(address: str, rules: Iterable[str]) -> bool:
    return any(re.fullmatch(rule, address) for rule in rules)


def unanswered(text: str, rules: Mapping[str, Sequence[str]]) -> list[str]:
    """The addresses that a page names and the web interface does not answer; in a table with
    methods, with this method."""
    every = [*rules["GET"], *rules["POST"]]
    missing = [name for name in addresses_in(text) if not is_answered(name, every)]
    for method, cell in re.findall(r"^\| (GET|POST) (.+?) \|", text, re.MULTILINE):
        names = addresses_in(cell)
        missing += [f"{method} {name}" for name in names if not is_answered(name, rules[method])]
    return sorted(missing)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return rules_by_method(create_app(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize(
    "text",
    [
        "see `/queue/3`", "`GET /api/v1/run/N`", "[desk](/desk/slot)", "| POST `/api/v1/drives` |",
        "curl http://127.0.0.1:8080/api/v1/drive", "`/runs/N/chart/K.svg`",
    ],
)  # fmt: skip
def test_an_address_that_does_not_exist_is_reported(rules: dict[str, list[str]], text: str) -> None:
    assert unanswered(text, rules)
    assert unanswered("`/runs/N` `/dev/sda` [desk](/desk) | GET `/drives/CODE` |", rules) == []


def test_the_pages_name_only_addresses_that_exist(rules: dict[str, list[str]]) -> None:
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
    assert len(addresses_in(texts["docs/web.md"])) > 50
    missing = {page: unanswered(text, rules) for page, text in texts.items()}
    assert {page: names for page, names in missing.items() if names} == {}


def test_the_page_on_the_api_lists_every_address_of_it(rules: dict[str, list[str]]) -> None:
    text = (ROOT / "docs/web.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (GET|POST) (.+?) \|", text, re.MULTILINE)
    addresses = {(method, name) for method, cell in rows for name in addresses_in(cell)}
    missing = [
        (method, rule)
        for method, patterns in rules.items()
        for rule in patterns
        if rule.startswith("/api/v1/")
        and not any(of == method and re.fullmatch(rule, name) for of, name in addresses)
    ]
    assert missing == []


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


def test_the_contributing_guide_has_a_row_for_each_level_of_the_tests() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| .* \|$", text.split("\n## Tests")[1], re.MULTILINE)
    assert sorted(rows[1:]) == sorted(level.name for level in (*LEVELS, GUARD))


def test_the_page_on_charts_links_each_suite_with_charts_of_its_own_kind() -> None:
    text = (ROOT / "docs/charts.md").read_text(encoding="utf-8")
    for name in ("sustained", "consistency", "sweep"):
        assert name in registry.all_suites()
        assert f"({name}.md)" in text
