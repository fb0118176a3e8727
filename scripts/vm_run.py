"""Boots the VM and runs one command in it: scripts/vm (or `make vm CMD='...'`).

The command is the argument, or comes untouched from the environment variable
BENCHSTICK_VM_COMMAND. The guest's stdout alone is on stdout and its stderr on stderr, byte for byte
and as they come; the kernel's messages are in .cache/vm-console.log. The exit code is the
command's; 125 when the guest ended without one, 2 for bad settings, 130 and 143 after SIGINT and
SIGTERM. Without a command there is a shell; `--prepare` only makes what every boot needs.
`vm_machine.Settings` lists what else the environment can ask for.

The guest sees the host's whole tree at the same paths. What it writes stays in its RAM, except in
this clone, which is shared (its .venv is not). Its data folder, BENCHSTICK_HOME, is in RAM too.
Inside, BENCHSTICK_IN_GUEST=1 is set, and other BENCHSTICK_* variables of the host are passed on.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import BinaryIO, NoReturn

import vm_accel
import vm_initramfs
import vm_machine
from vm_machine import BadSetting, Settings, Storage

CLONE = Path(__file__).resolve().parent.parent
CACHE = CLONE / ".cache"
# A VM that is kept to some processors has logs of its own: another may run at the same time.
_CPUS = os.sched_getaffinity(0)
_OWN = "" if len(_CPUS) == (os.cpu_count() or 1) else f"-cpu{min(_CPUS)}"
LOGS = (CACHE / f"vm-console{_OWN}.log", CACHE / f"vm-qemu{_OWN}.log")
CHANNELS = ("out", "err", "control")
NO_EXIT_CODE = 125
# After the exit message: how long the last bytes of output may take to arrive.
DRAIN_S = 10.0


class Stopped(Exception):
    """SIGINT or SIGTERM came."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class GuestLost(Exception):
    """QEMU ended, or had to be ended, before the command gave an exit code."""


def complain(text: str) -> None:
    print(f"benchstick: vm: {text}", file=sys.stderr, flush=True)


class Output:
    """Passes the guest's channels on, and notes what the control channel says."""

    def __init__(self, sockets: dict[str, socket.socket]) -> None:
        self.selector = selectors.DefaultSelector()
        for name, sock in sockets.items():
            self.selector.register(sock, selectors.EVENT_READ, name)
        self.byte_counts = {"out": 0, "err": 0}
        self.control = b""
        self.verdict: dict[str, int] | None = None

    def pump(self, wait: float) -> None:
        """Passes on what is there, waiting at most `wait` seconds for something."""
        for key, _ in self.selector.select(wait):
            assert isinstance(key.fileobj, socket.socket)
            data = key.fileobj.recv(65536)
            if not data:
                self.selector.unregister(key.fileobj)
            elif key.data == "control":
                self._note(data)
            else:
                self.byte_counts[key.data] += len(data)
                _write_all(1 if key.data == "out" else 2, data)

    def complete(self) -> bool:
        """Whether the exit code is here, and all of the output."""
        return self.verdict is not None and all(
            self.byte_counts[name] >= self.verdict[name] for name in self.byte_counts
        )

    def _note(self, data: bytes) -> None:
        *lines, self.control = (self.control + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "exit" in message:
                self.verdict = message


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def follow(qemu: subprocess.Popen[bytes], output: Output, timeout: float) -> int:
    """Passes output on until the command has ended; gives its exit code or raises GuestLost."""
    deadline = time.monotonic() + timeout
    while output.verdict is None:
        has_exited = qemu.poll() is not None
        output.pump(0 if has_exited else 0.25)
        if has_exited and output.verdict is None:
            raise GuestLost(f"QEMU ended (exit code {qemu.returncode}) before the command did")
        if time.monotonic() > deadline:
            raise GuestLost(f"ended after {timeout:g} s (BENCHSTICK_VM_TIMEOUT)")
    drain = time.monotonic() + DRAIN_S
    while not output.complete() and time.monotonic() < drain:
        output.pump(0.1)
    if not output.complete():
        raise GuestLost("a part of the command's output was lost")
    return output.verdict["exit"]


def prepare_initrd(kernel: Path, run: Path, files: dict[str, bytes]) -> Path:
    """The initial file system of this boot; its constant part is kept with the kernel."""
    init = CLONE / "scripts/vm.d/init"
    busybox = vm_initramfs.find_busybox()
    text = init.read_bytes() + str(busybox.stat().st_mtime).encode()
    text += Path(vm_initramfs.__file__).read_bytes()
    base = kernel / f"initrd-{hashlib.sha256(text).hexdigest()[:16]}"
    if not base.exists():
        version = kernel.name.removeprefix("kernel-")
        data = vm_initramfs.base_archive(kernel / "lib/modules" / version, init, busybox)
        part = run / "initrd.part"
        part.write_bytes(data)
        part.rename(base)
    initrd = run / "initrd"
    initrd.write_bytes(base.read_bytes() + vm_initramfs.boot_archive(files))
    return initrd


def boot_files(command: str | None, kernel: Path) -> dict[str, bytes]:
    """The guest's input files: paths, the command, its environment."""
    paths = f"CLONE={shlex.quote(str(CLONE))}\nKERNEL={shlex.quote(str(kernel))}\n"
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("BENCHSTICK_") and not name.startswith("BENCHSTICK_VM_")
    }
    variables["TERM"] = os.environ.get("TERM", "dumb")
    files = {"paths": os.fsencode(paths), "environment": json.dumps(variables).encode()}
    if command is None:
        size = shutil.get_terminal_size()
        files["terminal"] = json.dumps([size.lines, size.columns]).encode()
    else:
        files["command"] = os.fsencode(command)
    return files


