"""The DAS suite: robocopy-style file-set copies to the drive and back.

Source: AnandTech's DAS suite, as docs/methods/das.md collects it: a file
set on a RAM drive, `robocopy /MIR /J /MT:32` to the drive, 10 s idle in which alone the
temperature is read, the copy back, idle again; three passes; bandwidth is the mean of the three.
Ours: synthetic sets with the published counts and bytes, a copier of our own with robocopy's
semantics, and the flush inside the clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchstick.analysis.statistics import deviation, mean
from benchstick.errors import BadInput
from benchstick.plan import fileset
from benchstick.plan.fileset import FileSet
from benchstick.plan.params import Param, choice, size, text, whole
from benchstick.plan.quantity import SPEED, TIME
from benchstick.plan.result import Result
from benchstick.plan.states import Validity
from benchstick.plan.steps import (
    BuildSet,
    Copy,
    Empty,
    Idle,
    Plan,
    Prepare,
    Step,
    Verify,
    unique_names,
)
from benchstick.plan.units import MIB, size_text
from benchstick.suites.interface import (
    PlanRequest,
    SuiteResult,
    assumed_speed,
    of_fewer,
    over_all_passes,
)

BUILTIN = ("AV", "Home", "BR", "ISOs")
# No filesystem with some files in it fits on less.
LEAST_CAPACITY = 1 << 20
# What a filesystem takes for itself, and slack so that a full drive is not what is measured.
USABLE_SHARE = 0.95
# Beyond the pages themselves: the tmpfs's bookkeeping, and the bench's own work during the test.
RAM_SHARE = 1.05
# Bytes a second at which a source is made or checked, for estimates only.
_SOURCE_SPEED = 600e6


class Das:
    """The suite `das`."""

    name = "das"
    title = "DAS suite (file-set copies)"
    summary = "Copies file sets to the drive and back with 32 threads, unbuffered; 3 passes."
    default_target = "file"
    default_fs = "auto"
    targets: tuple[str, ...] = ("file",)
    has_scale = True
    params: tuple[Param, ...] = (
        text("sets", ",".join(BUILTIN), f"built-in sets, comma-separated: {', '.join(BUILTIN)}"),
        text("set", "", "instead: a folder of your own, or a manifest file of sizes and paths"),
        choice(
            "source",
            ("auto", "ram", "generated", "drive"),
            "auto",
            "where the files come from; auto: RAM where the set fits, else generated",
        ),
        whole("passes", 1, 20, 3, "passes a set"),
        whole("idle", 0, 600, 10, "idle seconds after each copy, in which the temperature is read"),
        whole("threads", 1, 128, 32, "files copied at the same time, as robocopy /MT"),
        size("block", 4096, 64 * MIB, MIB, "bytes of each read and write"),
    )

    def plan(self, request: PlanRequest) -> Plan:
        """Prepare; for each set: build, then passes of empty, write, idle, read, idle, verify."""
        sets = _chosen_sets(request)
        source = _source(request, sets)
        largest = max(sets, key=lambda item: item.bytes)
        capacity = int(request.drive["identity"]["capacity"])
        if largest.bytes > capacity * USABLE_SHARE:
            factor = capacity * USABLE_SHARE / largest.nominal.bytes
            own = bool(request.params["set"])
            mend = "take a smaller one" if own else f"try scale {_floor(factor):g}"
            if capacity < LEAST_CAPACITY:
                mend = "it is too small for any"
            raise BadInput(
                f"set {largest.name}: {size_text(largest.bytes)} does not fit on the drive "
                f"({size_text(capacity)}); {mend}",
                field="scale",
            )
        return Plan(
            suite=self.name,
            params={**request.params, "source": source},
            target="file",
            fs=request.fs,
            scale=request.scale if request.scale is not None else 1.0,
            drive_code=str(request.drive["code"]),
            sets=tuple(item.describe(source) for item in sets),
            steps=unique_names(_steps(request, sets, source)),
            notes=_notes(sets, source),
        )

    def result(
        self, plan: Plan, results: Sequence[Result], drive: Mapping[str, Any]
    ) -> SuiteResult:
        """The mean of the passes for each set and direction, with each pass."""
        overall: list[Result] = []
        rows: list[dict[str, Any]] = []
        sets = {item["name"]: item for item in plan.sets}
        copies = [step for step in plan.steps if isinstance(step, Copy) and step.pass_no == 1]
        for step in copies:
            row = _set_row(sets[step.set_name], step, results)
            if row is not None:
                rows.append(row)
                overall += _overall(row, step)
        document = {
            "headline": _headline(rows),
            "sets": rows,
            "tables": [_table(rows)],
            "text": report_text(rows, plan),
            "verdicts": [],
        }
        return SuiteResult(results=overall, document=document)


def _floor(factor: float) -> float:
    """`factor` cut to two significant digits, so that the hint given really fits."""
    text = f"{factor:.1e}"
    value = float(text)
    return value if value <= factor else value - 10 ** (int(text.split("e")[1]) - 1)


def _chosen_sets(request: PlanRequest) -> list[FileSet]:
    if request.params["set"]:
        if not request.sets:
            raise BadInput(
                "set: a folder or manifest of your own is taken on the command line only",
                field="set",
            )
        if request.scale not in (None, 1.0):
            raise BadInput("scale: only the built-in sets can be scaled", field="scale")
        return list(request.sets)
    names = [name.strip() for name in str(request.params["sets"]).split(",") if name.strip()]
    for name in names:
        if name not in BUILTIN:
            raise BadInput(f"sets: {name!r} is not one of {', '.join(BUILTIN)}", field="sets")
    if not names or len(set(names)) != len(names):
        raise BadInput("sets: name each set once, at least one", field="sets")
    scale = 1.0 if request.scale is None else request.scale
    return [fileset.builtin(name, scale) for name in names]


def _source(request: PlanRequest, sets: Sequence[FileSet]) -> str:
    source = str(request.params["source"])
    if source == "drive" and not request.params["set"]:
        raise BadInput("source: drive needs a folder of your own (--param set=DIR)", field="source")
    # A set that was read from a folder has no seed to make it from.
    own_tree = any(not item.seed for item in sets)
    if source == "generated" and own_tree:
        raise BadInput("source: a folder of your own is ram or drive", field="source")
    need = int(max(item.ram_needed for item in sets) * RAM_SHARE)
    if source == "ram" and need > request.ram:
        mend = "use source=drive" if own_tree else "use --scale or --param source=generated"
        raise BadInput(
            f"source: the largest set needs {size_text(need)} of RAM, {size_text(request.ram)} are "
            f"free; {mend}",
            field="source",
        )
    if source != "auto":
        return source
    if need <= request.ram:
        return "ram"
    return "drive" if own_tree else "generated"


def _notes(sets: Sequence[FileSet], source: str) -> tuple[str, ...]:
    notes = []
    if any(item.scale < 1 for item in sets):
        notes.append("reduced file sets: not comparable with full ones (caches have more effect)")
    if source == "generated":
        notes.append("the source is generated block by block: there was not enough RAM for the set")
    return tuple(notes)


def _steps(request: PlanRequest, sets: Sequence[FileSet], source: str) -> Iterator[Step]:
    yield Prepare(
        name="prepare the target",
        seconds=5,
        destroys=request.fs != "keep",
        target="file",
        fs=request.fs,
    )
    yield Idle(name="idle at the start", seconds=0, temperature=True)
    for item in sets:
        yield BuildSet(
            name=f"{item.name}, build the source",
            seconds=0 if source == "drive" else item.bytes / _SOURCE_SPEED,
            set_name=item.name,
            source=source,
        )
        for number in range(1, int(request.params["passes"]) + 1):
            yield from _pass(request, item, number)


def _pass(request: PlanRequest, item: FileSet, number: int) -> Iterator[Step]:
    label = f"{item.name}, pass {number}"
    speed = assumed_speed(request.drive)
    idle = float(request.params["idle"])
    yield Empty(name=f"{label}, empty the target", seconds=1)
    for direction in ("write", "read"):
        yield Copy(
            name=f"{label}, {direction}",
            seconds=item.bytes / speed,
            bytes_written=item.bytes if direction == "write" else 0,
            bytes_read=item.bytes if direction == "read" else 0,
            set_name=item.name,
            direction=direction,
            pass_no=number,
            threads=int(request.params["threads"]),
            block=int(request.params["block"]),
        )
        yield Idle(name=f"{label}, idle after {direction}", seconds=idle, temperature=True)
    yield Verify(
        name=f"{label}, compare",
        seconds=item.bytes / _SOURCE_SPEED,
        set_name=item.name,
        pass_no=number,
    )


def _set_row(
    item: Mapping[str, Any], step: Copy, results: Sequence[Result]
) -> dict[str, Any] | None:
    speeds = [one for one in results if one.key == (step.test, SPEED) and one.pass_no is not None]
    times = {one.pass_no: one for one in results if one.key == (step.test, TIME)}
    if not speeds:
        return None
    passes: list[dict[str, Any]] = [
        {
            "pass": speed.pass_no,
            "mbps": speed.value,
            "seconds": times[speed.pass_no].value if speed.pass_no in times else None,
            "state": speed.state,
            "reason": speed.reason,
        }
        for speed in speeds
    ]
    valid = [row for row in passes if row["state"] == Validity.VALID and row["mbps"] is not None]
    return {
        "set": item["name"],
        "direction": step.direction,
        "bytes": item["bytes"],
        "files": item["files"],
        "folders": item["folders"],
        "scale": item["scale"],
        "mbps": mean([row["mbps"] for row in valid]),
        "stdev": deviation([row["mbps"] for row in valid]),
        "seconds": mean([row["seconds"] for row in valid]),
        "reason": of_fewer(speeds) if valid else None,
        "passes": passes,
    }


def _overall(row: Mapping[str, Any], step: Copy) -> Iterator[Result]:
    bad = next((item for item in row["passes"] if item["state"] != Validity.VALID), None)
    state, reason = Validity.VALID, row["reason"]
    if row["mbps"] is None and bad is not None:
        state, reason = bad["state"], bad["reason"]
    detail = {key: row[key] for key in ("bytes", "files", "folders", "scale", "stdev", "passes")}
    yield from over_all_passes(
        step.test,
        [
            (step.test, SPEED, row["mbps"], "MB/s", detail),
            (step.test, TIME, row["seconds"], "s", detail),
        ],
        state,
        reason,
        step.direction,
    )


def _headline(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "label": f"{row['set']} {row['direction']}",
            "value": row["mbps"],
            "unit": "MB/s",
            "reason": row["reason"],
        }
        for row in rows
    ]


def _cell(one: Mapping[str, Any]) -> str:
    if one["state"] != Validity.VALID or one["mbps"] is None:
        return f"{one['state']}: {one['reason']}"
    return f"{one['mbps']:.1f} ({one['seconds']:.2f} s)"


def _mean_cell(row: Mapping[str, Any]) -> str:
    if row["mbps"] is None:
        return "-"
    valid = sum(1 for item in row["passes"] if item["state"] == Validity.VALID)
    of = f" ({valid} of {len(row['passes'])})" if row["reason"] else ""
    return f"{row['mbps']:.1f}{of}"


def _table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    most = max((len(row["passes"]) for row in rows), default=0)
    columns = ["set", "", "MB/s", "seconds", *(f"pass {number}" for number in range(1, most + 1)),
               "files", "bytes", "scale"]  # fmt: skip
    body = []
    for row in rows:
        cells = [_cell(item) for item in row["passes"]]
        cells += [""] * (most - len(cells))
        body.append(
            [
                row["set"],
                row["direction"],
                _mean_cell(row),
                "-" if row["seconds"] is None else f"{row['seconds']:.2f}",
                *cells,
                str(row["files"]),
                size_text(row["bytes"]),
                f"{row['scale']:g}",
            ]
        )
    return {"title": "DAS suite", "columns": columns, "rows": body}


def report_text(rows: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """The table as text, columns padded."""
    table = _table(rows)
    lines = [table["columns"], *table["rows"]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(table["columns"]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
