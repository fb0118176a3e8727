"""Reads a recipe from its TOML text, and reports all its errors at once, each with its line."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.drives.fact_catalogue import CATALOGUE, CHANGES, LIMITS, Type
from benchstick.drives.types import TRANSPORTS
from benchstick.errors import BadInput
from benchstick.plan import params as parameters
from benchstick.plan import run_queue, toml_positions
from benchstick.plan.params import Param
from benchstick.plan.recipe_names import MOST_BYTES
from benchstick.plan.steps import FILESYSTEMS, TARGETS
from benchstick.plan.tabular_input import checked_number, checked_text
from benchstick.plan.toml_positions import NotToml, Path, TomlLines
from benchstick.plan.units import parse_duration, parse_size
from benchstick.recipes import model, plan_check
from benchstick.recipes.model import After, Entry, Limit, Match, Recipe, Size, Start, Stop
from benchstick.suites import presets, registry
from benchstick.suites.reference_results import UNITS
from benchstick.suites.result_names import result_key

MOST_LIMITS = 200
MOST_STOPS = 20
MOST_RETRIES = 5
_MOST_LISTED = 100
_PERCENT = re.compile(r"(\d{1,4}(?:\.\d{1,6})?)\s*%", re.ASCII)
_SIZE = re.compile(r"(>=|<=|==|~)?\s*(.+)")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_RUN = re.compile(rf"run ([1-9]\d{{0,8}}|{_UUID})", re.ASCII)
# A check converts the value of a key, or raises ValueError with what is required.
Check = Callable[[Any], Any]


@dataclass(frozen=True)
class Mistake:
    """One error, on `line` (None: in the whole), with `field`, the key's path."""

    line: int | None
    message: str
    field: str = ""

    def format(self, where: str) -> str:
        """`FILE:LINE: message`."""
        place = where if self.line is None else f"{where}:{self.line}"
        return f"{place}: {self.message}"


class RecipeMistakes(BadInput):
    """All errors of a recipe, in the order of its lines; the message has the first."""

    def __init__(self, where: str, errors: Sequence[Mistake]) -> None:
        more = f" (and {len(errors) - 1} more errors)" if len(errors) > 1 else ""
        super().__init__(f"{errors[0].format(where)}{more}", field="recipe")
        self.where = where
        self.errors = tuple(errors)


def read(raw: bytes, where: str) -> Recipe:
    """The recipe in a file called `where`. RecipeMistakes."""
    try:
        text = _decoded(raw)
        document = toml_positions.parse(text)
    except NotToml as error:
        raise RecipeMistakes(where, [Mistake(error.line, error.message)]) from None
    reader = _Reader(TomlLines(text))
    fields = reader.recipe(document)
    if reader.errors or fields is None:
        errors = sorted(reader.errors, key=lambda item: item.line or 0)
        raise RecipeMistakes(where, errors)
    digest = hashlib.sha256(raw).hexdigest()
    own = re.sub(r"\.toml$", "", where.rsplit("/", 1)[-1], flags=re.IGNORECASE)
    name = fields.pop("name", None) or own or where
    return Recipe(**fields, name=name, file=where, sha256=digest)


