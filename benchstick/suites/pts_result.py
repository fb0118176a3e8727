"""The result of `pts`: when its rounds are over, the matrix, and the evidence for it.

Source of the rules: docs/methods/pts.md; `analysis.steady` judges the steady state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.analysis.statistics import mean
from benchstick.analysis.steady import (
    RANGE_LIMIT,
    SLOPE_LIMIT,
    WINDOW,
    SteadyState,
    Window,
    judge_steady,
)
from benchstick.plan.quantity import (
    IOPS,
    LATENCY,
    LATENCY_MAX,
    SPEED,
    Metric,
    Quantity,
    ResultKey,
)
from benchstick.plan.result import Result
from benchstick.plan.states import SteadyStatus, Validity
from benchstick.plan.steps import Fio, Plan, Skip
from benchstick.plan.units import KIB, binary_text, size_text
from benchstick.suites.block_device import round_value, table_text
from benchstick.suites.charts import axis, chart, curve
from benchstick.suites.interface import Row, SuiteResult, of_fewer, over_all_passes
from benchstick.suites.single_pass import digits, read_modify_write

NOT_CONFORMANT = "not SNIA-conformant"
REDUCED = "reduced"
# (quantity, unit, digits) of the variable that is tracked, by test.
_TRACKED = {
    "iops": (IOPS, "IOPS", 0),
    "throughput": (SPEED, "MB/s", 1),
    "latency": (LATENCY, "us", 1),
    "wsat": (IOPS, "IOPS", 0),
    "hir": (IOPS, "IOPS", 0),
}
_TABLE_ROWS = 24
_WRITTEN_BYTES = Quantity(Metric.BYTES_WRITTEN)
_IOPS_FIRST = Quantity(Metric.IOPS, part="of the first round")
_IOPS_LAST = Quantity(Metric.IOPS, part=f"of the last {WINDOW} rounds")


def method(preset: str, deviations: Sequence[str]) -> str:
    """What a run may be called: SNIA's name only where nothing is known to depart from it."""
    if preset == REDUCED:
        return "PTS-like, reduced"
    return "PTS-like, changed" if deviations else f"PTS {preset}"


@dataclass(frozen=True)
class Group:
    """The rounds of one group that were measured so far. `tracked` is the test whose values decide
    on steady state, `tests` all of a round, in order."""

    name: str
    tests: tuple[Fio, ...]
    tracked: Fio
    most: int
    values: tuple[float | None, ...]
    unit: str
    places: int

    @property
    def steady(self) -> SteadyState:
        return judge_steady(self.values, unit=self.unit, most=self.most)

    @property
    def window(self) -> tuple[int, int]:
        """(first, last) of the rounds that count: those of the steady state, else the last five."""
        steady_state = self.steady
        if steady_state.reached and steady_state.window is not None:
            return steady_state.window.first, steady_state.window.last
        last = min(len(self.values), self.most)
        return max(1, last - WINDOW + 1), last

    @property
    def reason(self) -> tuple[str, str | None]:
        """(state, reason) of what the rounds give as a whole."""
        steady_state = self.steady
        if steady_state.reached:
            return Validity.VALID, None
        if steady_state.state == SteadyStatus.NOT_REACHED:
            return Validity.VALID, f"steady state not reached in {steady_state.rounds} rounds"
        return Validity.INVALID, f"only {steady_state.rounds} rounds, before steady state"


ByPass = Mapping[tuple[str, Quantity, Any], Result]


def _by_pass(results: Sequence[Result]) -> ByPass:
    return {(*item.key, item.pass_no): item for item in results}


def groups_of(plan: Plan, results: Sequence[Result]) -> list[Group]:
    """Every group of the plan, in order."""
    by_pass = _by_pass(results)
    steps = [step for step in plan.steps if isinstance(step, Fio) and step.round.number]
    quantity, unit, places = _TRACKED[str(plan.params["test"])]
    groups = []
    for name in dict.fromkeys(step.round.group for step in steps):
        own = [step for step in steps if step.round.group == name]
        tests = tuple(step for step in own if step.round.number == 1)
        writes = [step for step in tests if step.job.rw in ("write", "randwrite")]
        tracked_step = next((step for step in writes if step.job.block == 4 * KIB), writes[-1])
        most = own[-1].round.number
        values = tuple(_values(by_pass, tracked_step.test, quantity, most))
        groups.append(Group(name, tests, tracked_step, most, values, unit, places))
    return groups


def _values(by_pass: ByPass, test: str, quantity: Quantity, most: int) -> Iterator[float | None]:
    """The value of each round measured so far; None where it is not valid."""
    for number in range(1, most + 1):
        item = by_pass.get((test, quantity, number))
        if item is None:
            return
        yield item.valid_value


