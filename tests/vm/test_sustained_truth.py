"""Truth of `sustained`: drives that change their speed at a known place, for a known time, never.

QEMU's throttles are their speed. They are changed through QMP while the guest writes: a fast zone
ends after so many bytes as QEMU itself has counted, a slow time starts and ends by the clock.
Nothing is behind the drives (backend null), so that the host's disk plays no part.
The series go to .cache/results, for whoever wants one as a recording.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from .conftest import CLONE, LiveVm, Qmp, StartVm, once_more_when_lost

GB = 10**9
# Where the fast zone ends, in bytes; then the drive has a quarter of its speed.
ZONE = 2 * GB
ONE_GO, WITH_PAUSES = 60_000_000, 40_000_000
# The others keep theirs, or have half of it for a minute after a while.
USUAL, STEADY = 20_000_000, 10_000_000
BEGINS_AFTER, LASTS = 25.0, 60.0


@dataclass
class Zone:
    """A drive that falls to `slow` bytes a second once ZONE bytes are written. `at` is what had
    been written right before and right after the change."""

    fast: int
    slow: int
    at: tuple[int, int] | None = None

    @property
    def limit(self) -> int:
        """Bytes a second at the start."""
        return self.fast

    def wait(self, byte_count: int) -> float:
        """Seconds that may pass until the next look."""
        return 0.2 if self.at or byte_count < 0.9 * ZONE else 0.01


@dataclass
class Minute:
    """A drive with half of its speed from 25 s after its first write on, for a minute. `changes`
    are the clock's readings at both ends."""

    usual: int
    started_at: float | None = None
    changes: list[float] = field(default_factory=list)

    @property
    def limit(self) -> int:
        """Bytes a second at the start."""
        return self.usual


