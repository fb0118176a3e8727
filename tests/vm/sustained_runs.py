"""Runs of `sustained` inside a guest whose drives' speeds are changed from outside; prints one
JSON document.

Started by test_sustained_truth.py, which sets and changes the limits. First the drive with a fast
zone, alone and in one go; then, side by side and slower, one with the default pauses, one that
slows down for a minute, and one that keeps its speed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CLONE)]

from benchstick.cli.common import reader  # noqa: E402 - found by the path above
from benchstick.plan.steps import plan_from_json  # noqa: E402
from benchstick.store.run_reader import results_of, samples_of  # noqa: E402
from benchstick.suites.sustained import fill_series  # noqa: E402
from tests.vm.delayed_runs import settle  # noqa: E402

# By its serial: how much of each drive is written, and how many seconds each pause takes.
ALONE = {"BSNVME0001": ("2450MB", 0)}
TOGETHER = {"BSSATA0001": ("2450MB", 2), "BSUAS0001": ("1600MB", 0), "BSBOT0001": ("600MB", 0)}


def run(serial: str, span: str, pause: int) -> Any:
    """One run on the raw drive; its document."""
    print("sustained on", serial, span, file=sys.stderr, flush=True)
    process = subprocess.run(
        ["benchstick", "run", "sustained", "--drive", serial, "--unlock", serial, "--erase", serial,
         # No purge: the drives of null backend keep nothing, no marks either.
         "--param", f"span={span}", "--param", f"pause={pause}", "--param", "purge=none",
         "--json"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    if process.returncode:
        sys.exit(f"{serial}: exit {process.returncode}: {process.stderr}")
    return json.loads(process.stdout)


def series(document: Any) -> list[tuple[int, float, int, float]]:
    """The intervals of the fill, as the suite's analysis was given them."""
    with reader() as db:
        samples = samples_of(db, document["number"])
        results = results_of(db, document["number"])
    intervals = fill_series(plan_from_json(document["plan"]), results, samples)
    return [
        (item.total, round(item.seconds, 4), item.moved, round(item.t or 0.0, 4))
        for item in intervals
    ]


def entry(document: Any) -> dict[str, Any]:
    """What test_sustained_truth.py looks at."""
    parts = [f for f in document["results"] if f["pass"] == 1 and f["unit"] == "MB/s"]
    return {
        "transport": document["drive"]["transport"]["value"],
        "overall": {f["name"]: f["value"] for f in document["results"] if f["pass"] is None},
        "states": sorted({f["state"] for f in document["results"]}),
        "parts": [f["value"] for f in parts],
        "counted": sum(f["detail"]["counters"]["write_bytes"] for f in parts),
        "planned": document["plan"]["bytes_written"],
        "knees": document["result"]["knees"],
        "slow_downs": document["result"]["slow_downs"],
        "verdicts": {item["name"]: item for item in document["result"]["verdicts"]},
        "events": [event["kind"] for event in document["events"]],
        "series": series(document),
    }


def main() -> None:
    settle()
    answer: dict[str, Any] = {}
    for together in (ALONE, TOGETHER):
        with ThreadPoolExecutor(len(together)) as pool:
            runs = {serial: pool.submit(run, serial, *how) for serial, how in together.items()}
            answer |= {serial: entry(future.result()) for serial, future in runs.items()}
    print("answer", json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
