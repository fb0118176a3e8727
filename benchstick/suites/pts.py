"""SNIA's Solid State Storage Performance Test Specification: rounds until steady state.

Source: PTS 2.0.2, as docs/methods/pts.md collects it from SNIA's own pages and from open
implementations; the text of the standard itself was not read. Purge, two sequential fills of the
active range, rounds of one minute a cell until the five-round rule is met or 25 rounds are over.
From memory: threads and requests outstanding, the tracking variable of the latency test, the end
of WSAT after six hours. Ours: the active range is the first part of the drive in one piece, in
place of 2048 segments; the tracking variable of the throughput test; one thread there; the
numbers of the preset `reduced`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchstick.analysis.ncq_verdict import waits_in_kernel
from benchstick.analysis.steady import MOST_ROUNDS, WINDOW
from benchstick.errors import BadInput
from benchstick.plan.params import AUTO, Param, choice, or_auto, size, whole, wholes
from benchstick.plan.quantity import ResultKey
from benchstick.plan.result import Result
from benchstick.plan.steps import (
    Fio,
    Idle,
    Job,
    Pauses,
    Plan,
    Prepare,
    Purge,
    Round,
    Skip,
    Span,
    Step,
)
from benchstick.plan.units import KIB, MIB, binary_text, duration_text, size_text
from benchstick.suites import block_device, precondition, pts_result
from benchstick.suites.interface import PlanRequest, RawDrive, SuiteResult

TESTS = ("iops", "throughput", "latency", "wsat", "hir")
REDUCED = pts_result.REDUCED
# WIPC: times the active range is written in order, and the tests that have it.
FILLS, FILLED_TESTS = 2, ("iops", "throughput", "latency")
TRACKED_BLOCK = 4 * KIB
# HIR: seconds of writing in each access, and the waits after it (docs/methods/pts.md).
BUSY, WAITS, LONGEST_WAIT = 5, "5,10,15,25,50", 3600
# Each round reads what was measured so far, and a page shows them all.
MOST_WSAT_ROUNDS = 1440
# fio's own pauses: up to version 3.33 the first period of work lasts for busy and rest together
# (tested); 3.38, which has log_window_value, does not have this error.
_RESTS = ("thinktime_iotime", "log_window_value")


@dataclass(frozen=True)
class Preset:
    """What one kind of PTS asks for; sizes in bytes, `mixes` percent of reads, `seconds` a cell,
    `drive_writes` how many times its capacity WSAT writes the drive in at most `limit` seconds,
    `accesses` of each wait of HIR, `cache` what the drive's write cache should be."""

    range: int
    depth: int
    threads: int
    seconds: int
    blocks: tuple[int, ...]
    mixes: tuple[int, ...]
    sequential: tuple[int, ...]
    latency: tuple[int, ...]
    drive_writes: int
    limit: int
    accesses: int
    cache: str


_BLOCKS = (*(at * KIB for at in (1024, 128, 64, 32, 16, 8, 4)), 512)
_MIXES = (100, 95, 65, 50, 35, 5, 0)
_LATENCY = (8 * KIB, 4 * KIB, 512)
LATENCY_MIXES = (100, 65, 0)
PRESETS = {
    "client": Preset(75, 16, 2, 60, _BLOCKS, _MIXES, (MIB,), _LATENCY, 4, 6 * 3600,
                     360, "on"),
    "enterprise": Preset(100, 32, 4, 60, _BLOCKS, _MIXES, (128 * KIB, MIB),
                         _LATENCY, 4, 6 * 3600, 360, "off"),
    REDUCED: Preset(75, 16, 2, 30, (MIB, 64 * KIB, 4 * KIB), LATENCY_MIXES, (MIB,),
                    (4 * KIB,), 1, 3600, 12, "on"),
}  # fmt: skip


