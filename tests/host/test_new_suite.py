"""scripts/new-suite in a copy of the tree: what it makes runs at once, and is as clean as the rest.

The commands are those of docs/suites.md.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.bench import Bench

CLONE = Path(__file__).resolve().parents[2]
COPIED = ("benchstick", "docs", "scripts", "tests", "webui")
MIB = 1 << 20
REGISTRY = "benchstick/suites/registry.py"


class Copy:
    """A copy of the tree, in which commands are run as in a clone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in COPIED:
            ignore = shutil.ignore_patterns("__pycache__", "hardware", "*_recordings", "vendor")
            shutil.copytree(CLONE / name, root / name, ignore=ignore)
        shutil.copy(CLONE / "pyproject.toml", root)

    def run(self, *argv: str, **more: str) -> subprocess.CompletedProcess[str]:
        tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            argv,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), "PATH": tools, **more},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def create(self, *names: str) -> list[str]:
        """The exit code is 0 for each name; what was printed."""
        lines = []
        for name in names:
            result = self.run("scripts/new-suite", name)
            assert result.returncode == 0, result.stderr
            lines += result.stdout.splitlines()
        return lines

    def files(self) -> dict[str, bytes]:
        """Every file but what Python keeps for itself, by its path."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
        }


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path / "tree")


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The folders of a bench of the test's own, as environment of the copy's program."""
    new_bench = Bench(tmp_path / "bench")
    yield {name: new_bench.environment[name] for name in ("BENCHSTICK_HOME", "BENCHSTICK_RUN")}
    new_bench.close()


def commands() -> list[list[str]]:
    """The lines of the shell blocks of docs/suites.md."""
    text = (CLONE / "docs/suites.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


def test_the_commands_of_the_page_make_a_suite_that_runs(
    copy: Copy, folders: dict[str, str]
) -> None:
    before = copy.files()
    ran = []
    for argv in commands():
        program = ["python", "-m"] if argv[0] == "benchstick" else []
        result = copy.run(*program, *argv, **folders)
        assert result.returncode == 0, (argv, result.stderr)
        ran.append(argv[0])
    assert ran == ["scripts/new-suite", *["benchstick"] * 3, "scripts/suite-docs"]
    after = copy.files()
    assert set(after) - set(before) == {
        "benchstick/suites/my_method.py", "tests/unit/test_my_method.py", "docs/my-method.md",
    }  # fmt: skip
    assert {path for path in before if after[path] != before[path]} == {REGISTRY}
    show_result = copy.run("python", "-m", "benchstick", "show", "1", "--json", **folders)
    document = json.loads(show_result.stdout)
    assert (document["state"], document["plan"]["suite"]) == ("done", "my-method")
    single = {item["name"]: item for item in document["results"] if item["pass"] == 1}
    for way in ("write", "read"):
        assert single[way]["state"] == "valid", single[way]["reason"]
        counted_bytes = single[way]["detail"]["counters"][f"{way}_bytes"]
        assert 16 * MIB <= counted_bytes <= 1.03 * 16 * MIB + 65536
    assert document["result"]["headline"][0]["value"] == pytest.approx(single["write"]["value"])


def test_what_is_made_passes_its_test_and_the_linters(copy: Copy) -> None:
    # The longest name that there can be, one with a digit, and one that sorts before all others.
    names = ("sequential-write-and-read-2026", "qd2", "qd10", "a")
    assert len(names[0]) == 30
    new_paths = [line.split()[1] for line in copy.create(*names) if line.startswith("made ")]
    modules = [path for path in new_paths if path.endswith(".py")]
    assert len(modules) == 2 * len(names)
    tests = [path for path in modules if path.startswith("tests/")]
    result = copy.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests,
                    "tests/unit/test_suite_docs.py", "tests/unit/test_rooms.py",
                    "tests/unit/test_cli.py", "tests/unit/test_bad_input.py",
                    "tests/host/test_bad_input.py::test_every_suite_has_a_case",
                    "tests/host/test_bad_input.py::test_one_line_and_nothing_written[qd2]",
                    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    match = re.search(r"(\d+) passed", result.stdout)
    # Ten of each suite, besides those of the others.
    assert match is not None
    assert int(match[1]) > 10 * len(names)
    result = copy.run("ruff", "check", "--no-cache", *modules, REGISTRY)
    assert result.returncode == 0, result.stdout
    result = copy.run("ruff", "format", "--check", "--no-cache", *modules, REGISTRY)
    assert result.returncode == 0, result.stdout
    result = copy.run("python3", "scripts/lint_names.py", *modules)
    assert result.stdout == ""
    result = copy.run("mypy", "--cache-dir", os.devnull, *modules, REGISTRY)
    assert result.returncode == 0, result.stdout
    assert f"no issues found in {len(modules) + 1} source files" in result.stdout
    listing = copy.run("python", "-m", "benchstick", "suites")
    for name in names:
        assert re.search(rf"^\W*{name}\b", listing.stdout, re.MULTILINE), listing.stdout


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "no name for a suite"),
        ("9x", "no name for a suite"),
        ("Upper", "no name for a suite"),
        ("two--hyphens", "no name for a suite"),
        ("../../etc/x", "no name for a suite"),
        ("under_score", "no name for a suite"),
        ("two\nlines", "no name for a suite"),
        ("a" * 31, "longer than 30 characters"),
        ("class", "a word of Python's own"),
        ("none", "a word of Python's own"),
        ("exception", "its class would be Exception"),
        ("step", "its class would be Step"),
        ("suite", "its class would be Suite"),
        ("cdm", "cdm.py is there already"),
        ("registry", "registry.py is there already"),
        ("units", "test_units.py is there already"),
        ("guard", "guard.py is there already"),
        ("settings", "settings.md is there already"),
    ],
)
def test_a_name_that_cannot_be_is_one_line_and_writes_nothing(
    copy: Copy, name: str, part: str
) -> None:
    before = copy.files()
    result = copy.run("scripts/new-suite", name)
    assert result.returncode == 2
    assert part in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert copy.files() == before


def test_it_is_made_once_and_no_two_have_one_class(copy: Copy) -> None:
    copy.create("qd-2")
    before = copy.files()
    for name, part in (("qd-2", "is there already"), ("qd2", "its class would be Qd2")):
        result = copy.run("scripts/new-suite", name)
        assert result.returncode == 2
        assert part in result.stderr
        assert copy.files() == before


def test_nothing_is_left_of_a_suite_that_could_not_be_made(copy: Copy) -> None:
    # The registry's successor is written last: its name is taken here, by a folder.
    (copy.root / "benchstick/suites/.registry.py.new").mkdir()
    before = copy.files()
    result = copy.run("scripts/new-suite", "half")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert copy.files() == before
    registry = copy.root / REGISTRY
    text = registry.read_text(encoding="utf-8")
    registry.write_text(text.replace("    Erase(),\n)", "    Erase(),\n    # the last\n)"))
    before = copy.files()
    result = copy.run("scripts/new-suite", "half")
    assert result.returncode == 2
    assert "does not look as expected" in result.stderr
    assert copy.files() == before
