"""The real server: its cage, its privileges, its errors and its end. Root only, as the bench is."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchstick import paths
from benchstick.appliance import state, web_address
from benchstick.errors import StoreFailed
from benchstick.reports import bundle
from benchstick.store import auth, imported_runs
from benchstick.store.agent_requests import add_request, open_requests
from benchstick.store.database import open_writer
from tests.web import sample
from webui.server import sandbox

ROOT = Path(__file__).resolve().parents[2]
# The modules of the folder that it is started in come first.
BENCHSTICK = [
    sys.executable, "-c", "import sys; from benchstick.cli import main; sys.exit(main())",
]  # fmt: skip


def test_root_is_needed_for_these_tests() -> None:
    assert os.geteuid() == 0, "the page's cage is built by root: run the tests as root"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """`benchstick web` in a process of its own."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if "log-in link" in line:
                return
        raise AssertionError(f"did not start: {self.lines}")

    @property
    def link(self) -> str:
        return self.lines[-1].split()[-1]

    @property
    def base(self) -> str:
        return self.link.split("/login")[0]

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.base}{path}", timeout=20) as answer:
            return str(answer.read().decode())

    def status(self) -> dict[str, str]:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.lines += self.process.stdout.read().splitlines()
        self.process.stdout.close()
        return code


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "BENCHSTICK_HOME": str(folder / "home"),
        "BENCHSTICK_RUN": str(folder / "run"),
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Served]]:
    """Starts the page with the options given; ends what is left of it."""
    servers: list[Served] = []

    def begin(*options: str, cwd: Path = ROOT) -> Served:
        server = Served([*BENCHSTICK, "web", *options], environment(folder), cwd)
        servers.append(server)
        return server

    yield begin
    for server in servers:
        if server.process.poll() is None:
            server.end()


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`benchstick web` that is expected to exit."""
    return subprocess.run(
        [*BENCHSTICK, "web", *options],
        env=environment(folder), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def assert_no_privilege(server: Served) -> None:
    status = server.status()
    for name in ("Uid", "Gid"):
        assert "0" not in status[name].split(), status[name]
    assert status["Groups"].split() in ([], [status["Gid"].split()[0]])
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"].strip() == "1"


# Opens each path as the user that it runs as; prints those that opened.
PROBE = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDONLY))
        print(path)
    except PermissionError:
        pass
"""


