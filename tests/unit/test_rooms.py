"""Which modules may import which (docs/architecture.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOMS = (
    "plan", "drives", "analysis", "suites", "store", "reports", "appliance", "engine", "agent",
    "recipes", "qa", "protocol", "cli",
)  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
# The modules of the page that may import what answers it, and what they may import of it.
STARTERS = {
    "webui.context": {"benchstick.protocol.local"},
    "webui.server.serve": {"benchstick.protocol.prepare"},
}
# The only module of benchstick that imports webui.
STARTS_PAGE = "benchstick/cli/web.py"

BASE = {"webui.responses", "webui.errors", "webui.context"}
# What each part of the web interface may import of the others: modules, or packages as a whole.
WEB_PARTS = {
    "webui.responses": set[str](),
    "webui.errors": {"webui.responses"},
    "webui.context": {"webui.errors", "webui.auth.pin"},
    "webui.forms": BASE,
    "webui.view": BASE | {"webui.forms"},
    "webui.auth": BASE | {"webui.forms"},
    "webui.pages": BASE | {"webui.forms", "webui.view", "webui.auth"},
    "webui.server": BASE | {"webui.forms", "webui.view", "webui.auth", "webui.pages"},
}


def list_modules() -> dict[str, Path]:
    """The modules of both packages by their dotted names."""
    modules = {}
    for package in ("benchstick", "webui"):
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            modules[name.removesuffix(".__init__")] = path
    return modules


def imported_modules(source: str, modules: Collection[str]) -> set[str]:
    """Those of `modules` that the source imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            paths = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {path if path in modules else node.module for path in paths}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & set(modules)


def imports_of_all() -> dict[str, set[str]]:
    modules = list_modules()
    return {
        name: imported_modules(path.read_text(encoding="utf-8"), modules) - {name}
        for name, path in modules.items()
    }


