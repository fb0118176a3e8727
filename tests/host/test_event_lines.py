"""Lines of events in a log and on a serial line: nobody waits for them.

The serial line is one side of a pseudo-terminal, the other side is the receiver.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import select
import termios
import threading
import time
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchstick.agent import event_log
from benchstick.agent.event_log import Log, SerialLine, log_path
from benchstick.store import settings
from tests.host.bench import wait_for


class Receiver:
    """The far end of a serial line whose near end is at `path`."""

    def __init__(self, path: Path) -> None:
        self.master, near = os.openpty()
        self.path = path
        path.unlink(missing_ok=True)
        path.symlink_to(os.ttyname(near))
        self.near: int | None = near
        self._buffer = b""

    def lines(self) -> list[str]:
        """What has come so far."""
        while select.select([self.master], [], [], 0)[0]:
            try:
                self._buffer += os.read(self.master, 65536)
            except OSError:
                break
        return self._buffer.decode("ascii").split("\r\n")[:-1]

    def close(self) -> None:
        """The line goes away, as a USB adapter that is pulled."""
        for fd in (self.master, self.near):
            if fd is not None:
                with contextlib.suppress(OSError):
                    os.close(fd)
        self.near = None


def send(handler: logging.Handler, text: str) -> None:
    handler.handle(logging.makeLogRecord({"msg": text}))


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    new_receiver = Receiver(tmp_path / "tty")
    yield new_receiver
    new_receiver.close()


def test_lines_arrive_unchanged(receiver: Receiver) -> None:
    complaints: list[str] = []
    line = SerialLine(str(receiver.path), complain=complaints.append)
    for number in range(3):
        send(line, f'event=limit number={number} text="4 \\u2264 5"')
    wait_for(lambda: len(receiver.lines()) == 3)
    assert receiver.lines()[2] == 'event=limit number=2 text="4 \\u2264 5"'
    assert receiver.near is not None
    attrs = termios.tcgetattr(receiver.near)
    # Raw: nothing echoed, nothing translated, no wait for a modem, no XON.
    assert (attrs[1] & termios.OPOST, attrs[3] & (termios.ECHO | termios.ICANON)) == (0, 0)
    assert attrs[0] & (termios.IXON | termios.ICRNL) == 0
    assert attrs[2] & termios.CLOCAL and not attrs[2] & termios.CRTSCTS
    assert attrs[4:6] == [termios.B115200, termios.B115200]
    line.close()
    assert complaints == []


def test_a_reader_that_does_not_read_holds_nobody_up(receiver: Receiver) -> None:
    complaints: list[str] = []
    line = SerialLine(str(receiver.path), most=2000, complain=complaints.append)
    text = "event=run text=" + "x" * 484
    assert receiver.near is not None
    termios.tcflow(receiver.near, termios.TCOOFF)
    began = time.monotonic()
    for _ in range(200):
        send(line, text)
    assert time.monotonic() - began < 2
    assert len(complaints) == 1 and "takes no more lines" in complaints[0]
    # Read again: pending lines arrive whole, and a line in their place reports the missing ones.
    termios.tcflow(receiver.near, termios.TCOON)
    wait_for(lambda: receiver.lines() and not line._waiting)
    send(line, "event=verdict")
    wait_for(lambda: "event=verdict" in receiver.lines())
    lines = receiver.lines()
    assert set(lines[:-2]) == {text}
    assert lines[-2].endswith(f" event=dropped lines={200 - len(lines[:-2])}")
    line.close()
    assert len(complaints) == 1


def test_the_end_does_not_wait_long_for_a_reader_that_does_not_read(receiver: Receiver) -> None:
    complaints: list[str] = []
    line = SerialLine(str(receiver.path), most=1 << 20, complain=complaints.append)
    for _ in range(500):
        send(line, "event=run text=" + "x" * 484)
    began = time.monotonic()
    line.close(0.3)
    assert time.monotonic() - began < 1.5
    assert not line._thread.is_alive()
    assert complaints[-1].endswith(" events were not sent")


def test_a_line_that_goes_away_and_comes_back(receiver: Receiver) -> None:
    complaints: list[str] = []
    line = SerialLine(str(receiver.path), retry=0.1, complain=complaints.append)
    send(line, "event=plugged")
    wait_for(lambda: receiver.lines() == ["event=plugged"])
    receiver.close()
    send(line, "event=countdown")
    send(line, "event=started")
    wait_for(lambda: complaints)
    time.sleep(0.3)
    assert len(complaints) == 1 and "events wait for it" in complaints[0]
    again = Receiver(receiver.path)
    try:
        wait_for(lambda: len(again.lines()) == 2)
        assert again.lines() == ["event=countdown", "event=started"]
        line.close()
    finally:
        again.close()
    assert len(complaints) == 1


def test_a_line_that_is_not_there_at_the_start(tmp_path: Path) -> None:
    complaints: list[str] = []
    line = SerialLine(str(tmp_path / "tty"), retry=0.1, complain=complaints.append)
    send(line, "event=plugged")
    wait_for(lambda: complaints)
    late_receiver = Receiver(tmp_path / "tty")
    try:
        wait_for(lambda: late_receiver.lines() == ["event=plugged"])
        line.close()
    finally:
        late_receiver.close()
    assert complaints == [f"{tmp_path / 'tty'}: No such file or directory; events wait for it"]


def test_what_is_no_serial_line_is_not_written(tmp_path: Path) -> None:
    for path in (tmp_path / "file", Path("/dev/null")):
        if path.parent == tmp_path:
            path.write_bytes(b"")
        complaints: list[str] = []
        line = SerialLine(str(path), retry=0.05, complain=complaints.append)
        send(line, "event=plugged")
        wait_for(partial(bool, complaints))
        line.close(0.1)
        assert "is no serial line" in complaints[0]
        assert complaints[1].endswith(": 1 events were not sent")
    assert (tmp_path / "file").read_bytes() == b""


def test_a_percent_sign_stays_as_it_is(receiver: Receiver, tmp_path: Path) -> None:
    config = settings.read(
        f'event_log = "{tmp_path}/qa.log"\nevent_serial = "{receiver.path.resolve()}"', "settings"
    )
    with event_log.opened(config, tmp_path) as tell:
        tell("event=limit text=100%s-%d")
    assert receiver.lines() == ["event=limit text=100%s-%d"]
    assert (tmp_path / "qa.log").read_bytes() == b"event=limit text=100%s-%d\n"


def test_a_consoles_settings_and_input_stay(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    consoles = tmp_path / "active"
    consoles.write_text(f"tty0 {receiver.path.resolve().name}\n")
    monkeypatch.setattr(event_log, "_CONSOLES", consoles)
    assert receiver.near is not None
    before = termios.tcgetattr(receiver.near)
    os.write(receiver.master, b"ls\n")
    line = SerialLine(str(receiver.path))
    send(line, "event=plugged")
    # The terminal echoes what is typed, and adds a carriage return of its own.
    wait_for(lambda: receiver.lines() == ["ls", "event=plugged\r"])
    assert termios.tcgetattr(receiver.near) == before
    line.close()
    os.set_blocking(receiver.near, False)
    assert os.read(receiver.near, 100) == b"ls\n"


def test_a_second_close_reports_nothing(tmp_path: Path) -> None:
    complaints: list[str] = []
    line = SerialLine(str(tmp_path / "tty"), retry=0.05, complain=complaints.append)
    send(line, "event=plugged")
    wait_for(partial(bool, complaints))
    line.close(0.1)
    # As the end of the program does.
    logging.shutdown([weakref.ref(line)])
    assert complaints[1:] == [f"{tmp_path / 'tty'}: 1 events were not sent"]


def test_two_processes_do_not_write_into_each_others_lines(receiver: Receiver) -> None:
    lines = [SerialLine(str(receiver.path)) for _ in range(2)]
    for number in range(300):
        for at, line in enumerate(lines):
            send(line, f"from={at} number={number} " + "x" * 100)
    wait_for(lambda: len(receiver.lines()) == 600)
    assert {text[-101:] for text in receiver.lines()} == {" " + "x" * 100}
    for line in lines:
        line.close()


# ---- the log


def test_the_log_is_bounded(tmp_path: Path) -> None:
    log = Log(tmp_path / "qa.log", most=1000)
    for number in range(1000):
        send(log, f"event=run number={number}")
    logs = [tmp_path / name for name in ("qa.log.1", "qa.log")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["qa.log", "qa.log.1"]
    assert all(path.stat().st_size <= 1000 for path in logs)
    # One after the other, up to the last, without a gap.
    numbers = [int(text.split("=")[-1]) for path in logs for text in path.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 1000)) and len(numbers) > 40


def test_several_writers_lose_no_line_of_the_log(tmp_path: Path) -> None:
    def write(at: int) -> None:
        log = Log(tmp_path / "qa.log", most=12_000)
        for number in range(200):
            send(log, f"from={at} number={number}")

    threads = [threading.Thread(target=write, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [text for path in tmp_path.iterdir() for text in path.read_text().splitlines()]
    assert sorted(lines) == sorted(f"from={at} number={n}" for at in range(4) for n in range(200))


@pytest.mark.parametrize("kind", ["link", "pipe", "hard link", "folder"])
def test_nothing_else_is_written_in_the_place_of_the_log(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "qa.log", tmp_path / "other"
    other.write_bytes(b"precious")
    if kind == "link":
        path.symlink_to(other)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "hard link":
        path.hardlink_to(other)
    else:
        path.mkdir()
    complaints: list[str] = []
    log = Log(path, complain=complaints.append)
    send(log, "event=run")
    send(log, "event=run")
    assert len(complaints) == 1 and "events are not kept there" in complaints[0]
    assert other.read_bytes() == b"precious"


def test_a_full_log_is_reported_once_and_written_again_later(tmp_path: Path) -> None:
    complaints: list[str] = []
    path = tmp_path / "qa.log"
    log = Log(path, complain=complaints.append)
    send(log, "number=1")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
    try:
        send(log, "number=2")
        send(log, "number=3")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert complaints == [f"{path}: File too large; events are not kept there"]
    send(log, "number=4")
    assert path.read_text() == "number=1\nnumber=4\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_log_is_not_open_between_two_lines(tmp_path: Path) -> None:
    log = Log(tmp_path / "qa.log")
    for _ in range(2):
        send(log, "event=run")
        files = [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
        assert files and str(tmp_path / "qa.log") not in files
    assert (tmp_path / "qa.log").read_text() == "event=run\n" * 2


# ---- the settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ('bench_ports = {"slot 1" = "2-1"}', "qa.log"),
        ('bench_ports = {"slot 1" = "2-1"}\nevent_log = ""', None),
        ('event_log = "events.txt"', "events.txt"),
        ('event_log = "/var/log/qa.log"', "/var/log/qa.log"),
    ],
)
def test_where_the_log_is(tmp_path: Path, text: str, expected: str | None) -> None:
    path = log_path(settings.read(text, "settings"), tmp_path)
    assert path == (None if expected is None else tmp_path / expected)


@pytest.mark.parametrize(
    "text",
    [
        'event_serial = "/dev/watchdog"',
        'event_serial = "/dev/sda"',
        'event_serial = "ttyS0"',
        'event_serial = "/dev/serial/by-id/../../sda"',
        "event_serial = 1",
        'event_log = "../qa.log"',
        'event_log = "/var/log/"',
        "event_log = true",
    ],
)
def test_wrong_settings(text: str) -> None:
    with pytest.raises(settings.SettingsError):
        settings.read(text, "settings")


def test_the_settings_send_to_both(receiver: Receiver, tmp_path: Path) -> None:
    config = settings.read(
        f'event_log = "{tmp_path}/qa.log"\nevent_serial = "{receiver.path.resolve()}"', "settings"
    )
    with event_log.opened(config, tmp_path) as tell:
        tell("event=plugged")
    assert receiver.lines() == ["event=plugged"]
    assert (tmp_path / "qa.log").read_text() == "event=plugged\n"
