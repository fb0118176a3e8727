"""The report of a run: what its page shows, without links. Pure functions.

`benchstick.reports` writes it as HTML or PDF.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchstick import __version__
from benchstick.analysis.run_timeline import WAYS, Session, passes
from benchstick.plan.units import CELSIUS, duration_text
from benchstick.reports import charts, conditions, formatting
from benchstick.reports.content import Big, Chart, Heading, Part, Report, Table, Text, Verbatim
from benchstick.suites import registry
from benchstick.suites.charts import axis, chart, line, mark

Json = Mapping[str, Any]


def of_run(run: Json, session: Session, bench: str = "") -> Report:
    """The report of a `benchstick/run/2` document, with the `verdicts` that use it where it has
    them. `session` is its speed by second, `bench` the UUID of this bench."""
    suite = registry.all_suites().get(run["suite"])
    title = run["suite"] if suite is None else suite.title
    drive = run["drive"]
    name = drive.get("label") or drive["identity"]["model"]
    return Report(
        title=f"Run {run['number']} · {title} on {name}",
        lead=list(_lead(run)),
        parts=[*_head(run), *_results(run), *_charts(run, session), *_rest(run)],
        foot=_foot(run, bench),
        made_utc=run["ended_utc"] or run["created_utc"],
    )


def charts_of(run: Json, session: Session) -> list[Chart]:
    """The charts of a run in the order of its page, the timeline last."""
    drawings = result_charts(run)
    whole = session_chart(run, session)
    return [*drawings, whole] if whole is not None else drawings


def file_title(run: Json, title: str) -> str:
    """The title of a chart in a file of its own, which must not hide that data is corrupt."""
    return f"{title} · run {run['number']}: data corrupt" if run.get("corrupt") else title


def result_charts(run: Json) -> list[Chart]:
    """The charts of a run's result, for which no session is needed."""
    result = run["result"] or run.get("partial_result") or {}
    shared = {item["name"]: item for item in charts.shared(result)}
    return [
        Chart(
            item.chart,
            [shared[one] if isinstance(one, str) else one for one in item.chart["series"]],
            [look for _, look in item.lines],
            item.description,
            item.notes,
        )
        for item in charts.list_charts(result)
    ]


# ---- the parts


def _lead(run: Json) -> Iterator[str]:
    drive = run["drive"]
    yield " · ".join(
        [*formatting.link_line(drive), formatting.capacity(drive["identity"]["capacity"])]
    )
    phrases = [f"code {drive['code']}", f"started {formatting.utc(run['created_utc'])}"]
    if run["seconds"] is not None:
        phrases.append(f"took {duration_text(run['seconds'])}")
    corrupt = run["state"] == "corrupt"
    phrases.append("data corrupt" if corrupt else f"run {run['state']}")
    yield " · ".join(phrases)


def _head(run: Json) -> Iterator[Part]:
    if run["practice"]:
        yield Text("Practice drive: a file on the bench. These are not the results of a real "
                   "drive.", "note")  # fmt: skip
    origin = run.get("imported")
    if origin:
        yield Text(
            f"Imported {formatting.utc(origin['imported_utc'])} from bench {origin['bench']}, "
            f"where it was run {origin['number']}.",
            "note",
        )
    for finding in run.get("corrupt") or ():
        yield Text(f"DATA CORRUPT: {finding['name']}: {finding['text']}", "bad")
        for one in finding["differences"][1:]:
            where = "" if one["offset"] is None else f" at byte {one['offset']}"
            yield Text(f"{one['path']}{where}: {one['description']}", "bad")
    if run["reason"]:
        yield Text(str(run["reason"]), "note" if run["state"] == "done" else "bad")
    for verdict in run.get("verdicts") or ():
        yield Text(_verdict(verdict), "bad" if verdict["verdict"] == "fail" else "note")
    worse = formatting.worse_than_possible(run["drive"])
    if worse:
        yield Text(worse, "note")
    for note in run["plan"].get("notes") or ():
        yield Text(str(note), "note")


def _verdict(verdict: Json) -> str:
    """The verdict, its recipe, the labels of the drive, and why."""
    labels = [f"{name} {text}" for name, text in verdict["labels"].items() if text]
    # Of an imported run: the number that the verdict has on the bench it comes from.
    number = verdict["number"] or verdict["imported"]["number"]
    by = ", ".join([f"verdict {number} by {verdict['recipe']['name']}", *labels])
    return f"{verdict['verdict'].upper()}: {by}" + (
        f". {verdict['reason']}" if verdict["reason"] else ""
    )


def _results(run: Json) -> Iterator[Part]:
    result = run["result"] or run.get("partial_result") or {}
    headline = result.get("headline") or []
    tables = [table for table in result.get("tables") or () if table.get("rows")]
    if not headline and not tables:
        return
    yield Heading("Result" if run["result"] else "So far")
    if headline:
        yield Big([_headline(item) for item in headline])
    for table in tables:
        yield Table(
            rows=[[_cell(cell) for cell in row] for row in table["rows"]],
            columns=[formatting.unit_text(str(name)) for name in table["columns"]],
            title=str(table.get("title") or ""),
        )


def _headline(item: Json) -> tuple[str, str, str, str]:
    text, unit = formatting.headline_text(item)
    reason, state = str(item.get("reason") or ""), str(item.get("state") or "valid")
    if state != "valid":
        reason = f"{state}: {reason}" if reason else state
    return str(item.get("label") or ""), text, unit, reason


def _cell(value: Any) -> str:
    return "" if value is None else formatting.unit_text(str(value))


