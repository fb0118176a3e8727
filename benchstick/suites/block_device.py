"""Shared by the suites that write to the raw drive: its span, its state, filling and writing it.

Source: docs/methods/pts.md, docs/methods/consistency.md. Preconditioning is writing the span in
order in 128 KiB pieces, twice, then at random. The queue depth of that is not stated there and is
32 here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.quantity import SPEED
from benchstick.plan.result import Result
from benchstick.plan.steps import Fio, Job, Recording, Span
from benchstick.plan.units import KIB, MIB, binary_text, duration_text, size_text
from benchstick.suites.interface import PlanRequest, assumed_speed
from benchstick.suites.single_pass import digits, state_of

FILL_BLOCK = 128 * KIB
FILL_DEPTH = 32
# The state of a drive that the suite itself has not written yet.
NOT_MADE = "not preconditioned"
# A smaller span is answered from the drive's own RAM.
LEAST_SPAN = 16 * MIB
MOST_DEPTH = 1024
MOST_SECONDS = 7 * 24 * 3600
# For estimates only: bytes a second of one 4 KiB request at a time, and the most requests a second
# of a hard disk, which its cache takes.
_ONE_AT_A_TIME = 20e6
_DISK_REQUESTS = 1000


def label_of(block: int, depth: int, direction: str, *, random: bool = True) -> str:
    """`RND4K Q32T1 write`, as CrystalDiskMark names tests."""
    size = f"{block // MIB}M" if block % MIB == 0 else f"{block // KIB}K"
    return f"{'RND' if random else 'SEQ'}{size} Q{depth}T1 {direction}"


FILL = f"fill {label_of(FILL_BLOCK, FILL_DEPTH, 'write', random=False)}"


def whole_blocks(span: int, block: int, field: str) -> int:
    """`span` cut to whole blocks of the test and of the filling. BadInput when little is left."""
    unit = max(block, FILL_BLOCK)
    whole_span = span // unit * unit
    if whole_span < LEAST_SPAN:
        raise BadInput(
            f"{field}: {size_text(span)} of the drive is less than the test needs "
            f"({binary_text(LEAST_SPAN)})",
            field=field,
        )
    return whole_span


def capacity(request: PlanRequest) -> int:
    """Bytes of the drive; 0 where it reports none."""
    return int(request.drive["identity"]["capacity"] or 0)


def device_depth(drive: Mapping[str, Any]) -> int | None:
    """How many requests the drive takes at a time, None where that is not known."""
    entry = drive.get("queue_depth")
    value = entry.get("value") if isinstance(entry, Mapping) else None
    return value if isinstance(value, int) else None


def filled_text(passes: int, span: int, of: int) -> str:
    """The state of the drive after the filling."""
    share = 100 * span / of
    return (
        f"filled {passes} times in this run, in order in {binary_text(FILL_BLOCK)} pieces, "
        f"over {size_text(span)} ({share:.1f} % of the LBAs)"
    )


def random_rate(drive: Mapping[str, Any], block: int, depth: int) -> float:
    """Bytes a second assumed for random I/O before anything is measured; for estimates only."""
    fastest = assumed_speed(drive)
    rotational = (drive.get("rotational") or {}).get("value")
    # The practice drive reports what the disk below it is.
    if rotational and (drive.get("transport") or {}).get("value") != "virtual":
        return min(fastest, float(_DISK_REQUESTS * block))
    return min(fastest, _ONE_AT_A_TIME * depth * max(1.0, block / (4 * KIB)))


def fills(request: PlanRequest, span: int, passes: int) -> Iterator[Fio]:
    """Write the span in order, `passes` times. Each pass is a separate result, of a drive that was
    filled once less."""
    for number in range(1, passes + 1):
        yield Fio(
            name=f"{FILL}, pass {number}",
            seconds=span / assumed_speed(request.drive),
            bytes_written=span,
            destroys=True,
            test=FILL,
            job=Job(rw="write", block=FILL_BLOCK, depth=FILL_DEPTH, threads=1, runtime=None),
            span=Span(size=span),
            pass_no=number,
            drive_state=(
                filled_text(number - 1, span, capacity(request)) if number > 1 else NOT_MADE
            ),
        )


def timed(
    request: PlanRequest,
    *,
    test: str,
    direction: str,
    block: int,
    depth: int,
    span: int,
    seconds: int,
    mix: int = 0,
    series: bool = False,
    state: str | None = None,
    part: str = "",
) -> Fio:
    """One timed test at random over the span. `direction` is read, write or mix (`mix` % reads)."""
    byte_count = seconds * random_rate(request.drive, block, depth)
    write_share = {"read": 0.0, "write": 1.0, "mix": 1 - mix / 100}[direction]
    return Fio(
        name=test,
        seconds=seconds + 0.5,
        bytes_written=int(byte_count * write_share),
        bytes_read=int(byte_count * (1 - write_share)),
        destroys=direction != "read",
        test=test,
        job=Job(
            rw={"read": "randread", "write": "randwrite", "mix": "randrw"}[direction],
            block=block,
            depth=depth,
            threads=1,
            runtime=seconds,
            mix=mix if direction == "mix" else None,
        ),
        span=Span(size=span),
        pass_no=1,
        recording=Recording(series=series),
        drive_state=state,
        part=part,
    )


def soak_text(block: int, depth: int, seconds: int) -> str:
    """The state of the drive after random writing."""
    return (
        f"then written at random in {binary_text(block)} pieces at QD{depth} "
        f"for {duration_text(seconds)}"
    )


def fill_tables(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """A table of the speed of each filling, where there was one."""
    rows = [
        [
            f"pass {item.pass_no}",
            digits(item.value, 1),
            state_of(item.state, item.reason),
        ]
        for item in results
        if item.test == FILL and item.quantity == SPEED
    ]
    if rows:
        yield {"title": "Filling", "columns": ["", "MB/s", "state"], "rows": rows}


def table_text(table: Mapping[str, Any]) -> str:
    """A table of the result as text: its title, then columns padded."""
    lines: list[Sequence[str]] = [table["columns"], *table["rows"]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(table["columns"]))]
    return "\n".join(
        [
            str(table["title"]),
            *(
                "  ".join(
                    cell.ljust(width) if index == 0 else cell.rjust(width)
                    for index, (cell, width) in enumerate(zip(line, widths, strict=True))
                ).rstrip()
                for line in lines
            ),
        ]
    )


def round_value(value: float, unit: str) -> float:
    """A value for a headline, without fractions of a request."""
    return round(value) if unit == "IOPS" else value
