"""The webhook: a receiver that is down, slow or unwilling loses nothing and delays nobody."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.server
import json
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick.agent import webhook
from benchstick.store import database, webhook_outbox
from benchstick.store.settings import Settings, SettingsError, read
from tests.host.bench import wait_for

SECRET = "a secret of the shop"


class Receiver(http.server.ThreadingHTTPServer):
    """Answers each POST with the next of `answers`, 204 after them; a negative one is so many
    seconds late."""

    daemon_threads = True

    def __init__(self, *answers: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.got: list[tuple[dict[str, str], bytes]] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/qa"

    def received_keys(self) -> list[str]:
        return [headers["Idempotency-Key"] for headers, _ in self.got]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))
        answer = self.server.answers.pop(0) if self.server.answers else 204
        if answer < 0:
            time.sleep(-answer)
            answer = 204
        with contextlib.suppress(OSError):
            self.send_response(int(answer))
            if answer == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            if answer >= 400:
                self.wfile.write(b"out of\npaper \x1b[1m")

    def do_GET(self) -> None:
        self.server.got.append(({"Idempotency-Key": "GET"}, b""))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        yield db


def settings(url: str) -> Settings:
    return read(f'webhook = "{url}"\nwebhook_secret = "{SECRET}"', "test")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_what_is_posted_is_signed_and_numbered(store: sqlite3.Connection) -> None:
    receiver = Receiver()
    webhook_outbox.put(store, "a", '{"verdict": "pass"}')
    webhook_outbox.put(store, "a", '{"verdict": "pass"}')
    webhook_outbox.put(store, "b", '{"verdict": "fail – ü"}')
    assert webhook.deliver(store, settings(receiver.url))
    assert receiver.received_keys() == ["a", "b"]
    headers, body = receiver.got[1]
    assert json.loads(body) == {"verdict": "fail – ü"}
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Benchstick-Signature"] == f"sha256={signature}"
    assert headers["X-Benchstick-Attempt"] == "1"
    assert webhook_outbox.waiting(store) == []
    assert webhook.deliver(store, settings(receiver.url))
    assert len(receiver.got) == 2


def test_without_a_webhook_nothing_is_sent(store: sqlite3.Connection) -> None:
    webhook_outbox.put(store, "a", "{}")
    assert webhook.deliver(store, read("", "test"))
    assert [letter.attempts for letter in webhook_outbox.waiting(store)] == [0]


@pytest.mark.parametrize("answer", [500, 404, 302, 429])
def test_what_was_not_taken_is_sent_again(store: sqlite3.Connection, answer: int) -> None:
    receiver = Receiver(answer)
    webhook_outbox.put(store, "a", "{}")
    webhook_outbox.put(store, "b", "{}")
    assert not webhook.deliver(store, settings(receiver.url))
    assert receiver.received_keys() == ["a", "b"], "one that is not taken keeps no other back"
    reason = webhook_outbox.list_letters(store)["letters"][1]["reason"]
    assert reason.startswith(f"the receiver answered {answer} ")
    assert reason.isprintable()
    assert [letter.key for letter in webhook_outbox.waiting(store)] == ["a"]
    assert webhook.deliver(store, settings(receiver.url))
    assert receiver.got[2][0]["X-Benchstick-Attempt"] == "2"
    assert webhook_outbox.list_letters(store)["waiting"] == 0


def test_a_receiver_that_is_down(store: sqlite3.Connection) -> None:
    for number in range(5):
        webhook_outbox.put(store, str(number), "{}")
    assert not webhook.deliver(store, settings(f"http://127.0.0.1:{free_port()}/"))
    assert [letter.attempts for letter in webhook_outbox.waiting(store)] == [1, 1, 1, 0, 0]
    letters = webhook_outbox.list_letters(store)["letters"]
    assert letters[-1]["reason"] == "no connection: Connection refused"
    receiver = Receiver()
    assert webhook.deliver(store, settings(receiver.url))
    assert receiver.received_keys() == list("01234")


def test_some_that_are_never_taken_keep_no_others_back(store: sqlite3.Connection) -> None:
    receiver = Receiver(*[500] * 15)
    for number in range(6):
        webhook_outbox.put(store, str(number), "{}")
    for _ in range(5):
        assert not webhook.deliver(store, settings(receiver.url))
    assert receiver.received_keys() == ["0", "1", "2"] * 5
    receiver.got.clear()
    assert webhook.deliver(store, settings(receiver.url))
    assert receiver.received_keys() == ["3", "4", "5", "0", "1", "2"]


def test_a_slow_receiver(store: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_SECONDS", 0.2)
    receiver = Receiver(-2.0)
    webhook_outbox.put(store, "a", "{}")
    assert not webhook.deliver(store, settings(receiver.url))
    assert webhook_outbox.list_letters(store)["letters"][0]["reason"] == "no answer within 0.2 s"
    assert webhook.deliver(store, settings(receiver.url))
    assert receiver.received_keys() == ["a", "a"], "the receiver tells them by the key"


def test_a_receiver_that_speaks_no_http(store: sqlite3.Connection) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"SMTP ready\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        webhook_outbox.put(store, "a", "{}")
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert not webhook.deliver(store, settings(url))
    assert "BadStatusLine" in webhook_outbox.list_letters(store)["letters"][0]["reason"]


def test_the_sender_continues_and_outlives_a_lost_store(
    tmp_path: Path, store: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(webhook, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(webhook, "LONGEST_PAUSE", 0.1)
    receiver = Receiver(500, 503)
    current = [settings(receiver.url)]
    postman = webhook.Postman(tmp_path / "home", lambda: current[0])
    postman.start()
    webhook_outbox.put(store, "a", "{}")
    wait_for(lambda: webhook_outbox.list_letters(store)["waiting"] == 0)
    assert receiver.received_keys() == ["a", "a", "a"]
    # The settings are read each time: a corrected address gets the pending messages.
    current[0] = settings(f"http://127.0.0.1:{free_port()}/")
    webhook_outbox.put(store, "b", "{}")
    wait_for(lambda: webhook_outbox.list_letters(store)["letters"][0]["attempts"] >= 2)
    current[0] = settings(receiver.url)
    wait_for(lambda: "b" in receiver.received_keys())
    postman.stop()
    assert not postman.is_alive()


def test_pauses_grow_to_a_minute() -> None:
    assert [webhook.pause_after(tries) for tries in (1, 2, 3)] == [5.0, 10.0, 20.0]
    assert webhook.pause_after(1000) == 60.0


def test_only_the_last_delivered_are_kept(store: sqlite3.Connection) -> None:
    for number in range(webhook_outbox.MAX_SENT + 5):
        webhook_outbox.put(store, str(number), "{}")
    for letter in webhook_outbox.waiting(store, 1000):
        webhook_outbox.delivered(store, letter)
    webhook_outbox.put(store, "waits", "{}")
    letters = webhook_outbox.list_letters(store)["letters"]
    assert letters[0]["key"] == "waits"
    assert store.execute("SELECT count(*) FROM outbox").fetchone()[0] == webhook_outbox.MAX_SENT + 1


@pytest.mark.parametrize(
    "line",
    [
        'webhook = "qa.example"', 'webhook = "ftp://qa.example"', "webhook = true",
        'webhook = "http://"', 'webhook = "http://qa.example:x/"', 'webhook = "http://a b/"',
        'webhook_secret = "short"', "webhook_secret = 5",
    ],
)  # fmt: skip
def test_bad_settings(line: str) -> None:
    with pytest.raises(SettingsError, match="test:1: webhook"):
        read(line, "test")
