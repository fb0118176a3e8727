"""Helpers for tests that run the bench itself, by its command line, on a practice drive."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchstick.drives import subprocesses

# Debian's own, without a newer fio elsewhere.
SYSTEM_TOOLS = "/usr/sbin:/usr/bin:/sbin:/bin"
QUICK_CDM = ("--param", "passes=1", "--param", "time=1", "--param", "interval=0",
             "--param", "size=32MiB")  # fmt: skip
QUICK_DAS = ("--scale", "0.001", "--param", "passes=1", "--param", "idle=0",
             "--param", "sets=Home")  # fmt: skip


# A command that takes longer hangs, also in an emulated machine with half a processor.
HANGS = 900.0


@dataclass
class Bench:
    """A bench with folders of its own under `root`."""

    root: Path
    extra: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "BENCHSTICK_HOME": str(self.home),
            "BENCHSTICK_RUN": str(self.root / "run"),
            **self.extra,
        }

    def use_tools(self, *folders: Path | str) -> None:
        """Search the tools in these folders; without folders: where this test run searches them."""
        if folders:
            self.extra[subprocesses.PATH_VARIABLE] = ":".join(str(folder) for folder in folders)
        else:
            self.extra.pop(subprocesses.PATH_VARIABLE, None)

    def start(self, *argv: str) -> subprocess.Popen[str]:
        """Start a command; its output is piped."""
        process = subprocess.Popen(
            [sys.executable, "-m", "benchstick", *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        self.started.append(process)
        return process

    def run(self, *argv: str, timeout: float = HANGS) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*argv)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def json(self, *argv: str, code: int = 0, timeout: float = HANGS) -> Any:
        """Run a command with --json; the document."""
        result = self.run(*argv, "--json", timeout=timeout)
        assert result.returncode == code, result.stderr
        return json.loads(result.stdout)

    def practice(self, suite: str, *argv: str) -> tuple[str, ...]:
        """The arguments of a run on the practice drive."""
        return ("run", suite, "--drive", "practice", "--erase", "practice", *argv)

    def close(self) -> None:
        """End what a failed test left running, detach the practice drive and delete its file."""
        for process in self.started:
            if process.poll() is None:
                process.terminate()
            if process.stdout is not None and not process.stdout.closed:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=60)
        self.started.clear()
        self.run("practice", "--detach")


def wait_for(what: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until `what` gives something true; what it gave."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = what()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"did not happen within {seconds} s")


def processes(word: str, mark: str) -> list[int]:
    """Pids whose command is `word` and whose environment holds `mark`."""
    return list(_processes(word, mark.encode()))


def _processes(word: str, mark: bytes) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")[0]
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if Path(command.decode(errors="replace")).name == word and mark in environment:
            yield int(entry.name)


def mounts_below(folder: Path) -> list[str]:
    """Mount points below `folder`."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    points = [line.split()[4] for line in lines]
    return [point for point in points if Path(point).is_relative_to(folder)]