def written_of(group: Group, by_pass: ByPass) -> list[int]:
    """Bytes written up to the end of each round."""
    written_bytes, totals = 0, []
    for number in range(1, len(group.values) + 1):
        detail = by_pass[group.tracked.test, SPEED, number].detail
        written_bytes += int((detail.get("totals") or {}).get("write_bytes") or 0)
        totals.append(written_bytes)
    return totals


def result_keys(plan: Plan) -> Iterator[ResultKey]:
    """The results of write saturation that its rounds do not have."""
    if plan.params["test"] == "wsat":
        for group in groups_of(plan, ()):
            for quantity in (_WRITTEN_BYTES, _IOPS_FIRST, _IOPS_LAST):
                yield ResultKey(group.tracked.test, quantity)


def over(plan: Plan, step: Fio, results: Sequence[Result]) -> str | None:
    """Why the round of `step` is not needed; None when it is."""
    group = next(item for item in groups_of(plan, results) if item.name == step.round.group)
    if step.round.enough:
        totals = written_of(group, _by_pass(results))
        if totals and totals[-1] >= step.round.enough:
            return f"{size_text(totals[-1])} written after round {len(totals)}, as required"
        return None
    steady_state = group.steady
    if steady_state.reached and steady_state.window is not None:
        return f"steady state after round {steady_state.window.last}"
    return None


def result(plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]) -> SuiteResult:
    """Results over the window, tables, charts and verdicts of the test."""
    method_name = method(str(plan.params["preset"]), plan.deviations)
    # The note of a valid result.
    deviations = f"{method_name}: {NOT_CONFORMANT}" if plan.deviations else None
    test = str(plan.params["test"])
    by_pass = _by_pass(results)
    groups = groups_of(plan, results)
    physical = int((drive.get("physical_sector") or {}).get("value") or 512)
    overall: list[Result] = []
    tables: list[dict[str, Any]] = []
    charts: list[dict[str, Any]] = []
    for group in groups:
        if not group.values:
            continue
        if test == "wsat":
            overall += _wsat_results(group, by_pass, deviations)
            tables.append(_wsat_table(group, by_pass, method_name))
            charts += _wsat_charts(group, by_pass, method_name)
            continue
        cells = {
            step.test: _cell(step, group, by_pass, deviations, physical) for step in group.tests
        }
        overall += [item for cell in cells.values() for item in cell]
        if test != "hir":
            tables += _matrices(plan, group, cells, method_name, test)
            charts += _cell_charts(group, cells, method_name, test)
        tables.append(_evidence_table(group, method_name))
        charts.insert(0, _evidence_chart(group, method_name))
    if test == "hir" and groups and groups[0].values:
        rows = list(_waits(plan, groups[0], by_pass))
        overall += [item for row in rows for item in _wait_results(row, deviations)]
        tables.insert(0, _wait_table(rows, method_name))
        charts += _wait_charts(rows, method_name)
    document = {
        "headline": _headline(overall, groups, test, method_name),
        "method": method_name,
        "deviations": list(plan.deviations),
        "tables": tables,
        "charts": charts,
        "text": "\n\n".join([method_name, *(table_text(table) for table in tables)]),
        "verdicts": [] if test == "wsat" else list(_verdicts(groups)),
        "steady": {group.name: group.steady.to_json() for group in groups if group.values},
    }
    return SuiteResult(results=overall, document=document)


# ---- cells


def _joined(*whys: str | None) -> str | None:
    return "; ".join(reason for reason in whys if reason) or None


def _cell(
    step: Fio, group: Group, by_pass: ByPass, deviations: str | None, physical: int
) -> list[Result]:
    """The results of one cell over the rounds of the window."""
    first, last = group.window
    rounds = [
        by_pass[step.test, SPEED, number]
        for number in range(first, last + 1)
        if (step.test, SPEED, number) in by_pass
    ]
    if not rounds:
        return []
    good = {item.pass_no or 0 for item in rounds if item.is_valid}
    state, reason = group.reason
    if not good:
        state, reason = str(rounds[0].state), rounds[0].reason
    flag = (
        read_modify_write(step.job.block, physical)
        if step.job.rw.endswith(("write", "rw"))
        else None
    )
    reason = _joined(reason, of_fewer(rounds) if good else None, flag, deviations)

    def values(quantity: Quantity) -> list[float]:
        keys = ((step.test, quantity, number) for number in sorted(good))
        items = (by_pass[key].value for key in keys if key in by_pass)
        return [value for value in items if value is not None]

    detail = {"rounds": [first, last], "steady": group.steady.state, "of": len(good)}
    rows: list[Row] = [
        (step.test, quantity, mean(values(quantity)), unit,
         {**detail, "values": values(quantity)})
        for quantity, unit in ((SPEED, "MB/s"), (IOPS, "IOPS"), (LATENCY, "us"))
    ]  # fmt: skip
    most = max(values(LATENCY_MAX), default=None)
    rows.append((step.test, LATENCY_MAX, most, "us", detail))
    return over_all_passes(step.test, rows, state, reason, step.direction)


