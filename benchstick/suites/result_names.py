"""The results that the suites give, by key; and the key of a name that a person wrote. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from benchstick.plan.quantity import (
    IOPS,
    IOPS_BY_SECOND,
    LATENCY,
    LATENCY_BY_SECOND,
    LATENCY_MAX,
    MARKS_SHARE,
    OVERWRITE,
    PURGE_TIME,
    SPEED,
    TIME,
    ResultKey,
    latency_percentile,
    read_name,
)
from benchstick.plan.steps import Copy, CopyWithin, Fio, Plan, Purge, ReadBack, Skip, Step
from benchstick.suites import asssd_result, registry, sustained
from benchstick.suites.interface import ComputingSuite
from benchstick.suites.per_second import BySecond
from benchstick.suites.single_pass import PERCENTILES

# Names in which no word says what is measured are those of speeds, except these.
_BY_NAME = {
    key.name: key for key in (MARKS_SHARE, *asssd_result.SCORES.values(), *sustained.RESULT_KEYS)
}
_OF_FIO = (SPEED, IOPS, LATENCY, LATENCY_MAX, *(latency_percentile(float(p)) for p in PERCENTILES))


def result_key(name: str) -> ResultKey:
    """The key of the result that a person calls `name`: in a recipe, a spec sheet, a reference."""
    return _BY_NAME.get(name) or read_name(name, None)


def keys_of_plan(plan: Plan) -> list[ResultKey]:
    """The results that a run of the plan can give, those that the suite computes first."""
    suite = registry.find(plan.suite)
    keys = [key for step in plan.steps for key in _keys_of_step(step)]
    more = suite.result_keys(plan) if isinstance(suite, ComputingSuite) else ()
    return list(dict.fromkeys((*more, *keys)))


def _keys_of_step(step: Step) -> Iterator[ResultKey]:
    """Of each pass, or over all of them."""
    if isinstance(step, Fio) and step.recording.counted:
        yield from (ResultKey(step.test, quantity) for quantity in _OF_FIO)
        if step.recording.series:
            yield ResultKey(step.test, IOPS_BY_SECOND)
            yield ResultKey(step.test, LATENCY_BY_SECOND)
            yield from BySecond.of(step, ()).result_keys()
    elif isinstance(step, Copy | CopyWithin):
        yield from (ResultKey(step.test, quantity) for quantity in (SPEED, TIME))
    elif isinstance(step, Skip):
        yield ResultKey(step.test, SPEED)
    elif isinstance(step, Purge):
        yield PURGE_TIME
        yield from (ResultKey(test, SPEED) for test in OVERWRITE.values())
    elif isinstance(step, ReadBack):
        yield MARKS_SHARE
