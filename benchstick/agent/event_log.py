"""Writes events as lines of text, as they happen, to a log file and to a serial line.

Both are handlers of the standard library's `logging`. Neither blocks: a line that cannot be written
is dropped, and this is reported once. Lines are ASCII without control characters
(recipes.event_lines.line_of).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import select
import signal
import stat
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

import serial

from benchstick.store.database import utc_now
from benchstick.store.settings import AUTO, Settings

LOG = "qa.log"
# A bench that tests a drive a minute, with ten lines each, fills it in five days.
LOG_BYTES = 10_000_000
# The buffer for a serial line that is slow or absent: 6 s at 115200 Bd.
WAITING_BYTES = 64 << 10
RETRY_SECONDS = 5.0
# How long the program waits at its end for lines that are not sent yet.
CLOSE_SECONDS = 3.0
_POLL = 0.1
_CONSOLES = Path("/sys/class/tty/console/active")

Tell = Callable[[str], None]


def _complain(text: str) -> None:
    print(f"benchstick: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def opened(settings: Settings, home: Path) -> Iterator[Tell]:
    """A function that writes a line to the log and the serial line in the settings. At the end
    lines that are not sent yet have `CLOSE_SECONDS`."""
    logger = logging.Logger("events")
    path = log_path(settings, home)
    if path is not None:
        logger.addHandler(Log(path))
    if settings.event_serial:
        logger.addHandler(SerialLine(settings.event_serial))
    try:
        yield logger.info
    finally:
        for handler in logger.handlers:
            handler.close()


def log_path(settings: Settings, home: Path) -> Path | None:
    """The path of the log by the settings; None without a log."""
    if settings.event_log == AUTO:
        return home / LOG if settings.bench_ports else None
    return home / settings.event_log if settings.event_log else None


class Log(RotatingFileHandler):
    """A file that several processes may append lines to. At `most` bytes it is renamed to the same
    name with `.1`, and a new file starts. It is closed after each line, so that its file system can
    be unmounted."""

    def __init__(self, path: Path, most: int = LOG_BYTES, complain: Tell = _complain) -> None:
        super().__init__(path, maxBytes=most, delay=True)
        self._complain = complain
        self._error = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Append a line. One that cannot be written is lost; this is reported once."""
        previous, self._error = self._error, ""
        super().emit(record)
        with contextlib.suppress(OSError):
            self.close()
        if self._error and not previous:
            self._complain(f"{self.baseFilename}: {self._error}; events are not kept there")

    def handleError(self, record: logging.LogRecord) -> None:
        """Keep the error: `logging` calls this while it handles the exception."""
        error = sys.exc_info()[1]
        self._error = getattr(error, "strerror", None) or repr(error)

    def _open(self) -> TextIOWrapper:
        # The web process may write to the data folder: do not follow its links, and do not wait for
        # its pipes.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(self.baseFilename, flags | os.O_NOCTTY, 0o640)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(fd)
            raise OSError(0, "not a plain file of its own")
        return os.fdopen(fd, "a", encoding="ascii", errors="backslashreplace")

    def doRollover(self) -> None:
        """Rename the full file, unless another process has renamed it or is renaming it."""
        assert self.stream is not None
        fd = self.stream.fileno()
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.lstat(self.baseFilename)):
                self.rotate(self.baseFilename, f"{self.baseFilename}.1")
            # `logging` opens the new file for the line.
            self.close()


