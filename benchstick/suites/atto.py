"""ATTO Disk Benchmark-style suite.

Source: ATTO's settings and output as reviewers show them (docs/methods/atto.md): I/O
sizes from 512 B to 64 MiB, 256 MiB moved with each, four I/Os outstanding, written and then read,
unbuffered, data that compress well. Ours: the sizes between 8 and 64 MiB, zeros as the data, the
ascending order, fio in place of ATTO, and what is done about sectors larger than an I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.params import Param, choice, flag, size, text, whole
from benchstick.plan.result import Result
from benchstick.plan.steps import (
    Data,
    Fio,
    Idle,
    Job,
    Plan,
    Prepare,
    Recording,
    Skip,
    Span,
    Step,
    unique_names,
)
from benchstick.plan.units import GIB, KIB, MIB, binary_text, parse_size, size_text
from benchstick.suites.charts import axis, chart, curve
from benchstick.suites.interface import PlanRequest, SuiteResult, assumed_speed
from benchstick.suites.single_pass import (
    FILE_SHARE,
    cell,
    digits,
    latency_table,
    padded,
    read_modify_write,
    results_of,
    states_text,
)

LEAST = 512
LADDERS = {
    "2": tuple(LEAST << at for at in range(15)),
    "4": (*(LEAST << at for at in range(15)), *(at * MIB for at in (12, 16, 24, 32, 48, 64))),
}
NAMES = {binary_text(count).replace(" ", ""): count for count in LADDERS["4"]}
MOST_SIZES = 64
WAYS = ("write", "read")
# I/Os a second assumed before anything is measured; for estimates of duration only.
_IOPS, _IOPS_BOT = 40_000, 8_000


class Atto:
    """The suite `atto`."""

    name = "atto"
    title = "ATTO-style"
    summary = "Writes and reads with I/O sizes from 512 B to 64 MiB: speed over I/O size."
    default_target = "file"
    default_fs = "keep"
    targets: tuple[str, ...] = ("file", "block")
    has_scale = False
    params: tuple[Param, ...] = (
        choice("version", ("4", "2"), "4", "I/O sizes of version 4 (to 64 MiB) or 2 (to 8 MiB)"),
        choice("from", tuple(NAMES), "512B", "the smallest I/O size"),
        choice("to", tuple(NAMES), "64MiB", "the largest I/O size"),
        text("sizes", "", "instead: your own I/O sizes, comma-separated, as 4KiB,64KiB"),
        size("length", 64 * KIB, 32 * GIB, 256 * MIB, "bytes moved with each size, each way"),
        whole("depth", 1, 256, 4, "I/Os outstanding; 1 is what ATTO calls Neither"),
        choice("data", ("zero", "random"), "zero", "what is written"),
        whole("time", 0, 600, 0, "seconds of each size and way instead of length; 0: length once"),
        flag("write_through", False, "each write is on the medium before it counts as done"),
    )

    def plan(self, request: PlanRequest) -> Plan:
        """Prepare, lay out the test area, then each size upwards: written, read."""
        wish = _Wish.of(request)
        _check_room(request, wish)
        return Plan(
            suite=self.name,
            params=dict(request.params),
            target=request.target,
            fs=request.fs if request.target == "file" else "keep",
            drive_code=str(request.drive["code"]),
            steps=unique_names(_steps(request, wish)),
            notes=tuple(_notes(wish)),
        )

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """The table and charts over the I/O size, and the best of each way."""
        rows = list(_rows(plan, results, drive))
        labels = _labels(plan)
        cells = [(labels[row["bytes"], way], row[way]) for row in rows for way in WAYS if row[way]]
        table = _table(rows)
        document = {
            "headline": _headline(rows),
            "sizes": rows,
            "tables": [table, latency_table(cells)],
            "charts": _charts(rows),
            "text": padded(table),
            "verdicts": [],
        }
        return SuiteResult(
            results=[item for label, outcome in cells for item in results_of(label, outcome)],
            document=document,
        )


@dataclass(frozen=True)
class _Wish:
    """The parameters, checked against each other and the drive's sectors (bytes)."""

    sizes: tuple[int, ...]
    length: int
    depth: int
    data: str
    time: int
    write_through: bool
    logical: int
    physical: int

    @staticmethod
    def of(request: PlanRequest) -> _Wish:
        params = request.params
        sizes = _own_sizes(params) if str(params["sizes"]).strip() else _ladder(params)
        logical = int(request.fact("logical_sector", LEAST))
        wish = _Wish(
            sizes=sizes,
            length=int(params["length"]),
            depth=int(params["depth"]),
            data=str(params["data"]),
            time=int(params["time"]),
            write_through=bool(params["write_through"]),
            logical=logical,
            physical=int(request.fact("physical_sector", logical)),
        )
        if max(sizes) > wish.length:
            raise BadInput(
                f"length: {binary_text(wish.length)} are less than the largest I/O size, "
                f"{binary_text(max(sizes))}",
                field="length",
            )
        if wish.length % logical:
            raise BadInput(
                f"length: {wish.impossible(wish.length)}; take a multiple of it", field="length"
            )
        if all(wish.impossible(block) for block in sizes):
            raise BadInput(
                f"sizes: {wish.impossible(sizes[0])}; no other size is asked for",
                field="sizes" if str(params["sizes"]).strip() else "to",
            )
        return wish

    def impossible(self, block: int) -> str | None:
        """Why the drive takes no I/O of this size, None when it does."""
        if block % self.logical == 0:
            return None
        return (
            f"{binary_text(block)} is not a whole number of the drive's logical blocks of "
            f"{binary_text(self.logical)}"
        )

    def moved(self, block: int) -> int:
        """Bytes of `length` in whole I/Os."""
        return self.length // block * block