def test_the_process_has_no_privilege_and_no_drive(
    start: Callable[..., Served], folder: Path, tmp_path: Path
) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"\0" * (1 << 20))
    loop = subprocess.run(
        ["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        server = start("--port", str(free_port()))
        assert_no_privilege(server)
        root = Path(f"/proc/{server.process.pid}/root")
        assert sorted(item.name for item in (root / "dev").iterdir()) == ["null"]
        nodes = [loop, *(f"/dev/{path.name}" for path in Path("/sys/block").iterdir())]
        for node in nodes:
            assert not (root / node.lstrip("/")).exists(), node
        # Even with the nodes in sight, its user may open none of them.
        there = [node for node in nodes if Path(node).exists()]
        assert loop in there
        command = [*sandbox.unprivileged(["/usr/bin/python3", "-c", PROBE]), *there]
        probe = subprocess.run(command, capture_output=True, text=True, check=True)
        assert probe.stdout == ""
        assert "Drives" in server.get("/drives")
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)


def test_it_sees_its_own_program_and_data_and_nothing_else(start: Callable[..., Served]) -> None:
    server = start("--port", str(free_port()))
    root = Path(f"/proc/{server.process.pid}/root")
    assert not (root / "root").exists() or not str(ROOT).startswith("/var")
    for path in ("/etc/shadow", "/etc/passwd", "/boot", "/var/log", "/sys/block"):
        assert not (root / path.lstrip("/")).exists(), path
    assert not (root / str(ROOT).lstrip("/") / ".git").exists()
    assert not (root / str(ROOT).lstrip("/") / "tests").exists()
    mounts = Path(f"/proc/{server.process.pid}/mounts").read_text().splitlines()
    writable = {line.split()[1] for line in mounts if "rw" in line.split()[3].split(",")}
    home = os.environ["BENCHSTICK_HOME"]
    assert {path for path in writable if not path.startswith("/proc")} == {
        home,
        "/tmp",
        "/dev/null",
    }


def test_from_a_closed_folder_with_closed_files_the_page_works(
    start: Callable[..., Served], folder: Path
) -> None:
    """A clone under /root, made with `umask 077`: 0700 folders and 0600 files, and left so."""
    base = Path(f"/root/benchstick-test-{os.getpid()}")
    clone = base / "clone"
    try:
        clone.mkdir(parents=True)
        for part in sandbox.PARTS:
            shutil.copytree(ROOT / part, clone / part, ignore=shutil.ignore_patterns("__pycache__"))
        for path in [base, *base.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)
        server = start("--port", str(free_port()), cwd=clone)
        assert_no_privilege(server)
        assert "No drives yet" in server.get("/drives")
        assert "uPlot" in server.get("/static/vendor/uPlot.esm.js")
        root = Path(f"/proc/{server.process.pid}/root")
        assert (root / str(clone).lstrip("/") / "webui").is_dir()
        assert not (root / str(ROOT).lstrip("/") / "webui").exists(), "runs from the clone"
        assert server.end() == 0
        assert base.stat().st_mode & 0o777 == 0o700
        assert (clone / "webui/server/app.py").stat().st_mode & 0o777 == 0o600
    finally:
        shutil.rmtree(base)
        assert not base.exists()


def test_an_open_clone_under_root_is_bound_and_left_closed(
    start: Callable[..., Served], folder: Path
) -> None:
    base = Path(f"/root/benchstick-test-open-{os.getpid()}")
    try:
        base.mkdir(mode=0o755)
        for part in sandbox.PARTS:
            shutil.copytree(ROOT / part, base / part, ignore=shutil.ignore_patterns("__pycache__"))
        before = Path("/root").stat().st_mode
        server = start("--port", str(free_port()), cwd=base)
        assert_no_privilege(server)
        assert "No drives yet" in server.get("/drives")
        mounts = Path(f"/proc/{server.process.pid}/mounts").read_text()
        bound = re.search(rf"^\S+ {base}/webui (\S+) (\S+)", mounts, re.M)
        assert bound is not None
        assert bound[2].split(",")[0] == "ro"
        assert Path("/root").stat().st_mode == before
    finally:
        shutil.rmtree(base)


def test_nothing_is_left_mounted(start: Callable[..., Served], folder: Path) -> None:
    server = start("--port", str(free_port()))
    assert str(folder) in Path(f"/proc/{server.process.pid}/mounts").read_text()
    assert str(folder) not in Path("/proc/self/mounts").read_text()
    assert server.end() == 0
    assert list((folder / "run/web-root").iterdir()) == []


def test_root_and_the_page_share_the_store(start: Callable[..., Served], folder: Path) -> None:
    server = start("--port", str(free_port()))
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(server.link, timeout=20) as answer:
        assert "Sign out" in answer.read().decode()
    group = int(server.status()["Gid"].split()[0])
    home = folder / "home"
    assert home.stat().st_mode & 0o7777 == 0o2770
    for file in home.glob("store.db*"):
        status = file.stat()
        assert status.st_gid == group, file
        assert status.st_mode & 0o777 == 0o660, file
    with contextlib.closing(open_writer(home)) as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone()[0] == 1
        add_request(db, "cancel", {"run": 1})
        assert len(open_requests(db)) == 1
    assert '"state": "waiting"' in server.get("/api/v1/requests/1")
    # Without another process in the store the page creates its log again, and root uses it.
    server.end()
    with contextlib.closing(open_writer(home)) as db:
        assert db.execute("PRAGMA quick_check").fetchone()[0] == "ok"
    again = start("--port", str(free_port()))
    assert '"state": "waiting"' in again.get("/api/v1/requests/1")


def test_the_practice_folder_stays_closed(start: Callable[..., Served], folder: Path) -> None:
    (folder / "home/practice").mkdir(parents=True)
    (folder / "home/practice").chmod(0o700)
    server = start("--port", str(free_port()))
    user = server.status()["Uid"].split()[0]
    group = server.status()["Gid"].split()[0]
    for path, is_allowed in (("practice", False), ("runs", True)):
        process = subprocess.run(
            ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--", "ls",
             f"/proc/self/cwd/{path}"],
            cwd=folder / "home", capture_output=True, check=False,
        )  # fmt: skip
        assert (process.returncode == 0) == is_allowed, path


