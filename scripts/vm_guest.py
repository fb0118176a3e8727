"""Inside the VM: runs the command, and carries its output to the host byte for byte.

Started by scripts/vm.d/stage2 with the clone's path. stdout and stderr travel through two
virtio-serial ports; a third carries one JSON line at the end: the exit code and how many bytes were
sent on each, so that the host knows when it has them all. With no command there is a shell on the
virtio console instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

CONFIG = Path("/run/benchstick-vm")
PORTS = Path("/dev/virtio-ports")
# After the command has ended its background processes may hold its output open; what they still say
# within this time is passed on.
LINGER_S = 0.5
PAGE_PORT = 8080
RELAY_PORT = 18080
GUEST_ADDRESS = "10.0.2.15"


class Relay(threading.Thread):
    """Carries what is written to `write_end` to a virtio-serial port, and counts the bytes."""

    def __init__(self, port: str) -> None:
        super().__init__(daemon=True)
        self.read_end, self.write_end = os.pipe()
        self.port = os.open(PORTS / port, os.O_WRONLY)
        self.byte_count = 0
        self.busy = threading.Lock()

    def run(self) -> None:
        while data := os.read(self.read_end, 65536):
            with self.busy:
                while data:
                    count = os.write(self.port, data)
                    self.byte_count += count
                    data = data[count:]

    def finish(self) -> int:
        """Waits for the end of the output (or LINGER_S of it) and gives the bytes sent."""
        os.close(self.write_end)
        self.join(LINGER_S)
        # Still open, held by a background process: stop at a moment when nothing is half sent.
        if self.is_alive():
            self.busy.acquire()
        return self.byte_count


def environment(clone: Path) -> dict[str, str]:
    """The command's environment: the bench's own, and what the host passed on."""
    variables: dict[str, str] = json.loads((CONFIG / "environment").read_text())
    tools = f"{clone}/.cache/fio/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    own = {
        "PATH": f"{clone}/.venv/bin:{tools}",
        "BENCHSTICK_TOOL_PATH": tools,
        "HOME": "/root",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "BENCHSTICK_HOME": "/run/benchstick-home",
        "BENCHSTICK_IN_GUEST": "1",
    }
    return variables | own


def run_command(command: str, clone: Path) -> tuple[int, int, int]:
    """Runs `command` and gives its exit code and the bytes sent on stdout and stderr."""
    out, err = Relay("benchstick.out"), Relay("benchstick.err")
    out.start()
    err.start()
    process = subprocess.Popen(
        ["/bin/bash", "-c", command],
        cwd=clone,
        env=environment(clone),
        stdin=subprocess.DEVNULL,
        stdout=out.write_end,
        stderr=err.write_end,
        start_new_session=True,
    )
    code = process.wait()
    return (code if code >= 0 else 128 - code), out.finish(), err.finish()


def run_shell(clone: Path) -> int:
    """A login shell on the virtio console; gives its exit code."""
    rows, columns = json.loads((CONFIG / "terminal").read_text())
    with Path("/dev/hvc0").open("r+b", buffering=0) as console:
        subprocess.run(["stty", "sane", "rows", str(rows), "cols", str(columns)], stdin=console)
        code = subprocess.run(
            ["setsid", "--ctty", "--wait", "/bin/bash", "-i"],
            cwd=clone,
            env=environment(clone),
            stdin=console,
            stdout=console,
            stderr=console,
        ).returncode
    return code if code >= 0 else 128 - code


def forward_page() -> None:
    """Joins the port that the host forwards to the bench's page, on whichever address that is."""
    try:
        server = socket.create_server((GUEST_ADDRESS, RELAY_PORT))
    except OSError as error:
        print(f"benchstick-vm: the page is not forwarded: {error}", flush=True)
        return
    while True:
        client, _ = server.accept()
        threading.Thread(target=_join_page, args=(client,), daemon=True).start()


def _join_page(client: socket.socket) -> None:
    for address in (GUEST_ADDRESS, "127.0.0.1"):
        with contextlib.suppress(OSError):
            page = socket.create_connection((address, PAGE_PORT), timeout=5)
            page.settimeout(None)
            threading.Thread(target=_pump, args=(client, page), daemon=True).start()
            _pump(page, client)
            return
    client.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def wait_for_ports() -> BinaryIO:
    """The control port, once udev has named it."""
    deadline = time.monotonic() + 10
    while not (PORTS / "benchstick.control").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return (PORTS / "benchstick.control").open("wb", buffering=0)


def main() -> int:
    clone = Path(sys.argv[1])
    control = wait_for_ports()
    threading.Thread(target=forward_page, daemon=True).start()
    control.write(b'{"up": true}\n')
    out = err = 0
    if (CONFIG / "command").exists():
        command = os.fsdecode((CONFIG / "command").read_bytes())
        code, out, err = run_command(command, clone)
    else:
        code = run_shell(clone)
    os.sync()  # what was written to the clone is on the host before the host ends QEMU
    control.write(json.dumps({"exit": code, "out": out, "err": err}).encode() + b"\n")
    time.sleep(5)  # the host ends QEMU as soon as it has everything
    return 0


if __name__ == "__main__":
    sys.exit(main())
