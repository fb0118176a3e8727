"""Write the image of the bench to a USB stick, or replace the system on one that has it.

    scripts/write-stick IMAGE DEV             erases DEV and makes it a bench stick
    scripts/write-stick --update IMAGE DEV    a new system; settings, recipes and results stay

DEV is a /dev path, a code, a label or a port, as `benchstick drives` prints them. Only external
drives that are free are written, and bench sticks that are not in use. The drive's code must be
typed, or given with --erase. What was written is read back.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from benchstick.appliance import image as images
from benchstick.appliance import stick_writer
from benchstick.drives.types import Drive
from benchstick.errors import EXIT_CANCELLED, BadInput, BenchError
from benchstick.plan.units import size_text


def arguments(argv: list[str]) -> argparse.Namespace:
    words = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="scripts/write-stick", description=__doc__, formatter_class=words
    )
    parser.add_argument("image", type=Path, metavar="IMAGE", help="what `make image` built")
    parser.add_argument("drive", metavar="DEV", help="the drive to write")
    parser.add_argument("--erase", metavar="CODE", help="the drive's code, asked for otherwise")
    parser.add_argument("--update", action="store_true", help="replace the system, keep the rest")
    return parser.parse_args(argv)


def say(text: str) -> None:
    print(f"benchstick: {text}", file=sys.stderr)


class Meter:
    """One line on a terminal, rewritten at most five times a second; nothing in a log."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, what: str, fraction: float) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or (now - self._last < 0.2 and fraction < 1):
            return
        self._last = now
        end = "\n" if fraction >= 1 else ""
        sys.stderr.write(f"\r\x1b[K{100 * fraction:3.0f} % {what}{end}")
        sys.stderr.flush()


def ask_code(drive: Drive, update: bool) -> str | None:
    """The code as somebody types it; None where nobody can."""
    if not sys.stdin.isatty():
        return None
    effect = "replaces the system on" if update else "destroys all data on"
    size = size_text(drive.identity.capacity)
    say(f"this {effect} {drive.path}: {drive.identity.model}, {size}, code {drive.code}")
    return input("Type its code to continue: ").strip()


def run(options: argparse.Namespace) -> None:
    if os.geteuid() != 0:
        raise BadInput("write-stick needs root: run it with sudo")
    image = images.read(options.image)
    drive = stick_writer.find(options.drive)
    code = options.erase if options.erase is not None else ask_code(drive, options.update)
    carry_out = stick_writer.update if options.update else stick_writer.write
    identity = carry_out(image, drive, code, say, Meter())
    outcome = "has the new system" if options.update else "is a bench stick"
    say(f"{drive.path} {outcome}, read back and right; its id is {identity}")


def main() -> int:
    options = arguments(sys.argv[1:])
    try:
        run(options)
    except BenchError as error:
        say(f"error: {error.message}")
        return error.exit_code
    except (KeyboardInterrupt, EOFError):
        say("cancelled; if writing had started, the stick is unfinished: write it again")
        return EXIT_CANCELLED
    return 0


if __name__ == "__main__":
    sys.exit(main())
