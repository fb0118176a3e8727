"""The VM's hardware: its settings (BENCHSTICK_VM_*) and QEMU's arguments for them."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import shlex
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# The page's port that scripts/vm_guest.py listens on in the guest.
GUEST_PAGE_PORT = 18080

# The four drives under test: id (for QMP) and serial.
TEST_DRIVES = {
    "uas": "BSUAS0001",
    "bot": "BSBOT0001",
    "sata": "BSSATA0001",
    "nvme": "BSNVME0001",
}
# The two that stand for the PC's own, made by scripts/vm.d/pc-disks.
PC_DRIVES = {"pcext4": "BSPCEXT4", "pcwin": "BSPCWIN"}
PC_DRIVE_SIZE = "1G"


class BadSetting(Exception):
    """A BENCHSTICK_VM_* variable that cannot be used; with its name and the expected value."""


@dataclass(frozen=True)
class Settings:
    """What the environment asks of the VM.

    BENCHSTICK_VM_ACCEL     tcg or kvm; without it KVM where a timed probe passed, else tcg
    BENCHSTICK_VM_MEMORY    guest RAM, as QEMU writes it (4G)
    BENCHSTICK_VM_CPUS      processors (2, or 1 where taskset leaves one)
    BENCHSTICK_VM_SIZE      size of each of the four test drives (1G)
    BENCHSTICK_VM_BACKEND   what is behind them: file; null (reads zeroes, keeps nothing);
                            nbdkit (RAM, keeps data). With a delay the default is nbdkit, else file
    BENCHSTICK_VM_DELAY_MS  fixed service time of each request, on the null and nbdkit backends
    BENCHSTICK_VM_QEMU      more QEMU arguments, quoted as in a shell
    BENCHSTICK_VM_QMP       path of a QMP socket to make
    BENCHSTICK_VM_PORT      local port that leads to the page in the guest (18080); 0 for none
    BENCHSTICK_VM_TIMEOUT   seconds after which the VM is ended (3600)
    """

    accel: str = ""
    memory: str = "4G"
    cpus: int = 2
    size: str = "1G"
    backend: str = "file"
    delay_ms: int = 0
    extra: tuple[str, ...] = ()
    qmp: str = ""
    port: int = 18080
    port_given: bool = False
    timeout: float = 3600

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Settings:
        """Raises BadSetting, naming the variable and what it may hold."""

        def text(name: str, default: str, pattern: str, hint: str) -> str:
            value = env.get(f"BENCHSTICK_VM_{name}", "") or default
            if not re.fullmatch(pattern, value):
                raise BadSetting(f"BENCHSTICK_VM_{name}={value}: expected {hint}")
            return value

        usual_cpus = str(min(2, len(os.sched_getaffinity(0))))
        number = r"\d+(\.\d+)?"
        size = r"[1-9]\d*[MG]"
        delay = int(text("DELAY_MS", "0", r"\d+", "a whole number of milliseconds"))
        backend = text(
            "BACKEND", "nbdkit" if delay else "file", "file|null|nbdkit", "file, null or nbdkit"
        )
        if delay and backend == "file":
            raise BadSetting("BENCHSTICK_VM_DELAY_MS needs BENCHSTICK_VM_BACKEND=null or nbdkit")
        try:
            extra = tuple(shlex.split(env.get("BENCHSTICK_VM_QEMU", "")))
        except ValueError as error:
            raise BadSetting(f"BENCHSTICK_VM_QEMU: {error}") from None
        return cls(
            accel=text("ACCEL", "", "|tcg|kvm", "tcg or kvm"),
            memory=text("MEMORY", "4G", size, "a size such as 4G or 3072M"),
            cpus=int(text("CPUS", usual_cpus, r"[1-9]\d?", "a number of processors")),
            size=text("SIZE", "1G", size, "a size such as 1G or 512M"),
            backend=backend,
            delay_ms=delay,
            extra=extra,
            qmp=env.get("BENCHSTICK_VM_QMP", ""),
            port=int(text("PORT", "18080", r"\d{1,5}", "a port number, or 0 for none")),
            port_given=bool(env.get("BENCHSTICK_VM_PORT")),
            timeout=float(text("TIMEOUT", "3600", number, "a number of seconds")),
        )


@dataclass
class Storage:
    """What is behind the drives: QEMU arguments, and the nbdkit processes that serve them."""

    folder: Path
    settings: Settings
    templates: Path | None  # the folder with the PC's own disks, made; None: blank disks
    arguments: list[str] = field(default_factory=list)
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add(self, name: str, *, own: bool) -> None:
        """Makes the block node `name`: for the PC's own disks a file, else as the settings say.

        Test drives have a throttle filter on top (without limits at first), so that a test can set
        one through QMP even on usb-storage: qom-set /objects/throttle-NAME limits.
        """
        if own:
            if self.templates:
                image = [str(self.templates / f"{name}.img"), str(self.folder / f"{name}.img")]
                subprocess.run(["cp", "--sparse=always", *image], check=True)
            self._file(name, PC_DRIVE_SIZE)
            return
        below = f"{name}-store"
        {"file": self._file, "null": self._null, "nbdkit": self._nbdkit}[self.settings.backend](
            below, self.settings.size
        )
        self.arguments += [
            "-object",
            f"throttle-group,id=throttle-{name}",
            "-blockdev",
            f"throttle,node-name={name},throttle-group=throttle-{name},file={below},discard=unmap",
        ]

    def close(self) -> None:
        for server in self.servers:
            server.terminate()
        for server in self.servers:
            server.wait()

    def _file(self, node: str, size: str) -> None:
        path = self.folder / f"{node}.img"
        with path.open("ab") as image:
            image.truncate(_bytes(size))
        # The image does not outlive the VM: flushes need not reach the host's drive.
        self.arguments += [
            "-blockdev",
            f"file,node-name={node},filename={_quoted(path)},discard=unmap,cache.no-flush=on",
        ]

    def _null(self, node: str, size: str) -> None:
        latency = self.settings.delay_ms * 1_000_000
        self.arguments += [
            "-blockdev",
            f"null-co,node-name={node},size={_bytes(size)},read-zeroes=on,latency-ns={latency}",
        ]

    def _nbdkit(self, node: str, size: str) -> None:
        path = self.folder / f"{node}.sock"
        command = ["nbdkit", "--foreground", "--exit-with-parent", "--threads=64"]
        command += [f"--unix={path}", "--filter=delay", "memory", f"size={size}"]
        if self.settings.delay_ms:
            delay = f"{self.settings.delay_ms}ms"
            command += [f"rdelay={delay}", f"wdelay={delay}"]
        self.servers.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
        _wait_for(path, self.servers[-1])
        self.arguments += [
            "-blockdev",
            f"nbd,node-name={node},server.type=unix,server.path={_quoted(path)},discard=unmap",
        ]


def _bytes(size: str) -> int:
    return int(size[:-1]) << {"M": 20, "G": 30}[size[-1]]


def _quoted(path: Path) -> str:
    """A path inside a QEMU option list, where a comma is written twice."""
    return str(path).replace(",", ",,")


def _wait_for(path: Path, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while not path.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise BadSetting("nbdkit did not start (is the package nbdkit installed?)")
        time.sleep(0.02)


def drive_arguments() -> list[str]:
    """The controllers and drives; block nodes are named as the drives' ids."""
    own = [
        ("ide-hd,bus=ahci.0,drive=sata,id=sata", TEST_DRIVES["sata"]),
        ("ide-hd,bus=ahci.1,drive=pcext4,id=pcext4", PC_DRIVES["pcext4"]),
        ("ide-hd,bus=ahci.2,drive=pcwin,id=pcwin", PC_DRIVES["pcwin"]),
        ("nvme,drive=nvme,id=nvme", TEST_DRIVES["nvme"]),
        ("scsi-hd,bus=uas.0,scsi-id=0,lun=0,drive=uas,id=uas-disk", TEST_DRIVES["uas"]),
        ("usb-storage,bus=xhci.0,drive=bot,id=bot", TEST_DRIVES["bot"]),
    ]
    arguments = ["-device", "ich9-ahci,id=ahci", "-device", "qemu-xhci,id=xhci"]
    # The bridge has the serial too: udev takes the bridge's, the kernel the drive's.
    arguments += ["-device", f"usb-uas,bus=xhci.0,id=uas,serial={TEST_DRIVES['uas']}"]
    for device, serial in own:
        arguments += ["-device", f"{device},serial={serial}"]
    return arguments


