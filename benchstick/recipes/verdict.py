"""The verdict on one drive: pass, fail or inconclusive, and why. A pure function of what was
measured.

The order: a cancelled, broken or refused test is inconclusive, whatever was measured before; then
one failed limit is a fail; then a lost drive and whatever else could not be judged is inconclusive.
That is the order of the exit codes of several drives (docs/architecture.md). A drive that returns
other data than was written to it fails, with or without limits; where the test was cancelled after
that, `reason` names both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchstick.errors import EXIT_CANCELLED, EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_VERDICT_FAIL
from benchstick.plan import corrupt, run_queue
from benchstick.plan.labels import same_serial
from benchstick.plan.states import LimitState, RunState, Verdict
from benchstick.recipes import codes, limits, preconditions
from benchstick.recipes.codes import Reason
from benchstick.recipes.limits import Evidence
from benchstick.recipes.model import Recipe

SCHEMA = "benchstick/verdict/2"
PASS, FAIL, INCONCLUSIVE = Verdict
_NAMES = ("code", "label")
_IDENTITY = ("model", "serial", "capacity", "port", "lun", "drive_key")

Json = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One test of a drive with a recipe.

    `stopped` is why a rule of the recipe ended it, `end` (exit code, sentence) what ended it where
    no run records it; `refused` why it was not started. `seconds` is how long it took; `scanned`
    the serial that a scanner read; `labels` the labels of the drive (asset, order, ...). `earlier`
    are the verdicts of earlier tests of the same drive.
    """

    evidence: Evidence
    seconds: float
    started_utc: str
    ended_utc: str
    stopped: Reason | None = None
    end: tuple[int, str] | None = None
    refused: Sequence[Reason] = ()
    scanned: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    slot: str | None = None
    earlier: Sequence[Mapping[str, Any]] = ()


def judge(recipe: Recipe, attempt: Attempt) -> dict[str, Any]:
    """The `benchstick/verdict/2` document."""
    # A test that did not start is not judged: every limit would only report that nothing was
    # measured.
    is_started = not (attempt.refused or _another_was_scanned(attempt))
    judgements = limits.judge(recipe.limits, attempt.evidence) if is_started else []
    failures = [_build_reason(item) for item in _failures(recipe, attempt)]
    failures += _of_limits(judgements, limits.FAILED)
    reasons = [_build_reason(item) for item in _inconclusive(recipe, attempt)]
    reasons += _of_limits(judgements, limits.UNKNOWN)
    code = _exit_code(failures, reasons)
    verdict = {EXIT_DONE: PASS, EXIT_VERDICT_FAIL: FAIL}.get(code, INCONCLUSIVE)
    drive = attempt.evidence.drive
    return {
        "schema": SCHEMA,
        "recipe": {"name": recipe.name, "file": recipe.file, "sha256": recipe.sha256},
        "drive": {
            **{name: drive.get(name) for name in _NAMES},
            **{name: drive["identity"].get(name) for name in _IDENTITY},
            "transport": preconditions.value_of(drive, "transport"),
            "firmware": preconditions.value_of(drive, "firmware"),
            "slot": attempt.slot,
        },
        "labels": dict(attempt.labels),
        "verdict": verdict,
        "exit_code": code,
        "reason": _why(verdict, code, failures, reasons),
        "failures": failures,
        "inconclusive": reasons,
        "limits": [item.to_json() for item in judgements],
        "runs": [
            {
                name: run[name]
                for name in ("number", "uuid", "suite", "state", "exit_code", "reason")
            }
            for run in attempt.evidence.runs
        ],
        "retries": len(attempt.earlier),
        "previous_attempts": [
            {name: item[name] for name in ("verdict", "exit_code", "reason", "started_utc")}
            for item in attempt.earlier
        ],
        # What was done with the drive after the test is added later.
        "post_action": None,
        "started_utc": attempt.started_utc,
        "ended_utc": attempt.ended_utc,
        "seconds": round(attempt.seconds, 3),
    }


def _build_reason(reason: Reason, limit: int | None = None) -> Json:
    """A reason, with the number of its limit (from 1), None for other reasons."""
    return {"code": reason.code, "text": reason.text, "limit": limit}


def _of_limits(judgements: Sequence[limits.Judged], state: LimitState) -> list[Json]:
    return [
        _build_reason(Reason(str(item.code), str(item.text)), item.number)
        for item in judgements
        if item.state == state
    ]


def _why(
    verdict: Verdict, code: int, failures: Sequence[Json], reasons: Sequence[Json]
) -> str | None:
    """The reason that decided, and how many others there are. Corrupt data is always named."""
    causes = {PASS: [], FAIL: failures, INCONCLUSIVE: reasons}[verdict]
    if not causes:
        return None
    first = next((item for item in causes if _exit_of(item) == code), causes[0])
    more = f" (and {len(causes) - 1} more)" if len(causes) > 1 else ""
    corrupt = next((item for item in failures if item["code"] == codes.DATA_CORRUPT), first)
    also = "" if corrupt is first else f"; {corrupt['text']}"
    return f"{first['text']}{more}{also}"


def serial_mismatch(scanned_serial: str | None, drive: Json) -> Reason | None:
    """Why the drive is not the one whose serial was scanned; None when it is, or nothing was
    scanned. Such a drive is not tested: it is not the one that the user expects, and its data must
    not be lost."""
    identity = drive["identity"]
    # The serial printed on a case is that of the drive in it, or of its bridge.
    serials = tuple(str(identity.get(name) or "") for name in ("serial", "bridge_serial"))
    if scanned_serial is None or same_serial(scanned_serial, serials):
        return None
    own = identity.get("serial") or "it reports none"
    return Reason(
        codes.SERIAL_MISMATCH, f"the scanned serial {scanned_serial} is not the drive's: {own}"
    )


