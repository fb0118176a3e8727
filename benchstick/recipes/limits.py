"""Whether a limit of a recipe is met: measured against required, with the shortfall. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchstick.plan.quantity import key_of
from benchstick.plan.states import LimitState, Validity
from benchstick.plan.units import CELSIUS
from benchstick.recipes import codes
from benchstick.recipes.codes import Reason
from benchstick.recipes.model import CHANGE, CLAIM, FACT, PEAK, RESULT, Limit, Value
from benchstick.recipes.preconditions import value_of, why_not_of
from benchstick.suites import spec_sheets
from benchstick.suites.spec_sheets import Sheet

MET, FAILED, UNKNOWN = LimitState
_FAILURE = {
    RESULT: codes.RESULT_LIMIT,
    FACT: codes.FACT_LIMIT,
    CHANGE: codes.CHANGE_LIMIT,
    PEAK: codes.PEAK_LIMIT,
}
_PERCENT_DIGITS = 4

Json = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence for the verdict on a drive.

    `drive` and `after` are its JSON before the first run and after the last (None: not scanned,
    because of `after_why`); `runs` the documents (`benchstick/run/2`) in order; `sheet` the
    matching spec sheet; `referenced` the documents of the runs that limits name, by `run N` as the
    recipe writes it.
    """

    drive: Json
    after: Json | None = None
    after_why: str = "the drive was not looked at after the test"
    runs: Sequence[Json] = ()
    sheet: Sheet | None = None
    referenced: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One limit compared with what was measured.

    `measured` and `bound` are in `unit`; `shortfall` is that of a failed limit, never negative,
    and `shortfall_percent` the same as a share of the bound (None where that is 0, or no number).
    `run` is the number of the run that measured it. `code` and `text` are those of a failure, or
    the reason why the limit cannot be judged; None when it is met. In JSON `bound` is `required`.
    """

    number: int
    description: str
    op: str
    state: LimitState
    bound: Any
    tolerance_percent: float | None
    unit: str | None
    measured: Any = None
    shortfall: float | None = None
    shortfall_percent: float | None = None
    run: int | None = None
    code: str | None = None
    text: str | None = None

    def to_json(self) -> dict[str, Any]:
        bound = list(self.bound) if isinstance(self.bound, tuple) else self.bound
        fields = {**asdict(self), "bound": bound}
        return {"required" if name == "bound" else name: value for name, value in fields.items()}


class _Unknown(Exception):
    """A limit that cannot be judged."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.reason = Reason(code, text)


@dataclass(frozen=True)
class _Measured:
    """A measured value, in `unit`, with the run that it was measured in."""

    value: Any
    unit: str | None
    run: int | None = None


def judge(limits: Sequence[Limit], evidence: Evidence) -> list[Judged]:
    """Each limit, in the order of the recipe. A result with several rows (passes of a suite that
    gives no result over all passes, or several runs of the suite) is judged by each; the limit
    fails by the one with the largest shortfall."""
    return [_judge(number, limit, evidence) for number, limit in enumerate(limits, 1)]


def _judge(number: int, limit: Limit, evidence: Evidence) -> Judged:
    plain = Judged(
        number=number, description=what(limit), op=limit.op, state=UNKNOWN,
        tolerance_percent=limit.within,
        bound=limit.value if limit.of is None else None, unit=limit.unit,
    )  # fmt: skip
    try:
        judgements = [_one(plain, limit, item, evidence) for item in _measured(limit, evidence)]
    except _Unknown as error:
        return _but(plain, code=error.reason.code, text=error.reason.text)
    # When all rows meet the limit, the first one is shown.
    return max(judgements, key=lambda item: (item.state == FAILED, item.shortfall or 0.0))


def _but(judgement: Judged, **fields: Any) -> Judged:
    return replace(judgement, **fields)


def what(limit: Limit) -> str:
    """The subject of a limit as text: `SEQ1M Q8T1 read of cdm`."""
    return {
        RESULT: f"{limit.name} of {limit.suite}",
        FACT: limit.name,
        CHANGE: f"change of {limit.name}",
        PEAK: f"highest {limit.name}",
    }[limit.kind]


