"""`benchstick qa RECIPE`: tests one drive or several at once with a recipe, prints the verdicts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from benchstick.agent import event_log, hotplugged
from benchstick.cli.common import need_root, print_json, print_line, print_table, tell_unfinished
from benchstick.cli.progress import cost_text
from benchstick.cli.recipe import is_file, source, tell_mistakes
from benchstick.drives import bays, blank, discover
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Drive
from benchstick.engine.run_request import find_drives, make_ready
from benchstick.engine.signals import cancel_on_signals
from benchstick.errors import EXIT_BAD_INPUT, BadInput, BenchError
from benchstick.paths import data_folder, settings_file
from benchstick.plan import run_queue
from benchstick.plan.plain import storable
from benchstick.plan.request import RunRequest
from benchstick.plan.steps import Plan
from benchstick.qa import parallel_drives
from benchstick.qa.drive_session import DriveTestRequest
from benchstick.qa.parallel_drives import DriveRequest
from benchstick.recipes import event_lines as lines
from benchstick.recipes import outputs, preconditions, verdict
from benchstick.recipes.model import Recipe
from benchstick.recipes.parser import RecipeMistakes, read
from benchstick.store import settings
from benchstick.store.database import utc_now


@click.command()
@click.argument("name", metavar="RECIPE")
@click.option(
    "--drive",
    "selectors",
    multiple=True,
    metavar="D",
    help="drive to test, may be repeated (default: those on the bench's ports)",
)
@click.option(
    "--erase",
    "codes",
    multiple=True,
    metavar="CODE",
    help="the code of a drive whose data may be destroyed (default: the recipe's rule)",
)
@click.option(
    "--scanned",
    "scanned_serial",
    metavar="SERIAL",
    help="the serial that is on the drive's sticker",
)
@click.option("--asset", metavar="TAG", help="stored with the verdict; for one drive, like --order")
@click.option("--order", metavar="TEXT")
@click.option("--operator", metavar="NAME")
@click.option("--dry-run", is_flag=True, help="show what would be done; write nothing")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/qa/2 document")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="JUnit XML as well")
@click.option(
    "--csv",
    "as_csv",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV as well, a line for each drive",
)
@click.option(
    "--events",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="key=value lines as well, added to the end of FILE",
)
def qa(
    name: str,
    selectors: Sequence[str],
    codes: Sequence[str],
    scanned_serial: str | None,
    asset: str | None,
    order: str | None,
    operator: str | None,
    dry_run: bool,
    as_json: bool,
    junit: Path | None,
    as_csv: Path | None,
    events: Path | None,
) -> int:
    """Test drives with a recipe: PASS, FAIL or INCONCLUSIVE."""
    raw, where = source(name)
    try:
        recipe = read(raw, where)
    except RecipeMistakes as error:
        tell_mistakes(error, where)
        return EXIT_BAD_INPUT
    if not dry_run:
        need_root("a test")
    tell_unfinished()
    config = settings.load(settings_file())
    ports = bays.by_port(Tree(), config.bench_ports)
    drives = _drives(recipe, selectors, ports, makes=not dry_run)
    erase = _erase(codes, drives)
    labels = {"asset": asset, "order": order, "operator": operator}
    if len(drives) > 1 and (scanned_serial or asset or order):
        raise BadInput("--scanned, --asset and --order are of one drive; name it with --drive")
    _tell(recipe, drives, ports, erase, scanned_serial, dry_run=dry_run)
    if dry_run:
        return 0
    requests = [
        DriveRequest(
            drive,
            DriveTestRequest(
                recipe=recipe, drive=_selector(drive),
                expected=(drive.identity.key(), drive.diskseq), bench_ports=ports,
                erase=drive.code if drive.code in erase else None,
                per_controller=config.per_controller, scanned_serial=scanned_serial,
                own_folders=is_file(name),
                labels={key: value for key, value in labels.items() if value},
                medium=None if drive.medium is None else drive.medium.text,
            ),
        )
        for drive in drives
    ]  # fmt: skip
    with cancel_on_signals() as cancel_event, event_log.opened(config, data_folder()) as send:

        def tell(texts: Sequence[str]) -> None:
            for line in texts:
                send(line)
            _write(events, "".join(f"{line}\n" for line in texts), mode="a")

        tell([
            lines.started_line(drive, time=utc_now(), slot=ports.get(drive.identity.port) or None,
                             labels=labels, scanned_serial=scanned_serial, recipe=recipe.name)
            for drive in drives
        ])  # fmt: skip
        results = parallel_drives.carry_out(
            requests, data_folder(), cancel_event, lambda item: tell(lines.event_lines(item))
        )
    _write(junit, outputs.junit(results))
    _write(as_csv, outputs.csv_text(results))
    document = outputs.document(results)
    if as_json:
        print_json(document)
    else:
        print_table(
            ("drive", "place", "model", "verdict", "reason"),
            [
                (item["drive"]["code"], item["drive"]["slot"] or item["drive"]["port"],
                 item["drive"]["model"], item["verdict"].upper(), storable(item["reason"]) or "")
                for item in results
            ],
        )  # fmt: skip
    return int(document["exit_code"])


def _selector(drive: Drive) -> str:
    return "practice" if drive.is_practice else drive.code


def _drives(
    recipe: Recipe, selectors: Sequence[str], ports: dict[str, str], *, makes: bool
) -> list[Drive]:
    """The selected drives. BadInput where there are none, or one is named twice."""
    home, hotplugs = data_folder(), hotplugged.believed()
    if selectors:
        drives = find_drives(selectors, home, hotplugs, makes=makes)
        for index, drive in enumerate(drives):
            if drive.name in [other.name for other in drives[:index]]:
                raise BadInput(f"--drive: {drive.code} is named twice", field="drive")
        return drives
    if not ports:
        raise BadInput(
            "--drive: is missing, and the settings list no bench_ports to look at", field="drive"
        )
    present = discover.scan(hotplugs=hotplugs, home=home)
    there = [drive for drive in present if drive.identity.port in ports]
    fitting = [d for d in there if preconditions.why_no_match(recipe.match, d.to_json()) is None]
    if not fitting:
        codes = ", ".join(drive.code for drive in there) or "none"
        raise BadInput(
            f"no drive on the bench's ports is one that {recipe.name} is for; there: {codes}",
            field="drive",
        )
    return fitting


def _erase(codes: Sequence[str], drives: Sequence[Drive]) -> frozenset[str]:
    """The codes that were typed. BadInput for one that is of none of the drives."""
    drive_codes = [drive.code for drive in drives]
    for code in codes:
        if code not in drive_codes:
            raise BadInput(
                f"--erase {code}: none of these drives has it; they are {', '.join(drive_codes)}",
                field="erase",
            )
    return frozenset(codes)


def _tell(
    recipe: Recipe,
    drives: Sequence[Drive],
    ports: dict[str, str],
    erase: frozenset[str],
    scanned_serial: str | None,
    *,
    dry_run: bool,
) -> None:
    """Print the plan for each drive on stderr, on stdout for a dry run."""
    file = sys.stdout if dry_run else sys.stderr
    hotplugs = hotplugged.believed()
    print_line(f"{recipe.name} on {len(drives)} drive{'s' if len(drives) > 1 else ''}", file=file)
    for drive in drives:
        facts = drive.to_json()
        another = verdict.serial_mismatch(scanned_serial, facts)
        reasons = [*([] if another is None else [another]), *preconditions.reasons(recipe, facts)]
        cost = ""
        if not reasons:
            requests = [entry.request(_selector(drive)) for entry in recipe.entries]
            try:
                plans = _plans(requests, drive)
                cost = cost_text(plans)
                if any(plan.destroys for plan in plans) and drive.code not in erase:
                    plugged_in = drive.diskseq is not None and drive.diskseq in hotplugs
                    reason = preconditions.why_not_erased(
                        recipe, facts, bench_ports=ports, is_hotplugged=plugged_in,
                        # The test itself reads it when it is the drive's turn.
                        sample=partial(_sample, drive.name, dry_run),
                    )  # fmt: skip
                    reasons += [] if reason is None else [reason]
            except BenchError as error:
                cost = error.message
        text = "; ".join(item.text for item in reasons) or cost
        print_line(f"{drive.code} ({drive.identity.model}): {storable(text)}", file=file)
    for sentence in parallel_drives.shared(drives):
        print(sentence, file=file)


def _sample(name: str, dry_run: bool) -> str | None:
    return blank.why_not_blank(name) if dry_run else None


def _plans(requests: Sequence[RunRequest], drive: Drive) -> list[Plan]:
    home, hotplugs = data_folder(), hotplugged.believed()
    plans = [
        make_ready(request, home, hotplugs, makes=False, drive=drive).plan for request in requests
    ]
    run_queue.check(plans)
    return plans


def _write(path: Path | None, text: str, mode: str = "w") -> None:
    if path is None:
        return
    try:
        with path.open(mode, encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        # The verdicts are kept and printed all the same.
        print_line(
            f"benchstick: {path}: {error.strerror}; benchstick verdict show has the verdicts",
            file=sys.stderr,
        )
