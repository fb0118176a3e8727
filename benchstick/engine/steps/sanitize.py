"""Runs a purge step with one erase method, from its record to its evidence.

Before the first command to the drive the store has all that is needed to resume or roll back.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchstick.analysis.sanitize_sampling import Marks
from benchstick.analysis.validity import distrust
from benchstick.drives import nvme, prepare, sanitize_commands, sanitize_methods, subprocesses
from benchstick.drives.device_query import Asker, ask_live
from benchstick.drives.sanitize_commands import ATA_PASSWORD
from benchstick.drives.sanitize_methods import Rung
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree
from benchstick.engine.interrupted_sanitize import DriveQueries, Unfinished, of_drive
from benchstick.engine.measure import fio
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.engine.steps.sanitize_sampling import exclusively
from benchstick.errors import BadInput, BenchError, Cancelled, DataCorrupt, DriveLost, Inconclusive
from benchstick.plan.quantity import OVERWRITE, PURGE, SPEED, TIME, Quantity
from benchstick.plan.result import Result
from benchstick.plan.states import PurgePhase, PurgeState
from benchstick.plan.steps import Plan, Purge
from benchstick.plan.units import MIB, megabytes_per_second, size_text

Evidence = dict[str, Any]
# How often a sanitize is polled, and how many polls in a row may fail.
_POLL_SECONDS = 2.0
_SILENT_POLLS = 30
_VERSION = {"nvme": "version", "hdparm": "-V", "blkdiscard": "--version", "fio": "--version"}
_DRIVE_LOST = re.compile(r"No such device|Input/output error|Remote I/O error")
# Sizes of a chunk. The store has the progress in chunks: a kill loses one at most.
_LEAST_CHUNK, _MOST_CHUNK, _CHUNKS = 256 * MIB, 32 << 30, 20
# In the store's `written`: the drive accepted the command and continues on its own.
SANITIZE_TAKEN = 1


def require_tools(plan: Plan) -> None:
    """BadInput when the tool of a purge in the plan is missing. Called before any write."""
    for step in plan.steps:
        if isinstance(step, Purge) and step.rung != sanitize_methods.NONE:
            name = sanitize_methods.find(step.rung).tool
            subprocesses.require(name)
            if name == "fio":
                fio.check()


def do_purge(work: Work, step: Purge) -> StepOutcome:
    """Purge the drive with the step's method. The state after it is recorded with all results."""
    if step.rung == sanitize_methods.NONE:
        work.conditions.state = sanitize_methods.AS_FOUND
        return StepOutcome(detail={"rung": sanitize_methods.NONE})
    rung = sanitize_methods.find(step.rung)
    leftover = _find_leftover(work, step)
    if leftover is not None and work.conditions.marks is None:
        work.conditions.marks = Marks(
            leftover.marks, work.drive.identity.capacity, leftover.mark_size, leftover.samples
        )
    work.hold.check_before_write()
    prepare.drop_partitions(work.drive, work.tool)
    detail: dict[str, Any] = {}
    # The state after an earlier purge of the plan no longer applies.
    work.conditions.state = None
    with exclusively(work), _recorded(work, rung, leftover), _detect_loss(work):
        _check_reach(work, rung)
        started_at = time.monotonic()
        with work.measured(detail):
            evidence = _BY_TOOL[rung.tool](work, rung, leftover)
        seconds = time.monotonic() - started_at
        # The kernel may cache content from before a command that it does not know.
        work.tool(["blockdev", "--flushbufs", work.drive.path], timeout=120, stoppable=False)
    if leftover is not None:
        evidence["resumes"] = leftover.run
    results = list(_results(work, step, rung, seconds, evidence, detail))
    work.conditions.state = sanitize_methods.state_after(rung.name)
    work.conditions.extra["purge"] = {
        "rung": rung.name, "requested_rung": step.user_rung, "seconds": round(seconds, 1),
        "tool": _version(rung.tool), **evidence,
    }  # fmt: skip
    outcome = StepOutcome(results=results, detail={**detail, **work.conditions.extra["purge"]})
    if work.cancel.is_set() and not rung.stoppable:
        work.current.partial = outcome
        raise Cancelled(f"cancelled; {rung.title} completed first, nothing was read back")
    return outcome


