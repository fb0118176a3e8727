"""`benchstick console` on a pseudo-terminal, with a page and a bench with runs."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick import paths
from benchstick.appliance import web_address
from tests.host.bench import wait_for
from tests.web import sample


class Screen:
    """A console on a terminal of 80 x 25, and everything that it wrote."""

    def __init__(self, terminal: str) -> None:
        self.fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
        self.before = termios.tcgetattr(inner)
        self.inner = inner
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchstick", "console"],
            stdin=inner, stdout=inner, stderr=subprocess.PIPE,
            env={**os.environ, "TERM": terminal},
        )  # fmt: skip
        self.output = ""

    def read(self, seconds: float = 0.2) -> str:
        """What came within `seconds`, added to `output`."""
        fresh = b""
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            if select.select([self.fd], [], [], remaining)[0]:
                fresh += os.read(self.fd, 1 << 16)
        text = fresh.decode()
        self.output += text
        return text

    def shows(self, words: str) -> str:
        """Wait until the words are shown."""
        wait_for(lambda: words in self.output or (self.read() and False), 20)
        return self.output


@pytest.fixture
def screen(bench_home: Path, request: pytest.FixtureRequest) -> Iterator[Screen]:
    numbers = sample.full_bench(bench_home)
    web_address.publish(web_address.Page(os.getpid(), "0.0.0.0", 8080, "482 913"))
    new_screen = Screen(getattr(request, "param", "linux"))
    yield new_screen
    if new_screen.process.poll() is None:
        new_screen.process.kill()
    new_screen.process.wait()
    assert new_screen.process.stderr is not None
    new_screen.process.stderr.close()
    os.close(new_screen.fd)
    os.close(new_screen.inner)
    numbers["lock"].release()


def test_it_shows_the_bench_and_ends_cleanly(screen: Screen) -> None:
    text = screen.shows("left")
    assert "482 913" in text
    assert "Crucial X9 Pro" in text
    assert "\x1b[?25l" in text
    screen.process.send_signal(signal.SIGTERM)
    assert screen.process.wait(timeout=60) == 0
    screen.read()
    assert "\x1b[?25h" in screen.output
    assert termios.tcgetattr(screen.inner)[3] == screen.before[3], "echo is on again"
    assert screen.process.stderr is not None
    assert screen.process.stderr.read() == b""


def test_only_what_changes_is_written_again(screen: Screen) -> None:
    screen.shows("left")
    screen.read(1.0)
    quiet = screen.read(5.0)
    assert len(quiet) < 600, quiet
    assert "\x1b[2J" not in quiet


@pytest.mark.parametrize("screen", ["vt102"], indirect=True)
def test_a_serial_terminal_gets_no_colours(screen: Screen) -> None:
    text = screen.shows("left")
    assert "\x1b[0;7m" not in text
    assert "\x1b[9;0]" not in text


def test_it_hardly_uses_the_processor(screen: Screen) -> None:
    """It runs during timed tests: an update costs a few milliseconds of 2 s."""
    screen.shows("left")
    screen.read(1.0)

    def used() -> float:
        fields = Path(f"/proc/{screen.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    screen.read(10.0)
    assert used() - before < 0.25


def test_the_pin_is_roots_alone(bench_home: Path) -> None:
    paths.make_run_folder()
    web_address.publish(web_address.Page(os.getpid(), "0.0.0.0", 80, "482 913"))
    file = paths.run_folder() / "page.json"
    assert file.stat().st_mode & 0o777 == 0o600
    page = web_address.read()
    assert page is not None
    assert page.pin == "482 913"


def test_a_page_that_ended_is_no_page(bench_home: Path) -> None:
    paths.make_run_folder()
    with subprocess.Popen(["true"]) as process:
        process.wait()
    web_address.publish(web_address.Page(process.pid, "0.0.0.0", 80, None))
    assert web_address.read() is None


def test_once_prints_the_screen_without_a_store(bench_home: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "benchstick", "console", "--once"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "not scanned yet" in result.stdout
    assert "\x1b" not in result.stdout
    assert not result.stderr
