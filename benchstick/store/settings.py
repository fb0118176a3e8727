"""The settings file: every setting has a default, a check and a line in docs/settings.md."""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
import json
import re
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan import labels, toml_positions
from benchstick.plan.toml_positions import NotToml, TomlLines

# Far more than anybody types; a damaged filesystem may claim any size.
_MOST_BYTES = 256 << 10
# Letters, digits, dots and hyphens, as a Host header carries them.
_KEY_TYPES = (
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
)  # fmt: skip
_PORT = re.compile(r"[0-9A-Za-z][0-9A-Za-z:.-]{0,59}")
# Those that engine.keyboard decodes.
SCANNER_LAYOUTS = ("us", "uk", "de", "fr")
# Serial lines, and nothing whose opening does more: of /dev/watchdog it starts it.
_SERIAL = re.compile(
    r"/dev/(tty[A-Za-z]+[0-9]+|hvc[0-9]+|pts/[0-9]+|serial/by-(id|path)/[A-Za-z0-9._:+-]+)",
    re.ASCII,
)
# A log of events where tests start automatically in slots, none elsewhere.
AUTO = "auto"
# Between a recipe's name and the SHA-256 of its file.
PIN = "@sha256:"
# Settings of earlier versions: accepted in a file, without effect.
_REMOVED = frozenset({"language"})
_HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class SettingsError(BadInput):
    """An error in the settings file. `reason` is the message without the place, `line` its line."""

    def __init__(
        self, where: str, line: int | None, message: str, *, field: str | None = None
    ) -> None:
        place = where if line is None else f"{where}:{line}"
        super().__init__(f"{place}: {message}", field=field)
        self.line = line
        self.reason = message


@dataclass(frozen=True)
class Setting:
    """One setting. `check` returns the value to use, or raises ValueError with what is expected.

    `on_stick` is its default on the booted stick, None where that is the same.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]
    help: str
    on_stick: Any = None


@dataclass(frozen=True)
class Settings:
    """The settings in use.

    `hosts` are further names under which the page is reachable (lower case); `listen` is the
    address and `port` the TCP port of the page; `pin` is whether the page asks for a PIN when it
    listens on more than loopback; `output_mib` limits the stored raw output of all runs; `clock` is
    the time of the PC's own clock, utc or local; `ssh_keys` are public keys, as in
    an authorized_keys file, that may log in to the booted stick; `ntp` are the time servers that
    it uses, empty for those that the network names; `scanner` is the barcode scanner, by vendor
    and product (`0c2e:0b61`) or its name's pattern, empty for none, `scanner_layout` the country
    whose keyboard it emulates; `webhook` is the address that each verdict is posted to, empty for
    none, `webhook_secret` what signs it; `bench_ports` are the ports where recipes may erase and
    start automatically, by the names of the slots, `scan_prefixes` the kind of a scan by its
    prefix; `per_controller` is how many drives of one controller recipes test at once;
    `autostart` is the recipe that starts automatically in them, with the SHA-256 of its file
    (`NAME@sha256:HEX`), empty for none, after `countdown` seconds; `event_log` is the file that a
    line for each event is added to, `auto` for the one in the data folder where there are
    `bench_ports`, empty for none, `event_serial` the serial line that they are sent to, empty for
    none.
    """

    hosts: tuple[str, ...]
    listen: str
    port: int
    pin: bool
    output_mib: int
    clock: str
    ssh_keys: tuple[str, ...]
    ntp: tuple[str, ...]
    scanner: str
    scanner_layout: str
    webhook: str
    webhook_secret: str
    bench_ports: Mapping[str, tuple[str, ...]]
    scan_prefixes: Mapping[str, str]
    per_controller: int
    autostart: str
    countdown: int
    event_log: str
    event_serial: str

    @property
    def autostart_recipe(self) -> str:
        """The name of the recipe in `autostart`; empty for none."""
        return self.autostart.partition(PIN)[0]

    @property
    def autostart_sha256(self) -> str:
        """The SHA-256 that pins the recipe in `autostart`; empty where it has no pin."""
        return self.autostart.partition(PIN)[2]


def check_hosts(value: Any) -> tuple[str, ...]:
    """A list of host names, in lower case."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError('expected a list of host names, e.g. ["bench.example"]')
    names = tuple(item.lower().rstrip(".") for item in value)
    for entry, name in zip(value, names, strict=True):
        if not _HOST_NAME.fullmatch(name):
            raise ValueError(f"{entry!r} is not a host name (no port, no address with brackets)")
    return names


