"""Spec sheets: a manufacturer's specifications of a model, its components and price. Pure."""

from __future__ import annotations

import datetime
import fnmatch
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from benchstick.analysis.comparison.rank import better
from benchstick.errors import BadInput
from benchstick.plan.quantity import IOPS, SPEED, ResultKey, key_of
from benchstick.plan.states import Validity
from benchstick.plan.tabular_input import (
    checked_number,
    checked_text,
    decoded,
    line_of,
    parse_toml,
    wrong,
)
from benchstick.plan.units import parse_size
from benchstick.suites import cdm, registry
from benchstick.suites.reference_results import OLD_NAMES, UNITS
from benchstick.suites.result_names import result_key

MOST_CLAIMS = 100
# 1 TB is 1000.2 GB on one drive and 1000.0 on another.
_NEAR = 0.03
_CLAIM_FIELDS = ("suite", "result", "value", "unit")
_Q32 = (cdm.RND4K_Q32T16, cdm.RND4K_Q32)
# The specifications on every manufacturer's page: the cdm results to compare with, of which the
# first that a run has is used, and their unit.
PLAIN: Mapping[str, tuple[tuple[ResultKey, ...], str]] = {
    "seq_read_mbps": ((ResultKey(cdm.SEQ1M_Q8.label("read"), SPEED),), "MB/s"),
    "seq_write_mbps": ((ResultKey(cdm.SEQ1M_Q8.label("write"), SPEED),), "MB/s"),
    "rand_read_iops": (tuple(ResultKey(test.label("read"), IOPS) for test in _Q32), "IOPS"),
    "rand_write_iops": (tuple(ResultKey(test.label("write"), IOPS) for test in _Q32), "IOPS"),
}


