"""Queries a drive with an external tool, in a separate process and with a timeout.

All queries go through `Query`, so that tests can replay recorded answers. `Asker` belongs to one
drive in one scan: after the first timeout it sends nothing more, so a hanging drive costs one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchstick.drives import subprocesses
from benchstick.drives.subprocesses import Finished
from benchstick.errors import BadInput

# An emulated CPU is slower than any drive: its tests set a longer one.
TIMEOUT_SECONDS = float(os.environ.get("BENCHSTICK_TOOL_SECONDS", "10"))
NOT_INSTALLED = 127
# Own look at a device node: exclusive open, readability. Run by file name as a plain script, so
# that it starts fast and can be killed when the drive hangs.
PROBE = "benchstick-probe"
# The same look with many reads, past the cache: whether the drive is blank.
SAMPLE = "benchstick-sample"
SAMPLE_SECONDS = 120.0
# A look once more at a drive that did not answer in time. Longer than the kernel waits for a
# sector that cannot be read (30 s), so that a broken drive fails here and does not time out.
PATIENT_SECONDS = 60.0
NOT_ANSWERING = "not answering, try again"
# Are the contents of two nodes the same? Run in the same way.
SAME = "benchstick-same"
_SCRIPTS = {
    PROBE: ("probe_node.py",),
    SAMPLE: ("probe_node.py", "--sample"),
    SAME: ("probe_same.py",),
}

Query = Callable[[Sequence[str]], Finished]


def ask_live(argv: Sequence[str]) -> Finished:
    """Run the tool on this machine. A missing tool is an answer too: exit 127 and the remedy."""
    return _ask(argv, SAMPLE_SECONDS if argv[0] == SAMPLE else TIMEOUT_SECONDS)


def ask_patiently(argv: Sequence[str]) -> Finished:
    """`ask_live` with more time, for a drive that did not answer the first time."""
    return _ask(argv, SAMPLE_SECONDS if argv[0] == SAMPLE else PATIENT_SECONDS)


def patient(query: Query) -> Query:
    """`query` with more time where it asks this machine."""
    return ask_patiently if query is ask_live else query


def _ask(argv: Sequence[str], timeout: float) -> Finished:
    command = list(argv)
    if command[0] in _SCRIPTS:
        script, *flags = _SCRIPTS[command[0]]
        path = Path(__file__).with_name(script)
        command = [sys.executable, "-I", "-S", str(path), *flags, *command[1:]]
    try:
        return subprocesses.run(command, timeout=timeout, grace=1.0)
    except BadInput as error:
        return Finished(tuple(argv), NOT_INSTALLED, b"", error.message.encode(), 0.0)


def file_name(argv: Sequence[str]) -> str:
    """The file under which the answer to `argv` is recorded: `smartctl_-j_-i_dev-sda`.

    The ranges that the own probe reads are left out: with many partitions they are long.
    """
    words = argv[:2] if argv[0] in (PROBE, SAMPLE) else argv
    return re.sub(r"[^A-Za-z0-9_.,+-]", "-", "_".join(word.lstrip("/") for word in words))


@dataclass
class Asker:
    """Queries one drive. `silent_why`: why the drive must not be queried now, None when it may be.
    `timed_out`: the reason is that it did not answer in time."""

    query: Query
    silent_why: str | None = None
    answers: dict[tuple[str, ...], Finished] = field(default_factory=dict)
    timed_out: bool = False

    def __call__(self, *argv: str) -> Finished:
        """The tool's answer; each query runs once. Never raises."""
        if self.silent_why is not None:
            return Finished(argv, NOT_INSTALLED, b"", self.silent_why.encode(), 0.0)
        if argv not in self.answers:
            answer = self.query(argv)
            self.answers[argv] = answer
            if answer.timed_out:
                self.timed_out = True
                seconds = max(answer.seconds, TIMEOUT_SECONDS)
                self.silent_why = f"the drive did not answer {argv[0]} in {seconds:.0f} s"
        return self.answers[argv]

    def why_not(self, answer: Finished) -> str:
        """Why `answer` is of no use, as a text for the user."""
        return self.silent_why or f"{answer.argv[0]}: {answer.error_line}"
