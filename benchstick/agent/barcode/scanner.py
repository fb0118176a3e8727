"""The bench's barcode scanner: found among the input devices, grabbed, and read.

Grabbed, its keys reach nobody else: no console, no confirmation, only the scan field. It is read
through python-evdev, a C extension: where the package's extra `scanner` is not installed, the bench
works without scanners of its own. The list of devices comes from sysfs, as evdev would open each of
them for it, and so wake USB devices beside a drive that is being measured.
"""

from __future__ import annotations

import contextlib
import fnmatch
import importlib.util
import re
import select
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.agent.barcode.keymaps import LAYOUTS, Decoder
from benchstick.errors import BadInput

NEEDS_EXTRA = (
    "barcode scanners plugged into the bench need an extra: pip install 'benchstick[scanner]'"
)
_LETTERS_AND_ENTER = (16, 30, 44, 28)
_USB_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")
LOOK_EVERY = 2.0


def is_installed() -> bool:
    """Whether the extra `scanner` is installed. evdev is imported when a scanner is read: it takes
    memory that a bench without one needs."""
    return importlib.util.find_spec("evdev") is not None


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
    """One grabbed scanner. OSError when it cannot be opened, is grabbed by another, or is gone;
    ImportError without evdev."""

    def __init__(self, keyboard: Keyboard, layout: str) -> None:
        import evdev

        self.keyboard = keyboard
        self._decoder = Decoder(LAYOUTS[layout])
        self._device = evdev.InputDevice(str(keyboard.node))
        try:
            self._device.grab()
        except OSError:
            self._device.close()
            raise

    def read(self, seconds: float) -> Iterator[str]:
        """The scans that end within `seconds`; returns at the first of them, or then."""
        from evdev import ecodes

        if not select.select([self._device], [], [], seconds)[0]:
            text = self._decoder.quiet(time.monotonic())
            if text is not None:
                yield text
            return
        for event in self._device.read():
            if event.type == ecodes.EV_SYN and event.code == ecodes.SYN_DROPPED:
                # Keys were lost: half a barcode is worse than none.
                self._decoder.drop()
            if event.type != ecodes.EV_KEY:
                continue
            # The event's own time is of a clock that can be set.
            text = self._decoder.key(event.code, event.value, time.monotonic())
            if text is not None:
                yield text

    def close(self) -> None:
        """Let go of it; what it types then reaches the console again."""
        self._device.close()


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
            except (OSError, ImportError) as error:
                self.state = f"scanner {keyboard.name}: {getattr(error, 'strerror', None) or error}"
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
