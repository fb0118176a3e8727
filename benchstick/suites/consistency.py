"""Consistency of random writes, second by second.

Source: AnandTech's performance consistency and the MX100 512 GB review, as collected in
docs/methods/consistency.md: all LBAs filled in order, then 2000 s of 4 KiB random writes at QD32,
IOPS and latency by second; the same with spare area by a limited LBA range, over 75 % of the LBAs,
and with 128 KiB without preconditioning. Ours: that the random writes stay in the span that was
filled, the raw NAND that is assumed where it is not stated, and the time until half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.analysis.consistency import LATE
from benchstick.analysis.ncq_verdict import waits_in_kernel
from benchstick.errors import BadInput
from benchstick.plan.params import Param, choice, size, whole
from benchstick.plan.quantity import SPEED, Statistic
from benchstick.plan.result import Result
from benchstick.plan.steps import Fio, Idle, Plan, Prepare, Step, unique_names
from benchstick.plan.units import GIB, KIB, MIB, duration_text, size_text
from benchstick.suites import block_device, precondition
from benchstick.suites.charts import axis, chart
from benchstick.suites.interface import PlanRequest, SuiteResult
from benchstick.suites.per_second import CONSISTENCY, STEADY_PART, BySecond
from benchstick.suites.single_pass import digits

# (block, passes of filling) of each preset.
PRESETS = {"4k": (4 * KIB, 2), "128k": (128 * KIB, 0)}


class Consistency:
    """The suite `consistency`."""

    name = "consistency"
    title = "Write consistency"
    summary = "Random writes at QD32 for 2000 s on a filled drive, IOPS and latency by second."
    default_target = "block"
    default_fs = "keep"
    targets: tuple[str, ...] = ("block",)
    has_scale = False
    params: tuple[Param, ...] = (
        choice("preset", tuple(PRESETS), "4k", "4k: filled twice; 128k: not preconditioned"),
        whole("span", 1, 100, 100, "percent of the LBAs filled and written, from the first"),
        whole("spare", 0, 90, 0, "instead of span: percent of the raw NAND to leave as spare area"),
        size("nand", 0, 1 << 60, 0, "raw NAND of the drive; 0: the next power of two GiB"),
        choice("fills", ("auto", "0", "1", "2", "3", "4"), "auto",
               "times the span is filled in order before; auto: the preset's"),
        whole("time", 1, block_device.MOST_SECONDS, 2000, "seconds of random writes"),
        whole("depth", 1, block_device.MOST_DEPTH, 32, "queue depth"),
        size("block", 0, 16 * MIB, 0, "bytes of each write; 0: the preset's"),
        *precondition.PARAMS,
    )  # fmt: skip

    def plan(self, request: PlanRequest) -> Plan:
        """Purge and take the raw drive, fill the span, then write at random."""
        wish, start = _Wish.of(request), precondition.beginning(request)
        return Plan(
            suite=self.name,
            params=start.params(request),
            target="block",
            fs="keep",
            drive_code=str(request.drive["code"]),
            steps=unique_names((*start.steps, *_steps(request, wish))),
            notes=(*start.notes, *wish.notes(request, start)),
            states=(start.state, wish.state_text),
        )

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """The derived results, and the series of the three charts."""
        step = next(step for step in plan.steps if isinstance(step, Fio) and step.recording.series)
        by_second = BySecond.of(step, results)
        overall = list(by_second.results())
        tables = [
            *by_second.tables(),
            *block_device.fill_tables(results),
            *_latency_tables(step, results),
        ]
        document = {
            "headline": _headline(overall),
            "tables": tables,
            "text": "\n\n".join(block_device.table_text(table) for table in tables),
            "series": [*by_second.speed_lines(), *by_second.latency_lines()],
            "charts": list(_charts(by_second, int(step.job.runtime or 0))),
            "verdicts": [],
        }
        return SuiteResult(results=overall, document=document)


@dataclass(frozen=True)
class _Wish:
    """The parameters with the preset's values filled in; `nand` bytes, None without spare area."""

    block: int
    fills: int
    depth: int
    time: int
    span: int
    capacity: int
    spare: int
    nand: int | None

    @staticmethod
    def of(request: PlanRequest) -> _Wish:
        params = request.params
        preset_block, preset_fills = PRESETS[str(params["preset"])]
        block = int(params["block"]) or preset_block
        capacity = block_device.capacity(request)
        spare = int(params["spare"])
        nand = _nand(int(params["nand"]), capacity) if spare else None
        if nand is None:
            if params["nand"]:
                raise BadInput("nand: only used with spare", field="nand")
            span, field = capacity * int(params["span"]) // 100, "span"
        else:
            span, field = _limited(request, capacity, nand, spare), "spare"
        return _Wish(
            block=block,
            fills=preset_fills if params["fills"] == "auto" else int(params["fills"]),
            depth=int(params["depth"]),
            time=int(params["time"]),
            span=block_device.whole_blocks(span, block, field),
            capacity=capacity,
            spare=spare,
            nand=nand,
        )

    @property
    def test(self) -> str:
        return block_device.label_of(self.block, self.depth, "write")

    @property
    def state_text(self) -> str:
        """The state of the drive after the suite's own work."""
        if not self.fills:
            return block_device.NOT_MADE
        return block_device.filled_text(self.fills, self.span, self.capacity)

    def notes(self, request: PlanRequest, start: precondition.Beginning) -> Iterator[str]:
        share = 100 * self.span / self.capacity
        if not start.fresh:
            yield (
                "the drive was not purged first: its existing data affects the result, most of all "
                "beyond the span"
            )
        if self.nand is not None:
            origin = "as given" if request.params["nand"] else "assumed: the next power of two GiB"
            yield (
                f"{self.spare} % spare area of {size_text(self.nand)} raw NAND ({origin}): "
                f"{size_text(self.span)}, {share:.1f} % of the LBAs"
            )
        elif share < 99.5:
            yield f"filled and written within the first {share:.1f} % of the LBAs"
        depth = block_device.device_depth(request.drive)
        if waits_in_kernel(self.depth, depth):
            yield f"QD{self.depth}: the drive takes {depth} requests, the rest wait in the kernel"
        if self.time <= LATE:
            yield f"{duration_text(self.time)} instead of 2000 s: there is no part from {LATE} s"


