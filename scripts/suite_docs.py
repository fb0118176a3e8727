"""The steps and fio commands on the suites' pages in docs/, made from the suites' plans.

    scripts/suite-docs [--write] [SUITE ...]

Prints the blocks that the page of each suite (of all without a name) should hold, to be pasted;
`--write` puts them in. Exit codes: 0 the pages are right (with --write: are now), 1 they were not,
2 bad input.

A block on a page starts with ```steps or ```fio and the parameters that are not the default, as in
```fio state=steady. One of steps has all steps of the plan for a drive of 1 TB; of the like that
follow each other the first and the last. One of fio has a line for each test that it shows, such as
"4 KiB write:"; the text under these lines, and under "all of these:", comes from the plan. FILE
is the test file, DRIVE the raw drive, STEP the step's folder. A page without a block gets one with
all tests of the plan: leave in those that are worth reading, and call this again.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchstick.engine.measure import fio
from benchstick.errors import BadInput
from benchstick.plan.steps import Fio, Idle, Plan, Step
from benchstick.plan.units import duration_text, size_text
from benchstick.suites import registry

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH = 100
ALL = "all of these"
# The drive for which the pages' plans are made.
EXAMPLE = {
    "code": "EXAMPLE",
    "identity": {"capacity": 10**12, "model": "Example", "drive_key": "EXAMPLE|Example"},
    "transport": {"value": "usb-uas", "unit": None, "source": "docs"},
    "usb_speed": {"value": 10000, "unit": None, "source": "docs"},
    "queue_depth": {"value": 30, "unit": None, "source": "docs"},
    "rotational": {"value": False, "unit": None, "source": "docs"},
    "trim": {"value": True, "unit": None, "source": "docs"},
    "trim_kernel": {"value": 1 << 30, "unit": "B", "source": "docs"},
}
# So many lines must be saved for steps to be left out; so long may be what is repeated; so many of
# it are shown at least at its start and at its end.
_LEAST_SAVED, _LONGEST_CYCLE = 12, 24
_FIRST, _LAST = 3, 2
_BLOCK = re.compile(r"^```(fio|steps)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEST = re.compile(r"^(\S.*):$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of a page: the parameters as `name=value`, and the tests that it shows."""

    params: tuple[str, ...]
    tests: tuple[str, ...]

    @staticmethod
    def of(params: str, body: str) -> Block:
        """From its first line behind ```fio, and what stands in it."""
        tests = tuple(name for name in _TEST.findall(body) if name != ALL)
        return Block(tuple(params.split()), tests)

    def text(self, commands: Mapping[str, Sequence[str]]) -> str:
        """The block as the commands of its tests make it. BadInput when it names no such test."""
        for test in self.tests:
            if test not in commands:
                raise BadInput(f"{test!r} is no test of the plan: {', '.join(commands)}")
        by_test = {test: commands[test] for test in self.tests}
        first = next(iter(by_test.values()), ())
        common = [word for word in first if all(word in words for words in by_test.values())]
        lines = [" ".join(("```fio", *self.params))]
        if len(by_test) > 1:
            lines += [f"{ALL}:", *_wrapped(common)]
        for test, words in by_test.items():
            own = [word for word in words if len(by_test) == 1 or word not in common]
            lines += [f"{test}:", *_wrapped(own)]
        return "\n".join([*lines, "```"])