def check_listen(value: Any) -> str:
    """An IP address, or `localhost`."""
    if not isinstance(value, str):
        raise ValueError('expected an address, e.g. "127.0.0.1" or "0.0.0.0"')
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


def check_parallel(value: Any) -> int:
    """How many drives at once."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 64:
        raise ValueError(f"{value!r} is not a whole number from 1 to 64")
    return value


def check_clock(value: Any) -> str:
    """What the PC's own clock keeps."""
    if value not in ("utc", "local"):
        raise ValueError(f'{value!r} is not "utc" or "local"')
    return str(value)


def check_ssh_keys(value: Any) -> tuple[str, ...]:
    """Public keys, each as a line of an authorized_keys file without options."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError('expected a list of public keys, e.g. ["ssh-ed25519 AAAA... name"]')
    for number, item in enumerate(value, start=1):
        words = item.split()
        if not item.isprintable() or len(words) < 2 or words[0] not in _KEY_TYPES:
            raise ValueError(
                f"key {number} is not a public key: expected one line that starts with one of "
                f"{', '.join(_KEY_TYPES)}"
            )
        try:
            blob = base64.b64decode(words[1], validate=True)
        except binascii.Error:
            blob = b""
        # RFC 4253, 6.6: the key starts with its type, after that text's length.
        name = words[0].encode()
        if blob[: 4 + len(name)] != len(name).to_bytes(4, "big") + name:
            raise ValueError(f"key {number} is cut or damaged: copy the whole .pub file's line")
    return tuple(value)


def check_scanner(value: Any) -> str:
    """The barcode scanner: nothing, `0c2e:0b61` or a pattern of the device's name."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > 100:
        raise ValueError(f'{value!r} is not a scanner, as "0c2e:0b61" or "Honeywell*"')
    if value and not value.strip("*?[]! "):
        raise ValueError(f"{value!r} would take every keyboard, the bench's own too")
    return value


def check_layout(value: Any) -> str:
    """The country whose keyboard a scanner emulates."""
    if value not in SCANNER_LAYOUTS:
        raise ValueError(f"{value!r} is not one of {', '.join(SCANNER_LAYOUTS)}")
    return str(value)


def check_webhook(value: Any) -> str:
    """Nothing, or an http or https address."""
    hint = 'expected an address, e.g. "http://qa.example/benchstick"'
    if not isinstance(value, str):
        raise ValueError(hint)
    if not value:
        return value
    try:
        parts = urllib.parse.urlsplit(value)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError(f"{value!r}: {hint}")
    return value


def check_secret(value: Any) -> str:
    """Nothing, or a secret that is not guessed."""
    if not isinstance(value, str) or not value.isprintable() or 0 < len(value) < 16:
        raise ValueError("expected a secret of 16 characters or more, or none")
    return value


def check_ports(value: Any) -> Mapping[str, tuple[str, ...]]:
    """Slots by name, each with its port or ports as `benchstick drives` gives them."""
    hint = 'expected names with ports, e.g. {"slot 1" = "2-1.3", "slot 2" = ["2-2", "ata3"]}'
    if not isinstance(value, dict):
        raise ValueError(hint)
    slots = {}
    all_ports: set[str] = set()
    for name, entry in value.items():
        ports = [entry] if isinstance(entry, str) else entry
        if not isinstance(ports, list) or not ports:
            raise ValueError(hint)
        if not name.strip() or not name.isprintable() or len(name) > 40:
            raise ValueError(f"{name!r}: a slot's name has 1 to 40 characters")
        for port in ports:
            if not isinstance(port, str) or not _PORT.fullmatch(port):
                raise ValueError(f"{port!r} is not a port, as 2-1.3, ata3 or 0000:03:00.0")
            if port in all_ports:
                raise ValueError(f"{port} is in two slots")
            all_ports.add(port)
        slots[name] = tuple(ports)
    return slots


def check_prefixes(value: Any) -> Mapping[str, str]:
    """Beginnings of scans, each with what such a scan is."""
    if (
        not isinstance(value, dict)
        or not all(value)
        or not all(isinstance(kind, str) for kind in value.values())
    ):
        raise ValueError('expected prefixes with kinds, e.g. {"OP:" = "operator"}')
    for kind in value.values():
        if kind not in labels.KINDS:
            raise ValueError(f"{kind!r} is not one of {', '.join(labels.KINDS)}")
    return dict(value)


