"""Several suites in one command: `benchstick run das:quick,cdm --drive D`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchstick.agent.foreground_queue import Foreground
from benchstick.cli.common import print_json, print_line
from benchstick.cli.progress import carry_out, cost_text, document_of, print_plan
from benchstick.cli.runs import print_run
from benchstick.engine.run_request import Ready, check_queue, make_all_ready, make_ready
from benchstick.engine.signals import cancel_on_signals
from benchstick.errors import EXIT_CANCELLED, BadInput, BenchError
from benchstick.plan import run_queue
from benchstick.plan.plain import storable
from benchstick.plan.request import RunRequest
from benchstick.suites import presets, registry
from benchstick.suites.interface import Suite


@dataclass(frozen=True)
class Options:
    """The options for suites; names in `params` are `NAME` or `SUITE.NAME`.

    Not a `RunRequest`: of several suites each takes only the options that it knows.
    """

    params: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    fs: str | None = None
    scale: float | None = None


def read_suites(request: RunRequest, options: Options) -> list[RunRequest]:
    """The requests that `SUITE[:PRESET][,SUITE...]` in `request.suite` means, else as `request`.

    Of several suites each takes the options that it knows. BadInput naming what none knows.
    """
    words = [word.partition(":") for word in request.suite.split(",")]
    suites = [registry.find(name.strip()) for name, _, _ in words]
    if len(suites) > 1:
        _check_used(suites, options)
    return [
        _request(request, suite, presets.find(suite.name, name.strip()) if mark else None, options,
             alone=len(suites) == 1)
        for suite, (_, mark, name) in zip(suites, words, strict=True)
    ]  # fmt: skip


def _request(
    request: RunRequest,
    suite: Suite,
    preset: presets.Preset | None,
    options: Options,
    *,
    alone: bool,
) -> RunRequest:
    own = preset or presets.Preset("", "", "")
    target = options.target if alone or options.target in suite.targets else None
    fs = options.fs if alone or ("file" in suite.targets and target != "block") else None
    scale = options.scale if alone or suite.has_scale else None
    return replace(
        request,
        suite=suite.name,
        params={**own.params, **dict(_params_of(suite, options, alone=alone))},
        target=target or own.target,
        fs=fs or own.fs,
        scale=scale if scale is not None else own.scale,
    )


def _params_of(suite: Suite, options: Options, *, alone: bool) -> Iterator[tuple[str, str]]:
    names = {param.name for param in suite.params}
    for name, value in options.params.items():
        which, dot, rest = name.partition(".")
        if dot and which == suite.name:
            yield rest, value
        elif alone or name in names:
            yield name, value


def _check_used(suites: Sequence[Suite], options: Options) -> None:
    """BadInput for an option that none of the suites takes."""
    names = ", ".join(suite.name for suite in suites)
    for name in options.params:
        which = name.partition(".")[0]
        is_taken = any(
            name in {param.name for param in suite.params} or ("." in name and which == suite.name)
            for suite in suites
        )
        if not is_taken:
            raise BadInput(f"--param {name}: none of {names} takes it", field=name)
    for option, value, is_taken in (
        ("target", options.target, any(options.target in suite.targets for suite in suites)),
        ("fs", options.fs, any("file" in suite.targets for suite in suites)),
        ("scale", options.scale, any(suite.has_scale for suite in suites)),
    ):
        if value is not None and not is_taken:
            raise BadInput(f"--{option} {value}: none of {names} takes it", field=option)


def queue_of(
    requests: Sequence[RunRequest],
    home: Path,
    hotplugs: Collection[int],
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run all requests, one after the other, and print their results; returns the exit code.

    All are checked before the first starts. One that does not complete is the last.
    """
    if dry_run:
        _print_plans(make_all_ready(requests, home, hotplugs, makes=False), as_json)
        return 0
    readies = check_queue(requests, home, hotplugs)
    for ready in readies:
        print_line(f"{ready.plan.suite}: {cost_text([ready.plan])}", file=sys.stderr)
        for note in ready.plan.notes:
            print_line(f"note: {note}", file=sys.stderr)
    drive = readies[0].drive
    total = cost_text([ready.plan for ready in readies])
    print_line(f"{len(readies)} runs on {drive.identity.model}: {total}", file=sys.stderr)
    tally = _carry_out_all(readies, home, hotplugs)
    documents = [document_of(home, number) for number in tally.numbers]
    suite_names = [
        request.suite for index, request in enumerate(requests) if index not in tally.taken_out
    ]
    rest = suite_names[len(documents) :] + [requests[at].suite for at in tally.taken_out]
    code, reason = run_queue.exit_code(tally.codes), tally.reason
    if as_json:
        print_json(_document(documents, rest, code, reason))
    else:
        for at, document in enumerate(documents):
            if at:
                print()
            print_run(document)
    if reason:
        print_line(f"benchstick: {storable(reason)}", file=sys.stderr)
    if rest:
        print_line(f"benchstick: not started: {', '.join(rest)}", file=sys.stderr)
    return code


