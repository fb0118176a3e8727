"""Runs inside a guest whose USB drives are throttled from outside; prints one JSON document.

Started by test_throttled.py. On each drive one `das` pass of 20 s and more each way, then raw fio
with files of the same sizes on the same filesystem; then, with other limits that the host sets,
`cdm` on the raw drive for 20 s each way, and its own fio command by hand.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CLONE / "scripts"), str(CLONE)]

import bench_tools  # noqa: E402 - scripts, found by the path above

from benchstick.engine.copier.direct_io import syncfs  # noqa: E402
from benchstick.plan.fileset import builtin  # noqa: E402
from tests.vm.delayed_runs import raw_fio, results, run, settle  # noqa: E402

SCALE = 0.007
# Many files on the one, few large ones on the other.
FILE_SETS = {"BSUAS0001": "Home", "BSBOT0001": "ISOs"}


def das(serial: str) -> Any:
    print("das on", serial, file=sys.stderr, flush=True)
    process = subprocess.run(
        ["benchstick", "run", "das", "--drive", serial, "--erase", serial, "--json",
         "--scale", str(SCALE), "--param", "passes=1", "--param", "idle=0",
         "--param", f"sets={FILE_SETS[serial]}"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    if process.returncode:
        sys.exit(f"{serial}: exit {process.returncode}: {process.stderr}")
    return json.loads(process.stdout)


def raw(serial: str, document: Any) -> dict[str, float]:
    """Raw fio on the filesystem that the run made, under the same scheduler: bytes a second."""
    print("raw fio on", serial, file=sys.stderr, flush=True)
    Path(f"/sys/block/{document['drive']['name']}/queue/scheduler").write_text("none")
    filesystem = document["conditions"]["filesystem"]
    point, scratch = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    subprocess.run(["mount", "-t", filesystem["fs"], filesystem["path"], str(point)], check=True)
    try:
        files = builtin(FILE_SETS[serial], SCALE)
        folder = point / "fio"
        folder.mkdir()
        write = bench_tools.replayed(files, folder, scratch, "write")
        started_at = time.monotonic()
        fd = os.open(point, os.O_RDONLY)
        syncfs(fd)
        os.close(fd)
        write += time.monotonic() - started_at
        read = bench_tools.replayed(files, folder, scratch, "read")
    finally:
        subprocess.run(["umount", str(point)], check=True)
    # fio's files end at a whole block.
    size = sum(-(-entry.size // bench_tools.ALIGNED) * bench_tools.ALIGNED for entry in files.files)
    return {"write": size / write, "read": size / read}


SEQUENTIAL = ("SEQ1M Q8T1 read", "SEQ1M Q8T1 write")


def cdm(serial: str) -> Any:
    """A sequential test on the raw drive each way; the run's document."""
    return run(serial, "--param", "profile=demo", "--param", "time=20")


def beside_raw_fio(document: Any, raw: dict[str, dict[str, float]]) -> dict[str, Any]:
    """The results of a run and of raw fio, and what was written last."""
    with Path(f"/dev/{document['drive']['name']}").open("rb") as drive:
        data = drive.read(8 << 20)
    packed = len(gzip.compress(data, 6)) / len(data)
    return {"results": results(document), "raw": raw, "packed": packed}


def cdm_on_all() -> dict[str, Any]:
    """Both drives at once, and step by step: while fio runs, nothing else does anywhere."""
    with ThreadPoolExecutor(len(FILE_SETS)) as pool:
        documents = dict(zip(FILE_SETS, pool.map(cdm, FILE_SETS), strict=True))
        raw: dict[str, dict[str, dict[str, float]]] = {serial: {} for serial in FILE_SETS}
        for name in SEQUENTIAL:
            settle()
            rates = pool.map(raw_fio, (documents[s] for s in FILE_SETS), [name] * len(FILE_SETS))
            for serial, rate in zip(FILE_SETS, rates, strict=True):
                raw[serial][name] = rate
    return {serial: beside_raw_fio(documents[serial], raw[serial]) for serial in FILE_SETS}


def main() -> None:
    with ThreadPoolExecutor(len(FILE_SETS)) as pool:
        documents = dict(zip(FILE_SETS, pool.map(das, FILE_SETS), strict=True))
        settle()
        measured = dict(zip(FILE_SETS, pool.map(raw, FILE_SETS, documents.values()), strict=True))
    # The host sets other limits now, within the second that the next command needs at least.
    print("copies measured", flush=True)
    blocks = cdm_on_all()
    answer = {
        serial: {
            "transport": document["drive"]["transport"]["value"],
            "target": document["conditions"]["target"],
            "results": [f for f in document["results"] if f["pass"] == 1 and f["unit"] == "MB/s"],
            "raw": measured[serial],
            "cdm": blocks[serial],
        }
        for serial, document in documents.items()
    }
    print("answer", json.dumps(answer))


if __name__ == "__main__":
    main()
