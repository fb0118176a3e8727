"""One drive tested with a recipe, with stand-ins for the drive and its runs: which runs start on
which drive, and the verdict."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from benchstick.agent import hotplugged
from benchstick.drives import blank, discover
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.engine import host_settings
from benchstick.engine.run_request import Ready
from benchstick.engine.runner import Outcome
from benchstick.errors import BadInput
from benchstick.plan.request import RunRequest
from benchstick.plan.states import GuardState, RunState
from benchstick.qa import drive_session
from benchstick.qa.drive_session import Ask, DriveTest
from benchstick.recipes import ready as ready_ones
from benchstick.recipes.model import Recipe
from benchstick.recipes.parser import RecipeMistakes, read
from benchstick.store import database, run_writer, spec_sheets, verdicts
from benchstick.suites import registry
from benchstick.suites import spec_sheets as sheets
from tests.results import named
from tests.unit.test_recipes import SMALL, TOML, mutated

READ = "SEQ1M Q8T1 read"
RECIPE = b"""
allow_erase = true
[match]
transport = "usb-uas"
[[suite]]
name = "cdm"
target = "block"
[[limit]]
fact = "transport"
op = "=="
value = "usb-uas"
"""


def made_up(transport: str = "usb-uas", capacity: int = 10**12, contents: str = "nothing") -> Drive:
    """A free drive on port 2-1."""
    facts = {"transport": transport, "usb_speed": 10000, "usb_capable_speed": 10000,
             "queue_depth": 30, "write_cache": "enabled", "trim": True, "trim_kernel": 1 << 30,
             "temperature": 30, "contents": contents, "rotational": False}  # fmt: skip
    identity = Identity("S1", "Model", None, None, capacity, "2-1", 0)
    return Drive(
        "sdx", "/dev/sdx", "8:0", 5, "S1", identity, Guard(GuardState.FREE, "test"),
        {name: Fact(value, source="test") for name, value in facts.items()},
    )  # fmt: skip


class World:
    """One drive, which may go away or be another one after its run."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.drive = made_up()
        self.after: Drive | None = None
        self.hotplugs = {5}
        self.starts: list[Ready] = []
        self.rates: list[float] = []
        self._count = itertools.count()
        patch.setattr(drive_session, "find_drive", self.find)
        patch.setattr(drive_session, "make_ready", self.make_ready)
        patch.setattr(drive_session, "check_queue", lambda jobs, home, diskseqs: None)
        patch.setattr(drive_session, "execute", self.execute)
        patch.setattr(hotplugged, "believed", lambda: self.hotplugs)
        patch.setattr(discover, "scan", lambda **_: [self.after] if self.after else [])
        patch.setattr(host_settings, "controller", lambda name: "a")
        self.data: str | None = None
        patch.setattr(blank, "why_not_blank", lambda name: self.data)

    def find(self, selector: str, home: Path, hotplugs: Any, *, makes: bool = True) -> Drive:
        there = self.after if self.starts else self.drive
        if there is None or selector != there.code:
            raise BadInput(f"no drive {selector!r}", field="drive")
        return there

    def make_ready(
        self, job: RunRequest, home: Path, hotplugs: Any, *, drive: Drive | None = None
    ) -> Ready:
        drive = drive or self.drive
        plan = registry.make_plan(
            job.suite, drive.to_json(), job.params, target=job.target, fs=job.fs, scale=job.scale,
            ram=1 << 40,
        )  # fmt: skip
        return Ready(job, drive, plan, {}, None)

    def execute(self, ready: Ready, home: Path, *, on_begin: Any, **_: Any) -> Outcome:
        self.starts.append(ready)
        plan = {"schema": "benchstick/plan/2", "steps": [], "notes": []}
        uuid = f"01234567-89ab-cdef-0123-{next(self._count):012d}"
        with contextlib.closing(database.open_writer(home)) as db:
            run = run_writer.RunRecord.create(
                db, uuid=uuid, suite=ready.plan.suite, practice=False,
                drive=ready.drive.to_json(), plan=plan, pid=1, device="sdx",
            )  # fmt: skip
            on_begin(run.number)
            run.results([
                named(step="read", name=READ, value=value, unit="MB/s", target="block")
                for value in self.rates
            ])  # fmt: skip
            run.finish(RunState.COMPLETE, 0, seconds=1.0)
        return Outcome(run.number, uuid, RunState.COMPLETE, 0, None)

    def test(self, recipe: bytes = RECIPE, **more: Any) -> dict[str, Any]:
        """The verdict of a test of the drive on one of the bench's ports."""
        ask = Ask(
            recipe=read(recipe, "my.toml"), drive="S1",
            expected=(self.drive.identity.key(), self.drive.diskseq),
            **{"bench_ports": {"2-1": "slot 1"}, **more},
        )  # fmt: skip
        return DriveTest(
            ask, self.home, threading.Event(), lambda text: None, os.getppid()
        ).carry_out()