def _ladder(params: Mapping[str, Any]) -> tuple[int, ...]:
    low, high = NAMES[str(params["from"])], NAMES[str(params["to"])]
    if low > high:
        raise BadInput(
            f"from: {params['from']} is more than {params['to']}, to which the sizes go",
            field="from",
        )
    sizes = tuple(block for block in LADDERS[str(params["version"])] if low <= block <= high)
    if not sizes:
        raise BadInput(
            f"from: version {params['version']} has no I/O size from {params['from']} to "
            f"{params['to']}",
            field="from",
        )
    return sizes


def _own_sizes(params: Mapping[str, Any]) -> tuple[int, ...]:
    """The user's list, ascending."""
    defaults = {param.name: param.default for param in Atto.params}
    for name in ("version", "from", "to"):
        if params[name] != defaults[name]:
            raise BadInput(f"sizes: replaces {name}; give one of the two", field="sizes")
    words = [word.strip() for word in str(params["sizes"]).split(",")]
    if len(words) > MOST_SIZES:
        raise BadInput(f"sizes: {len(words)} are more than {MOST_SIZES}", field="sizes")
    sizes = []
    for word in words:
        block = parse_size(word, "sizes")
        if not LEAST <= block <= 64 * MIB or block % LEAST:
            raise BadInput(
                f"sizes: {word!r} is not a multiple of 512 bytes from 512 B to 64 MiB",
                field="sizes",
            )
        if block in sizes:
            raise BadInput(f"sizes: {word!r} is given twice", field="sizes")
        sizes.append(block)
    return tuple(sorted(sizes))


def _check_room(request: PlanRequest, wish: _Wish) -> None:
    capacity = int(request.drive["identity"]["capacity"])
    if request.target == "block" and wish.length > capacity:
        raise BadInput(
            f"length: {size_text(wish.length)} is more than the drive has ({size_text(capacity)})",
            field="length",
        )
    if request.target == "file" and wish.length > FILE_SHARE * capacity:
        raise BadInput(
            f"length: {size_text(wish.length)} does not fit on the drive ({size_text(capacity)})",
            field="length",
        )


def _notes(wish: _Wish) -> Iterator[str]:
    yield "ATTO-style: made with fio, not directly comparable with ATTO on Windows"
    if wish.data == "zero":
        yield "zeros are written: a drive that compresses or deduplicates is faster than with files"
    if wish.time:
        yield (
            f"each size is moved for {wish.time} s, over the length repeatedly; ATTO moves the "
            "length once"
        )
    elif uneven := [block for block in wish.sizes if wish.length % block]:
        names = ", ".join(binary_text(block) for block in uneven)
        yield f"{names}: whole I/Os only, a little less than the length"
    if wish.write_through:
        yield "write-through: each write waits for the medium, which ATTO's published curves do not"
    possible = [block for block in wish.sizes if not wish.impossible(block)]
    below = [block for block in possible if read_modify_write(block, wish.physical)]
    if below:
        names = ", ".join(binary_text(block) for block in below)
        yield f"writes of {names}: {read_modify_write(below[0], wish.physical)}"


