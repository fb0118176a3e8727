"""Runs inside a guest with the drives of test_duplicate_serials.py; prints one JSON document."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CDM = ("--target", "block", "--param", "profile=demo", "--param", "passes=1", "--param", "time=1",
       "--param", "interval=0", "--param", "size=16MiB", "--json")  # fmt: skip


def nodes() -> dict[str, str]:
    """The nodes by the images' names of test_duplicate_serials.py: by size, serial and place."""
    process = subprocess.run(
        ["lsblk", "-J", "-b", "-d", "-o", "PATH,SIZE,HCTL"], capture_output=True, check=True
    )
    small = [d for d in json.loads(process.stdout)["blockdevices"] if int(d["size"]) == 64 << 20]
    paths = {}
    for drive in small:
        port = Path(f"/sys/block/{Path(drive['path']).name}/device").resolve().as_posix()
        place = next(p for p in ("-3.1/", "-3.2/", "-4/") if p in port)
        lun = drive["hctl"].rsplit(":", 1)[1]
        name = {"-3.1/": "same0", "-3.2/": "same1", "-4/": f"lun{lun}"}[place]
        paths[name] = drive["path"]
    return paths


def checksums(paths: dict[str, str]) -> dict[str, str]:
    sums = {}
    for name, path in paths.items():
        subprocess.run(["blockdev", "--flushbufs", path], check=True)
        with Path(path).open("rb") as drive:
            sums[name] = hashlib.file_digest(drive, "sha256").hexdigest()
    return sums


def run(paths: dict[str, str], name: str, erase: str) -> dict[str, Any]:
    """A destructive run on one drive: its exit code, and which drives are other than before."""
    before = checksums(paths)
    process = subprocess.run(
        ["benchstick", "run", "cdm", "--drive", paths[name], "--erase", erase, *CDM],
        capture_output=True,
        text=True,
    )
    after = checksums(paths)
    changed_paths = [one for one in paths if before[one] != after[one]]
    return {"code": process.returncode, "message": process.stderr[-600:], "changed": changed_paths}


def main() -> None:
    subprocess.run(["udevadm", "settle", "--timeout=120"], check=True)
    paths = nodes()
    process = subprocess.run(["benchstick", "drives", "--json"], capture_output=True, check=True)
    drives = {drive["path"]: drive for drive in json.loads(process.stdout)["drives"]}
    codes = {name: drives[path]["code"] for name, path in paths.items()}
    answer = {
        "codes": codes,
        "refused": {
            "TWINLUN": run(paths, "lun0", "TWINLUN"),
            "TWINSAME": run(paths, "same0", "TWINSAME"),
        },
        "written": {name: run(paths, name, codes[name]) for name in ("lun1", "same1")},
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
