"""Runs inside a guest with four USB drives: recipes on all of them at once, by command and
automatically; a scanner; a webhook. Prints one JSON document for test_qa.py.

QASLOW001 is limited to 8 MB/s by QEMU; QALOST001 is taken away by its port's `authorized` in the
middle of its pass.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import http.server
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from tests.host.bench import HANGS
from tests.vm.guest.uinput import plugged

HOME = Path(os.environ["BENCHSTICK_HOME"])
SETTINGS = HOME / "benchstick.toml"
SERIALS = ("BSUAS0001", "QASLOW001", "BSBOT0001", "QALOST001")
WEBHOOK = 8099
LINES = {"event_log": str(HOME / "qa.log"), "event_serial": "/dev/ttyS1"}
RECIPE = """
name = "Incoming"
time_limit = "15 min"
allow_erase = true
erase_used = true

[match]
transport = ["usb-uas", "usb-bot"]

[[suite]]
name = "cdm"
target = "block"
params = { profile = "demo", passes = 1, time = 3, size = "16MiB", interval = 0 }

[[limit]]
fact = "transport"
op = "=="
value = "usb-uas"

[[limit]]
figure = "SEQ1M Q8T1 read"
op = ">="
value = 12
unit = "MB/s"
"""


def say(text: str) -> None:
    print(f"{time.monotonic():.0f} s: {text}", file=sys.stderr, flush=True)


def bench(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["benchstick", *argv], capture_output=True, text=True)


def until(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + HANGS
    while not (value := what()):
        if time.monotonic() > deadline:
            with contextlib.suppress(sqlite3.Error):
                say(f"slots: {slots()}")
            raise SystemExit(f"did not happen within {HANGS:.0f} s: {what}")
        time.sleep(0.1)
    return value


def node(serial: str) -> Path | None:
    """The drive's node, None while it is not there."""
    output = subprocess.run(["lsblk", "-dno", "PATH,SERIAL"], capture_output=True, text=True).stdout
    paths = [line.split()[0] for line in output.splitlines() if line.split()[1:] == [serial]]
    return Path(paths[0]) if paths else None


def usb_port(serial: str) -> Path:
    """The folder of its USB device in sysfs, which stays when the drive is taken away."""
    path = Path(f"/sys/block/{(node(serial) or Path('none')).name}/device").resolve()
    return next(one for one in path.parents if (one / "authorized").exists()
                and (one / "idVendor").exists())  # fmt: skip


def allow(port: Path, on: bool) -> None:
    """Plug it in, or pull it out, as the kernel sees it."""
    (port / "authorized").write_text("1" if on else "0", encoding="ascii")


@contextlib.contextmanager
def taking_away(serial: str, port: Path) -> Iterator[None]:
    """Take the drive away once its timed pass has started."""
    stop_event = threading.Event()

    def watch() -> None:
        name = (node(serial) or Path("none")).name
        while not stop_event.wait(0.2):
            for path in Path("/run/benchstick/live").glob("*.json"):
                with contextlib.suppress(OSError, ValueError):
                    live = json.loads(path.read_text(encoding="utf-8"))
                    if "pass 1" in live.get("name", "") and _drive_of(path.stem) == name:
                        time.sleep(0.5)
                        allow(port, False)
                        say(f"{serial} was taken away")
                        return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()


def _drive_of(uuid: str) -> str | None:
    with contextlib.closing(sqlite3.connect(HOME / "store.db", timeout=30)) as db:
        row = db.execute("SELECT drive_json FROM runs WHERE uuid = ?", (uuid,)).fetchone()
    return None if row is None else str(json.loads(row[0])["name"])


