"""The result of the AS SSD-style suite: the scores, the tables, the text, the curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchstick.plan.quantity import SCORE, SPEED, TIME, ResultKey
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import CopyWithin, Fio, Plan, Skip
from benchstick.plan.units import MIB, size_text
from benchstick.suites.charts import axis, chart, line
from benchstick.suites.interface import SuiteResult, over_all_passes
from benchstick.suites.single_pass import (
    Cell,
    cell,
    digits,
    latency_table,
    padded,
    results_of,
    state_text,
    states_text,
)

WAYS = ("read", "write")
SEQ, RANDOM, THREADS64, ACCESS = "Seq", "4K", "4K-64Thrd", "Acc.time"
SCORED = (SEQ, RANDOM, THREADS64)
TESTS = (*SCORED, ACCESS)
# Percent of the data that compress, in the curve.
SHARES = tuple(range(0, 101, 10))
# The scores by their name in the document.
SCORES = {name: ResultKey(f"Score {name}", SCORE) for name in (*WAYS, "total")}
Labels = Mapping[tuple[str, str | None], str]


def share_name(share: int) -> str:
    """The test of one point of the compression curve."""
    return f"Compression {share} %"


def side_score(speeds: Mapping[str, float]) -> int:
    """The score of reading or of writing, from SCORED in AS SSD's MB/s, which are MiB/s.

    Source of both formulas: docs/methods/asssd.md, checked there and in the tests against published
    results. Whole points.
    """
    return round(0.1 * speeds[SEQ] + speeds[RANDOM] + speeds[THREADS64])


def total_score(read: Mapping[str, float], write: Mapping[str, float]) -> int:
    """The score of the drive, from the same speeds."""
    return round(
        0.15 * write[SEQ]
        + 0.1 * read[SEQ]
        + 2 * read[RANDOM]
        + write[RANDOM]
        + write[THREADS64]
        + 1.5 * read[THREADS64]
    )


def result(
    plan: Plan,
    results: Sequence[Result],
    drive: Mapping[str, Any],
    small_flag: str | None,
) -> SuiteResult:
    """The suite's result; `small_flag` is the note of the result of the small writes."""
    labels = _labels(plan)
    tests = list(_test_rows(labels, results, small_flag))
    points = _scores(tests)
    curve = list(_curve_rows(labels, results))
    copies = [row for name in _copied(plan) if (row := _copy_row(name, results))]
    cells = [
        (labels[row["test"], way], row[way]) for row in (*tests, *curve) for way in WAYS if row[way]
    ]
    overall = [item for label, outcome in cells for item in results_of(label, outcome)]
    overall += [item for name, score in points.items() for item in _score_result(name, score)]
    overall += [item for row in copies for item in _copy_results(row)]
    document = {
        "headline": _headline(tests, points, copies),
        "tests": tests,
        "scores": points,
        "compression": curve,
        "copies": copies,
        "tables": list(_tables(tests, points, curve, copies, cells)),
        "charts": _charts(curve),
        "text": report_text(tests, points, curve, copies, drive),
        "verdicts": [],
    }
    return SuiteResult(results=overall, document=document)


def _copied(plan: Plan) -> list[str]:
    """The copies of the plan, those that it skips included."""
    return [
        step.test
        for step in plan.steps
        if isinstance(step, CopyWithin) or (isinstance(step, Skip) and step.set_name)
    ]


def _labels(plan: Plan) -> Labels:
    """The test of each row and direction of the window and of the curve."""
    return {
        (step.part, step.direction): step.test
        for step in plan.steps
        if isinstance(step, Fio | Skip) and step.part
    }


def _mib(outcome: Cell | None) -> float | None:
    """A cell's speed in AS SSD's unit."""
    return (
        None if outcome is None or outcome["mbps"] is None else float(outcome["mbps"]) * 1e6 / MIB
    )


def _test_rows(
    labels: Labels, results: Sequence[Result], small_flag: str | None
) -> Iterator[dict[str, Any]]:
    for test in TESTS:
        read = cell(labels.get((test, "read")), results)
        flag = small_flag if test == ACCESS else None
        write = cell(labels.get((test, "write")), results, flag)
        if read or write:
            yield {"test": test, "read": read, "write": write}


