"""Runs as their pages show them: rows of lists, the document, its steps, commands and files."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.result import Result
from benchstick.plan.steps import Plan, plan_from_json
from benchstick.protocol.messages import RunEntry
from benchstick.suites import cdm, registry
from benchstick.suites.interface import SuiteResult
from webui.context import bench, no_run, page_state
from webui.errors import WebError, not_found

# Limits of a run's page: a day of rounds has ten thousand results and more than a thousand steps.
# The page shows the results over all passes and so many others, and the first and last steps.
RESULTS = 1000
FIRST_STEPS, LAST_STEPS = 20, 100
# Columns of the table of every pass: the suite takes no more than 9.
PASSES = 20


def list_for_page(entries: Sequence[RunEntry]) -> list[dict[str, Any]]:
    """Runs as a page lists them."""
    return [
        {
            "row": entry,
            "label": entry.label,
            "imported": entry.imported,
            "state": entry.state,
            "headline": entry.headline[:2],
            "title": suite_title(entry.suite),
        }
        for entry in entries
    ]


def list_for_api(entries: Sequence[RunEntry]) -> list[dict[str, Any]]:
    """Runs as the API lists them."""
    return [
        {
            "number": entry.number,
            "uuid": entry.uuid,
            "suite": entry.suite,
            "exit_code": entry.exit_code,
            "reason": entry.reason,
            "created_utc": entry.created_utc,
            "ended_utc": entry.ended_utc,
            "seconds": entry.seconds,
            "practice": entry.practice,
            "imported": entry.imported,
            "drive": {
                "code": entry.drive_code,
                "model": entry.drive_model,
                "drive_key": entry.drive_key,
                "label": entry.label,
            },
            "state": entry.state,
            "headline": entry.headline,
        }
        for entry in entries
    ]


def suite_title(name: str) -> str:
    """The title of a suite; the name of one that this bench does not know."""
    suite = registry.all_suites().get(name)
    return suite.title if suite is not None else name


def document(number: int) -> dict[str, Any]:
    """The `benchstick/run/2` document with the state as it is shown, and the result so far."""
    return document_and_results(number)[0]


def document_and_results(number: int) -> tuple[dict[str, Any], list[Result]]:
    """The run's document, and its results, of an unfinished run with those over all passes so
    far."""
    record = bench().run(number)
    if record is None:
        raise no_run(number)
    run, results = record.document, list(record.results)
    suite_result = partial_result(run, results)
    run["partial_result"] = None if suite_result is None else suite_result.document
    return run, results if suite_result is None else [*results, *suite_result.results]


def partial_result(run: Mapping[str, Any], results: Sequence[Result]) -> SuiteResult | None:
    """The suite's result from the finished steps of a run that has no result yet: it is running, or
    its process died. None where nothing was measured yet."""
    measured = [result for result in results if result.pass_no is not None]
    suite = registry.all_suites().get(run["suite"])
    if run["result"] is not None or run["imported"] or suite is None or not measured:
        return None
    plan = _plan(run)
    return None if plan is None else suite.result(plan, measured, run["drive"])


def _plan(run: Mapping[str, Any]) -> Plan | None:
    """None when it is of another version of the bench: the table of results shows those."""
    try:
        return plan_from_json(run["plan"])
    except (BadInput, KeyError, TypeError, ValueError):
        return None


def grid(run: Mapping[str, Any], results: Sequence[Result]) -> list[cdm.GridRow]:
    """The grid of a CrystalDiskMark-style run; empty of any other run."""
    plan = _plan(run) if run["suite"] == cdm.Cdm.name else None
    return [] if plan is None else [row for row in cdm.grid_of(plan, results) if row.cells]


def passes_of(rows: Sequence[cdm.GridRow]) -> list[int]:
    """The numbers of the passes of a grid."""
    numbers = {number for row in rows for cell in row.cells.values() for number in cell.passes}
    return sorted(numbers)[:PASSES]


def steps_bar(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The plan's steps side by side in 1000 units: `x`, `width`, the look, the bytes to move."""
    planned = run["plan"].get("steps") or []
    run_steps = {step["step_index"]: step for step in run["steps"]}
    total = sum(max(0.0, float(step["seconds"])) for step in planned) or 1.0
    # A step of no time at all is still to be seen.
    weights = [max(float(step["seconds"]), total / 400) for step in planned]
    scale = 1000.0 / (sum(weights) or 1.0)
    bar, x = [], 0.0
    for index, (step, weight) in enumerate(zip(planned, weights, strict=True)):
        state = run_steps[index]["state"] if index in run_steps else "pending"
        width = weight * scale
        bar.append(
            {
                "index": index,
                "name": step["name"],
                "look": "" if step.get("timed") else "idle" if step["kind"] == "idle" else "aside",
                "state": "interrupted" if _was_interrupted(run, state) else state,
                "reason": run_steps[index]["reason"] if index in run_steps else None,
                "x": round(x, 2),
                "width": round(max(1.0, width - min(1.6, width / 4)), 2),
                "bytes": int(step["bytes_written"] or step["bytes_read"]),
            }
        )
        x += width
    return bar


def _was_interrupted(run: Mapping[str, Any], state: str) -> bool:
    return state == "running" and run["state"] != "running"


def results_csv(number: int) -> str:
    """The results of a run, one a line. WebError 404 when there is no such run."""
    text = bench().results_csv(number)
    if text is None:
        raise no_run(number)
    return text


def artifacts(folder: Path) -> list[dict[str, Any]]:
    """Name and size of the plain files in a step's folder."""
    files = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append({"name": entry.name, "bytes": entry.stat().st_size})
    return sorted(files, key=lambda item: str(item["name"]))


def open_file(path: Path) -> io.BufferedReader:
    """Open a plain file for reading; a link is not followed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise not_found(f"{path.name}: there is no such file.") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise not_found(f"{path.name}: there is no such file.")
    return os.fdopen(fd, "rb")


def results_shown(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All results; of very many those over all passes, and the last `RESULTS` of the others."""
    over_all = sum(result["pass"] is None for result in results)
    early = len(results) - over_all - RESULTS
    selection = []
    for result in results:
        if result["pass"] is not None:
            early -= 1
            if early >= 0:
                continue
        selection.append(result)
    return selection


def _steps_shown(steps: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """All steps that were started; of very many the first and the last that left files."""
    if len(steps) <= FIRST_STEPS + LAST_STEPS:
        return steps
    file_steps = [step for step in steps if step["artifacts"]]
    return [*file_steps[:FIRST_STEPS], *file_steps[FIRST_STEPS:][-LAST_STEPS:]]


def commands_of(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The exact commands and the files of the steps that a page shows."""
    commands = []
    for step in _steps_shown(run["steps"]):
        text, files = "", []
        relative = step["artifacts"]
        if relative and Path(relative).parts[:2] == ("runs", run["uuid"]):
            folder = page_state().home / relative
            files = artifacts(folder)
            with contextlib.suppress(WebError), open_file(folder / "command") as file:
                text = file.read(16384).decode("utf-8", "replace").strip()
        commands.append({"step": step, "command": text, "files": files})
    return commands
