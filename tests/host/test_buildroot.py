"""Buildroot's release: fetched from a real server, used only with the expected checksum."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import re
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]
META = (CLONE / "buildroot-external/meta").read_text()
VERSION = re.findall(r"^BUILDROOT_VERSION=(.*)$", META, re.M)[0]
NAME = f"buildroot-{VERSION}"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def release(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A server with a small release: its address, and the release's SHA-256."""
    tree = tmp_path / NAME
    (tree / "package").mkdir(parents=True)
    (tree / "package/Makefile.in").write_text("# here\n")
    (tree / "Makefile").write_text(f"export BR2_VERSION := {VERSION}\n")
    web_folder = tmp_path / "served"
    web_folder.mkdir()
    with tarfile.open(web_folder / f"{NAME}.tar.xz", "w:xz") as tarball:
        tarball.add(tree, NAME)
    sha256 = hashlib.sha256((web_folder / f"{NAME}.tar.xz").read_bytes()).hexdigest()
    handler = functools.partial(Quiet, directory=str(web_folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", sha256
        server.shutdown()
        thread.join()


def fetch(folder: Path, site: str, sha256: str) -> subprocess.CompletedProcess[str]:
    script = CLONE / "scripts/image.d/buildroot"
    # A proxy of this machine's has no business with a server on it.
    plain = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return subprocess.run(
        [script, folder],
        env={**plain, "BUILDROOT_SITE": site, "BUILDROOT_SHA256": sha256},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_release_with_the_expected_checksum_is_unpacked_once(
    tmp_path: Path, release: tuple[str, str]
) -> None:
    site, sha256 = release
    folder = tmp_path / "cache"
    result = fetch(folder, site, sha256)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{folder / NAME}\n"
    assert (folder / NAME / "package/Makefile.in").exists()
    # Again without a server, and without the checksum: it is there.
    again = fetch(folder, "http://127.0.0.1:9", "")
    assert (again.returncode, again.stdout) == (0, result.stdout), again.stderr
    assert sorted(path.name for path in folder.iterdir()) == [NAME, f"{NAME}.sha256"]


def test_another_file_is_refused_and_nothing_is_left(
    tmp_path: Path, release: tuple[str, str]
) -> None:
    site, sha256 = release
    result = fetch(tmp_path / "cache", site, "0" * 64)
    assert result.returncode == 2
    assert f"is not the expected file: its SHA-256 is {sha256}" in result.stderr
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("sha256", "message"),
    [("", "BUILDROOT_SHA256 is not set"), ("0" * 63, "expected 64 digits")],
)
def test_without_a_checksum_nothing_is_fetched(tmp_path: Path, sha256: str, message: str) -> None:
    result = fetch(tmp_path / "cache", "http://127.0.0.1:9", sha256)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "cache").exists()


def test_without_a_network_the_error_shows_the_other_way(tmp_path: Path) -> None:
    result = fetch(tmp_path / "cache", "http://127.0.0.1:9", "0" * 64)
    assert result.returncode == 2
    assert "BUILDROOT=/path/to/" in result.stderr.splitlines()[-1]
