"""A bench with invented runs, and the page on it."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect, sync_playwright
from waitress.server import create_server  # type: ignore[import-untyped]

from benchstick import paths
from benchstick.appliance import clock, state
from benchstick.recipes import ready
from benchstick.store import auth, locks
from benchstick.store import settings as settings_file
from benchstick.store.database import open_reader, open_writer
from tests.web import sample
from tests.web.browser_tab import ARGS, CHROMIUM, BrowserTab
from webui.auth.pin import LoginKey, Pin
from webui.auth.request_guard import COOKIE
from webui.server.app import create_app

# A Flask test client; the JSON of its answers may be anything.
Browser = Any


def browser(app: Flask) -> Browser:
    """A visitor that nobody knows."""
    return app.test_client()


@dataclass
class Bench:
    """The sample bench: its folder and the numbers of its runs by what they show."""

    home: Path
    numbers: dict[str, Any] = field(default_factory=dict)

    def count(self, table: str) -> int:
        with contextlib.closing(open_reader(self.home)) as db:
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def last_request(self) -> dict[str, Any]:
        with contextlib.closing(open_reader(self.home)) as db:
            row = db.execute("SELECT * FROM requests ORDER BY id DESC LIMIT 1").fetchone()
        return dict(row)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Drives of every kind and runs in every state, one of them running. Shared by a module."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSTICK_HOME", str(folder / "home"))
        patch.setenv("BENCHSTICK_RUN", str(folder / "run"))
        numbers = sample.full_bench(folder / "home")
        # The lock that shows the page that an agent is running.
        agent = locks.RunLock("agent")
        yield Bench(folder / "home", numbers)
        agent.release()
        numbers["lock"].release()


@pytest.fixture(scope="module")
def key() -> LoginKey:
    return LoginKey()


# A recipe starts automatically in the slots of every_page.some_slots.
PINNED = settings_file.pinned("incoming-usb-stick", ready.raw("incoming-usb-stick"))
SLOTS = f'autostart = "{PINNED}"\n[bench_ports]\n' + "".join(
    f'"slot {at}" = "2-{at}"\n' for at in range(1, 9)
)


@pytest.fixture(scope="module")
def app(bench: Bench, key: LoginKey) -> Flask:
    """The page as it is on loopback. Shared by a module: its templates are compiled once."""
    return create_app(bench.home, settings_file.read(SLOTS, "test"), key=key)


@pytest.fixture
def pin() -> Pin:
    return Pin()


@pytest.fixture
def network_app(bench: Bench, pin: Pin, key: LoginKey) -> Flask:
    """The page as it is on the network, with a PIN."""
    return create_app(bench.home, private=True, pin=pin, key=key)


@pytest.fixture
def client(app: Flask) -> Browser:
    """A visitor that nobody knows."""
    return browser(app)


@dataclass
class SignedIn:
    """A signed-in browser and its token against forged requests."""

    client: Browser
    csrf: str

    def post(self, path: str, form: dict[str, Any]) -> Any:
        return self.client.post(path, data={"csrf": self.csrf, **form})

    def api(self, path: str, body: Any) -> Any:
        return self.client.post(path, json=body, headers={"X-CSRF-Token": self.csrf})


@pytest.fixture
def signed_in(app: Flask, key: LoginKey) -> SignedIn:
    web_client = browser(app)
    answer = web_client.post("/api/v1/login", json={"key": key.current})
    assert answer.status_code == 200
    assert web_client.get_cookie(COOKIE) is not None
    return SignedIn(web_client, answer.json["csrf"])


@pytest.fixture
def token(bench: Bench) -> str:
    """A bearer token for scripts."""
    with contextlib.closing(open_writer(bench.home)) as db:
        return auth.new_token(db, "test")


@pytest.fixture
def booted_stick(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The bench is a booted stick whose clock nobody keeps right."""
    paths.make_run_folder()
    state.write({"schema": state.SCHEMA, "persistent": True, "reason": None, "stick": None})
    monkeypatch.setattr(clock, "is_kept", lambda: False)
    yield
    (paths.run_folder() / "appliance/state.json").unlink()


class Server:
    """The page under waitress, as `benchstick web` serves it, in a thread of its own."""

    def __init__(self, app: Flask, port: int = 0) -> None:
        self._server = create_server(
            app, host="127.0.0.1", port=port, threads=4, clear_untrusted_proxy_headers=True
        )
        self.port: int = self._server.effective_port
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _run(self) -> None:
        while not self._stop.is_set():
            self._server.asyncore.loop(timeout=0.1, map=self._server._map, count=1)

    def close(self) -> None:
        """Stop, and close the connections that browsers keep open."""
        self._stop.set()
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()
        self._server.task_dispatcher.shutdown()
        self._server.asyncore.close_all(map=self._server._map, ignore_all=True)


@contextlib.contextmanager
def serve(app: Flask) -> Iterator[str]:
    """The page on a port of its own; its address. (`test_web_serve` has the whole program.)"""
    server = Server(app)
    try:
        yield server.address
    finally:
        server.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """Debian's Chromium, for the tests of a module."""
    # The default of 5 s is little on a busy machine.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(CHROMIUM), args=ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def base(app: Flask) -> Iterator[str]:
    """The address at which the page is served."""
    with serve(app) as address:
        yield address


@pytest.fixture
def tab(chromium: Chromium, base: str) -> Iterator[BrowserTab]:
    """A page in a browser, which must not have complained when the test ends."""
    context = chromium.new_context(viewport={"width": 1240, "height": 900})
    watcher = BrowserTab(context.new_page(), base)
    yield watcher
    context.close()
    assert watcher.problems == []