def _one(plain: Judged, limit: Limit, item: _Measured, evidence: Evidence) -> Judged:
    bound = _find_bound(limit, item, evidence)
    judgement = _but(plain, measured=item.value, bound=bound, unit=item.unit, run=item.run)
    if not isinstance(bound, float) or isinstance(bound, bool):
        options = bound if isinstance(bound, tuple) else (bound,)
        if any(_same(item.value, option) for option in options):
            return _but(judgement, state=MET)
        return _failed(judgement, limit)
    by = _beyond(limit.op, float(item.value), bound, limit.within)
    if by <= 0:
        return _but(judgement, state=MET)
    share = None if bound == 0 else _rounded(100 * by / abs(bound))
    return _failed(_but(judgement, shortfall=_rounded(by), shortfall_percent=share), limit)


def _same(value: Any, option: Value) -> bool:
    """Equal, case aside. A number is no flag: 1 is not true."""
    if isinstance(value, str) and isinstance(option, str):
        return value.lower() == option.lower()
    return type(value) is type(option) and bool(value == option)


def _beyond(op: str, value: float, bound: float, within: float | None) -> float:
    """The shortfall of a result, in its unit; 0 or less when it meets the bound."""
    if op == ">=":
        return bound - value
    if op == "<=":
        return value - bound
    # A difference of 1e-9 comes from rounding a decimal.
    slack = abs(bound) * ((within or 0.0) / 100 if op == "~" else 1e-9)
    return abs(value - bound) - slack if abs(value - bound) > slack else 0.0


def _rounded(value: float) -> float:
    return float(f"{value:.{_PERCENT_DIGITS + 2}g}")


def _failed(judgement: Judged, limit: Limit) -> Judged:
    failure = _but(judgement, state=FAILED, code=_FAILURE[limit.kind])
    return _but(failure, text=_sentence(failure, limit))


def _sentence(judgement: Judged, limit: Limit) -> str:
    unit = f" {judgement.unit}" if judgement.unit else ""
    bound = judgement.bound
    if isinstance(bound, tuple):
        bound_text = " or ".join(format_value(item) for item in bound)
    else:
        bound_text = format_value(bound) + (unit if isinstance(bound, float) else "")
    if judgement.op == "~":
        bound_text += f" within {judgement.tolerance_percent:g} %"
    elif judgement.op != "==":
        bound_text = f"{judgement.op} {bound_text}"
    if limit.of is not None:
        source = "the manufacturer's specification" if limit.of == CLAIM else limit.of
        bound_text += (
            f" ({limit.percent:g} % of {source})" if judgement.op != "~" else f" ({source})"
        )
    beyond = ""
    if judgement.shortfall is not None:
        share = (
            "" if judgement.shortfall_percent is None else f" ({judgement.shortfall_percent:.3g} %)"
        )
        beyond = f", off by {judgement.shortfall:.6g}{unit}{share}"
    value_text = format_value(judgement.measured) + (unit if isinstance(bound, float) else "")
    return f"{judgement.description}: {value_text}, required {bound_text}{beyond}"


