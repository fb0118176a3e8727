"""The settings file: every setting has a default, a check and a line in docs/settings.md."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.plan.errors import BadInput

# Far more than anybody types; a damaged filesystem may claim any size.
_MOST_BYTES = 256 << 10
# Letters, digits, dots and hyphens, as a Host header carries them.
_KEY_TYPES = (
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
)  # fmt: skip
_LANGUAGE = re.compile(r"browser|[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class SettingsError(BadInput):
    """An error in the settings file. `said` is the message without the place, `line` its line."""

    def __init__(
        self, where: str, line: int | None, said: str, *, field: str | None = None
    ) -> None:
        place = where if line is None else f"{where}:{line}"
        super().__init__(f"{place}: {said}", field=field)
        self.line = line
        self.said = said


@dataclass(frozen=True)
class Setting:
    """One setting. `check` returns the value to use, or raises ValueError saying what is wanted.

    `on_stick` is its default on the booted stick, None where that is the same.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]
    help: str
    on_stick: Any = None


@dataclass(frozen=True)
class Settings:
    """The settings in force.

    `hosts` are further names under which the page may be asked for (lower case); `listen` is the
    address and `port` the TCP port of the page; `pin` tells whether the page asks for a PIN when
    it listens on more than loopback; `output_mib` bounds the tools' raw output kept of all runs;
    `clock` is what the PC's own clock keeps, utc or local time; `ssh_keys` are public keys, as in
    an authorized_keys file, that may log in to the booted stick; `ntp` are the time servers that
    it asks, empty for those that the network names; `language` is the page's, as `de`, or `browser`
    for the one that each browser asks for.
    """

    hosts: tuple[str, ...]
    listen: str
    port: int
    pin: bool
    output_mib: int
    clock: str
    ssh_keys: tuple[str, ...]
    ntp: tuple[str, ...]
    language: str


def check_hosts(value: Any) -> tuple[str, ...]:
    """A list of host names, in lower case."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError('a list of host names is wanted, as ["bench.example"]')
    names = tuple(item.lower().rstrip(".") for item in value)
    for given, name in zip(value, names, strict=True):
        if not _HOST_NAME.fullmatch(name):
            raise ValueError(f"{given!r} is not a host name (no port, no address with brackets)")
    return names


def check_listen(value: Any) -> str:
    """An IP address, or `localhost`."""
    if not isinstance(value, str):
        raise ValueError('an address is wanted, as "127.0.0.1" or "0.0.0.0"')
    if value == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise ValueError(f"{value!r} is not an IP address, as 127.0.0.1 or 0.0.0.0") from None


def check_port(value: Any) -> int:
    """A TCP port."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65535:
        raise ValueError(f"{value!r} is not a whole number from 1 to 65535")
    return value


def check_output(value: Any) -> int:
    """A size in MiB that holds a step at least."""
    if isinstance(value, bool) or not isinstance(value, int) or not 64 <= value <= 1 << 30:
        raise ValueError(f"{value!r} is not a whole number of MiB from 64")
    return value