def _wrapped(words: Sequence[str]) -> list[str]:
    return textwrap.wrap(
        " ".join(words),
        WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def blocks(page: str) -> list[Block]:
    """The blocks of a page that show fio commands."""
    return [Block.of(params, body) for kind, params, body in _BLOCK.findall(page) if kind == "fio"]


def steps_block(plan: Plan, params: Sequence[str] = ()) -> str:
    """The block with the plan's steps; its first line lists `params`."""
    width = len(str(len(plan.steps)))
    lines = []
    for number in _select_steps([step.kind for step in plan.steps]):
        if number is None:
            lines.append(" " * width + "  ...")
        else:
            step = plan.steps[number]
            lines.append(f"{number + 1:>{width}}. {step.name}{_does(step)}")
    how = "at most" if plan.may_end_early else "about"
    time, size = duration_text(plan.seconds), size_text(plan.bytes_written)
    lines.append(f"total: {how} {time}, {how} {size} written")
    return "\n".join([" ".join(("```steps", *params)), *lines, "```"])


def _does(step: Step) -> str:
    """What is known of the step before it runs: its time, or its bytes."""
    details = []
    if isinstance(step, Fio) and step.job.runtime is not None:
        details.append(f"{step.job.runtime:g} s")
    elif isinstance(step, Idle):
        details += [f"{step.seconds:g} s"] if step.seconds else []
        details += ["temperature"] if step.temperature else []
    else:
        details += [f"writes {step.bytes_written} bytes"] if step.bytes_written else []
        details += [f"reads {step.bytes_read} bytes"] if step.bytes_read else []
    return f": {', '.join(details)}" if details else ""


def _select_steps(kinds: Sequence[str]) -> Iterator[int | None]:
    """The indexes of the steps to show, None for some left out: of what is repeated the first and
    the last time, where that saves enough."""
    at = 0
    while at < len(kinds):
        cycle, times = max(
            ((size, _times(kinds, at, size)) for size in range(1, _LONGEST_CYCLE + 1)),
            key=lambda pair: pair[0] * (pair[1] - 2),
        )
        if cycle * (times - 2) < _LEAST_SAVED:
            yield at
            at += 1
            continue
        yield from range(at, at + max(cycle, _FIRST))
        yield None
        at += cycle * times
        yield from range(at - max(cycle, _LAST), at)


def _times(kinds: Sequence[str], at: int, size: int) -> int:
    """How often the `size` kinds from `at` on come in a row."""
    first, times = kinds[at : at + size], 1
    while kinds[at + times * size : at + (times + 1) * size] == first:
        times += 1
    return times


def commands_of(plan: Plan) -> dict[str, list[str]]:
    """What follows `fio` for each test of the plan, by the test's name.

    Passes of one test have one command; layouts and preparing passes are left out.
    """
    commands: dict[str, list[str]] = {}
    for step in plan.steps:
        if not isinstance(step, Fio) or not step.recording.counted:
            continue
        raw = plan.target == "block" or step.span.whole_drive
        argv = fio.command(step, "DRIVE" if raw else "FILE", Path("STEP"), raw=raw)[1:]
        if commands.setdefault(step.test, argv) != argv:
            raise ValueError(f"{step.test}: its passes differ in their commands")
    return commands


@functools.cache
def plan_of(suite: str, params: tuple[str, ...] = ()) -> Plan:
    """The suite's plan for the example drive. BadInput naming what is wrong with `params`."""
    values = {}
    for word in params:
        name, equals, value = word.partition("=")
        if not equals:
            raise BadInput(f"{word!r}: parameters are written as name=value")
        values[name] = value
    return registry.make_plan(suite, EXAMPLE, values)


def whole_block(plan: Plan) -> str:
    """The block with all tests of the plan, empty without any; its parameters are not listed."""
    commands = commands_of(plan)
    return Block((), tuple(commands)).text(commands) if commands else ""


def build_blocks(suite: str, page: str) -> list[str]:
    """The blocks that the page should hold instead of its own, in order; then those that it lacks:
    one of steps, and one of all fio commands where the suite starts fio."""
    matches = _BLOCK.findall(page)
    texts = []
    for kind, params, body in matches:
        block = Block.of(params, body)
        plan = plan_of(suite, block.params)
        texts.append(
            block.text(commands_of(plan)) if kind == "fio" else steps_block(plan, block.params)
        )
    kinds = {kind for kind, _, _ in matches}
    whole = whole_block(plan_of(suite))
    if "steps" not in kinds:
        texts.append(steps_block(plan_of(suite)))
    if "fio" not in kinds and whole:
        texts.append(whole)
    return texts


def renewed(suite: str, page: str) -> str:
    """The page with its blocks as they should be, those that it lacks at its end."""
    new_blocks = iter(build_blocks(suite, page))
    text = _BLOCK.sub(lambda _: next(new_blocks), page)
    return "\n\n".join([text.rstrip("\n"), *new_blocks]) + "\n"


def main(argv: Sequence[str]) -> int:
    """The exit code of the command."""
    parser = argparse.ArgumentParser(
        prog="suite-docs",
        description=__doc__.split("\n\n", 1)[0],
        epilog=__doc__.split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="put the blocks into the pages")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="all without a name")
    options = parser.parse_args(argv)
    stale = False
    try:
        for suite in options.suites or registry.all_suites():
            registry.find(suite)
            path = DOCS / f"{suite}.md"
            page = path.read_text(encoding="utf-8")
            new_page = renewed(suite, page)
            for text in build_blocks(suite, page):
                print(f"docs/{suite}.md:\n\n{text}\n")
            if new_page == page:
                continue
            stale = True
            print(f"docs/{suite}.md: {'renewed' if options.write else 'differs'}", file=sys.stderr)
            if options.write:
                path.write_text(new_page, encoding="utf-8")
    except (BadInput, OSError) as error:
        print(f"suite-docs: {error}", file=sys.stderr)
        return 2
    return 1 if stale and not options.write else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
