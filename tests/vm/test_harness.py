"""scripts/vm itself: a command reaches the guest untouched, its output and exit code come back."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest
import vm_machine

from .conftest import CLONE, VM_LOST, Outcome, RunVm, StartVm

# Quotes, $, backslashes, a newline, make's and the shell's own signs, UTF-8.
TEXT = "a  'b' \"c\" $HOME $$ $(x) `y` \\n \\\\ # ; & | % é\nsecond line"

GUEST = r"""
import json, os, subprocess, sys
def mounted(path):
    for line in open('/proc/self/mounts'):
        device, point, kind = line.split()[:3]
        if point == path:
            return kind
for path in ('/etc/benchstick-vm-test', '/root/benchstick-vm-test', '/boot/benchstick-vm-test'):
    open(path, 'w').write('from the guest')
open('.cache/vm-harness-test', 'w').write('from the guest')
print(json.dumps({
    'text': os.environ['BENCHSTICK_TEXT'],
    'cwd': os.getcwd(), 'uid': os.getuid(), 'release': os.uname().release,
    'path': os.environ['PATH'].split(':'), 'home': os.environ['BENCHSTICK_HOME'],
    'in_guest': os.environ['BENCHSTICK_IN_GUEST'],
    'home_type': mounted(os.environ['BENCHSTICK_HOME']), 'cgroup': mounted('/sys/fs/cgroup'),
    'controllers': open('/sys/fs/cgroup/cgroup.subtree_control').read().split(),
    'run_benchstick': os.path.exists('/run/benchstick'),
    'benchstick': subprocess.run(['which', 'python'], capture_output=True, text=True).stdout,
    'modules': sorted(os.listdir('/lib/modules')),
    'udev': subprocess.run(['udevadm', 'control', '--ping']).returncode,
    'clock': open('/sys/devices/system/clocksource/clocksource0/current_clocksource').read(),
}))
"""

MAKES_OWN = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")


def snapshot(folder: str) -> str:
    """A fingerprint of the names and times below `folder`."""
    root = Path(folder)
    names = sorted(str(p) for p in root.rglob("*")) if root.exists() else []
    text = "\n".join(f"{n} {os.lstat(n).st_mtime_ns}" for n in names)
    return hashlib.sha256(f"{root.exists()} {text}".encode()).hexdigest()


@pytest.fixture(scope="module")
def outcome(vm: RunVm) -> Outcome:
    """One boot for the questions below; its command line goes through make."""
    code = GUEST.replace("'", "'\\''")
    command = (
        f"printf '%s\\n' \"$0\" >/dev/null\n"
        f"BENCHSTICK_TEXT={_shell(TEXT)} python3 -c '{code}'\n"
        "printf '\\000\\001\\377\\r\\n\\nend'; printf 'to stderr\\r\\n' >&2\n"
        "head -c 3000000 /dev/zero | tr '\\0' x\n"
        "exit 3"
    )
    before = {path: snapshot(path) for path in ("/boot", "/lib/modules", "/etc/apt")}
    (CLONE / ".cache/vm-harness-test").unlink(missing_ok=True)
    result = vm(command)
    assert {path: snapshot(path) for path in before} == before
    return result


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _facts(outcome: Outcome) -> dict[str, object]:
    facts = json.loads(outcome.out.split(b"\n", 1)[0])
    assert isinstance(facts, dict)
    return facts


def test_command_is_untouched(outcome: Outcome) -> None:
    assert _facts(outcome)["text"] == TEXT


def test_exit_code(outcome: Outcome) -> None:
    assert outcome.code == 3


def test_output_is_byte_exact_and_apart(outcome: Outcome) -> None:
    rest = outcome.out.split(b"\n", 1)[1]
    assert rest.startswith(b"\0\1\xff\r\n\nend")
    assert rest.removeprefix(b"\0\1\xff\r\n\nend") == b"x" * 3_000_000
    # another VM of this clone may have been running: then scripts/vm printed that it waits
    messages = [line for line in outcome.err.splitlines(keepends=True) if b"waiting" not in line]
    assert messages == [b"to stderr\r\n"]


def test_surroundings(outcome: Outcome) -> None:
    facts = _facts(outcome)
    path = facts["path"]
    assert isinstance(path, list)
    assert facts["uid"] == 0
    assert facts["cwd"] == str(CLONE)
    assert path[:2] == [f"{CLONE}/.venv/bin", f"{CLONE}/.cache/fio/bin"]
    assert facts["benchstick"] == f"{CLONE}/.venv/bin/python\n"
    assert facts["in_guest"] == "1"
    assert (facts["home_type"], facts["cgroup"]) == ("tmpfs", "cgroup2")
    assert facts["run_benchstick"] is False
    assert facts["udev"] == 0
    assert {"io", "memory"} <= set(facts["controllers"])  # type: ignore[call-overload]
    # Not the emulated HPET, whatever else the host does, where its counter is constant.
    clocks = ("tsc\n", "kvm-clock\n") if vm_machine.tsc_khz() else (facts["clock"],)
    assert facts["clock"] in clocks


def test_kernel_is_debians_and_only_the_guests(outcome: Outcome) -> None:
    release = _facts(outcome)["release"]
    assert isinstance(release, str)
    assert release.startswith("6.12.")
    assert _facts(outcome)["modules"] == [release]
    assert not Path("/boot", f"vmlinuz-{release}").exists()
    assert not Path("/lib/modules", release).exists()


def test_writes_stay_in_the_guest_but_for_the_clone(outcome: Outcome) -> None:
    assert outcome.code == 3
    for folder in ("/etc", "/root", "/boot"):
        assert not Path(folder, "benchstick-vm-test").exists()
    shared_file = CLONE / ".cache/vm-harness-test"
    assert shared_file.read_text() == "from the guest"
    shared_file.unlink()


def test_make_vm_passes_the_command_on() -> None:
    """Through make, which eats `$` where it can, and ends with a failure when the command does."""
    command = f"printf %s {_shell(TEXT)}; echo $((6*7)) ${{0##*/}} $(echo sub); exit 130"
    for _ in range(2):
        process = subprocess.run(
            ["make", "vm", f"CMD={command}"],
            cwd=CLONE,
            # As from a shell: below another make this one says where it is on stdout.
            env={name: value for name, value in os.environ.items() if name not in MAKES_OWN},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=600,
        )
        if f"Error {VM_LOST}" not in process.stderr.decode():
            break
    assert process.stdout.decode() == f"{TEXT}42 bash sub\n"
    assert process.returncode != 0
    # make's own exit code for any failure is 2; it names the command's
    assert "Error 130" in process.stderr.decode()


def test_guest_that_dies_is_reported(vm: RunVm) -> None:
    # What is printed needs a moment to leave the guest.
    outcome = vm("echo before; sleep 3; echo b >/proc/sysrq-trigger; sleep 60", again=False)
    assert outcome.code == 125
    assert outcome.out == b"before\n"
    assert b"the guest gave no exit code" in outcome.err


def test_time_limit(vm: RunVm) -> None:
    outcome = vm("sleep 600", again=False, BENCHSTICK_VM_TIMEOUT="1")
    assert outcome.code == 125
    assert b"BENCHSTICK_VM_TIMEOUT" in outcome.err


def test_sigint_ends_qemu(live_vm: StartVm) -> None:
    live = live_vm("echo ready; sleep 600")
    live.wait_line(b"ready")
    children = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children").read_text()
    assert children.split()
    live.process.send_signal(signal.SIGINT)
    assert live.finish().code == 130
    time.sleep(0.5)
    assert not [pid for pid in children.split() if Path("/proc", pid).exists()]


def test_shell_on_a_terminal() -> None:
    """`make vm` alone: a shell with a terminal of our size, and its exit code."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (33, 101))
    process = subprocess.Popen(
        [CLONE / "scripts/vm"],
        cwd=CLONE,
        env=os.environ | {"BENCHSTICK_VM_PORT": "0", "BENCHSTICK_VM_TIMEOUT": "300"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    output = b""
    try:
        output += _read_until(ours, b"# ")
        os.write(ours, b"stty size; echo $((6*7)) $BENCHSTICK_IN_GUEST; exit 4\r")
        output += _read_until(ours, b"42 1")
        assert b"33 101" in output
        assert process.wait(30) == 4
    finally:
        process.terminate()
        process.wait(30)
        os.close(ours)


def _read_until(terminal: int, marker: bytes) -> bytes:
    output = b""
    deadline = time.monotonic() + 300
    while marker not in output:
        assert time.monotonic() < deadline, output
        if select.select([terminal], [], [], 1)[0]:
            output += os.read(terminal, 4096)
    return output


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ACCEL", "warp"),
        ("MEMORY", "lots"),
        ("DELAY_MS", "-1"),
        ("BACKEND", "tape"),
        ("PORT", "http"),
        ("QEMU", "'unfinished"),
    ],
)
def test_bad_settings_are_one_line(vm: RunVm, name: str, value: str) -> None:
    outcome = vm("true", again=False, **{f"BENCHSTICK_VM_{name}": value})
    assert outcome.code == 2
    assert outcome.err.count(b"\n") == 1
    assert f"BENCHSTICK_VM_{name}" in outcome.err.decode()
