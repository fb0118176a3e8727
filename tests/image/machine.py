"""An emulated PC with the built image as its USB stick, used from outside like a real one.

Plain emulation, the firmware of choice (`bios` is SeaBIOS, `uefi` is OVMF), the drives of `make vm`
(`scripts/vm_machine.py`), and a network of its own without a way out (`restrict=on`). The serial
line gives a shell, QMP pulls plugs.
"""

from __future__ import annotations

import codecs
import http.client
import json
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vm_machine

from tests.vm.conftest import Qmp

CLONE = Path(__file__).resolve().parents[2]
IMAGE = CLONE / "output/images/benchstick-x86_64.img"
FIRMWARES = ("bios", "uefi")
MAC = "52:54:00:be:0c:01"
# Where Debian's package ovmf has its files.
_OVMF = Path("/usr/share/OVMF")
# A boot under emulation takes a minute on a machine that has nothing else to do.
BOOT_S = 400.0


class MachineFailed(AssertionError):
    """The PC did not do what was waited for; the text ends with the serial line's last words."""


@dataclass(frozen=True)
class Answer:
    """What the page answered."""

    status: int
    body: bytes
    cookie: str | None

    def json(self) -> Any:
        return json.loads(self.body)


def free_port() -> int:
    """A local TCP port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def on_fat(stick: Path) -> str:
    """mtools' name for the first partition of a stick's image."""
    with stick.open("rb") as file:
        first = file.read(512)[446 + 8 : 446 + 12]
    return f"{stick}@@{int.from_bytes(first, 'little') * 512}"


def read_fat(stick: Path, name: str) -> bytes:
    """A file of the stick's first partition, read as any PC would."""
    command = ["mcopy", "-n", "-i", on_fat(stick), f"::{name}", "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def list_fat(stick: Path, folder: str) -> list[str]:
    """The names in a folder of the stick's first partition."""
    command = ["mdir", "-b", "-i", on_fat(stick), f"::{folder}"]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return [line.rsplit("/", 1)[1] for line in output.splitlines() if line.startswith("::")]


def system_of(stick: Path, folder: Path) -> tuple[Path, Path]:
    """The stick's kernel and initramfs, copied to `folder`."""
    for name in ("bzImage", "initramfs.cpio"):
        (folder / name).write_bytes(read_fat(stick, f"benchstick/{name}"))
    return folder / "bzImage", folder / "initramfs.cpio"


def write_fat(stick: Path, name: str, text: str) -> None:
    """Put a file on the stick's first partition."""
    command = ["mcopy", "-o", "-i", on_fat(stick), "-", f"::{name}"]
    subprocess.run(command, input=text.encode(), check=True)


# The prompt of the stick's shells, at the start of a line.
PROMPT = "\nbenchstick# "


class Line:
    """A terminal line: what came over it, and a shell that a person types in."""

    def __init__(self) -> None:
        self.output = ""
        # A character may be cut in two.
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def type(self, keys: str) -> None:
        """Press keys."""
        raise NotImplementedError

    def wait(self, pattern: str, seconds: float, since: int = 0) -> re.Match[str]:
        """Waits until the output from `since` on matches."""
        deadline = time.monotonic() + seconds
        while True:
            match = re.search(pattern, self.output[since:])
            if match:
                return match
            if time.monotonic() > deadline:
                raise MachineFailed(
                    f"no {pattern!r} on the line in {seconds:.0f} s; last output:\n"
                    f"{self.output[-3000:]}"
                )
            time.sleep(0.1)

    def enter(self, command: str, seconds: float = 120) -> tuple[int, str]:
        """Types a command as a person does and reads until the prompt: its exit code and output."""
        output = self._enter(command, seconds)
        return int(self._enter("echo $?", 30)), output

    def _enter(self, command: str, seconds: float) -> str:
        since = len(self.output)
        self.type(f"{command}\r")
        text = self.wait(rf"(?s)^(.*?){PROMPT}", seconds, since)[1]
        # Without the echo of the command. It comes twice when init starts a service on the same
        # console at that moment: init resets the line, and the kernel echoes as well as the shell.
        output = text.partition("\n")[2].removeprefix(f"{command}\n")
        # Without the colours and the rewritten lines of a meter.
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)


