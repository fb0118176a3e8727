"""From a request to a run: find the drive, make the plan, pass the guard, run it.

The command line and the agent both use this, and it does not trust them: it finds the drive, parses
the parameters and evaluates the guard itself.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchstick.drives import discover, guard, practice, sanitize_methods
from benchstick.drives.device_query import ask_patiently
from benchstick.drives.medium import to_token
from benchstick.drives.types import Drive
from benchstick.engine import interrupted_sanitize, recovery
from benchstick.engine.fileset_source import ram_disk
from benchstick.engine.measure import fio
from benchstick.engine.runner import Outcome, Progress, Runner
from benchstick.engine.steps.sanitize import require_tools
from benchstick.errors import BadInput, DriveLost, Refused, StoreFailed
from benchstick.plan import fileset, run_queue
from benchstick.plan.fileset import FileSet
from benchstick.plan.request import RunRequest
from benchstick.plan.steps import Fio, Plan
from benchstick.store import database, known_drives
from benchstick.suites import registry

# The only suite that accepts a drive which can only be purged.
PURGING = "erase"


@dataclass(frozen=True)
class Ready:
    """A request with its drive and its plan."""

    request: RunRequest
    drive: Drive
    plan: Plan
    sets: Mapping[str, FileSet]
    set_folder: Path | None
    hotplugs: tuple[int, ...] = ()


def find_drive(
    selector: str, home: Path, hotplugs: Collection[int] = (), *, makes: bool = True
) -> Drive:
    """The drive for `selector`. With `makes` the practice drive is created when it is missing.

    BadInput when there is none.
    """
    labels = _labels(home)
    if selector == "practice":
        if makes:
            practice.ensure(home)
        elif practice.find(home) is None:
            raise BadInput(
                "practice: missing, and a dry run does not create it; run: benchstick practice",
                field="drive",
            )
    others = _others(selector, home, labels)
    return interrupted_sanitize.noted(home, _resolved([selector], home, hotplugs, labels, others))[
        0
    ]


def find_drives(
    selectors: Sequence[str], home: Path, hotplugs: Collection[int] = (), *, makes: bool = True
) -> list[Drive]:
    """The drives for several selectors, with one scan where possible. BadInput."""
    if "practice" in selectors or len(selectors) == 1:
        return [find_drive(selector, home, hotplugs, makes=makes) for selector in selectors]
    labels = _labels(home)
    return interrupted_sanitize.noted(home, _resolved(selectors, home, hotplugs, labels))


def _resolved(
    selectors: Sequence[str],
    home: Path,
    hotplugs: Collection[int],
    labels: Mapping[str, str],
    others: Collection[str] = (),
) -> list[Drive]:
    """The drives of a scan that match the selectors. When one did not answer in time, which can
    also change its code, a second scan gives it more time. BadInput."""
    drives = discover.scan(labels=labels, hotplugs=hotplugs, home=home, identity_only=others)
    try:
        matches = [discover.resolve(selector, drives, labels) for selector in selectors]
    except BadInput:
        if not any(drive.guard.retry for drive in drives):
            raise
        matches = []
    if matches and not any(drive.guard.retry for drive in matches):
        return matches
    drives = discover.scan(
        labels=labels, hotplugs=hotplugs, home=home, identity_only=others, query=ask_patiently
    )
    return [discover.resolve(selector, drives, labels) for selector in selectors]


def _others(selector: str, home: Path, labels: Mapping[str, str]) -> list[str]:
    """Kernel names of the drives that do not match `selector`, by the kernel's data only.

    Only their identity is queried, so that codes are those of `benchstick drives`: a scan of their
    content can take long. Empty when the kernel's data does not identify the drive.
    """
    names = [path.name for path in Path("/sys/block").iterdir()]
    drives = discover.scan(
        deep=False, labels=labels, home=home, skip_queries=names, identity_only=names
    )
    try:
        drive = discover.resolve(selector, drives, labels)
    except BadInput:
        return []
    return [name for name in names if name != drive.name]


def _labels(home: Path) -> dict[str, str]:
    if not (home / database.FILE).exists():
        return {}
    # No labels from a store that cannot be read: opening it for writing repairs or refuses it.
    with (
        contextlib.suppress(StoreFailed),
        contextlib.closing(database.open_reader(home)) as db,
    ):
        return known_drives.labels(db)
    return {}


def make_ready(
    request: RunRequest,
    home: Path,
    hotplugs: Collection[int] = (),
    *,
    makes: bool = True,
    drive: Drive | None = None,
) -> Ready:
    """Find the drive and make the plan; writes to no drive. BadInput, Refused, DriveLost.

    `makes` as in `find_drive`; `drive` is the drive, if the caller has just found it.
    """
    registry.find(request.suite)
    if drive is None:
        try:
            drive = find_drive(request.drive, home, hotplugs, makes=makes)
        except BadInput as error:
            if not request.follows:
                raise
            raise DriveLost(f"{request.drive}: the drive went away after the run before") from error
    expected = (request.drive_key, request.diskseq)
    if request.drive_key is not None and expected != (drive.identity.key(), drive.diskseq):
        raise Refused(
            f"{drive.code}: not the drive that was chosen (it was replugged or replaced); "
            "check the list of drives again"
        )
    request = replace(
        request,
        erase=discover.code_of(request.erase, request.drive, drive),
        unlock=discover.code_of(request.unlock, request.drive, drive),
    )
    medium = to_token(request.medium)
    if medium is not None:
        # The run before may have changed its content.
        reason = medium.difference(drive.medium, content=not request.follows)
        if reason is not None:
            raise Refused(
                f"{drive.code}: {reason} since the drive was chosen; check the list of drives"
                " again",
                field="drive",
            )
    reason = None if request.suite == PURGING else sanitize_methods.unusable(drive.to_json())
    if reason is not None:
        raise Refused(f"{drive.code}: {reason}")
    own, folder = _own_sets(request)
    plan = registry.make_plan(
        request.suite,
        drive.to_json(),
        request.params,
        target=request.target,
        fs=request.fs,
        scale=request.scale,
        sets=own,
        ram=ram_disk.ram_free(),
    )
    own_by_name = {item.name: item for item in own}
    for set_plan in plan.sets:
        name = str(set_plan["name"])
        if name not in own_by_name:
            own_by_name[name] = fileset.builtin(name, plan.scale or 1.0)
    return Ready(request, drive, plan, own_by_name, folder, tuple(hotplugs))


def make_all_ready(
    requests: Sequence[RunRequest],
    home: Path,
    hotplugs: Collection[int] = (),
    *,
    makes: bool = True,
) -> list[Ready]:
    """Make all requests of a queue ready, on the same drive; writes nothing. BadInput, also when
    their order is not possible; Refused."""
    ready_jobs: list[Ready] = []
    for request in requests:
        drive = ready_jobs[0].drive if ready_jobs else None
        ready_jobs.append(make_ready(request, home, hotplugs, makes=makes, drive=drive))
    run_queue.check([ready.plan for ready in ready_jobs])
    return ready_jobs


def check_queue(
    requests: Sequence[RunRequest], home: Path, hotplugs: Collection[int] = ()
) -> list[Ready]:
    """`make_all_ready`, and check the tools, codes and guard of each before the first starts."""
    ready_jobs = make_all_ready(requests, home, hotplugs)
    for ready in ready_jobs:
        _check_tools(ready.plan)
        guard.check(
            ready.drive,
            unlock=ready.request.unlock,
            erase=ready.request.erase,
            destructive=ready.plan.destroys,
        )
    return ready_jobs


def _check_tools(plan: Plan) -> None:
    if any(isinstance(step, Fio) for step in plan.steps):
        fio.check()
    require_tools(plan)


def _own_sets(request: RunRequest) -> tuple[list[FileSet], Path | None]:
    """The user's own set: a folder (it is not changed) or a manifest."""
    set_path = request.params.get("set")
    if request.suite != "das" or not set_path:
        return [], None
    if not request.own_folders:
        raise BadInput("set: your own folder is accepted only on the command line", field="set")
    try:
        return _own_set(Path(set_path))
    except OSError as error:
        raise BadInput(f"set: {set_path[:80]}: {error.strerror}", field="set") from None


