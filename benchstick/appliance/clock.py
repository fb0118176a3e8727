"""The bench's clock: from the PC's own at boot, by NTP where available, else from a laptop.

No measurement uses it; it stamps results, and a PC with an empty battery starts in 1970. The page
only requests another time; the agent sets it.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping
from typing import Any

from benchstick import paths
from benchstick.appliance import state
from benchstick.drives import subprocesses
from benchstick.drives.subprocesses import Finished
from benchstick.errors import BadInput, BenchError, Refused
from benchstick.store import settings

UTC, LOCAL = "utc", "local"
# When this was written, and a time after its use: a time outside is an error.
EARLIEST, LATEST = 1_790_000_000.0, 4_102_444_800.0
# A request that waited longer for its agent is rejected.
_FRESH_SECONDS = 60.0
# sys/timex.h: adjtimex() returns this while nothing synchronises the clock; struct timex has 208
# bytes.
_TIME_ERROR = 5
_TIMEX_BYTES = 512
_RTC_SECONDS = 15.0
Run = Callable[..., Finished]


def is_kept() -> bool:
    """Whether the kernel regards the clock as synchronised (by NTP)."""
    answer = int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))
    return 0 <= answer < _TIME_ERROR


def may_be_set() -> bool:
    """The bench sets the clock on a booted stick only, and only while nothing synchronises it."""
    return state.read() is not None and not is_kept()


def since_boot() -> float:
    """Seconds since boot: unaffected by setting the clock, the same in all processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def from_rtc(kind: str, run: Run = subprocesses.run) -> str | None:
    """At boot: read the PC's own clock, which has UTC or local time; why not, if it fails.

    Local time is taken as UTC, as its zone is unknown. The page then offers a laptop's time.
    """
    return _hwclock(["-s", "-l" if kind == LOCAL else "-u"], run)


def _hwclock(options: list[str], run: Run) -> str | None:
    try:
        answer = run(["hwclock", *options], timeout=_RTC_SECONDS)
    except BenchError as error:
        return error.message
    return None if answer.exit_code == 0 else f"the PC's clock: {answer.error_line}"


def wish(browser: float) -> dict[str, float]:
    """The request's body: the time of the browser, in Unix seconds, at this moment."""
    if not EARLIEST <= browser <= LATEST:
        raise BadInput("ms: this is no time of today", field="ms")
    return {"time": browser, "since_boot": since_boot()}


def carry_out(
    body: Mapping[str, Any],
    run: Run = subprocesses.run,
    set_clock: Callable[[float], None] = lambda now: time.clock_settime(time.CLOCK_REALTIME, now),
) -> float:
    """Set the clock as requested; by how many seconds it moved. Refused, BadInput."""
    browser_time, at = body.get("time"), body.get("since_boot")
    if not isinstance(browser_time, float) or not isinstance(at, float):
        raise BadInput("time: expected two numbers", field="time")
    wait_seconds = since_boot() - at
    if not 0 <= wait_seconds <= _FRESH_SECONDS or not EARLIEST <= browser_time <= LATEST:
        raise BadInput("time: the request is too old, or no time of today; ask again", field="time")
    if not may_be_set():
        raise Refused("the clock is set by this machine's system or by NTP")
    before = time.time()
    set_clock(browser_time + wait_seconds)
    if _rtc_kind() == UTC:
        # Local time belongs to the PC's own system, whose clock would then be wrong.
        _hwclock(["-w", "-u"], run)
    return browser_time + wait_seconds - before


def _rtc_kind() -> str:
    try:
        return settings.load(paths.settings_file()).clock
    except BenchError:
        return UTC