def _nand(user_nand: int, capacity: int) -> int:
    """Raw NAND in bytes: as given, else the next power of two GiB (our choice)."""
    if user_nand:
        if user_nand < capacity:
            raise BadInput(
                f"nand: {size_text(user_nand)} is less than the drive's own {size_text(capacity)}",
                field="nand",
            )
        return user_nand
    nand = GIB
    while nand < capacity:
        nand *= 2
    return nand


def _limited(request: PlanRequest, capacity: int, nand: int, spare: int) -> int:
    """Bytes of the LBA range that leaves `spare` % of the NAND unused."""
    if request.params["span"] != 100:
        raise BadInput("span: spare sets the range; give one of the two", field="span")
    span = nand * (100 - spare) // 100
    if span > capacity:
        has = 100 * (1 - capacity / nand)
        raise BadInput(
            f"spare: the drive itself leaves {has:.1f} % of {size_text(nand)} unused; "
            "set a larger spare, or nand",
            field="spare",
        )
    return span


def _steps(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    yield Prepare(
        name="prepare the target", seconds=1, destroys=True, target="block", fs=request.fs
    )
    yield Idle(name="idle at the start", seconds=0, temperature=True)
    if wish.fills:
        yield from block_device.fills(request, wish.span, wish.fills)
        yield Idle(name="idle after filling", seconds=0, temperature=True)
    yield block_device.timed(
        request,
        test=wish.test,
        direction="write",
        block=wish.block,
        depth=wish.depth,
        span=wish.span,
        seconds=wish.time,
        series=True,
    )
    yield Idle(name="idle at the end", seconds=0, temperature=True)


def _charts(by_second: BySecond, seconds: int) -> Iterator[dict[str, Any]]:
    """AnandTech's three: all of it, then the steady part in log and linear scale; and a review's
    latency by second. Their lines are the document's series."""
    speed = [item["name"] for item in by_second.speed_lines()]
    latency = [item["name"] for item in by_second.latency_lines()]
    latency_axis = axis("latency", "us", "log")
    for title, names, begin, y in (
        (f"{by_second.unit} by second, whole run", speed, 0, by_second.speed_axis("log")),
        (f"{by_second.unit} from {LATE} s", speed, LATE, by_second.speed_axis("log")),
        (f"{by_second.unit} from {LATE} s, linear", speed, LATE, by_second.speed_axis("linear")),
        ("Latency by second", latency, 0, latency_axis),
    ):
        if names and begin < seconds:
            yield chart(title, axis("second", "s"), y, names, dots=True, within=(begin, seconds))


def _latency_tables(step: Fio, results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """Percentiles and histogram of completion latency, over the whole test."""
    result = next((item for item in results if item.key == (step.test, SPEED)), None)
    if result is None or "totals" not in result.detail:
        return
    totals = result.detail["totals"]
    percentiles = totals["percentiles_us"]
    yield {
        "title": "Latency of single requests, us",
        "columns": ["mean", *(f"{name} %" for name in percentiles), "max"],
        "rows": [
            [digits(value, 1)
             for value in (totals["latency_us"], *percentiles.values(), totals["max_us"])]
        ],
    }  # fmt: skip
    histogram = totals["histogram_us"].get("write") or []
    count = sum(number for _, number in histogram)
    yield {
        "title": "Histogram of completion latency",
        "columns": ["up to us", "requests", "%"],
        "rows": [
            [str(bound), str(number), f"{100 * number / count:.4f}"] for bound, number in histogram
        ],
    }


def _headline(overall: Sequence[Result]) -> list[dict[str, Any]]:
    """Mean and least of the steady part, or of the whole of a short run, and the evenness."""
    by_part: dict[tuple[str | None, str | None], Result] = {}
    for item in overall:
        if item.value is not None:
            by_part.setdefault((item.quantity.statistic, item.quantity.part), item)
    steady: str | None = STEADY_PART
    if (Statistic.MEAN, steady) not in by_part:
        steady = None
    rows = [(statistic, steady) for statistic in (Statistic.MEAN, Statistic.MIN)]
    items = [(f"{row[0]} {row[1] or ''}".strip(), by_part[row]) for row in rows if row in by_part]
    items += [
        (CONSISTENCY.suffix.strip(), item)
        for item in overall
        if item.quantity == CONSISTENCY and item.value is not None
    ]
    return [
        {"label": label, "value": block_device.round_value(item.value or 0.0, item.unit),
         "unit": item.unit, "state": item.state, "reason": item.reason}
        for label, item in items
    ]  # fmt: skip
