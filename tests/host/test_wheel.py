"""The wheel: built from tracked files alone, installed with pip, it serves the whole page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.errors import BadInput
from benchstick.suites import registry
from tests.host.bench import wait_for
from tests.web.test_web_serve import Served, environment, free_port
from webui.server import sandbox

CLONE = Path(__file__).resolve().parents[2]
VENDOR = "webui/static/vendor"


def build(tree: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """`pip wheel` as `make wheel` calls it."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(out), "."]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's tracked files, as a clone has them."""
    folder = tmp_path_factory.mktemp("clone")
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={CLONE}", "ls-files", "-z"],
        cwd=CLONE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listing.stdout.split("\0"):
        source = CLONE / name
        # A hardware case and the tests are no part of a wheel, and many.
        if name and source.is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    assert not (tree / VENDOR).exists(), "front-end files are never committed"
    lacking = build(tree, out)
    assert lacking.returncode != 0
    errors = re.findall(r"^\s*error: webui.*$", lacking.stderr, re.M)
    assert {line.strip() for line in errors} == {
        f"error: {VENDOR}/uPlot.esm.js is missing; run: scripts/setup page"
    }, lacking.stderr
    assert list(out.iterdir()) == []
    # What scripts/setup page puts there.
    shutil.copytree(CLONE / VENDOR, tree / VENDOR)
    result = build(tree, out)
    assert result.returncode == 0, result.stderr
    (wheel_file,) = out.glob("*.whl")
    return wheel_file


def test_the_wheel_holds_everything_that_the_program_reads(tree: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    expected = {
        path.relative_to(tree).as_posix()
        for part in ("benchstick", "webui")
        for path in (tree / part).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    expected |= {f"webui/{page.relative_to(tree)}" for page in (tree / "docs").rglob("*.md")}
    assert len(expected) > 300
    assert sorted(expected - names) == []
    assert not [name for name in names if name.startswith(("tests/", "scripts/"))]
    assert not [name for name in names if name.startswith("webui/docs/images")]
    assert "License-Expression: Apache-2.0" in text
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.fixture(scope="module")
def environment_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a virtual environment that holds nothing but the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", str(folder)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"]
    result = subprocess.run([*pip, str(wheel)], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return folder / "bin"


@pytest.fixture
def server(environment_folder: Path, tmp_path: Path) -> Iterator[Served]:
    env = {name: value for name, value in environment(tmp_path).items() if name != "PYTHONPATH"}
    page = Served(
        [str(environment_folder / "benchstick"), "web", "--port", str(free_port())], env, tmp_path
    )
    yield page
    assert page.end() == 0


def test_an_installed_wheel_serves_pages_docs_and_scripts(
    server: Served, environment_folder: Path
) -> None:
    root = Path(f"/proc/{server.process.pid}/root")
    assert not (root / str(CLONE / "webui").lstrip("/")).exists(), "the clone is out of sight"
    drives = server.get("/drives")
    assert "No drives yet" in drives
    for address in set(re.findall(r'(?:href|src)="(/static/[^"]+)"', drives)):
        assert server.get(address), address
    assert "uPlot" in server.get("/static/vendor/uPlot.esm.js")
    assert "Protected: never written" in server.get("/methods/guard")
    for address in set(re.findall(r'href="(/methods/[^"#]+)', server.get("/methods"))):
        assert "<h1" in server.get(address), address
    for suite in registry.all_suites():
        assert "Source</h2>" in server.get(f"/suites/{suite}"), suite
    licences = json.loads(server.get("/api/v1/licences"))["packages"]
    assert licences[0]["name"] == "benchstick"
    assert licences[0]["licence"] == "Apache-2.0"
    assert "uPlot" in {package["name"] for package in licences}


def test_an_installed_wheel_runs_a_suite_and_writes_its_report(
    environment_folder: Path, tmp_path: Path
) -> None:
    env = {**environment(tmp_path), "PATH": f"{environment_folder}:{os.environ['PATH']}"}

    def run(*argv: str) -> str:
        command = [str(environment_folder / "benchstick"), *argv]
        result = subprocess.run(
            command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=240
        )
        assert result.returncode == 0, (argv, result.stderr)
        return result.stdout

    assert "incoming-portable-ssd" in run("recipe", "list")
    quick = [f"--param={word}" for word in ("passes=1", "time=1", "interval=0", "size=16MiB")]
    try:
        run("run", "cdm:demo", "--drive", "practice", "--erase", "practice", *quick)
        assert "SEQ1M Q8T1" in run("export", "1", "--format", "html")
    finally:
        run("practice", "--detach")


def test_an_installed_wheel_without_the_scanner_extra_shows_its_command(
    environment_folder: Path, tmp_path: Path
) -> None:
    env = {**environment(tmp_path), "PATH": f"{environment_folder}:{os.environ['PATH']}"}
    command = "pip install 'benchstick[scanner]'"

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        words = [str(environment_folder / "benchstick"), *argv]
        return subprocess.run(
            words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )

    listing = run("scanner")
    assert (listing.returncode, command in listing.stderr) == (0, True)
    words = [str(environment_folder / "benchstick"), "agent"]
    with subprocess.Popen(words, env=env, cwd=tmp_path) as agent:
        try:
            wait_for(lambda: command in run("desk", "show").stdout or agent.poll() is not None)
            assert agent.poll() is None
        finally:
            agent.terminate()


def test_without_its_user_the_page_names_a_command_that_needs_no_clone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox, "USER", "benchstick-absent")
    with pytest.raises(BadInput) as error:
        sandbox.check_user()
    assert "add it with: useradd --system" in error.value.message
    assert error.value.message.endswith(" benchstick-absent")
    assert "scripts/" not in error.value.message
