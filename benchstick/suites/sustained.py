"""The whole drive written once: speed by position and by time, cache knee, slow-downs, recovery.

Source: docs/methods/sustained.md. It is the fill that reviewers of portable SSDs show as a chart.
The pauses are ours: 2 s after every 5 %; only then the temperature is read. Also our choice are the
defaults (1 MiB blocks at depth 8), the definitions of knee, slow-down and folding
(analysis/cache_knee.py, slowdowns.py, folding.py), and the bursts after idle times.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchstick.analysis.cache_knee import CacheKnees, find_knees
from benchstick.analysis.change_points import Interval, SampleLike, of_writing
from benchstick.analysis.folding import Folding, find_folding
from benchstick.analysis.idle_recovery import Burst, IdleRecovery, judge_recovery
from benchstick.analysis.slowdowns import SlowDowns, find_slow_downs
from benchstick.errors import BadInput
from benchstick.plan.params import Param, choice, size, text, whole
from benchstick.plan.quantity import SHARE, SIZE, SPEED, ResultKey
from benchstick.plan.result import Result
from benchstick.plan.states import KneeState, RecoveryState, SlowDownState, Validity
from benchstick.plan.steps import Fio, Idle, Job, Plan, Prepare, Span, Step
from benchstick.plan.units import GIB, KIB, MIB, duration_text, parse_size, size_text
from benchstick.suites import precondition
from benchstick.suites.interface import (
    PlanRequest,
    RawDrive,
    Recorded,
    Row,
    SuiteResult,
    assumed_speed,
    of_fewer,
    over_all_passes,
)
from benchstick.suites.sustained_charts import END_IDLE, charts

PARTS = 20
BLOCKS = {"1m": MIB, "128k": 128 * KIB}
LEAST_SPAN = 64 * MIB
# Idle seconds before the bursts (our choice).
RECOVERY = (30, 300, 1800)
LONGEST_IDLE = 24 * 3600
# Parts of the plan: the fill, and the bursts after idle times.
FILL, BURST = "fill", "burst"


class Sustained(RawDrive):
    """The suite `sustained`."""

    name = "sustained"
    title = "Sustained write (whole drive)"
    summary = "Writes the whole drive once; finds the cache knee, slow-downs, recovery after idle."
    params: tuple[Param, ...] = (
        text("span", "100%", "how much from the start of the drive: a share or a size"),
        choice("block", tuple(BLOCKS), "1m", "bytes of each write"),
        whole("depth", 1, 256, 8, "writes outstanding"),
        whole("pause", 0, 600, 2, "idle seconds after every 5 %, 2 or more; 0: no pauses"),
        text("recovery", "no", "idle seconds before a burst, comma-separated; yes: 30,300,1800"),
        size("burst", MIB, 64 * GIB, 4 * GIB, "bytes of a burst after an idle time, at most"),
        *precondition.PARAMS,
    )

    def plan(self, request: PlanRequest) -> Plan:
        """Purge and take the drive, write it in 20 parts with pauses, then the bursts."""
        wish, start = _Wish.of(request), precondition.beginning(request)
        return start.plan(self.name, request, _steps(request, wish), wish.notes(start))

    def result_keys(self, plan: Plan) -> tuple[ResultKey, ...]:
        return RESULT_KEYS

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """The speeds of the parts alone: knee and slow-downs need the record."""
        return self.result_of_record(plan, results, drive, Recorded())

    def result_of_record(
        self,
        plan: Plan,
        results: Sequence[Result],
        drive: Mapping[str, Any],
        record: Recorded,
    ) -> SuiteResult:
        """Mean, slowest part, knees, slow-downs and recovery, of what was written so far."""
        parts = _part_results(plan, results)
        series = fill_series(plan, results, record.samples)
        knees = find_knees(series, ends_whole=True)
        slow = find_slow_downs(series, record.temperatures, ends_whole=True)
        folding = find_folding(series, knees, slow)
        recovery = _recovery(plan, results, knees)
        overall = _overall(parts, len(_writes(plan, FILL)), knees, slow)
        document = {
            "headline": _headline(overall),
            "tables": [_table(parts)],
            "text": _text(overall, knees, slow, folding, recovery),
            "verdicts": _verdicts(knees, slow, folding, recovery),
            "knees": knees.to_json(),
            "slow_downs": slow.to_json(),
            "folding": folding.to_json(),
            "recovery": None if recovery is None else recovery.to_json(),
            "charts": list(charts(series, knees, slow, record.temperatures)),
        }
        is_slower = slow.state in (SlowDownState.SLOWDOWN, SlowDownState.THROTTLING)
        events = [(slow.state, slow.text)] if is_slower else []
        return SuiteResult(results=overall, document=document, events=events)


# Tests over the whole fill.
SUSTAINED, KNEE = "sustained write", "cache knee"
BEFORE_KNEE, AFTER_KNEE = "before the knee", "after the knee"
_MEAN, _SLOWEST = ResultKey(SUSTAINED, SPEED), ResultKey("slowest part", SPEED)
_DEEPEST = ResultKey("deepest slow-down", SHARE)
# Limits can be set for so many knees.
_MOST_KNEES = 9


def _knee_results(number: int) -> tuple[ResultKey, ResultKey, ResultKey]:
    """Of a knee (from 1 on): where it is, and the speeds before and after it."""
    of = "" if number == 1 else f" {number}"
    return (
        ResultKey(f"{KNEE}{of}", SIZE),
        ResultKey(f"{BEFORE_KNEE}{of}", SPEED),
        ResultKey(f"{AFTER_KNEE}{of}", SPEED),
    )


# The results over the whole fill.
RESULT_KEYS = (
    _MEAN, _SLOWEST, _DEEPEST,
    *(key for number in range(1, _MOST_KNEES + 1) for key in _knee_results(number)),
)  # fmt: skip


@dataclass(frozen=True)
class _Wish:
    """The parameters, checked against the drive: bytes, and idle seconds before each burst."""

    span: int
    capacity: int
    block: int
    depth: int
    pause: int
    idles: tuple[int, ...]
    burst: int

    @staticmethod
    def of(request: PlanRequest) -> _Wish:
        params = request.params
        block = BLOCKS[str(params["block"])]
        capacity = int(request.drive["identity"]["capacity"])
        span = _span(str(params["span"]), capacity) // block * block
        pause = int(params["pause"])
        if pause == 1:
            # With one sample a second, a pause of one second may lie across two of them.
            raise BadInput("pause: 2 s or more, or 0 for no pauses", field="pause")
        burst = min(int(params["burst"]), span) // block * block
        idles = _idles(str(params["recovery"]))
        if idles and burst == 0:
            raise BadInput("burst: less than one block", field="burst")
        return _Wish(
            span=span,
            capacity=capacity,
            block=block,
            depth=int(params["depth"]),
            pause=pause,
            idles=idles,
            burst=burst,
        )

    def notes(self, start: precondition.Beginning) -> tuple[str, ...]:
        notes = []
        if not start.fresh:
            notes.append("the drive was not purged first: part of its cache may have been in use")
        rest = self.capacity - self.span
        if rest >= self.block:
            notes.append(f"the last {size_text(rest)} of the drive were not written")
        if self.pause == 0:
            notes.append("no pauses: the temperature was read before and after only")
        return tuple(notes)


def _span(setting: str, capacity: int) -> int:
    """Bytes to write, from `75%` or `64GiB`. BadInput when it is nothing or more than there is."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", setting)
    if match:
        share = float(match[1])
        if not 0 < share <= 100:
            raise BadInput(f"span: {setting!r} is not more than 0 and at most 100 %", field="span")
        span = int(capacity * share / 100)
    else:
        span = parse_size(setting, "span")
    if span > capacity:
        raise BadInput(
            f"span: {setting!r} is more than the drive has ({size_text(capacity)})", field="span"
        )
    if span < LEAST_SPAN:
        raise BadInput(
            f"span: {setting!r} of this drive is {size_text(span)}, at least "
            f"{size_text(LEAST_SPAN)} must be written",
            field="span",
        )
    return span