def summarize(verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each drive: the word, its exit code, the codes of its reasons."""
    return {
        one["drive"]["code"]: {
            "verdict": one["verdict"], "exit_code": one["exit_code"], "reason": one["reason"],
            "codes": [reason["code"] for reason in (*one["failures"], *one["inconclusive"])],
            "labels": one["labels"], "slot": one["drive"]["slot"],
        }
        for one in verdicts
    }  # fmt: skip


def by_command(ports: dict[str, Path]) -> dict[str, Any]:
    """`benchstick qa` on four drives, with what it wrote for other programs."""
    recipe, folder = Path("/tmp/incoming.toml"), Path("/tmp/qa")
    folder.mkdir()
    recipe.write_text(RECIPE, encoding="utf-8")
    words = [word for serial in SERIALS for word in ("--drive", serial, "--erase", serial)]
    with taking_away("QALOST001", ports["QALOST001"]):
        process = bench("qa", str(recipe), *words, "--json", "--junit", f"{folder}/junit.xml",
                     "--csv", f"{folder}/qa.csv", "--events", f"{folder}/events")  # fmt: skip
    if not process.stdout:
        raise SystemExit(f"qa: exit {process.returncode}: {process.stderr}")
    document = json.loads(process.stdout)
    suites = Xml.parse(folder / "junit.xml").getroot()
    with (folder / "qa.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    events = (folder / "events").read_text(encoding="ascii").splitlines()
    return {
        "exit": process.returncode,
        "document_exit": document["exit_code"],
        "drives": summarize(document["verdicts"]),
        "together": max(len(run["conditions"]["alongside"]) for run in _runs(document)),
        "shared": [line for line in process.stderr.splitlines() if "shared by" in line],
        "junit": {
            suite.get("name"): [
                case.get("type") for kind in ("failure", "error") for case in suite.iter(kind)
            ]
            for suite in suites
        },
        "csv": {row["drive"]: [row["verdict"], row["exit_code"]] for row in rows},
        "events": {
            match[1]: match[2]
            for line in events
            if (match := re.search(r"event=verdict drive=(\S+) .*\bverdict=(\w+)", line))
        },
    }


def _runs(document: dict[str, Any]) -> list[dict[str, Any]]:
    numbers = [run["number"] for one in document["verdicts"] for run in one["runs"]]
    return [json.loads(bench("show", str(number), "--json").stdout) for number in numbers]


@contextlib.contextmanager
def agent() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["benchstick", "agent"], stderr=sys.stderr)
    try:
        until(lambda: bench_rows("SELECT 1 FROM drive_scans"))
        yield process
    finally:
        process.terminate()
        process.wait(60)


def bench_rows(sql: str) -> list[dict[str, Any]]:
    with contextlib.closing(sqlite3.connect(HOME / "store.db", timeout=30)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql)]


def slots() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in bench_rows("SELECT * FROM slots")}


# The recipe that starts automatically, with the SHA-256 of its file.
PINNED = f"incoming@sha256:{hashlib.sha256(RECIPE.encode()).hexdigest()}"


def settings(ports: dict[str, Path], **more: Any) -> None:
    slot_ports = {f"slot {at}": port.name for at, port in enumerate(ports.values(), start=1)}
    lines = {"scanner": "Bench Scanner*", "webhook": f"http://127.0.0.1:{WEBHOOK}/",
             "autostart": PINNED, "countdown": 6, **LINES, **more}  # fmt: skip
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())
    table = "".join(f'"{name}" = "{port}"\n' for name, port in slot_ports.items())
    SETTINGS.write_text(f"{text}[bench_ports]\n{table}", encoding="utf-8")


def by_itself(ports: dict[str, Path]) -> dict[str, Any]:
    """The same drives, plugged in while the agent runs; barcodes are scanned at the same time."""
    Path("/run/benchstick/recipes").mkdir(exist_ok=True)
    Path("/run/benchstick/recipes/incoming.toml").write_text(RECIPE, encoding="utf-8")
    settings(ports)
    for serial, port in ports.items():
        if node(serial) is not None:
            allow(port, False)
    until(lambda: all(node(serial) is None for serial in SERIALS))
    with plugged() as fake, agent():
        until(lambda: bench_rows("SELECT 1 FROM scanner_status WHERE status LIKE 'scanner Bench%'"))
        # Before that an agent takes what appears for a drive that was there all along.
        until(lambda: float(Path("/proc/uptime").read_text().split()[0]) > 125)
        time.sleep(11)
        fake.scan("A-77")
        until(lambda: bench_rows("SELECT 1 FROM scans WHERE text = 'A-77'"))
        first, port = next(iter(ports.items()))
        allow(port, True)
        until(lambda: slots()["slot 1"]["state"] == "countdown")
        # A barcode with Enter at its end, and Enter alone, again and again.
        for _ in range(5):
            fake.scan("")
        fake.scan("stop")
        during = slots()["slot 1"]["state"]
        until(lambda: slots()["slot 1"]["state"] == "testing")
        say(f"{first} is tested automatically")
        for other in list(ports.values())[1:]:
            allow(other, True)
        until(lambda: node("QALOST001"))
        with taking_away("QALOST001", ports["QALOST001"]):
            until(lambda: all(row["state"] == "done" for row in slots().values()))
        slot_rows = slots()
        rows = bench_rows("SELECT verdict_json FROM verdicts ORDER BY number DESC LIMIT 4")
        waiting_rows = bench_rows("SELECT attempts, reason FROM outbox WHERE delivered_utc IS NULL")
        letters = receive(
            lambda: not bench_rows("SELECT 1 FROM outbox WHERE delivered_utc IS NULL")
        )
    return {
        "during": during,
        "slots": {name: [row["verdict"], row["code"]] for name, row in slot_rows.items()},
        "drives": summarize([json.loads(row["verdict_json"]) for row in rows]),
        "scans": bench_rows("SELECT text, kind, assigned_to FROM scans ORDER BY id"),
        "waited": waiting_rows,
        "posted": letters,
    }


def receive(is_done: Callable[[], Any]) -> list[dict[str, Any]]:
    """What the webhook's receiver gets once it is there; the first time it says 500."""
    got: list[dict[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers["Idempotency-Key"]
            got.append({"key": key, "drive": body["drive"]["code"], "verdict": body["verdict"]})
            self.send_response(500 if len(got) == 1 else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", WEBHOOK), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    until(is_done)
    server.shutdown()
    return got


def main() -> None:
    HOME.mkdir(parents=True, exist_ok=True)
    subprocess.run(["udevadm", "settle", "--timeout=120"], check=True)
    until(lambda: all(node(serial) for serial in SERIALS))
    ports = {serial: usb_port(serial) for serial in SERIALS}
    SETTINGS.write_text("".join(f"{name} = {json.dumps(path)}\n" for name, path in LINES.items()))
    say("by command")
    answer: dict[str, Any] = {"command": by_command(ports)}
    say("automatically")
    answer["itself"] = by_itself(ports)
    answer["log"] = (HOME / "qa.log").read_text(encoding="ascii").splitlines()
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
