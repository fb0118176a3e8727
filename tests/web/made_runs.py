"""Invented runs on the raw drive as the runner records them: start and end of each step, a sample a
second, temperatures, conditions, results, and the result of the suite. Tests only.

The I/O of fio in a step is a list of time slices. The samples, fio's totals and the results are
computed from it, so a record is consistent; `engine.results` computes the result of the run.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchstick.analysis.histogram import one_two_five, percentile_of
from benchstick.analysis.ncq_verdict import waits_in_kernel
from benchstick.drives import sanitize_methods
from benchstick.drives.fact_catalogue import CONDITIONS
from benchstick.drives.types import Drive
from benchstick.engine.measure.per_second_log import BySecond, results_of
from benchstick.engine.run_context import RAW_FILLED
from benchstick.plan.result import Result
from benchstick.plan.states import StepState
from benchstick.plan.steps import Fio, Idle, Mark, Plan, Purge, ReadBack, Step
from benchstick.plan.units import size_text
from benchstick.store.run_results import Sample
from tests.results import named
from tests.web import sample

# (seconds, bytes) one after the other.
Pieces = Sequence[tuple[float, float]]
# Seconds from the start of a step to the first byte of its tool.
LEAD = 0.25
# Completion latency over its mean, and the share of the requests that take so long; the mean of it
# is 1.
_LATENCIES = ((0.8, 0.6), (1.2, 0.36), (2.0, 0.0389), (8.0, 0.001), (22.0, 0.0001))


@dataclass(frozen=True, kw_only=True)
class StepData:
    """What fio did in a step. `latencies` are counts of completion latency by nanoseconds, empty
    where they are as usual around their mean; `by_second` makes the series by second of the samples
    of the step."""

    pieces: Pieces
    latencies: Mapping[int, int] = field(default_factory=dict)
    by_second: Callable[[Sequence[Sample]], BySecond] | None = None


# What fio did in each step of a plan, by the step's name.
Work = Callable[[Plan, Mapping[str, Any]], Mapping[str, StepData]]


def add_run(home: Path, db: sqlite3.Connection, suite: str, params: Mapping[str, str], work: Work,
         drive: Drive | None = None) -> int:  # fmt: skip
    """A finished run of `suite` whose fio steps did what `work` says; its number."""
    plan_for = drive or sample.fast()
    story = sample.start(home, db, suite, plan_for, params=params)
    return _Whole(story, work(story.plan, plan_for.to_json())).tell()


def by_grid(pieces: Pieces, lead: float = LEAD) -> list[int]:
    """The bytes of each second of a step whose tool starts `lead` seconds after it, for all of its
    whole seconds."""
    length = math.ceil(lead + math.fsum(seconds for seconds, _ in pieces) + 0.05)
    moved = [0.0] * (length + 1)
    clock = lead
    for seconds, size in pieces:
        end = clock + seconds
        first, last = int(clock), int(end)
        if first == last:
            moved[first] += size
        else:
            # A piece is of a second at most, and lies in two seconds of the clock.
            here = size * (first + 1 - clock) / seconds
            moved[first] += here
            moved[last] += size - here
        clock = end
    total, sizes = 0.0, []
    for size in moved[:length]:
        # The sum stays that of the pieces to the byte.
        sizes.append(round(total + size) - round(total))
        total += size
    return sizes


def _usual(count: int, mean_us: float) -> dict[int, int]:
    """Counts by nanoseconds of `count` requests."""
    counts = {int(1000 * mean_us * times): round(count * share) for times, share in _LATENCIES}
    return {place: number for place, number in counts.items() if number}


class _Whole:
    """A run that is recorded from its first step to its end. Steps start at a full second."""

    def __init__(self, story: sample.Story, outcomes: Mapping[str, StepData]) -> None:
        self.story, self.data = story, outcomes
        self.plan, self.drive, self.record = story.plan, story.drive, story.record
        self.t = self.n = 0
        self.state: str | None = None
        self.extra: dict[str, Any] = {}
        self.depth = self.drive.value("queue_depth")
        self.hottest = max(1.0, sum(_length(outcomes) for outcomes in outcomes.values()))

    def tell(self) -> int:
        """All steps, and the suite's result; the run's number."""
        for index, step in enumerate(self.plan.steps):
            folder = f"runs/{self.story.uuid}/{index:02d}-step"
            self.record.step_begins(index, step.name, step.kind, self.t, folder)
            if isinstance(step, Idle) and step.temperature:
                self._temperature(index)
            results, samples = self._step(index, step, folder)
            self.record.step_ends(
                index, StepState.COMPLETE, self.t, results=results, samples=samples
            )
        self._conditions()
        self.story.t, self.story.target = float(self.t), "block"
        return self.story.finish()

    def _step(self, index: int, step: Step, folder: str) -> tuple[list[Result], list[Sample]]:
        if isinstance(step, Fio):
            self.story.artifacts(folder, step.name)
            return self._fio(index, step, self.data[step.name])
        if isinstance(step, Purge):
            return self._purge(index, step)
        if isinstance(step, Mark | ReadBack):
            moved = step.samples * step.size
            write_sizes = [moved] if isinstance(step, Mark) else [0]
            samples = self._samples(index, [moved], write_sizes, step.size, 1)
            return ([self._markers_erased(step)] if isinstance(step, ReadBack) else []), samples
        seconds = [0] * max(1, math.ceil(step.seconds))
        return [], self._samples(index, seconds, seconds, 1, 0)

    def _samples(
        self, index: int, read: Sequence[int], write_sizes: Sequence[int], block: int, depth: int
    ) -> list[Sample]:
        """One for each second of a step, which ends with them."""
        inflight = min(depth, self.depth or depth)
        samples = [
            Sample(
                self.n + at, self.t + at + 1.0, 1.0, index, reading, writing, 0,
                reading // block, writing // block, 0, 0,
                inflight if reading or writing else 0, float(depth if reading or writing else 0),
            )
            for at, (reading, writing) in enumerate(zip(read, write_sizes, strict=True))
        ]  # fmt: skip
        self.n, self.t = self.n + len(samples), self.t + len(samples)
        return samples

    def _temperature(self, index: int) -> None:
        """As the drive reports it: it rises with the time under load."""
        fact = self.drive.facts["temperature"]
        celsius = None
        if fact.value is not None:
            celsius = round(31 + 22 * min(1.0, self.t / self.hottest) ** 0.5)
        self.record.temperature(self.t, index, celsius, fact.source or None, fact.reason)

    def _fio(self, index: int, step: Fio, outcome: StepData) -> tuple[list[Result], list[Sample]]:
        started_at = self.t
        moved = by_grid(outcome.pieces)
        share = {"read": 1.0, "write": 0.0}.get(
            step.job.rw.removeprefix("rand"), (step.job.mix or 0) / 100
        )
        read = [int(size * share) for size in moved]
        write_sizes = [size - part for size, part in zip(moved, read, strict=True)]
        samples = self._samples(
            index, read, write_sizes, step.job.block, step.job.depth * step.job.threads
        )
        totals = self._totals(step, sum(read), sum(write_sizes), outcome)
        rest = {
            "counters": {
                "seconds": float(self.t - started_at),
                **{name: sum(getattr(item, name) for item in samples)
                   for name in ("reads", "read_bytes", "writes", "write_bytes")},
                "discards": 0, "discard_bytes": 0, "flushes": 0,
                "queue_mean": step.job.depth * totals["seconds"] / (self.t - started_at),
            },
            "inflight_median": float(min(step.job.depth, self.depth or step.job.depth)),
            "totals": totals,
            "queue": {"requested": step.job.depth, "drive": self.depth,
                      "waits_in_kernel": waits_in_kernel(step.job.depth, self.depth)},
        }  # fmt: skip
        results = list(self._fio_results(step, totals, rest))
        if outcome.by_second is not None:
            by_second = outcome.by_second(samples)
            results += results_of(step, by_second, target="block", reason=None, whole=True)
        own = {} if step.drive_state is None else {
            "drive_state": self.plan.state_after(self.state, step.drive_state)
        }  # fmt: skip
        return [replace(item, detail={**item.detail, **own}) for item in results], samples

    def _totals(self, step: Fio, read: int, write_size: int, outcome: StepData) -> dict[str, Any]:
        seconds = _length(outcome)
        ios = (read + write_size) // step.job.block
        # By Little's law, as fio keeps its queue full.
        mean = 1e6 * step.job.depth * step.job.threads * seconds / ios
        bins = outcome.latencies or _usual(ios, mean)
        ways = {"read": read, "write": write_size}
        shares = {way: size / (read + write_size) for way, size in ways.items() if size}
        return {
            "read_bytes": read, "write_bytes": write_size, "ios": ios, "seconds": round(seconds, 3),
            "latency_us": mean, "max_us": max(bins) / 1000,
            "percentiles_us": {name: percentile_of(bins, Fraction(name)) / 1000
                               for name in ("50", "99", "99.9", "99.99", "99.999")},
            "histogram_us": {
                way: one_two_five({place: round(count * share) for place, count in bins.items()})
                for way, share in shares.items()
            },
        }  # fmt: skip

    def _fio_results(
        self, step: Fio, totals: Mapping[str, Any], rest: Mapping[str, Any]
    ) -> Iterator[Result]:
        seconds = totals["seconds"]
        moved = totals["read_bytes"] + totals["write_bytes"]
        for name, value, unit in (
            ("", moved / seconds / 1e6, "MB/s"),
            (" IOPS", totals["ios"] / seconds, "IOPS"),
            (" latency", totals["latency_us"], "us"),
            (" latency max", totals["max_us"], "us"),
            *((f" latency p{name}", us, "us") for name, us in totals["percentiles_us"].items()),
        ):
            yield named(
                step=step.name, name=f"{step.test}{name}", value=value, unit=unit,
                pass_no=step.pass_no, target="block", detail={} if name else rest,
            )  # fmt: skip

    def _purge(self, index: int, step: Purge) -> tuple[list[Result], list[Sample]]:
        """By an overwrite: all written, then all read."""
        capacity, rung = self.drive.identity.capacity, sanitize_methods.find(step.rung)
        assert rung.tool == "fio"
        self.record.purge_begins(
            index, self.drive.identity.key(), rung.name, marks=self.story.uuid, samples=1000,
            size=4096,
        )  # fmt: skip
        ways = {name: by_grid(self.data[name].pieces) for name in ("write", "read")}
        nothing = {name: [0] * len(moved) for name, moved in ways.items()}
        seconds = {name: _length(self.data[name]) for name in ways}
        samples = self._samples(
            index, nothing["write"] + ways["read"], ways["write"] + nothing["read"], 1 << 20, 8
        )
        self.record.purge_goes_on(index, "erasing", bytes_written=capacity)
        self.record.purge_ends(index, "done")
        self.state = sanitize_methods.state_after(rung.name)
        elapsed = float(len(samples))
        self.extra["purge"] = {
            "rung": rung.name, "requested_rung": step.user_rung, "seconds": elapsed,
            "tool": sample.HOST["fio"],
            "command": "fio --verify=crc32c on the whole drive, then read back",
            "tool_output": f"all {size_text(capacity)} written, all read back and equal",
        }  # fmt: skip
        counters = {
            "seconds": elapsed, "discards": 0, "discard_bytes": 0, "flushes": 0, "queue_mean": 8.0,
            **{name: sum(getattr(item, name) for item in samples)
               for name in ("reads", "read_bytes", "writes", "write_bytes")},
        }  # fmt: skip
        values = [("purge time", elapsed, "s")]
        values += [(f"overwrite {name}", capacity / seconds[name] / 1e6, "MB/s") for name in ways]
        return [
            named(step=step.name, name=name, value=value, unit=unit, pass_no=1, target="block",
                   detail={"rung": rung.name, "counters": counters})
            for name, value, unit in values
        ], samples  # fmt: skip

    def _markers_erased(self, step: ReadBack) -> Result:
        text = f"all {step.samples} marks are gone: {step.samples} read as other"
        self.extra["purge"]["read_back"] = text
        return named(
            step=step.name, name="marks gone", value=100.0, unit="%", pass_no=1, target="block",
            detail={"text": text, "found": {"other": step.samples}, "places": step.samples,
                    "bytes": step.size},
        )  # fmt: skip

    def _conditions(self) -> None:
        facts = self.drive.facts
        self.record.conditions(
            {
                "target": "block",
                "drive": {name: facts[name].to_json() for name in CONDITIONS
                          if name in facts},
                "queue": sample.QUEUE, "host": sample.HOST, "controller": sample.CONTROLLER,
                "alongside": [], "filled": RAW_FILLED.to_json(),
                "state": self.plan.state_after(self.state) or "as found",
                "notes": list(self.plan.notes), "sets": [], "scale": None, **self.extra,
                "sampler": {"samples_every": 1.0, "cpu_share": 0.0006},
            }
        )  # fmt: skip


def _length(outcome: StepData) -> float:
    return math.fsum(seconds for seconds, _ in outcome.pieces)