@pytest.fixture
def world(bench_home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(bench_home, monkeypatch)


def codes_of(verdict: dict[str, Any]) -> list[str]:
    return [item["code"] for item in (*verdict["failures"], *verdict["inconclusive"])]


def test_the_drive_that_was_there_before_passes(world: World) -> None:
    world.after = world.drive
    verdict = world.test(scanned="s-1")
    assert (verdict["verdict"], codes_of(verdict)) == ("pass", [])
    assert [ready.request.erase for ready in world.starts] == ["S1"]


@pytest.mark.parametrize("erase", [None, "S1"])
def test_a_drive_whose_label_has_another_serial_is_not_touched(
    world: World, erase: str | None
) -> None:
    verdict = world.test(scanned="S2", erase=erase)
    assert (verdict["verdict"], verdict["exit_code"]) == ("fail", 1)
    assert codes_of(verdict) == ["serial-mismatch"]
    assert (verdict["runs"], verdict["limits"], world.starts) == ([], [], [])


def test_a_drive_that_is_not_there_after_its_test_does_not_pass(world: World) -> None:
    verdict = world.test()
    assert len(world.starts) == 1
    assert (verdict["verdict"], verdict["exit_code"]) == ("inconclusive", 4)
    assert codes_of(verdict) == ["drive-lost"]
    assert verdict["reason"] == "after the test: no drive 'S1'"


def test_another_drive_in_its_place_is_reported(world: World) -> None:
    other = replace(world.drive.identity, serial="S9")
    world.after = replace(world.drive, identity=other, code="S9")
    assert codes_of(world.test()) == ["drive-lost"]
    world.starts.clear()
    world.after = replace(world.drive, identity=replace(world.drive.identity, capacity=10**11))
    assert codes_of(world.test()) == ["identity-changed"]


@pytest.mark.parametrize(
    ("measured", "op", "share", "verdict"),
    [
        (950.0, "~", 5, "pass"), (1050.0, "~", 5, "pass"), (949.0, "~", 5, "fail"),
        (1051.0, "~", 5, "fail"), (1051.0, ">=", 90, "pass"), (899.0, ">=", 90, "fail"),
        (1001.0, "<=", 100, "fail"),
    ],
)  # fmt: skip
def test_limits_relative_to_the_specs_and_to_a_run_of_this_bench(
    world: World, measured: float, op: str, share: int, verdict: str
) -> None:
    world.after = world.drive
    world.rates = [1000.0]
    (first,) = world.test(erase="S1")["runs"]
    with contextlib.closing(database.open_writer(world.home)) as db:
        spec_sheets.save(db, sheets.read(b'model = "mod*"\nseq_read_mbps = 1000\n', "x.toml"))
    world.rates = [measured]
    for of in ("claim", f"run {first['number']}", "run 01234567-89ab-cdef-0123-000000000000"):
        text = f'[[limit]]\nfigure = "{READ}"\nop = "{op}"\nvalue = "{share} %"\nof = "{of}"\n'
        document = world.test(RECIPE + text.encode(), erase="S1")
        (limit,) = [item for item in document["limits"] if item["description"] == f"{READ} of cdm"]
        assert document["verdict"] == verdict, (of, document["reason"])
        assert (limit["measured"], limit["unit"]) == (measured, "MB/s")
        assert limit["required"] == (1000 if op == "~" else 10 * share)


def _is_for(recipe: Recipe, drive: Drive) -> bool:
    """Whether the recipe's [match] matches the drive, decided without the bench's own code."""
    size, match = drive.identity.capacity, recipe.match
    near: Mapping[str, Callable[[int], bool]] = {
        ">=": size.__ge__, "<=": size.__le__, "==": size.__eq__,
        "~": lambda target: abs(size - target) <= target * 3 // 100,
    }  # fmt: skip
    return (
        drive.transport in (match.transport or [drive.transport])
        and (not match.model or any(fnmatchcase("model", one.lower()) for one in match.model))
        and all(near[bound.op](bound.value) for bound in match.size)
    )


def test_a_thousand_mutated_recipes_write_to_no_drive_without_match_and_permission(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[Ready] = []

    def execute(ready: Ready, home: Path, **_: Any) -> Outcome:
        starts.append(ready)
        return Outcome(0, "u", RunState.COMPLETE, 0, None)

    monkeypatch.setattr(drive_session, "execute", execute)
    monkeypatch.setattr(verdicts, "keep", lambda db, recipe, post: 1)
    texts = [TOML, SMALL, *(ready_ones.raw(name).decode() for name in ready_ones.names())]
    carried = ok_count = erased = refused = 0
    for seed in range(1000):
        pick = random.Random(seed)
        raw = mutated(pick, pick.choice(texts))
        try:
            recipe = read(raw, "my.toml")
        except RecipeMistakes:
            continue
        carried += 1
        is_listed, plugged_in = pick.random() < 0.7, pick.random() < 0.7
        world.drive = world.after = made_up(
            pick.choice(["usb-uas", "usb-bot", "sata"]), pick.choice([10**9, 10**11, 10**12]),
            pick.choice(["nothing", "nothing", "ntfs"]),
        )  # fmt: skip
        world.hotplugs = {5} if plugged_in else set()
        starts.clear()
        verdict = world.test(raw, bench_ports={"2-1": "slot 1"} if is_listed else {})
        assert verdict["verdict"] in ("fail", "inconclusive"), seed
        if not starts:
            refused += 1
            continue
        assert _is_for(recipe, world.drive), seed
        ok_count += 1
        if any(one.plan.destroys for one in starts):
            erased += 1
            blank = world.drive.value("contents") == "nothing"
            assert recipe.allow_erase and is_listed and plugged_in, seed
            assert blank or recipe.erase_used, seed
    assert carried > 100 and min(ok_count, refused) > 20 and erased > 5, (carried, ok_count, erased)


def test_a_drive_that_only_looks_blank_is_not_erased(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table, no signature, but data: the sample decides, when it is the drive's turn."""
    turns: list[str] = []

    @contextlib.contextmanager
    def turn(**_: Any) -> Any:
        turns.append("taken")
        yield
        turns.append("over")

    def sample(name: str) -> str | None:
        assert name == "sdx" and turns == ["taken"]
        return world.data

    monkeypatch.setattr(drive_session, "turn", turn)
    monkeypatch.setattr(blank, "why_not_blank", sample)
    world.data = "data of no known kind at byte 1048576"
    verdict = world.test()
    assert (verdict["verdict"], world.starts, turns) == ("inconclusive", [], ["taken", "over"])
    assert [item["code"] for item in verdict["inconclusive"]] == ["erase-not-allowed"]
    assert verdict["reason"] == (
        "erase not allowed: the drive is not blank (data of no known kind at byte 1048576) and the "
        "recipe does not say erase_used = true"
    )
    turns.clear()
    world.data = None
    world.test()
    assert [one.plan.destroys for one in world.starts] == [True]


def test_a_used_drive_is_found_before_a_first_run_that_keeps_the_data(world: World) -> None:
    world.data = "data"
    keeps = RECIPE.replace(b"[[suite]]", b'[[suite]]\nname = "cdm"\nfs = "keep"\n[[suite]]', 1)
    verdict = world.test(keeps)
    assert (verdict["verdict"], world.starts) == ("inconclusive", [])


def test_the_code_of_a_drive_replaces_the_sample(world: World) -> None:
    world.data = "data"
    world.test(erase="S1")
    assert len(world.starts) == 1


def test_a_code_that_became_another_one_is_no_other_drive(world: World) -> None:
    # A drive with the same serial was plugged in during the test: the code is the port now.
    world.after = replace(world.drive, code="port:2-1:0")
    assert world.test()["verdict"] == "pass"
