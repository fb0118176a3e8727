"""What every suite is: a pure function to a plan, and a pure function to a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from benchstick.analysis.change_points import SampleLike
from benchstick.plan.fileset import FileSet
from benchstick.plan.params import Param, Value
from benchstick.plan.quantity import Quantity
from benchstick.plan.steps import Fio, Plan

FigureJson = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a suite plans for: a drive's facts (its JSON) and the user's wishes, already checked.

    `sets` are the file sets that came from the user (a folder or a manifest), empty for the
    built-in ones; `ram` the bytes of RAM that sources may take. `given` names the parameters that
    the user wrote.
    """

    drive: Mapping[str, Any]
    params: Mapping[str, Value]
    target: str
    fs: str
    scale: float | None
    sets: Sequence[FileSet] = ()
    ram: int = 0
    given: frozenset[str] = frozenset()

    def fact(self, name: str, default: Any = None) -> Any:
        """The value of a drive's fact, or `default` where it is not known."""
        entry = self.drive.get(name)
        value = entry.get("value") if isinstance(entry, Mapping) else None
        return default if value is None else value


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a suite makes of the figures of its passes.

    `figures` are those over all passes (`name`, `value`, `unit`, `step`, `detail`, and `target`
    where it is not the run's); `document` is kept with the run: headline, tables, charts, text,
    verdicts and the suite's own part; `events` are (kind, text) to note on the run.

    `charts` is a list, made with `suites.charts`. A chart has `title`, `x` and `y`: each with
    `label`, `unit` and `scale`, which is linear, of x also log2, of y also log. Its `series` are
    lines, or names of lines in the document's own `series`, where several charts share one. A
    line has `name` and `points`, a list of [x, y] with x rising (y null: the line is broken
    there); of a series that was reduced also `low` and `high`, the extremes that each point
    stands for; `on`, `y2` for the axis on the right; and `guide` true of what was not measured, as
    a limit. Only where they are needed a chart has:
    `y2` (as `y`), `dots` true (points are not joined), `from` and `to` (the part of x that it
    shows), `mark_above` (`x` and `label`: from there on the label holds) and `marks` (a list of
    `x` and `label`: what lies there).
    """

    figures: Sequence[Mapping[str, Any]]
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
    takes_scale: bool

    def plan(self, request: Asked) -> Plan:
        """The ordered steps. BadInput when the wishes cannot be met on this drive."""

    def result(self, plan: Plan, figures: Sequence[FigureJson], drive: Mapping[str, Any]) -> Result:
        """The result from the figures measured so far, which may be of a run cut short."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a run recorded beside its figures: the drive's per-second samples, and its temperatures
    as (seconds on the same clock, degrees Celsius or None)."""

    samples: Sequence[SampleLike] = ()
    temperatures: Sequence[tuple[float, float | None]] = ()


@runtime_checkable
class RecordSuite(Protocol):
    """A suite whose result is made of the per-second record as well."""

    def result_of_record(
        self,
        plan: Plan,
        figures: Sequence[FigureJson],
        drive: Mapping[str, Any],
        recorded: Recorded,
    ) -> Result:
        """As `Suite.result`, with what was recorded."""


@runtime_checkable
class RoundSuite(Protocol):
    """A suite with rounds that end when enough is known."""

    def over(self, plan: Plan, step: Fio, figures: Sequence[FigureJson]) -> str | None:
        """Why the round that `step` belongs to is not needed any more, from the figures so far;
        None when it is. A pure function, asked once before each round."""


# Bytes a second that a link moves at best, for estimates of duration only.
_USB = {1.5: 0.1e6, 12: 1e6, 480: 40e6, 5000: 420e6, 10000: 980e6, 20000: 1900e6, 40000: 3000e6}


def assumed_speed(drive: Mapping[str, Any]) -> float:
    """Bytes a second to reckon with before anything is measured: what the link carries."""

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
    """The driver that is bound, as verdicts name it."""
    entry = drive.get("driver")
    value = entry.get("value") if isinstance(entry, Mapping) else None
    return str(value) if value else str((drive.get("transport") or {}).get("value") or "")


def of_fewer(passes: Sequence[Mapping[str, Any]]) -> str | None:
    """What a figure over `passes` must say when not all of them are in it; None when all are."""
    bad = [item for item in passes if item["state"] != "valid"]
    if not bad:
        return None
    first = bad[0]
    return (
        f"{len(passes) - len(bad)} of {len(passes)} passes; "
        f"pass {first['pass']} {first['state']}: {first['why']}"
    )


# Test, quantity, value, unit, detail of a result.
Row = tuple[str, Quantity, float | None, str, Mapping[str, Any]]


def over_all_passes(
    label: str,
    rows: Sequence[Row],
    state: str,
    why: str | None,
    direction: str | None = None,
) -> list[dict[str, Any]]:
    """Results over all passes of the step `label`."""
    return [
        {
            "step": label, "name": f"{test}{quantity.suffix}", "test": test,
            "direction": direction, **quantity.to_json(), "value": value, "unit": unit,
            "pass": None, "state": state, "why": why, "detail": detail,
        }
        for test, quantity, value, unit, detail in rows
    ]  # fmt: skip