def _charts(run: Json, session: Session) -> Iterator[Part]:
    drawings = charts_of(run, session)
    if drawings:
        yield Heading("Charts")
    yield from drawings


def _rest(run: Json) -> Iterator[Part]:
    yield Heading("Test conditions")
    yield Table(
        [[row.name, f"{row.state}: {row.text}" if row.state else row.text]
         for row in conditions.rows(run)]
    )  # fmt: skip
    yield Heading("The drive")
    yield Table(list(_identity(run["drive"])))
    for title, facts in formatting.fact_groups(run["drive"]):
        if title != "Does not apply":
            yield Table([[fact.title, _fact(fact)] for fact in facts], title=title)
    yield from _temperatures(run)
    yield from _events(run)
    yield from _all_results(run)
    yield from _steps(run)
    text = (run["result"] or {}).get("text")
    if text:
        yield Heading("Output of the suite")
        yield Verbatim(str(text))


def _identity(drive: Json) -> Iterator[Sequence[str]]:
    identity = drive["identity"]
    yield "Code", str(drive["code"])
    if drive.get("label"):
        yield "Label", str(drive["label"])
    yield "Model", str(identity["model"])
    yield "Serial", str(identity["serial"] or "not readable")
    if identity.get("bridge"):
        yield "Bridge", str(identity["bridge"])
    size = identity["capacity"]
    yield "Capacity", f"{formatting.capacity(size)} ({formatting.number(size, 0)} bytes)"
    yield "Place", formatting.place(identity, formatting.fact(drive, "transport"))


def _fact(fact: formatting.ShownFact) -> str:
    if fact.text is None:
        return f"not known: {fact.reason}"
    text = "; ".join(part for part in (fact.text, *fact.lines) if part)
    return f"{text} ({fact.source})" if fact.source else text


def _temperatures(run: Json) -> Iterator[Part]:
    if not run["temperatures"]:
        return
    yield Heading("Temperatures")
    yield Table(
        [
            [
                formatting.clock(item["t"]),
                "–" if item["celsius"] is None else f"{item['celsius']:g}",
                str(item["source"] or item["reason"] or ""),
            ]
            for item in run["temperatures"]
        ],
        ("Time of the run", CELSIUS, "Source, or why it is not known"),
    )


def _events(run: Json) -> Iterator[Part]:
    if not run["events"]:
        return
    yield Heading("Events")
    yield Table(
        [
            [
                formatting.utc(item["utc"]) if item["t"] is None else formatting.clock(item["t"]),
                str(item["kind"]),
                str(item["text"]),
            ]
            for item in run["events"]
        ],
        ("Time", "Kind", "What"),
    )


def _all_results(run: Json) -> Iterator[Part]:
    if not run["results"]:
        return
    yield Heading("All results")
    yield Table(
        [
            [
                str(item["name"]),
                "all" if item["pass"] is None else str(item["pass"]),
                exact(item["value"]),
                str(item["unit"]),
                str(item["target"]),
                f"{item['state']}: {item['reason']}" if item["reason"] else str(item["state"]),
            ]
            for item in run["results"]
        ],
        ("Result", "Pass", "Value", "Unit", "Target", "State"),
    )


def _steps(run: Json) -> Iterator[Part]:
    if not run["steps"]:
        return
    yield Heading("Steps")
    yield Table(
        [
            [
                str(item["step_index"] + 1),
                str(item["name"]),
                f"{item['state']}: {item['reason']}" if item["reason"] else str(item["state"]),
                formatting.clock(item["t_start"]),
                "–" if item["t_end"] is None else formatting.clock(item["t_end"]),
            ]
            for item in run["steps"]
        ],
        ("No.", "Step", "State", "From", "To"),
    )


def _foot(run: Json, bench: str) -> str:
    parts = [f"Benchstick {__version__}", f"run {run['uuid']}"]
    if bench:
        parts.append(f"bench {bench}")
    return (
        " · ".join(parts) + ". MB/s is 10^6 bytes a second, GB is 10^9 bytes. Times are UTC, "
        "those of the run are h:mm:ss from its start."
    )


def exact(value: Any) -> str:
    """A value with at least six digits, large ones with all before the point: to be compared."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 1e6 else f"{value:.6g}"


# ---- the timeline


def session_chart(run: Json, session: Session) -> Chart | None:
    """Throughput by second over the whole run, with the temperatures of its idle intervals.

    None where less than two seconds were recorded.
    """
    lines, looks = [], []
    for way in WAYS:
        points = session[way]
        if sum(point.mean is not None for point in points) > 1:
            several = any(point.low != point.high for point in points)
            band = [(point.low, point.high) for point in points] if several else None
            lines.append(line(way, [(point.t, point.mean) for point in points], band=band))
            looks.append(way)
    if not lines:
        return None
    read = [(item["t"], item["celsius"]) for item in run["temperatures"]]
    warm = [(t, celsius) for t, celsius in read if celsius is not None]
    if warm:
        lines.append(line("temperature", warm, on="y2"))
        looks.append("temp")
    whole_chart = chart(
        "Throughput by second, whole run",
        axis("time", "s"),
        axis("throughput", "B/s"),
        lines,
        y2=axis("temperature", CELSIUS) if warm else None,
        marks=[
            mark(one.t, f"{one.set_name} {one.number}", quiet=True)
            for one in passes(run)
            if one.t is not None
        ],
    )
    description = charts.describe_chart(whole_chart, lines)
    return Chart(whole_chart, lines, looks, description, list(charts.notes(whole_chart, lines)))