class Speeds(threading.Thread):
    """Sets the limits as soon as QEMU is there, and changes them as it goes."""

    def __init__(self, vm: LiveVm) -> None:
        super().__init__(daemon=True)
        self.vm = vm
        self.stop_event = threading.Event()
        self.problem: Exception | None = None
        self.zones = {
            name: Zone(fast, fast // 4) for name, fast in (("nvme", ONE_GO), ("sata", WITH_PAUSES))
        }
        self.minute = Minute(USUAL)
        self.qmp = self._connected()
        for name, limit in (
            *((name, zone.limit) for name, zone in self.zones.items()),
            ("uas", self.minute.limit),
            ("bot", STEADY),
        ):
            self.qmp.limit(name, limit)

    def run(self) -> None:
        try:
            while not self.stop_event.is_set():
                self.stop_event.wait(self._step())
        except (OSError, ValueError, LookupError, RuntimeError) as error:
            # The VM is gone, which the test learns from its output, or QEMU refuses.
            self.problem = error

    def stop(self) -> None:
        self.stop_event.set()
        if self.ident is not None:
            self.join()
        with contextlib.suppress(OSError):
            self.qmp.close()

    def _connected(self) -> Qmp:
        deadline = time.monotonic() + 60
        while not self.vm.qmp_path.exists():
            assert time.monotonic() < deadline, "QEMU made no control socket"
            time.sleep(0.1)
        return self.vm.qmp()

    def _bytes_written(self) -> dict[str, int]:
        """Bytes written to each drive since the VM started, by the name of its block node."""
        return {
            item["node-name"]: int(item["stats"]["wr_bytes"])
            for item in self.qmp.execute("query-blockstats")
            if "node-name" in item
        }

    def _step(self) -> float:
        """One look; seconds until the next."""
        byte_counts = self._bytes_written()
        for name, zone in self.zones.items():
            if zone.at is None and byte_counts[name] >= ZONE:
                self.qmp.limit(name, zone.slow)
                zone.at = (byte_counts[name], self._bytes_written()[name])
        minute, now = self.minute, time.monotonic()
        if minute.started_at is None and byte_counts["uas"]:
            minute.started_at = now
        if minute.started_at is not None:
            for number, (after, limit) in enumerate(
                ((BEGINS_AFTER, USUAL // 2), (BEGINS_AFTER + LASTS, USUAL))
            ):
                if len(minute.changes) == number and now - minute.started_at >= after:
                    self.qmp.limit("uas", limit)
                    minute.changes.append(time.monotonic())
        return min(zone.wait(byte_counts[name]) for name, zone in self.zones.items())


def keep(serial: str, series: list[list[float | None]]) -> None:
    """Write a series where a recording can be taken from."""
    folder = CLONE / ".cache/results"
    folder.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(f"  {json.dumps(row)}" for row in series)
    (folder / f"series-{serial}.json").write_text(f"[\n{rows}\n]\n")


@pytest.fixture(scope="module")
def measurements(live_vms: StartVm) -> tuple[Any, Speeds]:
    """All of sustained_runs.py, in one boot, and what was done to the drives during it."""

    def measure() -> tuple[Any, Speeds]:
        vm = live_vms(
            "python3 tests/vm/sustained_runs.py",
            BENCHSTICK_VM_BACKEND="null",
            BENCHSTICK_VM_SIZE="3G",
            BENCHSTICK_VM_TIMEOUT="1500",
        )
        speeds = Speeds(vm)
        speeds.start()
        try:
            answer = vm.wait_line(b"answer ")
        finally:
            speeds.stop()
        assert vm.finish().code == 0
        assert speeds.problem is None, speeds.problem
        entries = json.loads(answer.split(b" ", 1)[1])
        for serial, entry in entries.items():
            keep(serial, entry["series"])
        return entries, speeds

    return once_more_when_lost(measure)


def assert_all_was_written_and_counted(entry: Any) -> None:
    assert entry["states"] == ["valid"], entry["states"]
    assert entry["counted"] == entry["planned"]


@pytest.mark.parametrize(
    ("serial", "name", "parts"), [("BSNVME0001", "nvme", 1), ("BSSATA0001", "sata", 20)]
)
def test_the_end_of_a_fast_zone_of_2_gb_is_found(
    measurements: tuple[Any, Speeds], serial: str, name: str, parts: int
) -> None:
    entry, zone = measurements[0][serial], measurements[1].zones[name]
    # First that the drive was what it was meant to be.
    assert zone.at is not None, "the zone's end was never reached"
    assert zone.at[0] >= ZONE
    assert zone.at[1] <= 1.01 * ZONE, zone.at
    assert_all_was_written_and_counted(entry)
    assert len(entry["parts"]) == parts
    (knee,) = entry["knees"]["knees"]
    assert knee["confidence"] == "clear", knee
    assert knee["at_gb"] == pytest.approx(ZONE / GB, rel=0.03), (knee, zone.at)
    assert knee["before_mbps"] == pytest.approx(zone.fast / 1e6, rel=0.05), knee
    assert knee["after_mbps"] == pytest.approx(zone.slow / 1e6, rel=0.05), knee
    assert entry["overall"]["cache knee"] == knee["at_gb"]
    assert entry["verdicts"]["Cache knee"]["state"] == "found"
    # A lasting fall is no slow-down.
    assert entry["slow_downs"]["state"] == "none", entry["slow_downs"]
    assert entry["events"] == []


def test_half_the_speed_for_a_minute_is_reported_as_slowing_down(
    measurements: tuple[Any, Speeds],
) -> None:
    entry, minute = measurements[0]["BSUAS0001"], measurements[1].minute
    assert len(minute.changes) == 2, "the slow time did not begin and end"
    duration = minute.changes[1] - minute.changes[0]
    assert duration == pytest.approx(LASTS, abs=1)
    assert_all_was_written_and_counted(entry)
    # This drive has no temperature: the cause is unknown.
    assert entry["slow_downs"]["state"] == "slowdown", entry["slow_downs"]
    (slow_down,) = entry["slow_downs"]["found"]
    assert slow_down["cause"] == "unknown"
    assert slow_down["to_seconds"] - slow_down["from_seconds"] == pytest.approx(duration, abs=3)
    assert slow_down["slow_mbps"] == pytest.approx(USUAL / 2e6, rel=0.05)
    for side in ("before_mbps", "after_mbps"):
        assert slow_down[side] == pytest.approx(USUAL / 1e6, rel=0.05)
    assert slow_down["depth"] == pytest.approx(0.5, abs=0.05)
    assert entry["verdicts"]["Slowing down"]["state"] == "slowdown"
    assert entry["overall"]["deepest slow-down"] == pytest.approx(100 * slow_down["depth"])
    assert entry["events"] == ["slowdown"]
    # It came back, so it is no knee.
    assert entry["knees"]["knees"] == [], entry["knees"]


def test_a_constant_speed_is_neither_a_knee_nor_a_slow_down(
    measurements: tuple[Any, Speeds],
) -> None:
    entry = measurements[0]["BSBOT0001"]
    assert_all_was_written_and_counted(entry)
    assert entry["slow_downs"]["state"] == "none", entry["slow_downs"]
    assert entry["knees"]["knees"] == [], entry["knees"]
    assert entry["events"] == []
    assert entry["overall"]["sustained write"] == pytest.approx(STEADY / 1e6, rel=0.05)