class Pts(RawDrive):
    """The suite `pts`."""

    name = "pts"
    title = "SNIA PTS"
    summary = "Purge, fill, rounds to steady state: IOPS, throughput, latency, saturation, idle."
    params: tuple[Param, ...] = (
        choice("test", TESTS, "iops", "iops, throughput, latency; wsat: write saturation; hir: "
               "host idle recovery"),
        choice("preset", tuple(PRESETS), "client",
               "client, enterprise, or reduced, which is not SNIA-conformant"),
        or_auto(whole("range", 1, 100, 1, "active range in percent of the LBAs")),
        or_auto(size("amount", 1, 1 << 60, 1, "bytes of the active range in use; auto: all of it")),
        or_auto(whole("depth", 1, 256, 1, "requests outstanding a thread")),
        or_auto(whole("threads", 1, 64, 1, "threads")),
        or_auto(whole("time", 1, block_device.MOST_SECONDS, 1, "seconds of each cell of a round")),
        or_auto(whole("rounds", WINDOW, MOST_ROUNDS, 1, "rounds at most")),
        or_auto(whole("limit", 1, block_device.MOST_SECONDS, 1, "wsat: seconds at most")),
        or_auto(whole("accesses", 1, 10_000, 1, "hir: accesses with each wait")),
        wholes("waits", LONGEST_WAIT, 20, WAITS, "number of seconds",
               "hir: seconds of wait after an access, comma-separated"),
        *precondition.PARAMS,
    )  # fmt: skip

    def plan(self, request: PlanRequest) -> Plan:
        """Purge; fill twice; as many rounds as the method allows, most of them seldom needed."""
        wish, start = _Wish.of(request), precondition.beginning(request)
        deviations = tuple(_departs(request, wish, start))
        return start.plan(
            self.name, request, _steps(request, wish, start), _notes(request, wish, deviations),
            wish.state_text, deviations=deviations,
        )  # fmt: skip

    def over(self, plan: Plan, step: Fio, results: Sequence[Result]) -> str | None:
        """Steady state by the rule, or, for WSAT, all required bytes are written."""
        return pts_result.over(plan, step, results)

    def result_keys(self, plan: Plan) -> Iterator[ResultKey]:
        return pts_result.result_keys(plan)

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """Each cell's mean over the five rounds of steady state, and the evidence for it."""
        return pts_result.result(plan, results, drive)


@dataclass(frozen=True)
class _Wish:
    """The parameters with the preset's values filled in; `span` in bytes, `changed` lists what is
    not the preset's."""

    test: str
    preset: Preset
    is_reduced: bool
    span: int
    capacity: int
    depth: int
    threads: int
    time: int
    rounds: int
    limit: int
    accesses: int
    waits: tuple[int, ...]
    logical: int
    changed: tuple[str, ...]

    @staticmethod
    def of(request: PlanRequest) -> _Wish:
        # What is left to the suite is None here.
        params = {name: None if value == AUTO else value for name, value in request.params.items()}
        test, preset = str(params["test"]), PRESETS[str(params["preset"])]
        for name, usual, of in (("limit", None, "wsat"), ("accesses", None, "hir"),
                                ("waits", WAITS, "hir")):  # fmt: skip
            if params[name] != usual and test != of:
                raise BadInput(f"{name}: only with test={of}", field=name)
        for name in ("depth", "threads"):
            if params[name] and test == "latency":
                raise BadInput(f"{name}: the latency test has one request at a time", field=name)
        if params["rounds"] and test == "wsat":
            raise BadInput("rounds: wsat ends after bytes written; see limit", field="rounds")
        capacity = block_device.capacity(request)
        wish = _Wish(
            test=test,
            preset=preset,
            is_reduced=params["preset"] == REDUCED,
            span=_span(params, preset, capacity),
            capacity=capacity,
            depth=1 if test == "latency" else int(params["depth"] or preset.depth),
            threads=1 if test == "latency" else int(params["threads"] or preset.threads),
            time=int(params["time"] or preset.seconds),
            rounds=int(params["rounds"] or MOST_ROUNDS),
            limit=int(params["limit"] or preset.limit),
            accesses=int(params["accesses"] or preset.accesses),
            waits=tuple(int(word) for word in str(params["waits"]).split(",")),
            logical=int(request.fact("logical_sector", 512)),
            changed=tuple(_changed(params, preset)),
        )
        if test == "wsat" and wish.limit < wish.time:
            raise BadInput(
                f"limit: {wish.limit} s are less than one round of {wish.time} s", field="limit"
            )
        if test == "wsat" and wish.limit // wish.time > MOST_WSAT_ROUNDS:
            raise BadInput(
                f"limit: {wish.limit} s are more than {MOST_WSAT_ROUNDS} rounds of {wish.time} s; "
                "give a longer time",
                field="limit",
            )
        return wish

    @property
    def fills(self) -> int:
        return FILLS if self.test in FILLED_TESTS else 0

    @property
    def state_text(self) -> str:
        """The state of the drive after the test's own work."""
        if not self.fills:
            return block_device.NOT_MADE
        fill_text = block_device.filled_text(self.fills, self.span, self.capacity)
        return f"{fill_text}; then by the test itself, round by round"

    def label(self, block: int, mix: int, *, sequential: bool = False) -> str:
        """`RND4K 65:35 Q16T2`, or with `reduced` in front: it must not look like SNIA's result."""
        front = "reduced " if self.is_reduced else ""
        way = "SEQ" if sequential else "RND"
        depth, threads = self.at(sequential)
        text = binary_text(block).removesuffix("iB").replace(" ", "")
        return f"{front}{way}{text} {mix}:{100 - mix} Q{depth}T{threads}"

    def at(self, sequential: bool) -> tuple[int, int]:
        """(depth, threads): one thread alone writes in order."""
        return (self.depth * self.threads, 1) if sequential else (self.depth, self.threads)

    def groups(self) -> Iterator[_Group]:
        """What goes through rounds of its own, each after a purge of its own."""
        preset = self.preset
        if self.test == "throughput":
            for block in preset.sequential:
                text = binary_text(block).removesuffix("iB").replace(" ", "")
                yield _Group(f"SEQ{text}", ((block, 100), (block, 0)), sequential=True)
        elif self.test in ("iops", "latency"):
            blocks = preset.blocks if self.test == "iops" else preset.latency
            mixes = preset.mixes if self.test == "iops" else LATENCY_MIXES
            yield _Group(self.test, tuple((block, mix) for mix in mixes for block in blocks))
        else:
            yield _Group(self.test, ((TRACKED_BLOCK, 0),))


