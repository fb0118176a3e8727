"""Purges a drive and proves it: the suite `erase`, and the purge steps for suites that need a
fresh drive.

Source: docs/methods/erase.md (the erase methods and their traps), NIST SP 800-88 (verification by
reading places back). Ours: marks are written before the purge, because zeros after the purge prove
nothing where there were zeros before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchstick.drives import sanitize_methods
from benchstick.drives.sanitize_commands import ATA_PASSWORD
from benchstick.drives.sanitize_methods import AUTO, NONE, RESUME, Offer
from benchstick.errors import BadInput
from benchstick.plan.params import Param, choice, whole
from benchstick.plan.quantity import MARKS_SHARE, PURGE_TIME
from benchstick.plan.result import Result
from benchstick.plan.states import SanitizeState, Validity, Verdict
from benchstick.plan.steps import Mark, Plan, Purge, ReadBack, Step, unique_names
from benchstick.plan.units import binary_text, duration_text, size_text
from benchstick.suites.interface import PlanRequest, RawDrive, SuiteResult, assumed_speed

# The size of a mark: a page of most drives, at least a sector of all.
MARK_BYTES = 4096
# Places for a suite that only needs a fresh drive; a certificate uses more.
LEAST_SAMPLES, FEW_SAMPLES, USUAL_SAMPLES = 16, 64, 1000
# Small random writes and reads, one at a time, for estimates of duration only.
_SAMPLES_A_SECOND = 100.0


def purge_steps(
    request: PlanRequest,
    rung: str,
    samples: int = FEW_SAMPLES,
    *,
    is_required: bool = False,
    asked_as: str | None = None,
    label: str = "",
    field: str = "rung",
) -> tuple[Step, ...]:
    """Mark, purge, read back, for a suite that starts with a fresh drive; they come before
    `Prepare`. `rung` is the name of an erase method, `auto`, or `none` for the drive as it is;
    `asked_as` what the user wrote where a suite chose the method. `is_required`: the run ends where
    the purge is not proved. `label` distinguishes the steps from those of another purge in the
    plan.

    BadInput when the drive does not support it; `field` is the parameter's name.
    """
    if rung == NONE:
        return (Purge(name="no purge: the drive as it is", rung=NONE, user_rung=NONE),)
    offer = sanitize_methods.choose(request.drive, rung, assumed_speed(request.drive), field)
    steps = _steps(request, offer, asked_as or rung, samples, is_required, field)
    return tuple(replace(step, name=f"{step.name}, {label}") for step in steps) if label else steps


def rung_param(extra: tuple[str, ...], default: str, help: str) -> Param:
    """The parameter `rung` of a suite that purges."""
    return choice("rung", (*extra, *sanitize_methods.NAMES), default, help)


def _steps(
    request: PlanRequest,
    offer: Offer,
    user_rung: str,
    samples: int,
    is_required: bool,
    field: str,
    resumes: int | None = None,
) -> tuple[Step, ...]:
    size, capacity = _mark_size(request), int(request.drive["identity"]["capacity"])
    count = min(samples, capacity // size)
    if count < LEAST_SAMPLES:
        raise BadInput(
            f"{field}: the drive ({size_text(capacity)}) has no room for {LEAST_SAMPLES} marks of "
            f"{binary_text(size)}, which prove a purge",
            field=field,
        )
    seconds = count / _SAMPLES_A_SECOND
    mark = Mark(
        name="write marks",
        seconds=2 * seconds,
        bytes_written=count * size,
        bytes_read=count * size,
        destroys=True,
        samples=count,
        size=size,
    )
    back = _read_back(count, size, is_required)
    return (mark, _purge(offer, user_rung, resumes), back)


def _read_back(count: int, size: int, is_required: bool) -> ReadBack:
    return ReadBack(
        name="read the places back",
        seconds=count / _SAMPLES_A_SECOND,
        bytes_read=count * size,
        samples=count,
        size=size,
        required=is_required,
    )


def _purge(offer: Offer, user_rung: str, resumes: int | None) -> Purge:
    return Purge(
        name=f"purge: {offer.rung.title}",
        seconds=offer.seconds,
        bytes_written=offer.bytes_written,
        bytes_read=offer.bytes_read,
        destroys=True,
        rung=offer.rung.name,
        user_rung=user_rung,
        resumes=resumes,
    )


def _mark_size(request: PlanRequest) -> int:
    return max(MARK_BYTES, int(request.fact("logical_sector", 512)))


class Erase(RawDrive):
    """The suite `erase`."""

    name = "erase"
    title = "Erase with a certificate"
    summary = "Erases the drive with the best method it supports, and verifies it with marks."
    params: tuple[Param, ...] = (
        rung_param(
            (AUTO, RESUME),
            AUTO,
            "erase method; auto: the best one that the drive supports; resume: continue an "
            "interrupted purge",
        ),
        whole("samples", LEAST_SAMPLES, 100_000, USUAL_SAMPLES,
              "places that are marked and read back"),
    )  # fmt: skip

    def plan(self, request: PlanRequest) -> Plan:
        """Mark, purge, read back; without marks when an interrupted purge continues."""
        rung, samples = str(request.params["rung"]), int(request.params["samples"])
        if rung == RESUME:
            steps, notes = _resume(request)
        else:
            reason = sanitize_methods.unusable(request.drive)
            if reason is not None:
                raise BadInput(f"rung: {reason}", field="rung")
            steps = purge_steps(request, rung, samples, is_required=True)
            others = why_not(request) if rung == AUTO else ()
            notes = (*(f"not {name}: {reason}" for name, reason in others), *of_password(steps))
        return Plan(
            suite=self.name,
            params=dict(request.params),
            target="block",
            fs="keep",
            drive_code=str(request.drive["code"]),
            steps=unique_names(steps),
            notes=notes,
        )

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """The verdict, and the headline: how, how long, what was read back."""
        step = next(step for step in plan.steps if isinstance(step, Purge))
        by_key = {item.key: item for item in results}
        duration, proof = by_key.get(PURGE_TIME), by_key.get(MARKS_SHARE)
        is_proved = proof is not None and proof.state == Validity.VALID
        verdict = Verdict.INCONCLUSIVE
        if proof is not None:
            verdict = Verdict.PASS if is_proved else Verdict.FAIL
        text = _sentence(sanitize_methods.find(step.rung).title, duration, proof)
        headline = [
            {"label": label, "value": item.value, "unit": item.unit, "reason": item.reason}
            for label, item in (("Purge", duration), ("Markers erased", proof))
            if item is not None
        ]
        document = {
            "headline": headline,
            "text": text,
            "verdict": verdict,
            "verdicts": [{"name": "Erase", "state": verdict, "text": text}],
            "tables": [_table(proof)] if proof is not None else [],
            "certificate": is_proved,
        }
        return SuiteResult(results=[], document=document)


def _resume(request: PlanRequest) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """The rest of the purge that is unfinished in the store."""
    purge = request.fact(sanitize_methods.UNFINISHED)
    if not isinstance(purge, Mapping):
        raise BadInput("resume: no purge of this drive was interrupted", field="rung")
    rung = sanitize_methods.find(str(purge["rung"]))
    speed = assumed_speed(request.drive)
    offer = next(o for o in sanitize_methods.offers(request.drive, speed) if o.rung is rung)
    reason = sanitize_methods.never_on(rung, request.drive)
    if reason is None and rung.tool == "hdparm" and sanitize_methods.is_frozen(request.drive):
        reason = sanitize_methods.FROZEN
    if reason is not None:
        raise BadInput(f"resume: {rung.name}: {reason}", field="rung")
    size, count, run = int(purge["mark_size"]), int(purge["samples"]), int(purge["run"])
    note = f"continues the purge that was interrupted in run {run}"
    steps: tuple[Step, ...]
    if _starts_again(request, rung, purge):
        steps = _steps(request, offer, RESUME, count, True, "rung", run)
    else:
        steps = (_purge(offer, RESUME, run), _read_back(count, size, True))
    return steps, (note, *of_password(steps))


def _starts_again(
    request: PlanRequest, rung: sanitize_methods.Rung, purge: Mapping[str, Any]
) -> bool:
    """Whether the whole purge starts again, on a drive that can be written now.

    It then writes new marks: those of the interrupted run may have been overwritten since, and
    would be missing without any purge.
    """
    if rung.name == "overwrite":
        # All of it is read back in any case.
        return False
    if rung.tool == "hdparm":
        return not sanitize_methods.is_locked(request.drive)
    if rung.name.startswith("sanitize"):
        is_finished = purge["written"] and request.fact("sanitize_state") == SanitizeState.COMPLETE
        return not is_finished and sanitize_methods.unusable(request.drive) is None
    return True


def why_not(request: PlanRequest) -> Iterator[tuple[str, str]]:
    """(`rung`, why not) of the erase methods that are better than the first that the drive
    supports, without those of another bus."""
    transport = str(request.fact("transport"))
    tools = {"nvme": ("nvme",), "sata": ("hdparm",)}.get(transport, ())
    if transport.startswith("usb"):
        tools = ("hdparm",)
    for offer in sanitize_methods.offers(request.drive, assumed_speed(request.drive)):
        if offer.why_not is None:
            return
        if offer.rung.tool in (*tools, "blkdiscard"):
            yield offer.rung.name, offer.why_not


def of_password(steps: Sequence[Step]) -> tuple[str, ...]:
    """A note that is recorded before the password is set, in case the drive stays locked."""
    rungs = [sanitize_methods.find(step.rung) for step in steps if isinstance(step, Purge)]
    if not any(rung.tool == "hdparm" for rung in rungs):
        return ()
    return (
        f"the ATA password {ATA_PASSWORD} is on the drive until the erase is done; "
        "if that is interrupted: benchstick purges",
    )


def _sentence(title: str, duration: Result | None, proof: Result | None) -> str:
    if duration is None or duration.value is None:
        return f"{title}: not done"
    sentence = f"{title}, done in {duration_text(duration.value)}"
    if proof is None:
        return f"{sentence}; nothing was read back"
    return f"{sentence}; {proof.detail['text']}"


_KINDS = ("mark", "zeros", "ones", "one value", "other")


def _table(proof: Result) -> dict[str, Any]:
    counts = proof.detail["found"]
    rows = [[kind, str(counts[kind])] for kind in _KINDS if counts.get(kind)]
    title = "Content of sampled locations after erase"
    return {"title": title, "columns": ["content", "places"], "rows": rows}
