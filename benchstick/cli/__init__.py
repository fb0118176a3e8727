"""The command line: one module per command. JSON alone on stdout, progress on stderr."""

from __future__ import annotations

import importlib
import os
import platform
import sqlite3
import sys
import tempfile
import traceback

import click

from benchstick import __version__
from benchstick.errors import EXIT_BAD_INPUT, EXIT_CANCELLED, EXIT_INTERNAL, EXIT_STORE, BenchError
from benchstick.plan.plain import one_line, plain_output

# Command name to module; loaded on use, so that `drives` does not wait for the web framework.
COMMANDS = {
    "drives": "drives",
    "drive": "drives",
    "watch": "watch",
    "suites": "suites",
    "run": "run",
    "runs": "runs",
    "show": "runs",
    "compare": "compare",
    "reference": "reference",
    "model": "model",
    "recipe": "recipe",
    "qa": "qa",
    "verdict": "verdict",
    "desk": "desk",
    "export": "export",
    "import": "import_",
    "cancel": "cancel",
    "purges": "purges",
    "scanner": "scanner",
    "agent": "agent",
    "web": "web",
    "practice": "practice",
    "support": "support",
    "store": "store",
    "appliance": "appliance",
    "console": "console",
    "licences": "licences",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"benchstick.cli.{COMMANDS[cmd_name]}")
        # `import` is a word of Python's own.
        command: click.Command = getattr(module, {"import": "import_"}.get(cmd_name, cmd_name))
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="benchstick")
def cli() -> None:
    """A storage test bench for USB, SATA and NVMe drives."""


def main() -> None:
    """Run the command line and exit with its code (docs/architecture.md, Contracts)."""
    sys.exit(invoke(sys.argv[1:]))


# Not called run: that is the name of a command's module.
def invoke(argv: list[str]) -> int:
    """Run one command. Every error is one clear line and the right exit code."""
    with plain_output():
        return _invoke(argv)


def _invoke(argv: list[str]) -> int:
    try:
        result = cli.main(argv, prog_name="benchstick", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except BenchError as error:
        print(f"benchstick: {one_line(error.message)}", file=sys.stderr)
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("benchstick: cancelled", file=sys.stderr)
        return EXIT_CANCELLED
    except click.ClickException as error:
        where = f"benchstick {argv[0]} --help" if argv else "benchstick --help"
        print(f"benchstick: {one_line(error.format_message())} (see: {where})", file=sys.stderr)
        return EXIT_BAD_INPUT
    except sqlite3.Error as error:
        print(f"benchstick: the store failed: {one_line(error)}", file=sys.stderr)
        return EXIT_STORE
    except BrokenPipeError:
        # The reader of the output has closed it; Python must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - a report file, never a traceback
        text = ascii(error)
        print(f"benchstick: internal error: {text}; report: {_report(argv)}", file=sys.stderr)
        return EXIT_INTERNAL


def _report(argv: list[str]) -> str:
    """Write what a bug report needs to a file; its path."""
    secret_options = ("--erase", "--unlock")
    words = [
        "***" if index and argv[index - 1] in secret_options else word
        for index, word in enumerate(argv)
    ]
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="benchstick-error-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",
        ) as file:
            file.write(f"benchstick {__version__}, Python {platform.python_version()}, ")
            file.write(f"Linux {platform.release()}\ncommand: {' '.join(words)}\n\n")
            file.write(traceback.format_exc())
    except OSError as error:
        return f"none, it could not be written ({error.strerror})"
    return file.name