def _curve_rows(labels: Labels, results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    for share in SHARES:
        test = share_name(share)
        read, write = (cell(labels.get((test, way)), results) for way in WAYS)
        if read or write:
            yield {"test": test, "percent": share, "read": read, "write": write}


def _scores(tests: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """`read`, `write` and `total`, each as soon as its tests were done: value, state, reason."""
    rows = {row["test"]: row for row in tests}
    sides: dict[str, dict[str, Cell]] = {}
    for way in WAYS:
        cells = {test: rows[test][way] for test in SCORED if test in rows and rows[test][way]}
        if len(cells) == len(SCORED):
            sides[way] = cells
    speeds = {
        way: {test: _mib(outcome) or 0.0 for test, outcome in cells.items()}
        for way, cells in sides.items()
    }
    scores = {
        way: _score(side_score(speeds[way]), _first_bad(way, cells)) for way, cells in sides.items()
    }
    if len(sides) == len(WAYS):
        bad = next((outcome for way in WAYS if (outcome := _first_bad(way, sides[way]))), None)
        scores["total"] = _score(total_score(speeds["read"], speeds["write"]), bad)
    return scores


def _first_bad(way: str, cells: Mapping[str, Cell]) -> tuple[str, str] | None:
    """State and reason of the first test that has no speed."""
    for test, outcome in cells.items():
        if outcome["mbps"] is None:
            return str(outcome["state"]), f"{test} {way}: {outcome['reason']}"
    return None


def _score(value: int, bad: tuple[str, str] | None) -> dict[str, Any]:
    if bad:
        return {"value": None, "state": bad[0], "reason": bad[1]}
    return {"value": value, "state": Validity.VALID, "reason": None}


def _score_result(name: str, score: Mapping[str, Any]) -> list[Result]:
    return over_all_passes(
        "Score",
        [(*SCORES[name], score["value"], "points", {})],
        score["state"],
        score["reason"],
        name if name in WAYS else None,
    )


def _copy_row(name: str, results: Sequence[Result]) -> dict[str, Any] | None:
    by_key = {one.key: one for one in results if one.pass_no is not None}
    speed, took = by_key.get(ResultKey(name, SPEED)), by_key.get(ResultKey(name, TIME))
    if speed is None:
        return None
    valid = speed.state == Validity.VALID
    detail = speed.detail
    return {
        "name": name,
        "mbps": speed.value if valid else None,
        "seconds": took.value if took is not None and valid else None,
        "files": detail.get("files"),
        "bytes": detail.get("bytes"),
        "scale": detail.get("scale"),
        "state": speed.state,
        "reason": speed.reason,
    }


def _copy_results(row: Mapping[str, Any]) -> list[Result]:
    detail = {key: row[key] for key in ("files", "bytes", "scale")}
    return over_all_passes(
        row["name"],
        [
            (row["name"], SPEED, row["mbps"], "MB/s", detail),
            (row["name"], TIME, row["seconds"], "s", detail),
        ],
        row["state"],
        row["reason"],
    )


def _headline(
    tests: Sequence[Mapping[str, Any]],
    points: Mapping[str, Mapping[str, Any]],
    copies: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    if points:
        return [
            {"label": f"Score {name}", "value": points[name]["value"], "unit": "points",
             "reason": points[name]["reason"]}
            for name in ("total", "read", "write")
            if name in points
        ]  # fmt: skip
    if copies:
        return [
            {"label": row["name"], "value": row["mbps"], "unit": "MB/s", "reason": row["reason"]}
            for row in copies
        ]
    return [
        {"label": f"{row['test']} {way}", "value": row[way]["mbps"], "unit": "MB/s",
         "reason": row[way]["reason"]}
        for row in tests[:1]
        for way in WAYS
        if row[way]
    ]  # fmt: skip


def _format_cell(test: str, outcome: Cell | None) -> str:
    """A cell as AS SSD shows it: MiB/s, or milliseconds of an access time."""
    if outcome is None:
        return ""
    if test == ACCESS:
        return "-" if outcome["us"] is None else f"{outcome['us'] / 1000:.3f} ms"
    speed = _mib(outcome)
    return "-" if speed is None else f"{speed:.2f} MiB/s"


def _tables(
    tests: Sequence[Mapping[str, Any]],
    points: Mapping[str, Mapping[str, Any]],
    curve: Sequence[Mapping[str, Any]],
    copies: Sequence[Mapping[str, Any]],
    cells: Sequence[tuple[str, Cell]],
) -> Iterator[dict[str, Any]]:
    if tests:
        yield _test_table(tests, points)
    if copies:
        rows = [
            [
                row["name"], digits(row["mbps"], 2), digits(row["seconds"], 2),
                digits(row["files"], 0),
                "-" if row["bytes"] is None else size_text(row["bytes"]),
                state_text(row),
            ]
            for row in copies
        ]  # fmt: skip
        columns = ["copy", "MB/s", "seconds", "files", "bytes", "state"]
        yield {"title": "Copy within the drive", "columns": columns, "rows": rows}
    if curve:
        rows = [
            [str(row["percent"]), *(digits(row[way] and row[way]["mbps"], 1) for way in WAYS),
             states_text(row, WAYS)]
            for row in curve
        ]  # fmt: skip
        columns = ["compressible %", "read MB/s", "write MB/s", "state"]
        yield {"title": "Compression", "columns": columns, "rows": rows}
    if cells:
        yield latency_table(cells)


def _test_table(
    tests: Sequence[Mapping[str, Any]], points: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """AS SSD's window: two columns of speeds, then the scores; also MB/s and IOPS."""
    columns = ["test", "read", "write", "read MB/s", "write MB/s", "read IOPS", "write IOPS",
               "state"]  # fmt: skip
    rows = [
        [
            row["test"],
            *(_format_cell(row["test"], row[way]) for way in WAYS),
            *(digits(row[way] and row[way]["mbps"], 2) for way in WAYS),
            *(digits(row[way] and row[way]["iops"], 0) for way in WAYS),
            states_text(row, WAYS),
        ]
        for row in tests
    ]
    if points:
        scores = [digits((points.get(way) or {}).get("value"), 0) for way in WAYS]
        total = points.get("total")
        rows.append(["Score", *scores, "", "", "", "", ""])
        if total:
            text_ = digits(total["value"], 0)
            rows.append(["Score total", text_, "", "", "", "", "", total["reason"] or ""])
    return {"title": "AS SSD-style", "columns": columns, "rows": rows}


def _charts(curve: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not curve:
        return []
    return [
        chart(
            "Speed over the compressibility of the data",
            axis("compressible", "%"),
            axis("speed", "B/s"),
            [
                line(
                    way,
                    [
                        (row["percent"], row[way]["mbps"] * 1e6)
                        for row in curve
                        if row[way] and row[way]["mbps"] is not None
                    ],
                )
                for way in WAYS
            ],
        )
    ]


_RULE = "-" * 30
_HEADS = {SEQ: "Sequential:", RANDOM: "4K:", THREADS64: "4K-64Threads:", ACCESS: "Access Times:"}


def report_text(
    tests: Sequence[Mapping[str, Any]],
    points: Mapping[str, Mapping[str, Any]],
    curve: Sequence[Mapping[str, Any]],
    copies: Sequence[Mapping[str, Any]],
    drive: Mapping[str, Any],
) -> str:
    """The text that AS SSD puts on the clipboard, in its shape; then the copies and the curve."""
    identity = drive["identity"]
    lines = [
        "AS SSD-style", _RULE, f"Name: {identity['model']}",
        f"Size: {size_text(int(identity['capacity']))}", _RULE,
    ]  # fmt: skip
    for row in tests:
        lines += [_HEADS[row["test"]], _RULE]
        lines += [
            f"{way.capitalize()}: {_text_cell(row['test'], row[way])}" for way in WAYS if row[way]
        ]
        lines.append(_RULE)
    if points:
        lines += ["Score:", _RULE]
        lines += [
            f"{name.capitalize()}: "
            f"{score['value'] if score['value'] is not None else score['reason']}"
            for name, score in points.items()
        ]
        lines.append(_RULE)
    for table in _tables([], {}, curve, copies, []):
        lines += ["", f"{table['title']}:", padded(table)]
    return "\n".join(lines)


def _text_cell(test: str, outcome: Cell) -> str:
    if outcome["state"] != Validity.VALID:
        return state_text(outcome)
    return _format_cell(test, outcome) + (f" ({outcome['reason']})" if outcome["reason"] else "")
