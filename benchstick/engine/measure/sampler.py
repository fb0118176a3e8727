"""The per-second record of a drive, from the counters of the block layer.

All suites use this sampler: each chart shows the device's data, not the tool's. Fields of
`/sys/block/X/stat`: Linux Documentation/block/stat.rst.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchstick.store.run_results import Sample

SECTOR = 512


@dataclass(frozen=True)
class Counters:
    """The drive's counters at time `t` (monotonic seconds); sizes in bytes, times in ms."""

    t: float
    reads: int
    read_bytes: int
    read_ms: int
    writes: int
    write_bytes: int
    write_ms: int
    discards: int
    discard_bytes: int
    flushes: int

    @staticmethod
    def parse(text: str, t: float) -> Counters:
        """From the text of `stat`; kernels before 4.18 and 5.5 have no discards and flushes.

        ValueError for any other text, as of a drive that is just being removed.
        """
        fields = [int(word) for word in text.split()]
        if len(fields) < 11:
            raise ValueError(f"stat: {len(fields)} fields")
        fields += [0] * (17 - len(fields))
        return Counters(
            t=t,
            reads=fields[0],
            read_bytes=fields[2] * SECTOR,
            read_ms=fields[3],
            writes=fields[4],
            write_bytes=fields[6] * SECTOR,
            write_ms=fields[7],
            discards=fields[11],
            discard_bytes=fields[13] * SECTOR,
            flushes=fields[15],
        )

    def since(self, before: Counters) -> dict[str, float]:
        """The changes from `before` to now, with the mean queue over that time."""
        seconds = self.t - before.t
        wait_ms = self.read_ms + self.write_ms - before.read_ms - before.write_ms
        return {
            "seconds": seconds,
            "reads": self.reads - before.reads,
            "read_bytes": self.read_bytes - before.read_bytes,
            "writes": self.writes - before.writes,
            "write_bytes": self.write_bytes - before.write_bytes,
            "discards": self.discards - before.discards,
            "discard_bytes": self.discard_bytes - before.discard_bytes,
            "flushes": self.flushes - before.flushes,
            "queue_mean": wait_ms / (seconds * 1000) if seconds > 0 else 0.0,
        }