# QEMU translates code as the guest runs it, and finds it again by its address: with random
# addresses each process is translated again (a process starts in a quarter of the time without).
# It runs a string instruction a step at a time, so that the widest steps are the best, and looks
# through each level of the page tables.
EMULATED_COMMAND_LINE = " norandmaps clearcpuid=rep_good"
EMULATED_CPU = "max,erms=off,fsrm=off,la57=off"


# rdtsc; shl rdx, 32; or rax, rdx; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")


def tsc_khz() -> int | None:
    """The frequency of the host's time stamp counter in kHz, None where it is not constant.

    An emulated guest has the same counter, and measures it wrongly while the host is busy: it then
    reads the time from an emulated HPET, which takes several times as long, or waits too short.
    """
    if " constant_tsc " not in Path("/proc/cpuinfo").read_text() or os.uname().machine != "x86_64":
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:  # a host that lets nobody make code
        return None
    code.write(RDTSC)
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def read_both() -> tuple[int, int]:
        """Nanoseconds and ticks: of 20 pairs the one that took least, which nothing interrupted."""
        pairs = []
        for _ in range(20):
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            ticks = rdtsc()
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            pairs.append((after - before, (before + after) // 2, ticks))
        return min(pairs)[1:]

    start_ns, start = read_both()
    time.sleep(0.2)
    end_ns, end = read_both()
    return int((end - start) * 1_000_000 // (end_ns - start_ns))


def processor_arguments(accel: str) -> list[str]:
    """The machine and its processor, emulated (`tcg`) or the host's (`kvm`)."""
    cpu = "host" if accel == "kvm" else EMULATED_CPU
    return ["-machine", "q35", "-accel", accel, "-cpu", cpu]


def base_arguments(settings: Settings, accel: str, kernel: Path, initrd: Path) -> list[str]:
    """Processor, memory, kernel; without drives, network or the host's tree."""
    version = kernel.name.removeprefix("kernel-")
    command_line = "console=ttyS0 loglevel=5 panic=-1 mitigations=off random.trust_cpu=on"
    if accel != "kvm":
        command_line += EMULATED_COMMAND_LINE
        if frequency := tsc_khz():
            command_line += f" tsc=reliable tsc_early_khz={frequency}"
    return [
        "qemu-system-x86_64",
        *processor_arguments(accel),
        *("-smp", str(settings.cpus), "-m", settings.memory),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", str(kernel / "boot" / f"vmlinuz-{version}"), "-initrd", str(initrd)),
        *("-append", command_line),
    ]


def tree_arguments(clone: Path) -> list[str]:
    """The host's tree, read-only, and the clone, writable, over 9p."""
    return [
        "-fsdev",
        "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
        *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host"),
        "-fsdev",
        f"local,id=clone,path={_quoted(clone)},security_model=none,multidevs=remap",
        *("-device", "virtio-9p-pci,fsdev=clone,mount_tag=clone"),
    ]


def network_arguments(port: int) -> list[str]:
    """A network of the guest's own; the local `port` (unless 0) leads to its page, nothing else."""
    forward = f",hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:{GUEST_PAGE_PORT}" if port else ""
    return [
        *("-netdev", f"user,id=net,restrict=on{forward}"),
        *("-device", "virtio-net-pci,netdev=net,romfile="),
    ]


def channel_arguments(channels: Mapping[str, int]) -> list[str]:
    """One virtio-serial port for each name, on the socket with that descriptor."""
    arguments = ["-device", "virtio-serial-pci,max_ports=8"]
    for name, descriptor in channels.items():
        arguments += ["-chardev", f"socket,id={name},fd={descriptor}"]
        arguments += ["-device", f"virtserialport,chardev={name},name=benchstick.{name}"]
    return arguments


def terminal_arguments() -> list[str]:
    """QEMU's own terminal as the guest's /dev/hvc0."""
    return ["-chardev", "stdio,id=terminal,signal=off", "-device", "virtconsole,chardev=terminal"]


def cpu_model() -> str:
    """The host's processor as /proc/cpuinfo names it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return os.uname().machine