@dataclass
class _Tally:
    """Exit codes and numbers of the runs that started, a message about the last one, and the places
    of those that were removed in the page."""

    codes: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    reason: str | None = None
    taken_out: list[int] = field(default_factory=list)


def _carry_out_all(readies: Sequence[Ready], home: Path, hotplugs: Collection[int]) -> _Tally:
    tally = _Tally()
    queue = Foreground(home, readies)
    try:
        with cancel_on_signals() as cancel:
            for place, ready in enumerate(readies):
                if cancel.is_set():
                    tally.codes.append(EXIT_CANCELLED)
                    tally.reason = "cancelled"
                    break
                if not queue.starts(place):
                    tally.taken_out.append(place)
                    continue
                if not _carry_out_one(
                    ready, home, hotplugs, tally, cancel, partial(queue.record_run, place)
                ):
                    break
    except BenchError as error:
        queue.refused(0, error)
        tally.reason = error.message
        raise
    finally:
        queue.end(tally.codes, tally.reason)
    return tally


def _carry_out_one(
    ready: Ready,
    home: Path,
    hotplugs: Collection[int],
    tally: _Tally,
    cancel: threading.Event,
    on_start: Callable[[int], None],
) -> bool:
    """Run one request of the queue; whether the next one may start."""
    drive = ready.drive
    try:
        if tally.numbers:
            # The current state of the drive, which must be the one that was confirmed.
            request = replace(
                ready.request,
                drive_key=drive.identity.key(),
                diskseq=drive.diskseq,
                medium=drive.medium.text if drive.medium else None,
                follows=True,
            )
            ready = make_ready(request, home, hotplugs)
        outcome = carry_out(ready, home, cancel, on_start)
    except BenchError as error:
        if not tally.numbers:
            raise
        tally.codes.append(error.exit_code)
        tally.reason = f"{ready.plan.suite} was not started: {error.message}"
        return False
    tally.codes.append(outcome.exit_code)
    tally.numbers.append(outcome.number)
    tally.reason = outcome.reason
    return run_queue.goes_on(outcome.exit_code)


def _print_plans(readies: Sequence[Ready], as_json: bool) -> None:
    plans = [ready.plan for ready in readies]
    if as_json:
        total = run_queue.cost(plans).to_json()
        documents = [plan.to_json() for plan in plans]
        print_json({"schema": "benchstick/plans/2", "total": total, "plans": documents})
        return
    for plan in plans:
        print_plan(plan, as_json=False)
    print_line(f"{len(plans)} runs on {plans[0].drive_code}: {cost_text(plans)}")


def _document(
    runs: Sequence[Mapping[str, Any]], rest: Sequence[str], code: int, reason: str | None
) -> dict[str, Any]:
    return {
        "schema": "benchstick/queue-run/1",
        "exit_code": code,
        "reason": reason,
        "runs": list(runs),
        "not_started": list(rest),
    }
