"""Buildroot's output into a log, and a line a package on the terminal: how far, how long yet.

    make ... | progress.py LOG BUILD-FOLDER PACKAGE...

PACKAGEs are in the order in which they are built. The estimate knows what each took on one machine
and scales that by what this machine has needed so far.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path

# Seconds on 2 cores, for the few packages that take long; the others are short.
SECONDS = {
    "host-binutils": 150,
    "host-gmp": 40,
    "host-mpfr": 25,
    "host-mpc": 10,
    "host-gcc-initial": 480,
    "musl": 35,
    "host-gcc-final": 600,
    "linux-headers": 25,
    "linux": 420,
    "host-python3": 90,
    "python3": 140,
    "libopenssl": 100,
    "util-linux": 60,
    "e2fsprogs": 40,
    "host-grub2": 50,
    "grub2": 100,
    "sqlite": 40,
    "busybox": 30,
    "fio": 30,
    "smartmontools": 25,
    "sg3_utils": 25,
    "nvme": 20,
}
SHORT = 6
# What Buildroot says at the start of each stage, and the colours around it.
STAGE = re.compile(r"^(?:\x1b\[[0-9;]*m)?>>> (?:(\S+) \S+ )?(.*?)(?:\x1b\[[0-9;()A-Za-z]*)*$")


def weight(package: str) -> int:
    """What the package takes, in seconds of the machine that the table is from."""
    return SECONDS.get(package, SHORT)


def is_built(folder: Path, package: str) -> bool:
    """Whether an earlier call has built it."""
    return any(
        re.fullmatch(re.escape(package) + r"(-[0-9v].*|-custom)?", stamp.parent.name)
        for stamp in folder.glob(f"{package}*/.stamp_*installed")
    )


def minutes(seconds: float) -> str:
    """`under a minute`, else whole minutes."""
    return "under a minute" if seconds < 60 else f"{seconds / 60:.0f} min"


class Progress:
    """Follows the output; `say` prints a line."""

    def __init__(self, packages: list[str], built: set[str], now: float) -> None:
        self.packages = packages
        self.todo = [name for name in packages if name not in built]
        self.current = ""
        self.finished_packages: list[str] = []
        self.began = now

    def line(self, text: str, now: float) -> str | None:
        """The message after this line of output, None without any."""
        match = STAGE.match(text.rstrip("\n"))
        if match is None or match[1] in (None, self.current) or match[1] not in self.packages:
            return None
        if self.current:
            self.finished_packages.append(self.current)
        self.current = str(match[1])
        return self.describe(now)

    def describe(self, now: float) -> str:
        seconds = now - self.began
        behind = sum(weight(name) for name in self.finished_packages)
        ahead = sum(weight(name) for name in self.todo if name not in self.finished_packages)
        # Two minutes' worth of the table's own pace keep the first estimates sane.
        pace = (seconds + 120) / (behind + 120)
        number = (
            len(self.packages)
            - len(self.todo)
            + len(set(self.finished_packages) & set(self.todo))
            + 1
        )
        return (
            f"benchstick: {min(number, len(self.packages))} of {len(self.packages)}: "
            f"{self.current}; {minutes(seconds)} so far, about {minutes(ahead * pace)} to go"
        )


def follow(lines: Iterable[str], log: Path, progress: Progress) -> None:
    """Write the lines to the log and progress messages to the terminal."""
    with log.open("a", encoding="utf-8") as file:
        for text in lines:
            file.write(text)
            file.flush()
            message = progress.line(text, time.monotonic())
            if message is not None:
                print(message, file=sys.stderr, flush=True)


def main() -> None:
    """Follow Buildroot's output on standard input."""
    log, folder, packages = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    built = {name for name in packages if is_built(folder, name)}
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    todo = sum(weight(name) for name in packages if name not in built)
    print(
        f"benchstick: {len(packages) - len(built)} of {len(packages)} packages to build, "
        f"about {minutes(todo + 60)} on two cores",
        file=sys.stderr,
        flush=True,
    )
    follow(sys.stdin, log, Progress(packages, built, time.monotonic()))


if __name__ == "__main__":
    main()