def test_a_used_link_is_followed_by_the_next(start: Callable[..., Served]) -> None:
    server = start("--port", str(free_port()))
    first = server.link
    urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(first).close()
    assert server.end() == 0
    links = [line for line in server.lines if "next log-in link" in line]
    assert len(links) == 1
    assert links[0].split()[-1] != first


def test_on_the_network_it_prints_a_pin_and_asks_for_it(start: Callable[..., Served]) -> None:
    port = free_port()
    server = start("--listen", "0.0.0.0", "--port", str(port))
    assert any(re.fullmatch(r"benchstick: PIN \d{3} \d{3}", line) for line in server.lines)
    assert "Six digits" in server.get("/drives")
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.get("/api/v1/drives")
    assert caught.value.code == 401
    caught.value.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly(start: Callable[..., Served], number: int) -> None:
    server = start("--port", str(free_port()))
    start_time = time.monotonic()
    assert server.end(number) == 0
    assert time.monotonic() - start_time < 10
    assert not any("Traceback" in line for line in server.lines)


def test_an_impossible_address_gives_one_line(folder: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        for options, words in (
            (["--port", str(port)], "is taken by another program"),
            (["--port", "0"], "whole number from 1 to 65535"),
            (["--port", "70000"], "whole number from 1 to 65535"),
            (["--listen", "here"], "not an IP address"),
            (["--listen", "192.0.2.1"], "not an address of this machine"),
            (["--new-token", "a/b"], "token name"),
        ):
            process = run(folder, *options)
            assert process.returncode == 2, options
            assert words in process.stderr, options
            assert len(process.stderr.strip().splitlines()) == 1, process.stderr
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home/benchstick.toml").write_text("port = 'x'")
    process = run(folder)
    assert process.returncode == 2
    assert "benchstick.toml:1: port" in process.stderr


def test_a_port_below_1024_needs_root() -> None:
    # Imported as root: the clone may lie where another user cannot read. In a network namespace of
    # its own, because some machines let everybody have port 81.
    code = (
        "import os\nfrom webui.server.serve import bind\nfrom benchstick.errors import BadInput\n"
        "os.setgroups([])\nos.setgid(65534)\nos.setuid(65534)\n"
        "try:\n bind('0.0.0.0', 81)\nexcept BadInput as error:\n print(error.message)"
    )
    process = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", code], cwd=ROOT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "below 1024 need root" in process.stdout, process.stderr


def test_a_token_is_printed_once_and_works(start: Callable[..., Served], folder: Path) -> None:
    process = run(folder, "--new-token", "bench script")
    assert process.returncode == 0
    token = process.stdout.strip()
    server = start("--port", str(free_port()))
    request = urllib.request.Request(
        f"{server.base}/api/v1/login", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert '"token": "bench script"' in answer.read().decode()
    with contextlib.closing(sqlite3.connect(folder / "home/store.db")) as db:
        assert token not in "".join(map(str, db.execute("SELECT * FROM tokens").fetchall()))


def test_raw_requests_that_no_browser_sends(start: Callable[..., Served]) -> None:
    server = start("--port", str(free_port()))
    host, port = server.base.removeprefix("http://").split(":")
    for raw in (
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET /drives HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /drives HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /drives HTTP/1.1\r\n\r\n",
        b"GET http://evil.example/drives HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=20) as link:
            with contextlib.suppress(ConnectionError):
                link.sendall(raw)
            answer = b""
            with contextlib.suppress(ConnectionError):
                answer = link.recv(65536)
        first = answer.split(b"\r\n")[0]
        assert re.match(rb"HTTP/1\.[01] 4\d\d ", first), (raw[:60], first)
    assert "Drives" in server.get("/drives")


def test_a_store_made_without_the_group_is_shared_later(folder: Path) -> None:
    home = folder / "home"
    open_writer(home).close()
    store = home / "store.db"
    os.chown(store, 0, 0)
    store.chmod(0o600)
    with contextlib.closing(open_writer(home)):
        for file in home.glob("store.db*"):
            assert file.stat().st_mode & 0o777 == 0o660, file
            assert file.stat().st_gid != 0, file


def test_a_link_next_to_the_store_is_not_followed(folder: Path) -> None:
    """The page's user may write to the folder; root must not change another file for it."""
    home = folder / "home"
    open_writer(home).close()
    other = folder / "other"
    other.write_text("root's own")
    other.chmod(0o600)
    # (Of hard links the kernel takes care: fs.protected_hardlinks.)
    wal = home / "store.db-wal"
    wal.symlink_to(other)
    with contextlib.suppress(StoreFailed):
        open_writer(home).close()
    assert other.stat().st_mode & 0o777 == 0o600
    assert other.stat().st_gid == 0
    assert other.read_text() == "root's own"


def test_from_its_cage_the_page_sees_what_the_booted_stick_says(
    start: Callable[..., Served],
) -> None:
    """And what it says later on: the record is replaced as a whole."""
    paths.make_run_folder()
    server = start("--port", str(free_port()))
    assert "About this bench" not in server.get("/drives")
    document = {
        "schema": state.SCHEMA, "stick": None, "persistent": False, "reason": "it was pulled",
    }  # fmt: skip
    state.write(document)
    assert "Results will not last: it was pulled." in server.get("/drives")
    state.write({**document, "reason": "it is damaged"})
    assert "Results will not last: it is damaged." in server.get("/drives")


def test_from_its_cage_the_page_reads_the_sticks_recipes(start: Callable[..., Served]) -> None:
    paths.make_run_folder()
    folder = paths.stick_recipes()
    folder.mkdir()
    (folder / "shop.toml").write_text("speed = 1\n", encoding="utf-8")
    server = start("--port", str(free_port()))
    assert "This recipe has errors" in server.get("/recipes/shop")


def test_root_shows_the_pin_of_the_page_on_the_screen(
    start: Callable[..., Served],
) -> None:
    port = free_port()
    server = start("--listen", "0.0.0.0", "--port", str(port))
    address = web_address.read()
    assert address is not None
    assert (address.pid, address.port) == (server.process.pid, port)
    assert f"benchstick: PIN {address.pin}" in server.lines
    server.end()
    assert web_address.read() is None


def test_a_bundle_goes_through_the_cage_and_a_larger_one_does_not(
    start: Callable[..., Served], folder: Path
) -> None:
    """Large enough to lie in a file of the server's own on its way."""
    with contextlib.closing(open_writer(folder / "home")) as db:
        token = auth.new_token(db, "test")
        drive = sample.practice()
        story = sample.start(folder / "home", db, "cdm", drive, params={"passes": "1"})
        number = story.finish()
        buffer = io.BytesIO()
        bundle.write(db, number, buffer)
        db.execute("DELETE FROM runs")
    server = start()
    path = f"{server.base}/api/v1/imports"
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/zip"}

    def send(data: bytes) -> int:
        request = urllib.request.Request(path, data, head, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return int(error.code)

    # What stands before the first file of a zip is no part of it.
    assert send(bytes(3 << 20) + buffer.getvalue()) == 202
    assert send(bytes((8 << 20) + 1)) == 413
    with contextlib.closing(open_writer(folder / "home")) as db:
        (upload,) = imported_runs.waiting(db)
        file = io.BytesIO(imported_runs.uploaded(db, upload))
        assert bundle.keep(db, folder / "home", file) == (2, True)