@dataclass(frozen=True)
class Claim:
    """One specification of a suite's result, in the suite's unit. `result` is its name."""

    suite: str
    result: str
    value: float
    unit: str

    @functools.cached_property
    def key(self) -> ResultKey:
        return result_key(self.result)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One model. `model` is a pattern of drives' models, as in a shell; `capacity` and `raw_nand`
    are bytes, with a capacity only drives of about that size match; `price` is in `currency` (three
    letters) at `price_date` (YYYY-MM-DD). What is not known is None."""

    model: str
    name: str
    capacity: int | None = None
    seq_read_mbps: float | None = None
    seq_write_mbps: float | None = None
    rand_read_iops: float | None = None
    rand_write_iops: float | None = None
    raw_nand: int | None = None
    nand: str | None = None
    controller: str | None = None
    warranty_years: float | None = None
    price: float | None = None
    currency: str | None = None
    price_date: str | None = None
    source: str | None = None
    claims: tuple[Claim, ...] = field(default_factory=tuple)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "claims": [asdict(claim) for claim in self.claims]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Sheet:
        return Sheet(**{**data, "claims": tuple(Claim(**item) for item in data["claims"])})


def _size(value: Any, name: str) -> int:
    text = str(value) if isinstance(value, int) else value
    if not isinstance(text, str) or len(text) > 40:
        raise ValueError(f"{name}: a size is required, as 1TB or 1024GiB")
    try:
        count = parse_size(text, name)
    except BadInput as error:
        raise ValueError(error.message) from None
    if count < 10**6:
        raise ValueError(f"{name}: {text!r} is less than 1 MB; write it with its unit, as 1TB")
    return count


def _text(value: Any, name: str) -> str:
    return checked_text(value, name)


def _above(value: Any, name: str) -> float:
    return checked_number(value, name, above=True)


def _years(value: Any, name: str) -> float:
    return checked_number(value, name, high=100)


def _currency(value: Any, name: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z]{3}", value.strip().upper()):
        raise ValueError(f"{name}: three letters are required, as EUR")
    return value.strip().upper()


def _date(value: Any, name: str) -> str:
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value.strip())
        except ValueError:
            value = None
    if not isinstance(value, datetime.date):
        raise ValueError(f"{name}: a date is required, as 2026-01-31")
    return value.isoformat()[:10]


# Each field with its check, in the order of the page's form.
FIELDS: Mapping[str, Callable[[Any, str], Any]] = {
    "model": _text, "name": _text, "capacity": _size,
    **dict.fromkeys(PLAIN, _above),
    "raw_nand": _size, "nand": _text, "controller": _text, "warranty_years": _years,
    "price": _above, "currency": _currency, "price_date": _date,
    "source": lambda value, name: checked_text(value, name, most=500),
}  # fmt: skip
# Reports an error of a field (None: of the whole), in the claim at an index (None: in no claim).
Teller = Callable[[str | None, int | None, str], NoReturn]


def read(raw: bytes, where: str) -> Sheet:
    """The spec sheet in a TOML file. BadInput of one line, `FILE: line N: what`."""
    text = decoded(raw, where)
    fields = parse_toml(text, where)

    def tell(name: str | None, at: int | None, message: str) -> NoReturn:
        table = None if at is None else "claim"
        wrong(where, line_of(text, name, table=table, number=at or 0), message, field=name)

    if not fields:
        wrong(where, None, "empty")
    claims = fields.pop("claim", [])
    if not isinstance(claims, list) or not all(isinstance(item, dict) for item in claims):
        tell("claim", None, "claim: [[claim]] tables are required")
    return checked(fields, claims, tell)


def checked(fields: Mapping[str, Any], claims: Sequence[Mapping[str, Any]], tell: Teller) -> Sheet:
    """The sheet with these fields; `tell` reports an error."""
    args: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in FIELDS:
            tell(name, None, f"{name[:60]!r}: not one of claim, {', '.join(FIELDS)}")
        try:
            args[name] = FIELDS[name](value, name)
        except ValueError as error:
            tell(name, None, str(error))
    if "model" not in args:
        tell("model", None, "model: is missing; it is the drives' model, * for any text")
    args.setdefault("name", args["model"])
    if "price" in args:
        for name in ("currency", "price_date"):
            if name not in args:
                tell(name if name in fields else "price", None, f"{name}: is required with price")
    if len(claims) > MOST_CLAIMS:
        tell("claim", None, f"claim: {len(claims)} of them; at most {MOST_CLAIMS}")
    sheet_claims = tuple(_claim(item, at, tell) for at, item in enumerate(claims))
    return Sheet(**args, claims=sheet_claims)


def _claim(item: Mapping[str, Any], at: int, tell: Teller) -> Claim:
    item = {OLD_NAMES.get(name, name): value for name, value in item.items()}
    for name in item:
        if name not in _CLAIM_FIELDS:
            tell(name, at, f"{name[:60]!r}: not one of {', '.join(_CLAIM_FIELDS)}")
    args: dict[str, Any] = {}
    for name in _CLAIM_FIELDS:
        if name not in item:
            tell(None, at, f"{name}: is missing in a claim")
        try:
            check = _above if name == "value" else _text
            args[name] = check(item[name], name)
            there = {"suite": list(registry.all_suites()), "unit": list(UNITS)}.get(name)
            if there and args[name] not in there:
                raise ValueError(f"{name}: {args[name][:60]!r} is none; there are "
                                 f"{', '.join(there)}")  # fmt: skip
        except ValueError as error:
            tell(name, at, str(error))
    args["unit"], factor = UNITS[args["unit"]]
    # 0.57 ms are 570 us, not 569.9999999999999.
    args["value"] = float(f"{args['value'] * factor:.12g}")
    return Claim(**args)


# ---- comparison with a drive


def matching(sheets: Sequence[Sheet], model: str, capacity: Any) -> Sheet | None:
    """The sheet of a drive by its model and capacity in bytes: first one with its capacity, then
    the longer pattern, then the later in the list. None where none matches."""
    fitting = [sheet for sheet in sheets if _fits(sheet, model, capacity)]
    if not fitting:
        return None
    ranks = [(sheet.capacity is not None, len(sheet.model), at) for at, sheet in enumerate(fitting)]
    return fitting[max(ranks)[2]]


def _fits(sheet: Sheet, model: str, capacity: Any) -> bool:
    if not fnmatch.fnmatchcase(" ".join(model.lower().split()), sheet.model.lower()):
        return False
    if sheet.capacity is None:
        return True
    return isinstance(capacity, int) and abs(capacity - sheet.capacity) <= _NEAR * sheet.capacity


def price_per_gb(sheet: Sheet, capacity: Any) -> float | None:
    """The price of a GB (10^9 bytes) in the sheet's currency; `capacity`, that of the drive in
    bytes, where the sheet has none. None without a price."""
    size = sheet.capacity if sheet.capacity is not None else capacity
    if sheet.price is None or not isinstance(size, int) or size <= 0:
        return None
    return float(f"{sheet.price / (size / 1e9):.4g}")


def suites_of(sheet: Sheet) -> list[str]:
    """The suites that the sheet has specifications for."""
    plain = ["cdm"] if any(getattr(sheet, name) is not None for name in PLAIN) else []
    return list(dict.fromkeys([*plain, *(claim.suite for claim in sheet.claims)]))


def beside(
    sheet: Sheet, suite: str, results: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Each specification of a suite's results, compared with a run: `result`, `unit`, `claimed`,
    `measured` (None with the reason in `reason`), `percent` of the specification, `better`."""
    by_key: dict[tuple[ResultKey, str], Mapping[str, Any]] = {}
    for item in results:
        if item["pass"] is None:
            by_key.setdefault((key_of(item), item["unit"]), item)
    for keys, unit, claim in _claimed(sheet, suite):
        key = next((key for key in keys if (key, unit) in by_key), keys[0])
        result = by_key.get((key, unit))
        value: float | None = None
        reason: str | None = "not measured in this run"
        if result is not None:
            good = result["state"] == Validity.VALID and result["value"] is not None
            value, reason = (result["value"], None) if good else (None, str(result["reason"]))
        yield {
            "suite": suite,
            "result": key.name,
            "unit": unit,
            "better": better(unit, key.quantity),
            "claimed": claim,
            "measured": value,
            "percent": None if value is None else round(100 * value / claim, 1),
            "reason": reason,
        }


def claim_of(sheet: Sheet, suite: str, key: ResultKey, unit: str | None) -> float | None:
    """What the manufacturer claims of a result; None where the sheet does not have it."""
    claims = _claimed(sheet, suite)
    return next((value for keys, of, value in claims if key in keys and of == unit), None)


def _claimed(sheet: Sheet, suite: str) -> Iterator[tuple[tuple[ResultKey, ...], str, float]]:
    """(keys of the result, unit, value) of each specification."""
    if suite == cdm.Cdm.name:
        for name, (keys, unit) in PLAIN.items():
            value = getattr(sheet, name)
            if value is not None:
                yield keys, unit, value
    for claim in sheet.claims:
        if claim.suite == suite:
            yield (claim.key,), claim.unit, claim.value
