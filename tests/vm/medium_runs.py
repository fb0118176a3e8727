"""Runs inside a guest with the card readers of test_medium.py; prints one JSON line.

For each swap it prints `swap NAME`, then waits until the host has made the file of that name in
the folder BENCHSTICK_TEST_SIGNALS. It asks no reader anything while it waits.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from benchstick.drives import device_query, discover
from benchstick.drives.types import Drive
from benchstick.engine.measure import fio
from benchstick.engine.run_request import Ready, execute, make_ready
from benchstick.engine.runner import Progress
from benchstick.errors import BenchError
from benchstick.plan.request import RunRequest

SIGNALS = Path(os.environ["BENCHSTICK_TEST_SIGNALS"])
PARAMS = {"profile": "demo", "passes": "1", "time": "1", "size": "16MiB"}
REST = {"interval": "10"}
POLLS_MS = 500
LIMIT_S = 400.0
# Several runs at once under plain emulation: a tool that is slow there is no drive that hangs.
TOOL_S = 90.0


def swap(name: str) -> None:
    """Have the host swap the card, and wait for it."""
    print("swap", name, flush=True)
    deadline = time.monotonic() + 60
    while not (SIGNALS / name).exists():
        if time.monotonic() > deadline:
            raise AssertionError(f"{name}: the host swapped no card")
        time.sleep(0.1)


def polls(kernel: str, *, on: bool) -> None:
    text = str(POLLS_MS) if on else "0"
    Path(f"/sys/block/{kernel}/events_poll_msecs").write_text(text, encoding="ascii")


def take_sense(kernel: str) -> None:
    """Take the reader's unit attentions past the kernel, as a tool with pass-through can."""
    generic = next(Path(f"/sys/block/{kernel}/device/scsi_generic").iterdir()).name
    for _ in range(4):
        subprocess.run(["sg_turs", f"/dev/{generic}"], capture_output=True)


def carry_out(ready: Ready, home: Path, during: Any = None) -> dict[str, Any]:
    run_numbers: list[int] = []
    try:
        outcome = execute(
            ready, home, cancel=threading.Event(), progress=during, on_begin=run_numbers.append
        )
        code, reason = outcome.exit_code, outcome.reason
    except BenchError as error:
        code, reason = error.exit_code, error.message
    return {"code": code, "reason": reason, "begun": bool(run_numbers)}


def between(name: str, drive: Drive, way: str) -> dict[str, Any]:
    """A card swapped between the plan and its execution."""
    home = Path(os.environ["BENCHSTICK_HOME"])
    job = RunRequest(suite="cdm", drive=name, params=PARAMS, target="block", erase=drive.code)
    ready = make_ready(job, home, drive=drive)
    seq = Path(f"/sys/block/{drive.name}/diskseq")
    before = seq.read_text()
    swap(name)
    if way == "TAKEN":
        take_sense(drive.name)
    else:
        time.sleep(2 * POLLS_MS / 1000)
    kernel_knew = seq.read_text() != before
    return {**carry_out(ready, home), "kernel_knew": kernel_knew}


def resting(name: str, drive: Drive, fs: str | None) -> dict[str, Any]:
    """A card swapped while a run on it rests."""
    run = Path(f"/run/medium-{name}")
    os.environ["BENCHSTICK_RUN"] = str(run)
    home = run / "home"
    job = RunRequest(
        suite="cdm", drive=name, params={**PARAMS, **REST}, erase=drive.code, fs=fs,
        target=None if fs else "block",
    )  # fmt: skip
    swaps: list[threading.Thread] = []

    def during(at: Progress) -> None:
        # In the sampler's thread, which must keep running.
        if at.name.startswith("idle before") and at.name.endswith("write") and not swaps:
            swaps.append(threading.Thread(target=swap, args=(name,)))
            swaps[0].start()

    outcome = carry_out(make_ready(job, home, drive=drive), home, during)
    return {
        **outcome,
        "swapped": bool(swaps) and (SIGNALS / name).exists(),
        "mounted": str(run) in Path("/proc/mounts").read_text(),
        "state": Path(f"/sys/block/{drive.name}/device/state").read_text().strip(),
    }


def one(name: str, drive: Drive, answers: Any) -> None:
    what, way = name.removeprefix("CARD").split("-")
    filesystems = {"FILE": "auto", "EXT4": "ext4", "RAW": None}
    try:
        if what == "PLAN":
            answers.put((name, between(name, drive, way)))
        else:
            answers.put((name, resting(name, drive, filesystems[what])))
    except BaseException:
        answers.put((name, {"code": -1, "reason": traceback.format_exc()}))
        raise


def main() -> None:
    subprocess.run(["udevadm", "settle", "--timeout=120"], check=True)
    process = subprocess.run(["lsblk", "-J", "-d", "-o", "NAME,SERIAL"], capture_output=True)
    rows = json.loads(process.stdout)["blockdevices"]
    names = {str(row["name"]): str(row["serial"]) for row in rows}
    for kernel, serial in names.items():
        if serial in sys.argv[1:]:
            polls(kernel, on=serial.endswith("POLL"))
    device_query.TIMEOUT_SECONDS = TOOL_S
    # One look for all: it takes long under emulation.
    others = [kernel for kernel, serial in names.items() if serial not in sys.argv[1:]]
    drives = {drive.name: drive for drive in discover.scan(skip_queries=others)}
    by_serial = {names[kernel]: drive for kernel, drive in drives.items()}
    fio.check()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    outcomes: dict[str, Any] = {}
    # A plan that is refused takes a moment; the runs rest most of their time.
    plans = [name for name in sys.argv[1:] if name.startswith("CARDPLAN")]
    for names_at_once in (plans, [name for name in sys.argv[1:] if name not in plans]):
        children = [
            context.Process(target=one, args=(name, by_serial[name], answers))
            for name in names_at_once
        ]
        for child in children:
            child.start()
        outcomes |= dict(answers.get(timeout=LIMIT_S) for _ in children)
        for child in children:
            child.join()
    print("answer", json.dumps(outcomes), flush=True)


if __name__ == "__main__":
    main()