class SerialLine(logging.Handler):
    """A serial line at 115200 Bd, 8N1, without flow control, written by a thread of its own, as its
    driver may hang. The tty may be absent, disappear and return: up to `WAITING_BYTES` of lines
    wait for it; further lines are dropped and counted."""

    def __init__(
        self,
        path: str,
        most: int = WAITING_BYTES,
        retry: float = RETRY_SECONDS,
        complain: Tell = _complain,
    ) -> None:
        super().__init__()
        self._path, self._most, self._retry, self._complain = path, most, retry, complain
        self._waiting: deque[bytes] = deque()
        self._dropped_count = 0
        self._deadline: float | None = None
        self._condition = threading.Condition()
        self._fails = False
        self._thread = threading.Thread(target=self._serve, name="event-serial", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line. Returns at once."""
        line = record.getMessage()
        with self._condition:
            if self._dropped_count:
                # Readers must see that lines are missing here.
                if self._put(f"time={utc_now()} event=dropped lines={self._dropped_count}", line):
                    self._dropped_count = 0
                else:
                    self._dropped_count += 1
            elif not self._put(line):
                self._dropped_count = 1
                self._complain(f"{self._path}: takes no more lines; events are dropped")
            self._condition.notify()

    def _put(self, *lines: str) -> bool:
        data = [f"{line}\r\n".encode("ascii", "backslashreplace") for line in lines]
        if sum(map(len, [*self._waiting, *data])) > self._most:
            return False
        self._waiting.extend(data)
        return True

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """End it. Lines that are not sent yet have `seconds`."""
        with self._condition:
            if self._deadline is not None:
                # `logging` closes its handlers again when the program ends.
                return
            self._deadline = time.monotonic() + seconds
            self._condition.notify()
        self._thread.join(seconds + 1)
        with self._condition:
            lost_count = len(self._waiting) + self._dropped_count
        if lost_count:
            self._complain(f"{self._path}: {lost_count} events were not sent")
        super().close()

    # -- in its thread

    def _serve(self) -> None:
        # Setting up the tty would stop a background process of this same terminal.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        port: serial.Serial | None = None
        while (line := self._next()) is not None:
            try:
                if port is None:
                    port = self._open()
                self._send(port.fileno(), line)
            except OSError as error:
                if not self._fails:
                    self._complain(f"{self._path}: {error.strerror or error}; events wait for it")
                self._fails = True
                if port is not None:
                    port.close()
                    port = None
                self._pause()
                continue
            self._fails = False
            with self._condition:
                self._waiting.popleft()
        if port is not None:
            self._leave(port)

    def _next(self) -> bytes | None:
        """The next line to send; None at the end."""
        with self._condition:
            while not self._waiting and self._deadline is None:
                self._condition.wait()
            return self._waiting[0] if self._waiting and not self._late() else None

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _pause(self) -> None:
        until = time.monotonic() + self._retry
        while time.monotonic() < until and not self._late():
            time.sleep(min(_POLL, self._retry))

    def _open(self) -> serial.Serial:
        # Check before opening: opening a disk or a watchdog has effects.
        if not stat.S_ISCHR(Path(self._path).stat().st_mode):
            raise OSError(0, "is no serial line")
        try:
            return _Port(self._path, 115200)
        except (serial.SerialException, termios.error) as error:
            # pyserial's text has the kernel's error number and text, and repeats the path.
            number, text = (error.__context__ or error).args[:2]
            raise OSError(number, "is no serial line" if number == errno.ENOTTY else text) from None

    def _send(self, fd: int, line: bytes) -> None:
        """Write the whole line, as fast as the tty takes it. OSError when the tty is gone or the
        time is over.

        Not with pyserial's `write`: it spins while the tty takes nothing, and after a timeout it
        does not report how much of the line was written."""
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        rest = memoryview(line)
        # Keeps lines of another process of the bench out of this one.
        has_lock = False
        while rest:
            if self._late():
                raise TimeoutError(0, "did not take a line in time")
            try:
                if not has_lock:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    has_lock = True
                if poll.poll(_POLL * 1000):
                    rest = rest[os.write(fd, rest) :]
            except BlockingIOError:
                time.sleep(_POLL / 4)
        fcntl.flock(fd, fcntl.LOCK_UN)

    def _leave(self, port: serial.Serial) -> None:
        """Close the tty. The kernel would wait up to 30 s for one that sends nothing."""
        # An error means that the tty is gone, and with it the rest of the data.
        with contextlib.suppress(OSError, termios.error):
            while port.out_waiting and not self._late():
                time.sleep(_POLL / 4)
            if port.out_waiting:
                port.reset_output_buffer()
        port.close()


class _Port(serial.Serial):
    """8N1 and raw. A tty with the kernel's messages and a shell keeps its settings, with the speed
    of the kernel's command line."""

    def _reconfigure_port(self, force_update: bool = False) -> None:
        if not _is_console(str(self.port)):
            super()._reconfigure_port(force_update)  # type: ignore[misc]  # not in the stubs

    def _reset_input_buffer(self) -> None:
        """Keep the input of a shell."""


def _is_console(path: str) -> bool:
    """Whether the kernel's messages go to this tty."""
    try:
        names = _CONSOLES.read_text(encoding="ascii").split()
    except OSError:
        return False
    return Path(path).resolve().name in names
