"""The medium token, the meaning of a reader's answers, and when a run checks the medium."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchstick.drives import medium
from benchstick.drives.medium import Token
from benchstick.engine.measure.sampler import Sampler
from benchstick.engine.run_context import Either, StepOutcome
from benchstick.engine.run_request import make_ready
from benchstick.engine.steps import executors
from benchstick.errors import BadInput, DriveLost, Refused
from benchstick.plan.request import RunRequest
from benchstick.plan.steps import BuildSet, Copy, CopyWithin, Empty, Fio, Idle, LaySet, Skip

TOKEN = Token(64 << 20, 17, "0" * 32)


@pytest.mark.parametrize("token", [TOKEN, Token(5, None), Token(5, 3), Token(5, None, "a" * 32)])
def test_a_token_survives_a_form(token: Token) -> None:
    assert Token.parse(token.text) == token


@pytest.mark.parametrize("text", ["1", "1-2", "1-2-3", "x-1-x", "1-2-" + "g" * 32, "1-2-x\n", " "])
def test_what_is_no_token_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="medium"):
        Token.parse(text)


@pytest.mark.parametrize(
    ("now", "before_writing", "after_writing"),
    [
        (TOKEN, True, True),
        (Token(64 << 20, 17, "1" * 32), False, True),
        (Token(64 << 20, 17, None), False, True),
        (Token(64 << 20, 18, "0" * 32), False, False),
        (Token(32 << 20, 17, "0" * 32), False, False),
        (None, False, False),
    ],
)
def test_content_counts_until_the_bench_writes(
    now: Token | None, before_writing: bool, after_writing: bool
) -> None:
    assert (TOKEN.difference(now, content=True) is None) == before_writing
    assert (TOKEN.difference(now, content=False) is None) == after_writing


def test_a_token_without_content_compares_size_and_sequence() -> None:
    assert Token(64 << 20, 17).difference(TOKEN, content=True) is None


@pytest.mark.parametrize(
    ("data", "key", "code"),
    [
        (bytes.fromhex("700006000000000a00000000280000000000"), 0x6, 0x28),
        (bytes.fromhex("700002000000000a000000003a0100000000"), 0x2, 0x3A),
        (bytes.fromhex("7206280000000000"), 0x6, 0x28),
        (bytes.fromhex("72023a0200000000"), 0x2, 0x3A),
        (bytes.fromhex("f00006"), 0, 0),
        (b"", 0, 0),
    ],
)
def test_sense_data_in_both_formats(data: bytes, key: int, code: int) -> None:
    assert medium.parse_sense(data) == (key, code)


@pytest.mark.parametrize(
    ("key", "code", "is_change"),
    [
        (0x6, 0x28, True),
        (0x6, 0x3A, True),
        (0x2, 0x3A, True),
        # A reset, a disk that spins up, a good answer, a medium error.
        (0x6, 0x29, False),
        (0x2, 0x04, False),
        (0x0, 0x00, False),
        (0x3, 0x28, False),
    ],
)
def test_what_a_reader_answers_for_a_change(key: int, code: int, is_change: bool) -> None:
    assert (medium.meaning(key, code) is not None) == is_change


def test_a_filesystem_in_use_has_no_content_to_compare() -> None:
    answer = {"size": "4096", "diskseq": "5", "ends": "a" * 32}
    assert medium.from_probe({**answer, "exclusive": "ok"}) == Token(4096, 5, "a" * 32)
    assert medium.from_probe({**answer, "exclusive": "busy"}) == Token(4096, 5)
    assert medium.from_probe({"exclusive": "ok", "read": "ok", "rdev": "8:0"}) is None


def test_writes_are_stopped_by_the_state_of_the_scsi_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(medium, "_STATES", tmp_path)
    state = tmp_path / "sdx/device/state"
    state.parent.mkdir(parents=True)
    state.write_text("running\n")
    assert medium.stop_writes("sdx")
    assert state.read_text() == "offline\n"
    medium.allow_writes("sdx")
    assert state.read_text() == "running\n"
    state.write_text("deleted")
    assert not medium.stop_writes("sdx")
    assert state.read_text() == "deleted"
    assert not medium.stop_writes("loop0")


# ---- the sampler


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    folder = tmp_path / "block/sdx"
    folder.mkdir(parents=True)
    (folder / "stat").write_text(" ".join(["0"] * 17))
    (folder / "inflight").write_text("0 0")
    (folder / "diskseq").write_text("17\n")
    return tmp_path


def test_the_sampler_notices_another_disk_sequence(sysfs: Path) -> None:
    calls: list[bool] = []
    sampler = Sampler("sdx", interval=0.01, on_change=lambda: calls.append(True), sysfs=sysfs)
    sampler.start()
    assert not sampler.drive_lost.wait(0.1)
    (sysfs / "block/sdx/diskseq").write_text("18\n")
    assert sampler.drive_lost.wait(10)
    sampler.stop()
    assert calls == [True]


def test_the_sampler_runs_where_the_kernel_has_no_disk_sequence(sysfs: Path) -> None:
    (sysfs / "block/sdx/diskseq").unlink()
    sampler = Sampler("sdx", interval=0.01, sysfs=sysfs)
    sampler.start()
    assert not sampler.drive_lost.wait(0.1)
    sampler.stop()
    assert sampler.take()


def test_a_tool_ends_with_a_cancel_and_with_the_drives_loss() -> None:
    cancel, loss = threading.Event(), threading.Event()
    either = Either(cancel, loss)
    assert not either.is_set()
    loss.set()
    assert either.is_set()
    loss.clear()
    cancel.set()
    assert either.is_set()


# ---- the steps


class Calls:
    """A run that records the order of medium checks and steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.lost_at: int | None = None
        self.hold = SimpleNamespace(check_medium=self._check)
        self.target = SimpleNamespace(folder=None)

        def step(_work: Any, item: Any) -> StepOutcome:
            self.calls.append(type(item).__name__)
            return StepOutcome()

        monkeypatch.setattr(executors, "_EXECUTORS", dict.fromkeys(executors._EXECUTORS, step))

    def _check(self) -> None:
        self.calls.append("ask")
        if self.lost_at == len(self.calls):
            raise DriveLost("another medium")


