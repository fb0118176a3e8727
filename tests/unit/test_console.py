"""The bench's screen: what it shows on which size, in which characters, and what is no PASS."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchstick.appliance import banner_font, network, qr, screen
from benchstick.appliance.console import frame
from benchstick.appliance.network import Port
from benchstick.appliance.outcome_text import Ending, ending
from benchstick.appliance.screen_model import FinishedRun, Line, Looker, Running, SlotLine, View
from benchstick.appliance.web_address import Page
from benchstick.plan.states import RunState, SlotState
from benchstick.store import bays, database
from benchstick.store.bays import Slot

VIEW = View(
    version="0.1.0",
    now="2026-11-21 13:10 UTC",
    ports=(
        Port("eth0", True, ("192.168.100.123", "169.254.3.4")),
        Port("eth1", False),
        Port("enp5s0", True),
    ),
    page=Page(1, "0.0.0.0", 80, "482 913"),
    name="benchstick.local",
    drives=(
        Line("sda", "SanDisk Ultra", 32 * 10**9, "usb-bot", "protected"),
        Line("sdb", "Samsung Portable SSD T7 Shield", 10**12, "usb-uas", "free", "run 12 PASS"),
        Line("nvme0n1", "WD_BLACK SN850X", 2 * 10**12, "nvme", "locked"),
    ),
)
RUNNING = Running(13, "das", "Samsung Portable SSD T7 Shield", "Videos, pass 1", 0.42, 512.0)
PASS = FinishedRun(12, "das", "Samsung Portable SSD T7 Shield", Ending("PASS", "good", ""))
FAIL = replace(PASS, ending=Ending("FAIL", "bad", "write 312 MB/s, wanted at least 900"))


SLOTS = (
    SlotLine("slot 1", "PASS", "good", "S1 Samsung T7", ""),
    SlotLine("slot 2", "FAIL", "bad", "S2 Crucial X9", "SEQ1M Q8T1 read 400 MB/s, wanted >= 900"),
    SlotLine("slot 3", "8", "neither", "S3 Intenso", "seconds until its test begins"),
    SlotLine("slot 4", "EMPTY", "neither", "", ""),
)


def text(view: View, width: int = 80, height: int = 25) -> str:
    return "\n".join(frame(view, width, height, colours=False))


def test_the_usual_screen_shows_all_of_it() -> None:
    output = text(VIEW)
    for words in (
        "http://192.168.100.123/",
        "http://169.254.3.4/",
        "http://benchstick.local/",
        "no cable",
        "waiting for an address",
        "482 913",
        "SanDisk Ultra",
        "protected",
        "run 12 PASS",
        "locked",
        "Benchstick 0.1.0",
    ):
        assert words in output, output
    for line in qr.code("http://192.168.100.123/"):
        assert line in output


@pytest.mark.parametrize(
    "view",
    [
        VIEW,
        replace(VIEW, last_run=FAIL),
        replace(VIEW, running=(RUNNING,)),
        replace(VIEW, slots=SLOTS),
        replace(VIEW, slots=SLOTS[:1]),
    ],
)
@pytest.mark.parametrize("size", [(80, 25), (128, 48), (80, 24), (40, 12), (20, 5), (240, 67)])
def test_nothing_leaves_the_screen_or_the_font(view: View, size: tuple[int, int]) -> None:
    odd = replace(view, notices=("Results will not last: " + "the stick is write-protected. " * 5,))
    rows = frame(odd, *size, colours=False)
    assert len(rows) == size[1]
    assert all(len(row) < size[0] for row in rows)
    "\n".join(rows).encode("cp437")


def test_the_code_is_dropped_before_anything_that_must_be_seen() -> None:
    small = text(VIEW, 60, 16)
    assert "█" not in small
    assert "482 913" in small
    output = text(replace(VIEW, last_run=FAIL, notices=("Results will not last: x.",)))
    assert "wanted at least 900" in output
    assert "Results will not last" in output
    assert "482 913" in output


def test_the_code_is_what_the_library_made() -> None:
    """Read back from the characters, margin included."""
    import segno

    url = "http://192.168.1.20/"
    halves = {" ": (1, 1), "▀": (0, 1), "▄": (1, 0), "█": (0, 0)}
    rows: list[list[int]] = []
    for line in qr.code(url):
        rows.append([halves[letter][0] for letter in line])
        rows.append([halves[letter][1] for letter in line])
    expected = [list(row) for row in segno.make_qr("HTTP://192.168.1.20").matrix_iter(border=4)]
    assert rows[: len(expected)] == expected
    assert not any(any(row) for row in rows[len(expected) :])


@pytest.mark.parametrize(
    "url", ["http://255.255.255.255/", "http://169.254.255.255:8080/", "http://[fe80::1]:65535/"]
)
def test_every_code_fits_next_to_the_addresses(url: str) -> None:
    lines = qr.code(url)
    assert len(lines) <= 17
    assert len(lines[0]) <= 79 - 40


def test_a_progress_line_shows_step_share_and_time() -> None:
    output = text(replace(VIEW, running=(RUNNING,) * 5, last_run=PASS))
    assert "Run 13  das on Samsung" in output
    assert "42%  8 min 32 s left  Videos, pass 1" in output
    assert "and 2 more running" in output
    assert "████  " not in output.splitlines()[-9], "a run that is on hides how the last one ended"


@pytest.mark.parametrize(("outcome", "style"), [(PASS, "42"), (FAIL, "41")])
def test_the_verdict_is_big_and_coloured_only_where_asked(outcome: FinishedRun, style: str) -> None:
    view = replace(VIEW, last_run=outcome)
    for line in banner_font.big(outcome.ending.word, 78):
        assert line.strip() in text(view)
    assert "\x1b" not in text(view)
    assert f"\x1b[0;1;37;{style}m" in "\n".join(frame(view, 80, 25, colours=True))


def test_every_word_has_letters_and_fits() -> None:
    states = set(RunState) - {RunState.RUNNING, RunState.CORRUPT}
    words = {ending(state, code, None, None).word for state in states for code in (0, 1, 4, 5, 6)}
    words |= {
        ending(RunState.COMPLETE, 0, verdict, None).word
        for verdict in ("pass", "fail", "inconclusive")
    }
    for word in words:
        lines = banner_font.big(word, 78)
        assert len(lines) == banner_font.HEIGHT, word
        assert len(lines[0]) <= 78
    assert banner_font.big("PASS", 10) == ["PASS"]


@pytest.mark.parametrize(
    ("state", "code", "verdict", "word"),
    [
        (RunState.COMPLETE, 0, None, "DONE"),
        (RunState.COMPLETE, 0, "pass", "PASS"),
        (RunState.COMPLETE, 1, "fail", "FAIL"),
        (RunState.FAILED, 1, None, "FAIL"),
        (RunState.COMPLETE, 5, None, "INCONCLUSIVE"),
        (RunState.FAILED, 4, None, "DRIVE LOST"),
        (RunState.FAILED, 6, None, "ERROR"),
        (RunState.FAILED, 70, None, "ERROR"),
        (RunState.CANCELLED, 130, None, "CANCELLED"),
        (RunState.INTERRUPTED, None, None, "INTERRUPTED"),
        (RunState.REFUSED, 3, None, "REFUSED"),
    ],
)
def test_pass_and_fail_are_verdicts_and_nothing_else(
    state: RunState, code: int | None, verdict: str | None, word: str
) -> None:
    assert ending(state, code, verdict, None).word == word


def test_a_model_name_cannot_control_the_terminal() -> None:
    line = Line("sda", "Evil\x1b[2J\x07\u202e\u4e2d", 1, "usb-bot", "free")
    output = text(replace(VIEW, drives=(line,)))
    assert "\x1b" not in output
    assert "Evil?[2J??" in output


@pytest.mark.parametrize(
    ("page", "url"),
    [
        (Page(1, "0.0.0.0", 80, None), "http://192.168.100.123/"),
        (Page(1, "0.0.0.0", 8080, None), "http://192.168.100.123:8080/"),
        (Page(1, "169.254.3.4", 80, None), "http://169.254.3.4/"),
        (Page(1, "127.0.0.1", 80, None), None),
        (None, None),
    ],
)
def test_the_code_leads_where_the_page_answers(page: Page | None, url: str | None) -> None:
    assert screen.best_url(replace(VIEW, page=page)) == url


def test_only_wired_ports_are_listed(tmp_path: Path) -> None:
    net = tmp_path / "class/net"
    for name, kind, device, wireless, carrier in (
        ("eth0", "1", True, False, "1"),
        ("eth1", "1", True, False, "0"),
        ("lo", "772", False, False, "1"),
        ("wlan0", "1", True, True, "1"),
        ("br0", "1", False, False, "1"),
    ):
        (net / name).mkdir(parents=True)
        (net / name / "type").write_text(kind + "\n")
        (net / name / "carrier").write_text(carrier + "\n")
        if device:
            (net / name / "device").mkdir()
        if wireless:
            (net / name / "wireless").mkdir()
    have = [("lo", "127.0.0.1"), ("eth0", "169.254.1.1"), ("eth0", "10.0.0.2")]
    ports = network.ports(tmp_path, lambda: have)
    assert ports == [Port("eth0", True, ("10.0.0.2", "169.254.1.1")), Port("eth1", False)]


def test_addresses_are_read_from_the_kernel() -> None:
    assert ("lo", "127.0.0.1") in network.addresses()


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (b"+ 2 0 benchstick.local\n", "benchstick.local"),
        (b"+ 2 0 Benchstick-2.local\n", "benchstick-2.local"),
        (b"+ 2 0 somebody.local\n", None),
        (b"-15 Timeout reached\n", None),
        (b"", None),
    ],
)
def test_the_name_is_read_from_avahi(tmp_path: Path, answer: bytes, name: str | None) -> None:
    requests: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(tmp_path / "socket"))
        daemon.listen(1)

        def serve() -> None:
            link, _ = daemon.accept()
            with link:
                requests.append(link.recv(100))
                link.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert network.mdns_name("10.0.0.2", tmp_path / "socket") == name
        thread.join()
    assert requests == [b"RESOLVE-ADDRESS 10.0.0.2\n"]


def test_without_avahi_there_is_no_name(tmp_path: Path) -> None:
    assert network.mdns_name("10.0.0.2", tmp_path / "socket") is None


@pytest.mark.parametrize("size", [(128, 48), (160, 60), (100, 40)])
def test_slots_have_words_that_can_be_read_from_afar(size: tuple[int, int]) -> None:
    output = text(replace(VIEW, slots=SLOTS, last_run=FAIL), *size)
    for slot in SLOTS:
        assert slot.name in output
        assert slot.message in output
    half = (size[0] - 1) // 2
    for word in ("PASS", "FAIL", "8"):
        lines = banner_font.big(word, half - 2)
        assert len(lines) == banner_font.HEIGHT
        assert all(line.strip() in output for line in lines), word
    coloured_text = "\n".join(frame(replace(VIEW, slots=SLOTS), *size, colours=True))
    for style in ("good-block", "bad-block", "plain-block"):
        assert f"\x1b[{screen.STYLES[style]}m" in coloured_text


def test_on_a_small_screen_each_slot_has_its_line() -> None:
    lines = text(replace(VIEW, slots=SLOTS)).splitlines()
    assert lines[-4:] == [
        " slot 1: PASS  S1 Samsung T7",
        " slot 2: FAIL  S2 Crucial X9  SEQ1M Q8T1 read 400 MB/s, wanted >= 900",
        " slot 3: 8  S3 Intenso  seconds until its test begins",
        " slot 4: EMPTY",
    ]
    assert "http://192.168.100.123/" in "\n".join(lines)


def test_the_slots_of_the_store_are_on_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    slots = [
        Slot(name="a", state=SlotState.COUNTDOWN, code="S1", model="M", until=now + 9),
        Slot(name="b", state=SlotState.TESTING, code="S2", model="M"),
        Slot(
            name="c",
            state=SlotState.FINISHED,
            code="S3",
            model="M",
            verdict="fail",
            message="too slow",
        ),
        Slot(name="d", state=SlotState.HERE, code="S4", model="M", message="plug it in again"),
        Slot(name="e"),
    ]
    with contextlib.closing(database.open_writer(tmp_path / "home")) as db:
        bays.keep(db, slots)
    looker = Looker("1")
    slot_views = looker.look().slots
    looker.close()
    assert [(one.name, one.word, one.kind) for one in slot_views[1:]] == [
        ("b", "TESTING", "neither"), ("c", "FAIL", "bad"), ("d", "NOT TESTED", "neither"),
        ("e", "EMPTY", "neither"),
    ]  # fmt: skip
    assert slot_views[0].word == "9"
    assert (slot_views[2].message, slot_views[2].model) == ("too slow", "S3 M")
