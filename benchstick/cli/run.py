"""`benchstick run SUITE --drive D`: one plan on one drive in the foreground, or several."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from benchstick.agent import hotplugged
from benchstick.cli.common import need_root, print_json, print_line, tell_unfinished
from benchstick.cli.progress import carry_out, document_of, print_plan, tell_cost
from benchstick.cli.queue import Options, queue_of, read_suites
from benchstick.cli.runs import print_run
from benchstick.engine.run_request import make_ready
from benchstick.engine.signals import cancel_on_signals
from benchstick.errors import BadInput
from benchstick.paths import data_folder
from benchstick.plan.request import RunRequest
from benchstick.plan.steps import FILESYSTEMS, TARGETS


@click.command()
@click.argument("suite", metavar="SUITE[:PRESET][,SUITE...]")
@click.option("--drive", "selector", required=True, metavar="D", help="path, code, label, port")
@click.option("--to", "second", metavar="D2", help="a second drive, for suites that take one")
@click.option("--target", type=click.Choice(TARGETS))
@click.option("--fs", type=click.Choice(FILESYSTEMS))
@click.option("--scale", type=float, metavar="F", help="fraction of the file sets, up to 1")
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="K=V",
    help="a parameter of the suite; of several suites: SUITE.K=V",
)
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
    """Run SUITE on a drive and print the result; several suites one after the other."""
    if second is not None:
        raise BadInput(f"--to: {suite} takes no second drive", field="to")
    home = data_folder()
    request = RunRequest(suite=suite, drive=selector, erase=erase, unlock=unlock)
    options = Options(params=_params(params), target=target, fs=fs, scale=scale)
    requests = read_suites(request, options)
    if not dry_run:
        need_root("a run")
    tell_unfinished()
    hotplugs = hotplugged.believed()
    if len(requests) > 1:
        return queue_of(requests, home, hotplugs, dry_run=dry_run, as_json=as_json)
    ready = make_ready(requests[0], home, hotplugs, makes=not dry_run)
    if dry_run:
        print_plan(ready.plan, as_json)
        return 0
    tell_cost(ready)
    with cancel_on_signals() as cancel:
        outcome = carry_out(ready, home, cancel)
    document = document_of(home, outcome.number)
    if as_json:
        print_json(document)
    else:
        print_run(document)
    if outcome.reason:
        print_line(f"benchstick: {outcome.reason}", file=sys.stderr)
    return outcome.exit_code


def _params(texts: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise BadInput(f"--param {text!r}: write NAME=VALUE", field="param")
        if name in values:
            raise BadInput(f"--param {name}: given twice", field=name)
        values[name] = value
    return values
