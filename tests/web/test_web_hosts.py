"""Host headers: only names and addresses of this machine, at any port."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchstick.store import settings
from tests.web.conftest import Bench, Browser, browser
from webui.auth import hosts
from webui.server.app import create_app


@pytest.mark.parametrize(
    "header",
    [
        "localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535",
        "127.3.2.1:80",
        "[::1]:8080", "[::1]", "benchstick.local", "benchstick.local.", "Benchstick-2.local:80",
        "bench.example:9",
    ],
)  # fmt: skip
def test_our_names_are_answered(header: str) -> None:
    assert hosts.is_ours(header, ("bench.example",))


@pytest.mark.parametrize(
    "header",
    [
        "", "evil.example", "evil.example:8080", "localhost.evil.example",
        "benchstick.local.evil.example",
        "benchstick-.local", "benchstick-1234.local", "127.0.0.1.nip.io", "127.1", "2130706433",
        "0x7f.0.0.1", "0.0.0.0", "192.0.2.1", "224.0.0.1", "255.255.255.255", "[2001:db8::1]",
        "::1", "[127.0.0.1]", "localhost:0", "localhost:65536", "localhost:x", "localhost:80:80",
        "user@localhost", "localhost/evil", "localhost evil", "a" * 300, "[::ffff:192.0.2.1]",
    ],
)  # fmt: skip
def test_foreign_names_are_not(header: str) -> None:
    assert not hosts.is_ours(header, ("bench.example",))


def test_addresses_are_read_from_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "fib_trie").write_text(
        "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.168.1.0\n        /24 link UNICAST\n"
        "     |-- 192.168.1.40\n        /32 host LOCAL\n"
        "     |-- 192.168.1.255\n        /32 link BROADCAST\n"
    )
    (tmp_path / "if_inet6").write_text("fe800000000000000000000000000001 02 40 20 80 eth0\n")
    addresses = {str(address) for address in hosts.local_addresses(tmp_path)}
    assert addresses == {"192.168.1.40", "fe80::1"}


def test_an_address_of_this_machine_is_ours() -> None:
    for address in hosts.local_addresses():
        text = f"[{address}]" if address.version == 6 else str(address)
        assert hosts.is_ours(f"{text}:8080")


@pytest.mark.parametrize("path", ["/drives", "/api/v1/drives", "/static/style.css", "/nowhere"])
def test_421_says_what_to_do(client: Browser, path: str) -> None:
    answer = client.get(path, headers={"Host": "evil.example"})
    assert answer.status_code == 421
    assert "hosts" in answer.text
    if path.startswith("/api/"):
        assert answer.json["error"]["code"] == "host"
        assert answer.json["error"]["field"] == "Host"


def test_a_name_of_the_settings_is_answered(bench: Bench) -> None:
    app = create_app(bench.home, settings.read('hosts = ["Bench.Example"]', "test"))
    client = browser(app)
    assert client.get("/drives", headers={"Host": "bench.example:81"}).status_code == 200
    assert client.get("/drives", headers={"Host": "other.example"}).status_code == 421
