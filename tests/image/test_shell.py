"""The stick's own shells, as a person uses them: on the serial line, by SSH, on the second screen.

Each types `drives`, `run das`, `run cdm`, `qa` and `export`, and reads what the shell shows.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.image.conftest import copy_of_image
from tests.image.machine import Line, Login, Machine, MachineFailed, write_fat

DRIVE = "BSUAS0001"
ON_DRIVE = f"--drive {DRIVE} --erase {DRIVE}"
QUICK_DAS = "--scale 0.001 --param sets=Home --param passes=1 --param idle=0"
QUICK_CDM = (
    "--fs auto --param profile=demo --param size=16MiB --param passes=1 --param time=1 "
    "--param interval=0"
)
RECIPE = "/usr/lib/benchstick/docs/first.toml"
# Buildroot's order, in which busybox's setpriv came first.
BUSYBOX_FIRST = "PATH=/bin:/sbin:/usr/bin:/usr/sbin"
NUMBER = r"(\d+(?:\.\d+)?)"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key that may log in."""
    path = tmp_path_factory.mktemp("key") / "own"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(argv, check=True)
    return path


@pytest.fixture(scope="module")
def pc(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Iterator[Machine]:
    """A PC with all drives, booted from a stick whose settings name the key."""
    folder = tmp_path_factory.mktemp("pc-shell")
    stick = copy_of_image(folder)
    public = key.with_suffix(".pub").read_text().strip()
    write_fat(stick, "benchstick.toml", f'ssh_keys = ["{public}"]\n')
    machine = Machine(folder, stick, "bios")
    machine.start()
    try:
        machine.wait_ready()
        machine.serial.wait("a shell as root", 60)
        machine.shell("until [ -s /run/benchstick/ssh/fingerprint ]; do sleep 1; done")
        yield machine
    finally:
        machine.kill()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def login(pc: Machine, key: Path) -> Iterator[Line]:
    """A login by SSH with a terminal of its own."""
    line = Login(pc.ssh(key, "-tt"))
    try:
        line.wait("(^|\n)benchstick# ", 120)
        yield line
    finally:
        line.close()


@pytest.fixture(params=["serial", "ssh"])
def line(request: pytest.FixtureRequest, pc: Machine) -> Line:
    """The shell that a test types in."""
    if request.param == "serial":
        return pc.serial
    login: Line = request.getfixturevalue("login")
    return login


def run_command(line: Line, command: str, seconds: float = 120) -> str:
    """The output of a command that must end with 0."""
    code, out = line.enter(command, seconds)
    assert code == 0, f"{command}: {code}\n{out}"
    return out


def newest_run(line: Line, suite: str) -> str:
    """The number of the last run of a suite, from the list of runs."""
    match = re.search(rf"(?m)^(\d+) +{suite} .* done ", run_command(line, "benchstick runs"))
    assert match is not None
    return match[1]


def exported(line: Line, number: str, file: str) -> list[dict[str, str]]:
    """The rows of a run's results in a file that `export` wrote."""
    run_command(line, f"rm -f {file}")
    run_command(line, f"benchstick export {number} --format csv --output {file}")
    rows = list(csv.DictReader(io.StringIO(run_command(line, f"cat {file}"))))
    assert rows
    assert {row["run"] for row in rows} == {number}
    assert {row["drive"] for row in rows} == {DRIVE}
    return rows


def test_a_login_shell_has_the_path_of_the_services(line: Line) -> None:
    assert run_command(line, "echo $PATH").strip() == "/usr/sbin:/usr/bin:/sbin:/bin"


def test_drives(line: Line) -> None:
    out = run_command(line, "benchstick drives", 300)
    assert "could not be probed" not in out
    assert re.search(rf"free: .*\n +code: {DRIVE}\n", out), out
    assert re.search(r"protected: .*\n +code: BSSTICK01\n", out), out
    assert "ambient-caps" not in out


def test_run_das_and_export(line: Line) -> None:
    out = run_command(line, f"benchstick run das {ON_DRIVE} {QUICK_DAS}", 600)
    results = {way: re.search(rf"(?m)^Home +{way} +{NUMBER} ", out) for way in ("write", "read")}
    rows = exported(line, newest_run(line, "das"), "/tmp/typed-das.csv")
    for way, match in results.items():
        assert match is not None, out
        (row,) = [row for row in rows if row["name"] == f"Home {way}" and not row["pass"]]
        assert (row["state"], row["unit"]) == ("valid", "MB/s")
        assert float(row["value"]) > 0
        assert float(row["value"]) == pytest.approx(float(match[1]), rel=0.06)


def test_run_cdm_and_export(line: Line) -> None:
    out = run_command(line, f"benchstick run cdm {ON_DRIVE} {QUICK_CDM}", 600)
    speeds = [float(value) for value in re.findall(rf"SEQ +1MiB \(Q=.*?: +{NUMBER} MB/s", out)]
    assert len(speeds) == 2, out
    rows = exported(line, newest_run(line, "cdm"), "/tmp/typed-cdm.csv")
    values = [
        float(row["value"])
        for row in rows
        if row["name"] in ("SEQ1M Q8T1 read", "SEQ1M Q8T1 write")
        and not row["pass"] and row["unit"] == "MB/s" and row["state"] == "valid"
    ]  # fmt: skip
    assert values == pytest.approx(speeds, abs=0.001)
    assert min(values) > 0


def test_qa(line: Line) -> None:
    out = run_command(line, f"benchstick qa {RECIPE} {ON_DRIVE}", 600)
    assert re.search(rf"(?m)^{DRIVE} .* PASS\b", out), out
    assert re.search(rf"(?m)^\d+ +{DRIVE} .* PASS ", run_command(line, "benchstick verdict list"))


def test_busyboxs_folder_first_changes_nothing(line: Line) -> None:
    assert "could not be probed" not in run_command(line, f"{BUSYBOX_FIRST} benchstick drives", 300)
    run_command(line, f"{BUSYBOX_FIRST} benchstick run cdm {ON_DRIVE} {QUICK_CDM}", 600)


def test_a_wrong_code_ends_with_3_and_an_unknown_drive_with_2(line: Line) -> None:
    code, out = line.enter(f"benchstick run cdm --drive {DRIVE} --erase WRONG {QUICK_CDM}", 300)
    assert code == 3, out
    code, out = line.enter(f"benchstick run cdm --drive NOSUCH {QUICK_CDM}", 300)
    assert code == 2, out


def test_commands_by_ssh_without_a_terminal(pc: Machine, key: Path) -> None:
    def by_ssh(command: str) -> subprocess.CompletedProcess[str]:
        argv = pc.ssh(key, command)
        return subprocess.run(argv, capture_output=True, text=True, timeout=600)

    drives = by_ssh("benchstick drives --json")
    assert drives.returncode == 0, drives.stderr
    (own,) = [item for item in json.loads(drives.stdout)["drives"] if item["code"] == DRIVE]
    assert own["guard"]["state"] == "free"
    run = by_ssh(f"benchstick run cdm {ON_DRIVE} {QUICK_CDM} --json")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["state"] == "done"
    file = by_ssh(f"benchstick export {document['number']}")
    assert file.returncode == 0, file.stderr
    assert json.loads(file.stdout)["results"] == document["results"]
    assert by_ssh(f"benchstick run cdm --drive {DRIVE} --erase WRONG").returncode == 3


def test_no_applet_has_the_name_of_another_program(pc: Machine) -> None:
    out = pc.shell(
        "for name in $(busybox --list); do for folder in /usr/sbin /usr/bin /sbin /bin; do"
        " file=$folder/$name; [ -e $file ] || continue;"
        " case $(readlink $file) in *busybox) ;; *) echo $file ;; esac; done; done"
    )
    # The initramfs calls these two by `busybox NAME`; they have no links.
    assert set(out.split()) <= {"/bin/busybox", "/bin/mount", "/bin/umount"}
    assert "util-linux" in pc.shell("setpriv --version")


# ---- the second screen

# QEMU's names of the keys that are not letters or digits.
KEYS = {
    " ": "spc", "-": "minus", "=": "equal", ".": "dot", "/": "slash", "\n": "ret",
    "$": "shift-4", "?": "shift-slash", ";": "semicolon",
}  # fmt: skip


class Screen:
    """The keyboard, and the text of the second console."""

    def __init__(self, pc: Machine) -> None:
        self.pc = pc

    def press(self, *names: str) -> None:
        """Press keys together, each named as QEMU does, with - between."""
        qmp = self.pc.qmp()
        try:
            for name in names:
                keys = [{"type": "qcode", "data": part} for part in name.split("-")]
                qmp.execute("send-key", keys=keys, hold_time=20)
                time.sleep(0.08)
        finally:
            qmp.close()

    def enter(self, command: str, seconds: float = 120) -> list[str]:
        """Types a command on a cleared screen and waits for the prompt: the lines above it."""
        self._type("clear\n")
        self._wait(lambda lines: lines == ["benchstick#"], 30)
        self._type(f"{command}\n")
        return self._wait(lambda lines: len(lines) > 1 and lines[-1] == "benchstick#", seconds)

    def _type(self, text: str) -> None:
        self.press(
            *(f"shift-{sign.lower()}" if sign.isupper() else KEYS.get(sign, sign) for sign in text)
        )

    def _wait(self, is_there: Callable[[list[str]], bool], seconds: float) -> list[str]:
        deadline = time.monotonic() + seconds
        while True:
            lines = self.lines()
            if is_there(lines):
                return lines
            if time.monotonic() > deadline:
                raise MachineFailed("the second screen shows:\n" + "\n".join(lines))
            time.sleep(1)

    def lines(self) -> list[str]:
        """The lines on the second console down to the last that is not empty."""
        width = int(self.pc.shell("stty size </dev/tty2").split()[1])
        # One byte a place on the screen; what is not ASCII there is in the font's own order.
        text = self.pc.shell("tr -c ' -~' '?' </dev/vcs2; echo").rstrip("\n")
        lines = [text[at : at + width].rstrip() for at in range(0, len(text), width)]
        while lines and not lines[-1]:
            lines.pop()
        return lines


def test_the_second_screen_is_a_shell_that_works(pc: Machine) -> None:
    screen = Screen(pc)
    screen.press("alt-f2")
    try:
        lines = screen.enter("benchstick drives ; echo exit $?", 300)
        assert lines[-2] == "exit 0", lines
        assert [line for line in lines if line.startswith("    code: ")], lines
        assert not [line for line in lines if "could not be probed" in line], lines
        lines = screen.enter(f"benchstick run cdm {ON_DRIVE} {QUICK_CDM} ; echo exit $?", 600)
        assert lines[-2] == "exit 0", lines
        speeds = re.findall(rf"SEQ +1MiB \(Q=.*?: +{NUMBER} MB/s", "\n".join(lines))
        assert len(speeds) == 2, lines
        lines = screen.enter(f"benchstick qa {RECIPE} {ON_DRIVE}", 600)
        assert [line for line in lines if line.startswith(DRIVE) and "PASS" in line], lines
    finally:
        screen.press("alt-f1")
