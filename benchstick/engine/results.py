"""Computes the result of a run, however it ended, from its measurements so far.

The runner calls this at its end, and recovery for a runner that was killed, from the store only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchstick.engine.measure.per_second_log import BySecond, counter_rates, results_of
from benchstick.plan.result import Result
from benchstick.plan.steps import Fio, Plan, plan_from_json
from benchstick.store.run_reader import find_run, samples_of, temperatures_of
from benchstick.store.run_writer import RunRecord
from benchstick.suites import registry
from benchstick.suites.interface import Recorded, RecordSuite, Suite, SuiteResult

KILLED = "the bench was killed or lost power"
_LOST_LOG = "fio's log is lost: the bench was killed or lost power"


def conclude(
    record: RunRecord, suite: Suite, plan: Plan, drive: Mapping[str, Any], target: str
) -> Mapping[str, Any]:
    """The result's document. Stores its values over all passes, and its events, with the run.

    `drive` is the drive's JSON, `target` what the passes measured.
    """
    results = record.all_results()
    measured = [result for result in results if result.pass_no is not None]
    suite_result = _result(record, suite, plan, drive, measured)
    # A runner that was killed after this point has stored them already.
    if len(measured) == len(results):
        record.results(
            [replace(result, target=result.target or target) for result in suite_result.results]
        )
        for kind, text in suite_result.events:
            record.event(None, kind, text)
    return suite_result.document


def _result(
    record: RunRecord,
    suite: Suite,
    plan: Plan,
    drive: Mapping[str, Any],
    measured: Sequence[Result],
) -> SuiteResult:
    """The suite's result, from the run's values and, for some suites, the per-second record."""
    if not isinstance(suite, RecordSuite):
        return suite.result(plan, measured, drive)
    recorded = Recorded(
        samples=record.read(lambda db: samples_of(db, record.number)),
        temperatures=[
            (item["t"], item["celsius"])
            for item in record.read(lambda db: temperatures_of(db, record.number))
        ],
    )
    return suite.result_of_record(plan, measured, drive, recorded)


def conclude_killed(record: RunRecord) -> Mapping[str, Any] | None:
    """As `conclude`, for a run whose runner is gone, with the stored seconds of the running step.
    None when there can be no result; an event then has the reason."""
    try:
        row = record.read(lambda db: find_run(db, record.number))
        plan = plan_from_json(json.loads(row["plan_json"]))
        target = str(json.loads(row["conditions_json"]).get("target") or plan.target)
        _keep_seconds(record, plan, target)
        suite = registry.find(str(row["suite"]))
        return conclude(record, suite, plan, json.loads(row["drive_json"]), target)
    except Exception as error:  # noqa: BLE001 - the run is closed, whatever the store has of it
        record.event(None, "recovery", f"no result can be made of what was measured: {error!r}")
        return None


def _keep_seconds(record: RunRecord, plan: Plan, target: str) -> None:
    """Store the series of the running step, if it has a per-second series."""
    open_steps = record.read(
        lambda db: db.execute(
            "SELECT step_index, t_start FROM steps WHERE run = ? AND state = 'running'",
            (record.number,),
        ).fetchall()
    )
    keys = {(result.step, result.key) for result in record.all_results()}
    for row in open_steps:
        step = plan.steps[row["step_index"]]
        if not isinstance(step, Fio) or not step.recording.series or not step.recording.counted:
            continue
        samples = [
            sample
            for sample in record.read(lambda db: samples_of(db, record.number))
            if sample.step_index == row["step_index"] and row["t_start"] <= sample.t - sample.dt
        ]
        rates = counter_rates(samples, step.job.block)
        series = BySecond("counters", _LOST_LOG, 1, rates, latency_why=_LOST_LOG)
        results = results_of(
            step,
            series,
            target="block" if step.span.whole_drive else target,
            reason=KILLED,
            whole=False,
        )
        record.results([item for item in results if (item.step, item.key) not in keys])
