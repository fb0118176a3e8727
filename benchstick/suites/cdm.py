"""CrystalDiskMark-style suite.

Source: CrystalDiskMark 9.0.1's own code (docs/methods/cdm.md): presets, profiles,
order (all reads, all writes, all mixes), one discarded preparing pass a test, passes without a
pause between them, an interval between tests, MB/s as the best pass and latency as the lowest of
the passes' means. Ours: fio instead of DiskSpd, new random data for every block instead of one
buffer repeated, and the mean and spread of the passes in addition to the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.analysis.ncq_verdict import QueueingVerdict, judge_queueing
from benchstick.analysis.statistics import deviation, mean
from benchstick.errors import BadInput
from benchstick.plan.params import Param, choice, flag, size, whole
from benchstick.plan.quantity import IOPS, LATENCY, SPEED, Quantity
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import (
    Data,
    Fio,
    Idle,
    Job,
    Plan,
    Prepare,
    Recording,
    Span,
    Step,
    unique_names,
)
from benchstick.plan.units import GIB, KIB, MIB, binary_text
from benchstick.suites.interface import (
    PlanRequest,
    SuiteResult,
    assumed_speed,
    link_text,
    of_fewer,
    over_all_passes,
)
from benchstick.suites.single_pass import digits, state_text


@dataclass(frozen=True)
class Test:
    """One row of CrystalDiskMark: sequential or random, block in bytes, QnTm."""

    random: bool
    block: int
    queue: int
    threads: int

    @property
    def pattern(self) -> str:
        """`SEQ1M`."""
        size = self.block // MIB
        text = f"{size}M" if size else f"{self.block // KIB}K"
        return f"{'RND' if self.random else 'SEQ'}{text}"

    @property
    def name(self) -> str:
        """`SEQ1M Q8T1`, as CrystalDiskMark writes it."""
        return f"{self.pattern} Q{self.queue}T{self.threads}"

    def label(self, direction: str) -> str:
        """The test in one direction, as steps and results have it: `SEQ1M Q8T1 read`."""
        return f"{self.name} {direction}"


SEQ1M_Q8, SEQ1M_Q1 = Test(False, MIB, 8, 1), Test(False, MIB, 1, 1)
SEQ128K_Q32 = Test(False, 128 * KIB, 32, 1)
RND4K_Q32, RND4K_Q32T16 = Test(True, 4 * KIB, 32, 1), Test(True, 4 * KIB, 32, 16)
RND4K_Q1, RND512K_Q1 = Test(True, 4 * KIB, 1, 1), Test(True, 512 * KIB, 1, 1)


@dataclass(frozen=True)
class Preset:
    """The tests of a preset with its measuring time, interval, passes and size."""

    tests: tuple[Test, ...]
    time: int
    interval: int
    passes: int
    size: int


PRESETS = {
    "default": Preset((SEQ1M_Q8, SEQ1M_Q1, RND4K_Q32, RND4K_Q1), 5, 5, 3, GIB),
    "nvme": Preset((SEQ1M_Q8, SEQ128K_Q32, RND4K_Q32T16, RND4K_Q1), 5, 5, 3, GIB),
    "flash": Preset((SEQ1M_Q8, SEQ1M_Q1, RND4K_Q32, RND4K_Q1), 1, 30, 3, GIB),
    # CrystalDiskMark 3 moved 1000 MB a pass; here each pass is timed like the later versions.
    "cdm3": Preset((SEQ1M_Q1, RND512K_Q1, RND4K_Q1, RND4K_Q32), 5, 5, 5, 1000 * MIB),
}
TIMES = ("auto", *(str(number) for number in (*range(1, 11), 20, 30, 60)))
INTERVALS = ("auto", *(str(number) for number in (0, 1, 3, 5, 10, 30, 60, 180, 300, 600)))
DIRECTIONS = ("read", "write", "mix")


def _profile_tests(preset: str, profile: str) -> tuple[Test, ...]:
    tests = PRESETS[preset].tests
    if profile == "default":
        return tests
    if profile == "peak":
        return (SEQ1M_Q8, RND4K_Q32T16 if preset == "nvme" else RND4K_Q32)
    return (SEQ1M_Q1, RND4K_Q1) if profile == "real" else (SEQ1M_Q8,)


class Cdm:
    """The suite `cdm`."""

    name = "cdm"
    title = "CrystalDiskMark-style"
    summary = "Sequential and random reads and writes at several queue depths, best of the passes."
    default_target = "file"
    default_fs = "keep"
    targets: tuple[str, ...] = ("file", "block")
    has_scale = False
    params: tuple[Param, ...] = (
        choice("preset", tuple(PRESETS), "default", "which tests, as in CrystalDiskMark"),
        choice(
            "profile",
            ("default", "peak", "real", "demo"),
            "default",
            "all tests of the preset, peak, real world, or demo",
        ),
        choice(
            "mix",
            ("no", *(str(share) for share in range(90, 0, -10))),
            "no",
            "also a mixed test with this share of reads in percent",
        ),
        choice("only", ("both", "read"), "both", "read: no timed writes"),
        whole("passes", 0, 9, 0, "counted passes a test, 1 to 9; 0: the preset's"),
        choice("time", TIMES, "auto", "seconds a pass; auto: the preset's"),
        choice("interval", INTERVALS, "auto", "idle seconds between tests; auto: the preset's"),
        size("size", 0, 64 * GIB, 0, "size of the test file, 16 MiB to 64 GiB; 0: the preset's"),
        choice("fill", ("random", "zero"), "random", "what is written"),
        flag("latency_log", False, "keep each second's mean and maximum latency (fio 3.38)"),
    )

    def plan(self, request: PlanRequest) -> Plan:
        """Prepare, lay out the file, then for each direction each test with its passes."""
        wish = _Wish.of(request)
        if request.target == "block" and wish.size > request.drive["identity"]["capacity"]:
            raise BadInput("size: larger than the drive", field="size")
        if request.target == "file" and wish.size > 0.9 * request.drive["identity"]["capacity"]:
            raise BadInput("size: does not fit on the drive", field="size")
        return Plan(
            suite=self.name,
            params=dict(request.params),
            target=request.target,
            fs=request.fs if request.target == "file" else "keep",
            drive_code=str(request.drive["code"]),
            steps=unique_names(_steps(request, wish)),
            notes=wish.notes(request),
        )

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """Best of the passes, CrystalDiskMark's text, the grid and the queueing verdict."""
        tests = _profile_tests(str(plan.params["preset"]), str(plan.params["profile"]))
        labels = cells_of(plan)
        passes = {
            cell: [item for item in results if item.test == label and item.pass_no is not None]
            for cell, label in labels.items()
        }
        overall = [
            item
            for direction in DIRECTIONS
            for test in tests
            if (test, direction) in labels
            for item in _overall(labels[test, direction], test, direction, passes[test, direction])
        ]
        by_test = {row.test: row for row in grid_of(plan, overall)}
        grid = [_grid_row(by_test.get(test, GridRow(test, {}))) for test in tests]
        verdict = _queueing(passes, drive)
        document = {
            "headline": _headline(grid),
            "grid": grid,
            "tables": [_table(grid)],
            "text": report_text(grid, plan),
            "verdicts": [{"name": "Queueing", "state": verdict.state, "text": verdict.text}],
        }
        events = [("contradiction", verdict.text)] if verdict.contradiction else []
        return SuiteResult(results=overall, document=document, events=events)