def _check_reach(work: Work, rung: Rung) -> None:
    """BadInput when the method would affect more than this drive, or must not be used on it.
    Queries the drive now, as namespaces may have been added since the plan was made."""
    drive = work.drive.to_json()
    if rung.tool == "nvme":
        now = nvme.reach(Tree(), Asker(ask_live), work.drive.name)
        drive |= {name: fact.to_json() for name, fact in now.items()}
    reason = sanitize_methods.never_on(rung, drive)
    if reason is not None:
        raise BadInput(f"rung={rung.name}: {reason}; nothing was purged", field="rung")


def _queries(work: Work) -> DriveQueries:
    """Queries of the drive that a cancel does not stop: the outcome of a command that cannot be
    stopped must be known."""
    return DriveQueries(work.drive.path, functools.partial(work.tool, stoppable=False))


def _check_before_change(work: Work) -> None:
    """Check for a cancel and for another drive, before the record shows the drive as changed."""
    work.check_cancelled()
    work.hold.check_same(is_writing=True)


def _command(work: Work, argv: list[str], timeout: float | None) -> Finished:
    """Send a command that the drive completes in any case. Not sent to another drive."""
    work.hold.check_same(is_writing=True)
    return work.tool(argv, timeout=timeout, stoppable=False)


@contextlib.contextmanager
def _detect_loss(work: Work) -> Iterator[None]:
    """DriveLost instead of a failed query when the drive is gone."""
    try:
        yield
    except (BadInput, Inconclusive) as error:
        if work.sampler.drive_lost.is_set() or not work.hold.alive():
            raise work.drive_lost(f"went away ({error.message})") from error
        raise


def _find_leftover(work: Work, step: Purge) -> Unfinished | None:
    """The purge that the step resumes. BadInput when there is none any more."""
    if step.resumes is None:
        return None
    leftover = work.record.read(lambda db: of_drive(db, work.drive))
    if leftover is None or (leftover.run, leftover.rung) != (step.resumes, step.rung):
        raise BadInput("rung=resume: there is no interrupted purge any more", field="rung")
    return leftover


@contextlib.contextmanager
def _recorded(work: Work, rung: Rung, leftover: Unfinished | None) -> Iterator[None]:
    """Record the purge in the store, from before its first command to its end."""
    record, step, key = work.record, work.current.index, work.drive.identity.key()
    marks = work.conditions.marks
    record.purge_begins(
        step, key, rung.name,
        marks=marks.seed if marks else work.uuid,
        samples=marks.count if marks else 1,
        size=marks.size if marks else 4096,
        # This run is now responsible for what it left.
        phase=leftover.phase if leftover else PurgePhase.STARTED,
        password=leftover.password if leftover else None,
        bytes_written=leftover.bytes_written if leftover else 0,
    )  # fmt: skip
    if leftover is not None:
        # This run does not know the password of another purge.
        has_password = leftover.password is not None
        record.close_purges(key, f"resumed in run {record.number}", with_password=has_password)
    try:
        yield
    except BaseException as error:
        reason = error.message if isinstance(error, BenchError) else repr(error)
        with contextlib.suppress(BenchError):
            _ended_badly(work, step, reason)
        raise
    record.purge_ends(step, PurgeState.COMPLETE)
    record.close_purges(key, f"purged in run {record.number}", with_password=rung.tool == "hdparm")


def _ended_badly(work: Work, step: int, reason: str) -> None:
    """Record the end: interrupted when the drive may have changed, closed when it has not."""
    row = work.record.read(
        lambda db: db.execute(
            "SELECT phase, password FROM purges WHERE run = ? AND step_index = ?",
            (work.record.number, step),
        ).fetchone()
    )
    is_touched = row is None or row["phase"] != PurgePhase.STARTED or row["password"] is not None
    work.record.purge_ends(
        step, PurgeState.INTERRUPTED if is_touched else PurgeState.CLOSED, reason
    )
    if not is_touched:
        return
    leftover = work.record.read(lambda db: of_drive(db, work.drive))
    if leftover is not None:
        work.record.event(work.now, "purge", leftover.describe())


def _results(
    work: Work,
    step: Purge,
    rung: Rung,
    seconds: float,
    evidence: Evidence,
    detail: Mapping[str, Any],
) -> Iterator[Result]:
    def result(test: str, quantity: Quantity, value: float, unit: str) -> Result:
        rest = {"rung": rung.name, "counters": detail["counters"]}
        return Result(
            step=step.name, test=test, quantity=quantity, value=value, unit=unit, pass_no=1,
            target=work.target.name, detail=rest,
        )  # fmt: skip

    yield result(PURGE, TIME, seconds, "s")
    for way in ("write", "read"):
        speed = evidence.pop(f"{way}_speed", None)
        if speed is not None:
            yield result(OVERWRITE[way], SPEED, speed, "MB/s")