def format_value(value: Any) -> str:
    """A value as text: six digits of what was measured."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.6g}"
    return f"{value:.10g}" if "e" in text else text


# ---- what was measured


def _measured(limit: Limit, evidence: Evidence) -> list[_Measured]:
    """The values that a limit is judged by, at least one. Raises _Unknown."""
    if limit.kind == RESULT:
        return list(_results(limit, evidence.runs, f"no run of {limit.suite}"))
    if limit.kind == FACT:
        value = value_of(evidence.drive, limit.name)
        if value is None:
            reason = why_not_of(evidence.drive, limit.name)
            raise _Unknown(codes.FACT_UNKNOWN, f"{limit.name}: not known: {reason}")
        if isinstance(limit.value, float) and not isinstance(value, int | float):
            raise _Unknown(codes.FACT_UNKNOWN, f"{limit.name}: {value} is not a number")
        return [_Measured(value, evidence.drive[limit.name].get("unit"))]
    if limit.kind == CHANGE:
        return [_change(limit.name, evidence)]
    return [_peak(evidence)]


def _results(limit: Limit, runs: Sequence[Json], lacking: str) -> Iterator[_Measured]:
    """The rows of a result: over all passes, where the suite gives one, otherwise of each pass."""
    own = [run for run in runs if run["suite"] == limit.suite]
    if not own:
        raise _Unknown(codes.RESULT_MISSING, f"{limit.name}: {lacking}")
    has_rows = False
    for run in own:
        rows = [
            item for item in run["results"]
            if key_of(item) == limit.key and limit.unit in (None, item["unit"])
        ]  # fmt: skip
        units = sorted({item["unit"] for item in rows})
        if len(units) > 1:
            text = f"{limit.name}: is in {' and '.join(units)}; add the unit to the limit"
            raise _Unknown(codes.RESULT_MISSING, text)
        for item in [row for row in rows if row["pass"] is None] or rows:
            has_rows = True
            if item["state"] != Validity.VALID or item["value"] is None:
                is_skipped = item["state"] == Validity.SKIPPED
                code = codes.RESULT_SKIPPED if is_skipped else codes.RESULT_INVALID
                raise _Unknown(code, f"{limit.name}: {item['state']}: {item['reason']}")
            yield _Measured(float(item["value"]), item["unit"], run["number"])
    if not has_rows:
        names = dict.fromkeys(item["name"] for run in own for item in run["results"])
        names_text = ", ".join(list(names)[:12]) or "none"
        in_unit = f" in {limit.unit}" if limit.unit else ""
        raise _Unknown(
            codes.RESULT_MISSING,
            f"{limit.suite} gave no result {limit.name!r}{in_unit}; it gave {names_text}",
        )


def _change(name: str, evidence: Evidence) -> _Measured:
    before = value_of(evidence.drive, name)
    if before is None:
        reason = why_not_of(evidence.drive, name)
        raise _Unknown(codes.CHANGE_UNKNOWN, f"{name} before the test: not known: {reason}")
    if evidence.after is None:
        raise _Unknown(codes.CHANGE_UNKNOWN, f"{name} after the test: {evidence.after_why}")
    after = value_of(evidence.after, name)
    if after is None:
        reason = why_not_of(evidence.after, name)
        raise _Unknown(codes.CHANGE_UNKNOWN, f"{name} after the test: not known: {reason}")
    return _Measured(float(after - before), evidence.drive[name].get("unit"))


def temperatures(runs: Sequence[Json]) -> list[float]:
    """Every temperature that the runs read, in degrees Celsius."""
    return [
        float(item["celsius"])
        for run in runs
        for item in run["temperatures"]
        if item["celsius"] is not None
    ]


def _peak(evidence: Evidence) -> _Measured:
    readings = temperatures(evidence.runs)
    if not readings:
        reason = why_not_of(evidence.drive, "temperature")
        raise _Unknown(codes.PEAK_UNKNOWN, f"temperature: none was read in the test: {reason}")
    return _Measured(max(readings), CELSIUS)


# ---- what is required


def _find_bound(limit: Limit, item: _Measured, evidence: Evidence) -> Any:
    if limit.of is None:
        return limit.value
    share = (limit.percent or 0.0) / 100
    if limit.of == CLAIM:
        return share * _claimed(limit, item, evidence.sheet)
    run = evidence.referenced.get(limit.of)
    if run is None:
        raise _Unknown(codes.NO_REFERENCE, f"{limit.of}: there is no such run on this bench")
    if run["suite"] != limit.suite:
        text = f"{limit.of}: is a run of {run['suite']}, not of {limit.suite}"
        raise _Unknown(codes.NO_REFERENCE, text)
    try:
        if run.get("corrupt"):
            raise _Unknown(codes.NO_REFERENCE, "its data is corrupt")
        rows = list(_results(limit, [run], f"{limit.of} has none"))
    except _Unknown as error:
        raise _Unknown(codes.NO_REFERENCE, f"{limit.of}: {error}") from None
    if len({row.value for row in rows}) != 1 or rows[0].unit != item.unit:
        raise _Unknown(codes.NO_REFERENCE, f"{limit.of}: gives {limit.name} more than once")
    return float(share * rows[0].value)


def _claimed(limit: Limit, item: _Measured, sheet: Sheet | None) -> float:
    if sheet is None:
        raise _Unknown(codes.NO_CLAIM, "no spec sheet matches this drive")
    assert limit.key is not None
    value = spec_sheets.claim_of(sheet, str(limit.suite), limit.key, item.unit)
    if value is not None:
        return value
    raise _Unknown(codes.NO_CLAIM, f"the spec sheet of {sheet.name} has no {limit.name}")


def references(limits: Sequence[Limit]) -> list[str]:
    """The runs that limits name, as `run N` or `run UUID`."""
    run_names = [limit.of for limit in limits if limit.of is not None and limit.of != CLAIM]
    return list(dict.fromkeys(run_names))


def run_named(text: str) -> int | str:
    """The number or the UUID in `run N`."""
    word = re.sub(r"^run ", "", text)
    return int(word) if word.isdigit() else word
