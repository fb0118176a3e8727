"""Runs several files of tests/vm/guest in one boot: python tests/vm/guest_files.py STEM...

Each file has a pytest process of its own, with its report in .cache/results/guest-STEM.xml and,
once it has ended, its exit code in guest-STEM.code: from these scripts/run_tests.py knows which
files are still to be run when the VM is lost. Between two files the drives become as a boot has
them: blank, nothing mounted, no drives that a test made, no data of the bench. The exit code is 0
when all files were run, whatever the results of their tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]
RESULTS = CLONE / ".cache/results"
FOLDER = "tests/vm/guest"
SERIALS = ("BSUAS0001", "BSBOT0001", "BSSATA0001", "BSNVME0001")
# Processes that share a file's drives where it lists which test has which (LANES).
WORKERS = 3
MIB = 1 << 20
# Where file systems and partition tables have their signatures.
ENDS = 16 * MIB
# What a file leaves in the guest's RAM.
LEFT_BEHIND = ("/run/benchstick", "/tmp/pytest-of-root")
WAIT_S = 120.0


def command_of(stem: str) -> list[str]:
    """pytest for one file."""
    file = f"{FOLDER}/{stem}.py"
    command = [sys.executable, "-m", "pytest", f"--junitxml={RESULTS}/guest-{stem}.xml",
               "-o", "junit_family=xunit1", file]  # fmt: skip
    if "\nLANES = " in (CLONE / file).read_text(encoding="utf-8"):
        command += ["-n", str(WORKERS), "--dist", "loadscope"]
    return command


def nodes() -> dict[str, str]:
    """The nodes of the drives under test by serial."""
    process = subprocess.run(
        ["lsblk", "-J", "-d", "-o", "PATH,SERIAL"], capture_output=True, text=True, check=True
    )
    drives = json.loads(process.stdout)["blockdevices"]
    return {one["serial"]: one["path"] for one in drives if one["serial"] in SERIALS}


def drives_there() -> dict[str, str]:
    """All drives under test; waits for one that is on its way back."""
    deadline = time.monotonic() + WAIT_S
    while set(drives := nodes()) != set(SERIALS):
        if time.monotonic() > deadline:
            raise SystemExit(
                f"drives are missing after {WAIT_S:.0f} s: {set(SERIALS) - set(drives)}"
            )
        time.sleep(0.5)
    return drives


def unmount_all(paths: list[str]) -> None:
    """Unmount what is on these drives, the last first."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    for line in reversed(lines):
        device, point = line.split()[:2]
        if device.startswith(tuple(paths)):
            subprocess.run(["umount", point], check=True)


def wipe(path: str) -> None:
    """Make the drive blank: by discard where it has that, and at both ends in any case."""
    subprocess.run(["partx", "-d", path], capture_output=True)
    subprocess.run(["blkdiscard", "-f", path], capture_output=True)
    with open(path, "r+b", buffering=0) as drive:  # noqa: PTH123 - a device
        size = drive.seek(0, os.SEEK_END)
        for start in (0, size - ENDS):
            drive.seek(start)
            for _ in range(ENDS // MIB):
                drive.write(bytes(MIB))
        os.fsync(drive.fileno())
    subprocess.run(["blockdev", "--flushbufs", path], check=True)


def reset() -> None:
    """Make the guest as a boot has it, as far as a test can see."""
    for module in ("scsi_debug", "null_blk"):
        subprocess.run(["modprobe", "-r", module], capture_output=True)
    drives = drives_there()
    unmount_all(list(drives.values()))
    for path in drives.values():
        wipe(path)
    subprocess.run(["udevadm", "settle", f"--timeout={WAIT_S:.0f}"], check=True)
    for folder in (*LEFT_BEHIND, os.environ.get("BENCHSTICK_HOME", "")):
        # The data folder is a mount point of its own.
        for entry in Path(folder).iterdir() if folder and Path(folder).is_dir() else ():
            with contextlib.suppress(OSError):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    with contextlib.suppress(OSError):
        Path("/run/benchstick").rmdir()


def save_code(stem: str, code: int) -> None:
    """Note that the file has ended. On the host's disk before the VM can be lost."""
    part = RESULTS / f"guest-{stem}.part"
    with part.open("w", encoding="ascii") as file:
        file.write(str(code))
        file.flush()
        os.fsync(file.fileno())
    part.rename(RESULTS / f"guest-{stem}.code")


def main(stems: list[str]) -> int:
    if os.environ.get("BENCHSTICK_IN_GUEST") != "1":
        raise SystemExit("this wipes drives: it runs inside the VM only")
    RESULTS.mkdir(parents=True, exist_ok=True)
    for at, stem in enumerate(stems):
        if at:
            reset()
        else:
            drives_there()
        start = time.monotonic()
        print(f"\n--- {stem}", flush=True)
        command = command_of(stem)
        env = dict(os.environ)
        if "-n" in command:
            # A drive's answer waits for the tools of the other workers.
            env["BENCHSTICK_TOOL_SECONDS"] = "60"
        code = subprocess.run(command, cwd=CLONE, env=env).returncode
        save_code(stem, code)
        print(f"--- {stem}: {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