def check_flag(value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false")
    return value


def check_clock(value: Any) -> str:
    """What the PC's own clock keeps."""
    if value not in ("utc", "local"):
        raise ValueError(f'{value!r} is not "utc" or "local"')
    return str(value)


def check_ssh_keys(value: Any) -> tuple[str, ...]:
    """Public keys, each as a line of an authorized_keys file without options."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError('a list of public keys is wanted, as ["ssh-ed25519 AAAA... name"]')
    for number, item in enumerate(value, start=1):
        words = item.split()
        if not item.isprintable() or len(words) < 2 or words[0] not in _KEY_TYPES:
            raise ValueError(
                f"key {number} is not a public key: wanted is one line that begins with one of "
                f"{', '.join(_KEY_TYPES)}"
            )
        try:
            blob = base64.b64decode(words[1], validate=True)
        except binascii.Error:
            blob = b""
        # RFC 4253, 6.6: the key begins with its type, after that text's length.
        name = words[0].encode()
        if blob[: 4 + len(name)] != len(name).to_bytes(4, "big") + name:
            raise ValueError(f"key {number} is cut or damaged: copy the whole .pub file's line")
    return tuple(value)


def check_language(value: Any) -> str:
    """A language's tag, or `browser`."""
    if not isinstance(value, str) or not _LANGUAGE.fullmatch(value):
        raise ValueError(f'{value!r} is not "browser" or a language, as "en" or "pt-BR"')
    return value


SETTINGS = (
    Setting("hosts", [], check_hosts, "further names under which the page may be asked for"),
    Setting("listen", "127.0.0.1", check_listen, "the address that the page listens on", "::"),
    Setting("port", 8080, check_port, "the TCP port of the page", 80),
    Setting("pin", True, check_flag, "ask for a PIN when listening on more than loopback"),
    Setting("output_mib", 4096, check_output, "MiB of the tools' raw output kept of all runs"),
    Setting("clock", "utc", check_clock, "what the PC's own clock keeps; on the booted stick"),
    Setting("ssh_keys", [], check_ssh_keys, "public keys that may log in to the booted stick"),
    Setting("ntp", [], check_hosts, "time servers of the booted stick; none: those of the network"),
    Setting("language", "browser", check_language, "the page's language, where it is there"),
)


def load(path: Path, *, on_stick: bool = False) -> Settings:
    """The settings in `path`, defaults where it says nothing or is not there.

    SettingsError naming the line and the setting that is wrong. `on_stick` takes the defaults of
    the booted stick.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        # Windows' editor puts a byte order mark before UTF-8.
        text = raw.decode("utf-8-sig")
    except FileNotFoundError:
        return read("", str(path), on_stick=on_stick)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SettingsError(str(path), None, f"{reason}; mend it or move it away") from None
    if len(raw) > _MOST_BYTES:
        raise SettingsError(str(path), None, f"larger than {_MOST_BYTES >> 10} KiB; mend it")
    return read(text, str(path), on_stick=on_stick)


def read(text: str, where: str, *, on_stick: bool = False) -> Settings:
    """The settings in TOML `text`; `where` names the file in errors."""
    try:
        # At the very end of a text tomllib tells no line.
        given = tomllib.loads(f"{text}\n")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = int(at[1]) if at else None
        said = str(error)[: at.start()] if at else str(error)
        raise SettingsError(where, line, f"not TOML: {said}") from None
    known = {setting.name: setting for setting in SETTINGS}
    for name in given:
        if name not in known:
            said = f"{name}: no such setting; there are {', '.join(known)}"
            raise SettingsError(where, _line(text, name), said, field=name)
    return Settings(
        **{name: _value(text, where, known[name], given, on_stick) for name in known}
    )


def to_toml(settings: Settings) -> str:
    """The settings as a file that `load` reads back to the same."""
    lines = []
    for setting in SETTINGS:
        value = getattr(settings, setting.name)
        # TOML's strings, numbers, lists and booleans of this kind are JSON's.
        plain = list(value) if isinstance(value, tuple) else value
        lines.append(f"{setting.name} = {json.dumps(plain)}\n")
    return "".join(lines)


def _value(
    text: str, where: str, setting: Setting, given: Mapping[str, Any], on_stick: bool
) -> Any:
    default = setting.default
    if on_stick and setting.on_stick is not None:
        default = setting.on_stick
    try:
        return setting.check(given.get(setting.name, default))
    except ValueError as error:
        said = f"{setting.name}: {error}"
        line = _line(text, setting.name)
        raise SettingsError(where, line, said, field=setting.name) from None


def _line(text: str, name: str) -> int:
    """The line on which `name` is set; tomllib does not tell."""
    pattern = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[\].=]""")
    for number, line in enumerate(text.splitlines(), start=1):
        if pattern.match(line):
            return number
    return 1