def _another_was_scanned(attempt: Attempt) -> bool:
    """Whether the test was not started because of the scanned serial."""
    evidence = attempt.evidence
    return not evidence.runs and serial_mismatch(attempt.scanned, evidence.drive) is not None


def _failures(recipe: Recipe, attempt: Attempt) -> Iterator[Reason]:
    """What fails a drive in addition to its limits."""
    for run in attempt.evidence.runs:
        if run.get("corrupt"):
            run_name = f"run {run['number']} ({run['suite']})"
            yield Reason(codes.DATA_CORRUPT, f"{run_name}: {corrupt.reason_of(run['corrupt'])}")
    mismatch = serial_mismatch(attempt.scanned, attempt.evidence.drive)
    if mismatch is not None:
        yield mismatch
    if attempt.stopped is not None:
        yield attempt.stopped
        if attempt.stopped.code == codes.TIME_LIMIT:
            return
    over = attempt.seconds - (recipe.time_limit or attempt.seconds)
    if recipe.time_limit is not None and over > 0 and not attempt.refused:
        yield Reason(
            codes.TIME_LIMIT,
            f"the test took {attempt.seconds:.0f} s, required <= {recipe.time_limit:.0f} s, "
            f"off by {over:.0f} s",
        )


def _inconclusive(recipe: Recipe, attempt: Attempt) -> Iterator[Reason]:
    """Why the test is inconclusive, apart from its limits."""
    yield from attempt.refused
    if attempt.end is not None:
        yield Reason(codes.END_CODES[attempt.end[0]], attempt.end[1])
    # A test that a rule or the time limit ended was cancelled by the bench itself.
    own = attempt.stopped is not None
    for run in attempt.evidence.runs:
        yield from _of_run(run, cancelled_by_rule=own and run is attempt.evidence.runs[-1])
    entries, run_count = len(recipe.entries), len(attempt.evidence.runs)
    is_explained = attempt.refused or attempt.end or own or _another_was_scanned(attempt)
    if run_count < entries and not is_explained and not _broke(attempt):
        rest = ", ".join(item.suite for item in recipe.entries[run_count:])
        yield Reason(codes.NOT_RUN, f"not run: {rest}")
    yield from _other_drive(attempt.evidence)


def _broke(attempt: Attempt) -> bool:
    """Whether the last run itself shows why nothing followed."""
    runs = attempt.evidence.runs
    return bool(runs) and not (runs[-1]["state"] == RunState.COMPLETE and _goes_on(runs[-1]))


def _goes_on(run: Mapping[str, Any]) -> bool:
    return run_queue.goes_on(int(run["exit_code"] or 0))


def _of_run(run: Mapping[str, Any], *, cancelled_by_rule: bool) -> Iterator[Reason]:
    number, suite, state = run["number"], run["suite"], run["state"]
    text = f"run {number} ({suite}) {state}: {run['reason'] or 'no reason given'}"
    if state == RunState.COMPLETE and run["exit_code"] in (EXIT_DONE, EXIT_VERDICT_FAIL):
        return
    if state == RunState.CORRUPT:
        # Corrupt data is a failure; here only the way it ended counts.
        if run["exit_code"] == corrupt.EXIT_CORRUPT:
            return
        is_cancelled = run["exit_code"] == EXIT_CANCELLED
        state = RunState.CANCELLED if is_cancelled else RunState.FAILED
    if state == RunState.CANCELLED and cancelled_by_rule:
        return
    if state in (RunState.INTERRUPTED, RunState.RUNNING):
        yield Reason(codes.INTERRUPTED, text)
    elif state == RunState.CANCELLED:
        yield Reason(codes.CANCELLED, text)
    else:
        yield Reason(codes.END_CODES.get(run["exit_code"], codes.INTERNAL_ERROR), text)


def _other_drive(evidence: Evidence) -> Iterator[Reason]:
    """Whether the drive after the test is not the one from before."""
    if evidence.after is None:
        return
    was, now = evidence.drive["identity"], evidence.after["identity"]
    for name in ("serial", "model", "capacity", "port", "lun", "bridge", "bridge_serial"):
        if was.get(name) != now.get(name):
            text = f"after the test another drive was there: {name} {now.get(name)}, "
            yield Reason(codes.IDENTITY_CHANGED, f"{text}before it {was.get(name)}")
            return


def _exit_of(reason: Json) -> int:
    """The exit code of a test that is inconclusive for this reason."""
    return codes.EXITS.get(reason["code"], EXIT_INCONCLUSIVE)


def _exit_code(failures: Sequence[Json], reasons: Sequence[Json]) -> int:
    exit_codes = [_exit_of(item) for item in reasons]
    if failures:
        exit_codes.append(EXIT_VERDICT_FAIL)
    return run_queue.exit_code(exit_codes)


def again(recipe: Recipe, verdict: Mapping[str, Any]) -> bool:
    """Whether the drive is to be tested again: it did not pass, no reason is bound to occur again,
    and the recipe has a retry left."""
    if verdict["verdict"] == PASS or verdict["retries"] >= recipe.retries:
        return False
    reasons = [*verdict["failures"], *verdict["inconclusive"]]
    if verdict["verdict"] == FAIL:
        # Values that are missing because the test ended early are no reason.
        reasons = [item for item in reasons if item in verdict["failures"] or item["limit"] is None]
    return all(item["code"] in codes.RETRIED for item in reasons)


def exit_code(verdicts: Sequence[Mapping[str, Any]]) -> int:
    """The exit code of several drives."""
    return run_queue.exit_code([int(item["exit_code"]) for item in verdicts])
