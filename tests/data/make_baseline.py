"""Makes tests/data/store-v1: a store, a bundle and the table of their values, by real runs.

    python -m tests.data.make_baseline make
    python -m tests.data.make_baseline rename OLD NEW [ITEM]

`make` takes some minutes, needs root, and is done once for a version whose stores must stay
readable: it ran on commit 06bfaea, store version 15. All runs are on the practice drive. Invented,
because no practice drive has them: the temperatures of run 5, a changed host setting of run 3 and
the password of a purge.

`rename` fills in the third column of the table: in each row, OLD (a part of a path, as
`figures[*].value`; `[*]` is any place in a list) becomes NEW; ITEM limits it to items that begin
so. The values stay.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick.store import (
    agent_requests,
    auth,
    database,
    imported_runs,
    known_drives,
    run_queries,
    run_reader,
)
from tests.data import baseline
from tests.data.baseline import BUNDLE, FOLDER, SETTINGS, STORE, Row
from tests.host.bench import Bench, wait_for

PARAMS = {"passes": "1", "time": "1", "interval": "0", "size": "16MiB", "profile": "demo"}
SETTINGS_TEXT = """\
hosts = ["bench.example"]
port = 8099
output_mib = 128
ntp = ["ntp.example"]
scanner_layout = "de"
webhook = "http://127.0.0.1:9/benchstick"
webhook_secret = "a secret of the shop"
bench_ports = {"slot 1" = "2-1.1", "slot 2" = ["2-1.2", "ata3"]}
scan_prefixes = {"OP:" = "operator", "PO:" = "order", "SN:" = "serial"}
per_controller = 2
countdown = 30
"""
MODEL = """\
model = "Practice drive*"
name = "Practice drive, as claimed"
seq_read_mbps = 1050
seq_write_mbps = 1000.5
price = 89.90
currency = "EUR"
price_date = 2026-01-31
source = "the maker's page"

[[claim]]
suite = "das"
figure = "Home write"
value = 900
unit = "MB/s"
"""
REFERENCE = """\
drive = "Samsung T7 1 TB"
suite = "cdm"
source = "a magazine, issue 3/2026, page 20"

[[figure]]
figure = "SEQ1M Q8T1 read"
value = 1040
unit = "MB/s"

[[figure]]
figure = "RND4K Q1T1 read latency"
value = 0.15
unit = "ms"
"""
RECIPE = """\
name = "{name}"
about = "a short pass of cdm"
time_limit = "10 min"
retries = {retries}

[[suite]]
name = "cdm"
params = {{ passes = 1, time = 1, interval = 0, size = "16MiB", profile = "demo" }}

[[limit]]
figure = "SEQ1M Q8T1 read"
op = ">="
value = {wanted}
unit = "MB/s"

