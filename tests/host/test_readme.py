"""Every command in the README and the quick start is run, or is a target of the Makefile."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from tests.host.bench import Bench

CLONE = Path(__file__).resolve().parents[2]


def commands() -> list[str]:
    """The lines of the shell blocks of both pages."""
    blocks = []
    for page in ("README.md", "docs/quickstart.md"):
        page_blocks = re.findall(r"```sh\n(.*?)```", (CLONE / page).read_text(), re.S)
        assert len(page_blocks) > 1, page
        blocks += page_blocks
    return [line for block in blocks for line in block.splitlines() if line]


def test_every_command_of_the_readme_works(own_bench: Bench) -> None:
    benchstick = []
    for line in commands():
        words = shlex.split(line)
        if words[0] == "make":
            result = subprocess.run(
                ["make", "--dry-run", *words[1:]], cwd=CLONE, capture_output=True, text=True
            )
            assert result.returncode == 0, line
        elif words[0] == "benchstick":
            benchstick.append(words[1:])
        else:
            assert line in (". .venv/bin/activate", "export BENCHSTICK_HOME=$PWD/.benchstick")
    assert len(benchstick) > 8
    for argv in benchstick:
        result = own_bench.run(*argv)
        assert result.returncode == 0, (argv, result.stderr)
        assert result.stdout, argv


def test_the_pages_and_the_picture_that_the_readme_links_are_there() -> None:
    text = (CLONE / "README.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 6
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert (CLONE / picture).stat().st_size < 200 << 10
    assert (CLONE / picture).read_bytes().startswith(b"\x89PNG")
    for link in links:
        assert (CLONE / link).is_file(), link