def _idles(setting: str) -> tuple[int, ...]:
    """Idle seconds before the bursts, from `no`, `yes` or `30,300`."""
    if setting in ("no", "yes"):
        return RECOVERY if setting == "yes" else ()
    idles = []
    for word in setting.split(","):
        seconds = int(word) if re.fullmatch(r"\s*\d{1,6}\s*", word) else 0
        if not 1 <= seconds <= LONGEST_IDLE:
            raise BadInput(
                f"recovery: {word.strip()!r} is not yes, no, or seconds from 1 to {LONGEST_IDLE}",
                field="recovery",
            )
        idles.append(seconds)
    if len(set(idles)) != len(idles) or len(idles) > PARTS:
        raise BadInput("recovery: name each idle time once", field="recovery")
    return tuple(idles)


def _steps(request: PlanRequest, wish: _Wish) -> Iterator[Step]:
    speed = assumed_speed(request.drive)
    yield Prepare(name="prepare the target", seconds=1, destroys=True, target="block", fs="keep")
    # Long enough for the sample in which the purge's last write ended.
    start = max(wish.pause, END_IDLE)
    yield Idle(name="idle at the start", seconds=start, temperature=True)
    count = PARTS if wish.pause else 1
    # In whole blocks; the last part takes what is left over.
    part = wish.span // wish.block // count * wish.block
    for number in range(1, count + 1):
        begin = part * (number - 1)
        byte_count = wish.span - begin if number == count else part
        yield _write(wish, f"part {number} of {count}", begin, byte_count, speed)
        if number < count:
            yield Idle(name=f"pause after part {number}", seconds=wish.pause, temperature=True)
    # Long enough for the sample in which the last part ended.
    yield Idle(name="idle at the end", seconds=END_IDLE, temperature=True)
    for seconds in wish.idles:
        rest = duration_text(seconds)
        yield Idle(name=f"rest for {rest}", seconds=seconds, temperature=True)
        state = f"written once in this run, in order, over {size_text(wish.span)}"
        burst = _write(wish, f"burst after {rest}", 0, wish.burst, speed)
        yield replace(burst, part=BURST, drive_state=state)


