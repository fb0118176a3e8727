"""The bench in shells with an odd PATH: it starts the system's own tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchstick.drives import subprocesses
from tests.host.bench import QUICK_CDM, Bench
from tests.unit.test_tool import BUSYBOX_SETPRIV, put

TOOLS = ("setpriv", "fio", "blkid", "losetup", "mount", "umount", "wipefs", "sfdisk", "blkdiscard")


@pytest.fixture
def hostile_bench(own_bench: Bench, tmp_path: Path) -> Bench:
    """A bench whose caller has tools first in PATH that do not work, as a stick's login shell."""
    own_bench.run("practice")
    for name in TOOLS:
        put(tmp_path / "hostile", name, BUSYBOX_SETPRIV)
    own_bench.extra["PATH"] = f"{tmp_path}/hostile:/usr/sbin:/usr/bin:/sbin:/bin"
    own_bench.use_tools(subprocesses.PATH)
    return own_bench


def test_drives_are_probed_whatever_path_the_caller_has(hostile_bench: Bench) -> None:
    drives = hostile_bench.json("drives")["drives"]
    (practice,) = [drive for drive in drives if drive["code"] == "practice"]
    assert practice["guard"]["state"] == "free"
    assert "could not be probed" not in json.dumps(drives)


def test_a_run_is_done_whatever_path_the_caller_has(hostile_bench: Bench) -> None:
    document = hostile_bench.json(*hostile_bench.practice("cdm", *QUICK_CDM))
    assert document["state"] == "done"
    results = [result for result in document["results"] if result["pass"] is None]
    assert results
    assert {result["state"] for result in results} == {"valid"}


@pytest.mark.parametrize(
    "argv", [("drives",), ("practice",), ("run", "cdm", "--drive", "practice", "--dry-run")]
)
def test_a_setpriv_that_is_not_util_linuxs_is_one_line_and_exit_2(
    own_bench: Bench, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    own_bench.run("practice")
    put(tmp_path / "busybox", "setpriv", BUSYBOX_SETPRIV)
    own_bench.use_tools(tmp_path / "busybox")
    result = own_bench.run(*argv)
    own_bench.use_tools()
    assert result.returncode == 2, result
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert f"{tmp_path}/busybox/setpriv is not util-linux's setpriv" in line