@dataclass(frozen=True)
class _Group:
    """Cells (block in bytes, percent of reads) that go through rounds together."""

    name: str
    cells: tuple[tuple[int, int], ...]
    sequential: bool = False


def _span(params: Mapping[str, Any], preset: Preset, capacity: int) -> int:
    """Bytes that are used, from the first LBA on."""
    active = capacity * int(params["range"] or preset.range) // 100
    amount = int(params["amount"] or 0)
    if amount > active:
        raise BadInput(
            f"amount: {size_text(amount)} is more than the active range of {size_text(active)}",
            field="amount",
        )
    if amount:
        return block_device.whole_blocks(amount, MIB, "amount")
    return block_device.whole_blocks(active, MIB, "range")


def _changed(params: Mapping[str, Any], preset: Preset) -> Iterator[str]:
    """What of the method itself the user changed; depth and threads are the operator's choice."""
    method = {
        "range": (preset.range, "%"), "time": (preset.seconds, "s"), "rounds": (MOST_ROUNDS, ""),
        "limit": (preset.limit, "s"), "accesses": (preset.accesses, ""),
    }  # fmt: skip
    for name, (usual, unit) in method.items():
        if params[name] and params[name] != usual:
            yield f"{name} {params[name]} instead of {usual} {unit}".rstrip()
    if params["waits"] != WAITS:
        yield f"waits {params['waits']} instead of {WAITS} s"
    if params["amount"]:
        yield f"amount {size_text(int(params['amount']))}, not the whole active range"


def _steps(request: PlanRequest, wish: _Wish, start: precondition.Beginning) -> Iterator[Step]:
    yield Prepare(
        name="prepare the target", seconds=1, destroys=True, target="block", fs=request.fs
    )
    yield Idle(name="idle at the start", seconds=0, temperature=True)
    for number, group in enumerate(wish.groups()):
        if number:
            yield from precondition.again(start, request, f"before {group.name}")
        for step in block_device.fills(request, wish.span, wish.fills):
            yield replace(step, name=f"{step.name}, before {group.name}") if number else step
        yield from _skipped(wish, group)
        yield from _rounds(request, wish, group)
        yield Idle(name=f"idle after {group.name}", seconds=0, temperature=True)
    if wish.test == "hir":
        yield from _accesses(request, wish)
        yield Idle(name="idle at the end", seconds=0, temperature=True)


def _skipped(wish: _Wish, group: _Group) -> Iterator[Skip]:
    for block, mix in group.cells:
        if block % wish.logical:
            test = wish.label(block, mix)
            reason = (
                f"{binary_text(block)} is not a whole number of the drive's logical blocks of "
                f"{binary_text(wish.logical)}"
            )
            yield Skip(name=test, test=test, reason=reason, unit="IOPS")


