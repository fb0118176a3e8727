"""Writes marks to the raw drive, and reads their places after a purge."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from collections import Counter
from collections.abc import Iterator

from benchstick.analysis.sanitize_sampling import Marks, what_is_there
from benchstick.engine.copier.errors import DRIVE_LOST
from benchstick.engine.run_context import StepOutcome, Work
from benchstick.errors import DataCorrupt, Inconclusive
from benchstick.plan.quantity import MARKS_GONE, SHARE
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import Mark, ReadBack


def do_mark(work: Work, step: Mark) -> StepOutcome:
    """Write the marks, flush, and read them back: a mark that cannot be read now proves nothing
    later, and its data is corrupt."""
    work.hold.check_before_write()
    marks = Marks(work.uuid, work.drive.identity.capacity, step.size, step.samples)
    with exclusively(work), _opened(work, os.O_RDWR, step.size) as (fd, buffer):
        for place in _places(work, marks):
            buffer[:] = marks.content(place)
            if os.pwritev(fd, [buffer], place) != marks.size:
                raise work.drive_lost("does not accept whole blocks")
        os.fsync(fd)
        for place in _places(work, marks):
            if _read(work, fd, buffer, place) != marks.content(place):
                raise DataCorrupt(
                    f"marks: the data written at byte {place} does not read back, so it could "
                    "prove nothing; nothing was purged"
                )
    work.conditions.marks = marks
    return StepOutcome(detail={"marks": marks.count, "bytes": marks.size})


def do_read_back(work: Work, step: ReadBack) -> StepOutcome:
    """Read the places of the marks. Inconclusive when marks are left and the step must prove the
    purge; the result is stored anyway. Remaining marks are not corrupt data: the drive returns
    what was written to it."""
    marks = work.conditions.marks
    if marks is None:
        raise Inconclusive("read back: no marks were written before the purge")
    counts: Counter[str] = Counter()
    hits: list[int] = []
    with _opened(work, os.O_RDONLY, marks.size) as (fd, buffer):
        for place in _places(work, marks):
            kind = what_is_there(_read(work, fd, buffer, place), marks.content(place))
            counts[kind] += 1
            if kind == "mark":
                hits.append(place)
    text = _sentence(counts, hits, marks.count)
    result = Result(
        step=step.name, test=MARKS_GONE, quantity=SHARE,
        value=100.0 * (marks.count - len(hits)) / marks.count, unit="%", pass_no=1,
        target=work.target.name, state=Validity.INVALID if hits else Validity.VALID,
        reason=text if hits else None,
        detail={"text": text, "found": dict(counts), "places": marks.count, "bytes": marks.size},
    )  # fmt: skip
    work.read_back(text, proved=not hits)
    if hits and step.required:
        work.record.results([result])
        raise Inconclusive(f"the purge is not proved: {text}")
    return StepOutcome(results=[result], detail={"found": dict(counts)})


def _sentence(counts: Counter[str], hits: list[int], count: int) -> str:
    if hits:
        return f"{len(hits)} of {count} marks can still be read, the first at byte {hits[0]}"
    kinds = ", ".join(f"{number} read as {kind}" for kind, number in counts.most_common())
    return f"all {count} marks were erased: {kinds}"


@contextlib.contextmanager
def exclusively(work: Work) -> Iterator[None]:
    """Open the drive exclusively, unless the run has done this already."""
    if work.hold.is_exclusive:
        yield
        return
    with work.hold.exclusive():
        yield


@contextlib.contextmanager
def _opened(work: Work, flags: int, size: int) -> Iterator[tuple[int, mmap.mmap]]:
    """Open the drive without the page cache, with an aligned buffer of `size` bytes. DriveLost when
    it answers with I/O errors."""
    try:
        fd = os.open(work.drive.path, flags | os.O_DIRECT | os.O_CLOEXEC)
        try:
            with mmap.mmap(-1, size) as buffer:
                yield fd, buffer
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno in (*DRIVE_LOST, errno.EILSEQ):
            raise work.drive_lost(f"answers with I/O errors ({error.strerror})") from error
        raise


def _places(work: Work, marks: Marks) -> Iterator[int]:
    for place in marks.places():
        work.check_cancelled()
        yield place


def _read(work: Work, fd: int, buffer: mmap.mmap, place: int) -> bytes:
    # So that a read that returns no data does not look like the earlier content.
    buffer[:] = b"\x5a" * len(buffer)
    if os.preadv(fd, [buffer], place) != len(buffer):
        raise work.drive_lost("does not return whole blocks")
    return bytes(buffer)