def _write(wish: _Wish, label: str, offset: int, byte_count: int, speed: float) -> Fio:
    return Fio(
        name=label,
        seconds=byte_count / speed,
        bytes_written=byte_count,
        destroys=True,
        test=label,
        job=Job(rw="write", block=wish.block, depth=wish.depth, threads=1, runtime=None),
        span=Span(size=byte_count, offset=offset),
        pass_no=1,
        part=FILL,
    )


def _writes(plan: Plan, part: str) -> dict[int, Fio]:
    """The steps of the fill, or the bursts, in order, by their index in the plan."""
    return {
        index: step
        for index, step in enumerate(plan.steps)
        if isinstance(step, Fio) and step.part == part
    }


def _part_results(plan: Plan, results: Sequence[Result]) -> list[Result]:
    """The result in MB/s of each part written so far."""
    keys = {(step.test, SPEED) for step in _writes(plan, FILL).values()}
    return [item for item in results if item.key in keys and item.pass_no is not None]


def fill_series(
    plan: Plan, results: Sequence[Result], samples: Sequence[SampleLike]
) -> list[Interval]:
    """The intervals of the fill from the samples, without the pauses between its parts.

    The writing time of a part, to the millisecond, is fio's; of a cancelled part the first and the
    last second are left out.
    """
    seconds = {
        item.test: (item.detail.get("totals") or {}).get("seconds")
        for item in _part_results(plan, results)
    }
    groups = _by_part(plan, samples)
    intervals: list[Interval] = []
    offset = 0
    for index, step in _writes(plan, FILL).items():
        part = groups[index]
        intervals += of_writing(part, seconds.get(step.test), offset)
        offset += sum(sample.write_bytes for sample in part)
    return intervals


def _by_part(plan: Plan, samples: Sequence[SampleLike]) -> dict[int, list[SampleLike]]:
    """The samples from the start of each part to the start of the next one, by its index.

    A sample names the step in which it ended, or after which. That may be the pause after its part:
    a part of less than a second often has no other sample.
    """
    parts = list(_writes(plan, FILL))
    end = min(_writes(plan, BURST), default=len(plan.steps))
    groups: dict[int, list[SampleLike]] = {index: [] for index in parts}
    current = -1
    for sample in samples:
        current = current if sample.step_index is None else sample.step_index
        part_number = bisect_right(parts, current)
        if part_number and current < end:
            groups[parts[part_number - 1]].append(sample)
    return groups


def _recovery(plan: Plan, results: Sequence[Result], knees: CacheKnees) -> IdleRecovery | None:
    """How much came back; None when the plan has no bursts. The step before each one is its idle
    time."""
    by_key = {item.key: item for item in results if item.pass_no is not None}
    steps, bursts = _writes(plan, BURST), []
    for index, step in steps.items():
        result = by_key.get(ResultKey(step.test, SPEED))
        if result is None:
            continue
        totals = result.detail.get("totals") or {}
        bursts.append(
            Burst(
                plan.steps[index - 1].seconds,
                int(totals.get("write_bytes") or 0),
                float(totals.get("seconds") or 0.0),
                None if result.state == Validity.VALID else str(result.reason),
            )
        )
    if not steps:
        return None
    return judge_recovery(
        bursts,
        fast_mbps=knees.knees[0].before_mbps if knees.knees else None,
        slow_mbps=knees.knees[-1].after_mbps if knees.knees else None,
        zone_bytes=knees.knees[0].at_bytes if knees.knees else None,
    )