Cells = Mapping[str, Sequence[Result]]


def _value(cells: Cells, test: str, quantity: Quantity) -> float | None:
    items = cells.get(test, ())
    return next((item.value for item in items if item.quantity == quantity), None)


def _mix(step: Fio) -> int:
    if step.job.mix is not None:
        return step.job.mix
    return 100 if step.job.rw.endswith("read") else 0


def _matrices(
    plan: Plan, group: Group, cells: Cells, method_name: str, test: str
) -> Iterator[dict[str, Any]]:
    """The matrix of the test: a row for each block size, a column for each mix."""
    kinds = {
        "iops": ((IOPS, "IOPS", 0),),
        "throughput": ((SPEED, "MB/s", 1),),
        "latency": (
            (LATENCY, "mean latency, us", 1),
            (LATENCY_MAX, "highest latency, us", 1),
        ),
    }[test]
    mixes = list(dict.fromkeys(_mix(step) for step in group.tests))
    blocks = list(dict.fromkeys(step.job.block for step in group.tests))
    at = {(step.job.block, _mix(step)): step.test for step in group.tests}
    for quantity, what, places in kinds:
        rows = [
            [
                binary_text(block),
                *(digits(_value(cells, at[block, mix], quantity), places) for mix in mixes),
            ]
            for block in blocks
        ]
        rows += [
            [f"{skip.test}: skipped", *("-" for _ in mixes)]
            for skip in plan.steps
            if isinstance(skip, Skip)
        ]
        yield {
            "title": f"{method_name}: {what} by read:write, {_rounds_text(group)}",
            "columns": ["block", *(f"{mix}:{100 - mix}" for mix in mixes)],
            "rows": rows,
        }


def _rounds_text(group: Group) -> str:
    first, last = group.window
    how = {
        SteadyStatus.REACHED: "steady state",
        SteadyStatus.NOT_REACHED: "steady state not reached",
    }
    phase = how.get(group.steady.state, "before steady state")
    return f"rounds {first} to {last} ({phase})"


def _cell_charts(
    group: Group, cells: Cells, method_name: str, test: str
) -> Iterator[dict[str, Any]]:
    """Lines over the block size, one for each mix."""
    if test == "throughput" or len({step.job.block for step in group.tests}) < 2:
        return
    quantity, unit, _ = _TRACKED[test]
    mixes = list(dict.fromkeys(_mix(step) for step in group.tests))
    yield chart(
        f"{method_name}: {'latency' if test == 'latency' else unit} by block size",
        axis("block", "B", "log2"),
        axis(unit, unit),
        [
            curve(
                f"{mix}:{100 - mix}",
                sorted(
                    (float(step.job.block), _value(cells, step.test, quantity))
                    for step in group.tests
                    if _mix(step) == mix
                ),
            )
            for mix in mixes
        ],
    )


# ---- the evidence


def _evidence_table(group: Group, method_name: str) -> dict[str, Any]:
    """The rounds of the window against both limits."""
    steady_state = group.steady
    window = steady_state.window
    name = f"{method_name}: {group.tracked.test}, {group.unit}: steady state {steady_state.state}"
    columns = ["", group.unit, "of the mean", "best fit"]
    if window is None:
        rows = [[f"round {index}", digits(value, group.places), "-", "-"]
                for index, value in enumerate(group.values, 1)]  # fmt: skip
        return {"title": name, "columns": columns, "rows": rows}
    rows = [
        [
            f"round {number}",
            digits(value, group.places),
            f"{100 * value / window.mean:.1f} %" if window.mean else "-",
            digits(fit, group.places),
        ]
        for number, value, fit in zip(
            range(window.first, window.last + 1), window.values, window.line, strict=True
        )
    ]
    rows += [
        ["average", digits(window.mean, group.places), "100.0 %", ""],
        ["highest - lowest", digits(window.highest - window.lowest, group.places),
         *_against(window.range_share, RANGE_LIMIT, window.range_met)],
        ["slope over 4 rounds", digits(abs(window.slope) * (WINDOW - 1), group.places),
         *_against(window.slope_share, SLOPE_LIMIT, window.slope_met)],
    ]  # fmt: skip
    return {"title": name, "columns": columns, "rows": rows}


