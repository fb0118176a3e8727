"""Each room imports only from rooms to its left (docs/architecture.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOMS = (
    "plan", "drives", "analysis", "suites", "store", "reports", "appliance", "engine", "agent",
    "recipes", "qa", "cli",
)  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
# The only module of benchstick that imports webui.
STARTS_PAGE = "benchstick/cli/web.py"


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
    checked = 0
    wrong = []
    for place, room in enumerate(ROOMS):
        for path in (ROOT / "benchstick" / room).rglob("*.py"):
            checked += 1
            starts_page = path.relative_to(ROOT).as_posix() == STARTS_PAGE
            allowed = {*ROOMS[: place + 1]} | ({"webui"} if starts_page else set())
            for imported_room in imported_rooms(path) - allowed:
                wrong.append(f"{path.relative_to(ROOT)} imports from {imported_room}")
    assert checked > 30
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


def test_an_agent_that_waits_holds_nothing_of_what_runs() -> None:
    """The image's budget of RAM at idle: what a run needs comes with the run."""
    code = "import sys, benchstick.cli.agent; print(*sys.modules, sep='\\n')"
    words = [sys.executable, "-c", code]
    loaded = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    heavy = {
        "benchstick.engine.runner", "benchstick.engine.run_request",
        "benchstick.engine.copier.copy",
        "benchstick.suites", "benchstick.recipes.parser", "ssl", "http.client",
        "xml.etree.ElementTree", "evdev", "asyncio",
    }  # fmt: skip
    assert "benchstick.agent.agent" in loaded.split()
    assert heavy.isdisjoint(loaded.split())
