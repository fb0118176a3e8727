"""Bad input to every suite, by the command line on the practice drive: exit code 2, one line, and
the drive's own counter says that nothing was written. All cases: tests/unit/test_bad_input.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchstick.suites import registry
from tests.host.bench import Bench
from tests.unit import test_bad_input as unit

# One for each suite, between them all kinds; the practice drive has some GB.
CASES = {
    "das": "block=5000",
    "cdm": "size=60GiB",
    "atto": "depth=0",
    "asssd": "size=60GiB",
    "consistency": "span=0",
    "sweep": "depths=0",
    "sustained": "span=100TB",
    "pts": "depth=0",
    "erase": "samples=0",
}


def param_of(suite: str) -> str:
    """A parameter that is wrong on any drive. A suite with a test of its own brings it."""
    if suite in CASES:
        return CASES[suite]
    params = next(item[2] for item in unit.CASES if item[:2] == (suite, unit.ODD))
    return "=".join(next(iter(params.items())))


def test_every_suite_has_a_case() -> None:
    assert set(CASES) <= set(registry.all_suites())
    assert all("=" in param_of(suite) for suite in registry.all_suites())


@pytest.mark.parametrize("suite", list(registry.all_suites()))
def test_one_line_and_nothing_written(bench: Bench, suite: str) -> None:
    bench.run("practice")
    name = bench.json("drive", "practice")["name"]
    stat = Path(f"/sys/block/{name}/stat")
    before = stat.read_text().split()[6]
    param = param_of(suite)
    result = bench.run(*bench.practice(suite, "--param", param))
    assert result.returncode == 2, result.stderr
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("benchstick: ")
    assert param.split("=")[0] in line
    assert stat.read_text().split()[6] == before
    assert not (bench.home / "store.db").exists()