class Serial(Line):
    """The serial line, with a shell on it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.arrivals: list[tuple[float, str]] = []
        self._count = 0

    def connect(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + 20
        while True:
            try:
                self._socket.connect(str(self.path))
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        threading.Thread(target=self._read, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        while True:
            try:
                data = self._socket.recv(4096)
            except OSError:
                return
            if not data:
                return
            text = self._decode(data).replace("\r", "")
            self.output += text
            self.arrivals.append((time.monotonic(), text))

    def type(self, keys: str) -> None:
        self._socket.sendall(keys.encode())

    def shell(self, command: str, seconds: float = 120) -> tuple[int, str]:
        """Runs a command in the serial line's shell: its exit code and output."""
        self._count += 1
        begin, end = f"<<<{self._count}", f"{self._count}>>>"
        since = len(self.output)
        # The marks are put together by the shell, so that the echo of the line does not hold them.
        marks = f"echo '<<'\"<{self._count}\"", f'echo "{self._count}>>"">$?"'
        self._socket.sendall(f"{marks[0]}; {{ {command}; }}; {marks[1]}\n".encode())
        match = self.wait(rf"(?s){re.escape(begin)}\n(.*?){re.escape(end)}(\d+)\n", seconds, since)
        return int(match[2]), match[1]


