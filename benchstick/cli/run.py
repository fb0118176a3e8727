"""`benchstick run SUITE --drive D`: one plan on one drive, in the foreground."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from benchstick.cli.common import need_root, print_json, tell_unfinished
from benchstick.cli.runs import print_run
from benchstick.engine import plugged
from benchstick.engine.job import Job, Ready, cancel_on_signals, execute, make_ready
from benchstick.engine.runner import Progress
from benchstick.plan.errors import BadInput
from benchstick.plan.steps import FILESYSTEMS, TARGETS, Plan
from benchstick.plan.units import duration_text, size_text
from benchstick.store import database, records
from benchstick.store.home import data_folder


@click.command()
@click.argument("suite")
@click.option("--drive", "selector", required=True, metavar="D", help="path, code, label, port")
@click.option("--to", "second", metavar="D2", help="a second drive, for suites that take one")
@click.option("--target", type=click.Choice(TARGETS))
@click.option("--fs", type=click.Choice(FILESYSTEMS))
@click.option("--scale", type=float, metavar="F", help="the part of the file sets to use")
@click.option("--param", "params", multiple=True, metavar="K=V", help="a parameter of the suite")
@click.option("--erase", metavar="CODE", help="the drive's code: its data may be destroyed")
@click.option("--unlock", metavar="CODE", help="the drive's code: write it although locked")
@click.option("--dry-run", is_flag=True, help="print the plan and its cost; write nothing")
@click.option("--json", "as_json", is_flag=True, help="the plan or the run as JSON")
def run(
    suite: str,
    selector: str,
    second: str | None,
    target: str | None,
    fs: str | None,
    scale: float | None,
    params: Sequence[str],
    erase: str | None,
    unlock: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Carry out SUITE on a drive and print the result."""
    if second is not None:
        raise BadInput(f"--to: {suite} takes no second drive", field="to")
    home = data_folder()
    job = Job(
        suite=suite,
        drive=selector,
        params=_params(params),
        target=target,
        fs=fs,
        scale=scale,
        erase=erase,
        unlock=unlock,
    )
    if not dry_run:
        need_root("a run")
    tell_unfinished()
    ready = make_ready(job, home, plugged.believed(), makes=not dry_run)
    if dry_run:
        _print_plan(ready.plan, as_json)
        return 0
    _tell_cost(ready)
    with cancel_on_signals() as cancel:
        show = _Meter() if sys.stderr.isatty() else _Lines()
        outcome = execute(ready, home, cancel=cancel, progress=show)
        show.close()
    with contextlib.closing(database.open_reader(home)) as db:
        document = records.run_json(db, outcome.number)
    if as_json:
        print_json(document)
    else:
        print_run(document)
    if outcome.why:
        print(f"benchstick: {outcome.why}", file=sys.stderr)
    return outcome.exit_code


def _params(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise BadInput(f"--param {text!r}: write NAME=VALUE", field="param")
        if name in found:
            raise BadInput(f"--param {name}: given twice", field=name)
        found[name] = value
    return found


def _cost(plan: Plan) -> str:
    effect = "destroys the data on the drive" if plan.destroys else "keeps the data on the drive"
    most = "at most about" if plan.ends_early else "about"
    return (
        f"{most} {duration_text(plan.seconds)}, writes about {size_text(plan.bytes_written)}, "
        f"{effect}"
    )


def _print_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        print_json(plan.to_json())
        return
    print(f"{plan.suite} on {plan.drive_code}: {_cost(plan)}")
    for number, step in enumerate(plan.steps):
        marks = " DESTROYS" if step.destroys else ""
        written = f", writes {size_text(step.bytes_written)}" if step.bytes_written else ""
        print(f"{number:4}  {step.name} ({duration_text(step.seconds)}{written}){marks}")
    for note in plan.notes:
        print(f"note: {note}")


def _tell_cost(ready: Ready) -> None:
    model = ready.drive.identity.model
    print(f"{ready.plan.suite} on {model}: {_cost(ready.plan)}", file=sys.stderr)
    for note in ready.plan.notes:
        print(f"note: {note}", file=sys.stderr)


class _Meter:
    """One line on a terminal, rewritten once a second."""

    def __call__(self, at: Progress) -> None:
        done = at.index + (at.fraction or 0.0)
        filled = int(24 * done / max(at.total, 1))
        bar = "█" * filled + "░" * (24 - filled)
        share = "" if at.fraction is None else f" {100 * at.fraction:.0f} %"
        text = f"run {at.number} {bar} {at.name}{share} · {at.left}"
        sys.stderr.write(f"\r\x1b[K{text[:110]}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Lines:
    """One line a step, for logs."""

    def __init__(self) -> None:
        self._last: Any = None

    def __call__(self, at: Progress) -> None:
        if at.index != self._last:
            self._last = at.index
            print(f"run {at.number}: {at.index + 1}/{at.total} {at.name}, {at.left}",
                  file=sys.stderr, flush=True)  # fmt: skip

    def close(self) -> None:
        """Nothing to put right."""
