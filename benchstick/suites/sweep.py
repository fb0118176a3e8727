"""4 KiB random reads, a 70/30 mix and writes at queue depths from 1 to 256.

Source: fio tests "FOB" and "steady state" of a review, collected in docs/methods/consistency.md.
Ours: 30 s a depth and the order read, mix, write (neither is stated), QD32 for the six hours of
writing before the steady state, and that a depth above the drive's own is marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchstick.analysis.ncq_verdict import waits_in_kernel
from benchstick.errors import BadInput
from benchstick.plan.params import Param, choice, size, whole, wholes
from benchstick.plan.quantity import (
    IOPS,
    LATENCY,
    LATENCY_MAX,
    SPEED,
    Quantity,
    latency_percentile,
)
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import Fio, Idle, Plan, Prepare, Step
from benchstick.plan.units import KIB, MIB
from benchstick.suites import block_device, precondition
from benchstick.suites.charts import axis, chart, curve
from benchstick.suites.interface import PlanRequest, RawDrive, SuiteResult, over_all_passes
from benchstick.suites.per_second import BySecond
from benchstick.suites.single_pass import digits, state_text

# Each writing step leaves its traces for the next one: reads first, all writes last.
ORDER = ("read", "mix", "write")
DEPTHS = "1,2,4,8,16,32,64,128,256"
SOAK_DEPTH = 32
# Defaults: times filled and seconds of random writes before the steady state, percent of reads.
FILLS, SOAK, MIX = 2, 6 * 3600, "70"
FOB, STEADY, BOTH = "fob", "steady", "both"
# Results over all passes of a depth, by what follows the test's name.
_KINDS = (
    (IOPS, "IOPS"), (SPEED, "MB/s"), (LATENCY, "us"), (latency_percentile(99.9), "us"),
    (LATENCY_MAX, "us"),
)  # fmt: skip


class Sweep(RawDrive):
    """The suite `sweep`."""

    name = "sweep"
    title = "Queue depth sweep"
    summary = "4K random read, 70/30 and write at queue depths 1 to 256, as found or steady."
    params: tuple[Param, ...] = (
        choice("state", (FOB, STEADY, BOTH), FOB,
               "fob: without preconditioning; steady: filled, then written at random for hours; "
               "both: one after the other, in the same charts"),
        choice("only", ("all", "read"), "all", "read: no mix and no writes"),
        wholes("depths", block_device.MOST_DEPTH, 32, DEPTHS, "queue depth",
               "queue depths in the order of the test, comma-separated"),
        whole("time", 1, block_device.MOST_SECONDS, 30, "seconds a depth"),
        choice("mix", tuple(str(share) for share in range(90, 0, -10)), MIX,
               "share of reads in the mix, in percent"),
        size("block", 4 * KIB, 16 * MIB, 4 * KIB, "bytes of each read and write"),
        whole("span", 1, 100, 100, "percent of the LBAs, from the first"),
        whole("fills", 0, 10, FILLS, "steady: times the span is filled in order"),
        whole("soak", 0, block_device.MOST_SECONDS, SOAK,
              "steady: seconds of random writes after filling"),
        *precondition.PARAMS,
    )  # fmt: skip

    def plan(self, request: PlanRequest) -> Plan:
        """Purge and take the raw drive, make its state, then all depths of each direction."""
        wish = _Wish.of(request)
        start = precondition.beginning(request, writes=wish.writes)
        notes = wish.notes(request, start)
        return start.plan(self.name, request, _steps(request, wish), notes, *wish.state_texts())

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """A row for each direction and depth, and the lines of the chart."""
        rows = [
            row
            for step in plan.steps
            if isinstance(step, Fio) and step.job.runtime is not None and not step.recording.series
            if (row := _row(step, results, drive)) is not None
        ]
        overall = [item for row in rows for item in _overall(row, _state(plan, row, results))]
        soaks = [
            BySecond.of(step, results)
            for step in plan.steps
            if isinstance(step, Fio) and step.recording.series
        ]
        tables = [
            *([_table(rows)] if rows else []),
            *block_device.fill_tables(results),
            *(table for soak in soaks for table in soak.tables()),
        ]
        charts = list(_charts(rows, drive))
        for soak in soaks:
            overall += soak.results()
            charts += _soak_charts(soak)
        document = {
            "headline": _headline(rows),
            "tables": tables,
            "text": "\n\n".join(block_device.table_text(table) for table in tables),
            "charts": charts,
            "verdicts": [],
        }
        return SuiteResult(results=overall, document=document)


@dataclass(frozen=True)
class _Wish:
    """The parameters; `span` in bytes."""

    state_asked: str
    directions: tuple[str, ...]
    depths: tuple[int, ...]
    time: int
    mix: int
    block: int
    span: int
    capacity: int
    fills: int
    soak: int

    @staticmethod
    def of(request: PlanRequest) -> _Wish:
        params = request.params
        steady = params["state"] != FOB
        for name, default in (("fills", FILLS), ("soak", SOAK)):
            if not steady and params[name] != default:
                raise BadInput(f"{name}: only with state=steady or state=both", field=name)
        if params["only"] == "read" and params["mix"] != MIX:
            raise BadInput("mix: writes, and only=read was asked for", field="mix")
        if steady and not params["fills"] and not params["soak"]:
            raise BadInput("fills: steady without filling and random writes is fob", field="fills")
        capacity, block = block_device.capacity(request), int(params["block"])
        return _Wish(
            state_asked=str(params["state"]),
            directions=ORDER if params["only"] == "all" else ("read",),
            depths=tuple(int(word) for word in str(params["depths"]).split(",")),
            time=int(params["time"]),
            mix=int(params["mix"]),
            block=block,
            span=block_device.whole_blocks(capacity * int(params["span"]) // 100, block, "span"),
            capacity=capacity,
            fills=int(params["fills"]) if steady else 0,
            soak=int(params["soak"]) if steady else 0,
        )

    @property
    def writes(self) -> bool:
        return bool(self.fills or self.soak or "write" in self.directions)

    def state_texts(self) -> Iterator[str]:
        """The drive's state by the suite's own work: for the part before preconditioning, then for
        the steady one."""
        if self.state_asked != STEADY:
            yield block_device.NOT_MADE
        if self.fills:
            yield block_device.filled_text(self.fills, self.span, self.capacity)
        if self.soak:
            yield block_device.soak_text(self.block, SOAK_DEPTH, self.soak)

    def notes(self, request: PlanRequest, start: precondition.Beginning) -> Iterator[str]:
        if self.state_asked != STEADY and not start.fresh:
            yield "fob is recorded as found: the drive was not purged first"
        if not self.fills or self.state_asked == BOTH:
            of = "fob reads" if self.state_asked == BOTH else "reads"
            yield f"{of} are not of what this run wrote: areas never written may answer too fast"
        if len(self.directions) > 1:
            yield "order read, mix, write: each writing step leaves its traces for the next one"
        depth = block_device.device_depth(request.drive)
        above = [number for number in self.depths if waits_in_kernel(number, depth)]
        if above:
            yield (
                f"QD{', QD'.join(str(number) for number in above)}: the drive takes {depth} "
                "requests, the rest wait in the kernel"
            )


def _steps(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    yield Prepare(
        name="prepare the target", seconds=1, destroys=wish.writes, target="block", fs=request.fs
    )
    yield Idle(name="idle at the start", seconds=0, temperature=True)
    both = wish.state_asked == BOTH
    if wish.state_asked != STEADY:
        yield from _depth_steps(
            request, wish, FOB if both else "", state=block_device.NOT_MADE if both else None
        )
    if wish.fills:
        yield from block_device.fills(request, wish.span, wish.fills)
        yield Idle(name="idle after filling", seconds=0, temperature=True)
    if wish.soak:
        yield block_device.timed(
            request,
            test=f"precondition {block_device.label_of(wish.block, SOAK_DEPTH, 'write')}",
            direction="write",
            block=wish.block,
            depth=SOAK_DEPTH,
            span=wish.span,
            seconds=wish.soak,
            series=True,
            state=(
                block_device.filled_text(wish.fills, wish.span, wish.capacity)
                if wish.fills
                else block_device.NOT_MADE
            ),
        )
        yield Idle(name="idle after preconditioning", seconds=0, temperature=True)
    if wish.state_asked != FOB:
        steady = "; ".join(item for item in wish.state_texts() if item != block_device.NOT_MADE)
        yield from _depth_steps(
            request, wish, STEADY if both else "", state=steady if both else None
        )


def _depth_steps(
    request: PlanRequest, wish: _Wish, part: str, *, state: str | None
) -> Iterator[Step]:
    """All depths of each direction; in a run with both states `part` is one of them, and `state`
    describes it."""
    label = f"{part} " if part else ""
    for direction in wish.directions:
        for depth in wish.depths:
            yield block_device.timed(
                request,
                test=label + block_device.label_of(wish.block, depth, direction),
                direction=direction,
                block=wish.block,
                depth=depth,
                span=wish.span,
                seconds=wish.time,
                mix=wish.mix,
                state=state,
                part=part,
            )
        yield Idle(name=f"idle after {label}{direction}", seconds=0, temperature=True)


def _state(plan: Plan, row: Mapping[str, Any], results: Sequence[Result]) -> str:
    """The drive's state in which the row was measured."""
    start_state, *states = plan.states
    if row["part"] == FOB:
        states = [block_device.NOT_MADE]
    elif row["part"] == STEADY:
        states.remove(block_device.NOT_MADE)
    return precondition.state_told(replace(plan, states=(start_state, *states)), results)


