"""Finds the bench's barcode scanner among the input devices, grabs it, and reads it.

While it is grabbed its keys reach only the scan field: no console and no confirmation. It is read
with python-evdev, a C extension: without the package's extra `scanner` the bench cannot read
scanners of its own. The list of devices comes from sysfs: evdev would open each device, and this
wakes USB devices next to a drive that is being measured.
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
    """Whether the extra `scanner` is installed. To save memory evdev is imported only when a
    scanner is read."""
    return importlib.util.find_spec("evdev") is not None


@dataclass(frozen=True)
class Keyboard:
    """An input device with a keyboard's keys. `id` is its USB or Bluetooth vendor and product,
    `0c2e:0b61`; `where` is the kernel's path of its port, empty when it has none."""

    node: Path
    name: str
    id: str
    where: str

    def matches(self, selector: str) -> bool:
        """Whether it matches the setting: an id, or a pattern of the name."""
        if _USB_ID.fullmatch(selector.lower()):
            return self.id == selector.lower()
        return fnmatch.fnmatchcase(self.name.lower(), selector.lower())

    def to_json(self) -> dict[str, Any]:
        """For `benchstick scanner --json`."""
        return {"node": str(self.node), "name": self.name, "id": self.id, "where": self.where}


def keyboards(sys: Path = Path("/sys"), dev: Path = Path("/dev")) -> list[Keyboard]:
    """The input devices with letters and Enter, by number."""
    devices = []
    for event in (sys / "class/input").glob("event*"):
        folder = event / "device"
        try:
            # A bitmap of the keys, in words of 64 bits, the highest word first.
            words = (folder / "capabilities/key").read_text(encoding="ascii").split()
            bits = sum(int(word, 16) << 64 * index for index, word in enumerate(reversed(words)))
            if not all(bits >> code & 1 for code in _LETTERS_AND_ENTER):
                continue
            vendor, product, name, where = (
                (folder / part).read_text(encoding="utf-8", errors="replace").strip()
                for part in ("id/vendor", "id/product", "name", "phys")
            )
        except (OSError, ValueError):
            # Unplugged while it was read.
            continue
        node = dev / "input" / event.name
        devices.append(Keyboard(node, name, f"{vendor}:{product}", where))
    return sorted(devices, key=lambda one: int(one.node.name.removeprefix("event")))


@dataclass(frozen=True)
class Scan:
    """A scan: the text, and its time (seconds since 1970)."""

    text: str
    at: float


class Grabbed:
    """A grabbed scanner. OSError when it cannot be opened, another process has grabbed it, or it is
    absent; ImportError without evdev."""

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
        """The scans that end within `seconds`. Returns at the first of them, or after that time."""
        from evdev import ecodes

        if not select.select([self._device], [], [], seconds)[0]:
            text = self._decoder.quiet(time.monotonic())
            if text is not None:
                yield text
            return
        for event in self._device.read():
            if event.type == ecodes.EV_SYN and event.code == ecodes.SYN_DROPPED:
                # Keys were lost: discard the incomplete barcode.
                self._decoder.drop()
            if event.type != ecodes.EV_KEY:
                continue
            # Not the time of the event: its clock can be set.
            text = self._decoder.key(event.code, event.value, time.monotonic())
            if text is not None:
                yield text

    def close(self) -> None:
        """Release it: its keys reach the console again."""
        self._device.close()


class Scanner(threading.Thread):
    """Reads the scanner in the settings for as long as the bench runs.

    `selector` is a vendor and product id or a pattern of the name, `layout` one of LAYOUTS. Each
    scan goes to `take`, in this thread. A scanner that was unplugged is grabbed again when it
    returns; `state` describes the state in words.
    """

    def __init__(self, selector: str, layout: str, take: Callable[[Scan], None]) -> None:
        super().__init__(name="scanner", daemon=True)
        self._selector, self._layout, self._take = selector, layout, take
        self._stop_event = threading.Event()
        self.state = f"no scanner {selector!r} is plugged in"

    def run(self) -> None:
        """Until `stop`."""
        while not self._stop_event.is_set():
            device_grab = self._grab()
            if device_grab is None:
                self._stop_event.wait(LOOK_EVERY)
                continue
            self.state = f"scanner {device_grab.keyboard.name} ({device_grab.keyboard.id})"
            with contextlib.suppress(OSError), contextlib.closing(device_grab):
                while not self._stop_event.is_set():
                    for text in device_grab.read(0.25):
                        self._take(Scan(text, time.time()))
            self.state = f"scanner {device_grab.keyboard.name} was pulled out"

    def _grab(self) -> Grabbed | None:
        for keyboard in keyboards():
            if not keyboard.matches(self._selector):
                continue
            try:
                return Grabbed(keyboard, self._layout)
            except (OSError, ImportError) as error:
                self.state = f"scanner {keyboard.name}: {getattr(error, 'strerror', None) or error}"
        return None

    def stop(self) -> None:
        """Release the scanner and end."""
        self._stop_event.set()
        if self.is_alive():
            self.join()


def the_one(selector: str) -> Keyboard:
    """The keyboard that matches `selector`. BadInput when there is none."""
    devices = keyboards()
    for keyboard in devices:
        if keyboard.matches(selector):
            return keyboard
    there = ", ".join(f"{device.name} ({device.id})" for device in devices) or "none"
    raise BadInput(f"scanner {selector!r}: no such input device; there are: {there}")
