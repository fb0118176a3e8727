"""AS SSD Benchmark-style suite.

Source: descriptions and published results of AS SSD (docs/methods/asssd.md): sequential
I/O of 16 MiB, 4 KiB at random by one thread and by 64 (64 files of 16 MiB), the access times, the
formula of the three scores (checked against published results), the compression curve, the copies
within the drive. Ours: fio in its place, the time of the random tests, block size and depth of the
compression curve, the order, and number and sizes of the files that are copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan import fileset
from benchstick.plan.fileset import COPY_NAMES, FileSet
from benchstick.plan.params import Param, size, text, whole
from benchstick.plan.quantity import ResultKey
from benchstick.plan.result import Result
from benchstick.plan.steps import (
    TO,
    BuildSet,
    CopyWithin,
    Data,
    Empty,
    Fio,
    Idle,
    Job,
    LaySet,
    Plan,
    Prepare,
    Recording,
    Skip,
    Span,
    Step,
    Verify,
    unique_names,
)
from benchstick.plan.units import GIB, KIB, MIB, binary_text, size_text
from benchstick.suites import asssd_result
from benchstick.suites.asssd_result import (
    ACCESS,
    RANDOM,
    SEQ,
    SHARES,
    TESTS,
    THREADS64,
    share_name,
)
from benchstick.suites.interface import PlanRequest, SuiteResult, assumed_speed
from benchstick.suites.single_pass import FILE_SHARE, read_modify_write

PARTS = ("benchmark", "compression", "copy")
FILES, FILE_SIZE = 64, 16 * MIB
# Acc.time has no amount to move once: with time=0 it takes as long as it does by default.
TIME = 10
# I/Os a second assumed before anything is measured; for estimates of duration only.
_IOPS, _IOPS_64 = 5_000, 50_000
# Bytes a second at which sets are made and compared, for estimates only.
_SOURCE_SPEED = 400e6
_NO_FILES = "the raw drive has no filesystem to copy files on (--target file)"


class AsSsd:
    """The suite `asssd`."""

    name = "asssd"
    title = "AS SSD-style"
    summary = "Sequential, 4K, 4K with 64 threads, access times, scores; compression; copies."
    default_target = "file"
    default_fs = "keep"
    targets: tuple[str, ...] = ("file", "block")
    has_scale = True
    params: tuple[Param, ...] = (
        text("parts", ",".join(PARTS), f"what to do, comma-separated: {', '.join(PARTS)}"),
        size("size", 64 * MIB, 64 * GIB, GIB, "the test file; AS SSD offers 1, 3, 5 and 10 GB"),
        whole("time", 0, 600, TIME, "seconds of each random test; 0: as many I/Os as fill a file"),
        whole("interval", 0, 600, 0, "idle seconds before each test"),
    )

    def plan(self, request: PlanRequest) -> Plan:
        """Prepare; the tests; the compression curve; each set laid, copied, compared, removed."""
        wish = _Wish.of(request)
        _check_room(request, wish)
        return Plan(
            suite=self.name,
            params=dict(request.params),
            target=request.target,
            fs=request.fs if request.target == "file" else "keep",
            scale=wish.scale if wish.sets else None,
            drive_code=str(request.drive["code"]),
            sets=tuple(item.describe("generated") for item in wish.sets),
            steps=unique_names(_steps(request, wish)),
            notes=tuple(_notes(request, wish)),
        )

    def result_keys(self, plan: Plan) -> Iterable[ResultKey]:
        """The scores, where the tests for them are in the plan."""
        has_scores = any(isinstance(step, Fio) and step.part == SEQ for step in plan.steps)
        return asssd_result.SCORES.values() if has_scores else ()

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """AS SSD's window as a table and as its text, the curve, the copies."""
        return asssd_result.result(plan, results, drive, small_write(drive)[1])


