"""The agent's desk: scans of the page, verdicts to the webhook, settings with an error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchstick.agent.station import Desk
from benchstick.errors import BadInput
from benchstick.plan.labels import Ticket, scan_text
from benchstick.store import agent_requests, barcode_scans, database, webhook_outbox
from tests.host.bench import Bench, wait_for
from tests.host.test_webhook import Receiver


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    new_bench = Bench(tmp_path)
    new_bench.home.mkdir()
    yield new_bench
    for process in new_bench.started:
        process.terminate()
        process.communicate(timeout=60)


def test_an_agent_keeps_scans_and_delivers(bench: Bench) -> None:
    receiver = Receiver(500)
    (bench.home / "benchstick.toml").write_text(
        f'webhook = "{receiver.url}"\nscanner = "No such scanner"\n'
        'scan_prefixes = {"OP:" = "operator"}\n',
        encoding="utf-8",
    )
    with contextlib.closing(database.open_writer(bench.home)) as db:
        webhook_outbox.put(db, "from before", "{}")
        agent = bench.start("agent")
        wait_for(lambda: barcode_scans.scanner_state(db) or agent.poll() is not None)
        assert barcode_scans.scanner_state(db) == "no scanner 'No such scanner' is plugged in"
        numbers = [
            agent_requests.add_request(db, "scan", {"text": text})
            for text in ("OP:anna", "A-1", " ")
        ]
        answers = [wait_for(partial(agent_requests.answer_of, db, number)) for number in numbers]
        states = [answer["state"] for answer in answers]
        assert states == ["done", "done", "refused"]
        assert barcode_scans.waiting(db) == Ticket(asset="A-1", operator="anna")
        drop_request = agent_requests.add_request(db, "scan", {"drop": True})
        wait_for(lambda: agent_requests.answer_of(db, drop_request))
        assert barcode_scans.waiting(db) == Ticket()
        wait_for(lambda: webhook_outbox.list_letters(db)["waiting"] == 0)
        assert receiver.received_keys() == ["from before", "from before"]


def test_the_desk_by_command(bench: Bench) -> None:
    (bench.home / "benchstick.toml").write_text(
        'bench_ports = {"slot 1" = "99-1"}\nscan_prefixes = {"PO:" = "order"}\n', encoding="utf-8"
    )
    for argv in (("show",), ("stop", "slot 1"), ("scan", "A-1")):
        result = bench.run("desk", *argv)
        assert result.returncode == 2, argv
        assert "benchstick agent" in result.stderr
    bench.start("agent")
    wait_for(lambda: bench.run("desk", "show").returncode == 0)
    wait_for(lambda: bench.json("desk", "show")["slots"][0]["state"] == "empty")
    for text in ("A-1", "PO:7"):
        result = bench.run("desk", "scan", text)
        assert (result.returncode, result.stdout) == (0, f"kept: {text}\n")
    document = bench.json("desk", "show")
    assert document["schema"] == "benchstick/desk/2" and document["agent"]
    assert document["ticket"] == {"asset": "A-1", "order": "7", "operator": "", "serial": ""}
    assert [scan["text"] for scan in document["scans"]] == ["PO:7", "A-1"]
    output = bench.run("desk", "show").stdout
    assert "slot 1  empty" in output and "the next drive gets: asset A-1, order 7" in output
    assert bench.run("desk", "drop").returncode == 0
    assert not any(bench.json("desk", "show")["ticket"].values())
    for argv, message in (
        (("stop", "slot 1"), "'stop' is not possible for a slot that is empty"),
        (("again", "slot 1"), "no recipe starts automatically here"),
        (("stop", "slot 9"), "there is no such slot; there are: slot 1"),
        (("scan", " "), "text: 1 to 100 characters"),
    ):
        result = bench.run("desk", *argv)
        assert (result.returncode, result.stdout) == (2, ""), argv
        assert message in result.stderr


def test_an_error_in_the_settings_ends_the_agent_with_its_line(bench: Bench) -> None:
    (bench.home / "benchstick.toml").write_text('\nscanner = "*"\n', encoding="utf-8")
    result = bench.run("agent")
    assert result.returncode == 2
    assert "benchstick.toml:2: scanner: '*' would take every keyboard" in result.stderr


@pytest.mark.parametrize("value", [None, 5, "", "  ", "x" * 101, "a\x00b", "a\x1b[2Jb", ["a"]])
def test_scans_of_the_page_are_checked(value: object) -> None:
    with pytest.raises(BadInput, match="text: "):
        scan_text(value)


def test_a_long_scan_is_kept_cut(bench: Bench) -> None:
    with contextlib.closing(database.open_writer(bench.home)) as db:
        Desk(bench.home)._keep(db, "scanner", "x" * 500)
        (row,) = barcode_scans.list_scans(db)
        assert (len(row["text"]), len(row["value"])) == (200, 100)