def _overall(
    parts: Sequence[Result], planned_count: int, knees: CacheKnees, slow: SlowDowns
) -> list[Result]:
    """The results over the whole fill, or over those of its parts that were written."""
    if not parts:
        return []
    valid = [item for item in parts if item.state == Validity.VALID]
    state, reason = Validity.VALID, of_fewer(parts)
    if not valid:
        state, reason = parts[0].state, parts[0].reason
    if len(parts) < planned_count:
        gap = f"only {len(parts)} of {planned_count} parts were written"
        reason = f"{gap}; {reason}" if reason else gap
    byte_count = sum(item.detail["totals"]["write_bytes"] for item in valid)
    seconds = sum(item.detail["totals"]["seconds"] for item in valid)
    speeds = [item.value for item in valid if item.value is not None]
    rows: list[Row] = [
        (*_MEAN, byte_count / seconds / 1e6 if seconds else None, "MB/s",
         {"bytes": byte_count, "seconds": seconds, "parts": speeds}),
        (*_SLOWEST, min(speeds, default=None), "MB/s", {}),
    ]  # fmt: skip
    for number, knee in enumerate(knees.knees, 1):
        at, before, after = _knee_results(number)
        rows += [
            (*at, knee.at_gb, "GB", knee.to_json()),
            (*before, knee.before_mbps, "MB/s", {}),
            (*after, knee.after_mbps, "MB/s", {}),
        ]
    if slow.slow_downs:
        deepest = max(item.depth for item in slow.slow_downs)
        rows.append((*_DEEPEST, 100 * deepest, "%", slow.to_json()))
    return over_all_passes(SUSTAINED, rows, state, reason, "write")


def _headline(overall: Sequence[Result]) -> list[dict[str, Any]]:
    tests = (SUSTAINED, KNEE, BEFORE_KNEE, AFTER_KNEE)
    return [
        {"label": item.test, "value": item.value, "unit": item.unit, "reason": item.reason}
        for item in overall
        if item.test in tests
    ]


def _verdicts(
    knees: CacheKnees, slow: SlowDowns, folding: Folding, recovery: IdleRecovery | None
) -> list[dict[str, Any]]:
    verdicts = [
        {
            "name": "Cache knee",
            "state": KneeState.KNEE if knees.knees else KneeState.NONE,
            "text": knees.text,
        },
        {"name": "Slowing down", "state": slow.state, "text": slow.text},
    ]
    if folding.folds:
        verdicts.append({"name": "Folding", "state": folding.state, "text": folding.text})
    if recovery is not None:
        state = RecoveryState.UNKNOWN if recovery.reason else RecoveryState.MEASURED
        verdicts.append({"name": "Recovery after idle", "state": state, "text": recovery.text})
    return verdicts


def _table(parts: Sequence[Result]) -> dict[str, Any]:
    rows, written_bytes = [], 0
    for item in parts:
        totals = item.detail.get("totals") or {}
        written_bytes += int(totals.get("write_bytes") or 0)
        reason = f"{item.state}: {item.reason}" if item.reason else str(item.state)
        rows.append(
            [item.name, f"{written_bytes / 1e9:.2f}",
             "-" if item.value is None else f"{item.value:.1f}",
             f"{totals.get('seconds') or 0.0:.1f}", reason]
        )  # fmt: skip
    columns = ["", "GB written", "MB/s", "seconds", "state"]
    return {"title": "Sustained write", "columns": columns, "rows": rows}


def _text(
    overall: Sequence[Result],
    knees: CacheKnees,
    slow: SlowDowns,
    folding: Folding,
    recovery: IdleRecovery | None,
) -> str:
    lines = [
        f"{item.name}: {item.value:.1f} {item.unit}"
        for item in overall[:2]
        if item.value is not None
    ]
    lines += [knees.text, slow.text]
    if folding.folds:
        lines.append(folding.text)
    if recovery is not None:
        lines.append(recovery.text)
    return "\n".join(lines)
