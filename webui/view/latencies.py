"""The latency of each fio step of a run: percentiles and histogram. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Steps with their histogram on the page: a day of rounds has more than a thousand steps, which
# would make a page of 10 MB. A round of SNIA has 56.
HISTOGRAMS = 60


@dataclass(frozen=True)
class Bucket:
    """Requests that took up to `us` microseconds, and more than the bucket before; `percent` of
    all of the direction, `of_most` of the fullest bucket."""

    us: int
    count: int
    percent: float
    of_most: float


@dataclass(frozen=True)
class Latency:
    """One step's latency in us: `percentiles` by their text, `histogram` by read and write."""

    name: str
    pass_no: int | None
    state: str
    mean: float | None
    percentiles: Mapping[str, float]
    most: float | None
    histogram: Mapping[str, Sequence[Bucket]]


def of_steps(run: Mapping[str, Any]) -> list[Latency]:
    """The steps of a run's document whose results have fio's latencies, in order. Only the last
    `HISTOGRAMS` have their histogram."""
    latencies = list(_of_steps(run))
    early = max(0, len(latencies) - HISTOGRAMS)
    return [*(replace(item, histogram={}) for item in latencies[:early]), *latencies[early:]]


def columns(latencies: Sequence[Latency]) -> list[str]:
    """The percentiles that any of them has, in rising order."""
    return sorted({name for item in latencies for name in item.percentiles}, key=float)


def _of_steps(run: Mapping[str, Any]) -> Iterator[Latency]:
    for result in run["results"]:
        totals = (result.get("detail") or {}).get("totals")
        if result["pass"] is None or not isinstance(totals, Mapping):
            continue
        percentiles = _percentiles(totals.get("percentiles_us"))
        if not percentiles:
            continue
        histogram = totals.get("histogram_us")
        yield Latency(
            name=str(result["name"]),
            pass_no=result["pass"],
            state=str(result["state"]),
            mean=totals.get("latency_us"),
            percentiles=percentiles,
            most=totals.get("max_us"),
            histogram={
                str(way): buckets
                for way, bins in (histogram.items() if isinstance(histogram, Mapping) else ())
                if (buckets := _buckets(bins))
            },
        )


def _percentiles(percentiles: Any) -> dict[str, float]:
    """Those whose name is a number. An older record has none."""
    if not isinstance(percentiles, Mapping):
        return {}
    return {
        str(name): float(value)
        for name, value in percentiles.items()
        if str(name).replace(".", "", 1).isdecimal() and isinstance(value, int | float)
    }


def _buckets(bins: Any) -> list[Bucket]:
    pairs = [(int(bound), int(count)) for bound, count in bins] if isinstance(bins, list) else []
    total = sum(count for _, count in pairs)
    if not total:
        return []
    most = max(count for _, count in pairs)
    return [
        Bucket(bound, count, 100 * count / total, round(100 * count / most, 2))
        for bound, count in pairs
    ]
