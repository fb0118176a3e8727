"""The settings file: defaults, checks with file and line, and a documented line for each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchstick.errors import BadInput
from benchstick.store import settings

DOC = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def test_every_setting_is_documented_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", DOC.read_text(encoding="utf-8"), re.M))
    expected = {setting.name: json.dumps(setting.default) for setting in settings.SETTINGS}
    assert rows == expected


def test_the_example_in_the_docs_is_right() -> None:
    lines = DOC.read_text(encoding="utf-8").splitlines()
    example = "\n".join(line[4:] for line in lines if line.startswith("    "))
    values = settings.read(example, "docs")
    assert values.hosts == ("bench.example",)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    values = settings.load(tmp_path / "none.toml")
    expected = settings.Settings(
        hosts=(), listen="127.0.0.1", port=8080, pin=True, output_mib=4096, clock="utc",
        ssh_keys=(), ntp=(), scanner="", scanner_layout="us",
        webhook="", webhook_secret="", bench_ports={}, scan_prefixes={},
        per_controller=4, autostart="", countdown=10, event_log="auto", event_serial="",
    )  # fmt: skip
    assert values == expected


def test_a_setting_of_an_earlier_version_is_accepted_without_effect() -> None:
    config = settings.read('language = "de"\nport = 81\n', "test")
    assert config == settings.read("port = 81\n", "test")
    assert "language" not in settings.to_toml(config)
    with pytest.raises(BadInput, match="languages: no such setting; there are hosts") as caught:
        settings.read('languages = "de"', "test")
    assert "language," not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("port = 0", 1, "whole number from 1 to 65535"),
        ("\n\nport = true", 3, "port"),
        ('port = "80"', 1, "port"),
        ("# port\nport = 1e3", 2, "port"),
        ('listen = "here"', 1, "not an IP address"),
        ("output_mib = 63", 1, "MiB from 64"),
        ('ntp = ["10.0.0.1:123"]', 1, "not a host name"),
        ('ssh_keys = "ssh-ed25519 AAAA"', 1, "list of public keys"),
        ('ssh_keys = ["ssh-ed25519"]', 1, "key 1 is not a public key"),
        ('ssh_keys = ["command=x ssh-ed25519 AAAA"]', 1, "key 1 is not a public key"),
        ('ssh_keys = ["ssh-ed25519 AAAA\\nssh-rsa AAAA"]', 1, "key 1 is not a public key"),
        ('ssh_keys = ["ssh-ed25519 AAAA"]', 1, "key 1 is cut or damaged"),
        ('ssh_keys = ["ssh-rsa AAAAC3NzaC1lZDI1NTE5"]', 1, "key 1 is cut or damaged"),
        ("pin = true\noutput_mib = true", 2, "MiB from 64"),
        ("listen = 1", 1, "listen"),
        ('hosts = "x"', 1, "list of host names"),
        ('port = 80\nhosts = ["a:80"]', 2, "not a host name"),
        ("hosts = [1]", 1, "hosts"),
        ('pin = "on"', 1, "true or false"),
        ('clock = "mez"', 1, "utc"),
        ("clock = true", 1, "utc"),
        ("colour = 1", 1, "no such setting"),
        ("[web]\nport = 1", 1, "no such setting"),
        ("port = 1\nport = 2", 2, "not TOML"),
        ("port", 1, "not TOML"),
        ("x = " + "[" * 5000, 1, ""),
    ],
)
def test_an_error_names_line_and_setting(tmp_path: Path, text: str, line: int, words: str) -> None:
    file = tmp_path / "benchstick.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        settings.load(file)
    assert str(file) in caught.value.message
    assert words in caught.value.message
    match = re.search(r":(\d+): |at line (\d+)|nested too deeply", caught.value.message)
    assert match is not None
    assert (match[1] or match[2] or "1") == str(line)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "benchstick.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not UTF-8"):
        settings.load(file)
    with pytest.raises(BadInput, match="directory"):
        settings.load(tmp_path)


def test_localhost_is_an_address() -> None:
    assert settings.read('listen = "localhost"', "x").listen == "127.0.0.1"
    assert settings.read('listen = "::"', "x").listen == "::"
