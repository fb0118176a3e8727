"""Events as lines of text, as they happen: at the end of a log file, and on a serial line.

Both are handlers of the standard library's `logging`. Nobody waits for either: a line that cannot
be written is dropped, and that is reported once. Lines are ASCII without control characters
(recipes.event_lines.line_of makes them).
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
# A bench that tests a drive a minute, with ten lines for each, fills it in five days.
LOG_BYTES = 10_000_000
# What waits for a serial line that is slow or not there; 115200 Bd take 6 s for it.
WAITING_BYTES = 64 << 10
RETRY_SECONDS = 5.0
# How long the end of the program waits for what is still to be sent.
CLOSE_SECONDS = 3.0
_POLL = 0.1
_CONSOLES = Path("/sys/class/tty/console/active")

Tell = Callable[[str], None]


def _complain(text: str) -> None:
    print(f"benchstick: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def opened(settings: Settings, home: Path) -> Iterator[Tell]:
    """Takes a line for where the settings want it. What is still to be sent when it ends has
    `CLOSE_SECONDS` for that."""
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
    """Where the settings want the log; None where they want none."""
    if settings.event_log == AUTO:
        return home / LOG if settings.bench_ports else None
    return home / settings.event_log if settings.event_log else None


class Log(RotatingFileHandler):
    """A file that several processes may add lines to. It stays below `most` bytes: then it is
    renamed to the same name with `.1` and a new one starts. It is open for one line at a time, so
    that its file system can be unmounted."""

    def __init__(self, path: Path, most: int = LOG_BYTES, complain: Tell = _complain) -> None:
        super().__init__(path, maxBytes=most, delay=True)
        self._complain = complain
        self._error = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line. One that cannot be written is lost, which is reported once."""
        previous, self._error = self._error, ""
        super().emit(record)
        with contextlib.suppress(OSError):
            self.close()
        if self._error and not previous:
            self._complain(f"{self.baseFilename}: {self._error}; events are not kept there")

    def handleError(self, record: logging.LogRecord) -> None:
        """`logging` calls this while it handles the exception."""
        error = sys.exc_info()[1]
        self._error = getattr(error, "strerror", None) or repr(error)

    def _open(self) -> TextIOWrapper:
        # The web process may write to the data folder: no link of its making is followed, and no
        # pipe waited for.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(self.baseFilename, flags | os.O_NOCTTY, 0o640)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(fd)
            raise OSError(0, "not a plain file of its own")
        return os.fdopen(fd, "a", encoding="ascii", errors="backslashreplace")

    def doRollover(self) -> None:
        """Rename the full file, unless another process has done it or is at it."""
        assert self.stream is not None
        fd = self.stream.fileno()
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.lstat(self.baseFilename)):
                self.rotate(self.baseFilename, f"{self.baseFilename}.1")
            # The line goes to the new file.
            self.close()


class SerialLine(logging.Handler):
    """A serial line at 115200 Bd, 8N1, without flow control, written by a thread of its own: a
    driver that hangs holds nobody else up. The tty may be absent, and vanish and come back: lines
    wait for it, `WAITING_BYTES` at most; those that do not fit are dropped and counted."""

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
        self._dropped = 0
        self._deadline: float | None = None
        self._changed = threading.Condition()
        self._fails = False
        self._thread = threading.Thread(target=self._serve, name="event-serial", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Send a line, when its turn comes. Returns at once."""
        line = record.getMessage()
        with self._changed:
            if self._dropped:
                # Those that read have to know that something is missing here.
                if self._put(f"time={utc_now()} event=dropped lines={self._dropped}", line):
                    self._dropped = 0
                else:
                    self._dropped += 1
            elif not self._put(line):
                self._dropped = 1
                self._complain(f"{self._path}: takes no more lines; events are dropped")
            self._changed.notify()

    def _put(self, *lines: str) -> bool:
        data = [f"{line}\r\n".encode("ascii", "backslashreplace") for line in lines]
        if sum(map(len, [*self._waiting, *data])) > self._most:
            return False
        self._waiting.extend(data)
        return True

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """End it; what is still to be sent has `seconds` for that."""
        with self._changed:
            if self._deadline is not None:
                # `logging` closes its handlers once more when the program ends.
                return
            self._deadline = time.monotonic() + seconds
            self._changed.notify()
        self._thread.join(seconds + 1)
        with self._changed:
            lost_count = len(self._waiting) + self._dropped
        if lost_count:
            self._complain(f"{self._path}: {lost_count} events were not sent")
        super().close()

    # -- in its thread

    def _serve(self) -> None:
        # A process in the background of that very terminal would be stopped by setting it up.
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
            with self._changed:
                self._waiting.popleft()
        if port is not None:
            self._leave(port)

    def _next(self) -> bytes | None:
        """The line to be sent; None when it is over."""
        with self._changed:
            while not self._waiting and self._deadline is None:
                self._changed.wait()
            return self._waiting[0] if self._waiting and not self._late() else None

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _pause(self) -> None:
        until = time.monotonic() + self._retry
        while time.monotonic() < until and not self._late():
            time.sleep(min(_POLL, self._retry))

    def _open(self) -> serial.Serial:
        # Looked at first: to open a disk or a watchdog does something.
        if not stat.S_ISCHR(Path(self._path).stat().st_mode):
            raise OSError(0, "is no serial line")
        try:
            return _Port(self._path, 115200)
        except (serial.SerialException, termios.error) as error:
            # pyserial's text holds the kernel's number and words, and the path a second time.
            number, text = (error.__context__ or error).args[:2]
            raise OSError(number, "is no serial line" if number == errno.ENOTTY else text) from None

    def _send(self, fd: int, line: bytes) -> None:
        """Write the whole line, as the tty takes it. OSError where it is gone, or it is over.

        Not by pyserial's `write`: it spins while the tty takes nothing, and a timeout of it does
        not tell how much of the line is out."""
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        rest = memoryview(line)
        # Against the lines of another process of the bench in the middle of this one.
        locked = False
        while rest:
            if self._late():
                raise TimeoutError(0, "did not take a line in time")
            try:
                if not locked:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    locked = True
                if poll.poll(_POLL * 1000):
                    rest = rest[os.write(fd, rest) :]
            except BlockingIOError:
                time.sleep(_POLL / 4)
        fcntl.flock(fd, fcntl.LOCK_UN)

    def _leave(self, port: serial.Serial) -> None:
        """Close the tty: the kernel would wait up to 30 s for one that sends nothing."""
        # An error means that it is gone, and so is what was to be sent.
        with contextlib.suppress(OSError, termios.error):
            while port.out_waiting and not self._late():
                time.sleep(_POLL / 4)
            if port.out_waiting:
                port.reset_output_buffer()
        port.close()


class _Port(serial.Serial):
    """8N1 and raw. A tty that the kernel's messages and a shell are on stays as it is: theirs are
    its settings, and they have the speed of the kernel's command line."""

    def _reconfigure_port(self, force_update: bool = False) -> None:
        if not _is_console(str(self.port)):
            super()._reconfigure_port(force_update)  # type: ignore[misc]  # not in the stubs

    def _reset_input_buffer(self) -> None:
        """Keep what is typed at a shell."""


def _is_console(path: str) -> bool:
    """Whether the kernel's messages go to this tty."""
    try:
        names = _CONSOLES.read_text(encoding="ascii").split()
    except OSError:
        return False
    return Path(path).resolve().name in names
