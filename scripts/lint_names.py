"""Finds bare participles as names in Python: scripts/lint_names.py [FILE...]

A name says what it holds or does: `results`, not `found`; `is_known()`, not `known()`. Each name is
printed as FILE:LINE. Exit code 1 when there is one.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTICIPLES = frozenset((
    "asked", "begun", "born", "broken", "brought", "chosen", "cut", "done", "drawn", "ended",
    "found", "given", "gone", "grown", "held", "hidden", "kept", "known", "laid", "left",
    "listed", "lost", "made", "meant", "said", "seen", "sent", "shown", "spent", "spoken",
    "stood", "taken", "ticked", "told", "tried", "typed", "wanted", "worded", "worn", "written",
))  # fmt: skip


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each name that the code gives, with its line: definitions, parameters, variables, attributes,
    fields, keyword names of its own functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def participles(path: Path) -> list[tuple[str, int]]:
    """The names in a file that are bare participles, by line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    pairs = {(name, line) for name, line in names(tree) if name.strip("_").lower() in PARTICIPLES}
    return sorted(pairs, key=lambda pair: (pair[1], pair[0]))


def tracked() -> list[Path]:
    """All Python files of the repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.py"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in output.split("\0") if name and (path := ROOT / name).exists()]


def check(files: list[Path], root: Path = ROOT) -> Iterator[str]:
    """A line for each participle."""
    for path in files:
        for name, line in participles(path):
            yield f"{path.relative_to(root)}:{line}: {name}: name it by what it holds or does"


def main() -> int:
    files = [Path(name).resolve() for name in sys.argv[1:]] or tracked()
    lines = list(check(files))
    print("".join(f"{line}\n" for line in lines), end="")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
