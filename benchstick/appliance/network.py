"""The wired ports of this machine and their addresses, from the kernel. Sends nothing."""

from __future__ import annotations

import array
import fcntl
import ipaddress
import re
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

# linux/sockios.h; struct ifreq has 40 bytes on 64-bit machines.
_SIOCGIFCONF = 0x8912
_IFREQ = 40
_MOST = 64
_ETHERNET = "1"
_AVAHI = Path("/run/avahi-daemon/socket")
_AVAHI_SECONDS = 0.5
# "+", interface, protocol, name. Only names under which the page answers.
_ANSWER = re.compile(r"\+ -?\d+ \d+ (benchstick(?:-\d+)?\.local)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Port:
    """A wired port: `cable` None when it is switched off; its IPv4 addresses, best first."""

    name: str
    cable: bool | None
    addresses: tuple[str, ...] = ()


def addresses() -> list[tuple[str, str]]:
    """(interface, IPv4 address) of all that are up; aliases such as `eth0:1` count as theirs."""
    room = array.array("B", bytes(_IFREQ * _MOST))
    request = struct.pack("iL", len(room), room.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        size = struct.unpack("iL", fcntl.ioctl(link.fileno(), _SIOCGIFCONF, request))[0]
    pairs = []
    for at in range(0, size, _IFREQ):
        row = room[at : at + _IFREQ].tobytes()
        name = row[:16].split(b"\0")[0].decode("ascii", "replace").split(":")[0]
        pairs.append((name, socket.inet_ntoa(row[20:24])))
    return pairs


def ports(
    sys: Path = Path("/sys"), ask: Callable[[], Iterable[tuple[str, str]]] = addresses
) -> list[Port]:
    """The wired ports in the order of their names, virtual and wireless ones left out."""
    have: dict[str, list[str]] = {}
    for name, address in ask():
        have.setdefault(name, []).append(address)
    result = []
    for folder in sorted((sys / "class/net").glob("*")):
        is_wired = _text(folder / "type") == _ETHERNET and (folder / "device").exists()
        if not is_wired or (folder / "wireless").exists() or (folder / "phy80211").exists():
            continue
        # The kernel does not report it while the port is switched off.
        carrier = _text(folder / "carrier")
        cable = None if carrier is None else carrier == "1"
        mine = sorted(have.get(folder.name, []), key=is_link_local)
        result.append(Port(folder.name, cable, tuple(mine)))
    return result


def mdns_name(address: str, daemon: Path = _AVAHI) -> str | None:
    """The mDNS name of `address`, one of ours; None when avahi does not answer.

    avahi adds a number (`benchstick-2.local`) when the name is in use. Uses avahi's own protocol.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(_AVAHI_SECONDS)
            link.connect(str(daemon))
            link.sendall(f"RESOLVE-ADDRESS {address}\n".encode("ascii"))
            answer = link.recv(1024).decode("ascii", "replace")
    except OSError:
        return None
    match = _ANSWER.match(answer)
    return match[1].lower() if match else None


def is_link_local(address: str) -> bool:
    """An address that the port gave itself, as on a direct cable."""
    return ipaddress.ip_address(address).is_link_local


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