class Login(Line):
    """A terminal on a program of this machine, as `ssh -tt`, with a shell at its other end."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__()
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while data := self._process.stdout.read(4096):
            self.output += self._decode(data).replace("\r", "")

    def type(self, keys: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(keys.encode())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Machine:
    """One PC. `stick` is its stick's image file, which lives on when the PC is switched off."""

    def __init__(self, folder: Path, stick: Path, firmware: str, **options: Any) -> None:
        self.folder, self.stick, self.firmware = folder, stick, firmware
        # "rw"; "ro": its write-protect switch is on; "": it is not plugged in.
        self.stick_mode = str(options.get("plugged", "rw"))
        self.memory = str(options.get("memory", "2G"))
        self.drives = bool(options.get("drives", True))
        self.extra: list[str] = list(options.get("extra", ()))
        self.network: list[str] | None = options.get("network")
        self.second_stick: Path | None = options.get("second_stick")
        self.port, self.ssh_port = free_port(), free_port()
        self.began = 0.0
        self.cookie: str | None = None
        self.csrf = ""

    def start(self) -> None:
        """Switch on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("serial.sock", "qmp.sock"):
            (self.folder / name).unlink(missing_ok=True)
        settings = vm_machine.Settings.from_environment({"BENCHSTICK_VM_SIZE": "512M"})
        storage = vm_machine.Storage(self.folder, settings, None)
        arguments = ["qemu-system-x86_64", *vm_machine.processor_arguments("tcg")]
        arguments += ["-smp", "2", "-m", self.memory, "-nodefaults", "-no-user-config"]
        arguments += ["-display", "none", "-vga", "std", *self._firmware()]
        if self.drives:
            names = (*vm_machine.TEST_DRIVES, *vm_machine.PC_DRIVES)
            for name in names:
                storage.add(name, own=name in vm_machine.PC_DRIVES)
            arguments += [*self._drives(), *storage.arguments]
        else:
            arguments += ["-device", "qemu-xhci,id=xhci"]
        arguments += self._stick()
        arguments += self._network() if self.network is None else self.network
        arguments += ["-qmp", f"unix:{self.folder / 'qmp.sock'},server=on,wait=off"]
        arguments += ["-serial", f"unix:{self.folder / 'serial.sock'},server=on,wait=on"]
        arguments += self.extra
        self.serial = Serial(self.folder / "serial.sock")
        with (self.folder / "qemu.log").open("wb") as log:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.began = time.monotonic()
        try:
            self.serial.connect()
        except OSError:
            self.kill()
            qemu_log = (self.folder / "qemu.log").read_text(errors="replace")
            raise MachineFailed(f"QEMU did not start: {qemu_log}") from None

    def _firmware(self) -> list[str]:
        if self.firmware == "bios":
            return []
        variables = self.folder / "OVMF_VARS.fd"
        shutil.copyfile(_OVMF / "OVMF_VARS_4M.fd", variables)
        code = "if=pflash,format=raw,unit=0,readonly=on,file=" + str(_OVMF / "OVMF_CODE_4M.fd")
        return ["-drive", code, "-drive", f"if=pflash,format=raw,unit=1,file={variables}"]

    def _drives(self) -> list[str]:
        """The drives of `make vm`. OVMF of Debian 12 dies (#UD) when GRUB starts the kernel while a
        second usb-storage drive is there in addition to the stick: that one is plugged in later."""
        arguments = vm_machine.drive_arguments()
        if self.firmware == "bios":
            return arguments
        at = next(n for n, word in enumerate(arguments) if word.startswith("usb-storage,"))
        return [*arguments[: at - 1], *arguments[at + 1 :]]

    def plug_in_later(self) -> None:
        """Plug in what the firmware could not stand, and wait until the bench has seen it."""
        if self.firmware == "bios" or not self.drives:
            return
        bot = vm_machine.TEST_DRIVES["bot"]
        qmp = self.qmp()
        qmp.execute(
            "device_add", driver="usb-storage", bus="xhci.0", drive="bot", id="bot", serial=bot
        )
        qmp.close()
        self.wait_drives({bot})

    def wait_drives(self, codes: Collection[str] = ()) -> None:
        """Wait until the bench has seen the stick and all drives, or those with `codes`."""
        expected = set(codes)
        if not expected:
            expected = {"BSSTICK01"} if self.stick_mode else set()
            if self.drives:
                expected |= {*vm_machine.TEST_DRIVES.values(), *vm_machine.PC_DRIVES.values()}
                if self.firmware != "bios":
                    expected.remove(vm_machine.TEST_DRIVES["bot"])
        deadline = time.monotonic() + 120
        while True:
            missing = expected - {drive["code"] for drive in self.get("/api/v1/drives")["drives"]}
            if not missing:
                return
            if time.monotonic() > deadline:
                raise MachineFailed(f"the bench has not seen {', '.join(sorted(missing))}")
            time.sleep(1)

    def _stick(self) -> list[str]:
        if not self.stick_mode:
            return []
        write_protection = "on" if self.stick_mode == "ro" else "off"
        file = f"file,node-name=stick,filename={self.stick},read-only={write_protection}"
        # A kernel that QEMU loads itself has the first place.
        first = "" if "-kernel" in self.extra else ",bootindex=0"
        stick = f"usb-storage,bus=xhci.0,drive=stick,id=stick,serial=BSSTICK01{first}"
        arguments = ["-blockdev", file, "-device", f"{stick},removable=on"]
        if self.second_stick is not None:
            file = f"file,node-name=second,filename={self.second_stick}"
            stick = "usb-storage,bus=xhci.0,drive=second,id=second,serial=BSSTICK02"
            arguments += ["-blockdev", file, "-device", f"{stick},removable=on"]
        return arguments

    def _network(self) -> list[str]:
        page = f"hostfwd=tcp:127.0.0.1:{self.port}-10.0.2.15:80"
        ssh = f"hostfwd=tcp:127.0.0.1:{self.ssh_port}-10.0.2.15:22"
        return [
            *("-netdev", f"user,id=net,restrict=on,{page},{ssh}"),
            *("-device", f"e1000e,netdev=net,romfile=,mac={MAC}"),
            *("-object", f"filter-dump,id=dump,netdev=net,file={self.traffic}"),
        ]

    @property
    def traffic(self) -> Path:
        """All that went over the network so far, in tcpdump's format."""
        return self.folder / "traffic.pcap"

    @staticmethod
    def by_kernel(kernel: Path, initramfs: Path, words: str) -> list[str]:
        """`extra` for a PC that gets its kernel without a boot loader, as from a network."""
        command_line = f"console=ttyS0,115200 panic=30 {words}".strip()
        return ["-kernel", str(kernel), "-initrd", str(initramfs), "-append", command_line]

    def ssh(self, key: Path, *more: str) -> list[str]:
        """The command that logs in by SSH; `more` are options of ssh and the command there."""
        options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes")
        argv = ["ssh", "-F", "none", "-i", str(key), "-o", "IdentitiesOnly=yes"]
        argv += [word for option in options for word in ("-o", option)]
        flags = [word for word in more if word.startswith("-")]
        words = [word for word in more if not word.startswith("-")]
        return [*argv, "-p", str(self.ssh_port), *flags, "root@127.0.0.1", *words]

    def qmp(self) -> Qmp:
        return Qmp(self.folder / "qmp.sock")

    def kill(self) -> None:
        """The power is cut."""
        self.process.kill()
        self.process.wait()
        self.serial.close()

    def shell(self, command: str, seconds: float = 120) -> str:
        """The output of a command that must succeed."""
        code, out = self.serial.shell(command, seconds)
        if code != 0:
            raise MachineFailed(f"{command!r} ended with {code}: {out}")
        return out

    # ---- the page

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """One request to the page, from outside."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.cookie:
            headers |= {"Cookie": self.cookie, "X-CSRF-Token": self.csrf}
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            cookie = answer.getheader("Set-Cookie")
            return Answer(answer.status, answer.read(), cookie)
        finally:
            connection.close()

    def wait_page(self, seconds: float = BOOT_S) -> float:
        """Waits until the page answers; seconds since the power was switched on."""
        deadline = self.began + seconds
        problem: object = None
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                qemu_log = (self.folder / "qemu.log").read_text(errors="replace")
                raise MachineFailed(f"QEMU ended: {qemu_log}")
            try:
                if self.ask("GET", "/login").status == 200:
                    return time.monotonic() - self.began
            except (OSError, http.client.HTTPException) as error:
                problem = error
            time.sleep(0.5)
        raise MachineFailed(
            f"the page did not answer in {seconds:.0f} s ({problem}); "
            "last output of the serial line:\n"
            f"{self.serial.output[-3000:]}"
        )

    def pin(self) -> str:
        """The PIN, as whoever is at the machine reads it."""
        out = self.shell("grep -h 'PIN' /run/log/messages | tail -n 1")
        match = re.search(r"PIN (\d{3}) ?(\d{3})", out)
        if match is None:
            raise MachineFailed(f"no PIN in the log: {out}")
        return match[1] + match[2]

    def sign_in(self) -> None:
        answer = self.ask("POST", "/api/v1/login", {"pin": self.pin()})
        assert answer.status == 200, answer
        assert answer.cookie is not None
        self.cookie = answer.cookie.split(";")[0]
        self.csrf = self.get("/api/v1/login")["csrf"]

    def wait_ready(self) -> None:
        """Wait for the page, sign in, and wait until the drives have been looked at."""
        self.wait_page()
        self.sign_in()
        self.wait_drives()

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, (path, answer)
        return answer.json()

    def start_run(self, **wish: Any) -> int:
        """Ask for a run and wait until the agent has taken it: the run's number."""
        answer = self.ask("POST", "/api/v1/runs", wish)
        assert answer.status == 202, answer
        href = answer.json()["href"]
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            request = self.get(href)
            assert request["state"] != "refused", request
            if request["run"] is not None:
                return int(request["run"])
            time.sleep(1)
        raise MachineFailed(f"the agent did not take the run: {request}")

    def wait_run(self, number: int, seconds: float) -> dict[str, Any]:
        """The run, once it is over."""
        deadline = time.monotonic() + seconds
        while True:
            run: dict[str, Any] = self.get(f"/api/v1/runs/{number}")
            if run["state"] not in ("queued", "running", "preparing"):
                return run
            if time.monotonic() > deadline:
                raise MachineFailed(f"run {number} is still {run['state']}")
            time.sleep(2)
