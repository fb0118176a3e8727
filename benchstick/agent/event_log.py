"""Events as lines of text, as they happen: at the end of a log file, and on a serial line.

Nobody waits for either: what cannot be written is dropped, and that is told. Lines are ASCII
without control characters (recipes.lines.line_of makes them).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import stat
import struct
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

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
    log = log_path(settings, home)
    to: list[Log | SerialLine] = [] if log is None else [Log(log)]
    if settings.event_serial:
        to.append(SerialLine(settings.event_serial))

    def tell(line: str) -> None:
        for one in to:
            one.tell(line)

    try:
        yield tell
    finally:
        for one in to:
            one.close()


def log_path(settings: Settings, home: Path) -> Path | None:
    """Where the settings want the log; None where they want none."""
    if settings.event_log == AUTO:
        return home / LOG if settings.bench_ports else None
    return home / settings.event_log if settings.event_log else None


class Log:
    """A file that several processes may add lines to. Beyond `most` bytes it is renamed to the
    same name with `.1` and a new one begins, so that both together have twice as much at most."""

    def __init__(self, path: Path, most: int = LOG_BYTES, complain: Tell = _complain) -> None:
        self._path, self._most, self._complain = path, most, complain
        self._failed = False

    def tell(self, line: str) -> None:
        """Add a line. One that cannot be written is lost, which is told once."""
        data = f"{line}\n".encode("ascii")
        try:
            self._add(data)
        except OSError as error:
            if not self._failed:
                self._complain(f"{self._path}: {error.strerror}; events are not kept there")
            self._failed = True
        else:
            self._failed = False

    def close(self) -> None:
        """Nothing is open between two lines."""

    def _add(self, data: bytes) -> None:
        fd = self._open()
        try:
            if os.fstat(fd).st_size + len(data) > self._most and self._turn(fd):
                os.close(fd)
                fd = self._open()
            if os.write(fd, data) != len(data):
                raise OSError(0, "only a part of a line could be written")
        finally:
            os.close(fd)

    def _open(self) -> int:
        # The web process may write to the data folder: no link of its making is followed, and no
        # pipe waited for.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(self._path, flags | os.O_CLOEXEC | os.O_NOCTTY, 0o640)
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(fd)
            raise OSError(0, "not a plain file of its own")
        return fd

    def _turn(self, fd: int) -> bool:
        """Put the full file away; whether it was."""
        if os.fstat(fd).st_size == 0:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Another process is at it.
            return False
        if os.fstat(fd).st_ino != os.lstat(self._path).st_ino:
            # It was, a moment ago.
            return True
        self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        return True


class SerialLine:
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
        self._path, self._most, self._retry, self._complain = path, most, retry, complain
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._dropped = 0
        self._deadline: float | None = None
        self._changed = threading.Condition()
        self._fails = False
        self._thread = threading.Thread(target=self._serve, name="event-serial", daemon=True)
        self._thread.start()

    def tell(self, line: str) -> None:
        """Send a line, when its turn comes. Returns at once."""
        with self._changed:
            if self._dropped:
                # Those that read have to know that something is missing here.
                note = _wire(f"time={utc_now()} event=dropped lines={self._dropped}")
                if self._put(note, _wire(line)):
                    self._dropped = 0
                else:
                    self._dropped += 1
            elif not self._put(_wire(line)):
                self._dropped = 1
                self._complain(f"{self._path}: takes no more lines; events are dropped")
            self._changed.notify()

    def _put(self, *lines: bytes) -> bool:
        size = sum(len(line) for line in lines)
        if self._bytes + size > self._most:
            return False
        self._waiting.extend(lines)
        self._bytes += size
        return True

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """End it; what is still to be sent has `seconds` for that."""
        with self._changed:
            self._deadline = time.monotonic() + seconds
            self._changed.notify()
        self._thread.join(seconds + 1)
        with self._changed:
            lost_count = len(self._waiting) + self._dropped
        if lost_count:
            self._complain(f"{self._path}: {lost_count} events were not sent")

    # -- in its thread

    def _serve(self) -> None:
        # A process in the background of that very terminal would be stopped by setting it up.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        fd: int | None = None
        while (line := self._next()) is not None:
            try:
                if fd is None:
                    fd = self._open()
                self._send(fd, line)
            except OSError as error:
                if not self._fails:
                    self._complain(f"{self._path}: {error.strerror or error}; events wait for it")
                self._fails = True
                if fd is not None:
                    os.close(fd)
                    fd = None
                self._pause()
                continue
            self._fails = False
            with self._changed:
                self._waiting.popleft()
                self._bytes -= len(line)
        if fd is not None:
            self._leave(fd)

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

    def _open(self) -> int:
        # Looked at first: to open a disk or a watchdog does something.
        if not stat.S_ISCHR(Path(self._path).stat().st_mode):
            raise OSError(0, "is no serial line")
        flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(self._path, flags)
        try:
            if not os.isatty(fd):
                raise OSError(0, "is no serial line")
            if not _is_console(self._path):
                _make_raw(fd)
        except termios.error as error:
            os.close(fd)
            raise OSError(*error.args) from None
        except OSError:
            os.close(fd)
            raise
        return fd

    def _send(self, fd: int, line: bytes) -> None:
        """Write the whole line, as the tty takes it. OSError where it is gone, or it is over."""
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

    def _leave(self, fd: int) -> None:
        """Close the tty: the kernel would wait up to 30 s for one that sends nothing."""
        try:
            while _unsent(fd) and not self._late():
                time.sleep(_POLL / 4)
            if _unsent(fd):
                termios.tcflush(fd, termios.TCOFLUSH)
        except (OSError, termios.error):
            # It is gone, and so is what was to be sent.
            pass
        os.close(fd)


def _wire(line: str) -> bytes:
    return f"{line}\r\n".encode("ascii")


def _unsent(fd: int) -> int:
    """How many bytes the kernel still has."""
    buffer = fcntl.ioctl(fd, termios.TIOCOUTQ, struct.pack("i", 0))
    return int(struct.unpack("i", buffer)[0])


def _is_console(path: str) -> bool:
    """Whether the kernel's messages and a shell are on this tty: theirs are its settings, and they
    have the speed of the kernel's command line."""
    try:
        names = _CONSOLES.read_text(encoding="ascii").split()
    except OSError:
        return False
    return Path(path).resolve().name in names


def _make_raw(fd: int) -> None:
    """8N1 at 115200 Bd; nothing is echoed, changed or waited for."""
    attributes = termios.tcgetattr(fd)
    characters = attributes[6]
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    attributes[:6] = [
        termios.IGNBRK, 0, termios.CS8 | termios.CLOCAL | termios.CREAD, 0,
        termios.B115200, termios.B115200,
    ]  # fmt: skip
    termios.tcsetattr(fd, termios.TCSANOW, attributes)
