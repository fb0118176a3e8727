"""The interface of suites: a pure function to a plan, and a pure function to a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from benchstick.analysis.change_points import SampleLike
from benchstick.plan.fileset import FileSet
from benchstick.plan.params import Param, Value
from benchstick.plan.quantity import Quantity, ResultKey
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import Fio, Plan


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """A suite's input for a plan: a drive's facts (its JSON) and the user's parameters, checked.

    Not a `RunRequest`, which has texts and a selector: here the drive is known, the parameters have
    their types, and each default is in its place. `suites.registry.make_plan` makes one of it.

    `sets` are the user's own file sets (a folder or a manifest), empty for the built-in ones; `ram`
    the bytes of RAM that sources may take. `user_params` names the parameters that the user wrote.
    """

    drive: Mapping[str, Any]
    params: Mapping[str, Value]
    target: str
    fs: str
    scale: float | None
    sets: Sequence[FileSet] = ()
    ram: int = 0
    user_params: frozenset[str] = frozenset()

    def fact(self, name: str, default: Any = None) -> Any:
        """The value of a drive's fact, or `default` where it is not known."""
        entry = self.drive.get(name)
        value = entry.get("value") if isinstance(entry, Mapping) else None
        return default if value is None else value


@dataclass(frozen=True, kw_only=True)
class SuiteResult:
    """A suite's result, computed from the results of its passes.

    `results` are the results over all passes; `document` is stored with the run: headline, tables,
    charts, text, verdicts and the suite's own part; `events` are (kind, text) to record on the run.

    `charts` is a list, made with `suites.charts`. A chart has `title`, `x` and `y`: each with
    `label`, `unit` and `scale`, which is linear, of x also log2, of y also log. Its `series` are
    lines, or names of lines in the document's own `series`, where several charts share one. A line
    has `name` and `points`, a list of [x, y] with x rising (y null: the line is broken there); in a
    reduced series also `low` and `high`, the extremes of each point; `on`, `y2` for the axis on the
    right; and `guide`, true for a line that was not measured, as a limit. Only where they are
    needed a chart has: `y2` (as `y`), `dots` true (points are not joined), `from` and `to` (the
    visible part of x), `mark_above` (`x` and `label`: the label is for all x from there on) and
    `marks` (a list of `x` and `label`: what is at this x).
    """

    results: Sequence[Result]
    document: Mapping[str, Any]
    events: Sequence[tuple[str, str]] = field(default_factory=tuple)


class Suite(Protocol):
    """A published test method."""

    name: str
    title: str
    summary: str
    params: tuple[Param, ...]
    default_target: str
    default_fs: str
    targets: tuple[str, ...]
    has_scale: bool

    def plan(self, request: PlanRequest) -> Plan:
        """The ordered steps. BadInput when the request is not possible on this drive."""

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """The result, from the values measured so far, which may be of a cancelled run."""


class RawDrive:
    """What the suites have in common that test the drive without a filesystem."""

    default_target = "block"
    default_fs = "keep"
    targets: tuple[str, ...] = ("block",)
    has_scale = False


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A run's record in addition to its results: the drive's per-second samples, and its
    temperatures as (seconds on the same clock, degrees Celsius or None)."""

    samples: Sequence[SampleLike] = ()
    temperatures: Sequence[tuple[float, float | None]] = ()


@runtime_checkable
class RecordSuite(Protocol):
    """A suite whose result also uses the per-second record."""

    def result_of_record(
        self,
        plan: Plan,
        results: Sequence[Result],
        drive: Mapping[str, Any],
        record: Recorded,
    ) -> SuiteResult:
        """As `Suite.result`, with the record."""


@runtime_checkable
class ComputingSuite(Protocol):
    """A suite with results of its own: other tests or quantities than its steps have."""

    def result_keys(self, plan: Plan) -> Iterable[ResultKey]:
        """Their keys. A recipe may have limits of these and of the results of the steps."""


@runtime_checkable
class RoundSuite(Protocol):
    """A suite with rounds that end when enough is known."""

    def over(self, plan: Plan, step: Fio, results: Sequence[Result]) -> str | None:
        """Why the round of `step` is no longer needed, from the results so far; None when it is. A
        pure function, called once before each round."""


# Bytes a second that a link moves at best, for estimates of duration only.
_USB = {1.5: 0.1e6, 12: 1e6, 480: 40e6, 5000: 420e6, 10000: 980e6, 20000: 1900e6, 40000: 3000e6}


def assumed_speed(drive: Mapping[str, Any]) -> float:
    """Bytes a second assumed before anything is measured: the speed of the link."""

    def fact(name: str) -> Any:
        entry = drive.get(name)
        return entry.get("value") if isinstance(entry, Mapping) else None

    transport = fact("transport")
    if str(transport).startswith("usb"):
        speed = fact("usb_speed")
        return _USB.get(speed, 400e6) if isinstance(speed, int | float) else 100e6
    if transport == "sata":
        return 160e6 if fact("rotational") else 500e6
    return {"nvme": 2000e6, "mmc": 80e6}.get(str(transport), 500e6)


def link_text(drive: Mapping[str, Any]) -> str:
    """The driver in use, as verdicts name it."""
    entry = drive.get("driver")
    value = entry.get("value") if isinstance(entry, Mapping) else None
    return str(value) if value else str((drive.get("transport") or {}).get("value") or "")


def of_fewer(passes: Sequence[Result]) -> str | None:
    """The note of a result over `passes` when not all of them are valid; None when all are."""
    bad = [item for item in passes if item.state != Validity.VALID]
    if not bad:
        return None
    first = bad[0]
    return (
        f"{len(passes) - len(bad)} of {len(passes)} passes; "
        f"pass {first.pass_no} {first.state}: {first.reason}"
    )


# Test, quantity, value, unit, detail of a result.
Row = tuple[str, Quantity, float | None, str, Mapping[str, Any]]


def over_all_passes(
    label: str,
    rows: Sequence[Row],
    state: str,
    reason: str | None,
    direction: str | None = None,
) -> list[Result]:
    """Results over all passes of the step `label`."""
    return [
        Result(
            step=label, test=test, quantity=quantity, direction=direction, value=value, unit=unit,
            pass_no=None, state=Validity(state), reason=reason, detail=detail,
        )
        for test, quantity, value, unit, detail in rows
    ]  # fmt: skip
