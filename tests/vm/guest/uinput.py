"""A barcode scanner made with the kernel's uinput: real input events, without the device."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Iterator

from benchstick.agent.barcode.keymaps import _KEYS, LAYOUTS
from benchstick.agent.barcode.scanner import Keyboard, keyboards

from .drive_help import wait_for

NAME, VENDOR, PRODUCT = "Bench Scanner 1", 0x0C2E, 0x0B61
SHIFT, SPACE, ENTER = 42, 57, 28
_SET_EVBIT, _SET_KEYBIT, _CREATE, _DESTROY, _SETUP = (
    0x40045564, 0x40045565, 0x5501, 0x5502, 0x405C5503,
)  # fmt: skip
_BUS_USB = 3


class FakeScanner:
    """Types text as a scanner with the US keyboard does."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def key(self, code: int, *, shift: bool = False) -> None:
        """One key, pressed and released."""
        keys = [(SHIFT, 1)] * shift + [(code, 1), (code, 0)] + [(SHIFT, 0)] * shift
        for number, value in keys:
            os.write(self._fd, struct.pack("@llHHi", 0, 0, 1, number, value))
            os.write(self._fd, struct.pack("@llHHi", 0, 0, 0, 0, 0))

    def scan(self, text: str, end: int | None = ENTER) -> None:
        """A whole barcode, with the key that the scanner is set to send after it."""
        layout = LAYOUTS["us"]
        for character in text:
            if character == " ":
                self.key(SPACE)
            elif character in layout.plain:
                self.key(_KEYS[layout.plain.index(character)])
            else:
                self.key(_KEYS[layout.shift.index(character)], shift=True)
            time.sleep(0.002)
        if end is not None:
            self.key(end)


@contextlib.contextmanager
def plugged(name: str = NAME) -> Iterator[FakeScanner]:
    """A scanner that is plugged in for as long as this lasts."""
    subprocess.run(["modprobe", "-a", "uinput", "evdev"], check=True)
    fd = os.open("/dev/uinput", os.O_WRONLY)
    try:
        fcntl.ioctl(fd, _SET_EVBIT, 1)
        for code in range(1, 128):
            fcntl.ioctl(fd, _SET_KEYBIT, code)
        setup = struct.pack("@HHHH80sI", _BUS_USB, VENDOR, PRODUCT, 1, name.encode(), 0)
        fcntl.ioctl(fd, _SETUP, setup)
        fcntl.ioctl(fd, _CREATE)
        wait_for(lambda: (one := find_keyboard(name)) is not None and one.node.exists())
        yield FakeScanner(fd)
        fcntl.ioctl(fd, _DESTROY)
    finally:
        os.close(fd)


def find_keyboard(name: str = NAME) -> Keyboard | None:
    """It as the bench sees it, None when it is not there."""
    return next((one for one in keyboards() if one.name == name), None)
