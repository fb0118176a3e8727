"""What people type to destroy a drive's data is safe to type and to paste anywhere."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from benchstick.drives import discover
from benchstick.drives.guard import check
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.engine import interrupted_sanitize
from benchstick.engine import run_request as jobs
from benchstick.errors import BadInput, Refused
from benchstick.plan.drive_key import DriveKey, drive_key, keys_of_serial
from benchstick.plan.request import RunRequest
from benchstick.plan.states import GuardState, PurgePhase

EVIL = (
    "$(touch x)", "`touch x`", "a b", " a", "a ", "a'b", 'a"b', "a\\b", "a;b", "a&b", "a|b", "a\nb",
    "a\tb", "a\x1b[2Jb", "a*b", "a?b", "~a", "a!b", "#a", "-a", "--erase", "+a", ".a", "é",
    "\u04301", "\uff11",
    "a\u202eb", "a/b", "../a", "a%2fb", "a=b", "a,b", "{a,b}", "a\x7f", "\udc80", "",
    "port:x", "a@b",
)  # fmt: skip
GOOD = ("S6PUNX0T312345A", "WD-WX11A", "0x5002538e", "2318E6C0A1F2", "a.b:c+d_e")


def drive(serial: str | None, port: str = "2-1.3", lun: int = 0) -> Drive:
    identity = Identity(serial, "Model", None, None, 10**12, port, lun)
    return Drive(
        name="sdb", path="/dev/sdb", devno="8:16", diskseq=5, code="", identity=identity,
        guard=Guard(GuardState.FREE, "USB"), facts={"transport": Fact("usb-uas")},
    )  # fmt: skip


def coded(*drives: Drive) -> list[Drive]:
    return discover._with_codes(drives, {})


@pytest.mark.parametrize("serial", EVIL)
def test_a_serial_with_shell_characters_is_no_code(serial: str) -> None:
    code = coded(drive(serial))[0].code
    assert code == "port:2-1.3:0"


@pytest.mark.parametrize("serial", GOOD)
def test_an_ordinary_serial_is_the_code(serial: str) -> None:
    assert coded(drive(serial))[0].code == serial


@pytest.mark.parametrize("port", ["vg-my lv", "$(touch x)", "cciss!c0d0", "é", "a\nb"])
def test_a_port_is_a_safe_code_as_well(port: str) -> None:
    one, two = coded(drive(None, port), replace(drive(None, port), devno="8:32"))
    assert one.code != two.code
    for code in (one.code, two.code):
        assert re.fullmatch(r"port:[A-Za-z0-9._:+@-]+", code)
        assert shlex.quote(code) == code


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_pasted_code_arrives_as_it_is(shell: str, tmp_path: Path) -> None:
    assert shutil.which(shell), f"{shell} is missing"
    for serial in (*EVIL, *GOOD):
        code = coded(drive(serial))[0].code
        with pytest.raises(Refused) as refusal:
            check(replace(drive(serial), code=code), destructive=True)
        command = re.search(r"--erase .*", refusal.value.message)
        assert command is not None
        result = subprocess.run(
            [shell, "-c", f"printf '%s\\n' {command[0]}"], cwd=tmp_path, capture_output=True
        )
        assert result.stdout.decode() == f"--erase\n{code}\n"
        assert tomllib.loads(f'code = "{code}"')["code"] == code
        assert json.loads(f'"{code}"') == code
    assert list(tmp_path.iterdir()) == []


def test_an_old_code_still_names_its_drive() -> None:
    """Scripts, requests and notes of an older bench name a drive by such a serial."""
    one, two = coded(drive("a $(b)"), drive("X1", "2-2"))
    assert discover.resolve("a $(b)", [one, two]) is one
    # But not where two drives have it.
    twice = coded(drive("a $(b)"), drive("a $(b)", "2-2"))
    with pytest.raises(BadInput, match=r"names 2 drives: use one of port:2-1\.3:0"):
        discover.resolve("a $(b)", twice)
    assert discover.code_of("a $(b)", "a $(b)", one) == "port:2-1.3:0"
    # The old code confirms only where it also selects the drive.
    assert discover.code_of("a $(b)", "/dev/sdb", one) == "a $(b)"
    assert discover.code_of("X1", "X1", one) == "X1"
    assert discover.code_of(None, "a $(b)", one) is None


@pytest.mark.parametrize("field", ["erase", "unlock"])
def test_a_waiting_request_with_an_old_code_is_run(bench_home: Path, field: str) -> None:
    one = coded(drive("a $(b)"))[0]
    one = replace(one, facts={**one.facts, "external": Fact(True)})
    job = RunRequest(
        suite="cdm", drive="a $(b)", target="file", fs="auto",
        erase="a $(b)" if field == "erase" else None,
        unlock="a $(b)" if field == "unlock" else None,
    )  # fmt: skip
    ready = jobs.make_ready(job, bench_home, drive=one)
    assert {ready.request.erase, ready.request.unlock} == {None, "port:2-1.3:0"}
    other = replace(job, drive="/dev/sdb")
    ready_job = jobs.make_ready(other, bench_home, drive=one).request
    assert "a $(b)" in (ready_job.erase, ready_job.unlock)


def test_a_command_with_an_old_code_is_quoted() -> None:
    purge = interrupted_sanitize.Unfinished(
        run=1, step=1, drive_key=DriveKey("k"), code="a $(touch x)'b", model="M", rung="overwrite",
        phase=PurgePhase.ERASING, password=None, bytes_written=0, marks="m", samples=1,
        mark_size=4096, reason=None,
    )  # fmt: skip
    command = purge.advice().split("continue with: ")[1].split("; or ")[0]
    assert shlex.split(command) == [
        "benchstick", "run", "erase", "--drive", purge.code, "--erase", purge.code, "--param",
        "rung=resume",
    ]  # fmt: skip


def test_one_function_makes_the_key_of_a_drive() -> None:
    """The store finds drives by ranges of keys: the form of a key must not change."""
    assert drive_key("S1", "Model X", 1000, "2-1.3", 0) == "S1|Model X|1000"
    assert drive_key(None, "Model X", 1000, "2-1.3", 1) == "port:2-1.3:1|Model X|1000"
    first, end = keys_of_serial("S1")
    assert first <= drive_key("S1", "Model X", 1000, "2-1.3", 0) < end
    assert not first <= drive_key("S11", "Model X", 1000, "2-1.3", 0) < end
    assert not first <= drive_key("S", "Model X", 1000, "2-1.3", 0) < end
