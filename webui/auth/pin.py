"""The two ways to sign in: a one-time key from the terminal, and the PIN on the network."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

from webui.errors import WebError

# Of one address, and of all together: guessing 10^6 PINs at 30 in 10 minutes takes months.
EACH_LIMIT = 5
ALL_LIMIT = 30
WINDOW_SECONDS = 600.0


def _new_key() -> str:
    """256 random bits as text."""
    return secrets.token_urlsafe(32)


class LoginKey:
    """A key that opens one session. When it was used, the next one is made and announced."""

    def __init__(self, announce: Callable[[str], None] | None = None) -> None:
        self._announce = announce
        self._lock = threading.Lock()
        self._key = _new_key()

    @property
    def current(self) -> str:
        return self._key

    def take(self, guess: str) -> bool:
        """True once for the current key."""
        with self._lock:
            if not hmac.compare_digest(guess.encode(), self._key.encode()):
                return False
            self._key = _new_key()
        if self._announce is not None:
            self._announce(self._key)
        return True


class Pin:
    """Six random digits, or those given, with a limit on wrong attempts."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, digits: str | None = None
    ) -> None:
        self.digits = digits or f"{secrets.randbelow(10**6):06d}"
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong: deque[tuple[float, str]] = deque()

    @property
    def text(self) -> str:
        """As it is printed: `482 913`."""
        return f"{self.digits[:3]} {self.digits[3:]}"

    def check(self, guess: str, address: str) -> bool:
        """Whether `guess` is the PIN, in constant time. WebError 429 after too many wrong ones."""
        plain = "".join(guess.split())
        with self._lock:
            self._refuse_when_tried_too_often(address)
            right = hmac.compare_digest(plain.encode(), self.digits.encode())
            if not right:
                self._wrong.append((self._clock(), address))
        return right

    def _refuse_when_tried_too_often(self, address: str) -> None:
        now = self._clock()
        while self._wrong and self._wrong[0][0] <= now - WINDOW_SECONDS:
            self._wrong.popleft()
        of_address = [when for when, who in self._wrong if who == address]
        everybody = [when for when, _ in self._wrong]
        for times, limit in ((of_address, EACH_LIMIT), (everybody, ALL_LIMIT)):
            if len(times) >= limit:
                wait = max(1, round(times[-limit] + WINDOW_SECONDS - now))
                raise WebError(
                    429,
                    "too_many",
                    f"too many wrong PINs; try again in {-(-wait // 60)} min",
                    field="pin",
                    headers={"Retry-After": str(wait)},
                )