[[limit]]
fact = "transport"
op = "=="
value = "virtual"
{more}"""
# No practice drive has SMART data, so the verdict is inconclusive.
UNKNOWN = """
[[limit]]
change = "media_errors"
op = "<="
value = 0
"""
ERASE = ("--erase", "practice")
# Paths in the store are below it.
ROOT = Path("/var/tmp/benchstick-baseline")


def params(**values: object) -> list[str]:
    """Parameters of a suite as options."""
    return [word for name, value in values.items() for word in ("--param", f"{name}={value}")]


def run(bench: Bench, *words: str, code: int = 0) -> str:
    """Run a command that must end with this exit code; its output."""
    result = bench.run(*words, timeout=900)
    print(result.returncode, " ".join(words), flush=True)
    assert result.returncode == code, result.stderr
    return result.stdout


def prepare(root: Path) -> Bench:
    """A bench with the smallest practice drive: it is overwritten."""
    bench = Bench(root)
    folder = bench.home / "practice"
    folder.mkdir(parents=True, mode=0o700)
    with (folder / "practice.img").open("wb") as file:
        file.truncate(4 << 30)
    run(bench, "practice")
    return bench


def recipe(root: Path, name: str, threshold: float, *, retries: int = 0, more: str = "") -> str:
    path = root / f"{name}.toml"
    text = RECIPE.format(name=name, wanted=threshold, retries=retries, more=more)
    path.write_text(text, encoding="utf-8")
    return str(path)


def run_suites(bench: Bench) -> None:
    """Runs 1 to 9: each suite, a queue of two."""
    for suite, *more in (
        ("cdm", *params(**{**PARAMS, "passes": 2, "latency_log": "yes"})),
        ("das", "--scale", "0.001", *params(passes=2, idle=1, sets="Home")),
        ("atto", *params(**{"from": "4KiB", "to": "16KiB", "length": "4MiB"})),
        ("consistency", *params(span=1, fills=0, time=4)),
        ("sustained", *params(span="160MiB", recovery=1, burst="16MiB", purge="none")),
        ("erase", *params(samples=50)),
        ("sweep", *params(depths="1,4", time=1, span=1, purge="none")),
        ("cdm,atto", *params(**{"cdm.profile": "demo", "cdm.passes": 1, "cdm.time": 1,
                                "cdm.size": "16MiB", "cdm.interval": 0, "atto.from": "8KiB",
                                "atto.to": "8KiB", "atto.length": "1MiB"})),
    ):  # fmt: skip
        run(bench, *bench.practice(suite, *more))


def cancel_run(bench: Bench) -> None:
    process = bench.start(*bench.practice("cdm", *params(**{**PARAMS, "time": 60})))
    number = wait_for(lambda: running_run(bench))
    wait_for(lambda: steps(bench, number) > 2)
    run(bench, "cancel", str(number))
    process.communicate(timeout=120)
    assert process.returncode == 130


def interrupt_purge(bench: Bench) -> None:
    """An overwrite whose process is killed in the middle."""
    process = bench.start(*bench.practice("erase", *params(rung="overwrite", samples=16)))

    def is_written() -> bool:
        with contextlib.closing(database.open_reader(bench.home)) as db:
            row = db.execute("SELECT max(written) FROM purges").fetchone()
        return bool(row[0])

    wait_for(is_written, 240)
    process.kill()
    process.communicate()


def running_run(bench: Bench) -> int | None:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        rows = run_queries.running(db)
    return int(rows[0]["number"]) if rows else None


def steps(bench: Bench, number: int) -> int:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        return len(run_reader.run_json(db, number)["steps"])


def use_agent(bench: Bench) -> None:
    """What only an agent does: scans, slots, a queue of which one entry is cancelled."""
    agent = bench.start("agent")
    try:

        def practice() -> Any:
            with contextlib.closing(database.open_reader(bench.home)) as db:
                scan = known_drives.drive_scans(db)
            return scan and next((d for d in scan[1]["drives"] if d["code"] == "practice"), None)

        drive = wait_for(practice)
        for text in ("OP:kim", "PO:4711", "A-100"):
            run(bench, "desk", "scan", text)
        wait_for(lambda: count(bench, "scans") == 3)
        key = drive["identity"]["key"]
        with contextlib.closing(database.open_writer(bench.home)) as db:
            run_queries.set_label(db, key, "bench 7, \u00fcben", ())
            auth.new_token(db, "a script")
        body = {
            "drive": "practice", "drive_key": key, "diskseq": drive["diskseq"],
            "erase": "practice",
            "runs": [{"suite": "cdm", "params": {**PARAMS, "only": "read"}},
                     {"suite": "cdm", "params": {**PARAMS, "time": "60"}},
                     {"suite": "atto", "params": {}}],
        }  # fmt: skip
        with contextlib.closing(database.open_for_web(bench.home)) as db:
            agent_requests.add_request(db, "run", body)
            imported_runs.add_upload(db, BUNDLE.read_bytes())
        # The second entry is cancelled once it writes; the third is then not started.
        first = wait_for(lambda: running_run(bench))
        second = wait_for(lambda: (running_run(bench) or 0) > first and running_run(bench))
        wait_for(lambda: steps(bench, second) > 2)
        run(bench, "cancel", str(second))
        wait_for(lambda: not has_open_queue(bench))
        wait_for(lambda: count(bench, "upload_answers"))
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.communicate(timeout=120)


def count(bench: Bench, table: str) -> int:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def has_open_queue(bench: Bench) -> bool:
    with contextlib.closing(database.open_reader(bench.home)) as db:
        sql = "SELECT count(*) FROM queues WHERE state = 'open'"
        return bool(db.execute(sql).fetchone()[0])


def make_bundle(root: Path) -> None:
    """A bundle of another bench's run with its verdict and its artefacts."""
    other = prepare(root)
    try:
        run(other, "qa", recipe(root, "passes", 0.1), "--drive", "practice", *ERASE,
             "--asset", "A-17", "--operator", "kim")  # fmt: skip
        run(other, "export", "1", "--format", "bundle", "--artefacts", "--output", str(BUNDLE))
    finally:
        other.close()