def _row(step: Fio, results: Sequence[Result], drive: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was measured at one depth; None before it was."""
    by_quantity = {item.quantity: item for item in results if item.step == step.name}
    speed = by_quantity.get(SPEED)
    if speed is None:
        return None
    depth = block_device.device_depth(drive)
    return {
        "test": step.test,
        "direction": step.direction,
        "part": step.part or None,
        "depth": step.job.depth,
        "drive_depth": depth,
        "waits_in_kernel": waits_in_kernel(step.job.depth, depth),
        "inflight": speed.detail.get("inflight_median"),
        "state": speed.state,
        "reason": speed.reason,
        "values": {kind: by_quantity[kind].value for kind, _ in _KINDS if kind in by_quantity},
    }


def _overall(row: Mapping[str, Any], state: str) -> Iterator[Result]:
    detail = {
        "queue": {
            "requested": row["depth"],
            "drive": row["drive_depth"],
            "waits_in_kernel": row["waits_in_kernel"],
        },
        "inflight_median": row["inflight"],
        "drive_state": state,
    }
    valid = row["state"] == Validity.VALID
    yield from over_all_passes(
        row["test"],
        [
            (row["test"], kind, row["values"][kind] if valid else None, unit, detail)
            for kind, unit in _KINDS
            if kind in row["values"]
        ],
        row["state"],
        row["reason"],
        row["direction"],
    )


def _queue_text(row: Mapping[str, Any]) -> str:
    if row["waits_in_kernel"] is None:
        return "drive's depth not known"
    if row["waits_in_kernel"]:
        return f"in the kernel above {row['drive_depth']}"
    return "in the drive"


def _table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    places = {SPEED: 1, IOPS: 0}
    lines = [
        [
            row["test"],
            *(digits(row["values"].get(kind), places.get(kind, 1)) for kind, _ in _KINDS),
            digits(row["inflight"]),
            _queue_text(row),
            state_text(row),
        ]
        for row in rows
    ]
    columns = ["test", "IOPS", "MB/s", "latency us", "99.9 %", "max", "in flight", "queued",
               "state"]  # fmt: skip
    return {"title": "Queue depth sweep", "columns": columns, "rows": lines}


def _points(
    rows: Sequence[Mapping[str, Any]], direction: str, kind: Quantity
) -> list[tuple[int, float, str]]:
    """(depth, value, test) of the valid rows of a direction."""
    return [
        (row["depth"], row["values"][kind], row["test"])
        for row in rows
        if row["direction"] == direction
        and row["state"] == Validity.VALID
        and kind in row["values"]
    ]


def _parts(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The rows of each state."""
    names = dict.fromkeys(row["part"] for row in rows)
    return [[row for row in rows if row["part"] == name] for name in names]


def _headline(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The highest IOPS of each direction and state, with the depth that gave it."""
    headline = []
    for part in _parts(rows):
        for direction in ORDER:
            points = _points(part, direction, IOPS)
            if points:
                _, value, test = max(points, key=lambda point: point[1])
                best = block_device.round_value(value, "IOPS")
                headline.append({"label": test, "value": best, "unit": "IOPS", "reason": None})
    return headline


def _charts(
    rows: Sequence[Mapping[str, Any]], drive: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """IOPS and latency over the queue depth: a line for each direction; in a run with both states a
    chart for each direction, with a line for each state."""
    most = block_device.device_depth(drive)
    for kind, title, y in (
        (IOPS, "IOPS by queue depth", axis("IOPS", "IOPS")),
        (LATENCY, "Latency by queue depth", axis("latency", "us", "log")),
    ):
        points = {
            (direction, part[0]["part"]): sorted(
                (depth, value) for depth, value, _ in _points(part, direction, kind)
            )
            for direction in ORDER
            for part in _parts(rows)
        }
        charts: dict[str, dict[str, list[tuple[int, float]]]] = {}
        for (direction, name), line_points in points.items():
            if line_points:
                of = title if name is None else f"{title}, {direction}"
                charts.setdefault(of, {})[name or direction] = line_points
        for heading, lines in charts.items():
            depths = [depth for line_points in lines.values() for depth, _ in line_points]
            above = None
            if any(waits_in_kernel(depth, most) for depth in depths):
                above = {"x": most, "label": f"above {most}: waiting in the kernel"}
            yield chart(
                heading,
                axis("queue depth", "", "log2"),
                y,
                [curve(name, line_points) for name, line_points in lines.items()],
                mark_above=above,
            )


def _soak_charts(soak: BySecond) -> Iterator[dict[str, Any]]:
    """The way to the steady state, second by second."""
    lines = soak.speed_lines()
    if lines:
        yield chart(
            f"{soak.unit} by second, preconditioning",
            axis("second", "s"),
            soak.speed_axis("log"),
            lines,
            dots=True,
            within=(0, int(soak.step.job.runtime or 0)),
        )
