"""Runs inside a guest whose drives answer after a fixed time; prints one JSON document.

Started by test_truth.py, with the delay of the null_blk drive in milliseconds. Each entry has the
run's results, what raw fio measured on the same drive in the same boot with the same options, and
what the limits are.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

RAW = ("--target", "block", "--param", "passes=1", "--param", "interval=0",
       "--param", "size=64MiB")  # fmt: skip
# The null backend of the VM's drives keeps nothing, and nothing is written to it.
READ = ("--param", "only=read")


def run(serial: str, *more: str) -> Any:
    """One cdm run on the raw drive; its JSON."""
    print("running on", serial, *more, file=sys.stderr, flush=True)
    process = subprocess.run(
        [
            "benchstick",
            "run",
            "cdm",
            "--drive",
            serial,
            "--unlock",
            serial,
            "--erase",
            serial,
            *RAW,
            *more,
            "--json",
        ],
        capture_output=True,
        text=True,
    )
    if process.returncode:
        sys.exit(f"{serial}: exit {process.returncode}: {process.stderr}")
    return json.loads(process.stdout)


def raw_fio(document: Any, name: str) -> dict[str, float]:
    """The step's own fio command, run by hand: its IOPS, and how many requests it made for
    each that the drive was given (below 1 when something else was using the drive)."""
    step = next(item for item in document["steps"] if item["name"] == f"{name}, pass 1")
    folder = tempfile.mkdtemp()
    argv = [f"--output={folder}/out" if word.startswith("--output=") else word
            for word in step["detail"]["command"]]  # fmt: skip
    # As in the run, which put the scheduler back at its end: another one queues in the kernel.
    scheduler = Path(f"/sys/block/{document['drive']['name']}/queue/scheduler")
    scheduler.write_text("none")
    before = requests(document["drive"]["name"])
    subprocess.run(argv, check=True, capture_output=True)
    drive_ios = requests(document["drive"]["name"]) - before
    text = Path(folder, "out").read_text()
    job = json.loads(text[text.index("{") :])["jobs"][0]
    fio_ios = job["read"]["total_ios"] + job["write"]["total_ios"]
    return {"iops": job["read"]["iops"] + job["write"]["iops"], "share": fio_ios / drive_ios}


def requests(name: str) -> int:
    """Reads and writes that drive `name` has completed."""
    counts = Path(f"/sys/block/{name}/stat").read_text().split()
    return int(counts[0]) + int(counts[4])


def results(document: Any) -> dict[str, Any]:
    """Each test's pass: IOPS, state, what the drive held, request size."""
    by_test = {}
    for item in document["results"]:
        if item["pass"] == 1 and item["unit"] == "MB/s":
            counters = item["detail"]["counters"]
            side = "write_bytes" if item["name"].endswith("write") else "read_bytes"
            by_test[item["name"]] = {
                "state": item["state"],
                "reason": item["reason"],
                "iops": item["detail"]["totals"]["ios"] / item["detail"]["totals"]["seconds"],
                "tool_bytes": item["detail"]["totals"][side],
                "device_bytes": counters[side],
                "request": counters[side] / max(1, counters[side.split("_")[0] + "s"]),
                "inflight": item["detail"]["inflight_median"],
                "queue": counters["queue_mean"],
            }
    return by_test


def entry(document: Any) -> dict[str, Any]:
    """What test_truth.py looks at."""
    drive = document["drive"]
    return {
        "verdict": document["result"]["verdicts"][0],
        "transport": drive["transport"]["value"],
        "queue_depth": drive["queue_depth"]["value"],
        "nr_requests": int(document["conditions"]["queue"]["nr_requests"]),
        "events": [event["kind"] for event in document["events"]],
        "results": results(document),
    }


def null_blk(label: str, **settings: int) -> str:
    """A null_blk of 1 GiB with these settings; its code."""
    subprocess.run(["modprobe", "null_blk", "nr_devices=0"], check=True)
    folder = Path("/sys/kernel/config/nullb") / label
    folder.mkdir()
    basic = {"size": 1024, "blocksize": 512, "hw_queue_depth": 128}
    for name, value in (*basic.items(), *settings.items(), ("power", 1)):
        (folder / name).write_text(str(value))
    index = (folder / "index").read_text().strip()
    name = next(n for n in (label, f"nullb{index}") if Path(f"/sys/block/{n}").exists())
    if "mbps" in settings:
        # A request larger than what a tick hands out would wait for ever.
        Path(f"/sys/block/{name}/queue/max_sectors_kb").write_text("64")
    process = subprocess.run(["benchstick", "drive", f"/dev/{name}", "--json"], capture_output=True)
    if process.returncode:
        raise RuntimeError(f"{name}: exit {process.returncode}: {process.stderr.decode()}")
    return str(json.loads(process.stdout)["code"])


def set_queue_depth(serial: str, depth: int) -> None:
    """Set the kernel's queue depth of a SATA drive; 1 switches NCQ off."""
    output = subprocess.run(
        ["lsblk", "-dno", "NAME,SERIAL"], capture_output=True, text=True, check=True
    ).stdout
    name = next(line.split()[0] for line in output.splitlines() if serial in line)
    Path(f"/sys/block/{name}/device/queue_depth").write_text(str(depth))


def side_by_side(
    jobs: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]],
) -> dict[str, Any]:
    """A run on each of several drives at once, then raw fio on each: all wait for their drives
    most of the time."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        runs = {name: pool.submit(run, serial, *more) for name, (serial, more, _) in jobs.items()}
        documents = {name: future.result() for name, future in runs.items()}
        # When a run releases its drive, udev probes its content.
        settle()
        raw = {
            (name, test): pool.submit(raw_fio, documents[name], test)
            for name, (_, _, tests) in jobs.items()
            for test in tests
            if not test.endswith("write")
        }
        measured = {key: future.result() for key, future in raw.items()}
    for name, (_, _, tests) in jobs.items():
        for test in tests:
            if test.endswith("write"):
                settle()
                measured[name, test] = raw_fio(documents[name], test)
    return {
        name: entry(document)
        | {"raw": {test: value for (of, test), value in measured.items() if of == name}}
        for name, document in documents.items()
    }


def settle() -> None:
    subprocess.run(["udevadm", "settle", "--timeout=120"], check=True)


def main() -> None:
    short = (*READ, "--param", "time=3")
    both = ("--param", "time=20", "--param", "profile=peak")
    long = (*READ, *both)
    deep = ("RND4K Q32T1 read",)
    drives = ("BSUAS0001", "BSBOT0001", "BSSATA0001", "BSNVME0001")
    settle()
    answer = side_by_side({serial: (serial, short, ()) for serial in drives})
    set_queue_depth("BSSATA0001", 1)
    # 4 MiB a second, handed out in ticks of 20 ms: each holds twenty requests of 4 KiB.
    throttled = null_blk("bsmbps", mbps=4)
    answer |= side_by_side(
        {
            "sata-queue-depth-1": ("BSSATA0001", short, ()),
            "truth-uas": ("BSUAS0001", long, deep),
            "truth-bot": ("BSBOT0001", long, deep),
            "truth-throttled": (throttled, long, deep),
        }
    )
    delay = int(sys.argv[1]) * 1_000_000
    delayed = null_blk("bslat", irqmode=2, completion_nsec=delay)
    answer |= side_by_side({"truth-null": (delayed, both, (*deep, "RND4K Q32T1 write"))})
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    print("guest:", shlex.quote(os.uname().release), file=sys.stderr)
    main()
