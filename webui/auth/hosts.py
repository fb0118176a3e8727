"""Is the Host header one of ours? Keeps a foreign name (DNS rebinding) from reaching the page."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from pathlib import Path

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>\d{1,5}))?")
# mDNS counts up when the name is taken on the network.
_OWN_NAME = re.compile(r"localhost|benchstick(-\d{1,3})?\.local")


def local_addresses(proc: Path = Path("/proc/net")) -> set[Address]:
    """The addresses of this machine that the kernel lists, empty where it lists none."""
    addresses: set[Address] = set()
    address = None
    for line in _lines(proc / "fib_trie"):
        text = line.strip()
        if text.startswith("|-- "):
            address = text[4:]
        elif text == "/32 host LOCAL" and address is not None:
            addresses.add(ipaddress.ip_address(address))
    for line in _lines(proc / "if_inet6"):
        addresses.add(ipaddress.IPv6Address(int(line.split()[0], 16)))
    return addresses


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []


def host_name(header: str) -> str | None:
    """The name in a Host header without its port, in lower case; None when it is malformed."""
    match = _HOST.fullmatch(header)
    if match is None:
        return None
    port = match["port"]
    if port is not None and not 1 <= int(port) <= 65535:
        return None
    return match["name"].lower().removesuffix(".")


def is_ours(header: str, extra: Collection[str] = ()) -> bool:
    """True for an address of this machine, `localhost`, our mDNS name, or one of `extra`."""
    name = host_name(header)
    if name is None:
        return False
    if _OWN_NAME.fullmatch(name) or name in extra:
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    if (address.version == 6) != name.startswith("["):
        return False
    return address.is_loopback or address in local_addresses()