def _own_set(path: Path) -> tuple[list[FileSet], Path | None]:
    if path.name.encode("utf-8", "replace").decode("utf-8") != path.name:
        raise BadInput("set: the folder's name is not UTF-8: rename it", field="set")
    if path.is_dir():
        return [ram_disk.read_tree(path, hashes=False).fileset], path
    if path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"set: {path}: {error}", field="set") from None
        return [fileset.manifest(text)], None
    raise BadInput(f"set: {path}: no such folder or manifest file", field="set")


def execute(
    ready: Ready,
    home: Path,
    *,
    cancel: threading.Event,
    progress: Callable[[Progress], None] | None = None,
    on_begin: Callable[[int], None] | None = None,
) -> Outcome:
    """Run a ready request. Raises Refused, BadInput, StoreFailed before anything is written."""
    _check_tools(ready.plan)
    with (
        guard.hold(
            ready.drive,
            unlock=ready.request.unlock,
            erase=ready.request.erase,
            destructive=ready.plan.destroys,
            hotplugs=ready.hotplugs,
            home=home,
        ) as hold,
        contextlib.closing(_store(home)) as store,
    ):
        runner = Runner(
            store,
            home,
            registry.find(ready.request.suite),
            ready.plan,
            ready.drive,
            hold,
            sets=ready.sets,
            set_folder=ready.set_folder,
            cancel=cancel,
            progress=progress,
            request=ready.request.number,
            on_begin=on_begin,
        )
        return runner.carry_out()


def _store(home: Path) -> sqlite3.Connection:
    store = database.open_writer(home)
    recovery.recover(store)
    return store