def _version(name: str) -> str:
    lines = subprocesses.run([name, _VERSION[name]], timeout=20).text.splitlines()
    return lines[0].strip() if lines else name


def _failed(work: Work, what: str, result: Finished) -> DriveLost | DataCorrupt | Inconclusive:
    """The error for a tool's failure."""
    if work.sampler.drive_lost.is_set() or not work.hold.alive():
        return work.drive_lost(f"went away during {what}")
    text = result.stderr.decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if "verify" in line]
    if lines and result.argv[0] == "fio":
        return DataCorrupt(f"{what}: the data written does not read back: {lines[0]}")
    if _DRIVE_LOST.search(text):
        return work.drive_lost(f"answers with I/O errors during {what}")
    return Inconclusive(f"{what}: {result.argv[0]}: {result.error_line}")


@contextlib.contextmanager
def _not_stoppable(work: Work, what: str) -> Iterator[None]:
    """After a cancel, record an event that the drive completes this command anyway."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            if work.cancel.is_set():
                with contextlib.suppress(BenchError):
                    text = f"{what} cannot be stopped: the run ends when the drive has completed it"
                    work.record.event(work.now, "cancel", text)
                return

    watcher = threading.Thread(target=watch, name="cancel-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


# ---- NVMe


def _by_nvme(work: Work, rung: Rung, leftover: Unfinished | None) -> Evidence:
    if rung.name.startswith("format"):
        return _format(work, rung)
    return _sanitize(work, rung, leftover)


def _format(work: Work, rung: Rung) -> Evidence:
    """Format with the namespace's current LBA format. Checks nvme-cli's message and the LBA format
    afterwards."""
    path, queries = work.drive.path, _queries(work)
    before = queries(["nvme", "id-ns", path, "-o", "json"])
    try:
        keep = sanitize_commands.parse_lba_format(before.text)
    except (ValueError, KeyError, TypeError):
        raise Inconclusive(f"nvme id-ns: {before.error_line}; nothing was purged") from None
    crypto = rung.name == "format-crypto"
    erase = sanitize_commands.CRYPTOGRAPHIC_ERASE if crypto else sanitize_commands.USER_DATA_ERASE
    argv = sanitize_commands.format_nvm(path, keep, erase)
    _check_before_change(work)
    work.record.purge_goes_on(work.current.index, PurgePhase.ERASING)
    with _not_stoppable(work, rung.title):
        result = _command(work, argv, None)
    if not sanitize_commands.is_formatted(result.text):
        raise _failed(work, rung.title, result)
    after = queries(["nvme", "id-ns", path, "-o", "json"])
    try:
        now = sanitize_commands.parse_lba_format(after.text)
    except (ValueError, KeyError, TypeError):
        raise Inconclusive(f"nvme id-ns after the format: {after.error_line}") from None
    if now != keep:
        raise Inconclusive(f"the format changed the LBA format from {keep} to {now}")
    return {
        "command": " ".join(argv),
        "tool_output": f"{result.text.strip().splitlines()[0]}; LBA format kept ({keep})",
    }


def _sanitize(work: Work, rung: Rung, leftover: Unfinished | None) -> Evidence:
    """Start a sanitize, unless one of the bench is in progress, and follow it to its end."""
    crypto = rung.name == "sanitize-crypto"
    action = sanitize_commands.CRYPTO_ERASE if crypto else sanitize_commands.BLOCK_ERASE
    path, queries = work.drive.path, _queries(work)
    argv = sanitize_commands.sanitize(path, action)
    log = queries.sanitize()
    ours = leftover is not None and leftover.phase == PurgePhase.ERASING and log.action == action
    end_states = (sanitize_commands.COMPLETED, sanitize_commands.COMPLETED_KEPT)
    goes_on = log.status == sanitize_commands.IN_PROGRESS
    if goes_on and not ours:
        raise BadInput("the drive is being sanitized already; wait for its end", field="rung")
    # A completed sanitize is ours only if the drive is known to have accepted the command: after a
    # kill right before the command the log is that of an older sanitize.
    was_sent = ours and (
        goes_on
        or (log.status in end_states and leftover is not None and leftover.bytes_written > 0)
    )
    if not was_sent:
        _check_before_change(work)
        work.record.purge_goes_on(work.current.index, PurgePhase.ERASING)
        result = _command(work, argv, 120)
        if result.exit_code != 0:
            raise _failed(work, rung.title, result)
    work.record.purge_goes_on(work.current.index, PurgePhase.ERASING, bytes_written=SANITIZE_TAKEN)
    log = _followed(work, queries, rung)
    if log.status not in end_states or log.action != action:
        raise Inconclusive(
            f"{rung.title}: the drive reports {log.word} for action {log.action}; "
            "see: benchstick purges"
        )
    log_text = f"sanitize-log: {log.word}, action {log.action}"
    if was_sent and leftover is not None:
        log_text += f"; the command was sent in run {leftover.run}"
    return {"command": " ".join(argv), "tool_output": log_text}


def _followed(work: Work, queries: DriveQueries, rung: Rung) -> sanitize_commands.SanitizeLog:
    """The log at the end of the sanitize. The drive continues it, whatever happens here."""
    progress: list[float] = []
    work.current.share = lambda: _share_since(progress)
    silent = 0
    while True:
        if work.cancel.is_set() and not work.sampler.drive_lost.is_set():
            raise Cancelled(f"cancelled; {rung.title} cannot be stopped, the drive continues it")
        work.check_cancelled()
        try:
            log = queries.sanitize()
            silent = 0
        except Inconclusive:
            silent += 1
            if silent > _SILENT_POLLS:
                raise
            log = None
        if log is not None:
            if log.status != sanitize_commands.IN_PROGRESS:
                return log
            progress.append(log.progress)
        work.cancel.wait(_POLL_SECONDS)


def _share_since(progress: list[float]) -> float | None:
    """The fraction that is done of what was left at the first poll."""
    if len(progress) < 2 or progress[0] >= 1:
        return None
    return (progress[-1] - progress[0]) / (1 - progress[0])


# ---- ATA


def _by_hdparm(work: Work, rung: Rung, leftover: Unfinished | None) -> Evidence:
    """Set the password and erase; the erase removes the password."""
    queries = _queries(work)
    password = (leftover.password if leftover is not None else None) or ATA_PASSWORD
    now = queries.security()
    resumes = leftover is not None and leftover.password is not None and now.is_enabled
    reason = sanitize_methods.password_or_frozen(
        now.is_enabled and not resumes, now.is_locked and not resumes, now.is_frozen
    )
    if reason is not None:
        raise BadInput(f"rung={rung.name}: {reason}; nothing was purged", field="rung")
    if not resumes:
        _check_before_change(work)
        _set_password(work, queries, rung, password)
    if work.cancel.is_set():
        stop = Cancelled("cancelled before the erase")
        raise (
            stop
            if resumes
            else _without_password(work, queries, password, PurgePhase.STARTED, stop)
        )
    work.record.purge_goes_on(work.current.index, PurgePhase.ERASING, password=password)
    act = "erase-enhanced" if rung.name.endswith("enhanced") else "erase"
    with _not_stoppable(work, rung.title):
        argv = sanitize_commands.ata(work.drive.path, act, password)
        result = _command(work, argv, None)
    after = queries.security()
    if result.exit_code != 0 or after.is_enabled:
        failure = (
            _failed(work, rung.title, result)
            if result.exit_code != 0
            else Inconclusive(f"{rung.title}: the drive still has its password after it")
        )
        raise _without_password(work, queries, password, PurgePhase.ERASING, failure)
    return {"command": " ".join(argv), "tool_output": f"hdparm -I after it: {after.word}"}


def _set_password(work: Work, queries: DriveQueries, rung: Rung, password: str) -> None:
    """Record the password first, then set it."""
    work.record.purge_goes_on(work.current.index, PurgePhase.PASSWORD, password=password)
    work.record.event(
        work.now,
        "purge",
        f"the drive's ATA password is {password} until {rung.title} is done; if that is "
        f"interrupted, benchstick purges --undo {work.drive.code} removes it",
    )
    result = _command(work, sanitize_commands.ata(work.drive.path, "set-pass", password), 60)
    now = queries.security()
    if result.exit_code != 0 or not now.is_enabled:
        failure = _failed(work, f"{rung.title}, setting its password", result)
        raise _without_password(work, queries, password, PurgePhase.STARTED, failure)


def _without_password(
    work: Work, queries: DriveQueries, password: str, phase: PurgePhase, failure: BenchError
) -> BenchError:
    """The failure with the state of the password. `phase` is the purge's phase without it."""
    try:
        after = queries.take_password_off(password)
    except BenchError as error:
        return type(failure)(f"{failure.message}; {error.message}")
    work.record.purge_password_off(work.current.index, phase)
    return type(failure)(f"{failure.message}; its password is off again: {after.word}")


