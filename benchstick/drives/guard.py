"""Holds a drive for a run, or refuses, by the rules of docs/guard.md.

A run may write a drive only through `hold`. It checks the typed codes, looks at the drive again,
and keeps a read-only descriptor with `flock(LOCK_EX)` (udev ignores the drive, the kernel cannot
reuse its name) and the lock file of `locks.py`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType

from benchstick.drives import in_use, locks, loops, medium, partition_table
from benchstick.drives.device_query import PROBE, Asker, Query, ask_live, patient
from benchstick.drives.discover import reidentify
from benchstick.drives.guard_policy import FREE, LOCKED, PROTECTED, is_stick, judge, protections
from benchstick.drives.identify import again
from benchstick.drives.locks import is_locked
from benchstick.drives.partition_table import parse_probe
from benchstick.drives.sysfs import Tree, diskseq
from benchstick.drives.topology import locate
from benchstick.drives.types import Drive
from benchstick.errors import DriveLost, Refused

__all__ = ["FREE", "LOCKED", "PROTECTED", "DriveLease", "hold", "is_locked", "judge"]

# udev holds a shared flock while it probes a drive after each event, on a slow stick for many
# seconds. A run holds the drive throughout; its lock file shows this at once.
_FLOCK_PATIENCE_SECONDS = 20.0
_DEAD_STATES = {"offline", "transport-offline", "cancel", "deleted"}


class DriveLease:
    """A drive held for one run. A context manager; `drive` is the fresh look at it."""

    def __init__(
        self, drive: Drive, fd: int, lock_fd: int, *, home: Path | None, query: Query
    ) -> None:
        self.drive = drive
        self._fd = fd
        self._lock_fd = lock_fd
        self._home = home
        # The drive answered when it was taken. A busy machine must not look like a lost drive.
        self._query = patient(query)
        self._exclusive_depth = 0
        # From the first write on, the medium's content is the bench's own.
        self._is_written = False
        self._change_reason: str | None = None
        self._has_stopped_writes = False
        self._stopping = threading.Lock()

    def __enter__(self) -> DriveLease:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the drive. May be called twice."""
        if self._fd >= 0:
            if self._has_stopped_writes:
                medium.drop_cache(self._fd)
            locks.release(self._lock_fd)
            os.close(self._fd)
            self._fd = -1
            if self._has_stopped_writes:
                medium.allow_writes(self.drive.name)

    @property
    def is_exclusive(self) -> bool:
        """Whether `exclusive` is held now."""
        return self._exclusive_depth > 0

    def alive(self) -> bool:
        """Is the drive still there: the same disk under the same name, not taken offline?"""
        tree, name = Tree(), self.drive.name
        if self._change_reason is not None:
            return False
        if tree.text(f"sys/block/{name}/dev") != self.drive.devno:
            return False
        if diskseq(tree, name) != self.drive.diskseq:
            return False
        return tree.text(f"sys/block/{name}/device/state") not in _DEAD_STATES

    @property
    def medium_changed(self) -> str | None:
        """Why the medium in the drive is no longer the one that was chosen; None while it is."""
        return self._change_reason

    def lose_medium(self, reason: str) -> DriveLost:
        """Another medium is in the drive: stop all writes to it, write-back included."""
        with self._stopping:
            if self._change_reason is None:
                self._change_reason = reason
                # The open descriptor keeps the name, so this is still the same drive.
                self._has_stopped_writes = medium.stop_writes(self.drive.name)
        outcome = "nothing more was written" if self._is_written else "nothing was written"
        return DriveLost(f"{_who(self.drive)}: {self._change_reason}; {outcome}")

    def check_medium(self) -> None:
        """Check with the device that the medium is still the chosen one: by size and disk sequence,
        as the bench's own writes change the content. DriveLost when it is not.

        Sends a command to the drive: do not call it while the drive is timed.
        """
        self._check_there("nothing more was written" if self._is_written else "nothing was written")
        token = self.drive.medium
        try:
            now = medium.ask(self.drive.path)
        except DriveLost as error:
            raise self.lose_medium(f"its medium is not certain: {error.message}") from error
        reason = None if token is None else token.difference(now, content=False)
        if reason is not None:
            raise self.lose_medium(reason)

    def check_before_write(
        self,
        *,
        mounted_by_bench: bool = False,
        asks_drive: bool = True,
        writes: bool = True,
    ) -> None:
        """Call this before each destructive step. Refused or DriveLost, with the reason.

        Before the first write the medium's content is compared as well. `writes` False: the step
        itself writes nothing yet, so that the next check is still the one before the first write.

        `asks_drive` False leaves out the queries to the drive itself, for steps that follow each
        other without a pause: the open descriptor, the node and diskseq are still compared.

        `mounted_by_bench`: the bench has the drive mounted itself, which makes it busy; only the
        exclusive probe is then left out.
        """
        drive, tree = self.drive, Tree()
        self.check_same()
        self.check_medium()
        # The query may have made the kernel notice another medium.
        self._check_there("nothing was written")
        first = not self._is_written
        if first or not (mounted_by_bench or self._exclusive_depth):
            self._probe(compares=first, may_be_busy=mounted_by_bench or self._exclusive_depth > 0)
        if not asks_drive:
            self._is_written = self._is_written or writes
            return
        practice = loops.is_practice(tree, drive.name, self._home)
        where = locate(tree, drive.name, practice=practice)
        identity, ask = again(tree, where, drive, self._query)
        if ask.silent_why is not None:
            raise DriveLost(f"{_who(drive)}: {ask.silent_why}; nothing was written")
        if not identity.matches(drive.identity):
            raise Refused(
                f"{drive.path} is not the drive that was chosen "
                f"({_difference_of(drive.identity, identity) or 'it was replugged since'}): "
                "nothing was written, choose the drive again"
            )
        # The queries above open the node, and the kernel notices another medium at an open.
        self.check_same()
        self._is_written = self._is_written or writes

    def check_same(self, *, is_writing: bool = False) -> None:
        """The part of `check_before_write` that opens nothing, for the middle of a step.
        `is_writing`: the step has already written.

        The node, the name and the held descriptor must still be one and the same disk, and
        nobody may have mounted it.
        """
        drive = self.drive
        outcome = "nothing more was written" if is_writing else "nothing was written"
        self._check_there(outcome)
        try:
            node = Path(drive.path).stat().st_rdev
        except OSError as error:
            raise DriveLost(f"{drive.path}: {error.strerror}; the drive is gone") from error
        device = os.fstat(self._fd).st_rdev
        if node != device:
            raise Refused(f"{drive.path} became another device since the run started: {outcome}")
        if drive.diskseq is not None and medium.sequence(self._fd) not in (None, drive.diskseq):
            raise DriveLost(f"{_who(drive)} was replaced since the run started: {outcome}")
        reasons = in_use.read(Tree(), {drive.name}).reasons.get(drive.name)
        if reasons:
            raise Refused(f"{_who(drive)} is protected: {'; '.join(reasons)}; {outcome}")

    def _check_there(self, outcome: str) -> None:
        """By what the kernel knows, without a query to the drive."""
        if self._change_reason is not None:
            raise self.lose_medium(self._change_reason)
        if self.alive():
            return
        tree, drive = Tree(), self.drive
        if tree.text(f"sys/block/{drive.name}/dev") == drive.devno:
            seq = diskseq(tree, drive.name)
            if seq is not None and seq != drive.diskseq:
                raise self.lose_medium("its medium was changed")
        raise DriveLost(f"{_who(drive)} is gone or was replaced since the run started: {outcome}")

    def _probe(self, *, compares: bool, may_be_busy: bool) -> None:
        """EBUSY means that the kernel uses the drive, whatever mountinfo says. `compares`: the
        content of the medium must be what it was when it was chosen."""
        ask = Asker(self._query)
        answer = ask(PROBE, self.drive.path, *(("ends",) if compares else ()))
        signatures = parse_probe(answer.text)
        exclusive = signatures.get("exclusive", "")
        if answer.exit_code != 0 or not exclusive:
            raise DriveLost(f"{_who(self.drive)} cannot be opened: {ask.why_not(answer)}")
        token = self.drive.medium
        if compares and token is not None:
            # Where the bench itself keeps the node busy, the content is still as it was.
            probe_data = {**signatures, "exclusive": "ok"} if may_be_busy else signatures
            idle = exclusive == "ok" or may_be_busy
            reason = token.difference(medium.from_probe(probe_data), content=idle)
            if reason is not None:
                raise self.lose_medium(reason)
        if exclusive == "busy" and not may_be_busy:
            raise Refused(
                f"{_who(self.drive)} is protected: the kernel holds it for exclusive use "
                "(mounted, swap, RAID or dm); nothing was written"
            )
        if exclusive not in ("ok", "busy"):
            raise DriveLost(f"{_who(self.drive)} cannot be opened: {exclusive}")

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold `O_EXCL` while a raw suite runs, so that nobody mounts or formats the drive.

        mkfs, mount and blkdiscard of the bench itself fail under it too.
        """
        try:
            fd = os.open(self.drive.path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            raise _open_error(self.drive, error) from error
        self._exclusive_depth += 1
        try:
            yield
        finally:
            self._exclusive_depth -= 1
            os.close(fd)


def check(
    drive: Drive,
    *,
    unlock: str | None = None,
    erase: str | None = None,
    destructive: bool,
    query: Query = ask_live,
    over_stick: bool = False,
) -> None:
    """What `hold` checks before it touches anything: Refused for a wrong or missing code, a
    protected drive, a locked one without `unlock`. The parameters are those of `hold`."""
    _check_codes(drive, unlock, erase, destructive, over_stick)
    _check_guard(drive, unlock, over_stick, query)


def hold(
    drive: Drive,
    *,
    unlock: str | None = None,
    erase: str | None = None,
    destructive: bool,
    hotplugs: Collection[int] = (),
    home: Path | None = None,
    query: Query = ask_live,
    over_stick: bool = False,
) -> DriveLease:
    """Take `drive` for a run that writes to it.

    `erase` is the code typed back, needed when `destructive`; `unlock` the code typed to unlock a
    locked drive. `hotplugs` as in `scan`. Refused (exit 3) for a wrong or missing code, a protected
    drive, a locked one without `unlock`, a second run, another drive in its place; DriveLost when
    it is gone. `over_stick`: a bench stick that is not in use may be written, which is otherwise
    protected; for the program that writes sticks, and for no run.
    """
    check(
        drive,
        unlock=unlock,
        erase=erase,
        destructive=destructive,
        query=query,
        over_stick=over_stick,
    )
    fd = _open(drive)
    lock_fd: int | None = None
    try:
        _flock(drive, fd)
        lock_fd = _lock_file(drive)
        fresh = _fresh(drive, fd, hotplugs, home, query)
        _check_guard(fresh, unlock, over_stick, query)
        _check_medium(drive, fresh)
        if fresh.value("read_only"):
            raise Refused(f"{_who(fresh)} is write-protected: move its switch, or take another")
        locks.write(lock_fd, _content(fresh))
    except BaseException:
        if lock_fd is not None:
            locks.release(lock_fd)
        os.close(fd)
        raise
    return DriveLease(fresh, fd, lock_fd, home=home, query=query)


def _who(drive: Drive) -> str:
    return f"drive {drive.code} ({drive.path})"


def _check_codes(
    drive: Drive, unlock: str | None, erase: str | None, destructive: bool, over_stick: bool
) -> None:
    if erase is not None and erase != drive.code:
        raise Refused(
            f"--erase {erase}: the code of {drive.path} is {drive.code}; nothing was written",
            field="erase",
        )
    if unlock is not None and unlock != drive.code:
        raise Refused(
            f"--unlock {unlock}: the code of {drive.path} is {drive.code}; nothing was written",
            field="unlock",
        )
    if destructive and erase is None and (over_stick or drive.guard.state != PROTECTED):
        raise Refused(
            f"this destroys all data on {_who(drive)}: type its code with --erase {drive.code}",
            field="erase",
        )


def is_idle_stick(drive: Drive, query: Query = ask_live) -> bool:
    """A bench stick that is protected for nothing else: not mounted, not booted from by UUID."""
    tree = Tree()
    inside = partition_table.look(tree, drive.name, Asker(query))
    reasons = protections(drive.name, inside, in_use.read(tree, {drive.name}), but_stick=True)
    return is_stick(inside) and not reasons


def _check_guard(drive: Drive, unlock: str | None, over_stick: bool, query: Query) -> None:
    if drive.guard.state == PROTECTED:
        if over_stick and is_idle_stick(drive, query):
            return
        raise Refused(f"{_who(drive)} is protected and never written: {drive.guard.reason}")
    if drive.guard.retry:
        raise Refused(f"{_who(drive)} is {drive.guard.reason}; nothing was written")
    if drive.guard.state != FREE and unlock is None:
        raise Refused(
            f"{_who(drive)} is locked: {drive.guard.reason}; "
            f"if it may be written all the same, add --unlock {drive.code}",
            field="unlock",
        )


def _open(drive: Drive) -> int:
    try:
        return os.open(drive.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _open_error(drive, error) from error


def _open_error(drive: Drive, error: OSError) -> Refused | DriveLost:
    if error.errno == errno.EBUSY:
        return Refused(f"{_who(drive)} is protected: the kernel or another program holds it")
    if error.errno in (errno.EACCES, errno.EPERM):
        return Refused(f"{drive.path}: {error.strerror}: run as root")
    return DriveLost(f"{_who(drive)} cannot be opened: {error.strerror}")


def _flock(drive: Drive, fd: int) -> None:
    deadline = time.monotonic() + _FLOCK_PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if is_locked(drive.name) or time.monotonic() > deadline:
                raise _second_run(drive) from None
            time.sleep(0.1)


def _second_run(drive: Drive) -> Refused:
    return Refused(f"{_who(drive)} is held by another run or program: wait for it or cancel it")


def _lock_file(drive: Drive) -> int:
    path = locks.lock_path(drive.identity)
    try:
        fd = locks.take(path)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}: no lock, so no run on this drive") from error
    if fd is None:
        raise _second_run(drive)
    # Written at once: from now on a scan does not query the drive.
    locks.write(fd, _content(drive))
    return fd


def _content(drive: Drive) -> dict[str, object]:
    return {
        "name": drive.name,
        "diskseq": drive.diskseq,
        "code": drive.code,
        "pid": os.getpid(),
        "identity": drive.identity.to_json(),
        "guard": drive.guard.to_json(),
    }


def _fresh(
    drive: Drive, fd: int, hotplugs: Collection[int], home: Path | None, query: Query
) -> Drive:
    """Look again, now that the name cannot be reused; the same drive or an error."""
    fresh = reidentify(drive, query=query, hotplugs=hotplugs, home=home, ignore_run=True)
    if fresh is not None and fresh.guard.retry:
        fresh = reidentify(
            drive, query=patient(query), hotplugs=hotplugs, home=home, ignore_run=True
        )
    if fresh is not None and fresh.guard.retry:
        # An identity that could not be read is not another drive.
        _check_guard(fresh, None, False, query)
    if fresh is None:
        raise DriveLost(f"{_who(drive)} is gone: plug it in again and choose it again")
    if fresh.diskseq != drive.diskseq or not fresh.identity.matches(drive.identity):
        raise Refused(
            f"{drive.path} is not the drive that was chosen "
            f"({_difference(drive, fresh)}): choose it again"
        )
    node = os.fstat(fd).st_rdev
    if f"{os.major(node)}:{os.minor(node)}" != fresh.devno:
        raise Refused(f"{drive.path} is not the node of the drive that was chosen")
    return fresh


def _check_medium(drive: Drive, fresh: Drive) -> None:
    """The codes were typed for the medium that was in the drive when the plan was made."""
    reason = None if drive.medium is None else drive.medium.difference(fresh.medium, content=True)
    if reason is not None:
        raise Refused(
            f"{_who(drive)}: {reason} since the plan was made; nothing was written, choose the"
            " drive "
            "again"
        )


def _difference(drive: Drive, fresh: Drive) -> str:
    """What differs between the drive as it was chosen and as it is now, in words."""
    words = _difference_of(drive.identity, fresh.identity)
    if fresh.devno == drive.devno and fresh.diskseq != drive.diskseq:
        words = ", ".join(filter(None, (words, "its medium was changed or it was replugged")))
    return words or "it was replugged since"


def _difference_of(before: object, now: object) -> str | None:
    """The first field in which two identities differ, in words; None where none does."""
    for name in ("serial", "model", "capacity", "port", "lun", "bridge", "bridge_serial"):
        was, is_now = getattr(before, name), getattr(now, name)
        if was != is_now:
            return f"{name} was {was}, is now {is_now}"
    return None
