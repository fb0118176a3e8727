"""Speed by second over a whole run, for one chart: of a long run several seconds are one point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

# A chart has no room for more; several seconds become one point with a band.
POINTS = 1200
WAYS = ("read", "write")
# Seconds without a sample from which on the line is interrupted.
PAUSE = 1.5


class Point(NamedTuple):
    """Seconds on the run's clock; mean, least and most bytes a second, None in a gap."""

    t: float
    mean: float | None
    low: float | None
    high: float | None


# The points of "read" and "write".
Session = Mapping[str, Sequence[Point]]


def every_of(count: int, most: int = POINTS) -> int:
    """How many of `count` samples are one point, so that there are no more than `most`."""
    return max(1, math.ceil(count / most))


def timed_steps(plan: Mapping[str, Any]) -> set[int]:
    """The indexes of the steps of a plan's document that are timed."""
    return {index for index, step in enumerate(plan.get("steps") or ()) if step.get("timed")}


class Pass(NamedTuple):
    """One pass of a file set in a run: the index of its first timed step, the set's name, the
    number of the pass, and its start on the run's clock, None where it has not started."""

    step: int
    set_name: str
    number: int
    t: float | None


def passes(run: Mapping[str, Any]) -> list[Pass]:
    """The passes of a `benchstick/run/2` document in the order of its plan; empty where no file
    sets are copied."""
    starts = {step["step_index"]: step["t_start"] for step in run.get("steps") or ()}
    by_set: dict[tuple[str, int], Pass] = {}
    for index, step in enumerate(run["plan"].get("steps") or ()):
        name, number = step.get("set_name"), step.get("pass_no")
        if step.get("timed") and isinstance(name, str) and isinstance(number, int):
            by_set.setdefault((name, number), Pass(index, name, number, starts.get(index)))
    return list(by_set.values())


def session(
    samples: Sequence[Mapping[str, Any]], timed_steps: Set[int], most: int = POINTS
) -> Session:
    """The session of a per-second record. Outside of the `timed_steps` a second without I/O is a
    gap, in them it is 0; a pause of the record is a gap as well."""
    every = every_of(len(samples), most)
    return {way: list(_points(samples, f"{way}_bytes", timed_steps, every)) for way in WAYS}


def _points(
    samples: Sequence[Mapping[str, Any]], counter: str, timed_steps: Set[int], every: int
) -> Iterator[Point]:
    before = None
    for at in range(0, len(samples), every):
        part = samples[at : at + every]
        first = part[0]
        if before is not None and first["t"] - first["dt"] > before + PAUSE:
            yield Point(before + 0.01, None, None, None)
        before = part[-1]["t"]
        values = [
            item[counter] / item["dt"] for item in part if _counts(item, counter, timed_steps)
        ]
        if values:
            mean = sum(values) / len(values)
            yield Point(first["t"], mean, min(values), max(values))
        else:
            yield Point(first["t"], None, None, None)


def _counts(item: Mapping[str, Any], counter: str, timed_steps: Set[int]) -> bool:
    if not item["dt"]:
        return False
    still = not item["read_bytes"] and not item["write_bytes"]
    return bool(item[counter]) or (still and item["step_index"] in timed_steps)
