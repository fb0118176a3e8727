"""A bench whose commands are forks of the test's own process.

Under emulation a Python that starts and imports the bench needs three seconds, ten times what it
takes on a PC. The tests of this folder start some two hundred commands: each is a process of its
own all the same, with its own files, environment, signals and exit code; only the imports are
already done. Commands as processes of their own are tested from outside (tests/vm/test_*.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NoReturn

# Imported here, once, and before any command is forked.
import benchstick.cli.drives
import benchstick.cli.export
import benchstick.cli.purges
import benchstick.cli.run
import benchstick.cli.runs  # noqa: F401 - imported for the forks
from benchstick.cli import invoke
from tests.host.bench import Bench


class ForkedBench(Bench):
    """A `Bench` for the guest."""

    def start(self, *argv: str) -> subprocess.Popen[str]:
        environment = self.environment

        def command() -> NoReturn:
            # Between fork and exec, which never comes: stdin, stdout and stderr are the command's.
            _become(argv, environment)

        process = subprocess.Popen(
            [sys.executable, "-m", "benchstick", *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=command,
        )
        self.started.append(process)
        return process


def _become(argv: tuple[str, ...], environment: dict[str, str]) -> NoReturn:
    """Be the command `benchstick ARGV` and end with its exit code."""
    code = 70
    try:
        # The parent waits until the pipe is closed on which a failed exec would be reported.
        os.closerange(3, 1024)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["benchstick", *argv]
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        code = invoke(list(argv))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