def _decoded(raw: bytes) -> str:
    if len(raw) > MOST_BYTES:
        raise NotToml(None, f"larger than {MOST_BYTES >> 10} KiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotToml(raw[: error.start].count(b"\n") + 1, "not UTF-8 text") from None


# ---- checks of single values


def _text(most: int = 200) -> Check:
    return _without_name(lambda value: checked_text(value, "", most=most))


def _without_name(check: Check) -> Check:
    """A check whose errors start with an empty name, which is removed."""

    def run(value: Any) -> Any:
        try:
            return check(value)
        except ValueError as error:
            raise ValueError(str(error).removeprefix(": ")) from None

    return run


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is required")
    return value


def _number(low: float, high: float, *, above: bool = False) -> Check:
    def check(value: Any) -> float:
        if isinstance(value, str):
            raise ValueError("a number is required, without quotes")
        return checked_number(value, "", low=low, high=high, above=above)

    return _without_name(check)


def _whole(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high} is required")
        return value

    return check


def _one_of(options: Sequence[str]) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in options:
            raise ValueError(f"{_quote(value)} is not one of {', '.join(options)}")
        return value

    return check


def _duration(value: Any) -> float:
    """Seconds of `5 min`."""
    if not isinstance(value, str):
        raise ValueError('a duration is required, as "45 s", "5 min" or "2 h"')
    seconds = _bare(lambda: parse_duration(value, ""))
    if not 1 <= seconds <= 30 * 86400:
        raise ValueError(f"{_quote(value)} is not from 1 s to 30 d")
    return float(seconds)


def _percent(value: Any) -> float:
    """The number of `95 %`."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not 0 < float(match[1]) <= 1000:
        raise ValueError('a percentage is required, as "95 %"')
    return float(match[1])


def _size(value: Any) -> Size:
    """`>= 240GB`; without an operator about that size."""
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError('a size is required, as ">= 240GB", "<= 4TB" or "1TB"')
    count = _bare(lambda: parse_size(match[2], ""))
    if count < 10**6:
        raise ValueError(f"{_quote(value)} is less than 1 MB; write it with its unit, as 1TB")
    return Size(match[1] or "~", count)


def _bare(call: Callable[[], Any]) -> Any:
    """The result of `call`; its BadInput about a field without a name as ValueError."""
    try:
        return call()
    except BadInput as error:
        raise ValueError(error.message.removeprefix(": ")) from None


def _quote(value: Any) -> str:
    """A value as in the file, in one line, cut."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _params(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError('parameters are required, as { passes = 1, size = "256MiB" }')
    return value


def _any(value: Any) -> Any:
    return value


_ENTRY: Mapping[str, Check] = {
    "name": _text(), "params": _params, "target": _one_of(TARGETS), "fs": _one_of(FILESYSTEMS),
    "scale": _number(0, 1, above=True), "exclusive": _flag,
}  # fmt: skip
_START: Mapping[str, Check] = {
    "full_link": _flag, "link": _number(0, 1e6, above=True), "temperature": _number(0, 120),
    "trim": _flag,
}  # fmt: skip
_LIMIT: Mapping[str, Check] = {
    **dict.fromkeys(model.KINDS, _text()), "suite": _text(), "op": _one_of(model.OPERATORS),
    "value": _any, "unit": _one_of(tuple(UNITS)), "of": _text(), "within": _percent,
}  # fmt: skip
_STOP: Mapping[str, Check] = {
    "rate_below": _number(0, 1e6, above=True), "for": _duration, "steps": _text(),
    "temperature_above": _number(0, 120), "errors": _whole(1, 10**6),
}  # fmt: skip
_AFTER: Mapping[str, Check] = {"eject": _flag, "power_off": _flag}
_MATCH = ("transport", "model", "size")
_TOP: Mapping[str, Check] = {
    "name": _text(80), "about": _text(300), "time_limit": _duration,
    "retries": _whole(0, MOST_RETRIES), "allow_erase": _flag, "erase_used": _flag,
}  # fmt: skip
_TABLES = ("match", "start", "suite", "limit", "stop", "after")


class _Reader:
    """Reads one recipe. It records each error and reads the rest."""

    def __init__(self, lines: TomlLines) -> None:
        self._lines = lines
        self.errors: list[Mistake] = []

    def recipe(self, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """The fields of a Recipe; they are not usable when there are errors."""
        plain = {name: value for name, value in document.items() if name not in _TABLES}
        top = self._table((), plain, _TOP, _TABLES)
        entries = self._each(
            "suite", document, self._entry, most=run_queue.MOST, required_key="what to run"
        )
        suites = list(dict.fromkeys(item.suite for item in entries))
        suite_tables = document.get("suite", [])
        if not isinstance(suite_tables, list) or len(entries) != len(suite_tables):
            # One suite is not known, so the suites of limits cannot be checked.
            suites = []
        limits = self._each(
            "limit", document, lambda path, item: self._limit(path, item, suites),
            most=MOST_LIMITS, required_key="what a drive must meet to pass",
        )  # fmt: skip
        stops = self._each("stop", document, self._stop, most=MOST_STOPS)
        match = self._match(document)
        if not self.errors:
            self._rehearse(entries, limits, match)
        if top.get("allow_erase") and "match" not in document:
            self._say(("allow_erase",), "allow_erase: requires [match]: which drives may be erased")
        if top.get("erase_used") and not top.get("allow_erase"):
            self._say(("erase_used",), "erase_used: has no effect without allow_erase = true")
        start = Start(**self._table(("start",), self._of(document, "start"), _START))
        after = After(**self._table(("after",), self._of(document, "after"), _AFTER))
        return {
            "about": "", "time_limit": None, "retries": 0, "allow_erase": False,
            "erase_used": False, **top, "entries": tuple(entries), "limits": tuple(limits),
            "stops": tuple(stops), "match": match, "start": start, "after": after,
        }  # fmt: skip

    def _rehearse(self, entries: Sequence[Entry], limits: Sequence[Limit], match: Match) -> None:
        """Record errors that only a plan shows: parameters that cannot be combined, and results
        that no suite gives."""
        before = len(self.errors)
        for index, entry in enumerate(entries):
            wrong = plan_check.why_never(entry, match)
            if wrong is not None:
                path = ("suite", index, "params", str(wrong.field))
                own = ("suite", index, str(wrong.field))
                self._say(path if wrong.field in entry.params else own, wrong.message)
        if len(self.errors) == before and len(entries) > 1:
            reason = plan_check.why_not_in_order(entries, match)
            if reason is not None:
                self._say(("suite",), reason)
        if len(self.errors) == before:
            self._check_results(entries, limits, match)

    def _check_results(
        self, entries: Sequence[Entry], limits: Sequence[Limit], match: Match
    ) -> None:
        suite_results = [(item.suite, plan_check.results(item, match)) for item in entries]
        for index, limit in enumerate(limits):
            of_suite = [results for suite, results in suite_results if suite == limit.suite]
            if limit.kind != model.RESULT or None in of_suite:
                continue
            keys = [key for results in of_suite for key in results or ()]
            if limit.key not in keys:
                path, names = ("limit", index, model.RESULT), [key.name for key in keys]
                self._unknown(path, limit.name, names, f"result of {limit.suite}")

    # -- errors

    def _say(self, path: Path, message: str) -> None:
        line = self._lines.of(*path)
        field = ".".join(str(part) for part in path)
        self.errors.append(Mistake(line, message, field))

    def _table(
        self,
        path: Path,
        table: Mapping[str, Any],
        checks: Mapping[str, Check],
        more: Sequence[str] = (),
    ) -> dict[str, Any]:
        """The checked values of a table; `more` are keys of it that are read elsewhere."""
        values = {}
        for name, value in table.items():
            if name not in checks:
                self._unknown((*path, name), name, [*checks, *more])
                continue
            try:
                values[name] = checks[name](value)
            except ValueError as error:
                self._say((*path, name), f"{name}: {error}")
        return values

    def _unknown(self, path: Path, name: str, names: Sequence[str], what: str = "key") -> None:
        near = difflib.get_close_matches(name, names, n=1)
        text = ", ".join(names[:_MOST_LISTED]) + (", ..." if len(names) > _MOST_LISTED else "")
        hint = f"is {near[0]} meant?" if near else f"there are {text or 'none'}"
        self._say(path, f"{_quote(name)}: no such {what}; {hint}")

    def _of(self, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """The table called `name`; empty where there is none."""
        table = document.get(name, {})
        if isinstance(table, dict):
            return table
        self._say((name,), f"{name}: a table is required, as [{name}]")
        return {}

    def _each(
        self,
        name: str,
        document: Mapping[str, Any],
        read_one: Callable[[Path, Mapping[str, Any]], Any],
        *,
        most: int,
        required_key: str | None = None,
    ) -> list[Any]:
        """The result of `read_one` for each `[[name]]`, without those for which it is None."""
        tables = document.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
            self._say((name,), f"{name}: tables are required, as [[{name}]]")
            return []
        if required_key and not tables:
            self._say((name,), f"{name}: is missing: {required_key}, as [[{name}]]")
        if len(tables) > most:
            self._say((name, most), f"{name}: {len(tables)} of them; at most {most}")
        items = [read_one((name, index), item) for index, item in enumerate(tables[:most])]
        return [item for item in items if item is not None]

    # -- the tables

    def _match(self, document: Mapping[str, Any]) -> Match:
        table = self._of(document, "match")
        checks: Mapping[str, Check] = {
            "transport": _one_of(TRANSPORTS), "model": _text(), "size": _size,
        }  # fmt: skip
        fields: dict[str, Any] = {}
        for name, value in table.items():
            if name not in checks:
                self._unknown(("match", name), name, _MATCH)
                continue
            several = isinstance(value, list)
            values = []
            for index, item in enumerate(value if several else [value]):
                try:
                    values.append(checks[name](item))
                except ValueError as error:
                    self._say(("match", name, *((index,) if several else ())), f"{name}: {error}")
            if several and not value:
                self._say(("match", name), f"{name}: is empty: no drive would match")
            fields[name] = tuple(values)
        if "match" in document and not table:
            self._say(("match",), f"match: is empty; there are {', '.join(_MATCH)}")
        return Match(**fields)

    def _entry(self, path: Path, table: Mapping[str, Any]) -> Entry | None:
        values = self._table(path, table, _ENTRY)
        if "name" not in table:
            self._say(path, "name: is missing in a suite")
        if "name" not in values:
            return None
        name, mark, which = (part.strip() for part in values["name"].partition(":"))
        try:
            suite = registry.find(name)
            preset = presets.find(name, which) if mark else presets.Preset("", "", "")
        except BadInput as error:
            self._say((*path, "name"), f"name: {error.message}")
            return None
        own = self._parameters((*path, "params"), values.get("params", {}), suite.params)
        target, fs = values.get("target") or preset.target, values.get("fs") or preset.fs
        scale = values.get("scale", preset.scale)
        try:
            registry.check_choices(suite, target, fs, scale)
        except BadInput as error:
            self._say((*path, str(error.field)), error.message)
        return Entry(
            suite=name, preset=which if mark else None, params={**preset.params, **own},
            target=target, fs=fs, scale=scale, exclusive=values.get("exclusive", False),
            line=self._lines.of(*path),
        )  # fmt: skip

    def _parameters(
        self, path: Path, params: Mapping[str, Any], param_list: tuple[Param, ...]
    ) -> dict[str, str]:
        """The parameters as texts, as on the command line, each checked by its suite."""
        texts = {}
        for name, value in params.items():
            if name not in {param.name for param in param_list}:
                names = [param.name for param in param_list]
                self._unknown((*path, name), name, names, "parameter")
                continue
            try:
                text = _param_text(value)
                parameters.read(param_list, {name: text})
                texts[name] = text
            except BadInput as error:
                self._say((*path, name), error.message)
            except ValueError as error:
                self._say((*path, name), f"{name}: {error}")
        return texts

    def _limit(self, path: Path, table: Mapping[str, Any], suites: Sequence[str]) -> Limit | None:
        values = self._table(path, table, _LIMIT)
        kinds = [kind for kind in model.KINDS if kind in table]
        if len(kinds) != 1:
            self._say(path, f"limit: exactly one of {', '.join(model.KINDS)} is required")
            return None
        (kind,) = kinds
        if "op" not in table:
            self._say(path, "op: is missing in a limit")
        if kind not in values or "op" not in values:
            return None
        before = len(self.errors)
        fields = {"kind": kind, "name": values[kind], "op": values["op"]}
        if kind == model.RESULT:
            fields |= self._result(path, table, values, suites)
        else:
            for name in ("suite", "unit", "of"):
                if name in table:
                    self._say((*path, name), f"{name}: is for results only")
            fields |= self._other(path, kind, table, values)
        if "within" in table and ("of" in table or values["op"] != "~"):
            self._say((*path, "within"), "within: is for ~ with a value of its own")
        if len(self.errors) > before or any(name not in values for name in table):
            return None
        return Limit(**fields, line=self._lines.of(*path))

    def _result(
        self, path: Path, table: Mapping[str, Any], values: Mapping[str, Any], suites: Sequence[str]
    ) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "unit": values.get("unit"),
            "key": result_key(values[model.RESULT]),
        }
        suite = values.get("suite")
        if "suite" not in table and len(suites) > 1:
            self._say(path, f"suite: is missing in a limit: the recipe has {', '.join(suites)}")
        if suite is not None and suites and suite not in suites:
            there = ", ".join(suites)
            self._say((*path, "suite"),
                      f"suite: {_quote(suite)} is not in the recipe; it has {there}")  # fmt: skip
        fields["suite"] = suite or (suites[0] if suites else None)
        of = values.get("of")
        if of is None:
            return fields | self._number_wanted(path, table, values)
        if of != model.CLAIM and not _RUN.fullmatch(of):
            self._say((*path, "of"), f'of: {_quote(of)} is not "claim" or "run N" (or its UUID)')
        if values["op"] == "==":
            self._say((*path, "op"), "op: == is not for a share of another result; write ~")
        fields["of"] = of
        try:
            percent = _percent(table.get("value"))
        except ValueError as error:
            self._say((*path, "value"), f"value: {error}, of what `of` names")
            return fields
        # ~ 5 % of it is within 5 % of it; >= 95 % of it is at least 95 % of it.
        close = values["op"] == "~"
        return fields | {"percent": 100.0 if close else percent,
                         "within": percent if close else None}  # fmt: skip

    def _number_wanted(
        self, path: Path, table: Mapping[str, Any], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A number in `value`, for ~ with `within`."""
        if "value" not in table:
            self._say(path, "value: is missing in a limit")
            return {}
        if values["op"] == "~" and "within" not in table:
            self._say(path, 'within: is required with ~, as within = "5 %"')
        try:
            value = _number(-1e15, 1e15)(table["value"])
        except ValueError as error:
            self._say((*path, "value"), f"value: {error}")
            return {}
        unit, factor = UNITS.get(values.get("unit") or "", (None, 1.0))
        return {"value": float(f"{value * factor:.12g}"), "unit": unit,
                "within": values.get("within")}  # fmt: skip

    def _other(
        self, path: Path, kind: str, table: Mapping[str, Any], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What is required of a fact, a change or a peak."""
        name = values[kind]
        options = {model.FACT: LIMITS, model.CHANGE: CHANGES, model.PEAK: ("temperature",)}
        if name not in options[kind]:
            self._unknown((*path, kind), name, options[kind], kind)
            return {}
        fact = CATALOGUE[name]
        if fact.type == Type.NUMBER:
            return self._number_wanted(path, table, values)
        if values["op"] != "==":
            self._say((*path, "op"), f"op: {name} is {fact.type}; only == is for it")
        if "value" not in table:
            self._say(path, "value: is missing in a limit")
            return {}
        value = table["value"]
        several = isinstance(value, list)
        if several and not value:
            self._say((*path, "value"), "value: is empty: no drive would pass")
        check = (
            _flag if fact.type == Type.FLAG else _one_of(fact.options) if fact.options else _text()
        )
        items = []
        for index, item in enumerate(value if several else [value]):
            try:
                items.append(check(item))
            except ValueError as error:
                self._say((*path, "value", *((index,) if several else ())), f"value: {error}")
        return {"value": tuple(items) if several else items[0]} if items else {}

    def _stop(self, path: Path, table: Mapping[str, Any]) -> Stop | None:
        values = self._table(path, table, _STOP)
        rules = {"rate_below": model.RATE, "temperature_above": model.HEAT, "errors": model.ERRORS}
        kinds = [name for name in rules if name in table]
        if len(kinds) != 1:
            self._say(path, f"stop: exactly one of {', '.join(rules)} is required")
            return None
        rate = kinds[0] == "rate_below"
        if rate and "for" not in table:
            self._say(path, 'for: is required with rate_below, as for = "30 s"')
        for name in ("for", "steps"):
            if name in table and not rate:
                self._say((*path, name), f"{name}: is for rate_below only")
        if kinds[0] not in values or (rate and "for" not in values):
            return None
        return Stop(
            kind=rules[kinds[0]], value=float(values[kinds[0]]), line=self._lines.of(*path),
            seconds=values.get("for", 0.0), steps=values.get("steps", "*"),
        )  # fmt: skip


def _param_text(value: Any) -> str:
    """A parameter as on the command line. ValueError when it is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    text: str = _text()(value)
    return text
