"""Runs whose charts have known places: a knee, a slow second, depths above the drive's. Tests only.

The documents are those of the suites themselves, made of invented figures and readings.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchstick.analysis.consistency import seconds_above, summary
from benchstick.analysis.fill import Interval
from benchstick.analysis.knee import find_knees
from benchstick.analysis.series import reduced
from benchstick.analysis.throttle import find_slow_downs
from benchstick.drives.model import Drive
from benchstick.plan.steps import Fio, Plan
from benchstick.suites import registry, sustained_charts
from tests.web import sample

# The second of the consistency run in which the drive did nothing, and where its speed falls.
STALLED, FELL = 700, 130
# GB written by the sustained run when its cache is full.
KNEE_GB = 100.0


def kept(home: Path, db: sqlite3.Connection, suite: str, params: Mapping[str, str],
         result: Any, drive: Drive | None = None) -> int:  # fmt: skip
    """A finished run of `suite` with the document that `result` makes of its plan; its number."""
    drive = drive or sample.fast()
    story = sample.start(home, db, suite, drive, params=params)
    document = result(story.plan, drive.to_json())
    story.record.finish("done", 0, seconds=60.0, why=None, result=document,
                        open_steps="interrupted")  # fmt: skip
    return story.record.number


def _figure(step: Fio, name: str, value: float, unit: str, **detail: Any) -> dict[str, Any]:
    return {"step": step.name, "name": name, "value": value, "unit": unit, "pass": 1,
            "target": "block", "state": "valid", "why": None, "detail": detail}  # fmt: skip


def _by_second(step: Fio, iops: Sequence[float], source: str) -> list[dict[str, Any]]:
    worst = [2e6 if value == 0 else 32e6 / value * 3 for value in iops]
    mean = [None if value == 0 else 32e6 / value for value in iops]
    why = None if source == "fio" else "fio's log came late: 2400 ms after the line before"
    return [
        _figure(step, f"{step.test} IOPS by second", sum(iops) / len(iops), "IOPS",
                source=source, source_why=why, block=step.block, summary=summary(iops),
                series=reduced(iops)),
        _figure(step, f"{step.test} latency by second", 1.0, "us", mean=reduced(mean),
                max=reduced(worst), above=seconds_above(worst)),
    ]  # fmt: skip


def consistency(plan: Plan, drive: Mapping[str, Any], *, source: str = "fio") -> Any:
    """Fast, then two speeds, then slow with a second of nothing; all of it slower without a queue.
    """
    noise = random.Random(5)
    step = next(step for step in plan.steps if isinstance(step, Fio) and step.series)
    seconds = int(step.runtime or 0)
    iops = [
        80_000 * (1 - 0.04 * noise.random()) if at < FELL
        else noise.choice((30_000, 7000)) * (1 - 0.2 * noise.random()) if at < 420
        else 4300 + 1600 * noise.random()
        for at in range(seconds)
    ]  # fmt: skip
    if drive["queue_depth"]["value"] == 1:
        iops = [value * 0.3 for value in iops]
    if seconds > STALLED:
        iops[STALLED] = 0.0
    return registry.find("consistency").result(plan, _by_second(step, iops, source), drive).document


def sweep(plan: Plan, drive: Mapping[str, Any]) -> Any:
    """Twice the depth is 1.7 times the IOPS, up to the depth of the drive."""
    made = []
    for step in plan.steps:
        if not isinstance(step, Fio) or step.runtime is None:
            continue
        first = {"read": 9000, "mix": 12_000, "write": 30_000}[step.test.rsplit(" ", 1)[1]]
        inside = min(step.depth, drive["queue_depth"]["value"])
        iops = min(first * inside**0.77, 140_000)
        made += [
            _figure(step, step.test, iops * step.block / 1e6, "MB/s", totals={}),
            _figure(step, f"{step.test} IOPS", iops, "IOPS"),
            _figure(step, f"{step.test} latency", 1e6 * step.depth / iops, "us"),
        ]
    return registry.find("sweep").result(plan, made, drive).document


def sustained(plan: Plan, drive: Mapping[str, Any], *, seconds: int = 1000) -> Any:
    """1000 MB/s up to the knee, then 450, with half of that for a minute; a pause after every
    twentieth of the time."""
    noise = random.Random(9)
    series: list[Interval] = []
    readings: list[tuple[float, float | None]] = [(0.0, 31.0)]
    clock, done = 3.0, 0
    for at in range(seconds):
        speed = 1000.0 if done < KNEE_GB * 1e9 else 450.0
        if seconds // 2 < at < seconds // 2 + 60:
            speed /= 2
        moved = int(speed * (1 - 0.06 * noise.random()) * 1e6)
        done, clock = done + moved, clock + 1
        series.append(Interval(done, 1.0, moved, clock, True))
        if (at + 1) % (seconds // 20) == 0:
            readings.append((clock, round(31 + 22 * (at / seconds) ** 0.5)))
            clock += 2
    knees, slow = find_knees(series), find_slow_downs(series, readings)
    return {
        "headline": [], "tables": [], "text": knees.text, "verdicts": [],
        "charts": list(sustained_charts.charts(series, knees, slow, readings)),
    }  # fmt: skip
