"""Tests on real kernel drivers, in the VM that scripts/vm boots.

- `tests/vm/guest/test_*.py` run inside a guest, several files in one boot (guest_files.py):
  scripts/run-tests starts pytest there. On a host they are not collected.
- `tests/vm/test_*.py` run on the host and drive scripts/vm with the fixtures below: for what needs
  QEMU's QMP, its settings (`vm_machine.Settings` lists them) or a boot of its own.

A boot takes about 20 s on two cores: share it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

CLONE = Path(__file__).resolve().parents[2]
VM = CLONE / "scripts/vm"
# scripts/vm's exit code when the guest ended without one.
VM_LOST = 125
T = TypeVar("T")
IN_GUEST = os.environ.get("BENCHSTICK_IN_GUEST") == "1"

collect_ignore = [] if IN_GUEST else ["guest"]
if IN_GUEST:
    collect_ignore_glob = ["test_*.py"]


@dataclass(frozen=True)
class Outcome:
    """What a command in the guest gave."""

    code: int
    out: bytes
    err: bytes

    def json(self) -> Any:
        """stdout as JSON; the test fails with both outputs when the command failed."""
        assert self.code == 0, f"exit {self.code}\n{self.text()}"
        return json.loads(self.out)

    def text(self) -> str:
        return f"{self.out.decode(errors='replace')}\n{self.err.decode(errors='replace')}"


def _environment(settings: dict[str, str]) -> dict[str, str]:
    env = {n: v for n, v in os.environ.items() if not n.startswith("BENCHSTICK_")}
    if "BENCHSTICK_VM_ACCEL" in os.environ:
        env["BENCHSTICK_VM_ACCEL"] = os.environ["BENCHSTICK_VM_ACCEL"]
    return env | {"BENCHSTICK_VM_PORT": "0"} | settings


class RunVm(Protocol):
    def __call__(self, command: str, *, again: bool = True, **settings: str) -> Outcome: ...


@pytest.fixture(scope="session")
def vm() -> RunVm:
    """vm(COMMAND, BENCHSTICK_VM_...=...) boots, runs COMMAND, gives its Outcome.

    The time limit is BENCHSTICK_VM_TIMEOUT, 600 s without it. A VM that plain emulation broke
    (exit code 125) is booted once more, with a note on stdout; not with again=False, for tests that
    expect the loss.
    """

    def run(command: str, *, again: bool = True, **settings: str) -> Outcome:
        outcome = once(command, **settings)
        if outcome.code == VM_LOST and again:
            print(f"the VM was lost, booted once more:\n{outcome.err.decode(errors='replace')}")
            outcome = once(command, **settings)
        return outcome

    def once(command: str, **settings: str) -> Outcome:
        process = subprocess.run(
            [VM, command],
            cwd=CLONE,
            env=_environment({"BENCHSTICK_VM_TIMEOUT": "600"} | settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        return Outcome(process.returncode, process.stdout, process.stderr)

    return run


class Qmp:
    """QEMU's control socket: device ids are uas, uas-disk, bot, sata, nvme, pcext4, pcwin."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rwb")
        json.loads(self.lines.readline())
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: object) -> Any:
        """Runs one QMP command (underscores in argument names become dashes)."""
        named_arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
        message = {"execute": command, "arguments": named_arguments}
        self.lines.write(json.dumps(message).encode() + b"\n")
        self.lines.flush()
        while True:
            answer = json.loads(self.lines.readline())
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def limit(self, drive: str, rate: int) -> None:
        """Throttles one drive (by device id) to `rate` bytes a second, reads and writes together;
        it holds from the next request on."""
        self.execute(
            "qom-set",
            path=f"/objects/throttle-{drive}",
            property="limits",
            value={"bps-total": rate},
        )

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


class VmLost(AssertionError):
    """The VM ended without an exit code of its command: plain emulation broke it."""


@dataclass
class LiveVm:
    """A VM whose command is running: read `process.stdout` line by line, act through `qmp()`."""

    process: subprocess.Popen[bytes]
    qmp_path: Path

    def qmp(self) -> Qmp:
        return Qmp(self.qmp_path)

    def wait_line(self, marker: bytes) -> bytes:
        """Reads stdout up to the line that contains `required`; fails when the output ends
        first."""
        assert self.process.stdout
        lines = []
        for line in self.process.stdout:
            if marker in line:
                return line
            lines.append(line)
        outcome = self.finish()
        message = f"the command ended without {marker!r}; it said {b''.join(lines)!r}"
        kind = VmLost if outcome.code == VM_LOST else AssertionError
        raise kind(f"{message}, exit code {outcome.code}: {outcome.err.decode(errors='replace')}")

    @contextlib.contextmanager
    def lost_in(self) -> Iterator[None]:
        """Any failure in this context is VmLost when the VM has ended without an exit code, or does
        so in the next seconds: scripts/vm needs some to see it."""
        try:
            yield
        except Exception as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
            if self.process.returncode == VM_LOST:
                raise VmLost(f"noticed by {error!r}") from error
            raise

    def finish(self) -> Outcome:
        out, err = self.process.communicate(timeout=600)
        return Outcome(self.process.returncode, out, err)


def once_more_when_lost(act: Callable[[], T]) -> T:
    """act(), and once more, with a note on stdout, when the VM was lost during it.

    What a test notices of that can be anything: have `LiveVm.lost_in` around what it does.
    """
    try:
        return act()
    except (VmLost, ConnectionError) as error:
        print(f"the VM was lost, once more: {error}")
        return act()


class StartVm(Protocol):
    def __call__(self, command: str, **settings: str) -> LiveVm: ...


@pytest.fixture
def live_vm() -> Iterator[StartVm]:
    """live_vm(COMMAND, ...) boots and gives a LiveVm at once; it is ended with the test."""
    with _starting() as start:
        yield start


@pytest.fixture(scope="module")
def live_vms() -> Iterator[StartVm]:
    """The same for a whole module."""
    with _starting() as start:
        yield start


@contextlib.contextmanager
def _starting() -> Iterator[StartVm]:
    machines: list[LiveVm] = []
    # Socket paths are limited to 107 characters, and a test's tmp_path can be longer.
    with tempfile.TemporaryDirectory(prefix="bsqmp") as folder:

        def start(command: str, **settings: str) -> LiveVm:
            qmp = Path(folder) / f"{len(machines)}.sock"
            process = subprocess.Popen(
                [VM, command],
                cwd=CLONE,
                env=_environment({"BENCHSTICK_VM_QMP": str(qmp), **settings}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            machines.append(LiveVm(process, qmp))
            return machines[-1]

        yield start
        for vm in machines:
            vm.process.terminate()
            vm.process.communicate(timeout=60)
