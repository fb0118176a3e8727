"""Suites that write the raw drive, short, on the practice drive: its counters against the plan."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from benchstick.drives.subprocesses import search_path
from tests.host.bench import SYSTEM_TOOLS, Bench, wait_for

NEW_FIO = Path(__file__).resolve().parents[2] / ".cache/fio/bin"
CONSISTENCY = ("consistency", "--param", "span=1", "--param", "time=6")


def planned(document: dict[str, Any], name: str) -> dict[str, Any]:
    (step,) = [step for step in document["plan"]["steps"] if step["name"] == name]
    return dict(step)


def moved(document: dict[str, Any], name: str) -> dict[str, Any]:
    """What the drive's counters say of a step."""
    (step,) = [step for step in document["steps"] if step["name"] == name]
    return dict(step["detail"]["counters"])


def by_name(document: dict[str, Any], pass_no: int | None) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in document["results"] if item["pass"] == pass_no}


def test_consistency_fills_and_writes_what_its_plan_says(own_bench: Bench) -> None:
    assert (NEW_FIO / "fio").exists(), "build it: make test, or scripts/build-fio"
    own_bench.use_tools(NEW_FIO, search_path())
    document = own_bench.json(*own_bench.practice(*CONSISTENCY))
    assert (document["state"], document["exit_code"]) == ("done", 0)
    for number in (1, 2):
        name = f"fill SEQ128K Q32T1 write, pass {number}"
        counted = moved(document, name)
        # Each filling is exactly its span, in this order and nothing else.
        assert counted["write_bytes"] == planned(document, name)["bytes_written"]
        assert counted["read_bytes"] == 0
    test = "RND4K Q32T1 write"
    counted, results = moved(document, test), by_name(document, 1)
    assert results[test]["state"] == "valid", results[test]["reason"]
    totals = results[test]["detail"]["totals"]
    assert abs(counted["write_bytes"] - totals["write_bytes"]) <= 0.005 * totals["write_bytes"]
    assert counted["read_bytes"] == 0
    # The span alone was written: a sparse file holds no more than that.
    capacity = document["drive"]["identity"]["capacity"]
    assert planned(document, test)["size"] <= capacity // 100
    assert {"50", "99", "99.9", "99.99", "99.999"} == set(totals["percentiles_us"])
    assert sum(count for _, count in totals["histogram_us"]["write"]) == totals["ios"]
    # The practice drive supports discard, so the run starts with that.
    kinds = [step["kind"] for step in document["steps"]]
    assert kinds[:4] == ["mark", "purge", "read-back", "prepare"]
    state = document["conditions"]["state"]
    assert state.startswith("purged by discard of all blocks; filled 2 times")
    assert state == document["plan"]["state"]
    # The fillings themselves were of another state.
    purged = "purged by discard of all blocks; "
    fill = "fill SEQ128K Q32T1 write IOPS"
    assert results[fill]["detail"]["drive_state"] == f"{purged}not preconditioned"
    again = by_name(document, 2)[fill]["detail"]["drive_state"]
    assert again.startswith(f"{purged}filled 1 times")
    assert "drive_state" not in results[f"{test} IOPS"]["detail"]
    assert results["marks gone"]["value"] == 100.0
    seconds = results[f"{test} IOPS by second"]["detail"]
    assert seconds["source"] == "fio" or seconds["source_reason"]
    series = seconds["series"]["mean"]
    assert 4 <= len(series) <= 6
    # The mean of the seconds and the total agree, but for the second left out at each end.
    assert 0.5 < sum(series) / len(series) / (totals["ios"] / totals["seconds"]) < 2
    latency = results[f"{test} latency by second"]
    assert latency["state"] == "valid", latency["reason"]
    assert len(latency["detail"]["max"]["mean"]) == 6
    most = max(latency["detail"]["max"]["mean"])
    # Of a long test the highest second is fio's own maximum, to the digits kept.
    assert abs(most - totals["max_us"]) <= 0.001 * totals["max_us"]
    (step,) = [step for step in document["steps"] if step["name"] == test]
    with (own_bench.home / step["artifacts"] / "by-second.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [round(float(row["iops"])) for row in rows] == [round(value) for value in series]
    titles = [chart["title"] for chart in document["result"]["charts"]]
    assert titles == ["IOPS by second, whole run", "Latency by second"]
    assert by_name(document, None)[f"{test} IOPS min"]["value"] == min(series)


def test_an_older_fio_gives_the_counters_iops_and_skips_latency(own_bench: Bench) -> None:
    # Debian's own.
    own_bench.use_tools(SYSTEM_TOOLS)
    document = own_bench.json(*own_bench.practice(*CONSISTENCY, "--param", "fills=0"))
    results = by_name(document, 1)
    iops = results["RND4K Q32T1 write IOPS by second"]
    assert (iops["state"], iops["detail"]["source"]) == ("valid", "counters")
    assert "no option log_window_value; 3.38 or later is needed" in iops["detail"]["source_reason"]
    latency = results["RND4K Q32T1 write latency by second"]
    assert (latency["state"], latency["reason"]) == ("skipped", iops["detail"]["source_reason"])
    exported = json.loads(
        own_bench.run("export", str(document["number"]), "--format", "json").stdout
    )
    rates = [round(sample["write_bytes"] / 4096 / sample["dt"]) for sample in exported["samples"]]
    for value in iops["detail"]["series"]["mean"]:
        assert any(abs(value - rate) <= 1 for rate in rates), (value, rates)


def test_a_cancelled_consistency_run_shows_its_seconds(own_bench: Bench) -> None:
    own_bench.use_tools(NEW_FIO, search_path())
    process = own_bench.start(
        *own_bench.practice("consistency", "--param", "span=1", "--param", "fills=0"), "--json"
    )

    def writing() -> bool:
        live = list((own_bench.root / "run" / "live").glob("*.json"))
        if not live:
            return False
        now = json.loads(live[0].read_text())
        samples = [one for one in now["samples"] if one["write_bytes"] > 0]
        return now["name"] == "RND4K Q32T1 write" and len(samples) >= 4

    wait_for(writing)
    process.terminate()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    document = json.loads(out)
    assert document["state"] == "cancelled"
    iops = by_name(document, 1)["RND4K Q32T1 write IOPS by second"]
    series = iops["detail"]["series"]["mean"]
    assert 2 <= len(series) <= 60
    assert (iops["state"], iops["reason"]) == (
        "invalid",
        f"cancelled after {len(series)} s of 2000",
    )
    points = document["result"]["series"][0]["points"]
    assert points == [[second, value] for second, value in enumerate(series)]
    assert document["result"]["text"].startswith("RND4K Q32T1 write: IOPS by second (invalid:")


def test_a_steady_sweep_does_what_its_plan_says(own_bench: Bench) -> None:
    document = own_bench.json(
        *own_bench.practice(
            "sweep", "--param", "state=steady", "--param", "span=1", "--param", "fills=1",
            "--param", "soak=2", "--param", "time=1", "--param", "depths=1,256",
        )
    )  # fmt: skip
    assert document["state"] == "done"
    order = [step["name"] for step in document["steps"] if step["kind"] == "fio"]
    assert order == [
        "fill SEQ128K Q32T1 write, pass 1", "precondition RND4K Q32T1 write",
        "RND4K Q1T1 read", "RND4K Q256T1 read", "RND4K Q1T1 mix", "RND4K Q256T1 mix",
        "RND4K Q1T1 write", "RND4K Q256T1 write",
    ]  # fmt: skip
    fill = order[0]
    assert moved(document, fill)["write_bytes"] == planned(document, fill)["bytes_written"]
    for name in order[2:]:
        counted = moved(document, name)
        share = counted["read_bytes"] / (counted["read_bytes"] + counted["write_bytes"])
        bounds = {"read": (1, 1), "mix": (0.6, 0.8), "write": (0, 0)}[name.rsplit(" ", 1)[1]]
        assert bounds[0] <= share <= bounds[1], (name, share)
    single, overall = by_name(document, 1), by_name(document, None)
    most = document["drive"]["queue_depth"]["value"]
    assert 1 <= most < 256, "a loop device of this kernel takes 128"
    for depth, waits in ((1, False), (256, True)):
        for direction in ("read", "mix", "write"):
            name = f"RND4K Q{depth}T1 {direction}"
            assert single[name]["state"] == "valid", single[name]["reason"]
            queue = {"requested": depth, "drive": most, "waits_in_kernel": waits}
            assert single[name]["detail"]["queue"] == queue
            assert overall[f"{name} IOPS"]["detail"]["queue"] == queue
            assert overall[f"{name} IOPS"]["value"] == single[f"{name} IOPS"]["value"]
    assert f"in the kernel above {most}" in document["result"]["text"]
    state = document["conditions"]["state"]
    assert state == document["plan"]["state"]
    assert state.startswith("purged by discard of all blocks; filled 1 times")
    assert "at QD32 for 2 s" in state
    assert overall["RND4K Q1T1 read"]["detail"]["drive_state"] == state


def test_a_read_only_sweep_writes_nothing_and_needs_no_code(own_bench: Bench) -> None:
    own_bench.run("practice")
    document = own_bench.json(
        "run", "sweep", "--drive", "practice", "--param", "only=read", "--param", "depths=4",
        "--param", "time=1", "--param", "span=1",
    )  # fmt: skip
    assert document["plan"]["destroys"] is False
    assert moved(document, "RND4K Q4T1 read")["write_bytes"] == 0
    assert moved(document, "RND4K Q4T1 read")["read_bytes"] > 0


def test_a_purge_that_changes_nothing_is_reported_as_not_proved(own_bench: Bench) -> None:
    fake = own_bench.root / "bin"
    fake.mkdir()
    # A drive that takes discards and keeps all: its marks are still there.
    (fake / "blkdiscard").write_text("#!/bin/sh\nexit 0\n")
    (fake / "blkdiscard").chmod(0o755)
    own_bench.use_tools(fake, search_path())
    document = own_bench.json(
        *own_bench.practice("sweep", "--param", "depths=1", "--param", "time=1",
                            "--param", "span=1")
    )  # fmt: skip
    assert document["state"] == "done"
    state = document["conditions"]["state"]
    assert state.startswith("purged by discard of all blocks, not proved (64 of 64 marks can ")
    assert state.endswith("; not preconditioned")
    overall = by_name(document, None)
    assert overall["RND4K Q1T1 read"]["detail"]["drive_state"] == state
    assert by_name(document, 1)["marks gone"]["state"] == "invalid"


def test_without_a_purge_the_state_is_as_found(own_bench: Bench) -> None:
    document = own_bench.json(
        *own_bench.practice("sweep", "--param", "depths=1", "--param", "time=1",
                            "--param", "span=1", "--param", "purge=none")
    )  # fmt: skip
    assert document["conditions"]["state"] == "as found, not purged; not preconditioned"
    assert document["steps"][0]["kind"] == "prepare"


def test_bad_input_is_one_line_and_writes_nothing(own_bench: Bench) -> None:
    own_bench.run("practice")
    name = own_bench.json("drive", "practice")["name"]
    stat = Path(f"/sys/block/{name}/stat")
    sectors_before = stat.read_text().split()[6]
    for suite, param in (
        ("consistency", "span=0"), ("consistency", "depth=0"), ("consistency", "block=5000"),
        ("consistency", "nand=1GiB"), ("sweep", "depths=0"), ("sweep", "block=100"),
        ("sweep", "purge=gutmann"),
    ):  # fmt: skip
        more = ("--param", "spare=25") if param.startswith("nand") else ()
        result = own_bench.run(*own_bench.practice(suite, "--param", param, *more))
        assert result.returncode == 2, result.stderr
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
        assert result.stderr.startswith(f"benchstick: {param.split('=')[0]}: ")
    assert stat.read_text().split()[6] == sectors_before
    assert not (own_bench.home / "store.db").exists()
