"""The bench's barcode scanner: found among the input devices, grabbed, and read.

Grabbed (EVIOCGRAB), its keys reach nobody else: no console, no confirmation, only the scan field.
Read by hand from the kernel's input interface (linux/input.h): python-evdev is a C extension, and
what is wanted of it are two ioctls and one struct.
"""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import os
import re
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.agent.barcode.keymaps import LAYOUTS, Decoder
from benchstick.errors import BadInput

_EVENT = struct.Struct("@llHHi")
_EV_KEY, _EV_SYN, _SYN_DROPPED = 1, 0, 3
_EVIOCGRAB = 0x40044590
_EVIOCSCLOCKID = 0x400445A0
_LETTERS_AND_ENTER = (16, 30, 44, 28)
_USB_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")
LOOK_EVERY = 2.0


@dataclass(frozen=True)
class Keyboard:
    """An input device with a keyboard's keys. `id` is its USB or Bluetooth vendor and product,
    `0c2e:0b61`; `where` the kernel's path of its port, empty when it has none."""

    node: Path
    name: str
    id: str
    where: str

    def matches(self, selector: str) -> bool:
        """Whether this is the scanner that the setting means: by id, or by its name's pattern."""
        if _USB_ID.fullmatch(selector.lower()):
            return self.id == selector.lower()
        return fnmatch.fnmatchcase(self.name.lower(), selector.lower())

    def to_json(self) -> dict[str, Any]:
        """For `benchstick scanner --json`."""
        return {"node": str(self.node), "name": self.name, "id": self.id, "where": self.where}


def keyboards(sys: Path = Path("/sys"), dev: Path = Path("/dev")) -> list[Keyboard]:
    """Every input device that can type letters and Enter, in the order of their numbers."""
    devices = []
    for event in (sys / "class/input").glob("event*"):
        folder = event / "device"
        try:
            # A bitmap of the keys, in words of 64 bits, the highest first.
            words = (folder / "capabilities/key").read_text(encoding="ascii").split()
            bits = sum(int(word, 16) << 64 * at for at, word in enumerate(reversed(words)))
            if not all(bits >> code & 1 for code in _LETTERS_AND_ENTER):
                continue
            vendor, product, name, where = (
                (folder / part).read_text(encoding="utf-8", errors="replace").strip()
                for part in ("id/vendor", "id/product", "name", "phys")
            )
        except (OSError, ValueError):
            # Pulled out while being read.
            continue
        node = dev / "input" / event.name
        devices.append(Keyboard(node, name, f"{vendor}:{product}", where))
    return sorted(devices, key=lambda one: int(one.node.name.removeprefix("event")))


@dataclass(frozen=True)
class Scan:
    """What a scanner read: the text, and when (seconds since 1970)."""

    text: str
    at: float


class Grabbed:
    """One grabbed scanner. OSError when it cannot be opened, is grabbed by another, or is gone."""

    def __init__(self, keyboard: Keyboard, layout: str) -> None:
        self.keyboard = keyboard
        self._decoder = Decoder(LAYOUTS[layout])
        self._fd = os.open(keyboard.node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.ioctl(self._fd, _EVIOCGRAB, 1)
            # Key times by a clock that nobody sets.
            fcntl.ioctl(self._fd, _EVIOCSCLOCKID, struct.pack("@i", time.CLOCK_MONOTONIC))
        except OSError:
            os.close(self._fd)
            raise

    def read(self, seconds: float) -> Iterator[str]:
        """The scans that end within `seconds`; returns at the first of them, or then."""
        if not select.select([self._fd], [], [], seconds)[0]:
            text = self._decoder.quiet(time.monotonic())
            if text is not None:
                yield text
            return
        data = os.read(self._fd, 64 * _EVENT.size)
        for second, micro, kind, code, value in _EVENT.iter_unpack(data):
            if kind == _EV_SYN and code == _SYN_DROPPED:
                # Keys were lost: half a barcode is worse than none.
                self._decoder.drop()
            if kind != _EV_KEY:
                continue
            text = self._decoder.key(code, value, second + micro / 1e6)
            if text is not None:
                yield text

    def close(self) -> None:
        """Let go of it; what it types then reaches the console again."""
        os.close(self._fd)


class Scanner(threading.Thread):
    """Reads the scanner that the settings name, for as long as the bench runs.

    `wanted` is a vendor and product id or a pattern of the name, `layout` one of LAYOUTS. Each scan
    goes to `take`, in this thread. A scanner that is pulled out is taken again when it comes back;
    `state` tells in words what is so.
    """

    def __init__(self, selector: str, layout: str, take: Callable[[Scan], None]) -> None:
        super().__init__(name="scanner", daemon=True)
        self._wanted, self._layout, self._take = selector, layout, take
        self._ended = threading.Event()
        self.state = f"no scanner {selector!r} is plugged in"

    def run(self) -> None:
        """Until `stop`."""
        while not self._ended.is_set():
            grabbed = self._grab()
            if grabbed is None:
                self._ended.wait(LOOK_EVERY)
                continue
            self.state = f"scanner {grabbed.keyboard.name} ({grabbed.keyboard.id})"
            with contextlib.suppress(OSError), contextlib.closing(grabbed):
                while not self._ended.is_set():
                    for text in grabbed.read(0.25):
                        self._take(Scan(text, time.time()))
            self.state = f"scanner {grabbed.keyboard.name} was pulled out"

    def _grab(self) -> Grabbed | None:
        for keyboard in keyboards():
            if not keyboard.matches(self._wanted):
                continue
            try:
                return Grabbed(keyboard, self._layout)
            except OSError as error:
                self.state = f"scanner {keyboard.name}: {error.strerror}"
        return None

    def stop(self) -> None:
        """Let go of the scanner and end."""
        self._ended.set()
        if self.is_alive():
            self.join()


def the_one(selector: str) -> Keyboard:
    """The keyboard that `wanted` means. BadInput when there is none."""
    devices = keyboards()
    for keyboard in devices:
        if keyboard.matches(selector):
            return keyboard
    there = ", ".join(f"{one.name} ({one.id})" for one in devices) or "none"
    raise BadInput(f"scanner {selector!r}: no such input device; there are: {there}")