def _against(share: float, limit: float, met: bool) -> tuple[str, str]:
    return f"{100 * share:.2f} %", f"{'within' if met else 'above'} {100 * limit:.0f} %"


def _evidence_chart(group: Group, method_name: str) -> dict[str, Any]:
    """All rounds, with the window's average, its limits and its best straight line."""
    what = "latency" if group.unit == "us" else group.unit
    lines: dict[str, Sequence[tuple[float, float | None]]] = {
        what: [(float(index), value) for index, value in enumerate(group.values, 1)]
    }
    window = group.steady.window
    if window is not None:
        ends = (float(window.first), float(window.last))
        half = RANGE_LIMIT / 2
        for name, level in (
            ("average", window.mean),
            (f"average + {100 * half:.0f} %", window.mean * (1 + half)),
            (f"average - {100 * half:.0f} %", window.mean * (1 - half)),
        ):
            lines[name] = [(at, level) for at in ends]
        lines["best fit"] = list(zip(_rounds(window), window.line, strict=True))
    return chart(
        f"{method_name}: {group.tracked.test} by round",
        axis("round", ""),
        axis(what, group.unit),
        [curve(name, points, guide=name != what) for name, points in lines.items()],
    )


def _rounds(window: Window) -> Iterator[float]:
    return (float(number) for number in range(window.first, window.last + 1))


def _verdicts(groups: Sequence[Group]) -> Iterator[dict[str, Any]]:
    for group in groups:
        if group.values:
            steady_state = group.steady
            name = "Steady state" if len(groups) == 1 else f"Steady state {group.name}"
            yield {"name": name, "state": steady_state.state, "text": steady_state.text}


# ---- write saturation


def _wsat_rows(group: Group, by_pass: ByPass) -> list[tuple[int, float, float, Any, Any]]:
    """(round, seconds, GB written, IOPS, latency in us) at the end of each round."""
    test = group.tracked.test
    rows = []
    for number, total in enumerate(written_of(group, by_pass), 1):
        latency = by_pass.get((test, LATENCY, number))
        valid = latency is not None and latency.state == Validity.VALID
        rows.append(
            (number, number * float(group.tracked.job.runtime or 0), total / 1e9,
             group.values[number - 1], latency.value if latency and valid else None)
        )  # fmt: skip
    return rows


def _wsat_results(group: Group, by_pass: ByPass, deviations: str | None) -> list[Result]:
    test, direction = group.tracked.test, group.tracked.direction
    totals = written_of(group, by_pass)
    rounds = [by_pass[test, SPEED, number] for number in range(1, len(totals) + 1)]
    values = [value for value in group.values if value is not None]
    last = [value for value in group.values[-WINDOW:] if value is not None]
    state, reason = Validity.VALID, of_fewer(rounds)
    if not values:
        state, reason = rounds[0].state, rounds[0].reason
    gap = few = None
    if len(totals) < group.most and totals[-1] < group.tracked.round.enough:
        of = f"{size_text(totals[-1])} of {size_text(group.tracked.round.enough)} written"
        gap = f"only {len(totals)} rounds, {of}"
    elif values and len(last) < WINDOW:
        few = f"of {len(last)} rounds only"
    start_rows = [
        (test, _WRITTEN_BYTES, totals[-1] / 1e9, "GB", {"rounds": len(totals)}),
        (test, _IOPS_FIRST, values[0] if values else None, "IOPS", {}),
    ]
    # Of a run cut short the last rounds are none of the saturated drive.
    end_rows = [(test, _IOPS_LAST, mean(last), "IOPS", {"values": last})]
    return [
        *over_all_passes(test, start_rows, state, _joined(gap, reason, deviations), direction),
        *over_all_passes(
            test,
            end_rows,
            Validity.INVALID if gap and values else state,
            _joined(gap, reason, few, deviations),
            direction,
        ),
    ]


