"""The steps and fio commands in docs/ are those that the plans make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import suite_docs

from benchstick.engine.measure import fio
from benchstick.errors import BadInput
from benchstick.plan.steps import Fio
from benchstick.plan.units import duration_text, size_text
from benchstick.suites import registry

DOCS = Path(__file__).resolve().parents[2] / "docs"


def page_of(suite: str) -> str:
    return (DOCS / f"{suite}.md").read_text(encoding="utf-8")


def parse_blocks(page: str) -> list[tuple[list[str], dict[str, set[str]]]]:
    """(parameters, the options of each test by its name) of a page's blocks, read as a user does:
    those of all tests and its own."""
    blocks = []
    for params, body in re.findall(r"^```fio([^\n]*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        options: dict[str, set[str]] = {}
        name = ""
        for line in body.splitlines():
            if line.startswith(" "):
                options[name] |= set(line.split())
            else:
                name = line.removesuffix(":")
                options[name] = set()
        common = options.pop("all of these", set())
        blocks.append((params.split(), {name: own | common for name, own in options.items()}))
    return blocks


def starts_fio(suite: str) -> bool:
    """Whether the suite's plan has fio in it: what only copies or erases has no command to show."""
    return any(isinstance(step, Fio) for step in suite_docs.plan_of(suite).steps)


@pytest.mark.parametrize("suite", list(registry.all_suites()))
def test_the_commands_of_a_page_are_the_plans(
    drive_json: Callable[..., dict[str, Any]], suite: str
) -> None:
    page = page_of(suite)
    text = "\n\n".join(suite_docs.build_blocks(suite, page))
    assert suite_docs.renewed(suite, page) == page, (
        f"docs/{suite}.md should hold (scripts/suite-docs --write {suite} puts it in):\n\n{text}"
    )
    blocks = parse_blocks(page)
    assert bool(blocks) == starts_fio(suite)
    for params, tests in blocks:
        assert tests, f"a block of docs/{suite}.md shows no test"
        values = dict(word.split("=", 1) for word in params)
        plan = registry.make_plan(suite, drive_json(), values)
        steps = {s.test: s for s in plan.steps if isinstance(s, Fio) and s.recording.counted}
        for name, options in tests.items():
            step = steps[name]
            raw = plan.target == "block" or step.span.whole_drive
            argv = fio.command(step, "DRIVE" if raw else "FILE", Path("STEP"), raw=raw)
            assert options == set(argv[1:]), name
    if starts_fio(suite):
        # No command is in a place that is not checked.
        prose = re.sub(r"^```fio.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"--(rw|bs|filename|ioengine)=", prose)


@pytest.mark.parametrize("suite", list(registry.all_suites()))
def test_the_steps_of_a_page_are_the_plans(suite: str) -> None:
    blocks = re.findall(r"^```steps([^\n]*)\n(.*?)^```", page_of(suite), re.MULTILINE | re.DOTALL)
    assert blocks, "a page shows the steps of its suite"
    for params, body in blocks:
        values = dict(word.split("=", 1) for word in params.split())
        plan = registry.make_plan(suite, suite_docs.EXAMPLE, values)
        *lines, whole = body.splitlines()
        before = 0
        for line in lines:
            if line.strip() == "...":
                before = -1
                continue
            found_step = re.fullmatch(r" *(\d+)\. (.*)", line)
            assert found_step is not None, line
            number, name = found_step.groups()
            # `...` marks steps that are left out: more than one.
            assert int(number) == before + 1 or (before < 0 and int(number) > 5), line
            before = int(number)
            step = plan.steps[before - 1]
            assert name == step.name or name.startswith(f"{step.name}: "), line
            suffix = name.removeprefix(step.name)
            if isinstance(step, Fio) and step.job.runtime is not None:
                assert suffix == f": {step.job.runtime:g} s"
            elif step.bytes_written:
                assert f": writes {step.bytes_written} bytes" in suffix
        assert before == len(plan.steps)
        assert duration_text(plan.seconds) in whole
        assert size_text(plan.bytes_written) in whole


def test_repeated_steps_are_shown_at_their_start_and_end() -> None:
    indices = list(suite_docs._select_steps(["prepare", *["fio"] * 40, "idle"]))
    assert indices == [0, 1, 2, 3, None, 39, 40, 41]
    # A pause between the parts of a fill, and too few to leave any out.
    assert list(suite_docs._select_steps(["fio", "idle"] * 20)) == [0, 1, 2, None, 38, 39]
    assert list(suite_docs._select_steps(["idle", "fio"] * 6)) == list(range(12))
    assert list(suite_docs._select_steps([])) == []


def test_a_stale_page_is_compared_with_its_correct_contents() -> None:
    page = page_of("sustained")
    stale = page.replace("--iodepth=8", "--iodepth=9")
    assert stale != page
    assert suite_docs.renewed("sustained", stale) == page
    _, block = suite_docs.build_blocks("sustained", stale)
    assert block in page
    assert shlex.split(block)[:2] == ["```fio", "recovery=yes"]
    with pytest.raises(BadInput, match="'part 21 of 20' is no test of the plan: part 1 of 20, "):
        suite_docs.build_blocks("sustained", page.replace("part 2 of 20:", "part 21 of 20:"))
    with pytest.raises(BadInput, match="name=value"):
        suite_docs.build_blocks("sustained", page.replace("```fio recovery=yes", "```fio recovery"))


def test_a_page_without_a_block_gets_one_with_all_tests() -> None:
    page = suite_docs.renewed("erase", "# erase: x\n")
    assert page.startswith("# erase: x\n\n```steps\n1. write marks: ")
    assert suite_docs.blocks(page) == []
    (block,) = suite_docs.blocks(suite_docs.renewed("consistency", "# consistency: x\n"))
    assert block == suite_docs.Block((), ("fill SEQ128K Q32T1 write", "RND4K Q32T1 write"))


def test_the_script_reports_stale_pages_and_updates_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = page_of("atto")
    path = tmp_path / "atto.md"
    monkeypatch.setattr(suite_docs, "DOCS", tmp_path)
    path.write_text(page.replace("--bs=4096", "--bs=8192"), encoding="utf-8")
    assert suite_docs.main(["atto"]) == 1
    output = capsys.readouterr()
    assert "--bs=4096" in output.out
    assert output.err == "docs/atto.md: differs\n"
    assert suite_docs.main(["--write", "atto"]) == 0
    assert path.read_text(encoding="utf-8") == page
    assert suite_docs.main(["atto"]) == 0
    capsys.readouterr()
    assert suite_docs.main(["nix"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_every_suite_has_its_page() -> None:
    for name in registry.all_suites():
        text = page_of(name)
        assert text.startswith(f"# {name}: ")
        for heading in ("## Source", "## Steps", "## What differs from the original"):
            assert heading in text, (name, heading)