# ---- the block layer


def _chunks(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """(offset, length) from `begin` to `end`, in multiples of 256 MiB except the last: a drive may
    ignore parts of a discard that do not fill its larger blocks."""
    size = min(max(end // _CHUNKS // _LEAST_CHUNK * _LEAST_CHUNK, _LEAST_CHUNK), _MOST_CHUNK)
    for offset in range(begin, end, size):
        yield offset, min(size, end - offset)


def _by_blkdiscard(work: Work, rung: Rung, leftover: Unfinished | None) -> Evidence:
    """Discard the whole drive in chunks. An interrupted discard starts again."""
    capacity, path = work.drive.identity.capacity, work.drive.path
    before = work.sampler.counters().discard_bytes
    work.record.purge_goes_on(work.current.index, PurgePhase.ERASING)
    done_bytes = 0
    work.current.share = lambda: done_bytes / capacity
    for offset, length in _chunks(0, capacity):
        work.hold.check_same(is_writing=True)
        result = work.tool(sanitize_commands.discard(path, offset, length), timeout=3600)
        if result.exit_code != 0:
            raise _failed(work, rung.title, result)
        done_bytes = offset + length
    discarded_bytes = work.sampler.counters().discard_bytes - before
    return {
        "command": f"blkdiscard -f {path}",
        "tool_output": f"the kernel sent discards for {size_text(discarded_bytes)} of "
        f"{size_text(capacity)}",
    }


def _by_fio(work: Work, rung: Rung, leftover: Unfinished | None) -> Evidence:
    """Write the whole drive, then read and check it. Continues an interrupted overwrite."""
    capacity = work.drive.identity.capacity
    begin = 0 if leftover is None else min(leftover.bytes_written, capacity) // MIB * MIB
    work.record.purge_goes_on(work.current.index, PurgePhase.ERASING, bytes_written=begin)
    start = work.sampler.counters()

    def share() -> float:
        now = work.sampler.counters().since(start)
        return (now["write_bytes"] + now["read_bytes"]) / (2 * capacity - begin)

    work.current.share = share
    evidence: Evidence = {"command": "fio --verify=crc32c on the whole drive, then read back"}
    for way, first in (("write", begin), ("read", 0)):
        before, began = work.sampler.counters(), time.monotonic()
        _moved(work, rung, first, capacity, reads=way == "read")
        seconds = time.monotonic() - began
        counted_bytes = int(work.sampler.counters().since(before)[f"{way}_bytes"])
        byte_count = capacity - first
        reason = (
            distrust(target="block", tool_bytes=byte_count, device_bytes=counted_bytes)
            if byte_count
            else None
        )
        if reason is not None:
            raise Inconclusive(f"{rung.title}: {way}: {reason}")
        if byte_count:
            evidence[f"{way}_speed"] = megabytes_per_second(byte_count, seconds)
    past = f"; {size_text(begin)} of it in an earlier run" if begin else ""
    evidence["tool_output"] = f"all {size_text(capacity)} written{past}, all read back and equal"
    return evidence


def _moved(work: Work, rung: Rung, begin: int, end: int, *, reads: bool) -> None:
    assert work.current.artifacts is not None
    whole = end // MIB * MIB
    pieces = [*_chunks(min(begin, whole), whole), *([(whole, end - whole)] if whole < end else [])]
    for offset, length in pieces:
        work.hold.check_same(is_writing=True)
        block = MIB if length >= MIB else length
        report = (
            work.current.artifacts.path / f"{'read' if reads else 'write'}-{offset // MIB}.json"
        )
        argv = sanitize_commands.overwrite(
            work.drive.path, offset, length, block, str(report), reads=reads
        )
        result = work.tool(argv, timeout=None)
        if result.exit_code != 0:
            raise _failed(work, rung.title, result)
        if not reads:
            work.record.purge_goes_on(
                work.current.index, PurgePhase.ERASING, bytes_written=offset + length
            )


_BY_TOOL: Mapping[str, Callable[[Work, Rung, Unfinished | None], Evidence]] = {
    "nvme": _by_nvme,
    "hdparm": _by_hdparm,
    "blkdiscard": _by_blkdiscard,
    "fio": _by_fio,
}
