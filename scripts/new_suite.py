"""Makes a new suite from templates: its module, its test and its page, and registers it.

    scripts/new-suite NAME

NAME is what `benchstick run NAME` takes: small letters, digits and single hyphens, starting with a
letter. What is made runs at once; docs/suites.md says what to do with it. Nothing is left behind
when a name cannot be taken or something fails. Exit codes: 0 made, 2 not made, with one line why.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import importlib.util
import keyword
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import suite_docs

from benchstick.plan import params as parameters
from benchstick.suites.interface import PlanRequest, Suite

CLONE = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).resolve().parent / "new-suite.d"
REGISTRY = Path("benchstick/suites/registry.py")
LONGEST = 30
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_IMPORT = re.compile(r"from benchstick\.suites\.(\w+) import .+")
_LAST = re.compile(r"^    \w+\(\),\n(?=\)$)", re.MULTILINE)


class NotMade(Exception):
    """Why the suite was not made: one line."""


@dataclass(frozen=True)
class Names:
    """What a suite is called in each place: `qd-2`, `qd_2`, `Qd2`, `Qd 2`."""

    name: str

    @staticmethod
    def of(text: str) -> Names:
        """NotMade when it is no name for a suite."""
        if not _NAME.fullmatch(text):
            raise NotMade(
                f"{text[:60]!r} is no name for a suite: small letters, digits and single hyphens, "
                "a letter first"
            )
        if len(text) > LONGEST:
            raise NotMade(f"{text[:60]!r} is longer than {LONGEST} characters")
        names = Names(text)
        if keyword.iskeyword(names.module) or keyword.iskeyword(names.cls):
            raise NotMade(f"{text!r} is a word of Python's own, which nothing can be called")
        return names

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")

    @property
    def cls(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("-"))

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()

    @property
    def paths(self) -> Mapping[str, Path]:
        """Where each template's file goes, in the clone."""
        return {
            "module": Path(f"benchstick/suites/{self.module}.py"),
            "test": Path(f"tests/unit/test_{self.module}.py"),
            "page": Path(f"docs/{self.name}.md"),
        }


def registered(text: str, names: Names) -> str:
    """The registry's source with the new suite in it, its import in order. NotMade when the source
    is not as it was."""
    lines = text.splitlines(keepends=True)
    imports = [index for index, line in enumerate(lines) if _IMPORT.match(line)]
    if not imports or len(_LAST.findall(text)) != 1:
        raise NotMade(f"{REGISTRY} does not look as expected: register the suites there by hand")
    after = [at for at in imports if _order(_module_of(lines[at])) < _order(names.module)]
    place = after[-1] + 1 if after else imports[0]
    lines.insert(place, f"from benchstick.suites.{names.module} import {names.cls}\n")
    source = _LAST.sub(lambda last: f"{last[0]}    {names.cls}(),\n", "".join(lines))
    ast.parse(source)
    return source


def check_class(names: Names, *sources: str) -> None:
    """NotMade when the class cannot be called as it would be in one of the sources."""
    imports = {
        alias.asname or alias.name
        for text in sources
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    if names.cls in imports or names.cls in dir(builtins):
        raise NotMade(f"{names.name!r}: its class would be {names.cls}, a name that is taken")


def _module_of(line: str) -> str:
    match = _IMPORT.match(line)
    return match[1] if match else ""


def _order(module: str) -> list[tuple[int, int]]:
    """The key by which ruff sorts imports: digits by their number, before letters."""
    return [
        (0, int(word)) if word.isdecimal() else (1, ord(word))
        for word in re.findall(r"\d+|\D", module)
    ]


def files_of(names: Names, folder: Path) -> dict[Path, str]:
    """The new files' text by their place in the clone; `folder` is for making them.

    The page's steps and fio commands come from the plan of the module, which is thereby tried.
    """
    module = _filled("module", names)
    (folder / "module.py").write_text(module, encoding="utf-8")
    suite = _loaded(folder / "module.py", names.cls)
    plan = suite.plan(
        PlanRequest(
            drive=suite_docs.EXAMPLE,
            params=parameters.read(suite.params, {}),
            target=suite.default_target,
            fs=suite.default_fs,
            scale=None,
        )
    )
    page = _filled(
        "page", names, steps=suite_docs.steps_block(plan), block=suite_docs.whole_block(plan)
    )
    texts = {"module": module, "test": _filled("test", names), "page": page}
    return {path: texts[kind] for kind, path in names.paths.items()}


def _filled(template: str, names: Names, **more: str) -> str:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    fields = {"name": names.name, "cls": names.cls, "title": names.title}
    return Template(text).substitute(fields, **more)


def _loaded(path: Path, cls: str) -> Suite:
    spec = importlib.util.spec_from_file_location("new_suite_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    suite: Suite = getattr(module, cls)()
    return suite


def make(names: Names, clone: Path = CLONE) -> list[Path]:
    """Write all files and register the suite, or leave everything as it was. NotMade says why."""
    for path in names.paths.values():
        if os.path.lexists(clone / path):
            raise NotMade(f"{names.name!r}: {path} is there already")
    registry = clone / REGISTRY
    old_source = registry.read_text(encoding="utf-8")
    check_class(names, old_source, _filled("module", names))
    source = registered(old_source, names)
    with tempfile.TemporaryDirectory() as folder:
        texts = files_of(names, Path(folder))
    with _removed_on_failure() as new_paths:
        for path, text in texts.items():
            # "x": a file that somebody else makes now is not overwritten.
            with (clone / path).open("x", encoding="utf-8") as file:
                new_paths.append(clone / path)
                file.write(text)
        part = registry.with_name(f".{registry.name}.new")
        with part.open("x", encoding="utf-8") as file:
            new_paths.append(part)
            file.write(source)
        shutil.copymode(registry, part)
        # Last, and at once: until now nothing of the suite is seen by the bench.
        part.replace(registry)
    return [*texts, REGISTRY]


@contextlib.contextmanager
def _removed_on_failure() -> Iterator[list[Path]]:
    """Gives a list; what was put in it is removed when the block ends in an error."""
    paths: list[Path] = []
    try:
        yield paths
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise


def main(argv: Sequence[str]) -> int:
    """The exit code of the command."""
    parser = argparse.ArgumentParser(
        prog="new-suite", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", metavar="NAME")
    options = parser.parse_args(argv)
    try:
        paths = make(Names.of(options.name))
    except (NotMade, OSError) as error:
        print(f"new-suite: {error}", file=sys.stderr)
        return 2
    for path in paths:
        print(f"{'changed' if path == REGISTRY else 'made'} {path}")
    print(f"try it: benchstick run {options.name} --drive practice --dry-run; then docs/suites.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