def build_step(kind: type[Any]) -> Any:
    """A step of this kind, without its fields."""
    step = object.__new__(kind)
    object.__setattr__(step, "name", "step")
    return step


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield Calls(monkeypatch)


@pytest.mark.parametrize("kind", [Fio, Copy, LaySet, CopyWithin, Empty])
def test_the_medium_is_checked_before_each_step_on_the_drive(work: Any, kind: type[Any]) -> None:
    executors.carry_out(work, build_step(kind))
    assert work.calls == ["ask", kind.__name__]


def test_the_medium_is_checked_after_each_rest(work: Any) -> None:
    executors.carry_out(work, build_step(Idle))
    assert work.calls == ["ask", "Idle", "ask"]
    work.lost_at = 6
    with pytest.raises(DriveLost):
        executors.carry_out(work, build_step(Idle))


@pytest.mark.parametrize("kind", [BuildSet, Skip])
def test_the_medium_is_not_checked_before_a_step_elsewhere(work: Any, kind: type[Any]) -> None:
    executors.carry_out(work, build_step(kind))
    assert work.calls == [kind.__name__]


def test_no_step_starts_on_another_medium(work: Any) -> None:
    work.lost_at = 1
    with pytest.raises(DriveLost):
        executors.carry_out(work, build_step(Copy))
    assert work.calls == ["ask"]


# ---- requests


BODY = {"suite": "cdm", "drive": "S", "drive_key": "k", "diskseq": 17}


def test_a_request_carries_the_token_and_older_ones_have_none() -> None:
    assert RunRequest.from_json(1, {**BODY, "medium": TOKEN.text}).medium == TOKEN.text
    assert RunRequest.from_json(1, dict(BODY)).medium is None
    assert RunRequest.from_json(1, {**BODY, "medium": None}).medium is None
    for bad in (5, ["x"]):
        with pytest.raises(BadInput, match="medium"):
            RunRequest.from_json(1, {**BODY, "medium": bad})


@pytest.mark.parametrize(
    ("now", "follows", "is_refused"),
    [
        (TOKEN, False, False),
        (Token(64 << 20, 17, "1" * 32), False, True),
        (Token(64 << 20, 17, "1" * 32), True, False),
        (Token(64 << 20, 18, "0" * 32), True, True),
    ],
)
def test_a_plan_is_for_the_medium_that_was_chosen(
    monkeypatch: pytest.MonkeyPatch, now: Token, follows: bool, is_refused: bool
) -> None:
    class Planned(Exception):
        pass

    def plan(*_args: Any, **_more: Any) -> None:
        raise Planned

    monkeypatch.setattr("benchstick.suites.registry.make_plan", plan)
    identity = SimpleNamespace(serial="S")
    drive: Any = SimpleNamespace(
        code="S", medium=now, identity=identity, to_json=lambda: {"facts": {}}
    )
    monkeypatch.setattr("benchstick.drives.sanitize_methods.unusable", lambda _drive: None)
    wish = RunRequest(suite="cdm", drive="S", medium=TOKEN.text, follows=follows)
    with pytest.raises(Refused if is_refused else Planned):
        make_ready(wish, Path("/nonexistent"), drive=drive)


def test_a_device_that_does_not_answer_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(medium, "_ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(medium, "_ask", lambda _path: time.sleep(1))
    with pytest.raises(DriveLost, match="no answer"):
        medium.ask("/dev/sdx")
