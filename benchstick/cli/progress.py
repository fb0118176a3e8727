"""Runs in the foreground: the estimate before, the progress during a run."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchstick.cli.common import print_json, print_line
from benchstick.engine.run_request import Ready, execute
from benchstick.engine.runner import Outcome, Progress
from benchstick.plan import run_queue
from benchstick.plan.plain import one_line, under
from benchstick.plan.steps import Plan
from benchstick.plan.units import duration_text, size_text
from benchstick.store import database, run_reader


def carry_out(
    ready: Ready,
    home: Path,
    cancel: threading.Event,
    on_start: Callable[[int], None] | None = None,
) -> Outcome:
    """Run a ready request, with progress on stderr. `on_start` is called with the run's number."""
    show = _Meter() if sys.stderr.isatty() else _Lines()
    try:
        return execute(ready, home, cancel=cancel, progress=show, on_begin=on_start)
    finally:
        show.close()


def document_of(home: Path, number: int) -> dict[str, Any]:
    """The `benchstick/run/2` document of a run."""
    with contextlib.closing(database.open_reader(home)) as db:
        return run_reader.run_json(db, number)


def cost_text(plans: Sequence[Plan]) -> str:
    """The estimate for these plans, as a text."""
    cost = run_queue.cost(plans)
    effect = "destroys the data on the drive" if cost.destroys else "keeps the data on the drive"
    most = "at most about" if cost.is_upper_bound else "about"
    return (
        f"{most} {duration_text(cost.seconds)}, writes about {size_text(cost.bytes_written)}, "
        f"{effect}"
    )


def print_plan(plan: Plan, as_json: bool) -> None:
    """The plan and its cost on stdout."""
    if as_json:
        print_json(plan.to_json())
        return
    print_line(f"{plan.suite} on {plan.drive_code}: {cost_text([plan])}")
    for number, step in enumerate(plan.steps):
        marks = " DESTROYS" if step.destroys else ""
        writes = f", writes {size_text(step.bytes_written)}" if step.bytes_written else ""
        print_line(f"{number:4}  {step.name} ({duration_text(step.seconds)}{writes}){marks}")
    for note in plan.notes:
        print_line(f"note: {note}")


def tell_cost(ready: Ready) -> None:
    """Print the estimate of the run on stderr."""
    model = ready.drive.identity.model
    print_line(f"{ready.plan.suite} on {model}: {cost_text([ready.plan])}", file=sys.stderr)
    for note in ready.plan.notes:
        print_line(f"note: {note}", file=sys.stderr)


class _Meter:
    """One line on a terminal, rewritten once a second."""

    def __init__(self) -> None:
        self._out = under(sys.stderr)

    def __call__(self, at: Progress) -> None:
        position = at.index + (at.fraction or 0.0)
        filled_width = int(24 * position / max(at.total, 1))
        bar = "█" * filled_width + "░" * (24 - filled_width)
        share = "" if at.fraction is None else f" {100 * at.fraction:.0f} %"
        text = f"run {at.number} {bar} {at.name}{share} · {at.time_left}"
        self._out.write(f"\r\x1b[K{one_line(text)[:110]}")
        self._out.flush()

    def close(self) -> None:
        self._out.write("\r\x1b[K")
        self._out.flush()


class _Lines:
    """One line per step, for logs."""

    def __init__(self) -> None:
        self._last: Any = None

    def __call__(self, at: Progress) -> None:
        if at.index != self._last:
            self._last = at.index
            print_line(f"run {at.number}: {at.index + 1}/{at.total} {at.name}, {at.time_left}",
                       file=sys.stderr, flush=True)  # fmt: skip

    def close(self) -> None:
        """Nothing to restore."""
