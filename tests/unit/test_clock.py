"""The bench's clock: who may set it, to what, and that a late or odd request sets nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.appliance import clock, state
from benchstick.drives.subprocesses import Finished
from benchstick.errors import BadInput, Refused

NOW = 1_800_000_000.0


class Tools:
    """Records the calls and runs nothing."""

    def __init__(self, code: int = 0) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.code = code

    def __call__(self, argv: Sequence[str], **options: Any) -> Finished:
        self.calls.append(tuple(argv))
        return Finished(tuple(argv), self.code, b"", b"no RTC", 0.0)


@pytest.fixture
def stick(bench_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A booted stick whose clock is not synchronised."""
    paths.make_run_folder()
    state.write({"schema": state.SCHEMA, "persistent": True, "stick": None})
    monkeypatch.setattr(clock, "is_kept", lambda: False)


def test_the_rtc_is_read_as_configured() -> None:
    tools = Tools()
    assert clock.from_rtc("utc", tools) is None
    assert clock.from_rtc("local", tools) is None
    assert tools.calls == [("hwclock", "-s", "-u"), ("hwclock", "-s", "-l")]
    assert "no RTC" in str(clock.from_rtc("utc", Tools(1)))


def test_the_clock_is_set_to_the_browsers_time_plus_the_wait(
    stick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([100.0, 103.5])
    monkeypatch.setattr(clock, "since_boot", lambda: next(times))
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    tools, was_set = Tools(), list[float]()
    shift = clock.carry_out(clock.wish(NOW), tools, was_set.append)
    assert was_set == [NOW + 3.5]
    assert shift == NOW + 3.5 - 1000.0
    assert tools.calls == [("hwclock", "-w", "-u")]


def test_an_rtc_with_local_time_is_never_written(stick: None, bench_home: Path) -> None:
    bench_home.mkdir()
    paths.settings_file().write_text('clock = "local"\n')
    tools = Tools()
    clock.carry_out(clock.wish(NOW), tools, lambda now: None)
    assert tools.calls == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"time": NOW},
        {"time": "1", "since_boot": 1.0},
        {"time": True, "since_boot": 1.0},
        {"time": float("nan"), "since_boot": None},
        {"time": 0.0, "since_boot": None},
        {"time": 9e12, "since_boot": None},
        {"time": NOW, "since_boot": -1e6},
        {"time": NOW, "since_boot": 1e12},
    ],
)
def test_an_odd_or_late_request_sets_nothing(stick: None, body: dict[str, Any]) -> None:
    if "since_boot" in body and body["since_boot"] is None:
        body = {**body, "since_boot": clock.since_boot()}
    with pytest.raises(BadInput):
        clock.carry_out(body, Tools(), lambda now: pytest.fail("it was set"))


def test_a_synchronised_clock_is_not_set(
    stick: None, bench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "is_kept", lambda: True)
    with pytest.raises(Refused, match="clock is set by"):
        clock.carry_out(clock.wish(NOW), Tools(), lambda now: pytest.fail("it was set"))
    monkeypatch.setattr(clock, "is_kept", lambda: False)
    (paths.run_folder() / "appliance/state.json").unlink()
    with pytest.raises(Refused, match="clock is set by"):
        clock.carry_out(clock.wish(NOW), Tools(), lambda now: pytest.fail("it was set"))


def test_the_clock_cannot_be_set_to_a_time_long_past() -> None:
    for odd in (0.0, 1e9, 9e12, float("nan"), float("inf")):
        with pytest.raises(BadInput):
            clock.wish(odd)


def test_the_kernel_reports_whether_the_clock_is_synchronised() -> None:
    assert clock.is_kept() in (True, False)