def show_console(folder: Path) -> None:
    """The end of the guest's console, for whoever must find out why it was lost."""
    for log in LOGS:
        with contextlib.suppress(OSError):
            for line in (folder / log.name).read_text(errors="replace").splitlines()[-15:]:
                print(f"  | {line.rstrip()}", file=sys.stderr)
    complain(f"the whole of it is in {LOGS[0]} and {LOGS[1].name}")


@contextlib.contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for this boot's drives and sockets; those that a killed run left are removed."""
    CACHE.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        # A new folder is not locked yet: nobody may remove folders until it is.
        with (CACHE / "vm-run.lock").open("a") as folders:
            fcntl.flock(folders, fcntl.LOCK_EX)
            for old in CACHE.glob("vm-run-*"):
                with contextlib.suppress(OSError), (old / "lock").open("wb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(old)
            folder = Path(tempfile.mkdtemp(prefix="vm-run-", dir=CACHE))
            fcntl.flock(stack.enter_context((folder / "lock").open("wb")), fcntl.LOCK_EX)
        try:
            yield folder
        except GuestLost as error:
            complain(f"the guest gave no exit code: {error}; its last words:")
            show_console(folder)
            raise
        finally:
            for log in LOGS:
                log.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    (folder / log.name).replace(log)
            shutil.rmtree(folder, ignore_errors=True)


def free_port(settings: Settings) -> int:
    """The port to forward: none if the default one is taken and nobody asked for it by name."""
    if not settings.port:
        return 0
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", settings.port))
        except (OSError, OverflowError) as error:
            if settings.port_given:
                raise BadSetting(
                    f"port {settings.port} cannot be used ({error}); choose another with "
                    "BENCHSTICK_VM_PORT"
                ) from None
            complain(
                f"port {settings.port} is taken, so the guest's page is not forwarded; "
                "choose another with BENCHSTICK_VM_PORT"
            )
            return 0
    return settings.port


def start(
    arguments: list[str], log: BinaryIO, ends: dict[str, int], *, shell: bool
) -> subprocess.Popen[bytes]:
    """Starts QEMU; for a shell it gets our terminal."""
    return subprocess.Popen(
        arguments,
        stdin=None if shell else subprocess.DEVNULL,
        stdout=None if shell else log,
        stderr=log,
        pass_fds=tuple(ends.values()),
        # Ctrl-C is for us; a shell's terminal, though, belongs to QEMU in our group
        start_new_session=not shell,
    )


def pc_disks(settings: Settings, kernel: Path) -> Path:
    """The folder with the images of the PC's own disks, made in a boot of their own the first time.

    Only the guest has the file systems for it (NTFS), and under emulation it takes ten seconds.
    """
    recipe = (CLONE / "scripts/vm.d/pc-disks").read_bytes()
    disk_folder = CACHE / f"vm-disks-{hashlib.sha256(recipe).hexdigest()[:16]}"
    if not disk_folder.exists():
        complain("making the disks that stand for the PC's own (once)")
        with run_folder() as folder:
            files = boot_files("test -e /run/benchstick-vm/disks-ready", kernel)
            plain = Settings(accel=settings.accel, port=0)
            if run(plain, folder, kernel, {**files, "make-disks": b""}, templates=None):
                raise GuestLost("the PC's own disks could not be made")
            part = folder / "made"
            part.mkdir()
            for name in vm_machine.PC_DRIVES:
                (folder / f"{name}.img").rename(part / f"{name}.img")
            with contextlib.suppress(OSError):  # another boot may have been faster
                part.rename(disk_folder)
    return disk_folder


def run(
    settings: Settings,
    folder: Path,
    kernel: Path,
    files: dict[str, bytes],
    *,
    templates: Path | None,
) -> int:
    """Starts QEMU, follows the command in `files` (a shell without one), ends QEMU.

    Gives the exit code; raises GuestLost when there is none.
    """
    shell = "command" not in files
    initrd = prepare_initrd(kernel, folder, files)
    accel = vm_accel.choose(settings, kernel, initrd, CACHE)
    pairs = {name: socket.socketpair() for name in CHANNELS}
    ends = {name: pair[1].fileno() for name, pair in pairs.items()}
    storage = Storage(folder, settings, templates)
    try:
        for name in (*vm_machine.TEST_DRIVES, *vm_machine.PC_DRIVES):
            storage.add(name, own=name in vm_machine.PC_DRIVES)
        arguments = [
            # QEMU must not outlive us, whatever ends us
            *("setpriv", "--pdeathsig", "KILL", "--"),
            *vm_machine.base_arguments(settings, accel, kernel, initrd),
            *vm_machine.tree_arguments(CLONE),
            *vm_machine.network_arguments(free_port(settings)),
            *vm_machine.channel_arguments(ends),
            *(vm_machine.terminal_arguments() if shell else []),
            *storage.arguments,
            *vm_machine.drive_arguments(),
            *("-serial", f"file:{folder / LOGS[0].name}"),
            *(("-qmp", f"unix:{settings.qmp},server=on,wait=off") if settings.qmp else ()),
            *settings.extra,
        ]
        # QEMU's own words are kept apart from the guest's output
        with (folder / LOGS[1].name).open("wb") as log:
            qemu = start(arguments, log, ends, shell=shell)
        for pair in pairs.values():
            pair[1].close()
        try:
            return follow(qemu, Output({n: p[0] for n, p in pairs.items()}), settings.timeout)
        finally:
            qemu.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                qemu.wait(5)
            qemu.kill()
            qemu.wait()
    finally:
        storage.close()


def find_kernel() -> Path:
    """The VM's kernel, fetched if it is not here yet."""
    result = subprocess.run([CLONE / "scripts/vm.d/kernel"], stdout=subprocess.PIPE)
    if result.returncode:
        raise BadSetting("no kernel for the VM; run: scripts/setup vm")
    return Path(os.fsdecode(result.stdout.rstrip(b"\n")))


def check_host() -> None:
    if os.geteuid() != 0:
        raise BadSetting("needs root, to show the guest this machine's tree; run: sudo make vm")
    for program in ("qemu-system-x86_64", "setpriv"):
        if shutil.which(program) is None:
            raise BadSetting(f"{program} is missing; run: scripts/setup vm")
    try:
        vm_initramfs.find_busybox()
    except FileNotFoundError:
        raise BadSetting("busybox is missing; run: scripts/setup vm") from None


def stop(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped(number)


@contextlib.contextmanager
def alone_on_these_cpus() -> Iterator[None]:
    """Wait until no other VM of this clone runs on a processor that this one may use: on the same
    cores, two would time each other instead of their drives. VMs that taskset keeps apart run side
    by side. One byte of the lock file stands for one processor."""
    with (CACHE / "vm.lock").open("a") as file:
        is_waiting = False
        for cpu in sorted(os.sched_getaffinity(0)):
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, cpu)
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN):
                    raise
                if not is_waiting:
                    complain("another VM of this clone is running: waiting for it to end")
                is_waiting = True
                fcntl.lockf(file, fcntl.LOCK_EX, 1, cpu)
        yield


def main() -> int:
    command = os.environ.get("BENCHSTICK_VM_COMMAND") or None
    if len(sys.argv) > 1:
        command = sys.argv[1] if len(sys.argv) == 2 else shlex.join(sys.argv[1:])
    prepare = command == "--prepare"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        check_host()
        settings = Settings.from_environment(os.environ)
        if prepare:
            pc_disks(settings, find_kernel())
            return 0
        if command is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise BadSetting("a shell needs a terminal; give a command: make vm CMD='...'")
        kernel = find_kernel()
        templates = pc_disks(settings, kernel)
        with alone_on_these_cpus(), run_folder() as folder:
            return run(settings, folder, kernel, boot_files(command, kernel), templates=templates)
    except GuestLost:
        return NO_EXIT_CODE
    except BadSetting as error:
        complain(str(error))
        return 2
    except Stopped as error:
        return error.exit_code
    except BrokenPipeError:
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    code = main()
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    sys.exit(code)