@dataclass(frozen=True)
class _Wish:
    """The parameters with the preset's values filled in."""

    tests: tuple[Test, ...]
    passes: int
    time: int
    interval: int
    size: int
    fill: str
    directions: tuple[str, ...]
    mix: int | None
    latency_log: bool
    preset: str

    @staticmethod
    def of(request: PlanRequest) -> _Wish:
        params = request.params
        preset = PRESETS[str(params["preset"])]
        mix = None if params["mix"] == "no" else int(params["mix"])
        if params["only"] == "read" and mix is not None:
            raise BadInput("mix: writes, and only=read was asked for", field="mix")
        file_size = int(params["size"]) or preset.size
        if file_size < 16 * MIB or file_size % MIB:
            raise BadInput("size: 16 MiB or more, in whole MiB", field="size")
        directions = ("read",) if params["only"] == "read" else ("read", "write")
        return _Wish(
            tests=_profile_tests(str(params["preset"]), str(params["profile"])),
            passes=int(params["passes"]) or preset.passes,
            time=preset.time if params["time"] == "auto" else int(params["time"]),
            interval=preset.interval if params["interval"] == "auto" else int(params["interval"]),
            size=file_size,
            fill=str(params["fill"]),
            directions=(*directions, "mix") if mix is not None else directions,
            mix=mix,
            latency_log=bool(params["latency_log"]),
            preset=str(params["preset"]),
        )

    def notes(self, request: PlanRequest) -> tuple[str, ...]:
        notes = [
            "CrystalDiskMark-style: made with fio, not directly comparable with CrystalDiskMark on "
            "Windows"
        ]
        if self.preset == "cdm3":
            notes.append("CrystalDiskMark 3 moved a fixed size a pass; here each pass is timed")
        if request.target == "block" and self.directions == ("read",):
            notes.append("nothing was written before: areas never written may answer too fast")
        return tuple(notes)