def adjust(store: Path) -> None:
    """What the practice drive has not, and what is this machine's alone."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        db.execute(
            "UPDATE temperatures SET celsius = 30.5 + rowid % 7, source = 'invented', reason = NULL"
            " WHERE run = 5"
        )
        db.execute("UPDATE purges SET password = 'invented' WHERE state = 'done'")
        db.execute(
            "INSERT INTO host_settings (run, path, old, new, restored)"
            " VALUES (3, '/sys/block/loop0/queue/scheduler', 'mq-deadline', 'none', 1)"
        )
        db.execute("DELETE FROM drive_scans")
        db.commit()
        db.execute("VACUUM")


def dump(store: Path) -> str:
    """The store as SQL text, its version included."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        lines = [*db.iterdump(), f"PRAGMA user_version = {version};"]
    return "\n".join(lines) + "\n"


def make() -> None:
    FOLDER.mkdir(exist_ok=True)
    ROOT.mkdir(mode=0o700)
    root = ROOT
    make_bundle(root / "other")
    bench = prepare(root)
    patch = pytest.MonkeyPatch()
    patch.setenv("BENCHSTICK_RUN", bench.environment["BENCHSTICK_RUN"])
    try:
        SETTINGS.write_text(SETTINGS_TEXT, encoding="utf-8")
        (bench.home / "benchstick.toml").write_text(SETTINGS_TEXT, encoding="utf-8")
        for name, text, command in (
            ("sheet.toml", MODEL, "model"), ("magazine.toml", REFERENCE, "reference"),
        ):  # fmt: skip
            (root / name).write_text(text, encoding="utf-8")
            run(bench, command, "import", str(root / name))
        run_suites(bench)
        cancel_run(bench)
        for name, threshold, more, code in (
            ("passes", 0.1, "", 0), ("fails", 9e6, "", 1), ("unknown", 0.1, UNKNOWN, 5),
        ):  # fmt: skip
            file = recipe(root, name, threshold, retries=int(code == 1), more=more)
            run(bench, "recipe", "add", file)
            run(bench, "qa", name, "--drive", "practice", *ERASE, "--order", "4711", code=code)
        use_agent(bench)
        interrupt_purge(bench)
        # The next command closes the run that was killed.
        run(bench, *bench.practice("atto", *params(**{"from": "4KiB", "to": "4KiB",
                                                       "length": "1MiB"})))  # fmt: skip
    finally:
        bench.close()
        patch.undo()
    adjust(bench.home / "store.db")
    STORE.write_text(dump(bench.home / "store.db"), encoding="utf-8")
    save_table(root / "copies")
    shutil.rmtree(root)


def save_table(root: Path) -> None:
    """Read a copy of the saved store, and the bundle in an empty one, and save the values."""
    baseline.make_store(root / "store/home")
    values = baseline.store_values(root / "store/home")
    values |= baseline.bundle_values(root / "bundle/home")
    baseline.write_table([Row(*key, "", value) for key, value in values.items()])


def rename(old: str, new: str, item: str = "") -> int:
    """Give values a new name in the table; how many."""
    pattern = re.compile(re.escape(old).replace(r"\[\*\]", r"\[(\d+)\]"))
    count = 0
    rows = []
    for row in baseline.read_table():
        name = row.new or row.old
        if row.item.startswith(item) and (match := pattern.search(name)):
            text = new
            for place in match.groups():
                text = text.replace("[*]", f"[{place}]", 1)
            row = replace(row, new=name[: match.start()] + text + name[match.end() :])
            count += 1
        rows.append(row)
    baseline.write_table(rows)
    return count


def main(words: list[str]) -> int:
    if words == ["make"]:
        make()
    elif words[:1] == ["rename"] and len(words) in (3, 4):
        print(f"{rename(*words[1:])} names changed")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
