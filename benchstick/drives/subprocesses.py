"""Starts external programs (fio, smartctl, mkfs, mount) so that none outlives the bench.

Every tool gets the parent-death signal (by util-linux `setpriv --pdeathsig`), a session of its
own, and, where the caller has one, its run's cgroup. The parent-death signal belongs to the
thread that starts the tool: start tools from a thread that lives as long as they may.

Tools are searched in fixed folders (`PATH`), never in the caller's PATH: that of a login shell may
name busybox's applets or anybody's folder first. BENCHSTICK_TOOL_PATH replaces the fixed folders,
for a tool that is elsewhere and for tests with fakes.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchstick.drives import own
from benchstick.errors import BadInput

# How often a wait for a tool looks whether it is cancelled.
CANCEL_LOOK_S = 0.05
# The folders with the tools, in this order. A newer fio may be in /usr/local.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The environment variable with other folders, separated by colons.
PATH_VARIABLE = "BENCHSTICK_TOOL_PATH"
_VERSION_SECONDS = 20
# The tools' packages, for the message when one is missing.
PACKAGES = {
    "smartctl": "smartmontools",
    "nvme": "nvme-cli",
    "mkfs.exfat": "exfatprogs",
    "mkntfs": "ntfs-3g",
    "mkfs.ext4": "e2fsprogs",
    "sfdisk": "fdisk",
    "sg_vpd": "sg3-utils",
    "sg_readcap": "sg3-utils",
    "sg_start": "sg3-utils",
    "sg_sync": "sg3-utils",
    "lsusb": "usbutils",
    "ntfsls": "ntfs-3g",
    "debugfs": "e2fsprogs",
    "blkid": "util-linux",
    "wipefs": "util-linux",
    "blkdiscard": "util-linux",
    "blockdev": "util-linux",
    "partx": "util-linux",
    "setpriv": "util-linux",
    "dmesg": "util-linux",
    "losetup": "mount",
    "umount": "mount",
    "mcopy": "mtools",
    "mdir": "mtools",
    "mmd": "mtools",
    "modprobe": "kmod",
}


class Flag(Protocol):
    """What ends a tool early, as soon as it is set."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True)
class Finished:
    """What a tool left: argv, exit code, output, wall seconds; `timed_out` when it was killed."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool = False

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_line(self) -> str:
        """The last line that the tool printed on stderr, or its exit code in words."""
        lines = [ln for ln in self.stderr.decode("utf-8", "replace").splitlines() if ln.strip()]
        return lines[-1].strip() if lines else f"exit code {self.exit_code}"


def search_path() -> str:
    """The folders of tools, separated by colons. BadInput when one is not absolute."""
    path = os.environ.get(PATH_VARIABLE) or PATH
    for folder in path.split(":"):
        if not folder.startswith("/"):
            raise BadInput(
                f"{PATH_VARIABLE}: {folder!r} is not an absolute folder; "
                "name all folders with tools, as /opt/fio/bin:/usr/sbin:/usr/bin"
            )
    return path


def require(tool: str, path: str | None = None) -> str:
    """The tool's absolute path, from the folders of `path` (those of `search_path`).

    BadInput naming the package when it is missing.
    """
    path = path or search_path()
    if tool == "setpriv":
        return _require_setpriv(path)
    place = shutil.which(tool, path=path)
    if place is None:
        raise BadInput(_not_installed(tool))
    return place


def _not_installed(tool: str) -> str:
    remedy = f"{tool} is not installed: apt-get install {PACKAGES.get(tool, tool)}"
    elsewhere = shutil.which(tool)
    if elsewhere is None or not elsewhere.startswith("/"):
        return remedy
    return f"{remedy}, or name the folder of {elsewhere} in {PATH_VARIABLE}"


def _require_setpriv(path: str) -> str:
    """The first setpriv that is util-linux's. Busybox has one without `--pdeathsig`."""
    other = None
    for folder in path.split(":"):
        place = shutil.which("setpriv", path=folder)
        if place is None:
            continue
        if _is_util_linux(place):
            return place
        other = other or place
    if other is None:
        raise BadInput(_not_installed("setpriv"))
    raise BadInput(
        f"{other} is not util-linux's setpriv, which starts every tool: "
        f"apt-get install util-linux, or name the folder of util-linux's in {PATH_VARIABLE}"
    )


