"""Errors of set-up: one line with what is missing and what to do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]

NO_LOOP = """
folder=$(mktemp -d) && mount -t tmpfs none "$folder" && cp -a /dev/null /dev/urandom "$folder"
mount --move "$folder" /dev
"""


def setup(*part: str, before: str = "", path: str = "/usr/sbin:/usr/bin:/sbin:/bin") -> str:
    """scripts/setup in a mount namespace of its own that `before` has changed; its stderr."""
    result = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "bash", "-euc",
         f"{before}\nPATH={path}\nexec \"$0\" \"$@\"", str(CLONE / "scripts/setup"), *part],
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    assert result.returncode == 2, result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_without_loop_devices_the_module_is_named() -> None:
    assert "run: modprobe loop" in setup("run", before=NO_LOOP)


def test_not_debian_names_what_is_missing_and_the_command(tmp_path: Path) -> None:
    release = tmp_path / "os-release"
    release.write_text("ID=fedora\n")
    dnf = tmp_path / "bin" / "dnf"
    dnf.parent.mkdir()
    dnf.write_text("#!/bin/sh\n")
    dnf.chmod(0o755)
    before = f'mount --bind {release} "$(readlink -f /etc/os-release)"'
    # Without the folders of the system tools they are missing.
    message = setup("run", before=before, path=f"{dnf.parent}:/usr/bin:/bin")
    assert "this is not Debian" in message
    assert "smartctl" in message
    assert "run: dnf install " in message
    assert " smartmontools" in message


def test_not_root_is_reported() -> None:
    result = subprocess.run(
        ["unshare", "--user", "--map-user=1000", str(CLONE / "scripts/setup"), "run"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "unshare failed" in result.stderr:
        pytest.fail(f"this kernel has no user namespaces to be somebody else in: {result.stderr}")
    assert result.returncode == 2
    assert "needs root" in result.stderr
    assert "sudo make run" in result.stderr


def test_an_unknown_part_names_the_parts() -> None:
    assert "the parts are: run test vm stick bench lint page" in setup("everything")
