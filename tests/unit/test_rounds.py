"""The runner skips the rounds after the end that the suite reports, and nothing else. It sets the
running step in the sampler."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from benchstick.engine.runner import Runner
from benchstick.plan.steps import Fio, Idle, Job, Plan, Round, Span, Step


def step(name: str, group: str = "", number: int = 0) -> Fio:
    return Fio(
        name=name, test=name, pass_no=1, span=Span(size=4096),
        job=Job(rw="write", block=4096, depth=1, threads=1, runtime=1),
        round=Round(group=group, number=number),
    )  # fmt: skip


class Rounds:
    """A suite whose groups end after `after[group]` rounds."""

    def __init__(self, **after: int) -> None:
        self.after = after
        self.calls: list[tuple[str, int]] = []

    def over(self, plan: Plan, step: Fio, results: Any) -> str | None:
        self.calls.append((step.round.group, step.round.number))
        last = self.after[step.round.group]
        return f"steady state after round {last}" if step.round.number > last else None


def carried_out(suite: Any, *steps: Step) -> tuple[list[str], list[tuple[list[Any], str]]]:
    """(the steps done, those recorded as skipped with their reason)."""
    step_names: list[str] = []
    skipped: list[tuple[list[Any], str]] = []

    class Only(Runner):
        def __init__(self) -> None:
            self.suite = suite
            self.plan = Plan(suite="x", params={}, target="block", fs="keep", drive_code="D",
                             steps=steps)  # fmt: skip
            self.work = cast(Any, SimpleNamespace(now=7.0))
            self.record = cast(Any, SimpleNamespace(
                all_results=list,
                steps_skipped=lambda what, t, reason: skipped.append((what, reason)),
            ))  # fmt: skip

        def _step(self, index: int, step: Step) -> None:
            step_names.append(step.name)

    Only()._steps()
    return step_names, skipped


A = [step(f"{cell}{number}", "A", number) for number in (1, 2, 3) for cell in ("r", "w")]
B = [step(f"b{number}", "B", number) for number in (1, 2)]


def test_rounds_after_the_last_one_needed_are_skipped_at_once() -> None:
    suite = Rounds(A=1, B=2)
    idle = Idle(name="idle", seconds=0)
    step_names, skipped = carried_out(suite, *A, idle, *B, step("end"))
    assert step_names == ["r1", "w1", "idle", "b1", "b2", "end"]
    assert skipped == [
        ([(2, "r2", "fio"), (3, "w2", "fio"), (4, "r3", "fio"), (5, "w3", "fio")],
         "steady state after round 1"),
    ]  # fmt: skip
    # Once a round, and not any more when a group is over.
    assert suite.calls == [("A", 1), ("A", 2), ("B", 1), ("B", 2)]


def test_the_suite_is_queried_again_for_a_group_that_follows_at_once() -> None:
    step_names, skipped = carried_out(Rounds(A=2, B=1), *A, *B)
    assert step_names == ["r1", "w1", "r2", "w2", "b1"]
    assert [(len(what), reason) for what, reason in skipped] == [
        (2, "steady state after round 2"), (1, "steady state after round 1"),
    ]  # fmt: skip


def test_a_suite_without_rounds_does_all_its_steps() -> None:
    step_names, skipped = carried_out(SimpleNamespace(), step("a"), *B)
    assert (step_names, skipped) == (["a", "b1", "b2"], [])


def test_a_sample_between_two_steps_is_of_the_one_before(tmp_path: Path) -> None:
    sampler = SimpleNamespace(step=None)
    sampler_steps: list[tuple[str, int | None]] = []

    class Only(Runner):
        def __init__(self) -> None:
            self.home, self.uuid, self._on_stick = tmp_path, "u", False
            self.work = cast(Any, SimpleNamespace(
                now=7.0, sampler=sampler, check_cancelled=lambda: None,
                target=SimpleNamespace(name="block"),
            ))  # fmt: skip
            self.record = cast(Any, SimpleNamespace(step_begins=lambda *what: None))

        def _note_others(self) -> None:
            sampler_steps.append(("between", sampler.step))

        def _carry_out(self, step: Step) -> Any:
            sampler_steps.append(("in", sampler.step))
            return SimpleNamespace(skipped=None, failed=None)

        def _end(self, *what: Any) -> None:
            sampler_steps.append(("ended", sampler.step))

    for index, item in enumerate((step("a"), step("b"))):
        Only()._step(index, item)
    assert sampler_steps == [
        ("between", None), ("in", 0), ("ended", 0), ("between", 0), ("in", 1), ("ended", 1),
    ]  # fmt: skip