def is_within(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def wrong_web_imports(imports: Mapping[str, set[str]]) -> list[str]:
    """The imports between the parts of the web interface that `WEB_PARTS` does not allow."""
    wrong = []
    for part, allowed_rooms in WEB_PARTS.items():
        # No page imports another: what two pages need is in `view` or `forms`.
        others = allowed_rooms if part == "webui.pages" else allowed_rooms | {part}
        for name in sorted(imports):
            if not is_within(name, part):
                continue
            wrong += [
                f"{name} imports {item}"
                for item in sorted(imports[name])
                if is_within(item, "webui") and not any(is_within(item, one) for one in others)
            ]
    return wrong


def find_circle(imports: Mapping[str, set[str]]) -> list[str]:
    """The modules of an import circle, empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_only_the_command_that_starts_the_page_imports_the_web_interface() -> None:
    importers = {
        name
        for name, items in imports_of_all().items()
        if is_within(name, "benchstick") and any(is_within(item, "webui") for item in items)
    }
    assert importers == {"benchstick.cli.web"}


def test_parts_of_the_web_interface_import_only_what_they_may() -> None:
    imports = imports_of_all()
    names = {name for name in imports if is_within(name, "webui") and name != "webui"}
    with_rule = {name for name in names if any(is_within(name, part) for part in WEB_PARTS)}
    assert names == with_rule
    assert len(names) > 40
    assert wrong_web_imports(imports) == []


def store_imports(name: str, source: str) -> set[str]:
    """What a module of the page imports that only the answering side of `protocol` may import."""
    modules = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    forbidden = ("sqlite3", "benchstick.store", "benchstick.protocol.local",
                 "benchstick.protocol.prepare")  # fmt: skip
    allowed_rooms = STARTERS.get(name, set())
    return {
        module
        for module in modules
        if any(is_within(module, item) for item in forbidden)
        and not any(is_within(module, item) for item in allowed_rooms)
    }


def test_the_page_asks_the_protocol_and_not_the_store() -> None:
    paths = {name: path for name, path in list_modules().items() if is_within(name, "webui")}
    wrong = {
        name: modules
        for name, path in paths.items()
        if (modules := store_imports(name, path.read_text(encoding="utf-8")))
    }
    assert len(paths) > 40
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("webui.pages.runs", "import sqlite3"),
        ("webui.pages.runs", "from benchstick.store import run_queries"),
        ("webui.pages.runs", "from benchstick import store"),
        ("webui.view.runs", "def f():\n    import benchstick.store.auth"),
        ("webui.pages.runs", "from benchstick.protocol.local import LocalBench"),
        ("webui.pages.runs", "from benchstick.protocol import local"),
        ("webui.context", "from benchstick.protocol import prepare"),
    ],
)
def test_an_import_of_the_store_in_the_page_is_reported(name: str, source: str) -> None:
    assert store_imports(name, source)


def test_the_page_without_its_answers_loads_no_sqlite() -> None:
    """Another process can answer: neither the page nor a message needs a connection or a row."""
    code = (
        "import sys, types\n"
        "answers = sys.modules['benchstick.protocol.local'] = types.ModuleType('local')\n"
        "answers.LocalBench = object\n"
        "import webui.server.app\n"
        "print(*sys.modules, sep='\\n')"
    )
    words = [sys.executable, "-c", code]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    module_names = set(run.stdout.split())
    assert {"benchstick.protocol.bench", "webui.pages.runs", "webui.context"} <= module_names
    assert not module_names & {"sqlite3", "_sqlite3", "benchstick.store.database"}


@pytest.mark.parametrize(
    ("name", "source", "import_text"),
    [
        ("webui.view.runs", "from webui.pages import runs", "webui.pages.runs"),
        ("webui.view.runs", "from webui.pages.runs import bp", "webui.pages.runs"),
        ("webui.pages.runs", "def f():\n    from webui.pages import queues", "webui.pages.queues"),
        ("webui.pages.runs", "import webui.server.app", "webui.server.app"),
        ("webui.forms.inputs", "from webui.view import runs", "webui.view.runs"),
        ("webui.auth.hosts", "from webui.view import runs", "webui.view.runs"),
        ("webui.context", "from webui.auth import hosts", "webui.auth.hosts"),
    ],
)
def test_a_wrong_import_is_reported(name: str, source: str, import_text: str) -> None:
    imports = {name: imported_modules(source, list_modules())}
    assert wrong_web_imports(imports) == [f"{name} imports {import_text}"]


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert find_circle(imports_of_all()) == []
    circle = find_circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert set(circle) == {"a", "b", "c"}


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "benchstick" and len(parts) > 1 and parts[1] in ROOMS:
                rooms.add(parts[1])
            if parts[0] == "webui":
                rooms.add("webui")
    return rooms


def test_rooms_import_only_from_their_left() -> None:
    file_count = 0
    wrong = []
    for place, room in enumerate(ROOMS):
        for path in (ROOT / "benchstick" / room).rglob("*.py"):
            file_count += 1
            starts_page = path.relative_to(ROOT).as_posix() == STARTS_PAGE
            allowed_rooms = {*ROOMS[: place + 1]} | ({"webui"} if starts_page else set())
            for imported_room in imported_rooms(path) - allowed_rooms:
                wrong.append(f"{path.relative_to(ROOT)} imports from {imported_room}")
    assert file_count > 30
    assert wrong == []


def test_plans_suites_and_recipes_do_no_input_or_output() -> None:
    forbidden = {"subprocess", "socket", "sqlite3", "shutil", "threading"}
    for room in ("plan", "suites", "analysis", "recipes"):
        for path in (ROOT / "benchstick" / room).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            modules = {
                alias.name.split(".")[0]
                for node in ast.walk(tree)
                if isinstance(node, ast.Import)
                for alias in node.names
            }
            assert not modules & forbidden, path
            assert "store" not in imported_rooms(path), path


def test_an_agent_that_waits_holds_nothing_of_what_runs() -> None:
    """The image's budget of RAM at idle: what a run needs comes with the run."""
    code = "import sys, benchstick.cli.agent; print(*sys.modules, sep='\\n')"
    words = [sys.executable, "-c", code]
    module_names = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    heavy = {
        "benchstick.engine.runner", "benchstick.engine.run_request",
        "benchstick.engine.copier.copy",
        "benchstick.suites", "benchstick.recipes.parser", "ssl", "http.client",
        "xml.etree.ElementTree", "evdev", "asyncio",
    }  # fmt: skip
    assert "benchstick.agent.agent" in module_names.split()
    assert heavy.isdisjoint(module_names.split())
