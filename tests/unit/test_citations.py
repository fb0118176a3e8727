"""What code, comments and docs cite is in this repository: pages, files, functions."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Papers that the first version was written from. They are not in the repository.
OUTSIDE = re.compile(
    r"METHODS(?:\.md|'| section|,? [0-9])|[Ss]eed review|[Ss]eed 00\d|DESIGN\.md|FACTS\.md"
)
PAGE = re.compile(r"\bdocs/[a-z0-9_/-]+\.(?:md|toml|py)\b")
# The page that docs/suites.md makes as an example, and one that a test names.
EXAMPLES = {"docs/my-method.md"}
# A name of a JSON document, as benchstick/run/1, is no path; one in capitals is a placeholder.
CITED_PATH = re.compile(
    r"`((?:benchstick|webui)/(?:[a-z0-9_/-]*/|[a-z0-9_/-]+\.(?:py|sql))"
    r"|(?:tests|scripts|docs|buildroot-external|overlay)/[a-z0-9_./-]*)`"
)
PACKAGES = tuple(path.name for path in sorted((ROOT / "benchstick").iterdir()) if path.is_dir())
CITED_NAME = re.compile(rf"`((?:{'|'.join(PACKAGES)}|webui)(?:\.[A-Za-z_]+)+)`")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def texts() -> Iterator[tuple[str, str]]:
    """Name and text of every file of the repository that holds text."""
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in sorted(set(listing.split("\0")) - {""}):
        # Recorded answers of tools are not ours to cite from.
        if name.startswith("tests/hardware/") and not name.endswith((".py", ".md")):
            continue
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue


def lines_with(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        for match in pattern.finditer(line):
            yield number, match[0]


def test_nothing_cites_a_document_that_is_not_in_the_repository() -> None:
    file_count = 0
    citations = []
    for name, text in texts():
        file_count += 1
        if name != "CHANGELOG.md":
            citations += [f"{name}:{at}: {what}" for at, what in lines_with(OUTSIDE, text)]
    assert file_count > 500
    assert citations == []


def test_every_cited_page_exists() -> None:
    missing = []
    pages = set()
    for name, text in texts():
        for at, page in lines_with(PAGE, text):
            pages.add(page)
            if page not in EXAMPLES and not (ROOT / page).is_file():
                missing.append(f"{name}:{at}: {page}")
    assert len(pages) > 10
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_cites_exists(page: Path) -> None:
    missing = []
    for at, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for match in CITED_PATH.finditer(line):
            path = match[1]
            is_made = path.startswith("webui/static/vendor") or "my_method" in path
            if not is_made and path not in EXAMPLES and not (ROOT / path).exists():
                missing.append(f"line {at}: {path}")
    assert missing == []


def is_defined(name: str) -> bool:
    """Whether `package.module.name` or `package.module.Class.name` is in the code."""
    parts = name.split(".")
    path = ROOT if parts[0] == "webui" else ROOT / "benchstick"
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    module = (path / parts[0]).with_suffix(".py") if parts else path / "__init__.py"
    if not module.is_file():
        return False
    scope: list[ast.stmt] = ast.parse(module.read_text(encoding="utf-8")).body
    for part in parts[1:]:
        kinds = (ast.FunctionDef, ast.ClassDef)
        nodes = [node for node in scope if isinstance(node, kinds) and node.name == part]
        if not nodes:
            return False
        scope = nodes[0].body
    return True


def test_every_function_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    names = set(CITED_NAME.findall(text))
    assert len(names) > 30
    assert sorted(name for name in names if not is_defined(name)) == []
    assert is_defined("engine.runner.Runner.carry_out")
    assert not is_defined("engine.runner.Runner.no_such_function")
    assert not is_defined("engine.no_such_module.run")