def _steps(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    raw = request.target == "block"
    formats = not raw and request.fs != "keep"
    yield Prepare(
        name="prepare the target",
        seconds=5 if formats else 1,
        destroys=formats or raw,
        target=request.target,
        fs=request.fs,
    )
    yield Fio(
        name="lay out the test area",
        seconds=wish.length / assumed_speed(request.drive),
        bytes_written=wish.length,
        destroys=raw,
        test="layout",
        job=Job(
            rw="write",
            block=next(
                block
                for block in (MIB, 64 * KIB, max(4 * KIB, wish.logical))
                if wish.length % block == 0
            ),
            depth=8,
            threads=1,
            runtime=None,
        ),
        span=Span(size=wish.length),
        pass_no=0,
        data=Data(fill=wish.data),
        recording=Recording(counted=False),
    )
    yield Idle(name="idle at the start", seconds=0, temperature=True)
    for block in wish.sizes:
        for way in WAYS:
            yield _test(request, wish, block, way)
    yield Idle(name="idle at the end", seconds=0, temperature=True)


def _test(request: PlanRequest, wish: _Wish, block: int, way: str) -> Step:
    label = f"{binary_text(block)} {way}"
    reason = wish.impossible(block)
    if reason:
        return Skip(name=label, test=label, reason=reason, direction=way, block=block)
    iops = _IOPS_BOT if request.fact("transport") == "usb-bot" else _IOPS
    speed = min(assumed_speed(request.drive), float(iops * block))
    byte_count = int(speed * wish.time) if wish.time else wish.moved(block)
    return Fio(
        name=label,
        seconds=wish.time + 0.5 if wish.time else byte_count / speed,
        bytes_written=byte_count if way == "write" else 0,
        bytes_read=byte_count if way == "read" else 0,
        destroys=request.target == "block" and way == "write",
        test=label,
        job=Job(
            rw=way,
            block=block,
            depth=wish.depth,
            threads=1,
            runtime=wish.time or None,
            write_through=wish.write_through and way == "write",
        ),
        span=Span(size=wish.moved(block)),
        pass_no=1,
        data=Data(fill=wish.data),
    )


def _labels(plan: Plan) -> dict[tuple[int, str | None], str]:
    """The test of each I/O size and way, in the order of the plan."""
    return {
        (step.job.block if isinstance(step, Fio) else step.block, step.direction): step.test
        for step in plan.steps
        if isinstance(step, Skip) or (isinstance(step, Fio) and step.recording.counted)
    }


def _rows(
    plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """One row for each I/O size that was started, in the order of the plan."""
    physical = int((drive.get("physical_sector") or {}).get("value") or LEAST)
    labels = _labels(plan)
    for block in dict.fromkeys(block for block, _ in labels):
        write = cell(labels[block, "write"], results, read_modify_write(block, physical))
        read = cell(labels[block, "read"], results)
        if write or read:
            yield {"name": binary_text(block), "bytes": block, "write": write, "read": read}


def _headline(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    headline = []
    for way in WAYS:
        valid = [row for row in rows if row[way] and row[way]["mbps"] is not None]
        if valid:
            best = max(valid, key=lambda row: float(row[way]["mbps"]))
            headline.append(
                {"label": f"{way}, best ({best['name']})", "value": best[way]["mbps"],
                 "unit": "MB/s", "reason": best[way]["reason"]}
            )  # fmt: skip
    return headline


def _table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = ["I/O size", "write MB/s", "read MB/s", "write IO/s", "read IO/s", "state"]
    body = []
    for row in rows:
        cells = [row[way] for way in WAYS]
        body.append(
            [
                row["name"],
                *(digits(outcome and outcome["mbps"], 2) for outcome in cells),
                *(digits(outcome and outcome["iops"], 0) for outcome in cells),
                states_text(row, WAYS),
            ]
        )
    return {"title": "ATTO-style", "columns": columns, "rows": body}


def _charts(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    def points(way: str, name: str, factor: float) -> list[tuple[float, float | None]]:
        return [
            (row["bytes"], None if row[way][name] is None else row[way][name] * factor)
            for row in rows
            if row[way]
        ]

    size_axis = axis("I/O size", "B", "log2")
    return [
        chart(
            "Bytes a second over the I/O size",
            size_axis,
            axis("speed", "B/s"),
            [curve(way, points(way, "mbps", 1e6)) for way in WAYS],
        ),
        chart(
            "I/Os a second over the I/O size",
            size_axis,
            axis("I/Os a second", "IO/s"),
            [curve(way, points(way, "iops", 1.0)) for way in WAYS],
        ),
    ]