def _steps(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    read_only = request.target == "block" and wish.directions == ("read",)
    formats = request.target == "file" and request.fs != "keep"
    yield Prepare(
        name="prepare the target",
        seconds=5 if formats else 1,
        destroys=formats or (request.target == "block" and not read_only),
        target=request.target,
        fs=request.fs,
    )
    speed = assumed_speed(request.drive)
    if not read_only:
        yield Fio(
            name="lay out the test area",
            seconds=wish.size / speed,
            bytes_written=wish.size,
            destroys=request.target == "block",
            test="layout",
            job=Job(rw="write", block=MIB, depth=8, threads=1, runtime=None),
            span=Span(size=wish.size),
            pass_no=0,
            data=Data(fill=wish.fill),
            recording=Recording(counted=False),
        )
    for direction in wish.directions:
        for test in wish.tests:
            label = test.label(direction)
            yield Idle(name=f"idle before {label}", seconds=wish.interval, temperature=True)
            for number in range(wish.passes + 1):
                yield _pass(request, wish, test, direction, number, speed)
    yield Idle(name="idle at the end", seconds=0, temperature=True)


def _pass(
    request: PlanRequest, wish: _Wish, test: Test, direction: str, number: int, speed: float
) -> Fio:
    label = test.label(direction)
    byte_count = int(wish.time * (min(speed, 20e6 * test.queue) if test.random else speed))
    write_share = {"read": 0.0, "write": 1.0, "mix": 1 - (wish.mix or 0) / 100}[direction]
    pattern = {"read": "read", "write": "write", "mix": "rw"}[direction]
    return Fio(
        name=f"{label}, preparing pass" if number == 0 else f"{label}, pass {number}",
        seconds=wish.time + 0.5,
        bytes_written=int(byte_count * write_share),
        bytes_read=int(byte_count * (1 - write_share)),
        destroys=request.target == "block" and direction != "read",
        test=label,
        job=Job(
            rw=f"rand{pattern}" if test.random else pattern,
            block=test.block,
            depth=test.queue,
            threads=test.threads,
            runtime=wish.time,
            mix=wish.mix if direction == "mix" else None,
            needs=("log_window_value",) if wish.latency_log and number > 0 else (),
        ),
        span=Span(size=wish.size),
        pass_no=number,
        data=Data(fill=wish.fill),
        recording=Recording(counted=number > 0, latency_log=wish.latency_log and number > 0),
    )


Cell = tuple[Test, str]


def cells_of(plan: Plan) -> dict[Cell, str]:
    """What the plan measures: the label of its steps, by CrystalDiskMark's test and direction."""
    return {
        (_test_of(step), step.direction): step.test
        for step in plan.steps
        if isinstance(step, Fio) and step.recording.counted
    }


def _test_of(step: Fio) -> Test:
    return Test(step.job.rw.startswith("rand"), step.job.block, step.job.depth, step.job.threads)


def _values(passes: Sequence[Result], quantity: Quantity) -> list[float]:
    """The valid values of the single passes, in order."""
    return [
        item.value
        for item in passes
        if item.quantity == quantity and item.is_valid and item.value is not None
    ]


def _overall(label: str, test: Test, direction: str, results: Sequence[Result]) -> Iterator[Result]:
    """The results over all passes: MB/s is the best, latency the lowest mean; with the spread."""
    passes = [item for item in results if item.quantity == SPEED]
    if not passes:
        return
    speeds = _values(results, SPEED)
    latencies = _values(results, LATENCY)
    state, reason = Validity.VALID, of_fewer(passes)
    if not speeds:
        bad = next(item for item in passes if not item.is_valid)
        state, reason = bad.state, bad.reason
    best = max(speeds) if speeds else None
    iops = [speed * 1e6 / test.block for speed in speeds]
    rows = (
        (SPEED, best, "MB/s", speeds),
        (IOPS, None if best is None else best * 1e6 / test.block, "IOPS", iops),
        (LATENCY, min(latencies) if latencies else None, "us", latencies),
    )
    yield from over_all_passes(
        label,
        [
            (label, quantity, value, unit,
             {"mean": mean(values), "stdev": deviation(values), "passes": values})
            for quantity, value, unit, values in rows
        ],
        state,
        reason,
        direction,
    )  # fmt: skip


@dataclass(frozen=True)
class GridCell:
    """A test in one direction: its results over all passes, and the speed of each pass by its
    number."""

    label: str
    speed: Result
    iops: Result | None
    latency: Result | None
    passes: Mapping[int, Result]

    @property
    def mean(self) -> float | None:
        """MB/s, of the valid passes."""
        return self._detail("mean")

    @property
    def stdev(self) -> float | None:
        return self._detail("stdev")

    def _detail(self, name: str) -> float | None:
        # The detail of an imported run may have anything.
        value = self.speed.detail.get(name)
        return value if isinstance(value, int | float) else None


@dataclass(frozen=True)
class GridRow:
    """A row of CrystalDiskMark's grid; a direction that was not started has no cell."""

    test: Test
    cells: Mapping[str, GridCell]

    @property
    def has_mix(self) -> bool:
        return "mix" in self.cells


def grid_of(plan: Plan, results: Sequence[Result]) -> list[GridRow]:
    """The grid of a run's results, in the order of the plan."""
    rows: dict[Test, dict[str, GridCell]] = {}
    for (test, direction), label in cells_of(plan).items():
        own = [item for item in results if item.test == label]
        overall = {item.quantity: item for item in own if item.pass_no is None}
        row = rows.setdefault(test, {})
        if SPEED in overall:
            row[direction] = GridCell(
                label, overall[SPEED], overall.get(IOPS), overall.get(LATENCY),
                {item.pass_no: item for item in own
                 if item.pass_no is not None and item.quantity == SPEED},
            )  # fmt: skip
    return [GridRow(test, cells) for test, cells in rows.items()]


def _grid_row(row: GridRow) -> dict[str, Any]:
    """The row as in the result's document."""
    test = row.test

    def cell_document(direction: str) -> dict[str, Any] | None:
        cell = row.cells.get(direction)
        if cell is None:
            return None
        return {
            "mbps": cell.speed.value,
            "mean": cell.mean,
            "stdev": cell.stdev,
            "passes": cell.speed.detail["passes"],
            "iops": None if cell.iops is None else cell.iops.value,
            "us": None if cell.latency is None else cell.latency.value,
            "state": cell.speed.state,
            "reason": cell.speed.reason,
        }

    return {
        "test": test.name,
        "random": test.random,
        "block": test.block,
        "queue": test.queue,
        "threads": test.threads,
        **{direction: cell_document(direction) for direction in DIRECTIONS},
    }


def _headline(grid: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not grid:
        return []
    first = grid[0]
    return [
        {
            "label": f"{first['test']} {way}",
            "value": first[way]["mbps"],
            "unit": "MB/s",
            "reason": first[way]["reason"],
        }
        for way in ("read", "write")
        if first[way] is not None
    ]


def _table(grid: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [
        [
            row["test"], way, digits(cell["mbps"], 1), digits(cell["mean"], 1),
            digits(cell["stdev"], 1), digits(cell["iops"], 0), digits(cell["us"], 1),
            state_text(cell),
        ]
        for row in grid
        for way in DIRECTIONS
        if (cell := row[way]) is not None
    ]  # fmt: skip
    columns = ["test", "", "MB/s (best)", "mean", "spread", "IOPS", "latency us", "state"]
    return {"title": "CrystalDiskMark-style", "columns": columns, "rows": rows}


def report_text(grid: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """CrystalDiskMark's text output, one line a test in its line shape."""
    lines = []
    for direction in DIRECTIONS:
        cells = [(row, row[direction]) for row in grid if row[direction] is not None]
        if not cells:
            continue
        title = direction.capitalize()
        if direction == "mix":
            title = f"Mix: R{plan.params['mix']}%/W{100 - int(plan.params['mix'])}%"
        lines.append(f"[{title}]")
        lines += [_text_line(row, cell) for row, cell in cells]
        lines.append("")
    return "\n".join(lines).rstrip()


def _text_line(row: Mapping[str, Any], cell: Mapping[str, Any]) -> str:
    kind = "RND" if row["random"] else "SEQ"
    block = binary_text(row["block"]).replace(" ", "")
    head = f"  {kind} {block:>7} (Q={row['queue']:>3}, T={row['threads']:>2}):"
    if cell["mbps"] is None:
        return f"{head} {cell['state']}: {cell['reason']}"
    latency = "-" if cell["us"] is None else f"{cell['us']:.2f}"
    fewer = f" ({cell['reason']})" if cell["reason"] else ""
    return f"{head} {cell['mbps']:>9.3f} MB/s [{cell['iops']:>9.1f} IOPS] <{latency:>9} us>{fewer}"


def _queueing(passes: Mapping[Cell, Sequence[Result]], drive: Mapping[str, Any]) -> QueueingVerdict:
    """From random reads, Q32 against Q1; the best passes of both."""

    def values(test: Test) -> list[float]:
        return _values(passes.get((test, "read"), ()), IOPS)

    deep, single = values(RND4K_Q32) or values(RND4K_Q32T16), values(RND4K_Q1)

    def fact(name: str) -> Any:
        entry = drive.get(name)
        return entry.get("value") if isinstance(entry, Mapping) else None

    depth = fact("queue_depth")
    return judge_queueing(
        max(single, default=None),
        max(deep, default=None),
        queue_depth=int(depth) if isinstance(depth, int) else None,
        driver=link_text(drive),
        rotational=fact("rotational"),
    )