def _wsat_table(group: Group, by_pass: ByPass, method_name: str) -> dict[str, Any]:
    rows = _wsat_rows(group, by_pass)
    each = max(1, -(-len(rows) // _TABLE_ROWS))
    shown_rows = [row for row in rows if row[0] % each == 0 or row in (rows[0], rows[-1])]
    return {
        "title": f"{method_name}: write saturation, {group.tracked.test}",
        "columns": ["round", "minutes", "GB written", "IOPS", "latency us"],
        "rows": [
            [str(number), f"{seconds / 60:.1f}", f"{gb:.1f}", digits(iops), digits(us, 1)]
            for number, seconds, gb, iops, us in shown_rows
        ],
    }


def _wsat_charts(group: Group, by_pass: ByPass, method_name: str) -> Iterator[dict[str, Any]]:
    rows = _wsat_rows(group, by_pass)
    for x, at, unit in (("time", 1, "s"), ("written", 2, "GB")):
        for what, value, of in (("IOPS", 3, "IOPS"), ("latency", 4, "us")):
            yield chart(
                f"{method_name}: write saturation, {what} by {x}",
                axis(x, unit),
                axis(what, of),
                [curve(what, [(row[at], row[value]) for row in rows])],
            )


# ---- host idle recovery


def _waits(plan: Plan, group: Group, by_pass: ByPass) -> Iterator[dict[str, Any]]:
    """Each wait with its IOPS, those of the accesses without a wait after it, and how both compare
    with the steady state."""
    first, last = group.window
    base = mean([value for value in group.values[first - 1 : last] if value is not None])
    steps = [
        step
        for step in plan.steps
        if isinstance(step, Fio) and step.job.runtime is not None and not step.round.number
    ]
    for waiting, without in zip(steps[::2], steps[1::2], strict=True):
        if (waiting.test, SPEED, 1) not in by_pass and (without.test, SPEED, 1) not in by_pass:
            return
        yield {
            "wait": int(waiting.pauses.rest),
            "base": base,
            "cells": [
                (step, by_pass.get((step.test, SPEED, 1)), by_pass.get((step.test, IOPS, 1)))
                for step in (waiting, without)
            ],
            "group": group.reason,
        }


def _iops(row: Mapping[str, Any], at: int) -> float | None:
    _, speed, iops = row["cells"][at]
    if speed is None or iops is None or speed.state != Validity.VALID:
        return None
    return float(iops.value)


def _wait_results(row: Mapping[str, Any], deviations: str | None) -> Iterator[Result]:
    for index, (step, speed, _) in enumerate(row["cells"]):
        if speed is None:
            continue
        valid = speed.state == Validity.VALID
        state, reason = row["group"] if valid else (speed.state, speed.reason)
        yield from over_all_passes(
            step.test, [(step.test, IOPS, _iops(row, index), "IOPS", {"steady": row["base"]})],
            state, _joined(reason, deviations), step.direction,
        )  # fmt: skip


def _wait_table(rows: Sequence[Mapping[str, Any]], method_name: str) -> dict[str, Any]:
    def share(value: float | None, base: float | None) -> str:
        return "-" if value is None or not base else f"{100 * value / base:.1f} %"

    return {
        "title": f"{method_name}: host idle recovery, IOPS while writing",
        "columns": ["wait after each 5 s", "IOPS", "of steady state", "without wait after it",
                    "of steady state"],
        "rows": [
            [f"{row['wait']} s", digits(_iops(row, 0)), share(_iops(row, 0), row["base"]),
             digits(_iops(row, 1)), share(_iops(row, 1), row["base"])]
            for row in rows
        ],
    }  # fmt: skip


def _wait_charts(rows: Sequence[Mapping[str, Any]], method_name: str) -> Iterator[dict[str, Any]]:
    if rows:
        yield chart(
            f"{method_name}: host idle recovery, IOPS by wait",
            axis("wait", "s"),
            axis("IOPS", "IOPS"),
            [
                curve(name, [(float(row["wait"]), _iops(row, at)) for row in rows])
                for at, name in ((0, "with the wait"), (1, "without, after it"))
            ],
        )


# ---- the headline


def _headline(
    overall: Iterable[Result], groups: Sequence[Group], test: str, method_name: str
) -> list[dict[str, Any]]:
    """The main results of the test: the tracked test and all reads; for WSAT its first and last
    round."""
    quantity = _TRACKED[test][0]
    if test == "wsat":
        keys = [(group.tracked.test, end) for group in groups for end in (_IOPS_FIRST, _IOPS_LAST)]
    else:
        keys = [
            (step.test, quantity)
            for group in groups
            for step in group.tests
            if step.job.block == group.tracked.job.block and _mix(step) in (0, 100)
        ]
    by_key = {item.key: item for item in overall}
    items = [by_key[key] for key in keys if key in by_key]
    return [
        {
            "label": f"{item.name} ({method_name})",
            "value": round_value(item.value, item.unit),
            "unit": item.unit,
            "state": item.state,
            "reason": item.reason,
        }
        for item in items
        if item.value is not None
    ]