# The setpriv programs that are util-linux's. Failures are not kept: the next call asks again.
_util_linux: set[str] = set()


def _is_util_linux(place: str) -> bool:
    if place in _util_linux:
        return True
    try:
        answer = subprocess.run(
            [place, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_VERSION_SECONDS, env={"LC_ALL": "C", "PATH": PATH},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    if b"util-linux" not in answer.stdout:
        return False
    _util_linux.add(place)
    return True


def start(
    argv: Sequence[str],
    *,
    cgroup: Path | None = None,
    stdout: int | None = subprocess.PIPE,
    stderr: int | None = subprocess.PIPE,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start `argv` bound to the calling thread's life, in its own session."""
    path = search_path()
    launcher = [require("setpriv", path), "--pdeathsig", "KILL", "--"]
    command = [*launcher, require(argv[0], path), *argv[1:]]
    if cgroup is not None:
        # The shell moves itself before it becomes the tool, so no child can escape the cgroup.
        script = 'echo $$ > "$0" || exit 126; exec "$@"'
        command = ["/bin/sh", "-c", script, str(cgroup / "cgroup.procs"), *command]
    # A tool starts helpers of its own by name.
    env = {**os.environ, **own.environment(), "LC_ALL": "C.UTF-8", "PATH": path}
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        env=env,
        cwd=cwd,
    )


def kill_group(process: subprocess.Popen[bytes], sig: int = signal.SIGKILL) -> None:
    """Signal the tool and its children (its session is its process group)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sig)


def run(
    argv: Sequence[str],
    *,
    timeout: float | None = 60.0,
    cancel: Flag | None = None,
    cgroup: Path | None = None,
    on_start: Callable[[subprocess.Popen[bytes]], None] | None = None,
    grace: float = 5.0,
) -> Finished:
    """Run `argv` to its end. On `timeout` or `cancel`: SIGTERM, then SIGKILL after `grace` s.

    A tool stuck in the kernel (a drive that hangs) cannot be killed: after a second SIGKILL wait
    it is left behind and reported as timed out, so that the bench itself never hangs.
    """
    started_at = time.monotonic()
    process = start(argv, cgroup=cgroup)
    if on_start is not None:
        on_start(process)
    outputs: dict[str, bytes] = {"out": b"", "err": b""}
    end_event = threading.Event()
    reader = threading.Thread(target=_collect, args=(process, outputs, end_event), daemon=True)
    reader.start()
    stop_reason = _wait(end_event, started_at, timeout, cancel)
    if stop_reason:
        _stop(process, grace)
    reader.join(timeout=grace)
    code = process.poll()
    return Finished(
        argv=tuple(argv),
        exit_code=-signal.SIGKILL if code is None else code,
        stdout=outputs["out"],
        stderr=outputs["err"],
        seconds=time.monotonic() - started_at,
        timed_out=stop_reason,
    )


def _collect(
    process: subprocess.Popen[bytes], into: dict[str, bytes], end_event: threading.Event
) -> None:
    try:
        into["out"], into["err"] = process.communicate()
    finally:
        end_event.set()


def _wait(
    end_event: threading.Event, started_at: float, timeout: float | None, cancel: Flag | None
) -> bool:
    """Wait for the tool. True when it must be stopped (timeout or cancel)."""
    # The end wakes us at once: a look at a drive asks many tools that answer within milliseconds.
    # Polling the process here as well would race with communicate() for the exit status.
    while True:
        remaining = math.inf if timeout is None else started_at + timeout - time.monotonic()
        if end_event.wait(max(0.0, min(CANCEL_LOOK_S, remaining))):
            return False
        if remaining <= 0 or (cancel is not None and cancel.is_set()):
            return True


def _stop(process: subprocess.Popen[bytes], grace: float) -> None:
    for sig in (signal.SIGTERM, signal.SIGKILL):
        kill_group(process, sig)
        deadline = time.monotonic() + grace
        while process.returncode is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.returncode is not None:
            # Children of the tool may still hold the drive.
            kill_group(process, signal.SIGKILL)
            return