@dataclass(frozen=True)
class _Wish:
    """The parameters, checked. `area` is the size of each of the 64 files, in bytes."""

    parts: tuple[str, ...]
    size: int
    area: int
    time: int
    interval: int
    scale: float
    sets: tuple[FileSet, ...]
    small: int
    flag: str | None

    @staticmethod
    def of(request: PlanRequest) -> _Wish:
        params = request.params
        parts = tuple(word.strip() for word in str(params["parts"]).split(",") if word.strip())
        for part in parts:
            if part not in PARTS:
                raise BadInput(f"parts: {part!r} is not one of {', '.join(PARTS)}", field="parts")
        if not parts or len(set(parts)) != len(parts):
            raise BadInput("parts: name each part once, at least one", field="parts")
        count = int(params["size"])
        # So that each of the 64 files is whole, and Seq moves whole blocks.
        if count % (FILES * MIB):
            raise BadInput("size: 64 MiB or more, in multiples of 64 MiB", field="size")
        copies = "copy" in parts and request.target == "file"
        if request.scale is not None and not copies:
            raise BadInput("scale: only the copied files can be scaled, and none are copied here",
                           field="scale")  # fmt: skip
        scale = 1.0 if request.scale is None else request.scale
        small, flag = small_write(request.drive)
        return _Wish(
            parts=parts,
            size=count,
            area=min(FILE_SIZE, count // FILES),
            time=int(params["time"]),
            interval=int(params["interval"]),
            scale=scale,
            sets=tuple(fileset.builtin(name, scale) for name in COPY_NAMES) if copies else (),
            small=small,
            flag=flag,
        )


def small_write(drive: Mapping[str, Any]) -> tuple[int, str | None]:
    """Bytes of a write of the access time, 512 where the drive takes that; and the note of its
    result."""

    def fact(name: str, default: int) -> int:
        return int((drive.get(name) or {}).get("value") or default)

    logical = fact("logical_sector", 512)
    if logical > 512:
        return logical, f"writes of {binary_text(logical)}: the drive takes no smaller ones"
    return 512, read_modify_write(512, fact("physical_sector", logical))


def _check_room(request: PlanRequest, wish: _Wish) -> None:
    capacity = int(request.drive["identity"]["capacity"])
    has = f"the drive ({size_text(capacity)})"
    if request.target == "block":
        if wish.size > capacity:
            raise BadInput(f"size: {size_text(wish.size)} is more than {has}", field="size")
        return
    room = FILE_SHARE * capacity
    need = 0
    if "benchmark" in wish.parts:
        need = wish.size + FILES * wish.area
    elif "compression" in wish.parts:
        need = wish.size
    if need > room:
        raise BadInput(
            f"size: the test files, {size_text(need)}, do not fit on {has}", field="size"
        )
    for item in wish.sets:
        if 2 * item.bytes > room:
            raise BadInput(
                f"scale: the {item.name} files twice, {size_text(2 * item.bytes)}, do not fit on "
                f"{has}; take a smaller scale, or leave copy out of parts",
                field="scale",
            )


def _notes(request: PlanRequest, wish: _Wish) -> Iterator[str]:
    yield "AS SSD-style: made with fio, not directly comparable with AS SSD on Windows"
    if "benchmark" in wish.parts:
        if wish.size < GIB:
            yield "a test file below 1 GiB, AS SSD's smallest: caches have more effect"
        if wish.time:
            yield f"each random test lasts {wish.time} s; AS SSD moves a fixed amount"
        if request.target == "file":
            yield f"{ACCESS} read: over the whole raw drive, opened read-only, not in the file"
        if wish.flag:
            yield f"{ACCESS} write: {wish.flag}"
    if wish.sets:
        yield "the copied files are our choice in number and size: AS SSD's are not published"
        if wish.scale < 1:
            yield "reduced file sets: not comparable with full ones (caches have more effect)"


# --- the steps -----------------------------------------------------------------------------


def _steps(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    raw = request.target == "block"
    formats = not raw and request.fs != "keep"
    uses_fio = any(part in wish.parts for part in ("benchmark", "compression"))
    yield Prepare(
        name="prepare the target",
        seconds=5 if formats else 1,
        destroys=formats or (raw and uses_fio),
        target=request.target,
        fs=request.fs,
    )
    if uses_fio:
        yield _layout(request, "lay out the test area", wish.size, 1)
    if "benchmark" in wish.parts:
        # On the raw drive the 64 areas lie in the test area.
        if not raw:
            yield _layout(request, "lay out the 64 files", wish.area, FILES)
        yield from _benchmark(request, wish)
    if "compression" in wish.parts:
        yield from _compression(request, wish)
    if "copy" in wish.parts:
        yield from _copies(request, wish)
    yield Idle(name="idle at the end", seconds=0, temperature=True)


def _layout(request: PlanRequest, name: str, count: int, files: int) -> Fio:
    return Fio(
        name=name,
        seconds=count * files / assumed_speed(request.drive),
        bytes_written=count * files,
        destroys=request.target == "block",
        test="layout",
        job=Job(rw="write", block=MIB, depth=8, threads=1, runtime=None),
        span=Span(size=count, files=files),
        pass_no=0,
        recording=Recording(counted=False),
    )


def _benchmark(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    """Each test written and then read, as AS SSD does; the access times read first."""
    speed = assumed_speed(request.drive)
    few, many = min(speed, _IOPS * 4096.0), min(speed, _IOPS_64 * 4096.0)
    for test in TESTS:
        yield Idle(name=f"idle before {test}", seconds=wish.interval, temperature=True)
        if test == SEQ:
            for way in ("write", "read"):
                yield _moved(request, SEQ, way, 16 * MIB, wish.size, speed)
        elif test != ACCESS and wish.small > 4 * KIB:
            for way in ("write", "read"):
                label = f"{test} {way}"
                reason = f"the drive's logical block is {binary_text(wish.small)}"
                yield Skip(name=label, test=label, reason=reason, direction=way, part=test)
        elif test == RANDOM:
            for way in ("write", "read"):
                yield _random(request, wish, RANDOM, way, 4 * KIB, wish.size, few)
        elif test == THREADS64:
            for way in ("write", "read"):
                yield _random(request, wish, THREADS64, way, 4 * KIB, wish.area, many, FILES)
        else:
            capacity = int(request.drive["identity"]["capacity"])
            block = max(4 * KIB, wish.small)
            yield _random(
                request, wish, ACCESS, "read", block, capacity // block * block, few, whole=True
            )
            yield _random(request, wish, ACCESS, "write", wish.small, wish.size, few)


def _random(
    request: PlanRequest,
    wish: _Wish,
    test: str,
    way: str,
    block: int,
    span: int,
    speed: float,
    files: int = 1,
    *,
    whole: bool = False,
) -> Fio:
    """Random I/O over `span` bytes of each of `files` files, a thread each."""
    seconds = wish.time or (TIME if test == ACCESS else 0)
    speed = speed * block / 4096
    byte_count = int(speed * seconds) if seconds else span * files
    return Fio(
        name=f"{test} {way}",
        seconds=seconds + 0.5 if seconds else byte_count / speed,
        bytes_written=byte_count if way == "write" else 0,
        bytes_read=byte_count if way == "read" else 0,
        destroys=request.target == "block" and way == "write",
        test=f"{test} {way}",
        job=Job(rw=f"rand{way}", block=block, depth=1, threads=files, runtime=seconds or None),
        span=Span(size=span, files=files, whole_drive=whole),
        pass_no=1,
        part=test,
    )


def _moved(
    request: PlanRequest, test: str, way: str, block: int, count: int, speed: float,
    compress: int | None = None,
) -> Fio:  # fmt: skip
    """`count` bytes once, in order, one I/O at a time."""
    return Fio(
        name=f"{test} {way}",
        seconds=count / speed,
        bytes_written=count if way == "write" else 0,
        bytes_read=count if way == "read" else 0,
        destroys=request.target == "block" and way == "write",
        test=f"{test} {way}",
        job=Job(rw=way, block=block, depth=1, threads=1, runtime=None),
        span=Span(size=count),
        pass_no=1,
        data=Data(compress=compress),
        part=test,
    )


def _compression(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    speed = assumed_speed(request.drive)
    yield Idle(name="idle before the compression curve", seconds=wish.interval, temperature=True)
    for share in SHARES:
        for way in ("write", "read"):
            yield _moved(request, share_name(share), way, MIB, wish.size, speed, share)


def _copies(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    if not wish.sets:
        for name in COPY_NAMES:
            label = f"{name} copy"
            yield Skip(name=label, test=label, reason=_NO_FILES, set_name=name)
        return
    speed = assumed_speed(request.drive)
    yield Empty(name="empty the target", seconds=1)
    for item in wish.sets:
        yield BuildSet(
            name=f"{item.name}, build the source", seconds=0.5, set_name=item.name,
            source="generated",
        )  # fmt: skip
        yield LaySet(
            name=f"{item.name}, copy it to the drive",
            seconds=item.bytes / min(speed, _SOURCE_SPEED),
            bytes_written=item.bytes,
            set_name=item.name,
            threads=32,
            block=MIB,
        )
        yield Idle(name=f"idle before {item.name}", seconds=wish.interval, temperature=True)
        yield CopyWithin(
            name=f"{item.name} copy",
            seconds=2 * item.bytes / speed,
            bytes_written=item.bytes,
            bytes_read=item.bytes,
            set_name=item.name,
            pass_no=1,
            threads=1,
            block=MIB,
        )
        yield Verify(
            name=f"{item.name}, compare",
            seconds=item.bytes / min(speed, _SOURCE_SPEED),
            set_name=item.name,
            pass_no=1,
            folder=TO,
        )
        yield Empty(name=f"{item.name}, empty the target", seconds=1)
