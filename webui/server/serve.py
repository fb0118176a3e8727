"""`benchstick web`: binds the port, goes into a cage of its own when started as root, serves.

As root it only binds the socket and makes the store ready; then it builds a mount namespace
(`webui.server.sandbox`), drops to the user `benchstick` without any capability, and becomes the web
process (`python -m webui.server.serve`), which gets the socket as an open descriptor. So a port
below 1024 works too, and nothing with privileges is left behind.
"""

from __future__ import annotations

import errno
import gc
import ipaddress
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from benchstick import paths
from benchstick.appliance import web_address
from benchstick.errors import BadInput, BenchError
from benchstick.plan.plain import one_line, plain_output
from benchstick.protocol import prepare
from benchstick.protocol import settings as settings_module
from benchstick.protocol.settings import Settings
from webui.auth import hosts
from webui.auth.pin import LoginKey, Pin
from webui.server import sandbox

THREADS = 8
ENDS = (signal.SIGINT, signal.SIGTERM)
# The web process's start parameters, set by the process that bound the socket.
START = "BENCHSTICK_WEB_START"


def main(*, listen: str | None, port: int | None, home: Path, new_token: str | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM (exit code 0), or create a token and end. BenchError."""
    settings = settings_module.load(paths.settings_file())
    address = settings.listen if listen is None else _option("listen", listen)
    number = settings.port if port is None else _option("port", port)
    if new_token is not None:
        print(prepare.replace_token(home, new_token), flush=True)
        print(
            "benchstick: shown this once; send it as 'Authorization: Bearer TOKEN'",
            file=sys.stderr,
        )
        return 0
    # The web process may neither make the store nor bring it up to date.
    prepare.make_ready(home)
    bound = bind(address, number)
    # Kept until there is a handler, over the exec too: Ctrl-C at any time is a clean end.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    pin = _pin(bound, settings)
    if os.geteuid() == 0:
        return _become_web_process(bound, home, settings, pin)
    _tell_screen(bound, pin)
    return serve(bound, home, settings, pin)


def _tell_screen(bound: socket.socket, pin: Pin | None) -> None:
    """Where the page is, for the bench's screen."""
    address, port = bound.getsockname()[:2]
    web_address.publish(web_address.Page(os.getpid(), address, port, pin.text if pin else None))


def _pin(bound: socket.socket, settings: Settings) -> Pin | None:
    """The PIN, where one is required; made here, because root passes it to the screen."""
    on_network = not ipaddress.ip_address(bound.getsockname()[0]).is_loopback
    return Pin() if on_network and settings.pin else None


def _option(name: str, value: Any) -> Any:
    """An option of the command line, checked like the setting of its name."""
    check: Callable[[Any], Any] = {
        setting.name: setting.check for setting in settings_module.SETTINGS
    }[name]
    try:
        return check(value)
    except ValueError as error:
        raise BadInput(f"--{name}: {error}", field=name) from None


def bind(address: str, port: int) -> socket.socket:
    """A listening socket. BadInput saying in one line why there can be none."""
    version = ipaddress.ip_address(address).version
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` means both kinds of addresses, whatever the system's default is.
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(address != "::"))
        bound.bind((address, port))
        bound.listen(128)
    except OSError as error:
        bound.close()
        raise BadInput(_why_not_bound(address, port, error), field="port") from None
    return bound


def _why_not_bound(address: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {address} is taken by another program; choose one with --port"
    if error.errno == errno.EACCES:
        return f"port {port}: ports below 1024 need root; choose one with --port, as 8080"
    if error.errno in (errno.EADDRNOTAVAIL, errno.EINVAL):
        return f"{address}: not an address of this machine; see 'ip address', or listen on 0.0.0.0"
    return f"{address} port {port}: {error.strerror}"


def _become_web_process(
    bound: socket.socket, home: Path, settings: Settings, pin: Pin | None
) -> int:
    """Build the cage and become the web process in it. Returns only by BenchError."""
    paths.make_run_folder()
    paths.make_home(home)
    sandbox.check_user()
    os.set_inheritable(bound.fileno(), True)
    start = {
        "fd": bound.fileno(),
        "home": str(home),
        "settings": asdict(settings),
        "pin": pin.digits if pin else None,
    }
    environment = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(sandbox.ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "BENCHSTICK_HOME": str(home),
        "BENCHSTICK_RUN": str(paths.run_folder()),
        START: json.dumps(start),
    }
    # The user database is out of sight once inside.
    command = sandbox.unprivileged([sys.executable, "-m", "webui.server.serve"])
    # This process keeps its number through all that it becomes.
    _tell_screen(bound, pin)
    sandbox.enter(home)
    os.execve(command[0], command, environment)


def serve(bound: socket.socket, home: Path, settings: Settings, pin: Pin | None) -> int:
    """Serve on the socket `bound` until SIGINT or SIGTERM."""
    # Here, because the first process needs neither: it only makes ready.
    from waitress.server import create_server  # type: ignore[import-untyped]

    from webui.auth.request_guard import LARGEST_BUNDLE
    from webui.server.app import create_app

    for number in ENDS:
        signal.signal(number, _stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    logging.basicConfig(format="benchstick web: %(message)s", level=logging.WARNING)
    # Waitress says nothing more than that its threads are busy; with short requests they are not.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    address, port = bound.getsockname()[:2]
    key = LoginKey(lambda secret: _say(f"next log-in link: {_link(address, port, secret)}"))
    app = create_app(home, settings, private=pin is not None, pin=pin, key=key)
    _announce(address, port, key, pin)
    settle()
    server = create_server(
        app,
        sockets=[bound],
        threads=THREADS,
        ident=None,
        expose_tracebacks=False,
        clear_untrusted_proxy_headers=True,
        # A little more than the page takes: the page's own limit has the better message.
        max_request_body_size=LARGEST_BUNDLE + (1 << 20),
        channel_timeout=60,
    )
    try:
        # Ends at the exception of `_stop`, which waitress takes for its own end.
        server.run()
    finally:
        server.close()
    return 0


def settle() -> None:
    """Hide the program's own objects from the garbage collector: a collection in the middle of a
    large answer took as long as the answer itself."""
    gc.collect()
    gc.freeze()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _say(text: str) -> None:
    print(f"benchstick: {text}", flush=True)


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _link(address: str, port: int, secret: str) -> str:
    """The log-in link for a browser on this machine."""
    at = ipaddress.ip_address(address)
    if at.is_unspecified:
        address = "127.0.0.1"
    return f"http://{_host(address)}:{port}/login?key={secret}"


def addresses(listen: str) -> list[str]:
    """The addresses under which a page that listens on `listen` is reached from elsewhere."""
    at = ipaddress.ip_address(listen)
    if not at.is_unspecified:
        return [listen]
    candidates = [
        local_address
        for local_address in hosts.local_addresses()
        if not local_address.is_loopback
        and not local_address.is_link_local
        and (at.version == 6 or local_address.version == 4)
    ]
    return [
        str(candidate)
        for candidate in sorted(candidates, key=lambda candidate: (candidate.version, candidate))
    ]


def _announce(address: str, port: int, key: LoginKey, pin: Pin | None) -> None:
    """Print on the terminal where the page is and how to sign in."""
    if ipaddress.ip_address(address).is_loopback:
        _say(f"the page: http://{_host(address)}:{port}/")
    else:
        for one in addresses(address):
            _say(f"the page: http://{_host(one)}:{port}/")
        _say(f"PIN {pin.text}" if pin else "PIN off: everybody on the network may read")
    _say(f"log-in link, works once: {_link(address, port, key.current)}")


def web_process() -> int:
    """The process inside the cage: takes the socket that it was given."""
    start = json.loads(os.environ.pop(START))
    fields = start["settings"]
    settings = Settings(**{**fields, "hosts": tuple(fields["hosts"])})
    bound = socket.socket(fileno=int(start["fd"]))
    pin = Pin(digits=start["pin"]) if start["pin"] else None
    return serve(bound, Path(start["home"]), settings, pin)


if __name__ == "__main__":
    with plain_output():
        try:
            sys.exit(web_process())
        except BenchError as problem:
            print(f"benchstick: error: {one_line(problem.message)}", file=sys.stderr)
            sys.exit(problem.exit_code)
