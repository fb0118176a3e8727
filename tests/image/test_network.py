"""What the booted stick says on the network: two on one cable, one without a way out, SSH."""

from __future__ import annotations

import ipaddress
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.image.conftest import copy_of_image
from tests.image.machine import MAC, Machine, MachineFailed, free_port, write_fat

# Avahi's own simple protocol: what it knows of a name.
ASK = (
    "import socket;s=socket.socket(socket.AF_UNIX);s.settimeout(8);"
    's.connect("/run/avahi-daemon/socket");s.sendall(b"RESOLVE-HOSTNAME-IPV4 {}\\n");'
    "print(s.recv(500).decode())"
)


def wired(port: int, number: int) -> list[str]:
    """A cable between two PCs: the first listens on a local port, the second calls it."""
    end = f"listen=127.0.0.1:{port}" if number == 0 else f"connect=127.0.0.1:{port}"
    mac = f"52:54:00:be:0c:0{number + 1}"
    return [
        *("-netdev", f"socket,id=net,{end}"),
        *("-device", f"e1000e,netdev=net,romfile=,mac={mac}"),
    ]


def until(machine: Machine, command: str, pattern: str, seconds: float = 240) -> str:
    """What the command says, once that matches: its first group."""
    deadline = time.monotonic() + seconds
    while True:
        _, out = machine.serial.shell(command)
        match = re.search(pattern, out)
        if match:
            return match[1]
        if time.monotonic() > deadline:
            raise MachineFailed(f"{command}: no {pattern!r} in {out!r}")
        time.sleep(3)


def test_direct_cable(make_machine: Callable[..., Machine]) -> None:
    port = free_port()
    pcs = [
        make_machine("bios", drives=False, memory="1G", network=wired(port, number))
        for number in (0, 1)
    ]
    for pc in pcs:
        pc.serial.wait("a shell as root", 400)
    link_local = r"inet (169\.254\.\d+\.\d+)/16"
    addresses = [until(pc, "ip -4 addr show", link_local) for pc in pcs]
    assert addresses[0] != addresses[1]
    # Both want the name; avahi gives one of them the next.
    for name in ("benchstick.local", "benchstick-2.local"):
        command = f"python3 -c '{ASK.format(name)}'"
        address = until(pcs[0], command, r"^\+ \d+ \d \S+ (\S+)")
        assert address in addresses
        page = until(pcs[1], f"wget -qO- http://{address}/login | head -c 4000", r"(<html|PIN)")
        assert page


def frames(pcap: Path) -> list[bytes]:
    """The frames in a file of tcpdump's classic format, as QEMU writes it."""
    data, packets, at = pcap.read_bytes(), [], 24
    while at + 16 <= len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "little")
        packets.append(data[at + 16 : at + 16 + size])
        at += 16 + size
    return packets


def unexpected(frame: bytes) -> str | None:
    """What a frame of the PC asks of somebody else than its own network; None: nothing."""
    kind, packet = frame[12:14], frame[14:]
    if kind == b"\x08\x06":
        return None
    if kind == b"\x86\xdd":
        goal = ipaddress.IPv6Address(packet[24:40])
        local = goal.is_multicast or goal.is_link_local or goal.is_site_local
        return None if local else str(goal)
    if kind != b"\x08\x00":
        return f"protocol {kind.hex()}"
    target = ipaddress.IPv4Address(packet[16:20])
    after = packet[(packet[0] & 15) * 4 :]
    port = int.from_bytes(after[2:4], "big")
    # 17: UDP. A name is asked of others even where the question goes to the router.
    if packet[9] == 17 and port == 53:
        return f"{target}, UDP port {port}"
    local = target.is_multicast or target in ipaddress.ip_network("10.0.2.0/24")
    return None if local or str(target) == "255.255.255.255" else str(target)


def test_nothing_is_asked_of_other_networks(booted_machine: Machine) -> None:
    own = [
        frame
        for frame in frames(booted_machine.traffic)
        if frame[6:12] == bytes.fromhex(MAC.replace(":", ""))
    ]
    # It talks: its DHCP and its answers are in there.
    assert len(own) > 20
    queries = {query for frame in own if (query := unexpected(frame)) is not None}
    assert queries == set()


def ssh(machine: Machine, key: Path, command: str) -> subprocess.CompletedProcess[str]:
    argv = machine.ssh(key, command)
    return subprocess.run(argv, capture_output=True, text=True, timeout=120)


def test_nobody_logs_in_without_a_key_in_the_settings(booted_machine: Machine) -> None:
    listening = booted_machine.shell("cat /proc/net/tcp /proc/net/tcp6")
    # 0A: listening. The page's port is 80, hexadecimal 0050; avahi's are UDP.
    ports = {
        words[1].rsplit(":", 1)[1]
        for words in (line.split() for line in listening.splitlines())
        if len(words) > 3 and words[3] == "0A"
    }
    assert ports == {"0050"}


def test_a_key_in_the_settings_logs_in(
    make_machine: Callable[..., Machine], tmp_path: Path
) -> None:
    for name in ("own", "foreign"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(argv, check=True)
    (tmp_path / "stick").mkdir()
    stick = copy_of_image(tmp_path / "stick")
    public = (tmp_path / "own.pub").read_text().strip()
    write_fat(stick, "benchstick.toml", f'ssh_keys = ["{public}"]\n')
    pc = make_machine("bios", stick=stick, drives=False)
    pc.wait_page()
    pc.serial.wait("a shell as root", 60)
    until(pc, "cat /run/benchstick/ssh/fingerprint", "(SHA256:.+)", 60)
    result = ssh(pc, tmp_path / "own", "id -u; benchstick drives --json")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("0\n{")
    refusal = ssh(pc, tmp_path / "foreign", "id -u")
    assert refusal.returncode == 255
    assert "Permission denied (publickey)" in refusal.stderr
    # The screen's words, as its program draws them.
    assert "root, by key; the stick's is SHA256:" in pc.shell("benchstick console --once")