class Sampler:
    """Reads the counters of block device `name` once a second in a thread of its own.

    `t` of a sample is in seconds since `start_time`. `tick` is called after each sample, in
    the sampler's thread. `drive_lost` is set when the counters can no longer be read, or when the
    kernel has detected another medium in the drive: then `changed` is called first, in the
    sampler's thread. The sampler sends no command to the drive. Each sample has `step`: the step
    that runs at the sample's end or, between two steps, the last one.
    """

    def __init__(
        self,
        name: str,
        *,
        interval: float = 1.0,
        start_time: float | None = None,
        tick: Callable[[], None] | None = None,
        on_change: Callable[[], None] | None = None,
        sysfs: Path = Path("/sys"),
    ) -> None:
        self.interval = interval
        self.start_time = time.monotonic() if start_time is None else start_time
        self.step: int | None = None
        self.drive_lost = threading.Event()
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0
        self._tick = tick
        self._on_change = on_change
        folder = sysfs / "block" / name
        # Keep them open: after a reset a path can refer to another drive, a descriptor cannot.
        self._stat = os.open(folder / "stat", os.O_RDONLY | os.O_CLOEXEC)
        self._inflight = os.open(folder / "inflight", os.O_RDONLY | os.O_CLOEXEC)
        # Kernels before 5.15 have no disk sequence.
        self._diskseq: int | None = None
        with contextlib.suppress(FileNotFoundError):
            self._diskseq = os.open(folder / "diskseq", os.O_RDONLY | os.O_CLOEXEC)
        self._first_seq = self._seq()
        self._lock = threading.Lock()
        self._pending: list[Sample] = []
        # (step, bytes read and written in its samples so far)
        self._step_bytes: tuple[int | None, int] = (None, 0)
        self._next = 0
        self._stop = threading.Event()
        self._start = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        """Start the record."""
        self._start = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """End the record; a last sample covers the rest."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        os.close(self._stat)
        os.close(self._inflight)
        if self._diskseq is not None:
            os.close(self._diskseq)

    def counters(self) -> Counters:
        """The current counters. OSError when the drive is gone."""
        return Counters.parse(os.pread(self._stat, 1024, 0).decode("ascii"), time.monotonic())

    def inflight(self) -> int:
        """Requests that were sent to the drive and are not completed."""
        return sum(int(word) for word in os.pread(self._inflight, 256, 0).split())

    def _seq(self) -> bytes:
        """The drive's current disk sequence number; empty when the kernel has none."""
        return b"" if self._diskseq is None else os.pread(self._diskseq, 64, 0)

    def pending(self, after: int = -1) -> list[Sample]:
        """Samples not yet taken with n > `after`. Cheap for the newest few."""
        with self._lock:
            # Their numbers have no gap.
            first = self._pending[0].n if self._pending else 0
            return self._pending[max(0, after + 1 - first) :]

    def newest(self, count: int) -> list[Sample]:
        """The last `count` of the samples not yet taken."""
        with self._lock:
            return self._pending[-count:]

    def moved(self, step: int) -> int:
        """Bytes read and written in the samples of `step`, the running step, so far."""
        with self._lock:
            current, count = self._step_bytes
        return count if current == step else 0

    def take(self) -> list[Sample]:
        """The samples since the last call. The sampler does not keep them."""
        with self._lock:
            samples, self._pending = self._pending, []
        return samples

    def cpu_share(self) -> float | None:
        """The sampler's CPU time divided by its run time; None before its start."""
        if self._thread.ident is None or not self._thread.is_alive():
            return None
        cpu_seconds = time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident))
        wall_seconds = time.monotonic() - self._start
        return cpu_seconds / wall_seconds if wall_seconds > 0 else None

    def _run(self) -> None:
        started_at = time.monotonic()
        try:
            self._record(started_at)
        except (OSError, ValueError):
            self.drive_lost.set()
            if self._tick is not None:
                self._tick()
        self.cpu_seconds = time.thread_time()
        self.wall_seconds = time.monotonic() - started_at

    def _record(self, started_at: float) -> None:
        before = self.counters()
        due = started_at
        stopping = False
        while not stopping:
            due += self.interval
            stopping = self._stop.wait(max(0.0, due - time.monotonic()))
            step, inflight = self.step, self.inflight()
            now = self.counters()
            if now.t - before.t > 0.001:
                self._add(before, now, step, inflight)
            before = now
            if self._seq() != self._first_seq:
                if self._on_change is not None:
                    self._on_change()
                raise OSError("another medium is in the drive")
            # No burst of samples after a stall of the host.
            due = max(due, now.t - self.interval)
            if self._tick is not None:
                self._tick()

    def _add(self, before: Counters, now: Counters, step: int | None, inflight: int) -> None:
        change = now.since(before)
        sample = Sample(
            n=self._next,
            t=round(now.t - self.start_time, 4),
            dt=round(now.t - before.t, 4),
            step_index=step,
            read_bytes=int(change["read_bytes"]),
            write_bytes=int(change["write_bytes"]),
            discard_bytes=int(change["discard_bytes"]),
            reads=int(change["reads"]),
            writes=int(change["writes"]),
            discards=int(change["discards"]),
            flushes=int(change["flushes"]),
            inflight=inflight,
            queue=round(change["queue_mean"], 3),
        )
        self._next += 1
        with self._lock:
            self._pending.append(sample)
            before_step, byte_count = self._step_bytes
            byte_count = byte_count if before_step == step else 0
            self._step_bytes = (step, byte_count + sample.read_bytes + sample.write_bytes)