def _rounds(request: PlanRequest, wish: _Wish, group: _Group) -> Iterator[Fio]:
    """Every round that there may be."""
    cells = [cell for cell in group.cells if cell[0] % wish.logical == 0]
    count = wish.limit // wish.time if wish.test == "wsat" else wish.rounds
    enough = wish.preset.drive_writes * wish.capacity if wish.test == "wsat" else 0
    remaining = enough
    for number in range(1, count + 1):
        for block, mix in cells:
            step = _cell(request, wish, block, mix, sequential=group.sequential)
            if enough:
                # At the assumed speed, later rounds do not run.
                step = replace(step, bytes_written=min(step.bytes_written, remaining))
                remaining -= step.bytes_written
            yield replace(
                step,
                name=f"{step.test}, round {number}",
                pass_no=number,
                round=Round(group=group.name, number=number, enough=enough),
            )


def _cell(
    request: PlanRequest,
    wish: _Wish,
    block: int,
    mix: int,
    *,
    sequential: bool = False,
    seconds: float = 0.0,
) -> Fio:
    """One timed test of `wish.time` seconds, or of `seconds`."""
    depth, threads = wish.at(sequential)
    lasts = seconds or wish.time
    rate = block_device.random_rate(request.drive, block, depth * threads)
    test = wish.label(block, mix, sequential=sequential)
    pattern = {100: "read", 0: "write"}.get(mix, "rw")
    return Fio(
        name=test,
        seconds=lasts,
        bytes_written=int(lasts * rate * (100 - mix) / 100),
        bytes_read=int(lasts * rate * mix / 100),
        destroys=mix < 100,
        test=test,
        job=Job(
            rw=pattern if sequential else f"rand{pattern}",
            block=block,
            depth=depth,
            threads=threads,
            runtime=lasts,
            mix=mix if 0 < mix < 100 else None,
        ),
        span=Span(size=wish.span),
        pass_no=1,
    )


def _accesses(request: PlanRequest, wish: _Wish) -> Iterator[Fio]:
    """Host idle recovery: accesses with a wait after each, then as many without one."""
    for wait in wish.waits:
        for rest in (wait, 0):
            step = _cell(request, wish, TRACKED_BLOCK, 0, seconds=wish.accesses * BUSY)
            seconds = wish.accesses * (BUSY + rest)
            how = f"wait {wait} s" if rest else f"no wait after {wait} s"
            yield replace(
                step,
                name=f"{step.test}, {how}",
                test=f"{step.test}, {how}",
                seconds=seconds,
                job=replace(step.job, runtime=seconds, needs=_RESTS if rest else ()),
                pauses=Pauses(busy=BUSY if rest else 0.0, rest=rest),
            )


def _departs(request: PlanRequest, wish: _Wish, start: precondition.Beginning) -> Iterator[str]:
    """Differences from the method, so that the results are not taken for SNIA's."""
    if wish.is_reduced:
        yield "fewer and shorter tests"
    yield from wish.changed
    if not start.fresh:
        yield "no purge that makes the drive fresh"
    if any(isinstance(step, Purge) and step.rung == "discard" for step in start.steps):
        # SNIA names the purges (docs/methods/pts.md); a discard is an approximation.
        yield "purged by discard, not by Sanitize, Format or Security Erase"
    cache = str(request.fact("write_cache", "not known"))
    on = {"enabled": "on", "off": "off", "supported, off": "off", "not supported": "off"}
    if on.get(cache) != wish.preset.cache:
        yield f"write cache {cache} instead of {wish.preset.cache}"


def _notes(request: PlanRequest, wish: _Wish, deviations: Sequence[str]) -> Iterator[str]:
    if deviations:
        name = pts_result.method(str(request.params["preset"]), deviations)
        yield f"{name}: {pts_result.NOT_CONFORMANT}: {'; '.join(deviations)}"
    yield (
        "based on SNIA's public pages on PTS 2.0.2 and on open implementations; the standard "
        "itself was not consulted"
    )
    if wish.test == "wsat":
        yield (
            f"ends when {wish.preset.drive_writes} times the capacity is written, at the latest "
            f"after {duration_text(wish.limit)}"
        )
    else:
        yield f"ends early: at steady state, at the latest after {wish.rounds} rounds"
    share = 100 * wish.span / wish.capacity
    if share < 99.5:
        yield f"active range: the first {share:.1f} % of the LBAs in one piece, no 2048 segments"
    depth = block_device.device_depth(request.drive)
    most = wish.depth * wish.threads
    if waits_in_kernel(most, depth):
        yield f"{most} requests: the drive takes {depth}, the rest wait in the kernel"
