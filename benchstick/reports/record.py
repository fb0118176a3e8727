"""The shape of a run's record in a bundle: what the store takes and the pages show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.plan import corrupt
from benchstick.plan.quantity import Metric, Statistic
from benchstick.plan.states import LimitState, RunState, StepState, Validity, Verdict
from benchstick.reports import shape
from benchstick.reports.shape import (
    anything,
    each,
    every,
    fields,
    flag,
    maybe,
    number,
    one_of,
    scalar,
    text,
    whole,
    wrong,
)
from benchstick.store.legacy_names import rename_keys
from benchstick.store.run_reader import OLD_RUN_SCHEMA, RUN_SCHEMA
from benchstick.store.run_results import Sample

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STAMP = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d{1,6})?Z", re.ASCII)
_SUITE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
# Runs that are over. One that was refused measured nothing; no bench stores `damaged`.
_NO_END = (RunState.RUNNING, RunState.REFUSED, RunState.DAMAGED)
END_STATES = tuple(state for state in RunState if state not in _NO_END)
_STEP_STATES = tuple(state for state in StepState if state != StepState.RUNNING)
COLUMNS = tuple(Sample.__dataclass_fields__)
# With runs of version 1.
_OLD_COLUMNS = tuple("step" if name == "step_index" else name for name in COLUMNS)
_FRACTIONS = frozenset({"t", "dt", "queue"})


def _like(pattern: re.Pattern[str], description: str) -> shape.Check:
    def run(value: Any, where: str) -> None:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise wrong(where, f"expected {description}")

    return run


uuid = _like(UUID, "a UUID")
stamp = _like(_STAMP, "a time as 2026-01-31T12:00:00.000Z")

_DRIVE = fields(
    {
        "code": text,
        "label": maybe(text),
        "identity": fields(
            {"model": text, "capacity": whole, "port": text, "lun": whole, "drive_key": text,
             "serial": maybe(text)},
            {"bridge": maybe(text), "bridge_serial": maybe(text)},
        ),
    },
)  # fmt: skip
_PLAN = fields(
    {
        "target": text, "fs": text, "scale": maybe(number), "notes": each(text, 10_000),
        "params": every(scalar),
        "steps": each(
            fields(
                {"name": text, "kind": text, "seconds": number, "bytes_written": whole,
                 "bytes_read": whole},
                {"timed": flag},
            ),
            1_000_000,
        ),
    },
)  # fmt: skip
_CELL = fields(
    {
        "mbps": maybe(number), "state": text, "reason": maybe(text), "stdev": maybe(number),
        "iops": maybe(number), "us": maybe(number), "mean": maybe(number),
        "passes": each(maybe(number), 10_000),
    },
)  # fmt: skip
_SET = fields(
    {
        "set": text, "direction": text, "files": whole, "bytes": whole, "scale": number,
        "mbps": maybe(number), "stdev": maybe(number),
        "passes": each(
            fields({"state": text, "mbps": maybe(number), "seconds": maybe(number),
                    "reason": maybe(text)}),
            10_000,
        ),
    },
    {"reason": maybe(text)},
)  # fmt: skip
_RESULT = fields(
    {
        "headline": each(
            fields({"label": text, "value": maybe(number), "unit": text}, {"reason": maybe(text)}),
            100
        ),
        "text": maybe(text),
    },
    {
        "tables": each(
            fields({"title": text, "columns": each(text, 200),
                    "rows": each(each(scalar, 200), 100_000)}),
            1000,
        ),
        "verdicts": each(
            fields({"name": text}, {"state": maybe(text), "text": maybe(text)}), 1000
        ),
        "grid": each(
            fields({"test": text, "queue": whole, "threads": whole, "read": maybe(_CELL),
                    "write": maybe(_CELL), "mix": maybe(_CELL)}),
            1000,
        ),
        "sets": each(_SET, 1000),
        "verdict": maybe(text),
    },
)  # fmt: skip
_DETAIL = fields(
    {},
    {
        "totals": maybe(fields({}, {
            "percentiles_us": maybe(every(number)),
            "histogram_us": maybe(every(each(each(whole, 2), 100_000))),
        })),
        "drive_state": maybe(text),
    },
)  # fmt: skip
# Of a result; not in documents of version 1.
QUANTITY_FIELDS = {
    "test": text, "direction": maybe(one_of(("read", "write", "mix"))),
    "metric": one_of(tuple(Metric)), "statistic": maybe(one_of(tuple(Statistic))),
    "percentile": maybe(number), "part": maybe(text),
}  # fmt: skip
_FINDING = fields(
    {
        "step_index": whole, "name": text, "set": maybe(text), "pass": maybe(whole), "files": whole,
        "differences": each(fields({"path": text, "offset": maybe(whole), "description": text}),
        1000),
        "text": text,
    },
)  # fmt: skip
_RUN = fields(
    {
        "schema": one_of((OLD_RUN_SCHEMA, RUN_SCHEMA)), "number": whole, "uuid": uuid,
        "suite": _like(_SUITE, "a suite's name"), "practice": flag, "state": one_of(END_STATES),
        "exit_code": maybe(whole), "reason": maybe(text), "created_utc": stamp,
        "ended_utc": maybe(stamp), "seconds": maybe(number), "drive": _DRIVE, "plan": _PLAN,
        "conditions": fields({}, {"alongside": each(scalar, 1000)}), "result": maybe(_RESULT),
        "steps": each(fields({
            "step_index": whole, "name": text, "kind": text, "state": one_of(_STEP_STATES),
            "reason": maybe(text), "t_start": number, "t_end": maybe(number),
            "artifacts": maybe(text), "detail": fields({}),
        })),
        "results": each(fields({
            "step": text, "name": text, "value": maybe(number), "unit": text, "pass": maybe(whole),
            "target": text, "state": one_of(tuple(Validity)), "reason": maybe(text),
            "detail": _DETAIL,
        }, QUANTITY_FIELDS)),
        "temperatures": each(fields({
            "t": number, "step_index": whole, "celsius": maybe(number), "source": maybe(text),
            "reason": maybe(text),
        })),
        "events": each(fields({"t": maybe(number), "utc": stamp, "kind": text, "text": text})),
    },
    # Not in bundles of older versions, nor in those of runs that have none.
    {"corrupt": each(_FINDING, 10_000)},
)  # fmt: skip


def current_run(document: Any) -> Any:
    """The document of a run with the keys of version 2; it keeps its `schema`."""
    anything(document, "run.json")
    if not isinstance(document, dict) or document.get("schema") != OLD_RUN_SCHEMA:
        return document
    return rename_keys("run", document)


def current_verdicts(document: Any) -> Any:
    """`verdicts.json` with the keys of version 2."""
    anything(document, "verdicts.json")
    if not isinstance(document, dict) or document.get("schema") != OLD_VERDICTS_SCHEMA:
        return document
    items = document.get("verdicts")
    if not isinstance(items, list):
        return document
    return {
        "schema": VERDICTS_SCHEMA,
        "verdicts": [
            rename_keys("verdict", item)
            if isinstance(item, dict) and item.get("schema") == OLD_VERDICT_SCHEMA
            else item
            for item in items
        ],
    }


def check_run(run: Any) -> None:
    """BadInput unless this is a `benchstick/run/2` document of a run that is over."""
    _RUN(run, "run.json")
    anything(run, "run.json")
    if run["state"] == corrupt.STATE and not run.get("corrupt"):
        raise wrong("run.json.corrupt", "expected a finding in a run whose data is corrupt")
    if run["state"] != corrupt.STATE and run.get("corrupt"):
        raise wrong("run.json.state", "expected corrupt in a run with findings")
    for item in run["results"]:
        lacking = sorted(name for name in QUANTITY_FIELDS if name not in item)
        if lacking and run["schema"] != OLD_RUN_SCHEMA:
            raise wrong(f"run.json.results: {item['name'][:60]}", f"{lacking[0]} is missing")
    indexes = [step["step_index"] for step in run["steps"]]
    if indexes != sorted(set(indexes)) or any(at >= len(run["plan"]["steps"]) for at in indexes):
        raise wrong("run.json.steps", "expected steps of the plan in rising order")
    grid = (run["result"] or {}).get("grid") or []
    if any(line["mix"] for line in grid) and "mix" not in run["plan"]["params"]:
        raise wrong("run.json.plan.params", "mix is missing")
    for item in run["results"]:
        bins = ((item["detail"].get("totals") or {}).get("histogram_us") or {}).values()
        if any(len(pair) != 2 for pairs in bins for pair in pairs):
            raise wrong(f"run.json.results: {item['name'][:60]}", "expected pairs in histograms")


def check_samples(document: Any, steps: int) -> list[Sequence[Any]]:
    """The samples of `samples.json` as rows in the order of `COLUMNS`. `steps` is how many the
    plan has. BadInput unless they are samples."""
    fields({"columns": each(text, 100), "rows": each(each(scalar, 100), 10_000_000)})(
        document, "samples.json"
    )
    if tuple(document["columns"]) not in (COLUMNS, _OLD_COLUMNS):
        raise wrong("samples.json.columns", f"expected {', '.join(COLUMNS)}")
    before = -1
    for index, row in enumerate(document["rows"]):
        where = f"samples.json.rows[{index}]"
        if len(row) != len(COLUMNS):
            raise wrong(where, f"expected {len(COLUMNS)} values")
        for name, value in zip(COLUMNS, row, strict=True):
            if name == "step_index" and value is None:
                continue
            (number if name in _FRACTIONS else whole)(value, f"{where}.{name}")
        if row[0] <= before or (row[3] is not None and row[3] >= steps) or row[2] < 0:
            raise wrong(where, "expected rising numbers n, steps of the plan, and no dt below 0")
        before = row[0]
    return list(document["rows"])


# ---- verdicts of recipes

VERDICT_SCHEMA = "benchstick/verdict/2"
VERDICTS_SCHEMA = "benchstick/verdicts-of-run/2"
# Those of version 1 have other keys; bundles with them are still read.
OLD_VERDICT_SCHEMA = "benchstick/verdict/1"
OLD_VERDICTS_SCHEMA = "benchstick/verdicts-of-run/1"
_REASON = fields({"code": text, "text": text, "limit": maybe(whole)})


def _check_expected(value: Any, where: str) -> None:
    (each(scalar, 1000) if isinstance(value, list) else scalar)(value, where)


_VERDICT = fields(
    {
        "schema": one_of((VERDICT_SCHEMA,)), "number": whole,
        "recipe": fields({"name": text, "file": text, "sha256": text}),
        "drive": fields({
            "code": text, "label": maybe(text), "model": text, "serial": maybe(text),
            "capacity": maybe(whole), "port": maybe(text), "drive_key": text,
            "transport": maybe(text),
            "firmware": maybe(text), "slot": maybe(text),
        }),
        "labels": every(maybe(text)), "verdict": one_of(tuple(Verdict)), "exit_code": whole,
        "reason": maybe(text), "failures": each(_REASON, 1000), "inconclusive": each(_REASON, 1000),
        "limits": each(
            fields({
                "number": whole, "description": text, "state": one_of(tuple(LimitState)),
                "measured": scalar, "op": text, "required": _check_expected,
                "tolerance_percent": maybe(number),
                "unit": maybe(text), "shortfall": maybe(number), "shortfall_percent": maybe(number),
                "code": maybe(text), "text": maybe(text),
            }),
            1000,
        ),
        "runs": each(
            fields({"number": whole, "uuid": uuid, "suite": text, "state": text,
                    "exit_code": maybe(whole), "reason": maybe(text)}),
            1000,
        ),
        "retries": whole,
        "previous_attempts": each(
            fields({"verdict": one_of(tuple(Verdict)), "exit_code": whole, "reason": maybe(text),
                    "started_utc": stamp}),
            1000,
        ),
        "post_action": maybe(fields({"action": text, "is_done": flag, "reason": maybe(text)})),
        "started_utc": stamp, "ended_utc": stamp, "seconds": number,
    },
)  # fmt: skip


def check_verdicts(document: Any, run: str) -> list[Mapping[str, Any]]:
    """The verdicts of `verdicts.json`, by rising number there. BadInput unless all of them are
    `benchstick/verdict/2` documents that use the run with the UUID `run`."""
    where = "verdicts.json"
    fields({"schema": one_of((VERDICTS_SCHEMA,)), "verdicts": each(_VERDICT, 10_000)})(
        document, where
    )
    anything(document, where)
    before = 0
    for index, item in enumerate(document["verdicts"]):
        if item["number"] <= before:
            raise wrong(f"{where}.verdicts[{index}].number", "expected rising numbers")
        before = item["number"]
        if run not in [one["uuid"] for one in item["runs"]]:
            raise wrong(f"{where}.verdicts[{index}].runs", "expected the run of the bundle")
    return list(document["verdicts"])


def plain(run: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a run as its own bench has it, without where things lie on a bench."""
    origin = run.get("imported")
    document = {name: value for name, value in run.items() if name not in ("imported", "samples")}
    if origin:
        document["number"] = origin["number"]
    if not document.get("corrupt"):
        # As in older versions: their records of the same run stay the same.
        document.pop("corrupt", None)
    document["steps"] = [{**step, "artifacts": None} for step in run["steps"]]
    return document
