"""The loop drive that `make bench` copies to, and the block cgroup's limit on it."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchstick.drives import subprocesses
from benchstick.engine.fileset_source import free_ram
from benchstick.errors import BadInput, Cancelled

BLKIO = Path("/sys/fs/cgroup/blkio")
UNIFIED = Path("/sys/fs/cgroup")
MKFS = (
    "mkfs.ext4",
    "-q",
    "-F",
    "-m",
    "0",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
)


def must(*argv: str) -> str:
    """Run a tool; BadInput with its last line when it fails."""
    result = subprocesses.run(argv, timeout=300)
    if result.exit_code != 0:
        raise BadInput(f"{' '.join(argv)}: {result.error_line}")
    return result.text.strip()


class LoopDrive:
    """A loop device on a file in a tmpfs, with ext4, mounted at `point`.

    Every page of the file is there from the start, so that no run pays for making them.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.point = folder / "drive"
        self._ram = folder / "backing"
        self._image = self._ram / "image"
        self.device = ""
        self.point.mkdir()
        self._ram.mkdir()
        note = free_ram.mount(self._ram, size + (64 << 20))
        if note:
            print(f"note: {note}", file=sys.stderr)
        try:
            with self._image.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
            self.device = must("losetup", "-f", "--show", str(self._image))
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """The kernel's name, `loop0`."""
        return self.device.removeprefix("/dev/")

    @property
    def number(self) -> str:
        """Major and minor, `7:0`."""
        return Path(f"/sys/block/{self.name}/dev").read_text(encoding="ascii").strip()

    def fresh(self) -> None:
        """A new filesystem, mounted: each run meets the same drive."""
        self.unmount()
        must(*MKFS, self.device)
        must("mount", "-o", "noatime", self.device, str(self.point))

    def unmount(self) -> None:
        if self.point.is_mount():
            must("umount", str(self.point))

    def close(self) -> None:
        """Undo everything, also after an error in the middle."""
        self.unmount()
        if self.device:
            must("losetup", "-d", self.device)
            self.device = ""
        if self._ram.is_mount():
            must("umount", str(self._ram))
        self._ram.rmdir()
        self.point.rmdir()


@contextlib.contextmanager
def limited(drive: LoopDrive, rate: int) -> Iterator[str]:
    """Limit the drive to `rate` bytes a second each way; yields how.

    cgroup v1: the kernel writes back the page cache in the root group's name, so the limit is set
    there and this process, with all it starts, is in the root group: the copier's and fio's own
    requests and the write-back of cp, rsync and rclone meet one and the same limit. cgroup v2:
    a group of our own with `io.max`; write-back is charged to the group that made the pages.
    """
    if (BLKIO / "blkio.throttle.write_bps_device").exists():
        with _limited_v1(drive, rate):
            yield "blkio.throttle, root group"
        return
    controllers = UNIFIED / "cgroup.controllers"
    if controllers.exists() and "io" in controllers.read_text(encoding="ascii").split():
        with _limited_v2(drive, rate):
            yield "io.max"
        return
    raise BadInput(
        "this kernel has no block cgroup to limit a drive with: mount cgroup v2 with the io "
        "controller, or v1's blkio"
    )


@contextlib.contextmanager
def _limited_v1(drive: LoopDrive, rate: int) -> Iterator[None]:
    number = drive.number
    files = [BLKIO / f"blkio.throttle.{way}_bps_device" for way in ("read", "write")]
    home = _own_group("blkio")
    _write(BLKIO / "cgroup.procs", str(os.getpid()))
    try:
        for file in files:
            _write(file, f"{number} {rate}")
        yield
    finally:
        for file in files:
            _write(file, f"{number} 0")
        if home:
            _write(BLKIO / home / "cgroup.procs", str(os.getpid()))


@contextlib.contextmanager
def _limited_v2(drive: LoopDrive, rate: int) -> Iterator[None]:
    home = _own_group("")
    group = UNIFIED / f"benchstick-bench-{os.getpid()}"
    _write(UNIFIED / "cgroup.subtree_control", "+io +memory")
    group.mkdir()
    try:
        _write(group / "io.max", f"{drive.number} rbps={rate} wbps={rate}")
        _write(group / "cgroup.procs", str(os.getpid()))
        yield
    finally:
        _write(UNIFIED / home / "cgroup.procs", str(os.getpid()))
        group.rmdir()


def _own_group(controller: str) -> str:
    """This process's group below its hierarchy's root, without the leading slash."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _number, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path.lstrip("/")
    return ""


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text + "\n", encoding="ascii")
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}: the limit cannot be set") from None


def flush(point: Path) -> None:
    """`sync -f`, as the peers are followed by."""
    must("sync", "-f", str(point))


def warm_memory(size: int) -> None:
    """Touch `size` bytes of RAM once and give them back.

    In a virtual machine the first use of a page costs far more than all later ones; without this
    whoever runs first would pay for it.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, size, flags=flags).close()


def end_cleanly() -> None:
    """SIGTERM and SIGHUP unwind like an error, so that nothing stays mounted."""

    def stop(number: int, _frame: object) -> None:
        raise Cancelled(f"ended by signal {number}")

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)


def settle() -> None:
    """Wait: a throttle allows a burst after a pause, and each run must start alike."""
    time.sleep(0.3)