def check_autostart(value: Any) -> str:
    """Nothing, or the name of a recipe with the SHA-256 of its file. The name alone is valid too:
    then no test starts automatically, and the bench shows what to do."""
    hint = (
        'is not a recipe with its SHA-256, as "incoming-usb-stick@sha256:..."; '
        "benchstick recipe show NAME --pin prints the line"
    )
    if not isinstance(value, str):
        raise ValueError(f"{value!r} {hint}")
    name, at, digest = value.partition(PIN)
    if at and not re.fullmatch(r"[0-9a-fA-F]{64}", digest):
        raise ValueError(f"{value!r} {hint}")
    if (at or name) and not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,59}", name):
        raise ValueError(f"{value!r} {hint}")
    return f"{name.removesuffix('.toml')}{at}{digest.lower()}"


def pinned(name: str, raw: bytes) -> str:
    """The value of `autostart` for the recipe `name` whose file has these bytes."""
    return f"{name}{PIN}{hashlib.sha256(raw).hexdigest()}"


def check_countdown(value: Any) -> int:
    """Seconds."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 3600:
        raise ValueError(f"{value!r} is not a whole number of seconds from 0 to 3600")
    return value


def check_event_log(value: Any) -> str:
    """`auto`, nothing, or a file: a path, or a name in the data folder."""
    hint = 'expected a path, e.g. "/var/log/qa.log", or "auto" or ""'
    if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
        raise ValueError(hint)
    if value and not value.startswith("/") and ("/" in value or value in (".", "..")):
        raise ValueError(f"{value!r}: {hint}")
    if value.endswith("/"):
        raise ValueError(f"{value!r}: {hint}")
    return value


def check_serial(value: Any) -> str:
    """Nothing, or a serial line."""
    if not isinstance(value, str) or (value and not _SERIAL.fullmatch(value)):
        raise ValueError(f'{value!r} is not a serial line, as "/dev/ttyS0" or "/dev/ttyUSB0"')
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
    Setting("scanner", "", check_scanner, "the barcode scanner: its USB id, or its name's pattern"),
    Setting("scanner_layout", "us", check_layout, "the country's keyboard that it emulates"),
    Setting("webhook", "", check_webhook, "where each verdict is posted, by HTTP"),
    Setting("webhook_secret", "", check_secret, "signs what is posted there"),
    Setting("bench_ports", {}, check_ports, "ports where recipes may erase, by their slots' names"),
    Setting("scan_prefixes", {}, check_prefixes, "the kind of a scan by its prefix"),
    Setting("per_controller", 4, check_parallel, "drives of one controller tested at once"),
    Setting("autostart", "", check_autostart, "recipe that starts automatically, with its SHA-256"),
    Setting("countdown", 10, check_countdown, "seconds before it does"),
    Setting("event_log", AUTO, check_event_log, "the file that gets a line for each event"),
    Setting("event_serial", "", check_serial, "the serial line that gets them too"),
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
        raise SettingsError(str(path), None, f"{reason}; repair it or move it away") from None
    if len(raw) > _MOST_BYTES:
        raise SettingsError(str(path), None, f"larger than {_MOST_BYTES >> 10} KiB; shorten it")
    return read(text, str(path), on_stick=on_stick)


def read(text: str, where: str, *, on_stick: bool = False) -> Settings:
    """The settings in TOML `text`; `where` names the file in errors."""
    try:
        document = toml_positions.parse(text)
    except NotToml as error:
        raise SettingsError(where, error.line, error.message) from None
    settings = {setting.name: setting for setting in SETTINGS}
    for name in document:
        if name not in settings and name not in _REMOVED:
            message = f"{name}: no such setting; there are {', '.join(settings)}"
            raise SettingsError(where, TomlLines(text).of(name), message, field=name)
    return Settings(
        **{name: _value(text, where, settings[name], document, on_stick) for name in settings}
    )


def to_toml(settings: Settings) -> str:
    """The settings as a file that `load` reads back to the same."""
    lines = []
    for setting in SETTINGS:
        lines.append(f"{setting.name} = {_toml(getattr(settings, setting.name))}\n")
    return "".join(lines)


def _toml(value: Any) -> str:
    """TOML's strings, numbers, lists and booleans of this kind are JSON's; its tables are not."""
    if isinstance(value, Mapping):
        pairs = (f"{_toml(name)} = {_toml(item)}" for name, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    # JSON writes what is beyond 16 bits as two escapes, which TOML does not allow.
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _value(
    text: str, where: str, setting: Setting, document: Mapping[str, Any], on_stick: bool
) -> Any:
    default = setting.default
    if on_stick and setting.on_stick is not None:
        default = setting.on_stick
    try:
        return setting.check(document.get(setting.name, default))
    except ValueError as error:
        message = f"{setting.name}: {error}"
        line = TomlLines(text).of(setting.name)
        raise SettingsError(where, line, message, field=setting.name) from None
